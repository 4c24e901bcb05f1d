/* test_flow.c - bytes on a simulated link. */
#include "sim/flow.h"

#include "test/check.h"

static size_t arrived(struct flow *flow, uint64_t now_ms)
{
    size_t len;

    flow_arrived(flow, now_ms, &len);
    return len;
}

/* Bytes arrive at their time, not before. */
TEST(bytes_arrive_at_their_time)
{
    struct flow flow = {0};
    size_t len;

    CU_ASSERT_EQUAL(flow_write(&flow, "abc", 3, 10), 10);
    CU_ASSERT_EQUAL(arrived(&flow, 9), 0);
    CU_ASSERT_FATAL(flow_arrived(&flow, 10, &len) != NULL);
    CU_ASSERT_EQUAL(memcmp(flow_arrived(&flow, 10, &len), "abc", 3), 0);
    CU_ASSERT_EQUAL(len, 3);
    flow_fini(&flow);
}

/* Bytes that are written later never arrive earlier. */
TEST(later_bytes_do_not_overtake)
{
    struct flow flow = {0};

    flow_write(&flow, "abc", 3, 10);
    CU_ASSERT_EQUAL(flow_write(&flow, "de", 2, 7), 10);
    CU_ASSERT_EQUAL(arrived(&flow, 7), 0);
    CU_ASSERT_EQUAL(arrived(&flow, 10), 5);
    flow_fini(&flow);
}

/* A reader may take arrived bytes in several parts. */
TEST(pieces_are_taken_in_any_size)
{
    struct flow flow = {0};
    unsigned char next = 0;
    unsigned char expected = 0;
    size_t len;

    for (uint64_t i = 0; i < 1000; i++) {
        unsigned char bytes[7];
        const unsigned char *some;

        for (size_t k = 0; k < sizeof(bytes); k++)
            bytes[k] = next++;
        flow_write(&flow, bytes, sizeof(bytes), i);
        some = flow_arrived(&flow, i, &len);
        if (len > 1 + i % 11)
            len = 1 + i % 11;
        for (size_t k = 0; k < len; k++)
            CU_ASSERT_EQUAL(some[k], expected++);
        flow_take(&flow, len);
    }
    CU_ASSERT_EQUAL((unsigned char)(expected + flow_len(&flow)), next);
    flow_fini(&flow);
}

/* A cut keeps the first bytes and loses the others. */
TEST(a_cut_keeps_a_prefix)
{
    struct flow flow = {0};

    flow_write(&flow, "abc", 3, 1);
    flow_write(&flow, "def", 3, 2);
    flow_write(&flow, "ghi", 3, 3);
    flow_cut(&flow, 4);
    CU_ASSERT_EQUAL(flow_len(&flow), 4);
    CU_ASSERT_EQUAL(arrived(&flow, 1), 3);
    CU_ASSERT_EQUAL(arrived(&flow, 9), 4);
    flow_fini(&flow);
}

/* The end comes after the last byte, and nothing can be written after it. */
TEST(the_end_comes_last)
{
    struct flow flow = {0};

    flow_write(&flow, "abc", 3, 5);
    CU_ASSERT_EQUAL(flow_end(&flow, 3), 5);
    CU_ASSERT_FALSE(flow_is_over(&flow, 5));
    flow_take(&flow, 3);
    CU_ASSERT_FALSE(flow_is_over(&flow, 4));
    CU_ASSERT_TRUE(flow_is_over(&flow, 5));
    CU_ASSERT_EQUAL(flow_write(&flow, "x", 1, 6), UINT64_MAX);
    flow_fini(&flow);
}

/* A muted link drops what is written from then on, and nothing earlier. */
TEST(a_muted_flow_swallows)
{
    struct flow flow = {0};

    flow_write(&flow, "abc", 3, 1);
    flow.muted = true;
    CU_ASSERT_EQUAL(flow_write(&flow, "def", 3, 1), UINT64_MAX);
    CU_ASSERT_EQUAL(arrived(&flow, 9), 3);
    flow_fini(&flow);
}
