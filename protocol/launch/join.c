/* join.c - back-ends that join a network after its launch (PROTOCOL 12.3). */
#include <errno.h>

#include "protocol/state.h"

/* The joiner `peer` is linked to this node: send it its rank and the state. */
static void welcome_joiner(struct node *node, struct peer *peer, uint32_t rank)
{
    peer->rank = rank;
    peer->ready = true;
    node_send(node, peer,
              msg_joined_encode(&(struct msg_joined){
                  .rank = rank,
                  .depth = node->depth + 1,
              }));
    launch_send_table(node, peer);
    record_exchange(node, peer); /* what has changed since launch */
    snapshot_send(node, peer);
}

/* Handle the answer to a JOIN: forward it, or welcome this node's joiner. */
static int answer_join(struct node *node, const struct msg_joined *joined)
{
    struct joins *joins = &node->joins;

    for (size_t i = 0; i < joins->count; i++) {
        struct joining joining = joins->list[i];
        struct peer *child;

        if (joining.question.asker != joined->asker ||
            joining.question.link != joined->link)
            continue;
        joins->list[i] = joins->list[--joins->count];
        child =
            joining.link < node->link_count ? node->links[joining.link] : NULL;
        if (!child || child->is_parent)
            return 0;
        if (joined->asker != node->rank)
            node_send(node, child, msg_joined_encode(joined));
        else if (joined->rank == RANK_NONE)
            node_drop(node, child, "there is no room for it");
        else
            welcome_joiner(node, child, joined->rank);
        return 0;
    }
    return 0; /* the joiner's link has ended */
}

int join_ask(struct node *node, struct joining joining)
{
    if (node->joins.count >= LIMIT_CHILDREN ||
        (node->role == NODE_FRONTEND && node->next_rank >= LIMIT_NODES))
        return -EAGAIN;
    if (array_grow(&node->joins.list, node->joins.count, sizeof(joining)) < 0)
        return -ENOMEM;
    node->joins.list[node->joins.count++] = joining;
    if (node->role == NODE_FRONTEND)
        return answer_join(node, &(struct msg_joined){
                                     .link = joining.question.link,
                                     .asker = joining.question.asker,
                                     .rank = node->next_rank++,
                                 });
    if (node->parent)
        node_send(node, node->parent, msg_join_encode(&joining.question));
    return 0;
}

void join_ask_again(struct node *node)
{
    for (size_t i = 0; i < node->joins.count; i++)
        node_send(node, node->parent,
                  msg_join_encode(&node->joins.list[i].question));
}

void join_forget(struct node *node, const struct peer *peer)
{
    size_t i, kept = 0;

    for (i = 0; i < node->joins.count; i++)
        if (node->joins.list[i].link != peer->link)
            node->joins.list[kept++] = node->joins.list[i];
    node->joins.count = kept;
}

/* -EAGAIN must not close the link of the child that forwards the JOIN: that
 * child did nothing wrong. */
int join_asked(struct node *node, struct peer *peer, struct frame *frame)
{
    struct joining joining = {.link = peer->link};
    int r;

    if (!node->launched || msg_join_decode(frame, &joining.question) < 0)
        return -EPROTO;
    r = join_ask(node, joining);
    if (r != -EAGAIN)
        return r;
    node_send(node, peer,
              msg_joined_encode(&(struct msg_joined){
                  .link = joining.question.link,
                  .asker = joining.question.asker,
                  .rank = RANK_NONE,
              }));
    return 0;
}

/* This back-end has joined: take its rank from JOINED. */
static int take_own_rank(struct node *node, const struct msg_joined *joined)
{
    if (node->rank != RANK_NONE || joined->rank == RANK_NONE)
        return -EPROTO;
    node->rank = joined->rank;
    node->depth = joined->depth;
    node->reported = true;
    node->outside = true;
    node_act(node, ACTION_RANK)->rank = node->rank;
    return 0;
}

int join_answered(struct node *node, const struct frame *frame)
{
    struct msg_joined joined;

    if (msg_joined_decode(frame, &joined) < 0)
        return -EPROTO;
    return node->role == NODE_BACKEND ? take_own_rank(node, &joined)
                                      : answer_join(node, &joined);
}
