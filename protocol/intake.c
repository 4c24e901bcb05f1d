/* intake.c - hands frames from links to the parts of the machine.
 *
 * If a peer sends a frame that it may not send now, its link is closed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"
#include "wire/packet.h"

void intake_link_up(struct node *node, const struct event *event)
{
    struct peer *peer;

    if (node->ended ||
        (event->is_parent && node->parent && !move_is_under_way(node)) ||
        (event->is_parent &&
         !record_is_near(node, event->rank, event->incarnation))) {
        node_act(node, ACTION_CLOSE)->link = event->link;
        return;
    }
    peer = node_add_peer(node, event);
    if (!peer) {
        node->failed = true;
        return;
    }
    if (peer->is_parent || !node->launched || peer->rank == RANK_NONE)
        heartbeat_greet(node, peer); /* an orphan: with the answer (6.1) */
    if (peer->is_parent && node->heal.orphan.phase != ORPHAN_NOT) {
        orphan_link_up(node, peer);
    } else if (peer->is_parent) {
        node->parent = peer;
        if (node->rank == RANK_NONE)
            join_begin(node);
        launch_report(node);
    } else if (launch_child_up(node, peer) < 0) {
        node_act(node, ACTION_CLOSE)->link = peer->link;
        node_remove_peer(node, peer);
    }
}

static int take_credit(struct node *node,
                       struct peer *peer,
                       const struct frame *frame)
{
    struct msg_credit credit;
    struct stream *stream;
    struct branch *branch;
    int r = msg_credit_decode(frame, &credit);

    if (r < 0)
        return r;
    stream = node_stream(node, credit.stream);
    if (!stream)
        return 0;
    if (peer->is_parent) {
        r = credit_return(credit.flags & FRAME_LATE ? &stream->up.late_credit
                                                    : &stream->up.credit,
                          credit.bytes);
        upward_pump(node, stream);
        upward_run(node, stream);
        return r;
    }
    branch = stream_branch(stream, peer->slot);
    if (!branch)
        return -ENOMEM;
    r = credit_return(&branch->down, credit.bytes);
    downward_pump_child(node, stream, peer->slot);
    downward_passed(node, stream);
    return r;
}

static int take_resume(struct node *node,
                       struct peer *peer,
                       const struct frame *frame)
{
    struct msg_resume resume;
    struct stream *stream;

    if (msg_resume_decode(frame, &resume) < 0 || resume.stream == 0)
        return -EPROTO;
    stream = node_stream(node, resume.stream);
    if (!stream)
        return 0;
    if (stream->kind->resumed(
            node, stream, peer,
            (struct wave_number){resume.generation, resume.level}) < 0)
        return -ENOMEM;
    upward_run(node, stream);
    return 0;
}

/* Whether this node reports faults: to its parent, or, as the front-end, to the
 * application. A node that has not sent READY does not: READY lists the missing
 * nodes and the reasons (PROTOCOL 12.2). */
static bool reports_faults(const struct node *node)
{
    return node->role == NODE_FRONTEND ? node->launched : node->reported;
}

static int take_fault(struct node *node,
                      const struct peer *peer,
                      struct frame *frame)
{
    struct cop_packet *packet = NULL;
    struct msg_fault fault;
    const char *text = NULL;
    int r = 0;

    if (frame->payload && frame->payload->len > LIMIT_REPORT)
        return node_refuse(node, "its text is too long");
    if (msg_fault_decode(frame, &fault) < 0)
        return node_refuse(node, "no node has that rank");
    if (fault.kind < FAULT_FILTER || fault.kind > FAULT_TOTAL ||
        (fault.kind != FAULT_FILTER && peer->role == NODE_BACKEND))
        return node_refuse(node, "it says what its sender cannot know");
    if (fault.kind != FAULT_CRASHED || fault.payload)
        r = packet_open(&packet, fault.payload);
    if (r < 0)
        return r;
    if (packet)
        r = cop_packet_unpack(packet, "%s", &text);
    if (r == 0 && node->role != NODE_FRONTEND) {
        if (node->parent && reports_faults(node)) /* an orphan cannot */
            node_send(node, node->parent, frame_ref(frame));
    } else if (r == 0 && fault.kind >= FAULT_HUNG)
        failure_reported(node, &fault, text);
    else if (r == 0 && fault.kind == FAULT_FILTER)
        node_tell(node, TELL_FILTER_ERROR, fault.reporter, fault.stream, text);
    else if (r == 0 && reports_faults(node))
        node_tell(node, TELL_NODE_REFUSED, fault.about, 0, text);
    cop_packet_free(packet);
    return r;
}

static int take_up(struct node *node, struct peer *peer, struct frame *frame)
{
    bool leaf = peer->role == NODE_BACKEND;
    struct stream *stream;

    if (frame->wave == UINT64_MAX) /* wave.c uses it for "none" */
        return node_refuse(node, "no wave has this number");
    if (frame->flags & FRAME_EMPTY && frame->payload) /* it uses no credit */
        return node_refuse(node, "an empty answer has a payload");
    if (leaf && frame->flags & FRAME_COMPENSATING)
        return node_refuse(node, "a back-end has no children's states");
    if (frame->contributors > (leaf ? 1 : LIMIT_NODES))
        return node_refuse(node, "it counts more back-ends than it is of");
    stream = node_stream(node, frame->stream);
    if (!stream || stream->definition.id == 0) {
        bool unknown = frame->stream > node->last_seen || frame->stream == 0;

        frame_fini(frame);
        return unknown ? -EPROTO : 0;
    }
    if (stream->closing)
        return upward_discard(node, stream, peer, frame);
    return stream->kind->take(node, stream, peer, frame);
}

/* A frame from a child. The caller frees its payload unless it was taken. */
static int from_child(struct node *node, struct peer *peer, struct frame *frame)
{
    switch (frame->type) {
    case FRAME_DATA:
        return take_up(node, peer, frame);
    case FRAME_CLAIM:
        return member_claim(node, peer, frame);
    case FRAME_RESUME:
        return take_resume(node, peer, frame);
    case FRAME_CREDIT:
        return take_credit(node, peer, frame);
    case FRAME_HEARTBEAT:
        return heartbeat_take(node, peer, frame);
    case FRAME_READY:
        return launch_ready(node, peer, frame);
    case FRAME_JOIN:
        return join_asked(node, peer, frame);
    case FRAME_FAULT:
        return take_fault(node, peer, frame);
    case FRAME_RECORD:
        return record_take(node, peer, frame);
    case FRAME_RECOVERED:
        return recovery_take(node, peer, frame);
    case FRAME_MOVED:
        return plan_answered(node, frame);
    case FRAME_RETIRE:
        return drain_answered(node, frame);
    case FRAME_FAN_OUT:
        return fan_out_take(node, peer, frame);
    case FRAME_NODE:
        return joined_take(node, peer, frame);
    case FRAME_ADOPT:
        return adoption_ask(node, peer, frame);
    case FRAME_PROBE:
        return adoption_probe(node, peer, frame);
    case FRAME_FEED:
        return downward_feed(node, peer, frame);
    case FRAME_COMPENSATION:
        return upward_compensate(node, peer, frame);
    case FRAME_TOTAL:
        return slot_take(node, peer, frame);
    case FRAME_FAREWELL:
        return farewell_take(node, peer, frame);
    case FRAME_GOODBYE:
        return launch_goodbye(node, peer, frame);
    case FRAME_SILENCE:
        peer->gave_up = true;
        return 0;
    case FRAME_HEARD:
        return status_heard(node, peer, frame);
    case FRAME_ROWS:
        return status_rows(node, peer, frame);
    default:
        return -EPROTO;
    }
}

static int take_down(struct node *node, struct frame *frame)
{
    struct stream *stream = node_stream(node, frame->stream);
    bool control = frame->type == FRAME_CONTROL;

    if (control != (frame->stream == 0) || !stream || !stream->active) {
        bool known = stream || frame->stream <= node->last_seen;

        frame_fini(frame);
        return known && !control ? 0 : -EPROTO;
    }
    return downward_take(node, stream, frame);
}

static int take_skip(struct node *node, const struct frame *frame)
{
    struct stream *stream = node_stream(node, frame->stream);

    if (frame->stream == 0)
        return -EPROTO;
    if (!stream || !stream->active)
        return frame->stream <= node->last_seen ? 0 : -EPROTO;
    return skip_take(node, stream, frame);
}

static int take_stable(struct node *node, const struct frame *frame)
{
    struct msg_stable stable;
    struct stream *stream;

    if (msg_stable_decode(frame, &stable) < 0)
        return -EPROTO;
    stream = node_stream(node, stable.stream);
    if (!stream || node->role == NODE_BACKEND)
        return 0;
    downward_stable(node, stream, stable.number);
    return 0;
}

static int from_parent(struct node *node,
                       struct peer *peer,
                       struct frame *frame)
{
    if (peer != node->parent && !move_reads(frame->type))
        return 0;
    switch (frame->type) {
    case FRAME_DATA:
    case FRAME_MARKER:
    case FRAME_CONTROL:
        return take_down(node, frame);
    case FRAME_SNAPSHOT:
        return snapshot_take(node, frame);
    case FRAME_STABLE:
        return take_stable(node, frame);
    case FRAME_SKIP:
        return take_skip(node, frame);
    case FRAME_FINAL:
        return waves_final(node, frame);
    case FRAME_CREDIT:
        return take_credit(node, peer, frame);
    case FRAME_HEARTBEAT:
        return heartbeat_take(node, peer, frame);
    case FRAME_TABLE:
        return launch_table(node, frame);
    case FRAME_JOINED:
        return join_answered(node, frame);
    case FRAME_END:
        if (peer == node->heal.orphan.left)
            return 0;
        if (move_is_under_way(node) && peer != node->parent)
            move_give_up(
                node,
                MOVE_CLOSING); /* only the parent speaks for the network */
        else
            launch_over(node, "the front-end has ended the network");
        return 0;
    case FRAME_RECORD:
        return record_take(node, peer, frame);
    case FRAME_FAN_OUT:
        return fan_out_take(node, peer, frame);
    case FRAME_NODE:
        return joined_take(node, peer, frame);
    case FRAME_ADOPTED:
        return orphan_adopted(node, peer, frame);
    case FRAME_PROBED:
        if (peer == node->heal.orphan.left)
            return move_told(node, frame);
        return peer == node->parent ? adoption_probed(node, frame)
                                    : move_aligned(node, peer, frame);
    case FRAME_EXPEL:
        return member_expel(node, frame);
    case FRAME_SILENCE:
        peer->gave_up = true;
        return 0;
    case FRAME_STATUS:
        return status_asked(node, frame);
    case FRAME_INJECT:
        return inject_take(node, frame);
    case FRAME_MOVE:
        return move_take(node, frame);
    case FRAME_RETIRE:
        return drain_take(node, frame);
    default:
        return -EPROTO;
    }
}

/* Close the link, and report the reason to the front-end. */
static void report_breach(struct node *node, struct peer *peer, uint8_t type)
{
    uint32_t rank = peer->rank;
    bool told = reports_faults(node) && !peer->is_parent;
    struct msg_fault fault = {
        .kind = FAULT_BREACH,
        .reporter = node->rank,
        .about = rank,
    };
    char text[LIMIT_TEXT];

    snprintf(text, sizeof(text), "it broke the protocol: a %s frame: %s",
             frame_name(type),
             node->refusal ? node->refusal : "it makes no sense");
    node_breach(node, peer, text);
    if (!told || node->ended)
        return;
    if (node->role == NODE_FRONTEND)
        node_tell(node, TELL_NODE_REFUSED, rank, 0, text);
    else if (!node->parent)
        return;
    else if (packet_pack(&fault.payload, "%s", text) < 0)
        node->failed = true;
    else
        node_send(node, node->parent, msg_fault_encode(&fault));
}

static uint64_t came_ms(const struct node *node, const struct event *event)
{
    return event->heard_ms > 0 ? event->heard_ms : node->now_ms;
}

void intake_bytes(struct node *node, const struct event *event)
{
    struct peer *peer =
        event->link < node->link_count ? node->links[event->link] : NULL;

    if (peer && peer->life.state != LINK_CLOSED)
        link_heard(&peer->life, came_ms(node, event));
}

void intake_frame(struct node *node, const struct event *event)
{
    struct frame frame = event->frame;
    struct peer *peer =
        event->link < node->link_count ? node->links[event->link] : NULL;
    int r = 0;

    if (!peer || peer->life.state == LINK_CLOSED || node->ended) {
        frame_fini(&frame);
        return;
    }
    link_heard(&peer->life, came_ms(node, event));
    node->refusal = permit_refusal(node, peer, &frame);
    if (node->refusal)
        r = -EPROTO;
    else if (peer->is_parent)
        r = from_parent(node, peer, &frame);
    else
        r = from_child(node, peer, &frame);
    frame_fini(&frame);
    if (r == -ENOMEM)
        node->failed = true;
    else if (r < 0 && !node->ended && node->links[event->link] == peer)
        report_breach(node, peer, frame.type);
}
