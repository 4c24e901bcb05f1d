/* test_fold.c - folding removes the depth of a recursion from a stack. */
#include "stat/tree/fold.h"

#include "test/check.h"

/* Fold a stack of one letter for each function, "|" for frames cut out; the
 * lines are 1, 2, 3, ... Returns what is left, in the same way. */
static const char *folded(struct fold *fold, const char *stack)
{
    static const char *const letters[] = {"a", "b", "c", "d", "m"};
    static char text[TREE_DEPTH_MAX + 1];
    uint32_t line = 1;

    for (; *stack; stack++, line++) {
        struct frame frame = FRAME_NOTE(FRAME_CUT);

        for (size_t i = 0; i < 5; i++)
            if (letters[i][0] == *stack)
                frame = (struct frame){letters[i], "x.c", line, "", 0, false};
        fold_add(fold, &frame);
    }
    for (size_t i = 0; i < fold->count; i++)
        text[i] = strcmp(fold->frames[i].function, FRAME_CUT) == 0
                      ? '|'
                      : fold->frames[i].function[0];
    text[fold->count] = '\0';
    return text;
}

TEST(turns_of_a_recursion_are_one)
{
    static const struct {
        const char *stack, *folded;
    } rows[] = {
        {"mab", "mab"},
        {"maab", "mab"},
        {"maaaaaab", "mab"},
        {"mababc", "mabc"},
        {"mabababc", "mabc"},
        {"mabac", "mabac"},
        {"mababac", "mabac"},
        {"mabcabcd", "mabcd"},
        {"maabaabd", "mabd"},
        {"ma|ab", "ma|ab"},
        {"maaa|aaaab", "mab"},
        {"mabab|babac", "mabac"},
        {"mabab|ababac", "mabac"},
        {"mabab|abac", "mabac"},
        {"mababa|babc", "mabc"},
        {"mabcab|cabcad", "mabcad"},
        {"mabab|abc", "mab|bc"},
        {"mab|cd", "mab|cd"},
    };
    struct fold fold;
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fold_begin(&fold, false, false);
        CU_ASSERT_STRING_EQUAL(folded(&fold, rows[i].stack), rows[i].folded);
    }
    CU_ASSERT_EQUAL(i, 18);
}

/* The innermost turn of the recursion is the caller of the next frame. */
TEST(lines_are_those_of_the_innermost_turn)
{
    struct fold fold;

    fold_begin(&fold, false, false);
    CU_ASSERT_STRING_EQUAL(folded(&fold, "mababc"), "mabc");
    CU_ASSERT_EQUAL(fold.frames[1].line, 4);
    CU_ASSERT_EQUAL(fold.frames[2].line, 5);
    CU_ASSERT_EQUAL(fold.frames[3].line, 6);
}

TEST(another_line_is_another_place_where_that_is_wanted)
{
    struct fold fold;

    fold_begin(&fold, true, false);
    CU_ASSERT_STRING_EQUAL(folded(&fold, "maab"), "maab");
    fold_begin(&fold, false, true);
    CU_ASSERT_STRING_EQUAL(folded(&fold, "ma|aab"), "ma|aab");
}

TEST(what_is_too_deep_is_left_out)
{
    char stack[2 * TREE_DEPTH_MAX + 1];
    struct fold fold;

    memset(stack, 'a', sizeof(stack) - 1);
    stack[sizeof(stack) - 1] = '\0';
    fold_begin(&fold, false, true);
    CU_ASSERT_EQUAL(strlen(folded(&fold, stack)), TREE_DEPTH_MAX);
    fold_begin(&fold, false, false);
    CU_ASSERT_STRING_EQUAL(folded(&fold, stack), "a");
}
