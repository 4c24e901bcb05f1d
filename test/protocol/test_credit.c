/* test_credit.c - windows: how much may be sent; no sender gets stuck. */
#include "protocol/stream/credit.h"

#include <errno.h>

#include "test/check.h"

#define WINDOW 1000

/* Nothing may be sent before a window is granted. */
TEST(without_a_window_nothing_goes)
{
    struct credit credit = {0};

    CU_ASSERT_FALSE(credit_allows(&credit, 1));
    credit_grant(&credit, WINDOW);
    CU_ASSERT_TRUE(credit_allows(&credit, 1));
}

/* Small frames fill the window exactly. */
TEST(the_window_is_the_limit)
{
    struct credit credit = {0};
    int sent = 0;

    credit_grant(&credit, WINDOW);
    while (credit_allows(&credit, 100)) {
        credit_spend(&credit, 100);
        sent++;
    }
    CU_ASSERT_EQUAL(sent, 10);
    CHECK_OK(credit_return(&credit, 100));
    CU_ASSERT_TRUE(credit_allows(&credit, 100));
    CU_ASSERT_FALSE(credit_allows(&credit, 101));
}

/* Returning more credit than was spent is a breach, and changes nothing. */
TEST(too_much_back_is_a_breach)
{
    struct credit credit = {0};

    credit_grant(&credit, WINDOW);
    credit_spend(&credit, 10);
    CHECK_IS(credit_return(&credit, 11), -EPROTO);
    CHECK_OK(credit_return(&credit, 10));
}

/* Credit is returned in portions of half a window. */
TEST(credit_returns_in_portions)
{
    struct debit debit = {.window = WINDOW};

    CU_ASSERT_EQUAL(debit_consume(&debit, 499), 0);
    CU_ASSERT_EQUAL(debit_consume(&debit, 1), 500);
    CU_ASSERT_EQUAL(debit_consume(&debit, 5000), 5000);
}

/* PROTOCOL 3.4: a receiver that consumes everything never leaves a sender
 * stuck, whatever the sizes, although it holds back small amounts of credit.
 * Bytes in flight stay within the window, or half of it and one frame. */
TEST(nothing_gets_stuck)
{
    static const size_t sizes[] = {1, 100, 499, 500, 501, 999, 1000, 5000};
    uint32_t seed = 7, i;
    struct credit credit = {0};
    struct debit debit = {.window = WINDOW};

    credit_grant(&credit, WINDOW);
    for (i = 0; i < 10000; i++) {
        size_t len;

        seed = seed * UINT32_C(1664525) + UINT32_C(1013904223);
        len = sizes[(seed >> 16) % (sizeof(sizes) / sizeof(sizes[0]))];
        CU_ASSERT_FATAL(credit_allows(&credit, len));
        credit_spend(&credit, len);
        CU_ASSERT(credit.used <= WINDOW || credit.used <= WINDOW / 2 + len);
        CHECK_OK(credit_return(&credit, debit_consume(&debit, len)));
    }
}
