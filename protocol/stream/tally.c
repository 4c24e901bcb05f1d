/* tally.c - the waves of a stream of whole waves at one internal node. */
#include "protocol/stream/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/stream/lanes.h"

struct tally {
    struct lanes lanes;
    struct wave_number level; /* all waves up to here are over */
    uint32_t generation;
    uint64_t sum; /* of the next wave, if `summed` */
    bool summed;
    bool owes;
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

void tally_free(struct tally *tally)
{
    if (!tally)
        return;
    lanes_fini(&tally->lanes);
    free(tally);
}

/* The expected members or the waiting packets have changed: find the waves that
 * can be released now. */
static void tally_changed(struct tally *tally)
{
    tally->lanes.blocker = NULL;
    tally->summed = false;
}

/* ---- lanes ---- */

/* Credit is due for a packet of the lane. */
static void owe(struct tally *tally, struct lane *lane, uint64_t credit)
{
    lane->owed += credit;
    tally->owes |= credit > 0;
}

static void drop_head(struct tally *tally, struct lane *lane)
{
    owe(tally, lane, lanes_drop(&tally->lanes, lane));
}

static void drop_parts(struct tally *tally, struct lane *lane)
{
    owe(tally, lane, lanes_drop_parts(&tally->lanes, lane));
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
    if (!lane_is_whole(lane))
        owe(tally, lane, lane_lend(lane, false));
}

/* Drop the packets that are no longer needed, and lanes that are used up. */
static void drop_old(struct tally *tally)
{
    for (uint32_t i = 0; i < tally->lanes.count; i++) {
        struct lane *lane = tally->lanes.list[i];

        while (lane->fifo.count > 0 &&
               !is_wanted(tally, fifo_peek(&lane->fifo)))
            drop_head(tally, lane);
        if (lane->parts > 0 && !is_wanted(tally, &lane_newest(lane)->frame))
            drop_parts(tally, lane);
        lend(tally, lane);
    }
    lanes_sweep(&tally->lanes);
    tally_changed(tally);
}

int tally_join(struct tally *tally,
               uint32_t link,
               uint32_t rank,
               struct wave_number level)
{
    struct lane *lane = lanes_at(&tally->lanes, link, rank);

    if (!lane)
        return -ENOMEM;
    if (number_compare(lane->level, level) < 0)
        lane->level = level;
    lane->counts = true;
    tally_changed(tally);
    return 0;
}

int tally_expect(struct tally *tally, uint32_t link, uint32_t rank, bool has)
{
    struct lane *lane = has ? lanes_at(&tally->lanes, link, rank)
                            : lanes_find(&tally->lanes, link);

    if (!lane)
        return has ? -ENOMEM : 0;
    lanes_expect(&tally->lanes, lane, has);
    lane->counts &= has;
    tally_changed(tally);
    return 0;
}

bool tally_counts(const struct tally *tally, uint32_t link)
{
    const struct lane *lane = lanes_find(&tally->lanes, link);

    return lane && lane->counts;
}

void tally_unlink(struct tally *tally, uint32_t link)
{
    struct lane *lane = lanes_find(&tally->lanes, link);

    if (!lane)
        return;
    drop_parts(tally, lane);
    lanes_unlink(&tally->lanes, link);
    drop_old(tally);
}

/* The last packet of a wave has arrived. Returns whether it is needed. */
static bool complete(struct tally *tally,
                     struct lane *lane,
                     const struct frame *frame)
{
    struct wave_number number = number_of(frame), next = tally->level;
    bool over = frame->flags & FRAME_OVER;

    next.wave++;
    lane->level = over ? epoch_after(number) : number;
    lanes_unblock(&tally->lanes, lane);
    if (!is_wanted(tally, frame)) {
        drop_parts(tally, lane);
        return false;
    }
    if (same_epoch(number, next) &&
        (over ? number.wave <= next.wave : number.wave == next.wave))
        tally->sum += frame->check;
    return true;
}

int tally_put(struct tally *tally,
              uint32_t link,
              uint32_t rank,
              struct frame *frame,
              uint32_t credit)
{
    struct wave_number number = number_of(frame);
    struct lane *lane = lanes_at(&tally->lanes, link, rank);
    bool wanted;

    if (!lane) {
        frame_fini(frame);
        return -ENOMEM;
    }
    wanted = number.generation >= tally->generation && lane->counts &&
             number_compare(number, lane->level) > 0;
    /* the child has begun another wave: the old one stays incomplete */
    if (wanted && lane->parts > 0 &&
        number_compare(number_of(&lane_newest(lane)->frame), number) != 0)
        drop_parts(tally, lane);
    if (wanted && frame->flags & FRAME_LAST)
        wanted = complete(tally, lane, frame);
    if (!wanted) {
        frame_fini(frame);
        owe(tally, lane, credit);
        return 0;
    }
    if (lanes_put(&tally->lanes, lane, frame, credit) < 0)
        return -ENOMEM;
    lend(tally, lane);
    return 0;
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

/* Whether a child with members has yet to answer wave level + 1. If not,
 * `*slowest` has the lowest level of these children; NULL: there are none. */
static bool is_blocked(struct tally *tally, const struct lane **slowest)
{
    struct lane *lane = lanes_slowest(&tally->lanes, tally->level);

    *slowest = lane;
    if (lane &&
        (!lane->counts || number_compare(lane->level, tally->level) <= 0))
        tally->lanes.blocker = lane;
    return tally->lanes.blocker != NULL;
}

/* The lane's OVER, if it accounts for its members in wave `number`. */
static const struct frame *lane_over(const struct lane *lane,
                                     struct wave_number number)
{
    const struct frame *head = fifo_peek(&lane->fifo);

    return head && head->flags & FRAME_OVER &&
                   same_epoch(number_of(head), number) &&
                   head->wave <= number.wave
               ? head
               : NULL;
}

/* The lane's next wave after `level`, or NULL. The head may be an OVER whose
 * number is not above `level`. */
static const struct frame *lane_next(const struct lane *lane,
                                     struct wave_number level)
{
    for (uint32_t i = 0; i + lane->parts < lane->fifo.count && i < 2; i++) {
        const struct frame *frame = &fifo_at(&lane->fifo, i)->frame;

        if (number_compare(number_of(frame), level) > 0)
            return frame;
    }
    return NULL;
}

/* The lowest waiting wave. Returns whether there is one. */
static bool lowest_waiting(const struct tally *tally, struct wave_number *out)
{
    bool any = false;

    for (uint32_t i = 0; i < tally->lanes.count; i++) {
        const struct frame *next =
            lane_next(tally->lanes.list[i], tally->level);

        if (!next || (any && number_compare(number_of(next), *out) >= 0))
            continue;
        *out = number_of(next);
        any = true;
    }
    return any;
}

/* Take the packets of wave `number` out of a lane, and add them to the set.
 * `*any`: there was an answer that is not OVER. */
static int gather_lane(struct tally *tally,
                       struct lane *lane,
                       struct tally_set *out,
                       bool *any)
{
    const struct frame *head;

    while (lane_is_whole(lane) && (head = fifo_peek(&lane->fifo)) &&
           !(head->flags & FRAME_OVER) &&
           number_compare(number_of(head), out->number) == 0) {
        *any = true;
        out->ask |= head->flags & FRAME_ASK;
        out->check += head->check;
        if (head->flags & FRAME_LAST)
            tally->lanes.set.contributors += head->contributors;
        owe(tally, lane, fifo_at(&lane->fifo, 0)->credit);
        if (lanes_move(&tally->lanes, lane) < 0)
            return -ENOMEM;
    }
    head = lane_over(lane, out->number);
    if (head)
        out->check += head->check;
    lend(tally, lane);
    return 0;
}

/* Take wave `out->number` from all lanes. Returns 0 or -ENOMEM. */
static int gather(struct tally *tally, struct tally_set *out, bool *any)
{
    int r = 0;

    *any = false;
    lanes_begin(&tally->lanes);
    tally->lanes.set.sequence = out->number.wave;
    for (uint32_t i = 0; r == 0 && i < tally->lanes.count; i++)
        r = gather_lane(tally, tally->lanes.list[i], out, any);
    out->set = tally->lanes.set;
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
    struct wave_number next = tally->level;
    bool any = false;

    *sum = 0;
    next.wave++;
    for (uint32_t i = 0; i < tally->lanes.count; i++) {
        const struct frame *over = lane_over(tally->lanes.list[i], next);

        if (!over)
            continue;
        *sum += over->check;
        any = true;
    }
    return any;
}

/* Whether the epoch of `number` goes on behind it in some lane. */
static bool epoch_goes_on(const struct tally *tally, struct wave_number number)
{
    for (uint32_t i = 0; i < tally->lanes.count; i++) {
        const struct frame *next = lane_next(tally->lanes.list[i], number);

        if (next && same_epoch(number_of(next), number))
            return true;
    }
    return false;
}

/* Release wave `out->number`. If nothing but OVER is in it, and all children
 * with members have ended the epoch, it ends the epoch here too (16.10). A child
 * may have ended it later, although nothing of it comes before: it has moved. */
static int release(struct tally *tally, struct tally_set *out, bool ended)
{
    bool any;
    int r = gather(tally, out, &any);

    if (r < 0)
        return r;
    ended = ended && !any && !epoch_goes_on(tally, out->number);
    rise(tally, ended ? epoch_after(out->number) : out->number);
    return ended ? TALLY_OVER : TALLY_WAVE;
}

int tally_next(struct tally *tally, struct tally_set *out)
{
    struct wave_number low = {0}, ready = {0}, over = epoch_after(tally->level);
    const struct lane *slowest;
    bool waits;

    memset(out, 0, sizeof(*out));
    if (is_blocked(tally, &slowest))
        return TALLY_NOTHING;
    if (slowest)
        low = slowest->level;
    waits = lowest_waiting(tally, &ready) &&
            (!slowest || number_compare(ready, low) <= 0);
    if (slowest && number_compare(low, over) >= 0 &&
        (!waits || number_compare(ready, over) >= 0) &&
        sum_ended(tally, &out->check)) {
        /* the last child that had not ended has left */
        out->number = tally->level;
        out->number.wave++;
        rise(tally, over);
        return TALLY_OVER;
    }
    if ((slowest || waits) && sum_ended(tally, &out->check)) {
        /* Those that have ended the epoch are in each wave, also where the
         * others have skipped. */
        ready = tally->level;
        ready.wave++;
        waits = true;
    }
    out->check = 0;
    if (waits) {
        out->number = ready;
        return release(tally, out,
                       !slowest ||
                           number_compare(low, epoch_after(ready)) >= 0);
    }
    if (!slowest)
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
    for (uint32_t i = 0; i < tally->lanes.count; i++) {
        const struct lane *lane = tally->lanes.list[i];

        for (uint32_t k = 0; k + lane->parts < lane->fifo.count; k++) {
            const struct frame *frame = &fifo_at(&lane->fifo, k)->frame;

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
    const struct lane *slowest;

    return !is_blocked(tally, &slowest) && slowest;
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

void tally_lend(struct tally *tally)
{
    for (uint32_t i = 0; i < tally->lanes.count; i++)
        owe(tally, tally->lanes.list[i], lane_lend(tally->lanes.list[i], true));
}

void tally_drop(struct tally *tally)
{
    for (uint32_t i = 0; i < tally->lanes.count; i++) {
        struct lane *lane = tally->lanes.list[i];

        while (lane->fifo.count > 0)
            drop_head(tally, lane);
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
    return tally->lanes.blocker && !tally->owes;
}

uint64_t tally_credit(struct tally *tally, uint32_t link)
{
    struct lane *lane = lanes_find(&tally->lanes, link);
    uint64_t owed = lane ? lane->owed : 0;

    if (lane)
        lane->owed = 0;
    return owed;
}

void tally_paid(struct tally *tally)
{
    tally->owes = false;
}

uint64_t tally_held(const struct tally *tally, uint32_t link)
{
    return lane_credit(lanes_find(&tally->lanes, link));
}

uint64_t tally_parts(const struct tally *tally, uint32_t link)
{
    const struct lane *lane = lanes_find(&tally->lanes, link);

    return lane ? lane->part_bytes : 0;
}

uint64_t tally_bytes(const struct tally *tally)
{
    return tally->lanes.bytes;
}
