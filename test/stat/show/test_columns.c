/* test_columns.c - text in exactly as many columns as a terminal takes. */
#include "stat/show/columns.h"

#include <stdlib.h>
#include <string.h>

#include "test/check.h"

/* Write `text` in `width` columns, and compare. */
static void check_written(const char *text,
                          unsigned width,
                          const char *expected)
{
    char *out = NULL;
    size_t len;
    FILE *file = open_memstream(&out, &len);

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    columns_write(file, text, width);
    fclose(file);
    CU_ASSERT_STRING_EQUAL(out, expected);
    CU_ASSERT_EQUAL(columns_of(out), width);
    free(out);
}

TEST(characters_of_east_asia_take_two_columns_and_marks_none)
{
    CU_ASSERT_EQUAL(columns_of("Gr\u00f6\u00dfe"), 5);
    CU_ASSERT_EQUAL(columns_of("\u521d\u671f\u5316"), 6);
    CU_ASSERT_EQUAL(columns_of("\ud55c\uff01"), 4);
    CU_ASSERT_EQUAL(columns_of("o\u0308"), 1);
    CU_ASSERT_EQUAL(columns_of("\xff\xe5"), 2); /* no UTF-8 */
}

/* A wide character that would be cut in half is a space. */
TEST(a_cut_text_has_its_width)
{
    check_written("\u521d\u671f", 6, "\u521d\u671f  ");
    check_written("\u521d\u671f\u5316\u51e6", 4, "\u2026\u51e6 ");
    check_written("a\u521d\u671f\u5316\u51e6", 4, "a\u2026\u51e6");
    for (unsigned width = 1; width < 30; width++) {
        char *out = NULL;
        size_t len;
        FILE *file = open_memstream(&out, &len);

        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        columns_write(file,
                      "main \xe2\x96\xb8 \u521d\u671f\u5316\u3059\u308b"
                      " \xe2\x96\xb8 \u51e6\u7406 in the end",
                      width);
        fclose(file);
        CU_ASSERT_EQUAL(columns_of(out), width);
        free(out);
    }
}

/* Each line has at least one character, however narrow it is. */
TEST(lines_of_wide_characters_end)
{
    const char *text = "\u521d\u671f\u5316";

    CU_ASSERT_EQUAL(columns_line_len(text, 1), 3);
    CU_ASSERT_EQUAL(columns_line_len(text, 4), 6);
    CU_ASSERT_EQUAL(columns_line_len(text, 5), 6);
    CU_ASSERT_EQUAL(columns_line_len(text, 6), 9);
}
