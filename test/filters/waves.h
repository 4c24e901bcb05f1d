/* waves.h - a tree of filters, one loader for each node, that is run wave by
 * wave in the machine's order: back-ends first, the front-end last. */
#pragma once

#include "filters/loader.h"

#include <errno.h>

#include "filters/plugin.h"
#include "test/check.h"
#include "wire/format.h"
#include "wire/packet.h"

#define NODES_MAX  400
#define LEAVES_MAX 40

/* The rank of the first back-end; other nodes have lower ones. */
#define LEAF_RANK 1000

static const char *path;
static struct payload *parameters; /* of every call; NULL: none */

static inline uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* ---- a tree of nodes ---- */

struct tree_node {
    struct loader *loader;
    struct loader_output output;
    uint32_t children[LEAVES_MAX];
    uint32_t child_count;
    uint32_t leaf_count; /* at and below it */
    uint32_t depth;
    uint32_t leaf; /* index among the back-ends, if it is one */
};

struct tree {
    const char *filter;
    struct tree_node nodes[NODES_MAX];
    uint32_t count;
    uint32_t leaf_count;
    bool twice;    /* every input of a wave is repeated */
    bool reversed; /* the inputs of a wave are in reverse order */
};

static inline uint32_t add_node(struct tree *tree, uint32_t depth)
{
    CU_ASSERT_FATAL(tree->count < NODES_MAX);
    tree->nodes[tree->count].depth = depth;
    return tree->count++;
}

/* Grow `leaf_count` back-ends under a new node at `depth`. If `flat`, all are
 * children of the front-end. */
static inline uint32_t grow_tree(struct tree *tree,
                                 uint32_t leaf_count,
                                 uint32_t depth,
                                 bool flat,
                                 uint32_t *seed)
{
    uint32_t rank = add_node(tree, depth);
    struct tree_node *node = &tree->nodes[rank];
    uint32_t left = leaf_count;

    node->leaf_count = leaf_count;
    if (depth > 0 && leaf_count == 1 &&
        (flat || depth > 5 || next_random(seed) % 4 > 0)) {
        node->leaf = tree->leaf_count++;
        return rank;
    }
    while (left > 0) {
        uint32_t part = flat ? 1 : 1 + next_random(seed) % left;

        node->children[node->child_count++] =
            grow_tree(tree, part, depth + 1, flat, seed);
        left -= part;
    }
    return rank;
}

static inline enum node_role role_of(const struct tree *tree, uint32_t rank)
{
    if (rank == 0)
        return NODE_FRONTEND;
    return tree->nodes[rank].child_count ? NODE_COMMNODE : NODE_BACKEND;
}

static inline struct tree *tree_new(const char *filter,
                                    uint32_t leaf_count,
                                    bool flat,
                                    uint32_t seed)
{
    struct stream_definition definition = {.up_filter = (char *)filter};
    struct tree *tree = calloc(1, sizeof(*tree));

    CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
    tree->filter = filter;
    grow_tree(tree, leaf_count, 0, flat, &seed);
    for (uint32_t i = 0; i < tree->count; i++)
        CHECK_OK(loader_new(&tree->nodes[i].loader, &definition,
                            role_of(tree, i), path, NULL));
    return tree;
}

static inline void tree_free(struct tree *tree)
{
    for (uint32_t i = 0; i < tree->count; i++) {
        loader_free(tree->nodes[i].loader);
        loader_output_fini(&tree->nodes[i].output);
    }
    free(tree);
}

/* ---- a wave ---- */

/* The inputs of the nodes of one wave. */
struct inputs {
    struct frame frames[2 * LEAVES_MAX];
    uint32_t inlets[2 * LEAVES_MAX];
    size_t count;
};

static inline void inputs_add(struct inputs *inputs,
                              const struct frame *frame,
                              uint32_t inlet)
{
    inputs->frames[inputs->count] = frame_ref(frame);
    inputs->inlets[inputs->count++] = inlet;
}

static inline void inputs_reverse(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count / 2; i++) {
        size_t other = inputs->count - 1 - i;
        struct frame frame = inputs->frames[i];
        uint32_t inlet = inputs->inlets[i];

        inputs->frames[i] = inputs->frames[other];
        inputs->inlets[i] = inputs->inlets[other];
        inputs->frames[other] = frame;
        inputs->inlets[other] = inlet;
    }
}

/* The rank of node `i`: back-ends have the same one in every tree. */
static inline uint32_t rank_of(const struct tree *tree, uint32_t i)
{
    const struct tree_node *node = &tree->nodes[i];

    return node->child_count ? i : LEAF_RANK + node->leaf;
}

/* Run one wave in the subtree of `rank`; the result is in that node's output.
 * Returns 0 or the first error. */
static inline int run_subtree(struct tree *tree,
                              uint32_t rank,
                              struct cop_packet **leaves)
{
    struct tree_node *node = &tree->nodes[rank];
    struct loader_node where = {.role = role_of(tree, rank),
                                .rank = rank_of(tree, rank),
                                .depth = node->depth};
    struct inputs inputs = {.count = 0};
    struct node_call call = {
        .upward = true,
        .sequence = 1,
        .contributors = node->leaf_count,
        .child_count = node->child_count,
        .parameters = parameters,
        .inputs = inputs.frames,
        .inlets = inputs.inlets,
    };
    uint32_t times = tree->twice && rank != 0 ? 2 : 1;
    int first = 0;
    int r;

    for (uint32_t i = 0; i < node->child_count; i++) {
        uint32_t child = node->children[i];

        r = run_subtree(tree, child, leaves);
        if (r < 0 && first == 0)
            first = r;
        for (size_t j = 0; j < tree->nodes[child].output.up_count; j++)
            for (uint32_t k = 0; k < times; k++)
                inputs_add(&inputs, &tree->nodes[child].output.up[j],
                           rank_of(tree, child));
    }
    if (node->child_count == 0)
        for (uint32_t k = 0; k < times; k++)
            inputs_add(&inputs, packet_frame(leaves[node->leaf]), where.rank);
    if (tree->reversed)
        inputs_reverse(&inputs);
    call.input_count = inputs.count;
    loader_output_clear(&node->output);
    r = inputs.count > 0
            ? loader_call(node->loader, &call, &where, &node->output)
            : 0;
    while (inputs.count > 0)
        frame_fini(&inputs.frames[--inputs.count]);
    return first < 0 ? first : r;
}

static inline struct cop_packet *open_frame(const struct frame *frame)
{
    struct frame copy = frame_ref(frame);
    struct cop_packet *packet;

    CHECK_OK(packet_from_frame(&packet, &copy));
    return packet;
}

/* Run one wave; returns the front-end's packet, or NULL if there is none. */
static inline struct cop_packet *run_wave(struct tree *tree,
                                          struct cop_packet **leaves)
{
    CHECK_OK(run_subtree(tree, 0, leaves));
    CU_ASSERT_FATAL(tree->nodes[0].output.up_count <= 1);
    if (tree->nodes[0].output.up_count == 0)
        return NULL;
    return open_frame(&tree->nodes[0].output.up[0]);
}

static inline bool is_same_packet(const struct cop_packet *a,
                                  const struct cop_packet *b)
{
    if (!a || !b)
        return a == b;
    if (cop_packet_tag(a) != cop_packet_tag(b) ||
        cop_packet_size(a) != cop_packet_size(b))
        return false;
    return cop_packet_size(a) == 0 ||
           memcmp(packet_frame(a)->payload->bytes,
                  packet_frame(b)->payload->bytes, cop_packet_size(a)) == 0;
}
