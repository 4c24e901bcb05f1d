/* tally.c - the waves of an exact stream at one internal node. */
#include "protocol/stream/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/array.h"
#include "wire/fifo.h"

/* The packets of one link; kept until its complete waves are used. */
struct lane {
    struct fifo waves; /* complete, in order */
    struct fifo parts; /* of the next wave, whose last packet is missing */
    struct wave_number level; /* every wave up to here is answered */
    uint32_t rank;
    uint32_t slot; /* WAVE_NO_SLOT: the link has ended */
    bool counts;   /* it has named its first wave */
    bool expected; /* it has members */
    uint64_t owed; /* bytes whose credit is due */
};

struct tally {
    struct lane **lanes; /* by rank; of one rank the older first (4.3a) */
    uint32_t lane_count;
    struct lane **slots; /* NULL where free */
    uint32_t slot_count;
    struct wave_number level; /* all waves up to here are over */
    uint32_t generation;
    struct lane *blocker; /* nothing is released before it answers; or NULL */
    uint64_t sum;         /* of the next wave, if `summed` */
    bool summed;
    bool owes;
    uint64_t bytes;
    /* storage of the released set */
    struct frame *frames;
    uint32_t *ranks;
    size_t room;
};

static struct wave_number number_of(const struct frame *frame)
{
    return (struct wave_number){frame->generation, frame->wave};
}

static bool same_epoch(struct wave_number a, struct wave_number b)
{
    return a.generation == b.generation &&
           a.wave >> PACKET_WAVE_BITS == b.wave >> PACKET_WAVE_BITS;
}

static struct wave_number epoch_after(struct wave_number number)
{
    number.wave = wave_epoch_after(number.wave);
    return number;
}

int tally_new(struct tally **out)
{
    struct tally *tally = calloc(1, sizeof(*tally));

    if (!tally)
        return -ENOMEM;
    *out = tally;
    return 0;
}

static void lane_free(struct lane *lane)
{
    fifo_fini(&lane->waves);
    fifo_fini(&lane->parts);
    free(lane);
}

void tally_free(struct tally *tally)
{
    if (!tally)
        return;
    for (uint32_t i = 0; i < tally->lane_count; i++)
        lane_free(tally->lanes[i]);
    free(tally->lanes);
    free(tally->slots);
    free(tally->frames);
    free(tally->ranks);
    free(tally);
}

/* The expected members or the waiting packets have changed: find the waves that
 * can be released now. */
static void tally_changed(struct tally *tally)
{
    tally->blocker = NULL;
    tally->summed = false;
}

/* ---- lanes ---- */

static struct lane *lane_find(const struct tally *tally, uint32_t slot)
{
    return slot < tally->slot_count ? tally->slots[slot] : NULL;
}

/* The lane of `slot`, made if need be; NULL: out of memory. */
static struct lane *lane_at(struct tally *tally, uint32_t slot, uint32_t rank)
{
    struct lane *lane = lane_find(tally, slot), **lanes;
    uint32_t i;

    if (lane)
        return lane;
    if (array_reach(&tally->slots, &tally->slot_count, slot, sizeof(lane)) <
            0 ||
        array_grow(&tally->lanes, tally->lane_count, sizeof(lane)) < 0)
        return NULL;
    lanes = tally->lanes;
    lane = calloc(1, sizeof(*lane));
    if (!lane)
        return NULL;
    lane->rank = rank;
    lane->slot = slot;
    for (i = tally->lane_count++; i > 0 && lanes[i - 1]->rank > rank; i--)
        lanes[i] = lanes[i - 1];
    lanes[i] = lane;
    tally->slots[slot] = lane;
    return lane;
}

/* Drop the frame of `queued`, and note its credit. */
static void drop_frame(struct tally *tally,
                       struct lane *lane,
                       struct queued queued)
{
    if (!(queued.frame.flags & FRAME_OVER))
        tally->bytes -= frame_len(&queued.frame);
    frame_fini(&queued.frame);
    lane->owed += queued.credit;
    tally->owes |= queued.credit > 0;
}

static void drop_all(struct tally *tally, struct lane *lane, struct fifo *fifo)
{
    while (fifo->count > 0)
        drop_frame(tally, lane, fifo_pop(fifo));
}

/* Whether a frame may still be needed: OVER is, for its whole epoch. */
static bool is_wanted(const struct tally *tally, const struct frame *frame)
{
    struct wave_number number = number_of(frame);

    return number_compare(number, tally->level) > 0 ||
           (frame->flags & FRAME_OVER && same_epoch(number, tally->level));
}

/* A wave of several packets may be larger than the window. So the credit of the
 * next wave's packets is returned while they wait (3.4). */
static void lend(struct tally *tally, struct lane *lane)
{
    if (lane->waves.count > 0)
        return;
    for (uint32_t i = 0; i < lane->parts.count; i++) {
        struct queued *part = fifo_at(&lane->parts, i);

        lane->owed += part->credit;
        tally->owes |= part->credit > 0;
        part->credit = 0;
    }
}

/* Drop the packets that are no longer needed, and lanes that are used up. */
static void drop_old(struct tally *tally)
{
    uint32_t i, kept = 0;

    for (i = 0; i < tally->lane_count; i++) {
        struct lane *lane = tally->lanes[i];
        const struct frame *head;

        while ((head = fifo_peek(&lane->waves)) && !is_wanted(tally, head))
            drop_frame(tally, lane, fifo_pop(&lane->waves));
        head = fifo_peek(&lane->parts);
        if (head &&
            (head->generation < tally->generation || !is_wanted(tally, head)))
            drop_all(tally, lane, &lane->parts);
        lend(tally, lane);
        if (lane->slot == WAVE_NO_SLOT && lane->waves.count == 0)
            lane_free(lane);
        else
            tally->lanes[kept++] = lane;
    }
    tally->lane_count = kept;
    tally_changed(tally);
}

int tally_join(struct tally *tally,
               uint32_t slot,
               uint32_t rank,
               struct wave_number level)
{
    struct lane *lane = lane_at(tally, slot, rank);

    if (!lane)
        return -ENOMEM;
    if (number_compare(lane->level, level) < 0)
        lane->level = level;
    lane->counts = true;
    tally_changed(tally);
    return 0;
}

int tally_expect(struct tally *tally, uint32_t slot, uint32_t rank, bool has)
{
    struct lane *lane =
        has ? lane_at(tally, slot, rank) : lane_find(tally, slot);

    if (!lane)
        return has ? -ENOMEM : 0;
    lane->expected = has;
    if (!has)
        lane->counts = false;
    tally_changed(tally);
    return 0;
}

bool tally_counts(const struct tally *tally, uint32_t slot)
{
    const struct lane *lane = lane_find(tally, slot);

    return lane && lane->counts;
}

void tally_unlink(struct tally *tally, uint32_t slot)
{
    struct lane *lane = lane_find(tally, slot);

    if (!lane)
        return;
    drop_all(tally, lane, &lane->parts);
    lane->slot = WAVE_NO_SLOT;
    lane->counts = false;
    lane->expected = false;
    lane->owed = 0;
    tally->slots[slot] = NULL;
    drop_old(tally);
}

/* The last packet of a wave has arrived: the wave is complete. */
static int complete(struct tally *tally,
                    struct lane *lane,
                    struct frame *frame,
                    uint32_t credit)
{
    struct wave_number number = number_of(frame);
    bool over = frame->flags & FRAME_OVER;
    int r;

    lane->level = over ? epoch_after(number) : number;
    if (tally->blocker == lane)
        tally->blocker = NULL;
    if (!is_wanted(tally, frame)) {
        drop_all(tally, lane, &lane->parts);
        drop_frame(tally, lane,
                   (struct queued){.frame = *frame, .credit = credit});
        frame->payload = NULL;
        return 0;
    }
    while (lane->parts.count > 0) {
        struct queued part = fifo_pop(&lane->parts);

        r = fifo_push(&lane->waves, &part.frame, part.credit);
        if (r < 0)
            return r;
    }
    if (over || number.wave == tally->level.wave + 1) {
        if (same_epoch(number, tally->level) &&
            number.wave <= tally->level.wave + 1)
            tally->sum += frame->check;
    }
    return fifo_push(&lane->waves, frame, credit);
}

int tally_put(struct tally *tally,
              uint32_t slot,
              uint32_t rank,
              struct frame *frame,
              uint32_t credit)
{
    struct wave_number number = number_of(frame);
    struct lane *lane = lane_at(tally, slot, rank);
    int r;

    if (!lane) {
        frame_fini(frame);
        return -ENOMEM;
    }
    if (!(frame->flags & FRAME_OVER))
        tally->bytes += frame_len(frame);
    if (number.generation < tally->generation || !lane->counts ||
        number_compare(number, lane->level) <= 0) {
        drop_frame(tally, lane,
                   (struct queued){.frame = *frame, .credit = credit});
        frame->payload = NULL;
        return 0;
    }
    /* the child has begun another wave: the old one stays incomplete */
    if (lane->parts.count > 0 &&
        number_compare(number_of(fifo_peek(&lane->parts)), number) != 0)
        drop_all(tally, lane, &lane->parts);
    if (frame->flags & FRAME_LAST)
        return complete(tally, lane, frame, credit);
    r = fifo_push(&lane->parts, frame, credit);
    if (r == 0)
        lend(tally, lane);
    return r;
}

void tally_enter(struct tally *tally, uint32_t generation, uint64_t final)
{
    struct wave_number start = {generation, final};

    tally->generation = generation;
    if (number_compare(tally->level, start) < 0)
        tally->level = start;
    drop_old(tally);
}

/* ---- releasing ---- */

/* Find out whether a child with members has yet to answer wave level + 1. If
 * not, `*low` is the lowest level of these children, and `*any` whether there
 * are any. */
static bool is_blocked(struct tally *tally, struct wave_number *low, bool *any)
{
    *any = false;
    if (tally->blocker)
        return true;
    /* Children often answer in order: the last holds up the wave longest. */
    for (uint32_t i = tally->lane_count; i-- > 0;) {
        struct lane *lane = tally->lanes[i];

        if (!lane->expected)
            continue;
        if (!lane->counts || number_compare(lane->level, tally->level) <= 0) {
            tally->blocker = lane;
            return true;
        }
        if (!*any || number_compare(lane->level, *low) < 0)
            *low = lane->level;
        *any = true;
    }
    return false;
}

/* The lane's next wave after `level`, or NULL. The head may be an OVER whose
 * number is not above `level`. */
static const struct frame *lane_next(const struct lane *lane,
                                     struct wave_number level)
{
    for (uint32_t i = 0; i < lane->waves.count && i < 2; i++) {
        const struct frame *frame = &fifo_at(&lane->waves, i)->frame;

        if (number_compare(number_of(frame), level) > 0)
            return frame;
    }
    return NULL;
}

/* The lowest waiting wave. Returns whether there is one. */
static bool lowest_waiting(const struct tally *tally, struct wave_number *out)
{
    bool any = false;

    for (uint32_t i = 0; i < tally->lane_count; i++) {
        const struct frame *next = lane_next(tally->lanes[i], tally->level);

        if (!next || (any && number_compare(number_of(next), *out) >= 0))
            continue;
        *out = number_of(next);
        any = true;
    }
    return any;
}

/* Make the set's arrays hold one more than `count`. Returns 0 or -ENOMEM. */
static int reserve_set(struct tally *tally, size_t count)
{
    size_t room = tally->room ? tally->room * 2 : 8;

    if (count < tally->room)
        return 0;
    if (array_resize(&tally->frames, room, sizeof(*tally->frames)) < 0 ||
        array_resize(&tally->ranks, room, sizeof(*tally->ranks)) < 0)
        return -ENOMEM;
    tally->room = room;
    return 0;
}

/* Take the packets of wave `number` out of a lane, and add them to the set.
 * `*any`: there was an answer that is not OVER. */
static int gather_lane(struct tally *tally,
                       struct lane *lane,
                       struct tally_set *out,
                       bool *any)
{
    struct wave_set *set = &out->set;
    const struct frame *head;

    while ((head = fifo_peek(&lane->waves)) && !(head->flags & FRAME_OVER) &&
           number_compare(number_of(head), out->number) == 0) {
        struct queued queued;

        if (reserve_set(tally, set->count) < 0)
            return -ENOMEM;
        queued = fifo_pop(&lane->waves);
        *any = true;
        out->ask |= queued.frame.flags & FRAME_ASK;
        out->check += queued.frame.check;
        if (queued.frame.flags & FRAME_LAST)
            set->contributors += queued.frame.contributors;
        if (queued.frame.flags & FRAME_EMPTY) {
            drop_frame(tally, lane, queued);
            continue;
        }
        tally->bytes -= frame_len(&queued.frame);
        lane->owed += queued.credit;
        tally->owes |= queued.credit > 0;
        tally->frames[set->count] = queued.frame;
        tally->ranks[set->count++] = lane->rank;
    }
    if (head && head->flags & FRAME_OVER &&
        same_epoch(number_of(head), out->number) &&
        head->wave <= out->number.wave)
        out->check += head->check;
    lend(tally, lane);
    return 0;
}

/* Take wave `out->number` from all lanes. Returns 0 or -ENOMEM. */
static int gather(struct tally *tally, struct tally_set *out, bool *any)
{
    int r = 0;

    *any = false;
    for (uint32_t i = 0; r == 0 && i < tally->lane_count; i++)
        r = gather_lane(tally, tally->lanes[i], out, any);
    out->set.sequence = out->number.wave;
    out->set.frames = tally->frames;
    out->set.inlets = tally->ranks;
    return r;
}

/* All waves up to `level` are over. */
static void rise(struct tally *tally, struct wave_number level)
{
    bool same = same_epoch(tally->level, level);

    tally->level = level;
    tally_changed(tally);
    if (!same)
        drop_old(tally);
}

/* The sum of the checks of the lanes that have ended the present epoch. Returns
 * whether there are any. */
static bool sum_ended(const struct tally *tally, uint64_t *sum)
{
    bool any = false;

    *sum = 0;
    for (uint32_t i = 0; i < tally->lane_count; i++) {
        const struct frame *head = fifo_peek(&tally->lanes[i]->waves);

        if (!head || !(head->flags & FRAME_OVER) ||
            !same_epoch(number_of(head), tally->level) ||
            head->wave > tally->level.wave + 1)
            continue;
        *sum += head->check;
        any = true;
    }
    return any;
}

/* Release wave `out->number`. If nothing but OVER is in it, and all children
 * with members have ended the epoch, it ends the epoch here too (16.10). */
static int release(struct tally *tally, struct tally_set *out, bool ended)
{
    bool any;
    int r = gather(tally, out, &any);

    if (r < 0)
        return r;
    rise(tally, !any && ended ? epoch_after(out->number) : out->number);
    return !any && ended ? TALLY_OVER : TALLY_WAVE;
}

int tally_next(struct tally *tally, struct tally_set *out)
{
    struct wave_number low = {0}, ready = {0}, over = epoch_after(tally->level);
    bool any, waits;

    memset(out, 0, sizeof(*out));
    if (is_blocked(tally, &low, &any))
        return TALLY_NOTHING;
    waits = lowest_waiting(tally, &ready) &&
            (!any || number_compare(ready, low) <= 0);
    if (any && number_compare(low, over) >= 0 &&
        (!waits || number_compare(ready, over) >= 0) &&
        sum_ended(tally, &out->check)) {
        /* the last child that had not ended has left */
        out->number = tally->level;
        out->number.wave++;
        rise(tally, over);
        return TALLY_OVER;
    }
    if (waits) {
        out->number = ready;
        return release(tally, out,
                       !any || number_compare(low, epoch_after(ready)) >= 0);
    }
    if (!any)
        return TALLY_NOTHING;
    out->number = low;
    rise(tally, low);
    return TALLY_SKIP;
}

/* ---- the front-end ---- */

uint64_t tally_sum(struct tally *tally)
{
    struct wave_number next = tally->level;

    if (tally->summed)
        return tally->sum;
    next.wave++;
    sum_ended(tally, &tally->sum);
    for (uint32_t i = 0; i < tally->lane_count; i++) {
        const struct fifo *waves = &tally->lanes[i]->waves;

        for (uint32_t k = 0; k < waves->count; k++) {
            const struct frame *frame = &fifo_at(waves, k)->frame;

            if (frame->flags & FRAME_OVER ||
                number_compare(number_of(frame), next) != 0)
                break;
            tally->sum += frame->check;
        }
    }
    tally->summed = true;
    return tally->sum;
}

bool tally_is_answered(struct tally *tally)
{
    struct wave_number low;
    bool any;

    return !is_blocked(tally, &low, &any) && any;
}

int tally_accept(struct tally *tally, struct tally_set *out, bool *over)
{
    bool any;
    int r;

    memset(out, 0, sizeof(*out));
    out->number = tally->level;
    out->number.wave++;
    r = gather(tally, out, &any);
    if (r < 0)
        return r;
    *over = !any;
    rise(tally, any ? out->number : epoch_after(out->number));
    return 0;
}

void tally_end_epoch(struct tally *tally)
{
    rise(tally, epoch_after(tally->level));
}

void tally_drop(struct tally *tally)
{
    for (uint32_t i = 0; i < tally->lane_count; i++) {
        drop_all(tally, tally->lanes[i], &tally->lanes[i]->waves);
        drop_all(tally, tally->lanes[i], &tally->lanes[i]->parts);
    }
    drop_old(tally);
}

/* ---- facts ---- */

struct wave_number tally_level(const struct tally *tally)
{
    return tally->level;
}

bool tally_owes(const struct tally *tally)
{
    return tally->owes;
}

bool tally_is_waiting(const struct tally *tally)
{
    return tally->blocker && !tally->owes;
}

uint64_t tally_credit(struct tally *tally, uint32_t slot)
{
    struct lane *lane = lane_find(tally, slot);
    uint64_t owed = lane ? lane->owed : 0;

    if (lane)
        lane->owed = 0;
    return owed;
}

void tally_paid(struct tally *tally)
{
    tally->owes = false;
}

static uint64_t credit_of(const struct fifo *fifo)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < fifo->count; i++)
        bytes += fifo_at(fifo, i)->credit;
    return bytes;
}

uint64_t tally_held(const struct tally *tally, uint32_t slot)
{
    const struct lane *lane = lane_find(tally, slot);

    return lane ? lane->owed + credit_of(&lane->waves) + credit_of(&lane->parts)
                : 0;
}

uint64_t tally_parts(const struct tally *tally, uint32_t slot)
{
    const struct lane *lane = lane_find(tally, slot);

    return lane ? lane->parts.bytes : 0;
}

uint64_t tally_bytes(const struct tally *tally)
{
    return tally->bytes;
}
