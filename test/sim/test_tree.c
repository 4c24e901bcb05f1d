/* test_tree.c - text forms of trees. */
#include "sim/tree.h"

#include <errno.h>

#include "test/check.h"

static void tree_is(const struct tree *tree, const char *expected)
{
    char *text = tree_text(tree);

    CU_ASSERT_STRING_EQUAL(text, expected);
    free(text);
}

/* A text is read into ranks, parents and roles. */
TEST(a_text_becomes_a_tree)
{
    struct tree tree;
    const struct tree_node *node;

    CHECK_OK(tree_read(&tree, "0(1(3,4),2)"));
    CU_ASSERT_EQUAL(tree.count, 5);
    CU_ASSERT_EQUAL(tree_next_rank(&tree), 5);
    node = tree_find(&tree, 1);
    CU_ASSERT_FATAL(node && node->child_count == 2);
    CU_ASSERT_EQUAL(node->children[1].rank, 4);
    CU_ASSERT_EQUAL(node->children[1].role, NODE_BACKEND);
    CU_ASSERT_EQUAL(tree_find(&tree, 4)->depth, 2);
    CU_ASSERT_EQUAL(tree.nodes[0].children[0].role, NODE_COMMNODE);
    CU_ASSERT_EQUAL(tree.nodes[0].children[1].role, NODE_BACKEND);
    CU_ASSERT_PTR_NULL(tree_find(&tree, 9));
    tree_is(&tree, "0(1(3,4),2)");
    tree_fini(&tree);
}

/* A text that is no tree is refused, and nothing leaks. */
TEST(nonsense_is_refused)
{
    const char *const texts[] = {
        "",        "x",      "0",    "1(2)",   "0()",         "0(1",
        "0(1,)",   "0(1,1)", "0(0)", "0(1))",  "0(1)2",       "0(1;2)",
        "0(1 ,2)", "0(-1)",  "0,1",  "0(1(2)", "0(99999999)",
    };
    struct tree tree;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        CHECK_IS(tree_read(&tree, texts[i]), -EINVAL);
}

/* Fan-outs make a whole tree, level by level. */
TEST(fanouts_become_a_tree)
{
    struct tree tree;

    tree_make(&tree, (uint32_t[]){2, 3}, 2);
    tree_is(&tree, "0(1(3,4,5),2(6,7,8))");
    tree_fini(&tree);
}

/* Random trees can be read again; they include binary trees of depth 3. */
TEST(drawn_trees_are_trees)
{
    struct random random;
    int deep = 0;

    random_seed(&random, 7);
    for (int i = 0; i < 200; i++) {
        struct tree tree;
        struct tree again;
        char *text;

        tree_draw(&tree, &random, 31);
        CU_ASSERT(tree.count >= 3 && tree.count <= 31);
        text = tree_text(&tree);
        deep += strncmp(text, "0(1(3(7", 7) == 0;
        CHECK_OK(tree_read(&again, text));
        tree_is(&again, text);
        free(text);
        tree_fini(&tree);
        tree_fini(&again);
    }
    CU_ASSERT(deep >= 20);
}
