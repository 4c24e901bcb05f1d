/* test_wire.c - topologies written and read again: files and wire form. */
#include "test/topology/tree.h"

#include <errno.h>

#define TREES 2000

/* The text of a tree is parsed into the same tree with the same ranks. */
TEST(files_round_trip)
{
    for (uint64_t seed = 1; seed <= TREES; seed++) {
        struct topology *topo = tree_new(seed, 2 + (uint32_t)seed % 199);
        struct topology *back = NULL;
        char *text = NULL;
        char *again = NULL;
        size_t len = 0;

        CHECK_OK(topology_text(topo, &text, &len));
        CU_ASSERT_EQUAL(strlen(text), len);
        CHECK_OK(topology_parse(&back, text, len, "text", NULL));
        CU_ASSERT(tree_same(topo, 0, back, 0));
        CHECK_OK(topology_text(back, &again, NULL));
        CU_ASSERT_STRING_EQUAL(text, again);
        free(again);
        free(text);
        topology_free(back);
        topology_free(topo);
    }
}

/* A front-end without children can be written and read. */
TEST(one_node_round_trips)
{
    struct topology *topo = NULL;
    char *text = NULL;

    CHECK_OK(topology_parse(&topo, "a:3;", 4, "text", NULL));
    CHECK_OK(topology_text(topo, &text, NULL));
    CU_ASSERT_STRING_EQUAL(text, "a:3 ;\n");
    free(text);
    topology_free(topo);
}

/* The wire keeps trees and subtrees, ranks included. */
TEST(the_wire_keeps_ranks)
{
    for (uint64_t seed = 1; seed <= TREES; seed++) {
        uint32_t count = 2 + (uint32_t)seed % 90;
        struct topology *topo = tree_new(seed, count);
        struct topology *part = NULL;
        struct topology *back = NULL;
        char *text = NULL;
        size_t len = 0;

        CHECK_OK(topology_subtree(&part, topo, (uint32_t)seed % count));
        CHECK_OK(topology_encode(part, &text, &len));
        CHECK_OK(topology_decode(&back, text, len));
        CU_ASSERT(tree_holds(back));
        CU_ASSERT(tree_same(part, 0, back, 0));
        for (uint32_t i = 0; i < topology_count(part); i++)
            CU_ASSERT_EQUAL(topology_rank(part, i), topology_rank(back, i));
        CU_ASSERT_EQUAL(topology_height(part), topology_height(back));
        free(text);
        topology_free(back);
        topology_free(part);
        topology_free(topo);
    }
}

/* Every incomplete image, and every image with extra bytes, is refused. */
TEST(cut_images_are_refused)
{
    struct topology *topo = tree_new(9, 40);
    struct topology *back = NULL;
    char *text = NULL;
    char *exact;
    size_t len = 0;

    CHECK_OK(topology_encode(topo, &text, &len));
    for (size_t i = 0; i < len; i++) {
        exact = malloc(i + 1); /* so that a sanitizer sees any overrun */
        memcpy(exact, text, i);
        CHECK_IS(topology_decode(&back, exact, i), -EPROTO);
        free(exact);
    }
    CHECK_IS(topology_decode(&back, text, len + 1), -EPROTO);
    CU_ASSERT_PTR_NULL(back);
    free(text);
    topology_free(topo);
}

/* Random bytes are refused, or give a consistent tree. */
TEST(mutated_images_are_checked)
{
    struct topology *topo = tree_new(11, 60);
    uint64_t state = 77;
    uint32_t decoded = 0;
    char *text = NULL;
    size_t len = 0;

    CHECK_OK(topology_encode(topo, &text, &len));
    for (int i = 0; i < 20000; i++) {
        static const char bytes[] = "0123456789 \n\"ab-\xff";
        size_t at = tree_random(&state) % len;
        char saved = text[at];
        struct topology *back = NULL;
        int r;

        text[at] = bytes[tree_random(&state) % (sizeof bytes)];
        r = topology_decode(&back, text, len);
        CU_ASSERT(r == 0 || r == -EPROTO);
        CU_ASSERT(r < 0 || tree_holds(back));
        decoded += r == 0;
        topology_free(back);
        text[at] = saved;
    }
    CU_ASSERT(decoded > 0 && decoded < 20000);
    free(text);
    topology_free(topo);
}

/* The limit of each field, one by one. */
TEST(absurd_images_are_refused)
{
    static const char *const images[] = {
        "",
        "coppice-tree 2 1\n0 0 0 a\n",
        "coppice-tree 1 0\n",
        "coppice-tree 1 1\n",
        "coppice-tree 1 2097152\n0 0 0 a\n",
        "coppice-tree 1 2097153\n0 0 0 a\n",
        "coppice-tree 1 99999999999999999999\n0 0 0 a\n",
        "coppice-tree 1 1\n0 1 0 a\n",          /* more children than nodes */
        "coppice-tree 1 2\n0 0 0 a\n1 1 0 b\n", /* a node that is not reached */
        "coppice-tree 1 2\n0 1 0 a\n0 0 0 b\n", /* a rank twice */
        "coppice-tree 1 2\n4294967294 1 0 a\n1 0 0 b\n",
        "coppice-tree 1 1\n4294967295 0 0 a\n",
        "coppice-tree 1 1\n0 0 4294967295 a\n",
        "coppice-tree 1 1\n0 0 0 \"\n00000000",
        "coppice-tree 1 1\n0 0 0 -a\n",
        "coppice-tree 1 1\n0 0 0 a b\n",
        "coppice-tree 1 1\n0 0 0 a",
        "coppice-tree 1 1\n0 0 0 \n       ",
        "coppice-tree 1 1\n 0 0 0 a\n",
        "coppice-tree 1 1\n0 -1 0 a\n",
    };
    struct topology *topo = NULL;

    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        int r = topology_decode(&topo, images[i], strlen(images[i]));

        if (r != -EPROTO)
            printf("\nimage %zu: %s\n", i, images[i]);
        CU_ASSERT_EQUAL_FATAL(r, -EPROTO);
    }
    CHECK_OK(topology_decode(&topo, "coppice-tree 1 1\n7 0 2 a\n", 25));
    CU_ASSERT_EQUAL(topology_rank(topo, 0), 7);
    topology_free(topo);
}

/* The image of a big tree is small: about 10 bytes per node on one host. */
TEST(images_are_compact)
{
    struct topology *topo = NULL;
    struct topology *back = NULL;
    char *text = NULL;
    size_t len = 0;

    CHECK_OK(topology_from_shape(&topo, "32x32", NULL, NULL, NULL));
    CHECK_OK(topology_encode(topo, &text, &len));
    CU_ASSERT(len < topology_count(topo) * (size_t)12);
    CHECK_OK(topology_decode(&back, text, len));
    CU_ASSERT(tree_same(topo, 0, back, 0));
    free(text);
    topology_free(back);
    topology_free(topo);
}
