/* join.c - back-ends and commnodes that join a network after its launch
 * (PROTOCOL 12.3, 19). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"
#include "wire/packet.h"

/* A joiner's host, label, addresses, and place. */
#define JOIN_FORMAT "%s %s %s %ud"

/* The texts of a JOIN, borrowed from its packet. */
struct joiner {
    const char *host;
    const char *label;
    const char *address; /* "" of a back-end */
    uint32_t place;      /* 0: none */
};

/* Send a JOIN up. Its payload stays this node's, too. */
static void join_send(struct node *node, const struct msg_join *question)
{
    struct frame frame = msg_join_encode(question);

    payload_ref(frame.payload);
    node_send(node, node->parent, frame);
}

/* Open the payload of a JOIN, and read it. Returns 0, -EBADMSG or -ENOMEM. */
static int join_read(struct cop_packet **packet,
                     const struct msg_join *question,
                     struct joiner *out)
{
    int r = packet_open(packet, question->payload);

    if (r < 0)
        return r;
    r = cop_packet_unpack(*packet, JOIN_FORMAT, &out->host, &out->label,
                          &out->address, &out->place);
    if (r == 0 &&
        (strlen(out->host) > LIMIT_HOST_NAME || !label_is_valid(out->label) ||
         (question->role == NODE_COMMNODE) != (*out->address != '\0') ||
         (question->role != NODE_COMMNODE && out->place != 0)))
        r = -EBADMSG;
    if (r == 0)
        return 0;
    cop_packet_free(*packet);
    return r == -EINVAL ? -EBADMSG : r;
}

/* PROTOCOL 19.2: a commnode has its rank. Every node learns of it before it
 * learns where it is. Returns 0 or a negative errno. */
static int tell_commnode(struct node *node,
                         struct peer *peer,
                         uint32_t rank,
                         const struct msg_join *question)
{
    struct cop_packet *packet;
    struct joiner joiner;
    int r = join_read(&packet, question, &joiner);

    if (r < 0)
        return r;
    r = joined_tell(node, rank, joiner.address);
    cop_packet_free(packet);
    if (r < 0)
        return r;
    peer->incarnation = JOINED_INCARNATION;
    record_tell(node, rank, peer->incarnation, node->rank, NULL);
    return 0;
}

/* Streams may have been opened since its greeting (PROTOCOL 3.4). */
static void grant_streams(struct node *node, const struct peer *peer)
{
    for (size_t i = 0; i < node->stream_count; i++) {
        struct branch *branch = stream_branch(node->streams[i], peer->slot);

        if (branch)
            credit_grant(&branch->down, peer->granted);
        else
            node->failed = true;
    }
}

/* The joiner `peer` is linked to this node: send it its rank and the state. */
static void welcome_joiner(struct node *node,
                           struct peer *peer,
                           uint32_t rank,
                           const struct msg_join *question)
{
    if (peer->role == NODE_COMMNODE &&
        tell_commnode(node, peer, rank, question) < 0) {
        node_drop(node, peer, "there is no room for it");
        return;
    }
    peer->rank = rank;
    peer->ready = true;
    grant_streams(node, peer);
    node_send(node, peer,
              msg_joined_encode(&(struct msg_joined){
                  .rank = rank,
                  .depth = node->depth + 1,
              }));
    launch_send_table(node, peer);
    record_exchange(node, peer); /* what has changed since launch */
    snapshot_send(node, peer);
}

/* Remove join number `index`. Its payload is the caller's. */
static void join_remove(struct joins *joins, size_t index)
{
    joins->list[index] = joins->list[--joins->count];
}

/* Handle the answer to a JOIN: forward it, or welcome this node's joiner. */
static int answer_join(struct node *node, const struct msg_joined *joined)
{
    struct joins *joins = &node->joins;

    for (size_t i = 0; i < joins->count; i++) {
        struct joining joining = joins->list[i];
        struct peer *child;

        if (joining.question.asker != joined->asker ||
            joining.question.number != joined->number)
            continue;
        join_remove(joins, i);
        child =
            joining.link < node->link_count ? node->links[joining.link] : NULL;
        if (child && !child->is_parent) {
            if (joined->asker != node->rank)
                node_send(node, child, msg_joined_encode(joined));
            else if (joined->rank == RANK_NONE)
                node_drop(node, child, "there is no room for it");
            else
                welcome_joiner(node, child, joined->rank, &joining.question);
        }
        payload_free(joining.question.payload);
        return 0;
    }
    return 0; /* the joiner's link has ended */
}

/* Front-end: give the joiner the next rank, and keep its host and label. Ranks
 * rise, so the names stay sorted. */
static int give_rank(struct node *node, const struct msg_join *question)
{
    struct roster_notes *names = &node->roster.names;
    struct cop_packet *packet;
    struct joiner joiner;
    int r = join_read(&packet, question, &joiner);

    if (r < 0)
        return r;
    r = roster_add_note(names, node->next_rank, joiner.host, joiner.label);
    cop_packet_free(packet);
    if (r < 0)
        return r;
    names->list[names->count - 1].parent = question->asker;
    names->list[names->count - 1].place = joiner.place;
    names->list[names->count - 1].commnode = question->role == NODE_COMMNODE;
    resume_record_rank(node);
    return answer_join(node, &(struct msg_joined){
                                 .number = question->number,
                                 .asker = question->asker,
                                 .rank = node->next_rank++,
                             });
}

/* Answer a join (front-end), or forward it as soon as there is a parent. Returns
 * 0, -EAGAIN if there are too many joins or nodes, or -ENOMEM. */
static int join_ask(struct node *node, struct joining joining)
{
    if (node->joins.count >= LIMIT_CHILDREN ||
        (node->role == NODE_FRONTEND && node->next_rank >= LIMIT_NODES) ||
        (joining.question.role == NODE_COMMNODE && joined_is_full(node)))
        return -EAGAIN;
    if (array_grow(&node->joins.list, node->joins.count, sizeof(joining)) < 0)
        return -ENOMEM;
    payload_ref(joining.question.payload);
    node->joins.list[node->joins.count++] = joining;
    if (node->role == NODE_FRONTEND)
        return give_rank(node, &joining.question);
    if (node->parent)
        join_send(node, &joining.question);
    return 0;
}

void join_ask_again(struct node *node)
{
    for (size_t i = 0; i < node->joins.count; i++)
        join_send(node, &node->joins.list[i].question);
}

void join_fini(struct node *node)
{
    for (size_t i = 0; i < node->joins.count; i++)
        payload_free(node->joins.list[i].question.payload);
    free(node->joins.list);
}

void join_begin(struct node *node)
{
    struct msg_join question = {
        .asker = RANK_NONE,
        .role = (uint32_t)node->role,
    };

    if (node->parent->rank == RANK_NONE)
        node_drop(node, node->parent, "it has not joined yet itself");
    else if (packet_pack(&question.payload, JOIN_FORMAT, node->status.host,
                         node->status.label, node->address, node->place) < 0)
        node->failed = true;
    else
        node_send(node, node->parent, msg_join_encode(&question));
}

void join_forget(struct node *node, const struct peer *peer)
{
    size_t i, kept = 0;

    for (i = 0; i < node->joins.count; i++)
        if (node->joins.list[i].link != peer->link)
            node->joins.list[kept++] = node->joins.list[i];
        else
            payload_free(node->joins.list[i].question.payload);
    node->joins.count = kept;
}

static bool has_asked(const struct node *node, const struct peer *peer)
{
    for (size_t i = 0; i < node->joins.count; i++)
        if (node->joins.list[i].link == peer->link)
            return true;
    return false;
}

/* -EAGAIN must not close the link of the child that forwards the JOIN: that
 * child did nothing wrong. */
int join_asked(struct node *node, struct peer *peer, struct frame *frame)
{
    struct joining joining = {.link = peer->link};
    bool is_joiner = peer->rank == RANK_NONE;
    struct cop_packet *packet;
    struct joiner joiner;
    int r;

    if (!node->launched || msg_join_decode(frame, &joining.question) < 0 ||
        (is_joiner ? has_asked(node, peer) : !peer->ready))
        return -EPROTO;
    if (joining.question.role != NODE_BACKEND &&
        joining.question.role != NODE_COMMNODE)
        return node_refuse(node, "no such node may join");
    if (is_joiner && joining.question.role != (uint32_t)peer->role)
        return node_refuse(node, "it has another role");
    r = join_read(&packet, &joining.question, &joiner);
    if (r < 0)
        return r;
    cop_packet_free(packet);
    if (is_joiner) {
        /* not its link's, which the next joiner may get before the answer */
        node->joins.last = (node->joins.last + 1) & INT32_MAX;
        joining.question.number = node->joins.last;
        joining.question.asker = node->rank;
    }
    r = join_ask(node, joining);
    if (r != -EAGAIN)
        return r;
    if (is_joiner) {
        node_drop(node, peer, "there is no room for it");
        return 0;
    }
    node_send(node, peer,
              msg_joined_encode(&(struct msg_joined){
                  .number = joining.question.number,
                  .asker = joining.question.asker,
                  .rank = RANK_NONE,
              }));
    return 0;
}

/* This node has joined: take its rank from JOINED. */
static int take_own_rank(struct node *node, const struct msg_joined *joined)
{
    if (node->rank != RANK_NONE || joined->rank == RANK_NONE)
        return -EPROTO;
    node->rank = joined->rank;
    node->depth = joined->depth;
    node->reported = true;
    node->outside = node->role == NODE_BACKEND;
    if (node->role == NODE_COMMNODE)
        node->incarnation = JOINED_INCARNATION;
    node_act(node, ACTION_RANK)->rank = node->rank;
    return 0;
}

int join_answered(struct node *node, const struct frame *frame)
{
    struct msg_joined joined;

    if (msg_joined_decode(frame, &joined) < 0)
        return -EPROTO;
    return node->role == NODE_BACKEND || node->rank == RANK_NONE
               ? take_own_rank(node, &joined)
               : answer_join(node, &joined);
}
