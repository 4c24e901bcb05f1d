/* packing.c - the filter call that replaces the slots of a stream of totals and
 * packs the total, and its end (PROTOCOL 17.4, 17.7, 17.10). */
#include <errno.h>
#include <string.h>

#include "protocol/state.h"
#include "protocol/stream/slot.h"
#include "wire/packet.h"

/* Make room for the arrays of a call. */
static int reserve_call(struct totals *totals, size_t count)
{
    if (count <= totals->room)
        return 0;
    if (array_resize(&totals->inputs, count, sizeof(*totals->inputs)) < 0 ||
        array_resize(&totals->inlets, count, sizeof(*totals->inlets)) < 0 ||
        array_resize(&totals->keys, count, sizeof(*totals->keys)) < 0 ||
        array_resize(&totals->kept, count, sizeof(*totals->kept)) < 0)
        return -ENOMEM;
    totals->room = count;
    return 0;
}

static void add_input(struct totals *totals,
                      struct node_call *call,
                      uint32_t key,
                      uint32_t rank,
                      struct frame frame)
{
    totals->used |= !(frame.flags & FRAME_EMPTY);
    totals->inputs[call->input_count] = frame;
    totals->inlets[call->input_count] = rank;
    totals->keys[call->input_count++] = key;
}

/* Replace `slot` by its `next`, whose payload becomes an input of the call. */
static void replace_slot(struct stream *stream,
                         struct slot *slot,
                         uint32_t rank,
                         struct node_call *call)
{
    struct total *next = &slot->next;

    add_input(stream->totals, call, slot->key, rank,
              (struct frame){
                  .type = FRAME_DATA,
                  .flags = next->is_empty ? FRAME_EMPTY : 0,
                  .stream = stream->definition.id,
                  .tag = next->tag,
                  .origin = rank,
                  .payload = next->payload,
              });
    next->payload = NULL;
    ranks_fini(&slot->set);
    slot->set = next->set;
    slot->settled = next->settled;
    slot->is_doubted = next->is_doubted;
    slot->is_due = false;
    memset(next, 0, sizeof(*next));
    settle_hurry(stream, slot->settled);
}

/* Add the totals of back-ends that have left and are in no slot any more. */
static void join_partings(const struct node *node,
                          struct stream *stream,
                          struct node_call *call)
{
    struct totals *totals = stream->totals;
    size_t i, left = 0;

    for (i = 0; i < totals->parting_count; i++) {
        struct parting *parting = &totals->partings[i];

        if (!slots_lack(node, stream, parting->rank))
            totals->partings[left++] = *parting;
        else if (parting->frame.flags & FRAME_EMPTY)
            frame_fini(&parting->frame);
        else
            add_input(totals, call, SLOT_OWN, parting->rank, parting->frame);
    }
    totals->parting_count = left;
}

/* Fill in the inputs of the call and the remaining slots. Sets change here. */
static void fill_call(struct node *node,
                      struct stream *stream,
                      struct node_call *call)
{
    struct totals *totals = stream->totals;

    for (uint32_t at = 0; at < stream->branch_count; at++) {
        struct slot *slot = slot_at(node, stream, at);

        if (!slot)
            continue;
        totals->kept[call->kept_count++] = slot->key;
        if (slot->is_due)
            replace_slot(stream, slot, node->peers[at]->rank, call);
    }
    join_partings(node, stream, call);
    totals->joins = call->input_count > 0;
    totals->changed = false;
}

/* Markers that came after the totals now in their slots may be settled. */
static void settle_later(const struct node *node, struct stream *stream)
{
    for (uint32_t at = 0; at < stream->branch_count; at++) {
        struct slot *slot = slot_at(node, stream, at);

        if (slot && slot->has_later) {
            slot->settled = slot->later;
            slot->has_later = false;
        }
    }
}

/* Note whose total is packed. It covers the queued packets (17.4). */
static void note_total(struct node *node, struct stream *stream)
{
    struct totals *totals = stream->totals;
    bool vouches;

    total_fini(&totals->packing);
    if (node->role == NODE_BACKEND &&
        ranks_add(&totals->packing.set, node->rank, node->rank) < 0)
        node->failed = true;
    vouches = totals_are_whole(node, stream);
    totals->packing.is_doubted =
        !slots_unite(node, stream, &totals->packing.set) || totals->broken;
    if (node->role == NODE_FRONTEND) {
        totals->vouches = vouches;
        return;
    }
    settle_fall_back(node, stream, totals_settled(node, stream));
    settle_try(node, stream);
    totals->packing.settled = stream->settle.settled;
    totals->packing.level = stream->up.level;
    totals->sends = stream->up.compensating;
    if (!totals->sends)
        return;
    totals->impatient = false;
    upward_drop_queue(stream);
}

/* Tell the front-end that no total of this node is right any more. Of a
 * back-end, its parent does so when it reads the doubted total. */
static void report_broken(struct node *node,
                          const struct stream *stream,
                          const char *text)
{
    upward_fault(node, node->role == NODE_BACKEND ? FAULT_FILTER : FAULT_TOTAL,
                 stream->definition.id,
                 text            ? text
                 : stream->error ? stream->error
                                 : "a part of the total was lost here");
}

/* The total is packed: send it, and then the claim. */
static void send_total(struct node *node,
                       struct stream *stream,
                       const struct event *event)
{
    struct totals *totals = stream->totals;
    struct total *total = &totals->packing;
    struct mark settled = total->settled;
    const char *text = event->text;
    struct frame frame;
    int r;

    total->is_empty = event->up_count == 0 || totals->broken;
    if (!total->is_empty) {
        total->tag = event->up[0].tag;
        total->payload = event->up[0].payload;
        event->up[0].payload = NULL;
    }
    total->is_doubted |= totals->broken;
    r = total_encode(total, stream->definition.id, node->rank, &frame);
    if (r == -EMSGSIZE) {
        text = "the total is larger than a frame may be";
        totals->broken = true;
        payload_free(total->payload);
        total->payload = NULL;
        total->is_empty = total->is_doubted = true;
        r = total_encode(total, stream->definition.id, node->rank, &frame);
    }
    if (totals->broken)
        report_broken(node, stream, text);
    if (r < 0)
        node->failed = true;
    else
        node_send(node, node->parent, frame);
    total_fini(total);
    totals->sends = false;
    upward_hold(stream, totals->changed);
    upward_recount(node, stream);
    totals->told = true;
    settle_told(node, stream, settled);
    if (stream->settle.settled.number > settled.number)
        upward_claim(node, stream);
}

/* The total is packed, or known to be empty. */
static void take_packed(struct node *node,
                        struct stream *stream,
                        const struct event *event,
                        bool asked)
{
    struct totals *totals = stream->totals;

    if (node->role == NODE_FRONTEND) {
        if (event->text)
            upward_fault(node, FAULT_FILTER, stream->definition.id,
                         event->text);
        if (asked)
            upward_tell_state(node, stream, event,
                              event->text       ? -EIO
                              : totals->vouches ? 0
                                                : 1);
        if (event->text && totals->joins) /* last: it may free the stream */
            failure_end(node, stream, node->rank, event->text);
        return;
    }
    totals->broken |= event->text != NULL;
    if (node->role == NODE_BACKEND)
        farewell_collect(node, stream, event);
    if (totals->sends && stream->up.compensating && node->parent &&
        node->parent->life.state == LINK_UP)
        send_total(node, stream, event);
}

bool totals_call(struct node *node, struct stream *stream)
{
    struct totals *totals = stream->totals;
    struct node_call call = {
        .stream = stream->definition.id,
        .upward = true,
        .child_count = node_child_count(node),
        .slots = CALL_PACK,
    };

    if (reserve_call(totals, stream->branch_count + totals->parting_count) <
        0) {
        node->failed = true;
        return true;
    }
    fill_call(node, stream, &call);
    note_total(node, stream);
    settle_later(node, stream);
    call.state = totals->sends || node->role == NODE_BACKEND;
    if (stream->root &&
        stream->root->state_asked > stream->root->state_called) {
        stream->root->state_called = stream->root->state_asked;
        call.state = true;
    }
    call.inputs = totals->inputs;
    if (!totals->used || stream->error) {
        struct event none = {.type = EVENT_FILTERED};

        if (totals->used) /* there is no filter that could join them */
            none.text = stream->error;
        for (size_t i = 0; i < call.input_count; i++)
            frame_fini(&call.inputs[i]);
        take_packed(node, stream, &none, call.state);
        return false;
    }
    call.inlets = totals->inlets;
    call.keys = totals->keys;
    call.kept = totals->kept;
    call.parameters = node_call_parameters(node, stream, 0);
    node_begin_call(node);
    node->filter.what = call;
    node_act(node, ACTION_FILTER)->call = &node->filter.what;
    return true;
}

void totals_packed(struct node *node,
                   struct stream *stream,
                   const struct event *event)
{
    take_packed(node, stream, event, node->filter.what.state);
}
