/* test_shape.c - the trees that a benchmark's command line names. */
#include "bench/shape.h"

#include <errno.h>

#include "test/check.h"

static int read_text(struct shape *shape, const char *text)
{
    const char *why = NULL;
    int r = shape_read(shape, text, &why);

    CU_ASSERT((r < 0) == (why != NULL));
    return r;
}

/* Fan-outs from the root down; nodes are counted without the root. */
TEST(fan_outs_are_read_from_the_root_down)
{
    struct shape shape;

    CHECK_OK(read_text(&shape, "2x3x4"));
    CU_ASSERT_EQUAL_FATAL(shape.depth, 3);
    CU_ASSERT_EQUAL(shape.fanout[0], 2);
    CU_ASSERT_EQUAL(shape.fanout[1], 3);
    CU_ASSERT_EQUAL(shape.fanout[2], 4);
    CU_ASSERT_EQUAL(shape_leaves(&shape), 24);
    CU_ASSERT_EQUAL(shape_nodes(&shape), 2 + 6 + 24);
    CU_ASSERT_STRING_EQUAL(shape.text, "2x3x4");
}

TEST(a_flat_tree_has_one_level)
{
    struct shape shape;

    CHECK_OK(read_text(&shape, "flat:16"));
    CU_ASSERT_EQUAL(shape.depth, 1);
    CU_ASSERT_EQUAL(shape_leaves(&shape), 16);
    CU_ASSERT_EQUAL(shape_nodes(&shape), 16);
}

/* What is no tree is refused, and the shape stays as it was. */
TEST(what_is_no_tree_is_refused)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "4x",
                                      "x4",
                                      "4xx4",
                                      "0",
                                      "4x0",
                                      "-4",
                                      "4 x4",
                                      "4x4 ",
                                      "flat:",
                                      "flat:4x4",
                                      "flat",
                                      "4,4",
                                      "99999999999999999999",
                                      "1x1x1x1x1x1x1x1x1"};
    struct shape shape = {.depth = 7};

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CHECK_IS(read_text(&shape, bad[i]), -EINVAL);
        CU_ASSERT_EQUAL(shape.depth, 7);
    }
}

TEST(the_limits_hold_and_no_more)
{
    char text[SHAPE_TEXT_MAX + 2];
    struct shape shape;

    CHECK_OK(read_text(&shape, "1x1x1x1x1x1x1x1"));
    CHECK_OK(read_text(&shape, "100000"));
    CHECK_IS(read_text(&shape, "100001"), -EINVAL);
    CHECK_IS(read_text(&shape, "2x50000"), -E2BIG);
    CHECK_IS(read_text(&shape, "99999x99999x99999"), -E2BIG);
    memset(text, '0', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    text[sizeof(text) - 2] = '1';
    CHECK_IS(read_text(&shape, text), -EINVAL);
    CHECK_OK(read_text(&shape, text + 1));
    CU_ASSERT_EQUAL(shape_leaves(&shape), 1);
}
