/* stat_merge.c - the filter that merges trees on their way up. */
#include <errno.h>
#include <stdlib.h>

#include <coppice/filter.h>

#include "stat/list.h"
#include "stat/request.h"
#include "stat/tree/tree.h"

/* A tree, or a packet from which it is read when needed. */
struct part {
    struct tree *tree; /* NULL: not yet read */
    struct cop_packet *packet;
};

/* The joined packets, as trees of which each is at most half as large as the
 * one before. So the state is a few trees, however many packets were joined,
 * and a wave of small packets does not rewrite a large tree for each of them.
 *
 * A daemon keeps its first packet unread, since it usually only has to send it
 * on. */
struct state {
    struct part *parts; /* their join is the state */
    size_t count;
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

static void part_fini(struct part *part)
{
    tree_free(part->tree);
    cop_packet_free(part->packet);
}

/* Read the part's packet, unless that was already done. */
static int part_read(struct part *part)
{
    int r;

    if (part->tree)
        return 0;
    r = tree_unpack(&part->tree, part->packet);
    if (r < 0)
        return r;
    cop_packet_free(part->packet);
    part->packet = NULL;
    return 0;
}

/* Read the packet of a daemon's only part. A packet that is no tree is dropped:
 * the parent, which has it too, reports it. */
static int state_read(struct state *state)
{
    int r = state->count > 0 ? part_read(&state->parts[0]) : 0;

    if (r != -EINVAL && r != -EBADMSG)
        return r;
    part_fini(&state->parts[--state->count]);
    return 0;
}

static void merge_free(void *arg)
{
    struct state *state = arg;

    while (state->count > 0)
        part_fini(&state->parts[--state->count]);
    free(state->parts);
    free(state);
}

/* Join the last trees while they are of similar size. Without memory they stay
 * separate, which is equally correct. */
static void state_compact(struct state *state)
{
    struct part *parts = state->parts;
    struct tree *both;

    while (state->count > 1) {
        size_t last = state->count - 1;

        if (parts[last - 1].tree->node_count / 2 >
                parts[last].tree->node_count ||
            tree_join(&both, parts[last - 1].tree, parts[last].tree) < 0)
            return;
        part_fini(&parts[last - 1]);
        part_fini(&parts[last]);
        parts[last - 1] = (struct part){both, NULL};
        state->count--;
    }
}

static int merge_join(void *arg,
                      const struct cop_packet *packet,
                      struct cop_filter_call *call)
{
    struct state *state = arg;
    struct part *part;
    int r;

    r = list_grow(&state->parts, state->count, sizeof(*state->parts));
    if (r == 0)
        r = state_read(state);
    if (r < 0)
        return r;
    part = &state->parts[state->count];
    *part = (struct part){NULL, cop_packet_ref(packet)};
    if (state->count > 0 || !cop_filter_is_leaf(call))
        r = part_read(part);
    if (r < 0)
        cop_packet_free(part->packet);
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

/* Remove from `newer` what `older` has. */
static int part_subtract(struct part *newer, struct part *older)
{
    struct tree *rest;
    int r;

    r = part_read(older);
    if (r == -EINVAL || r == -EBADMSG)
        return 0; /* a packet that is no tree has nothing */
    if (r == 0)
        r = part_read(newer);
    if (r == 0)
        r = tree_difference(&rest, newer->tree, older->tree);
    if (r < 0)
        return r;
    tree_free(newer->tree);
    newer->tree = rest;
    return 0;
}

static int merge_difference(void *newer_arg, const void *older_arg)
{
    struct state *newer = newer_arg;
    const struct state *older = older_arg;
    int r = 0;

    for (size_t i = 0; r == 0 && i < newer->count; i++)
        for (size_t k = 0; r == 0 && k < older->count; k++)
            r = part_subtract(&newer->parts[i], &older->parts[k]);
    return r;
}

/* Join all parts; there is at least one. */
static int state_join(struct tree **out, const struct state *state)
{
    struct tree **trees = calloc(state->count, sizeof(*trees));
    int r;

    if (!trees)
        return -ENOMEM;
    for (size_t i = 0; i < state->count; i++)
        trees[i] = state->parts[i].tree;
    r = tree_join_all(out, trees, state->count);
    free(trees);
    return r;
}

static int merge_pack(const void *arg, struct cop_packet **out)
{
    const struct state *state = arg;
    const struct part *first = state->parts;
    struct tree *tree;
    int r;

    *out = NULL;
    if (state->count == 1 && first->packet) {
        *out = cop_packet_ref(first->packet);
        return 0;
    }
    if (state->count == 1 && !tree_is_empty(first->tree))
        return tree_pack(out, STAT_TAG_TREE, first->tree);
    if (state->count <= 1)
        return 0;
    r = state_join(&tree, state);
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
