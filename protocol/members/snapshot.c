/* snapshot.c - what the packets of stream 0 that are stable, and gone, amount
 * to (PROTOCOL 3.1).
 *
 * Control packets without a number: LOST, and for each stream OPEN with what is
 * to take effect behind its packets; then the number that this is worth. */
#include <errno.h>
#include <stdlib.h>

#include "protocol/state.h"
#include "wire/packet.h"

/* The streams that are there, and the highest number that one has had. */
#define SNAPSHOT_FORMAT "%aud %ud"

/* ---- sending one ---- */

/* Send one control packet of a snapshot: it has no number. */
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

/* One stream of a snapshot, with what takes effect behind its packets. */
static void send_stream(struct node *node,
                        struct peer *peer,
                        const struct stream *stream)
{
    uint32_t id = stream->definition.id;
    size_t i;

    send_unnumbered(node, peer,
                    &(struct control){.type = CONTROL_OPEN,
                                      .definition = stream->definition});
    for (i = 0; i < stream->pending_count; i++)
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

/* Whether a snapshot for `peer` has this stream: closed ones too, until their
 * last packet is stable (PROTOCOL 3.1); a joiner needs those that grow. */
static bool is_shown(const struct stream *stream, const struct peer *peer)
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
        .number = zero->down.feed.stable, /* what is above goes as it came */
    };
    size_t i;

    if (!branch || !ids) {
        node->failed = true;
        free(ids);
        return;
    }
    if (peer->role == NODE_COMMNODE && node->lost.count > 0)
        send_unnumbered(
            node, peer,
            &(struct control){.type = CONTROL_LOST, .ranks = node->lost});
    for (i = 1; i < node->stream_count; i++) {
        if (!is_shown(node->streams[i], peer) ||
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
    if (node->closing)
        send_unnumbered(node, peer,
                        &(struct control){.type = CONTROL_SHUTDOWN});
    downward_pump_child(node, zero, peer->slot);
}

static void pass_on(struct node *node)
{
    const struct stream *zero = node->streams[0];
    uint32_t slot;

    for (slot = 0; slot < zero->branch_count; slot++) {
        const struct branch *branch = &zero->branches[slot];
        struct peer *peer = node_child(node, slot);

        /* one that has not said where it is will say so (10.4) */
        if (peer && peer->ready && branch->fed &&
            branch->cursor < zero->down.feed.base)
            snapshot_send(node, peer);
    }
}

/* PROTOCOL 11.4: the end, as a snapshot has it, goes down as it came. */
void snapshot_pass_end(struct node *node)
{
    uint32_t slot;

    for (slot = 0; slot < node->peer_count; slot++) {
        struct peer *peer = node_child(node, slot);

        if (peer && peer->ready)
            send_unnumbered(node, peer,
                            &(struct control){.type = CONTROL_SHUTDOWN});
    }
}

/* ---- taking one ---- */

void snapshot_refresh(struct node *node,
                      struct stream *stream,
                      const struct stream_definition *definition)
{
    size_t i;

    if (node->role == NODE_BACKEND && stream->active)
        return; /* it has all that is stable */
    /* Members that joined while we stood still. Nobody of them is below us, or
     * their ENTER would not be stable without having come to us; but some may
     * be whose ENTER lies behind the snapshot: that says from where they are to
     * be fed. */
    if (ranks_unite(&stream->definition.members, &definition->members) < 0)
        node->failed = true;
    payload_free(stream->definition.parameters);
    stream->definition.parameters = payload_ref(definition->parameters);
    /* what has taken effect behind stable, or is to later, is said again */
    for (i = 0; i < stream->pending_count; i++)
        payload_free(stream->pending[i].parameters);
    stream->pending_count = 0;
    stream->applied = 0;
}

/* PROTOCOL 3.1: a stream that a snapshot does not have was closed, and its last
 * packet stable, before the number that it ends with. */
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
        if (upward_is_idle(node, node->streams[i])) {
            node_remove_stream(node, node->streams[i]);
        } else { /* its filter is at work: it goes with the answer */
            node->streams[i]->closing = true;
            node->streams[i]->close_at = 0;
        }
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
    zero->down.refeeding = false;
    zero->down.last = snapshot.number;
    zero->down.passed = snapshot.number;
    if (node->role == NODE_COMMNODE) {
        feed_restart(&zero->down.feed, snapshot.number);
        zero->down.feed.stable =
            snapshot.number; /* we too can send no packet */
        zero->settle.stable_due = true;
        pass_on(node);
    }
    settle_update(node, zero);
    return 0;
}
