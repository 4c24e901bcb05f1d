/* snapshot.c - snapshots: the state of stream 0 after its dropped packets
 * (PROTOCOL 3.1).
 *
 * A snapshot is a series of control packets without a number: LOST, and for
 * each stream OPEN, followed by its changes that have not taken effect yet. The
 * frame SNAPSHOT ends it, with the number of the last packet that it replaces.
 */
#include <errno.h>
#include <stdlib.h>

#include "protocol/state.h"
#include "wire/packet.h"

/* The numbers of the existing streams, and the highest that was ever used. */
#define SNAPSHOT_FORMAT "%aud %ud"

/* ---- sending one ---- */

static void send_unnumbered(struct node *node,
                            struct peer *peer,
                            const struct control *control)
{
    struct frame frame;

    if (control_encode(control, &frame) < 0) {
        node->failed = true;
        return;
    }
    node_send(node, peer, frame);
}

/* Send one stream of a snapshot: OPEN and its pending changes. */
static void send_stream(struct node *node,
                        struct peer *peer,
                        const struct stream *stream)
{
    uint32_t id = stream->definition.id;
    struct control redo = {.type = CONTROL_REDO, .stream = id};

    send_unnumbered(node, peer,
                    &(struct control){.type = CONTROL_OPEN,
                                      .definition = stream->definition});
    if (stream->kind->snapshot && stream->kind->snapshot(stream, &redo))
        send_unnumbered(node, peer, &redo);
    for (size_t i = 0; i < stream->pending_count; i++)
        send_unnumbered(
            node, peer,
            &(struct control){.type = stream->pending[i].type,
                              .stream = id,
                              .after = stream->pending[i].after,
                              .parameters = stream->pending[i].parameters});
    if (stream->closing)
        send_unnumbered(node, peer,
                        &(struct control){.type = CONTROL_CLOSE,
                                          .stream = id,
                                          .after = stream->close_at});
}

/* Whether a snapshot for `peer` contains this stream. A joiner needs only
 * streams that grow. A commnode also needs closed streams until their last
 * packet is stable (PROTOCOL 3.1). */
static bool is_in_snapshot(const struct stream *stream, const struct peer *peer)
{
    if (peer->role == NODE_BACKEND)
        return stream->definition.grow && !stream->closing;
    return !stream->closing || stream_is_replayable(stream);
}

void snapshot_send(struct node *node, struct peer *peer)
{
    struct stream *zero = node->streams[0];
    struct branch *branch = stream_branch(zero, peer->slot);
    uint32_t *ids = calloc(node->stream_count, sizeof(*ids)), count = 0;
    struct msg_snapshot snapshot = {
        .number =
            zero->down.feed.stable, /* later packets are sent as they are */
    };

    if (!branch || !ids) {
        node->failed = true;
        free(ids);
        return;
    }
    if (peer->role == NODE_COMMNODE && node->lost.count > 0)
        send_unnumbered(
            node, peer,
            &(struct control){.type = CONTROL_LOST, .ranks = node->lost});
    if (node->views.number > 1)
        send_unnumbered(node, peer,
                        &(struct control){.type = CONTROL_VIEW,
                                          .view = node->views.number,
                                          .stable = node->views.stable});
    for (size_t i = 1; i < node->stream_count; i++) {
        if (!is_in_snapshot(node->streams[i], peer) ||
            node->streams[i]->opened_at > snapshot.number)
            continue;
        ids[count++] = node->streams[i]->definition.id;
        send_stream(node, peer, node->streams[i]);
    }
    branch->fed = true;
    branch->cursor = snapshot.number;
    if (packet_pack(&snapshot.payload, SNAPSHOT_FORMAT, ids, count,
                    node->last_seen) < 0)
        node->failed = true;
    free(ids);
    node_send(node, peer, msg_snapshot_encode(&snapshot));
    if (node->ending)
        send_unnumbered(node, peer, &(struct control){.type = CONTROL_ENDING});
    if (node->closing)
        send_unnumbered(node, peer,
                        &(struct control){.type = CONTROL_SHUTDOWN});
    downward_pump_child(node, zero, peer->slot);
}

static void forward_snapshot(struct node *node)
{
    const struct stream *zero = node->streams[0];

    for (uint32_t slot = 0; slot < zero->branch_count; slot++) {
        const struct branch *branch = &zero->branches[slot];
        struct peer *peer = node_child(node, slot);

        /* a child that has not sent FEED will send it (10.4) */
        if (peer && peer->ready && branch->fed &&
            branch->cursor < zero->down.feed.base)
            snapshot_send(node, peer);
    }
}

void snapshot_pass_end(struct node *node, enum control_type how)
{
    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        struct peer *peer = node_child(node, slot);

        if (peer && peer->ready)
            send_unnumbered(node, peer, &(struct control){.type = how});
    }
}

/* ---- taking one ---- */

void snapshot_refresh(struct node *node,
                      struct stream *stream,
                      const struct stream_definition *definition)
{
    if (node->role == NODE_BACKEND && stream->active)
        return; /* it has received everything that is stable */
    /* Add members that joined while this node was cut off. None of them is
     * below this node: their ENTER could not be stable without this node.
     * Members below this node whose ENTER follows the snapshot may be in it
     * too: they begin where that ENTER says. */
    if (ranks_unite(&stream->definition.members, &definition->members) < 0)
        node->failed = true;
    payload_free(stream->definition.parameters);
    stream->definition.parameters = payload_ref(definition->parameters);
    /* changes after the stable packets follow in the snapshot */
    for (size_t i = 0; i < stream->pending_count; i++)
        payload_free(stream->pending[i].parameters);
    stream->pending_count = 0;
    stream->applied = 0;
}

/* PROTOCOL 3.1: remove the streams that are not in the snapshot. They were
 * closed, and their last packet was stable. */
static int keep_streams(struct node *node, const uint32_t *ids, uint32_t count)
{
    size_t i;
    uint32_t at;

    for (at = 1; at < count; at++)
        if (ids[at] <= ids[at - 1])
            return -EBADMSG;
    for (i = node->stream_count - 1, at = count; i > 0; i--) {
        uint32_t id = node->streams[i]->definition.id;

        while (at > 0 && ids[at - 1] > id)
            at--;
        if (at > 0 && ids[at - 1] == id)
            continue;
        failure_take(node, id);
    }
    return 0;
}

int snapshot_take(struct node *node, const struct frame *frame)
{
    struct stream *zero = node->streams[0];
    struct cop_packet *packet = NULL;
    struct msg_snapshot snapshot;
    const uint32_t *ids;
    uint32_t count, last_seen;
    int r;

    if (node->role == NODE_FRONTEND ||
        msg_snapshot_decode(frame, &snapshot) < 0 ||
        snapshot.number < zero->down.last)
        return -EPROTO;
    r = packet_open(&packet, snapshot.payload);
    if (r == 0)
        r = cop_packet_unpack(packet, SNAPSHOT_FORMAT, &ids, &count,
                              &last_seen);
    if (r == 0 && node->role == NODE_COMMNODE)
        r = keep_streams(node, ids, count);
    cop_packet_free(packet);
    if (r < 0)
        return r == -EINVAL ? -EBADMSG : r;
    if (last_seen > node->last_seen)
        node->last_seen = last_seen;
    downward_snapshot(node, zero, snapshot.number);
    node->unfinished = false;
    if (node->role == NODE_COMMNODE) {
        node->attached = false;
        forward_snapshot(node);
    }
    settle_update(node, zero);
    return 0;
}
