/* test_format.c - formats are MRNet's; all other texts are refused. */
#include "wire/format.h"

#include <errno.h>

#include "test/check.h"

static const char *const spellings[] = {
    [COP_CHAR] = "c",     [COP_UCHAR] = "uc",   [COP_INT16] = "hd",
    [COP_UINT16] = "uhd", [COP_INT32] = "d",    [COP_UINT32] = "ud",
    [COP_INT64] = "ld",   [COP_UINT64] = "uld", [COP_FLOAT] = "f",
    [COP_DOUBLE] = "lf",  [COP_STRING] = "s",
};

/* Each of the 33 items is read, and written unchanged. */
TEST(every_item_is_known)
{
    static const char *const shapes[] = {"", "a", "A"};
    struct format format;
    char text[16];
    char back[FORMAT_ITEM_MAX + 1];
    size_t len;

    for (int type = COP_CHAR; type <= COP_STRING; type++) {
        for (int shape = COP_SCALAR; shape <= COP_ARRAY64; shape++) {
            snprintf(text, sizeof(text), "%%%s%s", shapes[shape],
                     spellings[type]);
            CHECK_OK(format_parse(&format, text));
            CU_ASSERT_EQUAL(format.count, 1);
            CU_ASSERT_EQUAL(format.items[0].type, type);
            CU_ASSERT_EQUAL(format.items[0].shape, shape);
            memset(back, 'X', sizeof(back));
            len = format_item_write(back, (enum cop_type)type,
                                    (enum cop_shape)shape);
            CU_ASSERT_EQUAL(len, strlen(text));
            CU_ASSERT(len < FORMAT_ITEM_MAX);
            CU_ASSERT_EQUAL(memcmp(back, text, len), 0);
            CU_ASSERT_EQUAL(back[len], 'X');
        }
    }
}

/* Any number of spaces separates items. */
TEST(spaces_separate)
{
    struct format format;

    CHECK_OK(format_parse(&format, "  %d   %alf %s "));
    CU_ASSERT_EQUAL(format.count, 3);
    CU_ASSERT_EQUAL(format.items[0].type, COP_INT32);
    CU_ASSERT_EQUAL(format.items[1].type, COP_DOUBLE);
    CU_ASSERT_EQUAL(format.items[1].shape, COP_ARRAY);
    CU_ASSERT_EQUAL(format.items[2].type, COP_STRING);
    CHECK_OK(format_parse(&format, ""));
    CU_ASSERT_EQUAL(format.count, 0);
    CHECK_OK(format_parse(&format, "   "));
    CU_ASSERT_EQUAL(format.count, 0);
}

/* A malformed format is refused, and the result stays untouched. */
TEST(malformed_formats_are_refused)
{
    static const char *const wrong[] = {
        "d",    "%",   "%%",  "%x",   "%d%d", "%d,%d", "%u",   "%l",   "%h",
        "%ul",  "%us", "%uf", "%ulf", "%hc",  "%hh",   "%a",   "%A",   "%aad",
        "%aAd", "%au", "%dd", "%d x", "% d",  "%lld",  "%i",   "%5d",  "%d\t%d",
        "%d\n", "%s%", "%-d", "%D",   "%ua",  "%uad",  "%lfa", "%Asd",
    };
    struct format format = {.count = 77};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        int r = format_parse(&format, wrong[i]);

        if (r != -EINVAL)
            printf("\n\"%s\" gives %d\n", wrong[i], r);
        CU_ASSERT_EQUAL(r, -EINVAL);
        CU_ASSERT_EQUAL(format.count, 77);
    }
}

/* A format has at most COP_VALUES_MAX items. */
TEST(there_is_a_limit)
{
    char text[3 * (COP_VALUES_MAX + 1) + 1] = "";
    struct format format;

    for (int i = 0; i < COP_VALUES_MAX; i++)
        strcat(text, "%d ");
    CHECK_OK(format_parse(&format, text));
    CU_ASSERT_EQUAL(format.count, COP_VALUES_MAX);
    strcat(text, "%d");
    CHECK_IS(format_parse(&format, text), -EMSGSIZE);
}
