/* test_refusals.c - which refused connections get a line in the log. */
#include "net/refusals.h"
#include "test/check.h"

static uint32_t add(struct refusals *refusals, uint32_t count, uint64_t now_ms)
{
    uint32_t lines = 0;

    while (count-- > 0)
        lines += refusals_add(refusals, now_ms);
    return lines;
}

TEST(few_get_a_line_each)
{
    struct refusals refusals = {0};

    for (uint64_t now_ms = 5; now_ms < 100000; now_ms += 500) {
        CU_ASSERT(refusals_add(&refusals, now_ms));
        CU_ASSERT_EQUAL(refusals_left_out(&refusals, now_ms), 0);
    }
}

TEST(a_flood_gets_ten_lines_a_second_and_is_counted)
{
    struct refusals refusals = {0};

    CU_ASSERT_EQUAL(add(&refusals, 500, 7000), REFUSALS_MAX);
    CU_ASSERT_EQUAL(add(&refusals, 500, 7999), 0);
    CU_ASSERT_EQUAL(refusals_left_out(&refusals, 7999), 0);
    CU_ASSERT_EQUAL(add(&refusals, 5, 8000), 0); /* before the count is taken */
    CU_ASSERT_EQUAL(refusals_left_out(&refusals, 8000), 995);
    CU_ASSERT_EQUAL(refusals_left_out(&refusals, 9000), 0);
    CU_ASSERT_EQUAL(add(&refusals, 500, 9000), REFUSALS_MAX);
    CU_ASSERT_EQUAL(refusals_left_out(&refusals, 9001), 0);
    CU_ASSERT_EQUAL(refusals_left_out(&refusals, UINT64_MAX), 490);
}
