/* healing.c - how a tree heals, watched from outside. */
#include "sim/healing.h"

#include <stdarg.h>

#include "sim/memory.h"

static char *say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *say(const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return memory_text(text);
}

/* How many links lead from `index` up to `top`; SIM_NONE if none do. */
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

void healing_parted(struct healing *healing, struct sim *sim, uint32_t index)
{
    uint32_t orphans = 0;
    uint32_t met;

    for (uint32_t i = 1; i < sim_count(sim); i++) {
        uint32_t rank = sim_rank(sim, i);

        if (sim_role(sim, i) == NODE_BACKEND && rank != RANK_NONE &&
            way_up(sim, i, index, &met) != SIM_NONE)
            ranks_add(&healing->torn, rank, rank);
        if (i == index && sim_is_alive(sim, i))
            healing->orphan[i] = true;
        orphans += healing->orphan[i] && sim_is_alive(sim, i);
    }
    healing->overlapped |= orphans > 1;
}

/* Whether somebody lives who must know that it is dead: where a parent and
 * its child die together, nobody reports (PROTOCOL 11.1). */
static bool is_known(const struct healing *healing,
                     const struct sim *sim,
                     uint32_t index)
{
    const struct tree *tree = sim_tree(sim);
    uint32_t rank = sim_rank(sim, index);
    uint32_t parent;

    if (!healing->launched[index] || rank >= HEALING_NODES)
        return false;
    if (healing->news[rank] == HEALING_ADOPTED)
        parent = sim_find(sim, healing->told_parent[rank]);
    else
        parent = index < tree->count ? tree->nodes[index].parent : SIM_NONE;
    return parent != SIM_NONE && sim_is_alive(sim, parent);
}

/* The front-end was told. */
static void hear(struct healing *healing,
                 struct sim *sim,
                 const struct action *tell)
{
    uint32_t index = sim_find(sim, tell->rank);

    /* One that joins is a node like others when it is told of (12.3). */
    if (tell->tell == TELL_BACKEND_JOINED && index != SIM_NONE)
        healing->launched[index] = true;
    if (tell->tell != TELL_NODE_LOST && tell->tell != TELL_NODE_ADOPTED &&
        tell->tell != TELL_BACKEND_LOST)
        return;
    if (index == SIM_NONE || tell->rank >= HEALING_NODES) {
        sim_fail(sim, "the front-end was told of %u, which nobody is",
                 tell->rank);
        return;
    }
    if (tell->tell == TELL_BACKEND_LOST) {
        if (sim_is_alive(sim, index) && !healing->left[index])
            sim_fail(sim, "%u was given up, and lives", tell->rank);
        return;
    }
    if (tell->tell == TELL_NODE_ADOPTED) {
        healing->news[tell->rank] = HEALING_ADOPTED;
        healing->told_parent[tell->rank] = (uint32_t)tell->sequence;
        return;
    }
    if (healing->news[tell->rank] == HEALING_LOST)
        sim_fail(sim, "the front-end was told twice that %u is lost",
                 tell->rank);
    healing->news[tell->rank] = HEALING_LOST;
}

void healing_told(struct healing *healing,
                  struct sim *sim,
                  uint32_t index,
                  const struct action *tell)
{
    if (index == 0)
        hear(healing, sim, tell);
    else if (tell->tell == TELL_LAUNCHED)
        healing->launched[index] |= index < sim_tree(sim)->count;
    else if (tell->tell == TELL_NODE_ADOPTED) {
        healing->orphan[index] = false;
        healing->adoptions++;
    } else if (tell->tell == TELL_ENDED && healing->launched[index] &&
               !healing->left[index] && sim_is_alive(sim, 0))
        sim_fail(sim, "%u has ended, and nobody ended it: %s",
                 sim_rank(sim, index), tell->text ? tell->text : "");
}

char *healing_lack(const struct healing *healing, const struct sim *sim)
{
    uint32_t met = 0;

    for (uint32_t i = 1; i < sim_count(sim); i++) {
        uint32_t rank = sim_rank(sim, i);
        bool internal = sim_role(sim, i) == NODE_COMMNODE;
        enum healing_news news =
            rank < HEALING_NODES ? healing->news[rank] : HEALING_NO_NEWS;

        if (!sim_is_alive(sim, i)) {
            if (internal && is_known(healing, sim, i) && news != HEALING_LOST)
                return say("%u is dead, and the front-end was not told", rank);
            continue;
        }
        if (way_up(sim, i, 0, &met) == SIM_NONE)
            return say("%d has no way up past %d", (int)rank,
                       (int)sim_rank(sim, met));
        if (internal && news == HEALING_LOST)
            return say("%u lives, and the front-end was told it is lost", rank);
        if (internal && news == HEALING_ADOPTED &&
            healing->told_parent[rank] != sim_rank(sim, sim_parent(sim, i)))
            return say("%u is the child of %u, and the front-end was told %u",
                       rank, sim_rank(sim, sim_parent(sim, i)),
                       healing->told_parent[rank]);
    }
    return NULL;
}

void healing_check(const struct healing *healing, struct sim *sim)
{
    const struct tree *tree = sim_tree(sim);
    uint32_t limit = 0;
    uint32_t height = 0;
    uint32_t met;

    for (size_t i = 0; i < tree->count; i++)
        if (tree->nodes[i].depth > limit)
            limit = tree->nodes[i].depth;
    for (uint32_t i = 1; i < sim_count(sim); i++) {
        uint32_t depth =
            sim_is_alive(sim, i) ? way_up(sim, i, 0, &met) : SIM_NONE;

        if (depth != SIM_NONE && depth > height)
            height = depth;
    }
    if (height > limit && !healing->overlapped)
        sim_fail(sim, "the tree is %u high, and was %u", height, limit);
}

void healing_fini(struct healing *healing)
{
    ranks_fini(&healing->torn);
}
