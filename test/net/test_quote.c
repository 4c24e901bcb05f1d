/* test_quote.c - the part of a program's output that an error quotes. */
#include <stdio.h>
#include <string.h>

#include "net/quote.h"
#include "test/check.h"

static void add(struct quote *quote, const char *text)
{
    quote_add(quote, text, strlen(text));
}

static void check_text(const struct quote *quote, const char *expected)
{
    char out[QUOTE_LEN];

    quote_write(quote, "/usr/bin/srun", out);
    if (strcmp(out, expected) != 0)
        printf("\n\"%s\"\n", out);
    CU_ASSERT_STRING_EQUAL(out, expected);
}

TEST(lines_become_one)
{
    struct quote quote = {.len = 0};

    check_text(&quote, "");
    add(&quote, "\n  \n");
    check_text(&quote, "");
    add(&quote, "No route\tto \033host\r\n");
    add(&quote, "Give");
    add(&quote, "n up\n\n");
    check_text(&quote, "No route to  host; Given up");
}

TEST(equal_lines_are_quoted_once)
{
    struct quote quote = {.len = 0};

    for (int i = 0; i < 10; i++)
        add(&quote,
            i % 2 ? "tool: no link\n" : "tool: no link to the parent\n");
    check_text(&quote, "tool: no link to the parent; tool: no link");
}

/* The output of srun when a host had died, in an observed order. */
TEST(the_program_itself_comes_first)
{
    struct quote quote = {.len = 0};

    add(&quote,
        "slurmstepd-n1: error: *** STEP 2.18 ON n1 CANCELLED AT "
        "2026-11-26T17:52:50 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR "
        "DETAILS ***\n"
        "srun: error: Node failure on n2\n"
        "srun: error: n3: task 2: Terminated\n"
        "srun: error: n4: task 3: Terminated\n"
        "tool: cannot join the network: the front-end has ended the network\n"
        "srunner: this is another program\n"
        "srun: error: n1: task 0: Terminated\n"
        "tool: cannot join the network: Connection reset by peer\n");
    check_text(&quote,
               "srun: error: Node failure on n2; "
               "srun: error: n3: task 2: Terminated; "
               "srun: error: n4: task 3: Terminated; "
               "tool: cannot join the network: the front-end has ended the "
               "ne...; "
               "srunner: this is another program; "
               "srun: error: n1: task 0: Terminated; "
               "tool: cannot join the network: Connection reset by peer");
}

/* The middle of long output is dropped. No part of a line is quoted as a line. */
TEST(beginning_and_end_are_kept)
{
    struct quote quote = {.len = 0};
    char line[64];

    add(&quote, "srun: the reason\n");
    for (int i = 0; i < 10000; i++) {
        snprintf(line, sizeof(line), "tool %05d: lost its parent\n", i);
        add(&quote, line);
        CU_ASSERT_FATAL(quote.len <= QUOTE_KEEP);
    }
    add(&quote, "srun: the end\n");
    check_text(&quote, "srun: the reason; tool 09991: lost its parent; "
                       "tool 09992: lost its parent; "
                       "tool 09993: lost its parent; "
                       "tool 09994: lost its parent; "
                       "tool 09995: lost its parent; "
                       "tool 09996: lost its parent; "
                       "tool 09997: lost its parent; "
                       "tool 09998: lost its parent; "
                       "tool 09999: lost its parent; srun: the end");
}

/* In one piece, or byte by byte. */
TEST(long_lines_are_cut)
{
    struct quote whole = {.len = 0}, bytes = {.len = 0};
    char text[3 * QUOTE_KEEP], out[QUOTE_LEN], same[QUOTE_LEN];

    memset(text, 'x', sizeof(text));
    quote_add(&whole, text, sizeof(text));
    for (size_t i = 0; i < sizeof(text); i++)
        quote_add(&bytes, text + i, 1);
    CU_ASSERT_EQUAL(whole.len, QUOTE_KEEP);
    CU_ASSERT_EQUAL(memcmp(&whole, &bytes, sizeof(whole)), 0);
    quote_write(&whole, "srun", out);
    CU_ASSERT_EQUAL(strspn(out, "x"), QUOTE_LEN - 4);
    CU_ASSERT_STRING_EQUAL(out + QUOTE_LEN - 4, "...");
    quote_add(&whole, "\nsrun: the reason\nthe end", 25);
    quote_write(&whole, "srun", same);
    CU_ASSERT_EQUAL(strspn(same, "x"), QUOTE_LEN - 1 - 3 - 27);
    CU_ASSERT_PTR_NOT_NULL(strstr(same, "x...; srun: the reason; the end"));
}
