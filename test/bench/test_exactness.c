/* test_exactness.c - the counters of the network that bench/exactness reads. */
#include "bench/traffic.h"

#include <errno.h>

#include "test/check.h"

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
