/* drain.c - hosts that are to have no commnode any more (PROTOCOL 20.4). */
#include "protocol/heal/drain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"
#include "protocol/watch/rows.h"
#include "topology/topology.h"
#include "wire/packet.h"

/* The pause after a child that no node has adopted, and the longest one. */
#define PAUSE_MS     1000
#define PAUSE_MAX_MS 60000

void drain_fini(struct node *node)
{
    struct draining *draining = &node->heal.draining;

    for (size_t i = 0; i < draining->count; i++)
        free(draining->hosts[i].host);
    free(draining->hosts);
}

/* ---- which nodes ---- */

static struct drained *find_host(const struct node *node, const char *host)
{
    const struct draining *draining = &node->heal.draining;

    for (size_t i = 0; host && i < draining->count; i++)
        if (strcmp(draining->hosts[i].host, host) == 0)
            return &draining->hosts[i];
    return NULL;
}

/* The host of `rank`; NULL: not known. */
static const char *host_of(const struct node *node, uint32_t rank)
{
    struct row row = {.host = NULL};

    return node_row(node, rank, &row) ? row.host : NULL;
}

bool drain_holds(const struct node *node, const char *host)
{
    return find_host(node, host) != NULL;
}

bool drain_has(const struct node *node, uint32_t rank)
{
    return node->heal.draining.count > 0 && rank > 0 &&
           drain_holds(node, host_of(node, rank));
}

bool drain_expected(const struct node *node, uint32_t rank)
{
    const struct drained *drained = node->heal.draining.count > 0
                                        ? find_host(node, host_of(node, rank))
                                        : NULL;

    return drained && !drained->empty;
}

/* The commnode on a drained host that is to leave next, the deepest first: the one
 * above it has less to move then. `host`: of this host only. RANK_NONE: none. */
static uint32_t next_leaver(const struct node *node, const char *host)
{
    uint32_t found = RANK_NONE, depth = 0, at;
    struct table_entry entry;

    for (uint32_t i = 1; i < table_count(node->heal.table); i++) {
        const char *its;

        table_at(node->heal.table, i, &entry);
        if (entry.awaited || suspect_is_lost(node, entry.rank))
            continue;
        its = host_of(node, entry.rank);
        if (!its || (host ? strcmp(its, host) != 0 : !drain_holds(node, its)))
            continue;
        at = table_depth(node->heal.table, entry.rank);
        if (found == RANK_NONE || (at != TABLE_NO_PATH && at > depth)) {
            found = entry.rank;
            depth = at;
        }
    }
    return found;
}

/* ---- the front-end: drains ---- */

/* How many commnodes `host` has. */
static uint32_t count_commnodes(const struct node *node, const char *host)
{
    struct table_entry entry;
    uint32_t count = 0;

    for (uint32_t i = 1; i < table_count(node->heal.table); i++) {
        const char *its;

        table_at(node->heal.table, i, &entry);
        its = host_of(node, entry.rank);
        count += !entry.awaited && !suspect_is_lost(node, entry.rank) && its &&
                 strcmp(its, host) == 0;
    }
    return count;
}

/* Whether a node but the front-end is, was or may be started on `host`. */
static bool is_known(const struct node *node, const char *host)
{
    const struct replacing *replacing = &node->heal.replacing;
    const struct topology *tree = node->status.tree;
    const struct roster_notes *names = &node->roster.names;

    for (uint32_t i = 1; tree && i < topology_count(tree); i++)
        if (strcmp(topology_host(tree, i), host) == 0)
            return true;
    for (uint32_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i].host, host) == 0)
            return true;
    for (size_t i = 0; i < replacing->spare_count; i++)
        if (strcmp(replacing->spares[i], host) == 0)
            return true;
    return false;
}

int drain_begin(struct node *node, const char *host)
{
    struct draining *draining = &node->heal.draining;
    const char *own;

    if (node->role != NODE_FRONTEND)
        return -EPERM;
    if (!node->launched || node->ending || node->closing)
        return -ENOTCONN;
    if (node->resuming.resumes)
        return -EOPNOTSUPP; /* hosts of commnodes that had joined: unknown */
    if (!host || !*host)
        return -EINVAL;
    if (drain_holds(node, host))
        return -EALREADY;
    own = host_of(node, 0);
    if (own && strcmp(own, host) == 0 && !is_known(node, host))
        return -EINVAL;
    if (!is_known(node, host))
        return -ENOENT;
    if (array_grow(&draining->hosts, draining->count,
                   sizeof(*draining->hosts)) < 0)
        return -ENOMEM;
    draining->hosts[draining->count] = (struct drained){.host = strdup(host)};
    if (!draining->hosts[draining->count].host)
        return -ENOMEM;
    if (draining->count++ == 0) {
        draining->child = draining->passed = draining->moved = RANK_NONE;
        draining->pause_ms = PAUSE_MS;
    }
    node->out->result = count_commnodes(node, host);
    node->due |= DUE_SHAPE;
    return 0;
}

/* What an observer is told of an error of drain_begin(). */
static const char *text_of(int code)
{
    switch (code) {
    case -EINVAL:
        return "has the front-end only";
    case -ENOENT:
        return "is not known: no node is on it, and it is no spare";
    case -EALREADY:
        return "is drained, or being drained";
    case -EOPNOTSUPP:
        return "cannot be drained: this tool has taken its network over, and "
               "does not know where commnodes run that had joined";
    default:
        return "cannot be drained: the network ends";
    }
}

int drain_asked(struct node *node,
                const struct frame *frame,
                char *text,
                size_t text_len)
{
    struct cop_packet *packet = NULL;
    struct msg_drain drain;
    const char *host = "";
    int r;

    if (!node->status.allow_administration) {
        snprintf(text, text_len,
                 "this network cannot be administered from outside: have its "
                 "tool launch it with launch.allow_administration");
        return -EPERM;
    }
    r = msg_drain_decode(frame, &drain);
    if (r == 0)
        r = packet_open(&packet, drain.payload);
    if (r == 0)
        r = cop_packet_unpack(packet, "%s", &host);
    if (r == 0 && (!*host || strlen(host) > LIMIT_HOST_NAME))
        r = -EINVAL;
    if (r < 0) {
        snprintf(text, text_len, "the name of the host makes no sense");
        r = r == -ENOMEM ? r : -EINVAL;
    } else {
        r = drain_begin(node, host);
        if (r < 0)
            snprintf(text, text_len, "host %s %s", host, text_of(r));
    }
    node->failed |= r == -ENOMEM;
    cop_packet_free(packet);
    return r;
}

void drain_joined(struct node *node, uint32_t rank, uint32_t place)
{
    struct draining *draining = &node->heal.draining;
    struct drained *drained =
        draining->count > 0 ? find_host(node, host_of(node, rank)) : NULL;

    if (!drained || !drained->empty)
        return;
    drained->empty = false;
    if (place > 0) /* its start had begun before the drain: it leaves again */
        return;
    free(drained->host);
    *drained = draining->hosts[--draining->count];
}

/* Tell the application which hosts have no commnode any more. */
static void tell_empty(struct node *node)
{
    struct draining *draining = &node->heal.draining;

    for (size_t i = 0; i < draining->count; i++) {
        struct drained *drained = &draining->hosts[i];

        if (drained->empty || next_leaver(node, drained->host) != RANK_NONE)
            continue;
        drained->empty = true;
        node_tell(node, TELL_DRAINED, 0, 0, drained->host);
    }
}

bool drain_beat(struct node *node)
{
    struct draining *draining = &node->heal.draining;
    struct peer *peer;
    uint32_t rank;

    if (draining->count == 0 || node->ending || node->closing)
        return false;
    tell_empty(node);
    if (node->now_ms < draining->at_ms || node->heal.plan.number > 0 ||
        suspect_is_any(node))
        return false;
    rank = next_leaver(node, NULL);
    peer = rank != RANK_NONE ? node_next_hop(node, rank) : NULL;
    if (!peer)
        return false;
    node_send(node, peer,
              msg_retire_encode(&(struct msg_retire){
                  .leaver = rank,
                  .child = draining->passed,
                  .number = node->heal.plan.last,
              }));
    return true;
}

void drain_moved(struct node *node, bool succeeded)
{
    struct draining *draining = &node->heal.draining;

    if (draining->count == 0)
        return;
    if (succeeded) {
        draining->passed = draining->moved = node->heal.plan.mover;
        draining->moved_ms = node->now_ms + node->times.failure_timeout_ms;
        draining->child = RANK_NONE;
        draining->pause_ms = PAUSE_MS;
    }
    node->due |= DUE_SHAPE; /* which asks for the next child */
}

/* No node has adopted the child: go on with others after a pause. */
static void pass_child(struct node *node)
{
    struct draining *draining = &node->heal.draining;
    char text[80];

    draining->passed = draining->child;
    draining->child = RANK_NONE;
    draining->at_ms = node->now_ms + draining->pause_ms;
    snprintf(text, sizeof(text),
             "no node has adopted it; the next try is in %u s",
             (unsigned)(draining->pause_ms / 1000));
    draining->pause_ms *= 2;
    if (draining->pause_ms > PAUSE_MAX_MS)
        draining->pause_ms = PAUSE_MAX_MS;
    node_tell(node, TELL_DRAIN_FAILED, draining->passed, 0, text);
}

/* The next parent to try for the child, by the rules of orphans (7.3), but on no
 * host that is drained; the front-end is the last. Returns 0; -ENOENT: all were
 * tried; or -ENOMEM. */
static int pick_parent(struct node *node, uint32_t *parent)
{
    struct draining *draining = &node->heal.draining;
    struct adopter_survey *survey = NULL;
    struct table_entry entry;
    struct adopter_orphan who = {
        .rank = draining->child,
        .lost = draining->leaver,
        .seed = draining->child,
    };
    int r;

    if (table_entry(node->heal.table, draining->child, &entry) == 0)
        who.height = table_subtree_height(node->heal.table, draining->child);
    r = adopter_survey_new(&survey, node->heal.table, node->heal.algorithm,
                           &who, node->heal.height_limit);
    while (r == 0) {
        r = adopter_survey_pick(survey, &who, draining->turn, parent);
        if (r < 0)
            break;
        draining->turn++;
        if (!drain_has(node, *parent))
            break;
    }
    if (r == -ENOENT && draining->turn == adopter_survey_count(survey)) {
        draining->turn++;
        *parent = 0;
        r = 0;
    }
    adopter_survey_free(survey);
    return r;
}

/* Whether `child` may be a child of `leaver`, as far as known here. */
static bool is_child(const struct node *node, uint32_t leaver, uint32_t child)
{
    const struct draining *draining = &node->heal.draining;
    struct table_entry entry;

    if (child == draining->moved && node->now_ms < draining->moved_ms)
        return false;
    if (table_entry(node->heal.table, child, &entry) == 0)
        return child > 0 && !entry.failed && entry.parent == leaver;
    return ranks_has(&node->backends, child);
}

/* Have `child` of `leaver` move to another parent. */
static void move_child(struct node *node, uint32_t leaver, uint32_t child)
{
    struct draining *draining = &node->heal.draining;
    uint32_t parent;
    int r;

    if (draining->child != child || draining->leaver != leaver) {
        draining->leaver = leaver;
        draining->child = child;
        draining->turn = 0;
    }
    do {
        r = pick_parent(node, &parent);
        if (r == -ENOMEM)
            node->failed = true;
        if (r < 0) {
            pass_child(node);
            return;
        }
        r = plan_begin(node, child, parent);
    } while (r < 0 && r != -EAGAIN);
    if (r == -EAGAIN) /* the tree is not at rest: try this one again */
        draining->turn--;
}

/* ---- both ends of RETIRE ---- */

/* The child that a commnode names: after `passed`, if it has others. */
static const struct peer *name_child(const struct node *node, uint32_t passed)
{
    const struct peer *found = NULL;

    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        const struct peer *peer = node_child(node, slot);

        if (!peer || !peer->ready || peer->going)
            continue;
        if (!found || (peer->rank > passed) > (found->rank > passed) ||
            ((peer->rank > passed) == (found->rank > passed) &&
             peer->rank < found->rank))
            found = peer;
    }
    return found;
}

int drain_take(struct node *node, const struct frame *frame)
{
    const struct peer *child;
    struct msg_retire retire;
    struct peer *peer;

    if (node->role == NODE_BACKEND || msg_retire_decode(frame, &retire) < 0)
        return -EPROTO;
    if (retire.leaver != node->rank) {
        peer = node_next_hop(node, retire.leaver);
        if (peer)
            node_send(node, peer, frame_ref(frame));
        return 0;
    }
    node->retire_until_ms = node->now_ms + node->times.failure_timeout_ms;
    child = name_child(node, retire.child);
    if (child && node->parent)
        node_send(node, node->parent,
                  msg_retire_encode(&(struct msg_retire){
                      .leaver = node->rank,
                      .child = child->rank,
                      .number = retire.number,
                  }));
    return 0;
}

int drain_answered(struct node *node, const struct frame *frame)
{
    struct msg_retire retire;

    if (msg_retire_decode(frame, &retire) < 0)
        return -EPROTO;
    if (node->role != NODE_FRONTEND) {
        if (node->parent)
            node_send(node, node->parent, frame_ref(frame));
        return 0;
    }
    /* an answer from before the last move may name a child that has gone */
    if (node->heal.plan.number == 0 && retire.number == node->heal.plan.last &&
        !node->ending && !node->closing &&
        node->now_ms >= node->heal.draining.at_ms &&
        drain_has(node, retire.leaver) &&
        !suspect_is_lost(node, retire.leaver) &&
        is_child(node, retire.leaver, retire.child))
        move_child(node, retire.leaver, retire.child);
    return 0;
}

/* ---- the commnode ---- */

bool drain_is_leaving(const struct node *node)
{
    return node->now_ms < node->retire_until_ms;
}

bool drain_is_over(const struct node *node)
{
    if (!drain_is_leaving(node) || !node->parent ||
        node->parent->life.state != LINK_UP || move_is_under_way(node) ||
        node->recovering != RECOVERY_NOT || node_child_count(node) > 0 ||
        node->doubt_count > 0 || node->filter.is_out)
        return false;
    for (size_t i = 1; i < node->stream_count; i++)
        if (!stream_is_drained(node, node->streams[i]))
            return false;
    return true;
}
