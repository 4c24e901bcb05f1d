/* joined.c - NODE: commnodes that join after the launch (PROTOCOL 19).
 *
 * On each link NODE goes before the first record that names the node: in floods,
 * and when two nodes exchange all that they know. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/launch/internals.h"
#include "protocol/state.h"
#include "wire/packet.h"

/* Ranks, and the addresses of each. */
#define NODE_FORMAT "%aud %as"

/* The nodes of one frame. */
struct nodes {
    uint32_t *ranks;
    const char **addresses; /* borrowed */
    uint32_t count;
};

static void nodes_fini(struct nodes *nodes)
{
    free(nodes->ranks);
    free(nodes->addresses);
}

/* Make room; nodes_fini() it, also on error. Returns 0 or -ENOMEM. */
static int nodes_reserve(struct nodes *nodes, size_t room)
{
    nodes->ranks = calloc(room + 1, sizeof(*nodes->ranks));
    nodes->addresses = calloc(room + 1, sizeof(*nodes->addresses));
    return nodes->ranks && nodes->addresses ? 0 : -ENOMEM;
}

static void nodes_add(struct nodes *nodes, uint32_t rank, const char *address)
{
    nodes->ranks[nodes->count] = rank;
    nodes->addresses[nodes->count++] = address;
}

static struct frame nodes_pack(struct node *node, const struct nodes *nodes)
{
    struct frame frame = {.type = FRAME_NODE, .origin = node->rank};

    if (packet_pack(&frame.payload, NODE_FORMAT, nodes->ranks, nodes->count,
                    nodes->addresses, nodes->count) < 0)
        node->failed = true;
    return frame;
}

/* Send the nodes to all neighbours but `from`. A back-end that moves passes nothing
 * from parent to parent. */
static void nodes_flood(struct node *node,
                        const struct nodes *nodes,
                        const struct peer *from)
{
    struct frame frame;

    if (nodes->count == 0 || node->role == NODE_BACKEND)
        return;
    frame = nodes_pack(node, nodes);
    journal_add(node, &frame);
    for (uint32_t slot = 0; slot < node->peer_count && !node->failed; slot++) {
        struct peer *peer = node->peers[slot];

        if (peer && peer != from && node_is_attached(node, peer))
            node_send(node, peer, frame_ref(&frame));
    }
    frame_fini(&frame);
}

/* Whether `text` can be addresses: the session file has them in a line. */
static bool is_address(const char *text)
{
    size_t len = strnlen(text, INTERNALS_ADDRESS);

    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == '\x7f')
            return false;
    return len > 0 && len < INTERNALS_ADDRESS;
}

bool joined_is_full(const struct node *node)
{
    const char *address;
    uint32_t rank;

    return table_joined(node->heal.table, LIMIT_JOINED - 1, &rank, &address);
}

/* Front-end: whether `rank` was given to a commnode that joins. */
static bool was_given(const struct node *node, uint32_t rank)
{
    const struct roster_note *note = roster_find(&node->roster.names, rank);

    if (!note && node->resuming.resumes)
        return rank < node->next_rank; /* given by the front-end before */
    return note && note->commnode;
}

/* PROTOCOL 19.4: why there cannot be such a node; NULL: there can. */
static const char *joined_refusal(const struct node *node,
                                  uint32_t rank,
                                  const char *address)
{
    const char *known;

    if (!node->heal.table)
        return "the launch is not complete";
    known = table_address(node->heal.table, rank);
    if (known)
        return strcmp(known, address) == 0 ? NULL : "it has another address";
    if (rank < node->first_joiner || rank >= LIMIT_NODES)
        return "no node that has joined has that rank";
    if (ranks_has(&node->backends, rank) ||
        (node->role == NODE_FRONTEND && !was_given(node, rank)))
        return "that rank is not of a commnode";
    if (!is_address(address))
        return "that is no address";
    return joined_is_full(node) ? "too many commnodes have joined" : NULL;
}

/* Add a node to the table, and, if that is news, to `news`. */
static int joined_add(struct node *node,
                      uint32_t rank,
                      const char *address,
                      struct nodes *news)
{
    const char *why = joined_refusal(node, rank, address);
    int r;

    if (why)
        return node_refuse(node, why);
    r = table_join(node->heal.table, rank, address);
    if (r > 0)
        nodes_add(news, rank, address);
    return r == -EBADMSG ? -EPROTO : r;
}

int joined_tell(struct node *node, uint32_t rank, const char *address)
{
    struct nodes news = {0};
    int r = nodes_reserve(&news, 1);

    if (r == 0)
        r = joined_add(node, rank, address, &news);
    if (r == -ENOMEM)
        node->failed = true;
    if (r >= 0)
        nodes_flood(node, &news, NULL);
    nodes_fini(&news);
    return r < 0 ? r : 0;
}

void joined_exchange(struct node *node, struct peer *peer)
{
    struct nodes all = {0};
    const char *address;
    uint32_t rank, count = 0;

    while (table_joined(node->heal.table, count, &rank, &address))
        count++;
    if (count == 0)
        return;
    if (nodes_reserve(&all, count) < 0) {
        node->failed = true;
    } else {
        while (table_joined(node->heal.table, all.count, &rank, &address))
            nodes_add(&all, rank, address);
        node_send(node, peer, nodes_pack(node, &all));
    }
    nodes_fini(&all);
}

void joined_introduce(struct node *node, struct peer *peer)
{
    const char *address = table_address(node->heal.table, node->rank);
    struct nodes own = {&node->rank, &address, 1};

    if (address)
        node_send(node, peer, nodes_pack(node, &own));
}

int joined_take(struct node *node, struct peer *peer, const struct frame *frame)
{
    bool caller = peer && !peer->is_parent && !peer->ready;
    struct cop_packet *packet = NULL;
    struct nodes news = {0};
    const uint32_t *ranks;
    const char **addresses;
    uint32_t count, address_count;
    int r;

    r = packet_open(&packet, frame->payload);
    if (r == 0)
        r = cop_packet_unpack(packet, NODE_FORMAT, &ranks, &count, &addresses,
                              &address_count);
    if (r == 0 && count != address_count)
        r = -EBADMSG;
    if (r == 0)
        r = nodes_reserve(&news, count);
    for (uint32_t i = 0; r >= 0 && i < count; i++) {
        if (caller && (peer->role != NODE_COMMNODE || ranks[i] != peer->rank))
            r = node_refuse(node, "it may tell of itself only");
        else
            r = joined_add(node, ranks[i], addresses[i], &news);
    }
    nodes_flood(node, &news, peer);
    nodes_fini(&news);
    cop_packet_free(packet);
    if (r == -EINVAL)
        return -EBADMSG;
    return r < 0 ? r : 0;
}
