/* test_shape.c - trees of a shape, and their placement on hosts. */
#include "test/topology/tree.h"
#include "topology/hostlist.h"

#include <errno.h>
#include <unistd.h>

static struct topology *shape_tree(const char *text)
{
    struct cop_error error = {""};
    struct topology *topo = NULL;
    int r = topology_from_shape(&topo, text, NULL, NULL, &error);

    if (r < 0)
        printf("\n%s: %s\n", text, error.text);
    CU_ASSERT_FATAL(r == 0);
    CU_ASSERT(tree_holds(topo));
    return topo;
}

/* Every shape gives the expected numbers of nodes and back-ends, and height. */
TEST(shapes_have_their_size)
{
    static const struct {
        const char *shape;
        uint32_t count, leaves, height, fanout_max;
    } shapes[] = {
        {"flat:16", 17, 16, 1, 16}, {"16", 17, 16, 1, 16},
        {"4x4", 21, 16, 2, 4},      {"32x32", 1057, 1024, 2, 32},
        {"4x4x4", 85, 64, 3, 4},    {"2x3x4", 33, 24, 3, 4},
        {"2^5", 63, 32, 5, 2},      {"1^7", 8, 1, 7, 1},
        {"k:2@16", 16, 8, 4, 4},    {"k:4@64", 64, 48, 3, 9},
        {"k:4@65", 65, 49, 3, 10},  {"k:3@5", 5, 4, 1, 4},
        {"k:9@1", 1, 0, 0, 0},      {"flat:131072", 131073, 131072, 1, 131072},
    };

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct topology *topo = shape_tree(shapes[i].shape);
        struct topology_fanouts fanouts;

        topology_fanouts(topo, &fanouts);
        CU_ASSERT_EQUAL(topology_count(topo), shapes[i].count);
        CU_ASSERT_EQUAL(topology_leaf_count(topo), shapes[i].leaves);
        CU_ASSERT_EQUAL(topology_height(topo), shapes[i].height);
        CU_ASSERT_EQUAL(fanouts.max, shapes[i].fanout_max);
        topology_free(topo);
    }
}

/* The back-ends of a balanced tree are one run of ranks: the last ones. */
TEST(back_ends_are_the_last_ranks)
{
    struct topology *topo = shape_tree("3x5x2");

    for (uint32_t i = 0; i < topology_count(topo); i++)
        CU_ASSERT_EQUAL(topology_is_leaf(topo, i),
                        i >= topology_count(topo) - 30);
    topology_free(topo);
}

/* The binomial tree of 8: the root's children of rounds 1, 2 and 3 have
 * subtrees of 4, 2 and 1 nodes. */
TEST(a_2_nomial_tree_is_binomial)
{
    struct topology *topo = shape_tree("k:2@8");

    CU_ASSERT_EQUAL(topology_child_count(topo, 0), 3);
    CU_ASSERT_EQUAL(topology_child_count(topo, 1), 2);
    CU_ASSERT_EQUAL(topology_child_count(topo, 2), 1);
    CU_ASSERT_EQUAL(topology_child_count(topo, 3), 0);
    CU_ASSERT_EQUAL(topology_child_count(topo, topology_child(topo, 1, 0)), 1);
    topology_free(topo);
}

/* Hosts are used in turn, and no two nodes have the same host:instance. A host
 * that is named twice gets two nodes in each round. */
TEST(hosts_are_used_in_turn)
{
    static const char *const expected[] = {"a:0", "b:0", "a:1", "a:2",
                                           "b:1", "a:3", "a:4"};
    struct hostlist *hosts = NULL;
    struct topology *topo = NULL;
    char name[32];

    CHECK_OK(hostlist_parse(&hosts, "a,b,a", 5, "hosts", NULL));
    CHECK_OK(topology_from_shape(&topo, "2x2", hosts, NULL, NULL));
    for (uint32_t i = 0; i < topology_count(topo); i++) {
        snprintf(name, sizeof name, "%s:%u", topology_host(topo, i),
                 topology_instance(topo, i));
        CU_ASSERT_STRING_EQUAL(name, expected[i]);
    }
    topology_free(topo);
    hostlist_free(hosts);
}

/* The first leaf at or below a node. */
static uint32_t first_leaf(const struct topology *topo, uint32_t node)
{
    while (topology_child_count(topo, node) > 0)
        node = topology_child(topo, node, 0);
    return node;
}

/* "each:F": a back-end on each host, in their order, on few levels of nodes with
 * at most F children; commnodes on the first host of those below them. */
TEST(each_host_has_a_backend)
{
    char list[32], name[32], own[256] = "";

    CHECK_OK(gethostname(own, sizeof own - 1));
    for (uint32_t count = 1; count <= 60; count++) {
        for (uint32_t fanout = 2; fanout <= 9; fanout++) {
            struct hostlist *hosts = NULL;
            struct topology *topo = NULL;
            uint32_t leaf = 0, levels = 1;

            snprintf(list, sizeof list, "n[1-%u]", count);
            CHECK_OK(hostlist_parse(&hosts, list, strlen(list), "hosts", NULL));
            snprintf(name, sizeof name, "each:%u", fanout);
            CHECK_OK(topology_from_shape(&topo, name, hosts, NULL, NULL));
            CU_ASSERT_EQUAL(topology_leaf_count(topo), count);
            CU_ASSERT_STRING_EQUAL(topology_host(topo, 0), own);
            for (uint32_t i = 0; i < topology_count(topo); i++) {
                CU_ASSERT(topology_child_count(topo, i) <= fanout);
                if (topology_child_count(topo, i) == 0) {
                    snprintf(name, sizeof name, "n%u", ++leaf);
                    CU_ASSERT_STRING_EQUAL(topology_host(topo, i), name);
                } else if (i > 0) {
                    CU_ASSERT_STRING_EQUAL(
                        topology_host(topo, i),
                        topology_host(topo, first_leaf(topo, i)));
                }
            }
            for (uint32_t reach = fanout; reach < count; reach *= fanout)
                levels++;
            CU_ASSERT_EQUAL(topology_height(topo), levels);
            topology_free(topo);
            hostlist_free(hosts);
        }
    }
}

/* A host that is named twice has two back-ends. Commnodes may have hosts of
 * their own. Without hosts there is one back-end here. */
TEST(commnodes_may_have_their_own_hosts)
{
    static const char *const expected[] = {"c:0", "d:0", "a:0",
                                           "a:1", "b:0", "c:1"};
    struct hostlist *hosts = NULL, *others = NULL;
    struct topology *topo = NULL;
    struct cop_error error;
    char name[64];

    CHECK_OK(hostlist_parse(&hosts, "a,a,b,c", 7, "hosts", NULL));
    CHECK_OK(hostlist_parse(&others, "c,d", 3, "others", NULL));
    CHECK_OK(topology_from_shape(&topo, "each:2", hosts, others, NULL));
    CU_ASSERT_EQUAL_FATAL(topology_count(topo), 7);
    for (uint32_t i = 1; i < 7; i++) {
        snprintf(name, sizeof name, "%s:%u", topology_host(topo, i),
                 topology_instance(topo, i));
        CU_ASSERT_STRING_EQUAL(name, expected[i - 1]);
    }
    topology_free(topo);
    CHECK_IS(topology_from_shape(&topo, "2x2", hosts, others, &error), -EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "goes with each:F only"));
    hostlist_free(hosts);
    hostlist_free(others);
    topo = shape_tree("each:2");
    CU_ASSERT_EQUAL(topology_count(topo), 2);
    CU_ASSERT_STRING_EQUAL(topology_host(topo, 1), "localhost");
    topology_free(topo);
}

/* Without hosts, all nodes are on localhost. */
TEST(the_default_is_localhost)
{
    struct topology *topo = shape_tree("2x2");

    for (uint32_t i = 0; i < topology_count(topo); i++) {
        CU_ASSERT_STRING_EQUAL(topology_host(topo, i), "localhost");
        CU_ASSERT_EQUAL(topology_instance(topo, i), i);
    }
    topology_free(topo);
}

/* An invalid shape is -EINVAL, one above a limit -E2BIG, with a message. */
TEST(bad_shapes_are_refused)
{
    static const char *const wrong[] = {
        "",       "x",        "8x",       "x8",   "8x8 ",  " 8",     "0",
        "4x0",    "2^",       "^2",       "2^0",  "2^2^2", "2^2x",   "flat:",
        "flat",   "flat:0",   "k:",       "k:4",  "k:4@",  "k:@4",   "k:1@8",
        "k:0@",   "k:4@0",    "-3",       "+3",   "8X8",   "b:2",    "flat:2x2",
        "2.5",    "k:4@64x",  "flat:-1",  "each", "each:", "each:0", "each:1",
        "each:x", "each:2x2", "each:4@8",
    };
    static const char *const big[] = {
        "2^21",
        "2^4294967296",
        "1^2097152",
        "flat:131073",
        "131073",
        "2097153",
        "4096x4096",
        "k:2@2097153",
        "k:200000@200000",
        "99999999999999999999",
        "k:2@99999999999999999",
    };
    struct topology *topo = NULL;
    struct cop_error error;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_IS(topology_from_shape(&topo, wrong[i], NULL, NULL, &error),
                 -EINVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "not understood; write"));
    }
    for (size_t i = 0; i < sizeof big / sizeof *big; i++) {
        CHECK_IS(topology_from_shape(&topo, big[i], NULL, NULL, &error),
                 -E2BIG);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "more than 2097152 nodes"));
    }
    CU_ASSERT_PTR_NULL(topo);
}

/* A tree of the highest allowed size is made. */
TEST(the_biggest_tree_is_made)
{
    struct topology *topo = shape_tree("2^20");

    CU_ASSERT_EQUAL(topology_count(topo), TOPOLOGY_NODES_MAX - 1);
    CU_ASSERT_EQUAL(topology_leaf_count(topo), UINT32_C(1) << 20);
    topology_free(topo);
}
