/* wave.c - one stream's waves at one node. */
#include "protocol/stream/wave.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/array.h"
#include "wire/fifo.h"
#include "wire/packet.h"
#include "wire/ranks.h"

/* The packets of one child, or those that a lost child left. */
struct inlet {
    struct fifo fifo;
    uint64_t level; /* every wave up to here is answered */
    uint64_t ended; /* the last wave that it has named in the epoch before */
    uint64_t from;  /* it counts from the wave after this */
    uint32_t rank;
    uint32_t lent; /* frames at the head whose credit was returned early ... */
    uint64_t lent_bytes; /* ... and their bytes */
    uint32_t ends;       /* frames that are the last of their wave */
    bool counts;
};

/* The sender of a frame in `alone`. */
struct from {
    uint32_t slot;
    uint32_t rank;
    bool late; /* it arrived as LATE */
};

/* A slot and the rank of the child that has it. */
struct place {
    uint32_t rank;
    uint32_t slot;
};

struct wave {
    enum cop_sync sync;
    uint32_t timeout_ms;
    uint64_t done;        /* the last wave released */
    uint64_t ended;       /* the highest `ended` of all inlets */
    uint64_t deadline_ms; /* COP_TIME_OUT: when the next wave is released */
    uint64_t bytes;
    bool parts; /* a packet arrived that was not the last of its wave */
    struct inlet *inlets; /* by slot */
    uint32_t inlet_count;
    struct place *places; /* the slots in order of rank, if `placed` */
    bool placed;
    struct inlet *left; /* of lost children, by rank, until empty */
    uint32_t left_count;
    struct fifo alone; /* each to be filtered alone, at once */
    struct from *from; /* their senders: a ring beside the fifo's */
    uint32_t from_room;
    uint32_t from_head;
    /* No wave can be released before this slot answers: it has the lowest level
     * of the slots that count. */
    uint32_t blocker;
    uint64_t blocked_at; /* the wave that it blocks: the lowest waiting one */
    /* storage of the released set */
    struct frame *frames;
    uint32_t *ranks;
    uint32_t *slots;
    uint32_t *credits;
    size_t room;
};

int wave_new(struct wave **out, enum cop_sync sync, uint32_t timeout_ms)
{
    struct wave *wave = calloc(1, sizeof(*wave));

    if (!wave)
        return -ENOMEM;
    wave->sync = sync;
    wave->timeout_ms = timeout_ms;
    wave->deadline_ms = UINT64_MAX;
    wave->blocker = WAVE_NO_SLOT;
    *out = wave;
    return 0;
}

void wave_free(struct wave *wave)
{
    if (!wave)
        return;
    for (uint32_t i = 0; i < wave->inlet_count; i++)
        fifo_fini(&wave->inlets[i].fifo);
    for (uint32_t i = 0; i < wave->left_count; i++)
        fifo_fini(&wave->left[i].fifo);
    fifo_fini(&wave->alone);
    free(wave->inlets);
    free(wave->places);
    free(wave->left);
    free(wave->from);
    free(wave->frames);
    free(wave->ranks);
    free(wave->slots);
    free(wave->credits);
    free(wave);
}

/* The inlet of `slot`, created if necessary; NULL: out of memory. */
static struct inlet *inlet_at(struct wave *wave, uint32_t slot)
{
    if (slot < wave->inlet_count)
        return &wave->inlets[slot];
    wave->placed = false;
    return array_reach(&wave->inlets, &wave->inlet_count, slot,
                       sizeof(*wave->inlets)) < 0
               ? NULL
               : &wave->inlets[slot];
}

static void set_rank(struct wave *wave, struct inlet *inlet, uint32_t rank)
{
    if (inlet->rank == rank)
        return;
    inlet->rank = rank;
    wave->placed = false;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *one = a, *other = b;

    if (one->rank != other->rank)
        return one->rank < other->rank ? -1 : 1;
    return one->slot < other->slot ? -1 : one->slot > other->slot;
}

/* Put the slots in order of rank (PROTOCOL 4.3a). */
static int place_all(struct wave *wave)
{
    if (wave->placed || wave->inlet_count == 0)
        return 0;
    if (array_resize(&wave->places, wave->inlet_count, sizeof(*wave->places)) <
        0)
        return -ENOMEM;
    for (uint32_t i = 0; i < wave->inlet_count; i++)
        wave->places[i] = (struct place){wave->inlets[i].rank, i};
    qsort(wave->places, wave->inlet_count, sizeof(*wave->places),
          compare_places);
    wave->placed = true;
    return 0;
}

/* `slot` has changed: a wave that it blocked may be complete. */
static void wave_unblock(struct wave *wave, uint32_t slot)
{
    if (wave->blocker == slot)
        wave->blocker = WAVE_NO_SLOT;
}

/* The child has answered every wave up to `level`. */
static void raise_inlet(struct wave *wave, struct inlet *inlet, uint64_t level)
{
    if (inlet->level >> PACKET_WAVE_BITS < level >> PACKET_WAVE_BITS &&
        (inlet->level & PACKET_WAVE_MASK) > 0) {
        inlet->ended = inlet->level;
        if (wave->ended < inlet->ended)
            wave->ended = inlet->ended;
    }
    inlet->level = level;
}

int wave_join(struct wave *wave, uint32_t slot, uint32_t rank, uint64_t level)
{
    struct inlet *inlet = inlet_at(wave, slot);

    if (!inlet)
        return -ENOMEM;
    set_rank(wave, inlet, rank);
    if (!inlet->counts)
        inlet->level = inlet->from = level;
    else if (inlet->level < level)
        raise_inlet(wave, inlet, level);
    inlet->counts = true;
    wave->blocker = WAVE_NO_SLOT;
    return 0;
}

void wave_answer(struct wave *wave, uint32_t slot, uint64_t level)
{
    if (slot >= wave->inlet_count || wave->inlets[slot].level >= level)
        return;
    raise_inlet(wave, &wave->inlets[slot], level);
    wave_unblock(wave, slot);
}

int wave_leave(struct wave *wave, uint32_t slot)
{
    struct inlet *inlet, *left;
    uint32_t i;

    wave->blocker = WAVE_NO_SLOT;
    if (slot >= wave->inlet_count)
        return 0;
    inlet = &wave->inlets[slot];
    if (inlet->fifo.count > 0) {
        if (array_grow(&wave->left, wave->left_count, sizeof(*left)) < 0)
            return -ENOMEM;
        left = wave->left;
        for (i = wave->left_count++; i > 0 && left[i - 1].rank > inlet->rank;
             i--)
            left[i] = left[i - 1];
        left[i] = *inlet;
    } else {
        fifo_fini(&inlet->fifo);
    }
    memset(inlet, 0, sizeof(*inlet));
    return 0;
}

/* Note the sender of the frame that is put into `alone` next. */
static int note_from(struct wave *wave, struct from from)
{
    uint32_t room = wave->from_room, i;
    struct from *ring;

    if (wave->alone.count == room) {
        ring = malloc((room ? room * 2 : 8) * sizeof(*ring));
        if (!ring)
            return -ENOMEM;
        for (i = 0; i < room; i++)
            ring[i] = wave->from[(wave->from_head + i) % room];
        free(wave->from);
        wave->from = ring;
        wave->from_room = room ? room * 2 : 8;
        wave->from_head = 0;
    }
    i = (wave->from_head + wave->alone.count) % wave->from_room;
    wave->from[i] = from;
    return 0;
}

static int put_alone(struct wave *wave,
                     struct from from,
                     struct frame *frame,
                     uint32_t credit)
{
    if (note_from(wave, from) < 0) {
        frame_fini(frame);
        return -ENOMEM;
    }
    return fifo_push(&wave->alone, frame, credit);
}

/* Empty answers need no credit, so many may wait for another child. Those to
 * consecutive waves are one frame. Returns whether `frame` was added to it. */
static bool extend_run(struct wave *wave,
                       struct inlet *inlet,
                       const struct frame *frame)
{
    struct queued *last;

    if (wave->sync != COP_WAIT_FOR_ALL || inlet->fifo.count == 0)
        return false;
    last = fifo_at(&inlet->fifo, inlet->fifo.count - 1);
    if (last->frame.flags != (FRAME_EMPTY | FRAME_LAST) ||
        frame->flags != last->frame.flags ||
        last->frame.origin != frame->origin ||
        last->frame.contributors != frame->contributors ||
        last->frame.wave + last->run + 1 != frame->wave ||
        last->run == UINT32_MAX)
        return false;
    last->run++;
    wave->bytes -= frame_len(frame);
    return true;
}

/* COP_TIME_OUT: when the oldest packets of `inlet` must be released; UINT64_MAX
 * while the last one of their wave has not come. */
static uint64_t due_ms(const struct wave *wave, const struct inlet *inlet)
{
    return inlet->ends > 0
               ? fifo_at(&inlet->fifo, 0)->since_ms + wave->timeout_ms
               : UINT64_MAX;
}

int wave_put(struct wave *wave,
             uint32_t slot,
             uint32_t rank,
             struct frame *frame,
             uint32_t credit,
             uint64_t now_ms)
{
    struct inlet *inlet = inlet_at(wave, slot);
    struct from from = {slot, rank, frame->flags & FRAME_LATE};
    uint64_t answered = frame->wave;
    uint8_t flags = frame->flags;

    if (!inlet) {
        frame_fini(frame);
        return -ENOMEM;
    }
    if (!(frame->flags & FRAME_LAST) && answered > 0)
        answered--;
    wave->bytes += frame_len(frame);
    if (inlet->level < answered && !(frame->flags & FRAME_LATE)) {
        raise_inlet(wave, inlet, answered);
        wave_unblock(wave, slot);
    }
    if (wave->sync == COP_WAIT_FOR_ALL && frame->wave > 0 &&
        (!inlet->counts || frame->wave <= inlet->from ||
         frame->wave <= wave->done))
        frame->flags |= FRAME_LATE;
    if (wave->sync == COP_DO_NOT_WAIT || frame->wave == 0 ||
        (frame->flags & FRAME_LATE))
        return put_alone(wave, from, frame, credit);
    if (wave->blocked_at > frame->wave)
        wave->blocker = WAVE_NO_SLOT;
    set_rank(wave, inlet, rank);
    wave_unblock(wave, slot);
    wave->parts |= !(frame->flags & FRAME_LAST);
    if (extend_run(wave, inlet, frame))
        return 0;
    if (fifo_push(&inlet->fifo, frame, credit) < 0)
        return -ENOMEM;
    fifo_at(&inlet->fifo, inlet->fifo.count - 1)->since_ms = now_ms;
    inlet->ends += (flags & FRAME_LAST) != 0;
    if (wave->sync == COP_TIME_OUT && wave->deadline_ms > due_ms(wave, inlet))
        wave->deadline_ms = due_ms(wave, inlet);
    return 0;
}

/* Make the set's arrays hold `count`. */
static int reserve_set(struct wave *wave, size_t count)
{
    size_t room = wave->room ? wave->room : 8;

    if (count <= wave->room)
        return 0;
    while (room < count)
        room *= 2;
    if (array_resize(&wave->frames, room, sizeof(*wave->frames)) < 0 ||
        array_resize(&wave->ranks, room, sizeof(*wave->ranks)) < 0 ||
        array_resize(&wave->slots, room, sizeof(*wave->slots)) < 0 ||
        array_resize(&wave->credits, room, sizeof(*wave->credits)) < 0)
        return -ENOMEM;
    wave->room = room;
    return 0;
}

/* The previous packet of the same inlet. */
struct before {
    uint32_t origin;
    uint64_t wave;
};

/* Add the oldest frame of `inlet` to the set. If one node made several packets
 * for one wave, their contributors are counted once. */
static int gather_head(struct wave *wave,
                       struct inlet *inlet,
                       uint32_t slot,
                       struct before *before,
                       struct wave_set *set)
{
    struct queued *head = fifo_at(&inlet->fifo, 0);
    struct queued queued;
    struct frame frame = head->frame;

    if (reserve_set(wave, set->count + 1) < 0)
        return -ENOMEM;
    if (frame.origin != before->origin || frame.wave != before->wave)
        set->contributors += frame.contributors;
    *before = (struct before){frame.origin, frame.wave};
    if (head->run > 0) {
        head->frame.wave++;
        head->run--;
        return 0;
    }
    queued = fifo_pop(&inlet->fifo);
    frame = queued.frame;
    assert(wave->bytes >= frame_len(&frame));
    if (inlet->lent > 0) {
        assert(queued.credit == 0 && inlet->lent_bytes >= frame_len(&frame));
        inlet->lent--;
        inlet->lent_bytes -= frame_len(&frame);
    }
    wave->bytes -= frame_len(&frame);
    inlet->ends -= (frame.flags & FRAME_LAST) != 0;
    if (frame.flags & FRAME_EMPTY) {
        frame_fini(&frame);
        return 0;
    }
    wave->frames[set->count] = frame;
    wave->ranks[set->count] = inlet->rank;
    wave->slots[set->count] = slot;
    wave->credits[set->count] = queued.credit;
    set->count++;
    return 0;
}

/* Hand out the arrays, which may have moved while the set grew. */
static int set_released(struct wave *wave, struct wave_set *set)
{
    set->frames = wave->frames;
    set->inlets = wave->ranks;
    set->slots = wave->slots;
    set->credits = wave->credits;
    return 1;
}

static int take_alone(struct wave *wave, struct wave_set *set)
{
    struct from from = wave->from[wave->from_head];
    struct inlet inlet = {.fifo = wave->alone, .rank = from.rank};
    struct before before = {.origin = RANK_NONE};
    int r;

    set->sequence = fifo_peek(&inlet.fifo)->wave;
    set->late = fifo_peek(&inlet.fifo)->flags & FRAME_LATE;
    set->late_lane = from.late;
    set->newcomer = fifo_peek(&inlet.fifo)->flags & FRAME_NEWCOMER;
    set->compensating = fifo_peek(&inlet.fifo)->flags & FRAME_COMPENSATING;
    r = gather_head(wave, &inlet, from.slot, &before, set);
    wave->alone = inlet.fifo;
    if (r < 0)
        return r;
    wave->from_head = (wave->from_head + 1) % wave->from_room;
    return set_released(wave, set);
}

/* Gather from one inlet all packets of waves up to `sequence`. */
static int gather_upto(struct wave *wave,
                       struct inlet *inlet,
                       uint32_t slot,
                       uint64_t sequence,
                       struct wave_set *set)
{
    struct before before = {.origin = RANK_NONE};
    struct frame *head;
    int r;

    while ((head = fifo_peek(&inlet->fifo)) && head->wave <= sequence) {
        r = gather_head(wave, inlet, slot, &before, set);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Drop the lost children whose packets have all been used. */
static void drop_empty(struct wave *wave)
{
    uint32_t i, kept = 0;

    for (i = 0; i < wave->left_count; i++) {
        if (wave->left[i].fifo.count > 0)
            wave->left[kept++] = wave->left[i];
        else
            fifo_fini(&wave->left[i].fifo);
    }
    wave->left_count = kept;
}

/* Gather from every inlet in order of rank. Packets of a lost child precede
 * those that the same rank sent on a later link (PROTOCOL 4.3a). */
static int gather_all(struct wave *wave,
                      uint64_t sequence,
                      struct wave_set *set)
{
    uint32_t i = 0, k = 0, slot;
    int r = place_all(wave);

    while (r == 0 && (i < wave->left_count || k < wave->inlet_count)) {
        if (i < wave->left_count &&
            (k == wave->inlet_count ||
             wave->left[i].rank <= wave->places[k].rank)) {
            r = gather_upto(wave, &wave->left[i++], WAVE_NO_SLOT, sequence,
                            set);
            continue;
        }
        slot = wave->places[k++].slot;
        r = gather_upto(wave, &wave->inlets[slot], slot, sequence, set);
    }
    drop_empty(wave);
    return r;
}

/* The lowest wave with a waiting packet; UINT64_MAX: none. */
static uint64_t lowest_wave(const struct wave *wave)
{
    uint64_t low = UINT64_MAX;
    const struct frame *head;

    for (uint32_t i = 0; i < wave->inlet_count; i++) {
        head = fifo_peek(&wave->inlets[i].fifo);
        if (head && head->wave < low)
            low = head->wave;
    }
    for (uint32_t i = 0; i < wave->left_count; i++) {
        head = fifo_peek(&wave->left[i].fifo);
        if (head && head->wave < low)
            low = head->wave;
    }
    return low;
}

/* PROTOCOL 4.3: all of the lowest wave, if every counted child answered. */
static int take_aligned(struct wave *wave, struct wave_set *set)
{
    uint64_t level = UINT64_MAX;
    uint64_t low;
    uint32_t last = WAVE_NO_SLOT;
    int r;

    if (wave->blocker != WAVE_NO_SLOT)
        return 0;
    low = lowest_wave(wave);
    if (low == UINT64_MAX)
        return 0;
    /* Take the last such slot: children often answer in order. */
    for (uint32_t i = 0; i < wave->inlet_count; i++) {
        if (wave->inlets[i].counts && wave->inlets[i].level <= level) {
            level = wave->inlets[i].level;
            last = i;
        }
    }
    if (level < low) {
        wave->blocker = last;
        wave->blocked_at = low;
        return 0;
    }
    set->sequence = low;
    r = gather_all(wave, low, set);
    if (r < 0)
        return r;
    wave->done = low;
    return set_released(wave, set);
}

/* Give a set of COP_TIME_OUT its number. */
static void number_timed(struct wave *wave,
                         uint64_t epoch,
                         struct wave_set *set)
{
    set->late = epoch < wave->done >> PACKET_WAVE_BITS;
    for (uint32_t i = 0; set->late && i < set->count; i++)
        wave->frames[i].flags |= FRAME_LATE;
    if (set->late)
        return;
    if (set->sequence <= wave->done)
        set->sequence = wave->done + 1;
    wave->done = set->sequence;
}

/* What lost children left of this epoch: one wave of one of them, alone, at
 * once. Their members may send by another child already. */
static int gather_left(struct wave *wave, uint64_t epoch, struct wave_set *set)
{
    for (uint32_t i = 0; i < wave->left_count; i++) {
        struct inlet *left = &wave->left[i];

        set->sequence = fifo_peek(&left->fifo)->wave;
        if (set->sequence >> PACKET_WAVE_BITS == epoch)
            return gather_upto(wave, left, WAVE_NO_SLOT, set->sequence, set);
    }
    return 0;
}

/* One wave of each child that has one of this epoch. */
static int gather_each(struct wave *wave, uint64_t epoch, struct wave_set *set)
{
    int r = place_all(wave);

    set->sequence = UINT64_MAX;
    for (uint32_t i = 0; r == 0 && i < wave->inlet_count; i++) {
        uint32_t slot = wave->places[i].slot;
        struct inlet *inlet = &wave->inlets[slot];
        uint64_t sequence;

        if (due_ms(wave, inlet) == UINT64_MAX)
            continue;
        sequence = fifo_peek(&inlet->fifo)->wave;
        if (sequence >> PACKET_WAVE_BITS != epoch)
            continue;
        if (set->sequence > sequence)
            set->sequence = sequence;
        r = gather_upto(wave, inlet, slot, sequence, set);
    }
    return r;
}

/* When the oldest waves of the oldest epoch must be released. */
static uint64_t next_due_ms(const struct wave *wave)
{
    uint64_t epoch = lowest_wave(wave) >> PACKET_WAVE_BITS;
    uint64_t next = UINT64_MAX;

    for (uint32_t i = 0; i < wave->inlet_count; i++) {
        const struct inlet *inlet = &wave->inlets[i];
        uint64_t due = due_ms(wave, inlet);

        if (due < next &&
            fifo_peek(&inlet->fifo)->wave >> PACKET_WAVE_BITS == epoch)
            next = due;
    }
    return next;
}

/* At the deadline, or when every child that counts has one: a wave of each, of
 * the oldest epoch. So a member is in a set once. With a set of two epochs a
 * sync could return before packets that were sent ahead of its marker (PROTOCOL
 * 4.6, 10.6). */
static int take_timed(struct wave *wave,
                      uint64_t now_ms,
                      bool hurry,
                      struct wave_set *set)
{
    uint64_t epoch = lowest_wave(wave) >> PACKET_WAVE_BITS;
    bool all = true;
    int r = gather_left(wave, epoch, set);

    for (uint32_t i = 0; i < wave->inlet_count; i++)
        if (wave->inlets[i].counts &&
            due_ms(wave, &wave->inlets[i]) == UINT64_MAX)
            all = false;
    if (r == 0 && set->count == 0 &&
        (all || hurry || now_ms >= wave->deadline_ms))
        r = gather_each(wave, epoch, set);
    drop_empty(wave);
    wave->deadline_ms = next_due_ms(wave);
    if (r < 0 || set->count == 0)
        return r;
    number_timed(wave, epoch, set);
    return set_released(wave, set);
}

int wave_take(struct wave *wave,
              uint64_t now_ms,
              bool hurry,
              struct wave_set *out)
{
    memset(out, 0, sizeof(*out));
    if (wave->alone.count > 0)
        return take_alone(wave, out);
    switch (wave->sync) {
    case COP_WAIT_FOR_ALL:
        return take_aligned(wave, out);
    case COP_TIME_OUT:
        return take_timed(wave, now_ms, hurry, out);
    case COP_DO_NOT_WAIT:
        return 0;
    }
    return 0;
}

uint64_t wave_level(const struct wave *wave)
{
    uint64_t level = UINT64_MAX;

    if (wave->blocker != WAVE_NO_SLOT)
        level = wave->inlets[wave->blocker].level;
    else
        for (uint32_t i = 0; i < wave->inlet_count; i++)
            if (wave->inlets[i].counts && wave->inlets[i].level < level)
                level = wave->inlets[i].level;
    return level == UINT64_MAX || level < wave->done ? wave->done : level;
}

void wave_skip(struct wave *wave, uint64_t level)
{
    if (wave->done < level)
        wave->done = level;
}

bool wave_is_counted(const struct wave *wave)
{
    if (wave->blocker != WAVE_NO_SLOT)
        return true;
    for (uint32_t i = 0; i < wave->inlet_count; i++)
        if (wave->inlets[i].counts)
            return true;
    return false;
}

bool wave_holds(const struct wave *wave, uint64_t level)
{
    if (wave->blocker != WAVE_NO_SLOT)
        return wave->alone.count > 0 || wave->blocked_at <= level;
    return wave->alone.count > 0 || lowest_wave(wave) <= level;
}

uint64_t wave_ended(const struct wave *wave)
{
    uint64_t level, found = 0;

    if (wave->ended <= wave->done)
        return 0;
    level = wave_level(wave) >> PACKET_WAVE_BITS;
    for (uint32_t i = 0; i < wave->inlet_count; i++) {
        const struct inlet *inlet = &wave->inlets[i];
        uint64_t epoch = inlet->ended >> PACKET_WAVE_BITS;

        if (!inlet->counts || inlet->ended <= wave->done || epoch >= level)
            continue;
        if (found == 0 || epoch < found >> PACKET_WAVE_BITS ||
            (epoch == found >> PACKET_WAVE_BITS && inlet->ended > found))
            found = inlet->ended;
    }
    return found > 0 && !wave_holds(wave, found) ? found : 0;
}

uint64_t wave_deadline_ms(const struct wave *wave)
{
    return wave->sync == COP_TIME_OUT ? wave->deadline_ms : UINT64_MAX;
}

bool wave_has_parts(const struct wave *wave)
{
    return wave->parts;
}

uint64_t wave_lend(struct wave *wave, uint32_t slot)
{
    const struct frame *head;
    struct inlet *inlet;
    uint64_t bytes = 0;

    if (!wave->parts || slot >= wave->inlet_count)
        return 0;
    inlet = &wave->inlets[slot];
    head = fifo_peek(&inlet->fifo);
    for (; inlet->lent < inlet->fifo.count; inlet->lent++) {
        struct queued *queued = fifo_at(&inlet->fifo, inlet->lent);
        const struct frame *frame = &queued->frame;

        if (frame->wave != head->wave || (frame->flags & FRAME_LAST))
            break;
        bytes += queued->credit;
        queued->credit = 0;
        inlet->lent_bytes += frame_len(frame);
    }
    return bytes;
}

uint64_t wave_lent(const struct wave *wave, uint32_t slot)
{
    return slot < wave->inlet_count ? wave->inlets[slot].lent_bytes : 0;
}

void wave_unlink(struct wave *wave, uint32_t slot)
{
    for (uint32_t i = 0; i < wave->alone.count; i++) {
        struct from *from =
            &wave->from[(wave->from_head + i) % wave->from_room];

        if (from->slot == slot)
            from->slot = WAVE_NO_SLOT;
    }
}

void wave_void(struct wave *wave, uint32_t slot)
{
    if (slot < wave->inlet_count)
        for (uint32_t i = 0; i < wave->inlets[slot].fifo.count; i++)
            fifo_at(&wave->inlets[slot].fifo, i)->frame.flags |= FRAME_VOID;
    for (uint32_t i = 0; i < wave->alone.count; i++)
        if (wave->from[(wave->from_head + i) % wave->from_room].slot == slot)
            fifo_at(&wave->alone, i)->frame.flags |= FRAME_VOID;
}

uint64_t wave_owed(const struct wave *wave, uint32_t slot)
{
    const struct fifo *fifo;
    uint64_t bytes = 0;

    if (slot >= wave->inlet_count)
        return 0;
    fifo = &wave->inlets[slot].fifo;
    for (uint32_t i = 0; i < fifo->count; i++)
        bytes += fifo_at(fifo, i)->credit;
    return bytes;
}

bool wave_has_alone(const struct wave *wave)
{
    return wave->alone.count > 0;
}

uint64_t wave_bytes(const struct wave *wave)
{
    return wave->bytes;
}
