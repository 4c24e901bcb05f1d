/* test_exactness.c - what bench/exactness counts and compares. */
#include "bench/census.h"
#include "bench/traffic.h"

#include <errno.h>

#include "test/check.h"

/* The sum of a wave is that of each member's number, and differs if a member is
 * missing, counts twice, or sends that of another wave. */
TEST(a_wave_has_one_sum)
{
    static const uint32_t all[] = {5, 6, 7};
    static const uint32_t twice[] = {5, 6, 6};
    uint64_t truth = census_truth(all, 3, 9);

    CU_ASSERT_EQUAL(truth, (uint64_t)integers_draw(5, 8) +
                               (uint64_t)integers_draw(6, 8) +
                               (uint64_t)integers_draw(7, 8));
    CU_ASSERT_NOT_EQUAL(truth, census_truth(all, 2, 9));
    CU_ASSERT_NOT_EQUAL(truth, census_truth(twice, 3, 9));
    CU_ASSERT_NOT_EQUAL(truth, census_truth(all, 3, 10));
}

/* A counter is found by its group and its name, whatever else is there. */
TEST(counters_are_found_by_name)
{
    static const char table[] = "TcpExt: A OutOctets\n"
                                "TcpExt: 1 2\n"
                                "IpExt: InOctets OutOctets More\n"
                                "IpExt: 30 18446744073709551615 50\n";
    uint64_t value = 7;

    CHECK_OK(traffic_parse(table, "IpExt:", "OutOctets", &value));
    CU_ASSERT_EQUAL(value, UINT64_MAX);
    CHECK_OK(traffic_parse(table, "TcpExt:", "OutOctets", &value));
    CU_ASSERT_EQUAL(value, 2);
    CHECK_OK(traffic_parse(table, "IpExt:", "More", &value));
    CU_ASSERT_EQUAL(value, 50);
}

/* A table without the counter, or cut short, is an error. */
TEST(a_missing_counter_is_an_error)
{
    uint64_t value;

    CHECK_IS(traffic_parse("", "IpExt:", "A", &value), -EBADMSG);
    CHECK_IS(traffic_parse("IpExt: A\n", "IpExt:", "A", &value), -EBADMSG);
    CHECK_IS(traffic_parse("IpExt: A\nIpExt:\n", "IpExt:", "A", &value),
             -EBADMSG);
    CHECK_IS(traffic_parse("IpExt: A\nIpExt: 1\n", "IpExt:", "B", &value),
             -EBADMSG);
    CHECK_IS(traffic_parse("IpExt: A\nTcpExt: 1\n", "IpExt:", "A", &value),
             -EBADMSG);
}
