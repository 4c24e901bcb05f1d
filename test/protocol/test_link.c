/* test_link.c - heartbeat and silence, to the millisecond. */
#include "protocol/link.h"

#include "test/check.h"

#define HEARTBEAT_MS 50
#define SILENCE_MS   100

static struct link begin_link(uint64_t now_ms)
{
    struct link link;

    link_init(&link, HEARTBEAT_MS, SILENCE_MS, now_ms);
    return link;
}

/* Silence is a failure at the deadline, and not 1 ms earlier. */
TEST(silence_is_a_failure_at_the_deadline)
{
    struct link link = begin_link(0);

    link_heard(&link, 10);
    CU_ASSERT_FALSE(link_is_silent(&link, 109));
    CU_ASSERT_TRUE(link_is_silent(&link, 110));
}

/* PROTOCOL 6.1: a link on which this node is idle needs a heartbeat. */
TEST(an_idle_direction_wants_a_heartbeat)
{
    struct link link = begin_link(0);

    CU_ASSERT_FALSE(link_wants_heartbeat(&link, 49));
    CU_ASSERT_TRUE(link_wants_heartbeat(&link, 50));
    link_sent(&link, 50);
    link_heard(&link, 60);
    CU_ASSERT_FALSE(link_wants_heartbeat(&link, 99));
    CU_ASSERT_TRUE(link_wants_heartbeat(&link, 100));
}

/* The deadline is the earlier one of the two. */
TEST(the_deadline_is_the_earlier_one)
{
    struct link link = begin_link(0);

    CU_ASSERT_EQUAL(link_deadline_ms(&link), 50);
    link_sent(&link, 90);
    CU_ASSERT_EQUAL(link_deadline_ms(&link), 100);
}

/* PROTOCOL 6.2: a node that stalled accuses no peer of silence. */
TEST(silence_is_forgiven)
{
    struct link link = begin_link(0);

    link_forgive(&link, 5000, 5000);
    CU_ASSERT_FALSE(link_is_silent(&link, 5099));
    CU_ASSERT_TRUE(link_is_silent(&link, 5100));
    /* the stall itself is not silence */
    link = begin_link(0);
    link_forgive(&link, 10, 30);
    CU_ASSERT_FALSE(link_is_silent(&link, 109));
    CU_ASSERT_TRUE(link_is_silent(&link, 110));
    /* and there is time to read waiting bytes */
    link = begin_link(0);
    link_forgive(&link, 20, 99);
    CU_ASSERT_FALSE(link_is_silent(&link, 148));
    CU_ASSERT_TRUE(link_is_silent(&link, 149));
}

/* A greeting brings a link up once; a closed link stays so, and is not due. */
TEST(states_move_one_way)
{
    struct link link = begin_link(0);

    CU_ASSERT_EQUAL(link.state, LINK_WAIT);
    link_greet(&link);
    link_greet(&link);
    CU_ASSERT_EQUAL(link.state, LINK_UP);
    link_close(&link);
    link_close(&link);
    link_greet(&link);
    CU_ASSERT_EQUAL(link.state, LINK_CLOSED);
    CU_ASSERT_EQUAL(link_deadline_ms(&link), UINT64_MAX);
    CU_ASSERT_FALSE(link_is_silent(&link, 100000));
    CU_ASSERT_FALSE(link_wants_heartbeat(&link, 100000));
}
