/* test_topology.c - topologies: order, accessors, subtrees. */
#include "test/topology/tree.h"

#include <errno.h>

#define TREES 2000

static struct topology *parse_text(const char *text)
{
    struct topology *topo = NULL;

    CHECK_OK(topology_parse(&topo, text, strlen(text), "text", NULL));
    return topo;
}

/* Ranks are breadth-first, and children are in the order of the file. */
TEST(ranks_are_breadth_first)
{
    struct topology *topo =
        parse_text("b:0 => d:0 e:0; a:0 => b:0 c:0; c:0 => f:0; a:0 => g:7;");
    const char *hosts = "abcgdef";

    CU_ASSERT_EQUAL_FATAL(topology_count(topo), 7);
    for (uint32_t i = 0; i < 7; i++) {
        CU_ASSERT_EQUAL(topology_host(topo, i)[0], hosts[i]);
        CU_ASSERT_EQUAL(topology_rank(topo, i), i);
    }
    CU_ASSERT_EQUAL(topology_instance(topo, 3), 7);
    CU_ASSERT_EQUAL(topology_child_count(topo, 0), 3);
    CU_ASSERT_EQUAL(topology_child(topo, 1, 1), 5);
    CU_ASSERT_EQUAL(topology_parent(topo, 6), 2);
    CU_ASSERT_EQUAL(topology_parent(topo, 0), TOPOLOGY_NONE);
    CU_ASSERT(tree_holds(topo));
    topology_free(topo);
}

/* Height, leaves and fan-outs are right. */
TEST(figures_are_right)
{
    struct topology *topo = parse_text("a:0 => b:0 c:0 g:0; b:0 => d:0;");
    struct topology_fanouts fanouts;

    CU_ASSERT_EQUAL(topology_height(topo), 2);
    CU_ASSERT_EQUAL(topology_leaf_count(topo), 3);
    CU_ASSERT(!topology_is_leaf(topo, 0));
    CU_ASSERT(!topology_is_leaf(topo, 1));
    CU_ASSERT(topology_is_leaf(topo, 2));
    topology_fanouts(topo, &fanouts);
    CU_ASSERT_EQUAL(fanouts.node_count, 2);
    CU_ASSERT_EQUAL(fanouts.min, 1);
    CU_ASSERT_EQUAL(fanouts.max, 3);
    CU_ASSERT_DOUBLE_EQUAL(fanouts.mean, 2.0, 1e-9);
    topology_free(topo);
}

/* A front-end without children is a network without back-ends, as in MRNet. */
TEST(one_node_is_no_back_end)
{
    struct topology *topo = parse_text("a:0 ;");
    struct topology_fanouts fanouts;

    CU_ASSERT_EQUAL(topology_count(topo), 1);
    CU_ASSERT_EQUAL(topology_height(topo), 0);
    CU_ASSERT(!topology_is_leaf(topo, 0));
    CU_ASSERT_EQUAL(topology_leaf_count(topo), 0);
    topology_fanouts(topo, &fanouts);
    CU_ASSERT_EQUAL(fanouts.node_count, 0);
    CU_ASSERT_EQUAL(fanouts.min + fanouts.max, 0);
    topology_free(topo);
}

/* The subtree of a back-end is one node, a leaf: its rank is not 0. */
TEST(a_leafs_subtree_is_a_leaf)
{
    struct topology *topo = parse_text("a:0 => b:0 c:3;");
    struct topology *leaf = NULL;

    CHECK_OK(topology_subtree(&leaf, topo, 2));
    CU_ASSERT_EQUAL(topology_count(leaf), 1);
    CU_ASSERT_EQUAL(topology_rank(leaf, 0), 2);
    CU_ASSERT_EQUAL(topology_instance(leaf, 0), 3);
    CU_ASSERT_STRING_EQUAL(topology_host(leaf, 0), "c");
    CU_ASSERT(topology_is_leaf(leaf, 0));
    CU_ASSERT_EQUAL(topology_leaf_count(leaf), 1);
    CU_ASSERT_EQUAL(topology_index(leaf, 2), 0);
    CU_ASSERT_EQUAL(topology_index(leaf, 0), TOPOLOGY_NONE);
    CU_ASSERT_EQUAL(topology_index(leaf, 3), TOPOLOGY_NONE);
    topology_free(leaf);
    topology_free(topo);
}

/* An unknown rank has no subtree, and the result is untouched. */
TEST(an_unknown_rank_is_enoent)
{
    struct topology *topo = parse_text("a:0 => b:0 c:0;");
    struct topology *out = topo;

    CHECK_IS(topology_subtree(&out, topo, 3), -ENOENT);
    CHECK_IS(topology_subtree(&out, topo, TOPOLOGY_NONE), -ENOENT);
    CU_ASSERT_PTR_EQUAL(out, topo);
    topology_free(topo);
}

/* Every subtree of random trees is that part of the tree, with the same ranks.
 * A subtree of a subtree is a subtree of the whole tree. */
TEST(subtrees_keep_ranks)
{
    for (uint64_t seed = 1; seed <= TREES; seed++) {
        uint32_t count = 2 + (uint32_t)seed % 60;
        struct topology *topo = tree_new(seed, count);
        uint32_t rank = (uint32_t)(seed * 7) % count;
        struct topology *part = NULL;
        struct topology *smaller = NULL;
        uint32_t last;

        CU_ASSERT(tree_holds(topo));
        CU_ASSERT_EQUAL(topology_count(topo), count);
        CHECK_OK(topology_subtree(&part, topo, rank));
        CU_ASSERT(tree_holds(part));
        CU_ASSERT(tree_same(topo, rank, part, 0));
        for (uint32_t i = 0; i < topology_count(part); i++)
            CU_ASSERT_STRING_EQUAL(topology_host(part, i),
                                   topology_host(topo, topology_rank(part, i)));
        last = topology_rank(part, topology_count(part) / 2);
        CHECK_OK(topology_subtree(&smaller, part, last));
        CU_ASSERT(tree_same(topo, last, smaller, 0));
        CU_ASSERT_EQUAL(topology_rank(smaller, 0), last);
        topology_free(smaller);
        topology_free(part);
        topology_free(topo);
    }
    topology_free(NULL);
}
