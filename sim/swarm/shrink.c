/* shrink.c - delta debugging of schedules. */
#include "sim/swarm/shrink.h"

#include <ctype.h>
#include <stdlib.h>

#include "sim/memory.h"
#include "sim/swarm/swarm.h"
#include "sim/tree.h"

/* The most worlds to try: large ones take long. */
#define SHRINK_WORLDS 5000

struct shrink {
    struct schedule *best;
    const char *failure;
    uint32_t worlds;
};

/* Whether two failures are equal, except for the numbers in them. */
static bool is_alike(const char *a, const char *b)
{
    while (*a && *b) {
        while (isdigit((unsigned char)*a))
            a++;
        while (isdigit((unsigned char)*b))
            b++;
        if (*a != *b)
            return false;
        if (*a) {
            a++;
            b++;
        }
    }
    return *a == *b;
}

/* If `candidate`, which is taken, still fails, keep it. */
static bool try_candidate(struct shrink *shrink, struct schedule *candidate)
{
    struct swarm_result result;
    bool fails;

    shrink->worlds++;
    swarm_run(candidate, false, &result);
    fails = result.failure && is_alike(result.failure, shrink->failure);
    swarm_result_fini(&result);
    if (fails) {
        schedule_fini(shrink->best);
        *shrink->best = *candidate;
    } else {
        schedule_fini(candidate);
    }
    return fails;
}

static bool is_out(const struct shrink *shrink)
{
    return shrink->worlds >= SHRINK_WORLDS;
}

/* Remove steps: first many at once, then few. */
static bool fewer_steps(struct shrink *shrink)
{
    bool any = false;

    for (size_t len = shrink->best->count; len > 0; len /= 2)
        for (size_t from = 0; from < shrink->best->count && !is_out(shrink);) {
            struct schedule candidate;

            schedule_copy(&candidate, shrink->best, from, from + len);
            if (try_candidate(shrink, &candidate))
                any = true;
            else
                from += len;
        }
    return any;
}

/* Copy `tree` without the node at `without` and the nodes below it. */
static void prune_tree(struct tree *out,
                       const struct tree *tree,
                       size_t without)
{
    bool *gone = memory_new(tree->count * sizeof(*gone));

    *out = (struct tree){0};
    gone[without] = true;
    for (size_t i = 0; i < tree->count; i++) {
        const struct tree_node *node = &tree->nodes[i];

        gone[i] |= i > 0 && gone[node->parent];
        if (gone[i])
            continue;
        tree_add(out, node->rank,
                 i > 0 ? tree->nodes[node->parent].rank : node->rank);
    }
    tree_link(out);
    free(gone);
}

/* Remove subtrees, the last first. */
static bool fewer_nodes(struct shrink *shrink)
{
    struct tree tree;
    bool any = false;

    if (tree_read(&tree, shrink->best->tree) < 0)
        return false;
    for (size_t i = tree.count; i-- > 1 && tree.count > 2 && !is_out(shrink);) {
        struct schedule candidate;
        struct tree smaller;

        if (i >= tree.count)
            continue;
        prune_tree(&smaller, &tree, i);
        schedule_copy(&candidate, shrink->best, 0, 0);
        free(candidate.tree);
        candidate.tree = tree_text(&smaller);
        if (smaller.count > 1 && try_candidate(shrink, &candidate)) {
            tree_fini(&tree);
            tree = smaller;
            any = true;
        } else {
            if (smaller.count <= 1)
                schedule_fini(&candidate);
            tree_fini(&smaller);
        }
    }
    tree_fini(&tree);
    return any;
}

/* Remove randomness and needless delays. */
static bool less_chance(struct shrink *shrink)
{
    struct schedule candidate;
    bool any = false;

    if (shrink->best->fragment_percent > 0) {
        schedule_copy(&candidate, shrink->best, 0, 0);
        candidate.fragment_percent = 0;
        any |= try_candidate(shrink, &candidate);
    }
    if (shrink->best->delay_max_ms > 1) {
        schedule_copy(&candidate, shrink->best, 0, 0);
        candidate.delay_min_ms = candidate.delay_max_ms = 1;
        any |= try_candidate(shrink, &candidate);
    }
    for (size_t i = 0; i < shrink->best->count && !is_out(shrink); i++) {
        if (shrink->best->steps[i].after_ms == 0)
            continue;
        schedule_copy(&candidate, shrink->best, 0, 0);
        candidate.steps[i].after_ms = 0;
        any |= try_candidate(shrink, &candidate);
    }
    return any;
}

uint32_t shrink_schedule(struct schedule *schedule, const char *failure)
{
    struct shrink shrink = {.best = schedule, .failure = failure};
    bool any = true;

    while (any && !is_out(&shrink)) {
        any = fewer_steps(&shrink);
        any |= fewer_nodes(&shrink);
        any |= less_chance(&shrink);
    }
    return shrink.worlds;
}
