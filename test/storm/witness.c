/* witness.c - whether the network's reports about its nodes are true. */
#include "test/storm/witness.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include <coppice/status.h>

#define STATUS_MS 10000

static void adopted(struct tree *tree,
                    const struct event *event,
                    ledger_bad_fn bad)
{
    struct node *node = &tree->nodes[event->rank];

    node->is_suspected = false;
    if (event->lost_parent < tree->count)
        tree->links[event->rank][event->lost_parent] |= LINK_LEFT;
    if (event->parent >= tree->first_leaf)
        bad("rank %u was adopted by %u, a back-end", event->rank,
            event->parent);
    else if (node->parent != COP_RANK_NONE &&
             event->lost_parent != node->parent)
        bad("rank %u lost its parent %u, says the event, but the parent was "
            "%u",
            event->rank, event->lost_parent, node->parent);
    node->parent = event->parent;
}

/* Note the links in a text such as "7-3, 8-3, 3-?": child and parent. A child
 * that is dead has not reported its parent. */
static void lossy(struct tree *tree, const struct event *event)
{
    const char *next = event->text;
    char parent[16];
    uint32_t child;
    int len;

    while (sscanf(next, "%u-%15[0-9?]%n", &child, parent, &len) == 2) {
        uint32_t rank =
            *parent == '?' ? UINT32_MAX : (uint32_t)strtoul(parent, NULL, 10);

        if (child < tree->count && rank < tree->count)
            tree->links[child][rank] |= LINK_LOSSY;
        next += len;
        next += strspn(next, ", ");
    }
}

void witness_links(const struct tree *tree,
                   uint64_t *unharmed,
                   ledger_bad_fn bad)
{
    for (uint32_t child = 0; child < tree->count; child++)
        for (uint32_t parent = 0; parent < tree->count; parent++) {
            if (tree->nodes[child].is_harmed || tree->nodes[parent].is_harmed)
                continue;
            if (tree->links[child][parent] == LINK_LOSSY)
                bad("the link %u-%u was never lost, but a LOSSY event names it",
                    child, parent);
            *unharmed += (tree->links[child][parent] & LINK_LEFT) != 0;
        }
}

/* Check that the rank is new; ranks come in any order. */
static void joined(struct tree *tree,
                   const struct event *event,
                   ledger_bad_fn bad)
{
    if (event->rank < tree->launched || event->rank >= RANKS_MAX ||
        tree->nodes[event->rank].has_joined) {
        bad("rank %u has joined, but was given before", event->rank);
        return;
    }
    tree->nodes[event->rank].has_joined = true;
    tree->nodes[event->rank].parent = COP_RANK_NONE;
    tree->joined++;
    if (event->rank >= tree->count)
        tree->count = event->rank + 1;
}

/* Check that a suspicion ends once, and that a lost node stays lost. */
static void node_event(struct tree *tree,
                       const struct event *event,
                       ledger_bad_fn bad)
{
    struct node *node = &tree->nodes[event->rank];

    if (node->is_lost)
        bad("rank %u was reported lost, but then event %d came", event->rank,
            event->type);
    if (event->type == COP_EVENT_NODE_SUSPECTED) {
        if (node->is_suspected)
            bad("rank %u was suspected twice", event->rank);
        node->is_suspected = true;
    } else if (event->type == COP_EVENT_NODE_BACK) {
        if (!node->is_suspected)
            bad("rank %u is back, but was not suspected", event->rank);
        node->is_suspected = false;
    } else if (event->type == COP_EVENT_NODE_ADOPTED) {
        adopted(tree, event, bad);
    } else if (node->is_killed &&
               event->type == (event->rank < tree->first_leaf
                                   ? COP_EVENT_NODE_LOST
                                   : COP_EVENT_BACKEND_LOST)) {
        node->is_lost = true;
        node->is_suspected = false;
    } else {
        bad("event %d about rank %u, which %s: %s", event->type, event->rank,
            node->is_killed ? "was killed" : "lives", event->text);
    }
}

void witness_event(struct tree *tree,
                   const struct event *event,
                   ledger_bad_fn bad)
{
    if (event->type == COP_EVENT_STREAM_LOSSY) {
        lossy(tree, event);
    } else if (event->type == COP_EVENT_REDO) {
        ; /* waves are sent again: any loss of a link may cause it */
    } else if (event->type == COP_EVENT_BACKEND_JOINED) {
        joined(tree, event, bad);
    } else if (event->rank == 0 || event->rank >= tree->count) {
        bad("an event of type %d about rank %u: %s", event->type, event->rank,
            event->text);
    } else {
        node_event(tree, event, bad);
    }
}

void witness_end(const struct tree *tree, const char *text, ledger_bad_fn bad)
{
    const char *named = strstr(text, "not known to have ended:");
    int r = atoi(text);

    if (r != (named ? -ETIMEDOUT : 0))
        bad("the shutdown returned %s", text);
    while (named && (named = strstr(named, "rank "))) {
        uint32_t rank = (uint32_t)atoi(named + strlen("rank "));

        if (rank >= tree->count || !tree->nodes[rank].is_killed)
            bad("the shutdown does not know whether rank %u has ended", rank);
        named++;
    }
}

bool witness_deaths(const struct tree *tree, ledger_bad_fn bad)
{
    bool is_well = true;

    for (uint32_t rank = 1; rank < tree->count; rank++) {
        const struct node *node = &tree->nodes[rank];

        if (node->is_killed == node->is_lost && !node->is_suspected)
            continue;
        is_well = false;
        if (bad)
            bad("rank %u was %s", rank,
                node->is_suspected ? "suspected, and no event says how that "
                                     "ended"
                                   : "killed, but not reported lost");
    }
    return is_well;
}

/* Check that every live node has a link to its parent, and no other links. */
static bool are_links_true(const struct tree *tree, ledger_bad_fn bad)
{
    static struct socket sockets[SOCKETS_MAX];
    size_t count = tree_sockets(tree, sockets), i;
    bool has_parent[RANKS_MAX] = {false};
    bool is_well = true;
    uint32_t rank;

    for (i = 0; i < count; i++) {
        uint32_t a = sockets[i].rank, b = sockets[i].peer;

        if (b == UINT32_MAX)
            continue;
        if (tree->nodes[a].parent == b && a != 0) {
            has_parent[a] = true;
        } else if (b == 0 || tree->nodes[b].parent != a) {
            is_well = false;
            if (bad)
                bad("there is a link of %u and %u, but neither is the other's "
                    "parent",
                    a, b);
        }
    }
    for (rank = 1; rank < tree->count; rank++)
        if (!tree->nodes[rank].is_killed && tree->nodes[rank].pid &&
            !has_parent[rank]) {
            is_well = false;
            if (bad)
                bad("rank %u has no link to %u, which was reported to be its "
                    "parent",
                    rank, tree->nodes[rank].parent);
        }
    return is_well;
}

static bool is_row_true(struct tree *tree,
                        const struct cop_status_node *row,
                        ledger_bad_fn bad)
{
    struct node *node;
    bool is_well;

    if (row->rank >= tree->count) {
        if (bad)
            bad("the status has rank %u", row->rank);
        return false;
    }
    node = &tree->nodes[row->rank];
    if (node->parent == COP_RANK_NONE)
        node->parent = row->parent; /* of a late joiner */
    is_well = node->is_killed ? row->state == COP_STATE_LOST
                              : row->parent == node->parent &&
                                    (row->state == COP_STATE_UP ||
                                     row->state == COP_STATE_DEGRADED);
    if (!is_well && bad)
        bad("the status says of rank %u: state %d, parent %u, %s; it %s, its "
            "parent is %u",
            row->rank, (int)row->state, row->parent, row->reason,
            node->is_killed ? "was killed" : "lives", node->parent);
    return is_well;
}

static bool is_status_true(struct tree *tree,
                           const char *session,
                           ledger_bad_fn bad)
{
    struct cop_status_node row = COP_STATUS_NODE_INIT;
    struct cop_error error = {""};
    struct cop_status *status;
    bool is_well = true;

    if (cop_status_read(&status, session, STATUS_MS, &error) < 0) {
        if (bad)
            bad("status: %s", error.text);
        return false;
    }
    if (cop_status_count(status) != tree->launched + tree->joined) {
        is_well = false;
        if (bad)
            bad("the status has %zu nodes of %u", cop_status_count(status),
                tree->launched + tree->joined);
    }
    for (size_t i = 0; i < cop_status_count(status); i++)
        if (cop_status_at(status, i, &row) < 0 || !is_row_true(tree, &row, bad))
            is_well = false;
    cop_status_free(status);
    return is_well;
}

/* Check that no child of a live node is a zombie. */
static bool is_waited_for(const struct tree *tree, ledger_bad_fn bad)
{
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    bool is_well = true;
    char state = 0;

    while (dir && (entry = readdir(dir))) {
        pid_t pid = (pid_t)atoi(entry->d_name), parent;

        if (pid <= 0)
            continue;
        parent = process_parent(pid, &state);
        for (uint32_t rank = 0; rank < tree->count && state == 'Z'; rank++)
            if (parent > 0 && tree->nodes[rank].pid == parent &&
                !tree->nodes[rank].is_killed) {
                is_well = false;
                if (bad)
                    bad("rank %u has not waited for process %d", rank,
                        (int)pid);
            }
    }
    if (dir)
        closedir(dir);
    return is_well;
}

bool witness_tree(struct tree *tree, const char *session, ledger_bad_fn bad)
{
    bool is_well = is_status_true(tree, session, bad);

    is_well = are_links_true(tree, bad) && is_well;
    return is_waited_for(tree, bad) && is_well;
}
