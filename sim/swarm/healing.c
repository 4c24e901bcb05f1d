/* healing.c - checks how a tree heals, from outside. */
#include "sim/swarm/healing.h"

#include <stdlib.h>

#include "protocol/watch/rows.h"
#include "sim/memory.h"
#include "wire/limits.h"

/* Fan-outs may wait for a heartbeat at each hop (PROTOCOL 6.6). */
#define HEALING_NEWS_MS (10 * LIMIT_HEARTBEAT_MS)

/* A commnode whose death no node noticed is reported lost when it has had no
 * path for the time of 11.1. That time begins when it is known to be an orphan,
 * or when its adoption has not been reported for as long (6.1a). */
#define HEALING_GIVE_UP_MS                                                     \
    (LIMIT_ORPHAN_TIMEOUT_MS + LIMIT_FAILURE_TIMEOUT_MS +                      \
     LIMIT_CONNECT_TIMEOUT_MS + LIMIT_PROBE_TIMEOUT_MS)
#define HEALING_LOST_MS (UINT64_C(30000) + 2 * HEALING_GIVE_UP_MS)

/* How many links lead from `index` up to `top`; SIM_NONE if no path does. */
static uint32_t way_up(const struct sim *sim,
                       uint32_t index,
                       uint32_t top,
                       uint32_t *met)
{
    uint32_t hops = 0;

    while (index != top) {
        *met = index;
        index = sim_parent(sim, index);
        if (index == SIM_NONE || hops++ > sim_count(sim))
            return SIM_NONE;
    }
    return hops;
}

void healing_init(struct healing *healing, uint32_t room)
{
    *healing = (struct healing){
        .nodes = memory_new(room * sizeof(*healing->nodes)),
        .room = room,
    };
}

/* `index` has lost a link to its parent, or leaves it. */
static void tear(struct healing *healing, struct sim *sim, uint32_t index)
{
    uint32_t met;

    for (uint32_t i = 1; i < sim_count(sim); i++) {
        uint32_t rank = sim_rank(sim, i);

        if (sim_role(sim, i) == NODE_BACKEND && rank != RANK_NONE &&
            way_up(sim, i, index, &met) != SIM_NONE)
            ranks_add(&healing->torn, rank, rank);
    }
}

void healing_parted(struct healing *healing, struct sim *sim, uint32_t index)
{
    uint32_t orphans = healing->moving;

    tear(healing, sim, index);
    for (uint32_t i = 1; i < sim_count(sim); i++) {
        if (i == index && sim_is_alive(sim, i))
            healing->nodes[i].orphan = true;
        orphans += healing->nodes[i].orphan && sim_is_alive(sim, i);
    }
    healing->overlapped |=
        orphans > 1 || (healing->joined_ms > 0 &&
                        sim_now_ms(sim) < healing->joined_ms + HEALING_NEWS_MS);
}

void healing_moving(struct healing *healing, struct sim *sim, uint64_t number)
{
    if (number == healing->number)
        return;
    healing->number = number;
    if (healing->moving)
        sim_fail(sim, "two nodes move at the same time");
    healing->moving = true;
    healing->moving_ms = sim_now_ms(sim);
    healing->asked++;
    for (uint32_t i = 1; i < sim_count(sim); i++)
        healing->overlapped |= healing->nodes[i].orphan;
    healing->overlapped |=
        healing->joined_ms > 0 &&
        sim_now_ms(sim) < healing->joined_ms + HEALING_NEWS_MS;
}

/* PROTOCOL 6.8: check that a report on a node may follow the previous one. */
static void hear_of(struct healing *healing,
                    struct sim *sim,
                    uint32_t index,
                    const struct action *tell)
{
    struct healing_node *node = &healing->nodes[tell->rank];
    bool suspected = node->news == HEALING_SUSPECTED;

    if ((tell->tell == TELL_NODE_SUSPECTED || tell->tell == TELL_NODE_LOST ||
         tell->tell == TELL_BACKEND_LOST) &&
        (!tell->text || !*tell->text))
        sim_fail(sim, "%u may be lost, and the report has no reason",
                 tell->rank);
    if (node->news == HEALING_LOST)
        sim_fail(sim, "the front-end reports %u after it was reported lost",
                 tell->rank);
    if (tell->tell == TELL_NODE_SUSPECTED) {
        if (suspected)
            sim_fail(sim, "%u was suspected twice", tell->rank);
        node->news = HEALING_SUSPECTED;
    } else if (tell->tell == TELL_NODE_BACK) {
        if (!suspected)
            sim_fail(sim, "%u is back, and was not suspected", tell->rank);
        node->news = HEALING_BACK;
    } else if (tell->tell == TELL_NODE_ADOPTED ||
               tell->tell == TELL_NODE_MOVED) {
        node->news = HEALING_ADOPTED;
        node->told_parent = (uint32_t)tell->sequence;
    } else {
        /* before the table arrives, a lost link is an end (12.2) */
        if (index != SIM_NONE && sim_is_alive(sim, index) &&
            healing->nodes[index].launched && !healing->nodes[index].left)
            sim_fail(sim, "%u was given up, and lives", tell->rank);
        node->news = HEALING_LOST;
    }
}

/* The number of a host, as sim_config has it; RANK_NONE: it is none of these. */
static uint32_t number_of(const char *host)
{
    return host[0] == 'h' ? (uint32_t)strtoul(host + 1, NULL, 10) : RANK_NONE;
}

/* Whether node `index` is a commnode on a host of `hosts`. */
static bool is_on(const struct sim *sim,
                  uint32_t index,
                  const struct ranks *hosts)
{
    return sim_role(sim, index) == NODE_COMMNODE &&
           ranks_has(hosts, number_of(sim_host(sim, index)));
}

void healing_drained(struct healing *healing, uint32_t number)
{
    ranks_add(&healing->drained, number, number);
}

/* A host is reported to be empty, or a commnode has joined, maybe on one. */
static void note_drain(struct healing *healing,
                       const struct sim *sim,
                       const struct action *tell)
{
    struct row row = {.host = NULL};
    struct ranks one = {0};
    uint32_t number;

    if (tell->tell == TELL_DRAINED) {
        number = number_of(tell->text);
        ranks_add(&healing->empty, number, number);
        return;
    }
    /* the joiner may not know its rank yet */
    if (tell->tell != TELL_NODE_JOINED ||
        !node_row(sim_node(sim, 0), tell->rank, &row) || !row.host ||
        !ranks_has(&healing->empty, number_of(row.host)))
        return;
    number = number_of(row.host);
    ranks_add(&one, number, number);
    ranks_subtract(&healing->empty, &one);
    if (tell->sequence == 0)
        ranks_subtract(&healing->drained, &one);
    ranks_fini(&one);
}

/* What is left on drained hosts, as a text to be freed; NULL: nothing. */
static char *drains_lack(const struct healing *healing, const struct sim *sim)
{
    uint32_t number = RANK_NONE;

    if (healing->taken_over)
        return NULL; /* drains are in no record */
    for (uint32_t i = 1; i < sim_count(sim); i++)
        if (sim_is_alive(sim, i) && is_on(sim, i, &healing->drained) &&
            sim_rank(sim, i) != RANK_NONE)
            return memory_format("%u lives on a drained host",
                                 sim_rank(sim, i));
    while ((number = ranks_after(&healing->drained, number)) != RANK_NONE)
        if (!ranks_has(&healing->empty, number))
            return memory_format("h%u was not reported to be empty", number);
    return NULL;
}

/* Record a report of the front-end. */
static void note_news(struct healing *healing,
                      struct sim *sim,
                      const struct action *tell)
{
    uint32_t index = sim_find(sim, tell->rank);
    bool known = tell->rank < healing->room;

    note_drain(healing, sim, tell);
    /* It may die before it knows its rank. */
    if (tell->tell == TELL_NODE_JOINED && known) {
        if (healing->nodes[tell->rank].announced)
            sim_fail(sim, "%u has joined twice", tell->rank);
        healing->nodes[tell->rank].announced = true;
        healing->nodes[tell->rank].helper = healing->helped = true;
    }
    known = known && (index != SIM_NONE || healing->nodes[tell->rank].helper);
    /* Once reported, a back-end that joined is a node like others (12.3). */
    if (tell->tell == TELL_BACKEND_JOINED && index != SIM_NONE) {
        healing->nodes[index].launched = true;
        healing->joined_ms = sim_now_ms(sim);
        for (uint32_t i = 1; i < sim_count(sim); i++)
            healing->overlapped |= healing->nodes[i].orphan;
    }
    if (tell->tell == TELL_NODE_MOVED || tell->tell == TELL_MOVE_FAILED) {
        /* its failure is told, too, if the command met a dead link */
        if (!healing->moving && !healing->taken_over &&
            tell->tell == TELL_NODE_MOVED)
            sim_fail(sim, "%u has moved, and was not asked to", tell->rank);
        healing->moving = false;
        healing->moves += tell->tell == TELL_NODE_MOVED;
        healing->joined_ms = sim_now_ms(sim);
    }
    if (tell->tell == TELL_MOVE_FAILED && (!tell->text || !*tell->text))
        sim_fail(sim, "%u has not moved, and there is no reason", tell->rank);
    if (tell->tell != TELL_NODE_LOST && tell->tell != TELL_NODE_LEFT &&
        tell->tell != TELL_NODE_ADOPTED && tell->tell != TELL_NODE_MOVED &&
        tell->tell != TELL_BACKEND_LOST && tell->tell != TELL_NODE_SUSPECTED &&
        tell->tell != TELL_NODE_BACK)
        return;
    if (!known)
        sim_fail(sim, "the front-end reports %u, and there is no such node",
                 tell->rank);
    else
        hear_of(healing, sim, index, tell);
}

void healing_told(struct healing *healing,
                  struct sim *sim,
                  uint32_t index,
                  const struct action *tell)
{
    if (index == 0)
        note_news(healing, sim, tell);
    else if (tell->tell == TELL_LAUNCHED) {
        healing->nodes[index].launched |= index < tree_next_rank(sim_tree(sim));
        healing->nodes[index].orphan = false; /* that was in another life */
    } else if (tell->tell == TELL_NODE_ADOPTED) {
        /* a commnode that joined ends with its host only before (19.3) */
        healing->nodes[index].launched |= sim_role(sim, index) == NODE_COMMNODE;
        if (!healing->nodes[index].orphan) /* it has moved */
            tear(healing, sim, index);
        healing->nodes[index].orphan = false;
        healing->adoptions++;
    } else if (tell->tell == TELL_ENDED && healing->nodes[index].launched &&
               !healing->nodes[index].left && sim_is_alive(sim, 0) &&
               !is_on(sim, index, &healing->drained))
        sim_fail(sim, "%u has ended, and nobody ended it: %s",
                 sim_rank(sim, index), tell->text ? tell->text : "");
}

void healing_taken_over(struct healing *healing, const struct sim *sim)
{
    healing->overlapped = true;
    healing->moving = false;
    healing->taken_over = true;
    for (uint32_t rank = 1; rank < healing->room; rank++) {
        struct healing_node *node = &healing->nodes[rank];
        uint32_t index = sim_find(sim, rank);
        bool internal = node->helper || (index != SIM_NONE &&
                                         sim_role(sim, index) == NODE_COMMNODE);

        if (node->news == HEALING_LOST && !internal)
            continue; /* its LOST is a record */
        node->announced = false;
        node->dead_ms = 0; /* of the index; it is counted anew */
        node->lost_before |= node->news == HEALING_LOST;
        node->news = HEALING_NO_NEWS;
    }
}

/* Whether a dead commnode was reported. */
static bool is_told_lost(const struct healing *healing, uint32_t rank)
{
    return healing->nodes[rank].news == HEALING_LOST ||
           healing->nodes[rank].lost_before;
}

/* What is not as PROTOCOL 19 says, as a text to be freed; NULL: nothing. */
static char *helpers_lack(const struct healing *healing, const struct sim *sim)
{
    for (uint32_t rank = 1; rank < healing->room; rank++) {
        uint32_t index = sim_find(sim, rank);

        if (healing->nodes[rank].helper &&
            (index == SIM_NONE || !sim_is_alive(sim, index)) &&
            !is_told_lost(healing, rank))
            return memory_format("%u has joined and is dead, and the front-end "
                                 "was not told",
                                 rank);
    }
    for (uint32_t i = 1; healing->helped && i < sim_count(sim); i++)
        if (sim_is_alive(sim, i) && sim_role(sim, i) == NODE_COMMNODE &&
            node_table_version(sim_node(sim, i)) !=
                node_table_version(sim_node(sim, 0)))
            return memory_format("the tables of %d and the front-end differ",
                                 (int)sim_rank(sim, i));
    return NULL;
}

char *healing_lack(const struct healing *healing, const struct sim *sim)
{
    char *lack = drains_lack(healing, sim);
    uint32_t met = 0;

    if (lack)
        return lack;
    if (healing->moving)
        return memory_format("a move was not reported");
    for (uint32_t i = 1; i < sim_count(sim); i++) {
        uint32_t rank = sim_rank(sim, i);
        bool internal = sim_role(sim, i) == NODE_COMMNODE;
        enum healing_news news =
            rank < healing->room ? healing->nodes[rank].news : HEALING_NO_NEWS;

        if (!sim_is_alive(sim, i)) {
            if (internal && healing->nodes[i].launched &&
                !is_told_lost(healing, rank))
                return memory_format(
                    "%u is dead, and the front-end was not told", rank);
            continue;
        }
        if (healing->nodes[i].orphan && healing->nodes[i].launched)
            return memory_format("%d is an orphan", (int)rank);
        if (way_up(sim, i, 0, &met) == SIM_NONE)
            return memory_format("%d has no way up past %d", (int)rank,
                                 (int)sim_rank(sim, met));
        if (news == HEALING_SUSPECTED)
            return memory_format("%u lives, and is suspected", rank);
        if (internal && news == HEALING_ADOPTED &&
            healing->nodes[rank].told_parent !=
                sim_rank(sim, sim_parent(sim, i)))
            return memory_format(
                "%u is the child of %u, and the front-end was told %u", rank,
                sim_rank(sim, sim_parent(sim, i)),
                healing->nodes[rank].told_parent);
    }
    return helpers_lack(healing, sim);
}

void healing_look(struct healing *healing, struct sim *sim)
{
    for (uint32_t i = 1; i < sim_count(sim); i++) {
        struct healing_node *node = &healing->nodes[i];
        uint32_t rank = sim_rank(sim, i);

        if (sim_is_alive(sim, i) || !node->launched ||
            sim_role(sim, i) != NODE_COMMNODE || rank >= healing->room ||
            is_told_lost(healing, rank))
            continue;
        if (node->dead_ms == 0)
            node->dead_ms = sim_now_ms(sim);
        if (sim_now_ms(sim) >
            node->dead_ms + HEALING_LOST_MS +
                (healing->taken_over ? HEALING_GIVE_UP_MS : 0))
            sim_fail(sim, "%u has been dead for long, and was not told of",
                     rank);
    }
}

void healing_check(struct healing *healing, struct sim *sim)
{
    const struct tree *tree = sim_tree(sim);
    uint32_t limit = 0;
    uint32_t height = 0;
    uint32_t met;

    /* The height of a tree is that of its deepest back-end (PROTOCOL 8.3). */
    for (size_t i = 0; i < tree->count; i++)
        if (tree->nodes[i].child_count == 0 && tree->nodes[i].depth > limit)
            limit = tree->nodes[i].depth;
    for (uint32_t i = 1; i < sim_count(sim); i++) {
        uint32_t depth =
            sim_is_alive(sim, i) && sim_role(sim, i) == NODE_BACKEND
                ? way_up(sim, i, 0, &met)
                : SIM_NONE;

        if (depth != SIM_NONE && depth > height)
            height = depth;
    }
    healing->rose = height > limit;
    if (healing->rose && !healing->overlapped)
        sim_fail(sim, "the tree is %u high, and was %u", height, limit);
}

void healing_fini(struct healing *healing)
{
    ranks_fini(&healing->torn);
    ranks_fini(&healing->drained);
    ranks_fini(&healing->empty);
    free(healing->nodes);
    *healing = (struct healing){0};
}
