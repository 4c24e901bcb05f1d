/* test_error.c - errors with texts. */
#include <coppice/error.h>

#include "test/check.h"

#include <errno.h>

/* An error is set and returned in one line: the call returns the code. */
TEST(the_code_comes_back)
{
    struct cop_error error = {""};

    CHECK_IS(cop_error_set(&error, -EINVAL, "%s: %d", "tree.top", 7), -EINVAL);
    CU_ASSERT_STRING_EQUAL(error.text, "tree.top: 7");
}

/* A NULL error gets no text. */
TEST(no_error_is_fine)
{
    CHECK_IS(cop_error_set(NULL, -ENOENT, "%s", "lost"), -ENOENT);
}

/* A text that is too long is cut, and is still terminated. */
TEST(a_long_text_is_cut)
{
    struct cop_error error;
    char text[2 * sizeof error.text];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memset(&error, 'y', sizeof error);
    CHECK_IS(cop_error_set(&error, -E2BIG, "%s", text), -E2BIG);
    CU_ASSERT_EQUAL(strnlen(error.text, sizeof error.text),
                    sizeof error.text - 1);
}
