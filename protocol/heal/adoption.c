/* adoption.c - the candidate's side of an adoption, and probes (PROTOCOL 8). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"
#include "wire/packet.h"

static void send_answer(struct node *node,
                        struct peer *peer,
                        enum adoption_answer answer)
{
    heartbeat_greet(node, peer);
    node_send(node, peer,
              msg_adopted_encode(&(struct msg_adopted){
                  .answer = answer,
                  .sender = node->rank,
              }));
}

void adoption_refuse(struct node *node, struct peer *peer)
{
    if (!node->over && !node->closing) {
        send_answer(node, peer, ADOPTION_ORPHAN);
        return;
    }
    send_answer(node, peer, ADOPTION_CLOSING);
    suspect_found(node, peer->rank); /* it ends */
}

static void refuse_orphan(struct node *node,
                          struct peer *peer,
                          enum adoption_answer answer)
{
    send_answer(node, peer, answer);
    node_drop(node, peer, "its adoption was refused");
}

/* Another link to the same orphan: of a later attempt if `after`, else of the
 * same or an earlier one. NULL: there is none. */
static struct peer *other_link(const struct node *node,
                               const struct peer *peer,
                               bool after)
{
    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        struct peer *other = node_child(node, slot);

        if (other && other != peer && other->rank == peer->rank &&
            (other->incarnation > peer->incarnation) == after)
            return other;
    }
    return NULL;
}

/* Add the new child's branch to one stream. Packets go down it once the child
 * has sent FEED (10.4); waves wait for it once it has sent RESUME (4.5). */
static void adoption_place(struct node *node,
                           struct stream *stream,
                           struct peer *peer)
{
    struct branch *branch = stream_branch(stream, peer->slot);

    if (!branch || ranks_copy(&branch->members, &peer->below) < 0 ||
        (stream->definition.id != 0 &&
         ranks_intersect(&branch->members, &stream->definition.members) < 0)) {
        node->failed = true;
        return;
    }
    branch->fed = false;
    branch->cursor = feed_last(&stream->down.feed);
    branch->skipped = 0;
    if (peer->granted)
        credit_grant(&branch->down, peer->granted);
}

/* PROTOCOL 8.4: the orphan becomes a child. */
static void adopt_orphan(struct node *node, struct peer *peer)
{
    struct peer *old;

    /* links of its earlier attempts may still count as up */
    while (!node->ended && (old = other_link(node, peer, false)) != NULL)
        node_drop(node, old, "it came back on another link");
    if (node->ended || node->failed)
        return;
    peer->ready = true;
    peer->asking = false;
    peer->told_ordinal = node_ready_count(node);
    node->shifted = true;
    heartbeat_greet(node, peer);
    node_send(node, peer,
              msg_adopted_encode(&(struct msg_adopted){
                  .answer = ADOPTION_OK,
                  .sender = node->rank,
                  .ordinal = peer->told_ordinal - 1, /* PROTOCOL 7.2 */
                  .depth = node->depth,
              }));
    member_expel_lost(node, peer, &peer->below);
    /* back-ends that have just joined become members by a claim (12.3) */
    if (node->role == NODE_FRONTEND &&
        ranks_intersect(&peer->below, &node->backends) < 0)
        node->failed = true;
    for (size_t i = 0; i < node->stream_count; i++)
        adoption_place(node, node->streams[i], peer);
    record_exchange(node, peer);
    if (peer->role == NODE_COMMNODE && !peer->moving) /* else 18.3 */
        record_tell(node, peer->rank, peer->incarnation, node->rank, NULL);
    for (size_t i = 0; i < node->stream_count; i++)
        settle_update(node, node->streams[i]);
    if (node->role == NODE_FRONTEND)
        cover_update(node);
}

/* The path from here to the front-end is complete and has `depth` links. */
static void adoption_admit(struct node *node,
                           struct peer *peer,
                           uint32_t depth,
                           bool last_resort)
{
    bool too_high = depth + 1 + peer->height > node->heal.height_limit;

    node->depth = depth;
    if (other_link(node, peer, true))
        refuse_orphan(node, peer, ADOPTION_STALE);
    else if (too_high && !last_resort &&
             !adopter_may_raise(node->heal.algorithm))
        refuse_orphan(node, peer, ADOPTION_TOO_HIGH);
    else
        adopt_orphan(node, peer);
}

/* Send a probe up, unless it is held. Returns 0 or an error as in intake.c. */
static int pass_probe(struct node *node, struct probe *probe)
{
    bool passes = true;
    int r = probe->align == PROBE_ALIGN
                ? align_pass(node, probe->streams, &passes)
                : 0;

    probe->held = r == 0 && !passes;
    if (r < 0 || probe->held)
        return r;
    node_send(node, node->parent,
              msg_probe_encode(&(struct msg_probe){
                  .align = (int32_t)probe->align,
                  .orphan = probe->orphan,
                  .incarnation = probe->incarnation,
                  .hops = probe->hops,
                  .payload = payload_ref(probe->streams),
              }));
    return 0;
}

/* PROTOCOL 8.3: remember a probe, whose payload is taken, and send it up. Returns
 * 0 or an error as in intake.c. */
static int send_probe(struct node *node, struct probe probe)
{
    int r;

    if (array_grow(&node->heal.probes, node->heal.probe_count, sizeof(probe)) <
        0) {
        node->failed = true;
        payload_free(probe.streams);
        return 0;
    }
    r = pass_probe(node, &probe);
    if (r == 0)
        node->heal.probes[node->heal.probe_count++] = probe;
    else
        payload_free(probe.streams);
    return r;
}

void adoption_go_on(struct node *node)
{
    for (size_t i = 0; i < node->heal.probe_count && node->parent; i++)
        if (node->heal.probes[i].held &&
            pass_probe(node, &node->heal.probes[i]) == -ENOMEM)
            node->failed = true;
}

/* PROTOCOL 8.2: why this orphan is refused; ADOPTION_OK: it is not. */
static enum adoption_answer adoption_judge(const struct node *node,
                                           const struct peer *peer)
{
    struct table_entry entry;

    if (node->closing || node->leaving)
        return ADOPTION_CLOSING;
    if (suspect_is_lost(node, peer->rank))
        return ADOPTION_EXPELLED;
    if (node->role != NODE_FRONTEND &&
        (!node->parent || move_is_under_way(node)))
        return ADOPTION_ORPHAN; /* PROTOCOL 18.2, too */
    if (node_child_count(node) >= LIMIT_CHILDREN || drain_is_leaving(node) ||
        node->heal.probe_count >= LIMIT_CHILDREN)
        return ADOPTION_FULL;
    if (table_entry(node->heal.table, peer->rank, &entry) == 0 &&
        entry.incarnation > peer->incarnation)
        return ADOPTION_STALE;
    if (other_link(node, peer, true))
        return ADOPTION_STALE;
    return ADOPTION_OK;
}

int adoption_ask(struct node *node, struct peer *peer, struct frame *frame)
{
    struct cop_packet *packet = NULL;
    struct table_entry entry;
    struct msg_adopt adopt;
    bool last_resort;
    enum adoption_answer answer;
    const uint32_t *pairs;
    uint32_t count;
    int r;

    if (!node->launched || peer->ready || peer->asking ||
        peer->rank == RANK_NONE || msg_adopt_decode(frame, &adopt) < 0 ||
        adopt.orphan != peer->rank)
        return -EPROTO;
    if (peer->role == NODE_COMMNODE &&
        table_entry(node->heal.table, peer->rank, &entry) < 0)
        return node_refuse(node, "no commnode has its rank");
    if (!record_is_near(node, peer->rank, adopt.incarnation))
        return node_refuse(node, "no node has asked for a parent so often");
    r = packet_open(&packet, adopt.payload);
    if (r == 0)
        r = cop_packet_unpack(packet, "%aud", &pairs, &count);
    if (r == 0)
        r = ranks_from_pairs(&peer->below, pairs, count);
    cop_packet_free(packet);
    if (r == 0 && !member_may_claim(node, peer, &peer->below))
        r = -EPROTO;
    if (r < 0)
        return r == -EINVAL ? -EBADMSG : r;
    peer->asking = true;
    peer->incarnation = adopt.incarnation;
    peer->height = adopt.height;
    peer->moving = adopt.wish == ADOPTION_MOVE;
    last_resort = adopt.wish == ADOPTION_LAST_RESORT;
    if (node->role == NODE_FRONTEND)
        suspect_heard(node, peer->rank);
    answer = adoption_judge(node, peer);
    if (answer != ADOPTION_OK)
        refuse_orphan(node, peer, answer);
    else if (node->role == NODE_FRONTEND)
        adoption_admit(node, peer, 0, last_resort);
    else
        return send_probe(node, (struct probe){
                                    .orphan = peer->rank,
                                    .incarnation = peer->incarnation,
                                    .link = peer->link,
                                    .hops = 1,
                                    .last_resort = last_resort,
                                    .asked = true,
                                });
    return 0;
}

/* The front-end's answer to a probe for `orphan`. */
static enum probe_answer judge_orphan(struct node *node, uint32_t orphan)
{
    if (node->closing)
        return PROBE_FAIL;
    if (suspect_is_lost(node, orphan))
        return PROBE_EXPEL;
    suspect_heard(node, orphan);
    return PROBE_OK;
}

/* Answer a probe that has come from `peer` and goes no further. */
static int answer_probe(struct node *node,
                        struct peer *peer,
                        const struct msg_probe *probe)
{
    bool root = node->role == NODE_FRONTEND;
    struct msg_probed probed = {
        .answer = root ? judge_orphan(node, probe->orphan) : PROBE_FAIL,
        .orphan = probe->orphan,
        .incarnation = probe->incarnation,
        .depth = probe->hops,
    };
    int r = root && probe->align == PROBE_ALIGN
                ? align_answer(node, probe->payload, &probed.payload)
                : 0;

    if (r == 0)
        node_send(node, peer, msg_probed_encode(&probed));
    return r;
}

int adoption_probe(struct node *node,
                   struct peer *peer,
                   const struct frame *frame)
{
    struct msg_probe probe;

    if (msg_probe_decode(frame, &probe) < 0)
        return -EPROTO;
    if (peer->role == NODE_BACKEND &&
        !(probe.align == PROBE_ALIGN && peer->moving) &&
        probe.align != PROBE_TELL)
        return node_refuse(node, "nobody asks it for a parent");
    if (probe.align == PROBE_TELL && probe.hops > 1)
        align_tell(node, peer);
    else if (probe.align == PROBE_TELL)
        peer->going = true;
    if (node->role == NODE_FRONTEND || probe.orphan == node->rank ||
        !node->parent ||
        (!probe.align && move_is_under_way(node)) || /* PROTOCOL 18.2 */
        node->heal.probe_count >= LIMIT_CHILDREN)
        return answer_probe(node, peer, &probe);
    return send_probe(node, (struct probe){
                                .orphan = probe.orphan,
                                .incarnation = probe.incarnation,
                                .link = peer->link,
                                .hops = probe.hops + 1,
                                .align = (enum probe_align)probe.align,
                                .streams = probe.align == PROBE_ALIGN
                                               ? payload_ref(probe.payload)
                                               : NULL,
                            });
}

/* `probe` was answered: forward the answer, or decide about the orphan.
 * `levels`: of ALIGN, or NULL; taken. */
static void finish_probe(struct node *node,
                         const struct probe *probe,
                         enum probe_answer answer,
                         uint32_t depth,
                         struct payload *levels)
{
    struct peer *peer =
        probe->link < node->link_count ? node->links[probe->link] : NULL;

    if (!peer || peer->is_parent || peer->life.state == LINK_CLOSED) {
        payload_free(levels);
        return;
    }
    if (!probe->asked)
        node_send(node, peer,
                  msg_probed_encode(&(struct msg_probed){
                      .answer = answer,
                      .orphan = probe->orphan,
                      .incarnation = probe->incarnation,
                      .depth = depth,
                      .payload = levels,
                  }));
    else if (!peer->asking || peer->rank != probe->orphan ||
             peer->incarnation != probe->incarnation)
        return;
    else if (answer == PROBE_OK)
        adoption_admit(node, peer, depth, probe->last_resort);
    else
        refuse_orphan(node, peer,
                      answer == PROBE_EXPEL ? ADOPTION_EXPELLED
                                            : ADOPTION_ORPHAN);
}

int adoption_probed(struct node *node, const struct frame *frame)
{
    enum probe_answer answer = PROBE_FAIL;
    struct msg_probed probed;

    if (msg_probed_decode(frame, &probed) < 0)
        return -EPROTO;
    if (probed.answer == PROBE_OK || probed.answer == PROBE_EXPEL)
        answer = (enum probe_answer)probed.answer;
    for (size_t i = 0; i < node->heal.probe_count; i++) {
        struct probe probe = node->heal.probes[i];
        struct payload *levels = NULL;
        int r = 0;

        if (probe.orphan != probed.orphan ||
            probe.incarnation != probed.incarnation || probe.held)
            continue;
        if (probe.align == PROBE_ALIGN && answer == PROBE_OK) {
            levels = payload_ref(probed.payload);
            r = align_raise(node, &levels);
        }
        if (r < 0) {
            payload_free(levels);
            return r;
        }
        node->heal.probes[i] = node->heal.probes[--node->heal.probe_count];
        /* the depth in the answer is that of the candidate */
        finish_probe(node, &probe, answer, probed.depth, levels);
        payload_free(probe.streams);
        return 0;
    }
    return 0; /* the link of the probe has ended */
}

void adoption_reparented(struct node *node)
{
    struct probe *list = node->heal.probes;
    size_t count = node->heal.probe_count, i;

    node->heal.probes = NULL;
    node->heal.probe_count = 0;
    for (i = 0; i < count; i++) {
        if (!node->ended && node->parent && list[i].align) {
            if (send_probe(node, list[i]) == -ENOMEM)
                node->failed = true;
            continue;
        }
        if (!node->ended)
            finish_probe(node, &list[i], PROBE_FAIL, 0, NULL);
        payload_free(list[i].streams);
    }
    free(list);
}

void adoption_forget(struct node *node, const struct peer *peer)
{
    size_t i, kept = 0;

    for (i = 0; i < node->heal.probe_count; i++)
        if (node->heal.probes[i].link != peer->link)
            node->heal.probes[kept++] = node->heal.probes[i];
        else
            payload_free(node->heal.probes[i].streams);
    node->heal.probe_count = kept;
}

void adoption_fini(struct node *node)
{
    for (size_t i = 0; i < node->heal.probe_count; i++)
        payload_free(node->heal.probes[i].streams);
    free(node->heal.probes);
}
