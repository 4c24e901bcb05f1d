/* launch.c - readiness and ending (PROTOCOL 11.3, 11.4, 12). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"
#include "wire/packet.h"

/* Missing nodes that an error message names. */
#define NAMED_MISSING 8

/* Levels of the tree whose deadlines differ; deeper levels share the last. */
#define LAUNCH_LEVELS 8

struct expected *launch_expected(struct node *node, uint32_t rank)
{
    struct launching *launching = node->launching;

    for (size_t i = 0; launching && i < launching->expected_count; i++)
        if (launching->expected[i].rank == rank)
            return &launching->expected[i];
    return NULL;
}

int launch_expect(struct node *node, const struct node_child *child)
{
    struct expected expected = {.rank = child->rank, .role = child->role};

    if (array_grow(&node->launching->expected, node->launching->expected_count,
                   sizeof(expected)) < 0)
        return -ENOMEM;
    expected.host = strdup(child->host);
    if (!expected.host)
        return -ENOMEM;
    node->launching->expected[node->launching->expected_count++] = expected;
    node->planned_count++;
    return 0;
}

int launch_init(struct node *node, const struct node_config *config)
{
    node->launching = calloc(1, sizeof(*node->launching));
    if (!node->launching)
        return -ENOMEM;
    for (size_t i = 0; i < config->child_count; i++)
        if (launch_expect(node, &config->children[i]) < 0)
            return -ENOMEM;
    return missing_init(node, config);
}

void launch_fini(struct node *node)
{
    struct launching *launching = node->launching;

    if (!launching)
        return;
    for (size_t i = 0; i < launching->expected_count; i++)
        free(launching->expected[i].host);
    free(launching->expected);
    missing_fini(node);
    free(launching);
    node->launching = NULL;
}

static bool is_complete(const struct node *node)
{
    for (size_t i = 0; i < node->launching->expected_count; i++)
        if (!node->launching->expected[i].decided)
            return false;
    return true;
}

static void add_missing(struct node *node,
                        struct expected *child,
                        const char *reason)
{
    child->decided = child->missing = true;
    if (roster_add_note(&node->roster.missing, child->rank, child->host,
                        reason) < 0)
        node->failed = true;
}

void launch_send_table(struct node *node, struct peer *only)
{
    uint32_t slot, ordinal = 0;

    for (slot = 0; slot < node->peer_count; slot++) {
        struct peer *peer = node_child(node, slot);

        if (!peer || !peer->ready)
            continue;
        if (only && peer != only) {
            ordinal++;
            continue;
        }
        peer->told_ordinal = ++ordinal;
        node_send(node, peer,
                  msg_table_encode(&(struct msg_table){
                      .ordinal = ordinal - 1, /* PROTOCOL 7.2 */
                      .first = node->first_joiner,
                      .payload = payload_ref(node->table),
                  }));
    }
}

char *launch_address(struct node *node, uint32_t rank)
{
    const char *joined = table_address(node->heal.table, rank);
    char *address = NULL;

    if (joined)
        address = strdup(joined);
    if (joined && !address)
        node->failed = true;
    else if (!joined && roster_address(node->table, rank, &address) == -ENOMEM)
        node->failed = true;
    return address;
}

/* When a node at `depth` declares children missing. Lower nodes do so earlier,
 * so that their READY arrives in time. */
static uint64_t give_up_ms(const struct node *node, uint32_t depth)
{
    uint32_t level = depth < LAUNCH_LEVELS ? depth : LAUNCH_LEVELS;

    return node->begin_ms + node->times.launch_timeout_ms -
           node->times.launch_timeout_ms / 32 * level;
}

/* Front-end: tell the application which nodes are missing. */
static void tell_failed(struct node *node)
{
    const struct roster *roster = &node->roster;
    char text[LIMIT_TEXT];
    size_t len = 0;
    int n;

    for (uint32_t i = 0; i < roster->missing.count && i < NAMED_MISSING; i++) {
        const struct roster_note *missing = &roster->missing.list[i];
        bool named = *missing->host;

        n = snprintf(text + len, sizeof(text) - len, "%s%s%s%srank %u%s: %s",
                     i ? "; " : "", named ? "host " : "", missing->host,
                     named ? " (" : "", missing->rank, named ? ")" : "",
                     missing->text);
        if (n < 0 || (size_t)n >= sizeof(text) - len)
            break;
        len += (size_t)n;
    }
    node_tell(node, TELL_LAUNCH_FAILED, 0, 0, text)->code =
        node->now_ms >= give_up_ms(node, LAUNCH_LEVELS) ? -ETIMEDOUT
                                                        : -EHOSTUNREACH;
}

/* Whether the launch has failed: a node is missing and that is not allowed, or
 * no back-end is left. */
static bool is_failed(const struct node *node)
{
    const struct roster *roster = &node->roster;

    if (roster->missing.count == 0)
        return false;
    return !missing_is_skipped(node) ||
           (roster->backends.count == 0 && !node->attach);
}

/* Set this node's fan-out in the roster to the number of ready children. */
static void count_children(struct node *node)
{
    uint32_t count = 0;

    for (size_t i = 0; i < node->launching->expected_count; i++)
        count += node->launching->expected[i].decided &&
                 !node->launching->expected[i].missing;
    if (node->roster.internal_count > 0)
        node->roster.internals[0].fan_out = count;
}

/* The tree is complete. From now on silence for failure_timeout is a failure
 * (PROTOCOL 12.2b). */
static void become_launched(struct node *node)
{
    node->launched = true;
    launch_fini(node);
    for (uint32_t slot = 0; slot < node->peer_count; slot++)
        if (node->peers[slot])
            link_limit(&node->peers[slot]->life, node_patience_ms(node),
                       node->now_ms);
    node->silence_ms = node->now_ms + node_patience_ms(node);
    record_begin(node);
}

static void report_root(struct node *node)
{
    struct stream *zero = node->streams[0];
    struct frame table;
    int r;

    node->reported = true;
    roster_sort(&node->roster);
    if (is_failed(node)) {
        tell_failed(node);
        return;
    }
    if (roster_encode(&node->roster, FRAME_TABLE, &table) < 0) {
        node->failed = true;
        return;
    }
    node->table = table.payload;
    r = roster_table(table.payload, &node->heal.table);
    if (r == -ENOMEM) {
        node->failed = true;
        return;
    }
    if (r < 0) {
        launch_end(node, "its children have reported nodes that are no tree");
        return;
    }
    become_launched(node);
    if (ranks_copy(&node->backends, &node->roster.backends) < 0 ||
        ranks_copy(&zero->definition.members, &node->backends) < 0)
        node->failed = true;
    resume_record_launch(node);
    view_begin(node);
    launch_send_table(node, NULL);
    node_tell(node, TELL_LAUNCHED, node->rank, 0, NULL);
}

void launch_report(struct node *node)
{
    struct frame frame;

    if (node->reported || !node->started || !node->launching ||
        node->rank == RANK_NONE)
        return;
    if ((missing_is_skipped(node) || node->roster.missing.count == 0) &&
        !is_complete(node))
        return;
    count_children(node);
    if (node->role == NODE_FRONTEND) {
        report_root(node);
        return;
    }
    if (!node->parent || node->parent->life.state == LINK_CLOSED)
        return;
    if (roster_encode(&node->roster, FRAME_READY, &frame) < 0) {
        node->failed = true;
        return;
    }
    node->reported = true;
    if (ranks_copy(&node->streams[0]->settle.sent.members,
                   &node->roster.backends) < 0)
        node->failed = true;
    node_send(node, node->parent, frame);
}

void launch_start(struct node *node)
{
    uint32_t parent = node->role == NODE_FRONTEND ? RANK_NONE : 0;
    int r = 0;

    node->started = true;
    node->begin_ms = node->now_ms;
    if (node->role != NODE_BACKEND && node->rank != RANK_NONE)
        r = roster_add_internal(&node->roster, node->rank, parent,
                                (uint32_t)node->launching->expected_count,
                                node->address);
    else if (node->rank != RANK_NONE)
        r = ranks_add(&node->roster.backends, node->rank, node->rank);
    if (r == 0 && node->rank != RANK_NONE && *node->status.label)
        r = roster_add_note(&node->roster.names, node->rank, node->status.host,
                            node->status.label);
    if (r < 0)
        node->failed = true;
    for (size_t i = 0; i < node->launching->expected_count; i++)
        node_act(node, ACTION_SPAWN)->rank = node->launching->expected[i].rank;
    launch_report(node);
}

uint64_t launch_deadline_ms(const struct node *node)
{
    uint64_t end_ms, start_ms;

    if (!node->started || node->reported || !node->launching ||
        is_complete(node))
        return UINT64_MAX;
    end_ms = give_up_ms(node, node->depth);
    start_ms = missing_deadline_ms(node);
    return start_ms < end_ms ? start_ms : end_ms;
}

void launch_tick(struct node *node)
{
    char text[128];

    if (node->now_ms < launch_deadline_ms(node))
        return;
    missing_tick(node);
    if (node->now_ms < give_up_ms(node, node->depth))
        return;
    snprintf(text, sizeof(text), "not ready within %u ms (launch_timeout)",
             node->times.launch_timeout_ms);
    if (missing_is_skipped(node)) {
        missing_close(node, text);
        return;
    }
    for (size_t i = 0; i < node->launching->expected_count; i++)
        if (!node->launching->expected[i].decided)
            add_missing(node, &node->launching->expected[i], text);
    launch_report(node);
}

/* Whether the peer's role fits its rank. The table has all commnodes, except
 * those that have just joined: they will send NODE (PROTOCOL 19.2). */
static bool has_right_role(const struct node *node, const struct peer *peer)
{
    struct table_entry entry;
    bool inner = table_entry(node->heal.table, peer->rank, &entry) == 0;

    inner |= peer->role == NODE_COMMNODE && peer->rank >= node->first_joiner;
    return peer->rank < LIMIT_NODES && inner == (peer->role == NODE_COMMNODE);
}

int launch_child_up(struct node *node, struct peer *peer)
{
    struct expected *child;

    if (node->role == NODE_BACKEND)
        return -EPROTO;
    if (node->closing) {
        if (node->launched && peer->rank != RANK_NONE)
            adoption_refuse(node, peer); /* PROTOCOL 11.4 */
        return -EPROTO;
    }
    if (peer->rank == RANK_NONE) {
        if (!node->launched || drain_is_leaving(node) ||
            (!node->parent && node->role == NODE_COMMNODE))
            return -EAGAIN;
        return 0; /* it will send JOIN */
    }
    if (node->launched) /* an orphan: it will send ADOPT */
        return has_right_role(node, peer) ? 0 : -EPROTO;
    child = launch_expected(node, peer->rank);
    if (!child || child->decided || child->role != peer->role ||
        child->linked || child->stopping)
        return -EPROTO;
    child->linked = true;
    return 0;
}

void launch_child_gone(struct node *node, uint32_t rank, const char *text)
{
    struct expected *child = launch_expected(node, rank);

    if (!child || child->missing || node->launched)
        return;
    if (missing_is_skipped(node)) {
        missing_gone(node, rank, text);
        return;
    }
    add_missing(node, child, text);
    launch_report(node);
}

/* Under COP_MISSING_SKIP the parent of `rank` handles the failure. */
void launch_agent_gone(struct node *node, uint32_t rank, const char *text)
{
    if (!missing_is_skipped(node) && !node->reported)
        launch_lost(node, rank, text);
}

void launch_lost(struct node *node, uint32_t rank, const char *text)
{
    if (roster_add_note(&node->roster.missing, rank, "", text) < 0)
        node->failed = true;
    launch_report(node);
}

/* Whether a child may report this roster. A back-end may report only itself.
 * Only a back-end of the roster has a name.
 * The front-end accepts only ranks that it assigned. No child may report a
 * back-end of another child. */
static bool may_report(const struct node *node,
                       const struct peer *peer,
                       const struct roster *roster)
{
    for (uint32_t i = 0; i < roster->names.count; i++)
        if (!ranks_has(&roster->backends, roster->names.list[i].rank))
            return false;
    if (peer->role == NODE_BACKEND &&
        (roster->internal_count > 0 || roster->missing.count > 0 ||
         ranks_size(&roster->backends) != 1 ||
         !ranks_has(&roster->backends, peer->rank)))
        return false;
    if (node->role == NODE_FRONTEND &&
        ranks_after(&roster->backends, node->next_rank - 1) != RANK_NONE)
        return false;
    return roster->internal_count <= LIMIT_NODES &&
           roster->missing.count <= LIMIT_NODES &&
           !ranks_has(&roster->backends, node->rank) &&
           !ranks_has(&roster->backends, 0) &&
           !ranks_meet(&roster->backends, &node->backends);
}

int launch_ready(struct node *node, struct peer *peer, struct frame *frame)
{
    struct expected *child = launch_expected(node, peer->rank);
    struct roster roster = {0};
    struct branch *zero;
    int r;

    if (!child || peer->ready)
        return -EPROTO;
    if (child->decided) { /* its end was reported before READY arrived */
        node_drop(node, peer, "it was given up before it was ready");
        return 0;
    }
    r = roster_decode(frame, &roster);
    if (r < 0)
        return r;
    if (!may_report(node, peer, &roster)) {
        roster_fini(&roster);
        return -EPROTO;
    }
    for (uint32_t i = 0; i < roster.internal_count; i++)
        if (roster.internals[i].rank == peer->rank)
            roster.internals[i].parent = node->rank;
    zero = stream_branch(node->streams[0], peer->slot);
    if (!zero || ranks_copy(&peer->below, &roster.backends) < 0 ||
        ranks_copy(&zero->members, &roster.backends) < 0 ||
        ranks_unite(&node->backends, &roster.backends) < 0 ||
        roster_merge(&node->roster, &roster) < 0)
        node->failed = true;
    else
        zero->fed = true;
    peer->ready = true;
    child->decided = true;
    roster_fini(&roster);
    launch_report(node);
    return 0;
}

int launch_table(struct node *node, struct frame *frame)
{
    struct msg_table table;
    int r;

    if (node->launched || msg_table_decode(frame, &table) < 0)
        return -EPROTO;
    r = roster_table(table.payload, &node->heal.table);
    if (r < 0)
        return r;
    node->heal.orphan.ordinal = table.ordinal;
    node->first_joiner = table.first;
    node->table = payload_ref(table.payload);
    roster_fini(&node->roster);
    become_launched(node);
    launch_send_table(node, NULL);
    node_tell(node, TELL_LAUNCHED, node->rank, 0, NULL);
    return 0;
}

/* Whether this back-end has sent all its packets. */
static bool is_drained(const struct node *node)
{
    for (size_t i = 0; i < node->stream_count; i++)
        if (!upward_is_drained(node->streams[i]))
            return false;
    return !node->filter.is_out && retain_is_done(node);
}

/* Whether a back-end leaves, and the front-end has accepted everything that it
 * must before (11.6). */
static bool has_left(const struct node *node)
{
    return node->leaving && is_drained(node) &&
           (!node->farewell || node->parted);
}

/* Tell the shell; `code` is 0 or -ETIMEDOUT. */
static void exit_node(struct node *node, int code, const char *text)
{
    struct action *action;

    observer_end(node);
    node->ended = true;
    node_tell(node, TELL_ENDED, node->rank, 0, text)->code = has_left(node);
    action = node_act(node, ACTION_EXIT);
    action->code = code;
    action->sequence = node->retired;
}

/* Close all links without a word. */
static void close_links(struct node *node)
{
    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        struct peer *peer = node->peers[slot];

        if (!peer || peer->life.state == LINK_CLOSED)
            continue;
        link_close(&peer->life);
        node_act(node, ACTION_CLOSE)->link = peer->link;
    }
}

void launch_break(struct node *node, const char *text)
{
    close_links(node);
    exit_node(node, -ETIMEDOUT, text);
}

void launch_detach(struct node *node)
{
    close_links(node);
    exit_node(node, 0, "the front-end has left its tree to another one");
}

/* Send GOODBYE. At the end it names the nodes below that are astray (11.4). */
static void send_goodbye(struct node *node, struct peer *peer)
{
    struct frame frame = {.type = FRAME_GOODBYE, .origin = node->rank};

    if (node->astray.count > 0 &&
        packet_pack(&frame.payload, "%aud", ranks_pairs(&node->astray),
                    (uint32_t)(2 * node->astray.count)) < 0)
        node->failed = true;
    node_send(node, peer, frame);
}

int launch_goodbye(struct node *node,
                   struct peer *peer,
                   const struct frame *frame)
{
    struct cop_packet *packet = NULL;
    struct ranks astray = {0};
    const uint32_t *pairs;
    uint32_t count;
    int r;

    peer->left = true;
    if (!frame->payload || peer->role != NODE_COMMNODE)
        return 0;
    r = packet_open(&packet, frame->payload);
    if (r == 0)
        r = cop_packet_unpack(packet, "%aud", &pairs, &count);
    if (r == 0)
        r = ranks_from_pairs(&astray, pairs, count);
    if (r == 0)
        r = ranks_unite(&node->astray, &astray);
    cop_packet_free(packet);
    ranks_fini(&astray);
    return r == -EINVAL ? -EBADMSG : r;
}

void launch_end(struct node *node, const char *text)
{
    if (node->ended)
        return;
    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        struct peer *peer = node->peers[slot];

        if (!peer || peer->life.state == LINK_CLOSED)
            continue;
        if (peer->asking)
            adoption_refuse(node, peer);
        else if (peer->is_parent)
            send_goodbye(node, peer);
        else
            node_send_bare(node, peer, FRAME_END);
        link_close(&peer->life);
        node_act(node, ACTION_CLOSE)->link = peer->link;
    }
    exit_node(node, 0, text);
}

void launch_over(struct node *node, const char *text)
{
    node->over = true;
    launch_end(node, text);
}

void launch_kill(struct node *node, const struct ranks *ranks)
{
    uint32_t rank = RANK_NONE;

    while (node->role != NODE_BACKEND &&
           (rank = ranks_after(ranks, rank)) != RANK_NONE)
        node_act(node, ACTION_KILL)->rank = rank;
}

/* Whether a child is ready. Those that still ask get END. */
static bool has_ready_child(const struct node *node)
{
    for (uint32_t slot = 0; slot < node->peer_count; slot++)
        if (node_child(node, slot) && node->peers[slot]->ready)
            return true;
    return false;
}

/* PROTOCOL 20.4: the network goes on, with the nodes that this one has started. */
static void launch_retire(struct node *node)
{
    node->retired = true;
    launch_end(node, "its host was drained");
}

void launch_try_end(struct node *node)
{
    if (node->ended)
        return;
    if (node->closing && !has_ready_child(node))
        launch_end(node, "the front-end has ended the network");
    else if (node->leaving && is_drained(node) && !farewell_waits(node))
        launch_end(node, node->farewell
                             ? "its totals are larger than a packet may be"
                             : "this back-end has left the network");
    else if (drain_is_over(node))
        launch_retire(node);
}
