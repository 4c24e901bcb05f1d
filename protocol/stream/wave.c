/* wave.c - one stream's waves at one node. */
#include "protocol/stream/wave.h"

#include <errno.h>
#include <stdlib.h>

#include "protocol/stream/lanes.h"
#include "wire/packet.h"
#include "wire/ranks.h"

/* In a lane of a plain stream a number has no generation. */
struct wave {
    enum cop_sync sync;
    uint32_t timeout_ms;
    uint64_t done;        /* the last wave released */
    uint64_t ended;       /* the highest `ended` of all lanes */
    uint64_t deadline_ms; /* COP_TIME_OUT: when the next wave is released */
    bool parts; /* a packet arrived that was not the last of its wave */
    /* Of the lanes that count the blocker has the lowest level, or one up to
     * `done`. */
    struct lanes lanes;
    uint64_t blocked_at; /* the wave that it blocks: the lowest waiting one */
    struct lane alone;   /* packets to be filtered alone, at once */
};

int wave_new(struct wave **out, enum cop_sync sync, uint32_t timeout_ms)
{
    struct wave *wave = calloc(1, sizeof(*wave));

    if (!wave)
        return -ENOMEM;
    wave->sync = sync;
    wave->timeout_ms = timeout_ms;
    wave->deadline_ms = UINT64_MAX;
    *out = wave;
    return 0;
}

void wave_free(struct wave *wave)
{
    if (!wave)
        return;
    lanes_fini(&wave->lanes);
    fifo_fini(&wave->alone.fifo);
    free(wave);
}

/* The child has answered every wave up to `level`. */
static void raise_lane(struct wave *wave, struct lane *lane, uint64_t level)
{
    uint64_t before = lane->level.wave;

    if (before >> PACKET_WAVE_BITS < level >> PACKET_WAVE_BITS &&
        (before & PACKET_WAVE_MASK) > 0) {
        lane->ended = before;
        if (wave->ended < before)
            wave->ended = before;
    }
    lane->level.wave = level;
}

int wave_join(struct wave *wave, uint32_t link, uint32_t rank, uint64_t level)
{
    struct lane *lane = lanes_at(&wave->lanes, link, rank);

    if (!lane)
        return -ENOMEM;
    if (!lane->counts)
        lane->level.wave = lane->from = level;
    else if (lane->level.wave < level)
        raise_lane(wave, lane, level);
    lane->counts = true;
    lanes_expect(&wave->lanes, lane, true);
    return 0;
}

void wave_answer(struct wave *wave, uint32_t link, uint64_t level)
{
    struct lane *lane = lanes_find(&wave->lanes, link);

    if (!lane || lane->level.wave >= level)
        return;
    raise_lane(wave, lane, level);
    lanes_unblock(&wave->lanes, lane);
}

void wave_leave(struct wave *wave, uint32_t link)
{
    lanes_unlink(&wave->lanes, link);
}

static int put_alone(struct wave *wave,
                     const struct lane *lane,
                     bool late,
                     struct frame *frame,
                     uint32_t credit)
{
    struct queued *queued;

    if (lanes_put(&wave->lanes, &wave->alone, frame, credit) < 0)
        return -ENOMEM;
    queued = lane_newest(&wave->alone);
    queued->link = lane->link;
    queued->rank = lane->rank;
    queued->late = late;
    return 0;
}

/* Empty answers need no credit, so many may wait for another child. Those to
 * consecutive waves are one frame. Returns whether `frame` was added to it. */
static bool extend_run(const struct wave *wave,
                       const struct lane *lane,
                       const struct frame *frame)
{
    struct queued *last;

    if (wave->sync != COP_WAIT_FOR_ALL || lane->fifo.count == 0)
        return false;
    last = lane_newest(lane);
    if (last->frame.flags != (FRAME_EMPTY | FRAME_LAST) ||
        frame->flags != last->frame.flags ||
        last->frame.origin != frame->origin ||
        last->frame.contributors != frame->contributors ||
        last->frame.wave + last->run + 1 != frame->wave ||
        last->run == UINT32_MAX)
        return false;
    last->run++;
    return true;
}

/* COP_TIME_OUT: when the oldest packets of a link must be released; UINT64_MAX
 * while the last one of their wave has not come. */
static uint64_t due_ms(const struct wave *wave, const struct lane *lane)
{
    return lane->link != WAVE_NO_LINK && lane_is_whole(lane)
               ? fifo_at(&lane->fifo, 0)->since_ms + wave->timeout_ms
               : UINT64_MAX;
}

int wave_put(struct wave *wave,
             uint32_t link,
             uint32_t rank,
             struct frame *frame,
             uint32_t credit,
             uint64_t now_ms)
{
    struct lane *lane = lanes_at(&wave->lanes, link, rank);
    bool last = frame->flags & FRAME_LAST, late = frame->flags & FRAME_LATE;
    uint64_t answered = frame->wave;

    if (!lane) {
        frame_fini(frame);
        return -ENOMEM;
    }
    if (!last && answered > 0)
        answered--;
    if (lane->level.wave < answered && !late) {
        raise_lane(wave, lane, answered);
        lanes_unblock(&wave->lanes, lane);
    }
    if (wave->sync == COP_WAIT_FOR_ALL && frame->wave > 0 &&
        (!lane->counts || frame->wave <= lane->from ||
         frame->wave <= wave->done))
        frame->flags |= FRAME_LATE;
    if (wave->sync == COP_DO_NOT_WAIT || frame->wave == 0 ||
        (frame->flags & FRAME_LATE))
        return put_alone(wave, lane, late, frame, credit);
    if (wave->blocked_at > frame->wave)
        wave->lanes.blocker = NULL;
    lanes_unblock(&wave->lanes, lane);
    wave->parts |= !last;
    if (extend_run(wave, lane, frame))
        return 0;
    if (lanes_put(&wave->lanes, lane, frame, credit) < 0)
        return -ENOMEM;
    lane_newest(lane)->since_ms = now_ms;
    if (wave->sync == COP_TIME_OUT && wave->deadline_ms > due_ms(wave, lane))
        wave->deadline_ms = due_ms(wave, lane);
    return 0;
}

static int take_alone(struct wave *wave)
{
    struct lane *alone = &wave->alone;
    struct wave_set *set = &wave->lanes.set;
    const struct queued *queued = fifo_at(&alone->fifo, 0);
    int r;

    set->sequence = queued->frame.wave;
    set->contributors = queued->frame.contributors;
    set->late = queued->frame.flags & FRAME_LATE;
    set->late_lane = queued->late;
    set->newcomer = queued->frame.flags & FRAME_NEWCOMER;
    set->compensating = queued->frame.flags & FRAME_COMPENSATING;
    alone->link = queued->link;
    alone->rank = queued->rank;
    r = lanes_move(&wave->lanes, alone);
    return r < 0 ? r : 1;
}

/* Gather from one lane all packets of waves up to `sequence`. If one node made
 * several packets for one wave, their contributors are counted once. */
static int gather_upto(struct wave *wave, struct lane *lane, uint64_t sequence)
{
    uint64_t before = 0;
    uint32_t origin = RANK_NONE;
    int r = 0;

    while (r == 0 && lane->fifo.count > 0) {
        struct queued *head = fifo_at(&lane->fifo, 0);
        const struct frame *frame = &head->frame;

        if (frame->wave > sequence)
            break;
        if (frame->origin != origin || frame->wave != before)
            wave->lanes.set.contributors += frame->contributors;
        origin = frame->origin;
        before = frame->wave;
        if (head->run == 0) {
            r = lanes_move(&wave->lanes, lane);
        } else {
            head->frame.wave++;
            head->run--;
        }
    }
    return r;
}

/* The lowest wave with a waiting packet; UINT64_MAX: none. */
static uint64_t lowest_wave(const struct wave *wave)
{
    uint64_t low = UINT64_MAX;

    for (uint32_t i = 0; i < wave->lanes.count; i++) {
        const struct frame *head = fifo_peek(&wave->lanes.list[i]->fifo);

        if (head && head->wave < low)
            low = head->wave;
    }
    return low;
}

/* The child that waves after `done` wait for longest; NULL: none counts. */
static struct lane *find_slowest(const struct wave *wave)
{
    return lanes_slowest(&wave->lanes,
                         (struct wave_number){.wave = wave->done});
}

/* PROTOCOL 4.3: all of the lowest wave, if every counted child answered. */
static int take_aligned(struct wave *wave)
{
    struct lanes *lanes = &wave->lanes;
    struct lane *slowest;
    uint64_t low;
    int r = 0;

    if (lanes->blocker)
        return 0;
    low = lowest_wave(wave);
    if (low == UINT64_MAX)
        return 0;
    slowest = find_slowest(wave);
    if (slowest && slowest->level.wave < low) {
        lanes->blocker = slowest;
        wave->blocked_at = low;
        return 0;
    }
    lanes->set.sequence = low;
    for (uint32_t i = 0; r == 0 && i < lanes->count; i++)
        r = gather_upto(wave, lanes->list[i], low);
    lanes_sweep(lanes);
    if (r < 0)
        return r;
    wave->done = low;
    return 1;
}

/* Give a set of COP_TIME_OUT its number. */
static void number_timed(struct wave *wave, uint64_t epoch)
{
    struct wave_set *set = &wave->lanes.set;

    set->late = epoch < wave->done >> PACKET_WAVE_BITS;
    for (size_t i = 0; set->late && i < set->count; i++)
        set->frames[i].flags |= FRAME_LATE;
    if (set->late)
        return;
    if (set->sequence <= wave->done)
        set->sequence = wave->done + 1;
    wave->done = set->sequence;
}

/* What lost children left of this epoch: one wave of one of them, alone, at
 * once. Their members may send by another child already. */
static int gather_left(struct wave *wave, uint64_t epoch)
{
    struct wave_set *set = &wave->lanes.set;

    for (uint32_t i = 0; i < wave->lanes.count; i++) {
        struct lane *lane = wave->lanes.list[i];

        if (lane->link != WAVE_NO_LINK)
            continue;
        set->sequence = fifo_peek(&lane->fifo)->wave;
        if (set->sequence >> PACKET_WAVE_BITS == epoch)
            return gather_upto(wave, lane, set->sequence);
    }
    return 0;
}

/* One wave of each child that has one of this epoch. */
static int gather_each(struct wave *wave, uint64_t epoch)
{
    struct wave_set *set = &wave->lanes.set;
    int r = 0;

    set->sequence = UINT64_MAX;
    for (uint32_t i = 0; r == 0 && i < wave->lanes.count; i++) {
        struct lane *lane = wave->lanes.list[i];
        uint64_t sequence;

        if (due_ms(wave, lane) == UINT64_MAX)
            continue;
        sequence = fifo_peek(&lane->fifo)->wave;
        if (sequence >> PACKET_WAVE_BITS != epoch)
            continue;
        if (set->sequence > sequence)
            set->sequence = sequence;
        r = gather_upto(wave, lane, sequence);
    }
    return r;
}

/* When the oldest waves of the oldest epoch must be released. */
static uint64_t next_due_ms(const struct wave *wave)
{
    uint64_t epoch = lowest_wave(wave) >> PACKET_WAVE_BITS;
    uint64_t next = UINT64_MAX;

    for (uint32_t i = 0; i < wave->lanes.count; i++) {
        const struct lane *lane = wave->lanes.list[i];
        uint64_t due = due_ms(wave, lane);

        if (due < next &&
            fifo_peek(&lane->fifo)->wave >> PACKET_WAVE_BITS == epoch)
            next = due;
    }
    return next;
}

/* At the deadline, or when every child that counts has one: a wave of each, of
 * the oldest epoch. So a member is in a set once. With a set of two epochs a
 * sync could return before packets that were sent ahead of its marker (PROTOCOL
 * 4.6, 10.6). */
static int take_timed(struct wave *wave, uint64_t now_ms, bool hurry)
{
    uint64_t epoch = lowest_wave(wave) >> PACKET_WAVE_BITS;
    bool all = true;
    int r = gather_left(wave, epoch);

    for (uint32_t i = 0; i < wave->lanes.count; i++)
        if (wave->lanes.list[i]->expected &&
            due_ms(wave, wave->lanes.list[i]) == UINT64_MAX)
            all = false;
    if (r == 0 && wave->lanes.set.count == 0 &&
        (all || hurry || now_ms >= wave->deadline_ms))
        r = gather_each(wave, epoch);
    lanes_sweep(&wave->lanes);
    wave->deadline_ms = next_due_ms(wave);
    if (r < 0 || wave->lanes.set.count == 0)
        return r;
    number_timed(wave, epoch);
    return 1;
}

int wave_take(struct wave *wave,
              uint64_t now_ms,
              bool hurry,
              struct wave_set *out)
{
    int r = 0;

    lanes_begin(&wave->lanes);
    if (wave->alone.fifo.count > 0)
        r = take_alone(wave);
    else if (wave->sync == COP_WAIT_FOR_ALL)
        r = take_aligned(wave);
    else if (wave->sync == COP_TIME_OUT)
        r = take_timed(wave, now_ms, hurry);
    *out = wave->lanes.set;
    return r;
}

uint64_t wave_level(const struct wave *wave)
{
    const struct lane *slowest = find_slowest(wave);

    return slowest && slowest->level.wave > wave->done ? slowest->level.wave
                                                       : wave->done;
}

void wave_skip(struct wave *wave, uint64_t level)
{
    if (wave->done < level)
        wave->done = level;
}

bool wave_is_counted(const struct wave *wave)
{
    return wave->lanes.expected > 0;
}

bool wave_holds(const struct wave *wave, uint64_t level)
{
    if (wave->alone.fifo.count > 0)
        return true;
    return (wave->lanes.blocker ? wave->blocked_at : lowest_wave(wave)) <=
           level;
}

uint64_t wave_ended(const struct wave *wave)
{
    uint64_t level, found = 0;

    if (wave->ended <= wave->done)
        return 0;
    level = wave_level(wave) >> PACKET_WAVE_BITS;
    for (uint32_t i = 0; i < wave->lanes.count; i++) {
        const struct lane *lane = wave->lanes.list[i];
        uint64_t epoch = lane->ended >> PACKET_WAVE_BITS;

        if (!lane->counts || lane->ended <= wave->done || epoch >= level)
            continue;
        if (found == 0 || epoch < found >> PACKET_WAVE_BITS ||
            (epoch == found >> PACKET_WAVE_BITS && lane->ended > found))
            found = lane->ended;
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

uint64_t wave_lend(struct wave *wave, uint32_t link)
{
    struct lane *lane = lanes_find(&wave->lanes, link);

    return lane ? lane_lend(lane, false) : 0;
}

uint64_t wave_parts(const struct wave *wave, uint32_t link)
{
    const struct lane *lane = lanes_find(&wave->lanes, link);

    return lane ? lane->part_bytes : 0;
}

void wave_unlink(struct wave *wave, uint32_t link)
{
    for (uint32_t i = 0; i < wave->alone.fifo.count; i++) {
        struct queued *queued = fifo_at(&wave->alone.fifo, i);

        if (queued->link == link)
            queued->link = WAVE_NO_LINK;
    }
}

void wave_void(struct wave *wave, uint32_t link)
{
    const struct lane *lane = lanes_find(&wave->lanes, link);

    for (uint32_t i = 0; lane && i < lane->fifo.count; i++)
        fifo_at(&lane->fifo, i)->frame.flags |= FRAME_VOID;
    for (uint32_t i = 0; i < wave->alone.fifo.count; i++) {
        struct queued *queued = fifo_at(&wave->alone.fifo, i);

        if (queued->link == link)
            queued->frame.flags |= FRAME_VOID;
    }
}

uint64_t wave_owed(const struct wave *wave, uint32_t link)
{
    return lane_credit(lanes_find(&wave->lanes, link));
}

bool wave_has_alone(const struct wave *wave)
{
    return wave->alone.fifo.count > 0;
}

uint64_t wave_bytes(const struct wave *wave)
{
    return wave->lanes.bytes;
}
