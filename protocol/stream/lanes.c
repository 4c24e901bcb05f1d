/* lanes.c - the packets that wait for the waves of one stream, by link. */
#include "protocol/stream/lanes.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/array.h"

static void lane_free(struct lane *lane)
{
    fifo_fini(&lane->fifo);
    free(lane);
}

void lanes_fini(struct lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->count; i++)
        lane_free(lanes->list[i]);
    free(lanes->list);
    free(lanes->links);
    free(lanes->set.frames);
    free(lanes->set.inlets);
    free(lanes->set.links);
    free(lanes->set.credits);
}

struct lane *lanes_add(struct lanes *lanes, uint32_t link, uint32_t rank)
{
    struct lane *lane, **list;
    uint32_t i;

    if (array_reach(&lanes->links, &lanes->link_count, link, sizeof(lane)) <
            0 ||
        array_grow(&lanes->list, lanes->count, sizeof(lane)) < 0)
        return NULL;
    lane = calloc(1, sizeof(*lane));
    if (!lane)
        return NULL;
    lane->rank = rank;
    lane->link = link;
    list = lanes->list;
    for (i = lanes->count++; i > 0 && list[i - 1]->rank > rank; i--)
        list[i] = list[i - 1];
    list[i] = lane;
    lanes->links[link] = lane;
    return lane;
}

void lanes_expect(struct lanes *lanes, struct lane *lane, bool expected)
{
    lanes->expected += (uint32_t)expected - (uint32_t)lane->expected;
    lane->expected = expected;
    lanes->blocker = NULL;
}

void lanes_unlink(struct lanes *lanes, uint32_t link)
{
    struct lane *lane = lanes_find(lanes, link);

    if (!lane)
        return;
    lanes_expect(lanes, lane, false);
    lane->counts = false;
    lane->link = WAVE_NO_LINK;
    lanes->links[link] = NULL;
    lanes->ended++;
    lanes_sweep(lanes);
}

void lanes_sweep(struct lanes *lanes)
{
    uint32_t count = 0;

    if (lanes->ended == 0)
        return;
    for (uint32_t i = 0; i < lanes->count; i++) {
        struct lane *lane = lanes->list[i];

        if (lane->link != WAVE_NO_LINK || lane->fifo.count > 0) {
            lanes->list[count++] = lane;
            continue;
        }
        lane_free(lane);
        lanes->ended--;
    }
    lanes->count = count;
}

struct lane *lanes_slowest(const struct lanes *lanes, struct wave_number over)
{
    struct lane *slowest = NULL;

    if (lanes->blocker)
        return lanes->blocker;
    /* Children often answer in order: take the last, which answers last. */
    for (uint32_t i = lanes->count; i-- > 0;) {
        struct lane *lane = lanes->list[i];

        if (!lane->expected)
            continue;
        if (!lane->counts || number_compare(lane->level, over) <= 0)
            return lane;
        if (!slowest || number_compare(lane->level, slowest->level) < 0)
            slowest = lane;
    }
    return slowest;
}

int lanes_put(struct lanes *lanes,
              struct lane *lane,
              struct frame *frame,
              uint32_t credit)
{
    bool last = frame->flags & FRAME_LAST, over = frame->flags & FRAME_OVER;
    uint64_t len = frame_len(frame);

    if (fifo_push(&lane->fifo, frame, credit) < 0)
        return -ENOMEM;
    lanes->bytes += over ? 0 : len;
    lane->parts = last ? 0 : lane->parts + 1;
    lane->part_bytes = last ? 0 : lane->part_bytes + len;
    return 0;
}

/* Remove the oldest packet, which must exist; its frame is the caller's. */
static inline struct queued pop(struct lanes *lanes, struct lane *lane)
{
    struct queued queued = fifo_pop(&lane->fifo);
    uint64_t len = frame_len(&queued.frame);

    if (!(queued.frame.flags & FRAME_OVER)) {
        assert(lanes->bytes >= len);
        lanes->bytes -= len;
    }
    if (lane->parts > lane->fifo.count) {
        lane->parts--;
        lane->part_bytes -= len;
    }
    if (lane->lent > 0) {
        assert(queued.credit == 0);
        lane->lent--;
    }
    return queued;
}

uint32_t lanes_drop(struct lanes *lanes, struct lane *lane)
{
    struct queued queued = pop(lanes, lane);

    frame_fini(&queued.frame);
    return queued.credit;
}

uint64_t lanes_drop_parts(struct lanes *lanes, struct lane *lane)
{
    uint64_t credit = 0;

    for (; lane->parts > 0; lane->parts--) {
        struct queued part = fifo_pop_last(&lane->fifo);

        credit += part.credit;
        lanes->bytes -= frame_len(&part.frame);
        frame_fini(&part.frame);
    }
    if (lane->lent > lane->fifo.count)
        lane->lent = lane->fifo.count;
    lane->part_bytes = 0;
    return credit;
}

void lanes_begin(struct lanes *lanes)
{
    lanes->set = (struct wave_set){
        .frames = lanes->set.frames,
        .inlets = lanes->set.inlets,
        .links = lanes->set.links,
        .credits = lanes->set.credits,
    };
}

/* Make room for one more packet in the set. */
static int grow_set(struct lanes *lanes)
{
    struct wave_set *set = &lanes->set;
    size_t room = lanes->room ? lanes->room * 2 : 8;

    if (array_resize(&set->frames, room, sizeof(*set->frames)) < 0 ||
        array_resize(&set->inlets, room, sizeof(*set->inlets)) < 0 ||
        array_resize(&set->links, room, sizeof(*set->links)) < 0 ||
        array_resize(&set->credits, room, sizeof(*set->credits)) < 0)
        return -ENOMEM;
    lanes->room = room;
    return 0;
}

int lanes_move(struct lanes *lanes, struct lane *lane)
{
    struct wave_set *set = &lanes->set;
    struct queued queued;

    if (set->count == lanes->room && grow_set(lanes) < 0)
        return -ENOMEM;
    queued = pop(lanes, lane);
    if (queued.frame.flags & FRAME_EMPTY) {
        frame_fini(&queued.frame);
        return 0;
    }
    set->frames[set->count] = queued.frame;
    set->inlets[set->count] = lane->rank;
    set->links[set->count] = lane->link;
    set->credits[set->count++] = queued.credit;
    return 0;
}

uint64_t lane_lend(struct lane *lane, bool all)
{
    const struct frame *head = fifo_peek(&lane->fifo);
    uint64_t credit = 0;

    for (; lane->lent < lane->fifo.count; lane->lent++) {
        struct queued *queued = fifo_at(&lane->fifo, lane->lent);

        if (!all && (queued->frame.wave != head->wave ||
                     queued->frame.flags & FRAME_LAST))
            break;
        credit += queued->credit;
        queued->credit = 0;
    }
    return credit;
}

uint64_t lane_credit(const struct lane *lane)
{
    uint64_t credit = lane ? lane->owed : 0;

    for (uint32_t i = 0; lane && i < lane->fifo.count; i++)
        credit += fifo_at(&lane->fifo, i)->credit;
    return credit;
}
