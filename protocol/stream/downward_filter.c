/* downward_filter.c - downward packets through the downstream filter. */
#include "protocol/state.h"
#include "wire/destinations.h"

/* The filter gets the packet alone: keep its destinations. */
static void take_destinations(struct node *node)
{
    struct frame *frame = &node->filter.down;
    struct payload *packet = NULL;

    if (!(frame->flags & FRAME_SOME))
        return;
    if (destinations_cut(&packet, frame->payload) < 0)
        node->failed = true;
    node->filter.to = frame->payload;
    frame->payload = packet;
}

/* The output of the filter is for whom its input was. */
static void give_destinations(struct node *node, struct frame *frame)
{
    struct payload *whole = NULL;

    if (!node->filter.to)
        return;
    if (destinations_move(&whole, frame->payload, node->filter.to) < 0)
        node->failed = true;
    frame_fini(frame);
    frame->payload = whole;
}

/* Have the downstream filter called with the head of the queue. */
static void downward_call(struct node *node, struct stream *stream)
{
    struct queued head = fifo_pop(&stream->down.in);

    node_begin_call(node);
    node->filter.down = head.frame;
    take_destinations(node);
    node->filter.credit = head.credit;
    node->filter.inlet = node->parent ? node->parent->rank : node->rank;
    node->filter.what = (struct node_call){
        .stream = stream->definition.id,
        .sequence = node->filter.down.number,
        .child_count = node_child_count(node),
        .parameters = node_call_parameters(
            node, stream,
            stream_is_replayable(stream) ? node->filter.down.number : 0),
        .inputs = &node->filter.down,
        .inlets = &node->filter.inlet,
        .input_count = 1,
    };
    node_act(node, ACTION_FILTER)->call = &node->filter.what;
}

void downward_run(struct node *node, struct stream *stream)
{
    struct frame *head;
    bool moved = false;

    /* A packet that is not filtered does not overtake one in the filter. */
    while (stream->loaded && !downward_is_filtering(node, stream) &&
           (head = fifo_peek(&stream->down.in))) {
        if (stream->filters.down && downward_is_charged(head)) {
            if (node->filter.is_out) {
                stream->queued = true;
                break;
            }
            downward_call(node, stream);
            break;
        }
        struct queued next = fifo_pop(&stream->down.in);

        moved = true;
        /* a node whose filter numbers packets anew forwards no numbers (5.5) */
        if (next.frame.type == FRAME_SKIP && !stream_is_replayable(stream))
            continue;
        downward_commit(node, stream, next.frame, next.credit);
    }
    if (!moved)
        return;
    if (node->role == NODE_BACKEND || !stream_has_members(node, stream))
        settle_update(node, stream);
    else if (stream->settle.hurried > stream->settle.settled.number)
        upward_run(node, stream);
    if (stream->applied < stream->pending_count)
        skip_flush(node, stream);
    if (stream->pending_count > 0 || stream->closing)
        downward_pending(node, stream);
}

/* The number of this node's next output if filters renumber. */
static uint64_t next_number(const struct node *node,
                            const struct stream *stream)
{
    return 1 + (node->role == NODE_BACKEND ? stream->down.passed
                                           : feed_last(&stream->down.feed));
}

/* The output of a one-to-one filter: one packet with the same number (5.5). */
static void commit_one_to_one(struct node *node,
                              struct stream *stream,
                              const struct event *event,
                              struct frame frame,
                              uint32_t credit)
{
    if (event->down_count != 1 && !event->text)
        upward_fault(node, FAULT_FILTER, stream->definition.id,
                     "a one-to-one downstream filter did not emit one packet");
    if (event->down_count > 0) {
        frame.tag = event->down[0].tag;
        frame.payload = event->down[0].payload;
        event->down[0].payload = NULL;
        give_destinations(node, &frame);
    } else {
        frame.flags |= FRAME_EMPTY;
        frame.flags &= (uint8_t)~FRAME_SOME;
    }
    downward_commit(node, stream, frame, credit);
}

/* The output of any other filter is renumbered. */
static void commit_renumbered(struct node *node,
                              struct stream *stream,
                              const struct event *event,
                              struct frame frame,
                              uint32_t credit)
{
    if (event->down_count == 0)
        downward_return_credit(node, stream, credit);
    for (size_t i = 0; i < event->down_count; i++) {
        frame.number = next_number(node, stream);
        frame.tag = event->down[i].tag;
        frame.payload = event->down[i].payload;
        event->down[i].payload = NULL;
        give_destinations(node, &frame);
        downward_commit(node, stream, frame, i == 0 ? credit : 0);
    }
}

void downward_filtered(struct node *node, const struct event *event)
{
    struct stream *stream = node_stream(node, node->filter.what.stream);
    struct frame input = node->filter.down;
    uint32_t credit = node->filter.credit;

    frame_fini(&node->filter.down);
    node->filter.what.input_count = 0;
    if (!stream) {
        payload_free(node->filter.to);
        node->filter.to = NULL;
        return;
    }
    input.payload = NULL;
    if (event->text && !node->filter.expired)
        upward_fault(node, FAULT_FILTER, stream->definition.id, event->text);
    if (input.number == 0) {
        downward_return_credit(node, stream, credit);
        for (size_t i = 0; i < event->down_count; i++) {
            struct frame frame = event->down[i];

            event->down[i].payload = NULL;
            frame.type = FRAME_DATA;
            frame.origin = node->rank;
            if (node->role == NODE_BACKEND)
                downward_commit(node, stream, frame, 0);
            else
                downward_aside(node, stream, frame);
        }
    } else if (stream_is_replayable(stream)) {
        commit_one_to_one(node, stream, event, input, credit);
    } else {
        commit_renumbered(node, stream, event, input, credit);
    }
    payload_free(node->filter.to);
    node->filter.to = NULL;
    for (size_t i = 0; i < event->up_count; i++) {
        struct frame frame = {
            .type = FRAME_DATA,
            .tag = event->up[i].tag,
            .origin = node->rank,
            .payload = event->up[i].payload,
        };

        event->up[i].payload = NULL;
        if (stream->kind->against)
            stream->kind->against(node, stream, frame);
        else
            upward_emit(node, stream, frame);
    }
    upward_pump(node, stream);
    settle_update(node, stream);
    downward_pending(node, stream);
}
