/* stat_merge.c - the filter that merges stacks on their way up. */
#include <errno.h>
#include <stdlib.h>

#include <coppice/filter.h>

#include "stat/request.h"
#include "stat/tree/tree.h"

/* What was joined, as trees whose sizes at least halve from one to the next.
 * So the state is a few trees, however many packets it took in, and a wave of
 * small packets does not rewrite a large tree for each of them. */
struct state {
    struct tree **trees; /* what they stand for is their join */
    size_t count;
    size_t room;
};

static int merge_init(void **out, struct cop_filter_call *call)
{
    struct state *state = calloc(1, sizeof(*state));

    (void)call;
    if (!state)
        return -ENOMEM;
    *out = state;
    return 0;
}

static void state_clear(struct state *state)
{
    while (state->count > 0)
        tree_free(state->trees[--state->count]);
}

static void merge_free(void *arg)
{
    struct state *state = arg;

    state_clear(state);
    free(state->trees);
    free(state);
}

/* Merge the last trees while they are of like size. Without memory they stay
 * as they are, which is as true. */
static void state_compact(struct state *state)
{
    struct tree **trees = state->trees;
    struct tree *both;

    while (state->count > 1) {
        size_t last = state->count - 1;

        if (trees[last - 1]->node_count / 2 > trees[last]->node_count ||
            tree_join(&both, trees[last - 1], trees[last]) < 0)
            return;
        tree_free(trees[last - 1]);
        tree_free(trees[last]);
        trees[last - 1] = both;
        state->count--;
    }
}

static int merge_join(void *arg,
                      const struct cop_packet *packet,
                      struct cop_filter_call *call)
{
    struct state *state = arg;
    struct tree **grown;
    size_t room;
    int r;

    if (state->count == state->room) {
        room = state->room ? 2 * state->room : 16;
        grown = reallocarray(state->trees, room, sizeof(struct tree *));
        if (!grown)
            return -ENOMEM;
        state->trees = grown;
        state->room = room;
    }
    r = tree_unpack(&state->trees[state->count], packet);
    if (r == -EINVAL || r == -EBADMSG)
        return cop_filter_fail(call, "stat_merge: a packet is not a tree of "
                                     "stacks: are all daemons of this "
                                     "version?");
    if (r < 0)
        return r;
    state->count++;
    state_compact(state);
    return 0;
}

static int merge_difference(void *newer_arg, const void *older_arg)
{
    struct state *newer = newer_arg;
    const struct state *older = older_arg;
    struct tree *rest;
    int r;

    for (size_t i = 0; i < newer->count; i++) {
        for (size_t k = 0; k < older->count; k++) {
            r = tree_difference(&rest, newer->trees[i], older->trees[k]);
            if (r < 0)
                return r;
            tree_free(newer->trees[i]);
            newer->trees[i] = rest;
        }
    }
    return 0;
}

static int merge_pack(const void *arg, struct cop_packet **out)
{
    const struct state *state = arg;
    struct tree *tree;
    int r;

    *out = NULL;
    if (state->count == 0)
        return 0;
    r = tree_join_all(&tree, state->trees, state->count);
    if (r < 0)
        return r;
    if (!tree_is_empty(tree))
        r = tree_pack(out, STAT_TAG_TREE, tree);
    tree_free(tree);
    return r;
}

static const struct cop_filter stat_merge = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(struct cop_filter),
    .name = "stat_merge",
    .summary = "merge trees of stacks",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_IDEMPOTENT,
    .init = merge_init,
    .free = merge_free,
    .join = merge_join,
    .difference = merge_difference,
    .pack = merge_pack,
};

COP_FILTER_EXPORT(stat_merge);
