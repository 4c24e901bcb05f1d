/* tree.h - random trees for tests, from a seed. */
#pragma once

#include "test/check.h"
#include "topology/hostname.h"
#include "topology/topology.h"

#include <stdint.h>

/* The next number of a sequence (xorshift64*); `*state` is not 0. */
static inline uint32_t tree_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)((*state * UINT64_C(0x2545F4914F6CDD1D)) >> 32);
}

/* A topology file of `count` nodes (2 to 200). Every node except the first has
 * an earlier parent; order and layout of statements are random. free() it. */
static inline char *tree_file(uint64_t seed, uint32_t count)
{
    uint64_t state = seed * 2 + 1;
    uint32_t host_count = 1 + tree_random(&state) % count;
    uint32_t parent[200];
    uint32_t first = tree_random(&state) % count;
    char *text = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&text, &len);

    for (uint32_t i = 1; i < count; i++)
        parent[i] = tree_random(&state) % i;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = (first + i) % count;
        bool begun = false;

        for (uint32_t j = 1; j < count; j++) {
            if (parent[j] != node)
                continue;
            if (!begun)
                fprintf(file, "h-%u.x:%u\t=>", node % host_count, node);
            begun = true;
            fprintf(file, tree_random(&state) % 4 ? " " : " # next\r\n");
            fprintf(file, "h-%u.x:%u", j % host_count, j);
        }
        if (begun)
            fprintf(file, tree_random(&state) % 2 ? ";\n" : " ; ");
    }
    fclose(file);
    return text;
}

/* The topology of such a file; topology_free() it. */
static inline struct topology *tree_new(uint64_t seed, uint32_t count)
{
    char *text = tree_file(seed, count);
    struct cop_error error = {""};
    struct topology *topo = NULL;
    int r = topology_parse(&topo, text, strlen(text), "tree", &error);

    if (r < 0)
        printf("\nseed %llu, %u nodes: %s\n%s\n", (unsigned long long)seed,
               count, error.text, text);
    free(text);
    CU_ASSERT_FATAL(r == 0);
    return topo;
}

/* Whether the subtree of `a` at `root` is the tree `b`, ignoring ranks. */
static inline bool tree_same(const struct topology *a,
                             uint32_t root,
                             const struct topology *b,
                             uint32_t index)
{
    if (strcmp(topology_host(a, root), topology_host(b, index)) != 0 ||
        topology_instance(a, root) != topology_instance(b, index) ||
        topology_child_count(a, root) != topology_child_count(b, index))
        return false;
    for (uint32_t i = 0; i < topology_child_count(a, root); i++) {
        if (!tree_same(a, topology_child(a, root, i), b,
                       topology_child(b, index, i)))
            return false;
    }
    return true;
}

/* Whether order and links are those that topology.h promises. */
static inline bool tree_holds(const struct topology *topo)
{
    uint32_t next = 1;

    for (uint32_t i = 0; i < topology_count(topo); i++) {
        if (!hostname_valid(topology_host(topo, i),
                            strlen(topology_host(topo, i))))
            return false;
        if (topology_index(topo, topology_rank(topo, i)) != i)
            return false;
        for (uint32_t j = 0; j < topology_child_count(topo, i); j++) {
            uint32_t child = topology_child(topo, i, j);

            if (child != next++ || child >= topology_count(topo) ||
                topology_parent(topo, child) != i ||
                topology_depth(topo, child) != topology_depth(topo, i) + 1 ||
                topology_rank(topo, child) <= topology_rank(topo, child - 1))
                return false;
        }
    }
    return next == topology_count(topo) &&
           topology_parent(topo, 0) == TOPOLOGY_NONE &&
           topology_depth(topo, 0) == 0;
}
