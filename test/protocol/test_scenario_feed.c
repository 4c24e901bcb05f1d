/* test_scenario_feed.c - packets on their way down, and the claims for them
 * (PROTOCOL 10.1a, 10.4, 10.5). */
#include "test/sim/scenario.h"

#include <string.h>

#include "protocol/state.h"

/* Whether one back-end has taken the numbers from 0 on, in order. */
struct order {
    int next;
    bool broken;
};

static void take_number(struct sim *sim,
                        uint32_t index,
                        uint32_t stream,
                        const struct frame *frame,
                        void *arg)
{
    struct order *order = arg;
    struct cop_packet *packet = NULL;
    int number = -1;

    (void)sim;
    (void)index;
    (void)stream;
    CHECK_OK(packet_open(&packet, frame->payload));
    CHECK_OK(cop_packet_unpack(packet, "%d", &number));
    cop_packet_free(packet);
    order->broken |= number != order->next;
    order->next = number + 1;
}

/* PROTOCOL 10.4: each child is fed at its own pace: while one stands still the
 * others have everything; when it goes on it gets all, in order, once. */
SCENARIO(children_are_fed_each_at_its_pace, "0(1(3,4),2)")
{
    uint32_t stream = sim_open_filter(sim, "");
    struct order order[2] = {{0}, {0}};

    for (uint32_t i = 0; i < 2; i++)
        sim_set_app(sim, 3 + i,
                    &(struct sim_app){.taken = take_number, .arg = &order[i]});
    sim_freeze(sim, 4, 2000);
    sim_send_ints(sim, 0, stream, 0, 499);
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(order[0].next, 500);
    CU_ASSERT_EQUAL(order[1].next, 0);
    sim_run(sim, 3000);
    CU_ASSERT_EQUAL(order[1].next, 500);
    CU_ASSERT_FALSE(order[0].broken);
    CU_ASSERT_FALSE(order[1].broken);
}

/* Put a packet numbered `sequence` on the link from 1 to the back-end 2. */
static void inject(struct sim *sim, uint32_t stream, uint64_t sequence)
{
    struct frame frame = {
        .type = FRAME_DATA,
        .stream = stream,
        .tag = 100,
        .sequence = sequence,
    };

    CHECK_OK(packet_pack(&frame.payload, "%d", 7));
    sim_inject(sim, 1, 2, &frame);
    sim_run(sim, 100);
}

/* PROTOCOL 10.5: a packet that comes again is not taken again; one that leaves
 * a gap ends the back-end. */
SCENARIO(again_is_ignored_a_gap_is_not, "0(1(2))")
{
    uint32_t stream = sim_open_filter(sim, "");

    sim_send_int(sim, 0, stream, 1);
    sim_send_int(sim, 0, stream, 2);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_taken(sim, 2, stream), 2);
    inject(sim, stream, 2);
    CU_ASSERT_EQUAL(sim_taken(sim, 2, stream), 2);
    CU_ASSERT(sim_is_alive(sim, 2));
    inject(sim, stream, 4);
    CU_ASSERT_EQUAL(sim_taken(sim, 2, stream), 2);
    CU_ASSERT_FALSE(sim_is_alive(sim, 2));
    CU_ASSERT(sim_is_alive(sim, 1));
}

/* PROTOCOL 10.5: a commnode that learns what is stable begins after that,
 * although older packets wait there for a filter call of another stream. */
TEST(stable_overtakes_what_waits)
{
    struct sim *sim = sim_launch("0(1(2))");
    uint32_t slow = sim_open_filter(sim, "sum");
    uint32_t stream = sim_open_stream(sim, .down_filter = (char[]){"count"});
    const struct node *node = sim_node(sim, 1);
    struct frame stable = {
        .type = FRAME_STABLE,
        .stream = stream,
        .sequence = 20,
    };

    sim_set_filter_ms(sim, 1, 1000);
    sim_send_int(sim, 2, slow, 5);
    sim_run(sim, 10);
    sim_send_int(sim, 0, stream, 1);
    sim_send_int(sim, 0, stream, 2);
    sim_run(sim, 10);
    CU_ASSERT(node_stream(node, stream)->down.in.count > 0);
    sim_inject(sim, 0, 1, &stable);
    sim_run(sim, 10);
    CU_ASSERT_EQUAL(node_stream(node, stream)->down.in.count, 0);
    CU_ASSERT_EQUAL(node_stream(node, stream)->down.last, 20);
    sim_end(sim);
}

/* PROTOCOL 10.1a: a stream on which packets flow costs one claim for each
 * heartbeat, not one for each packet; one on which nothing flows costs none. */
SCENARIO(claims_wait_for_the_heartbeat, "0(1)")
{
    uint32_t stream = sim_open_filter(sim, "");
    unsigned count;

    sim_run(sim, 2 * LIMIT_HEARTBEAT_MS);
    sim_trace(sim, SIM_TRACE_FRAME);
    for (int i = 0; i < 200; i++) {
        sim_send_int(sim, 0, stream, i);
        sim_run(sim, 10);
    }
    sim_run(sim, LIMIT_HEARTBEAT_MS);
    count = sim_lines(sim, " claim ");
    CU_ASSERT(count >= 1);
    CU_ASSERT(count <= 200 * 10 / LIMIT_HEARTBEAT_MS + 2);
    sim_trace_from_here(sim);
    sim_run(sim, 4 * LIMIT_HEARTBEAT_MS);
    CU_ASSERT_EQUAL(sim_lines(sim, " claim "), 0);
    CU_ASSERT(sim_lines(sim, " heartbeat") > 0);
}

/* PROTOCOL 12.3, 2.1: stable says nothing of one that is no member yet: a
 * joiner that is slow to answer is fed from below it (seed 3616). */
SCENARIO(a_slow_joiner_misses_no_control, "0(1(3,4),2)")
{
    uint32_t stream = sim_open_stream(sim, .grow = true);
    struct order order = {0};
    uint32_t joiner;

    joiner = sim_attach(sim, 0);
    sim_set_app(sim, joiner,
                &(struct sim_app){.taken = take_number, .arg = &order});
    sim_freeze(sim, joiner, 3 * LIMIT_HEARTBEAT_MS);
    sim_run(sim, 10);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(sim_parameters(sim, stream, "%d", i));
        sim_run(sim, LIMIT_HEARTBEAT_MS / 4);
    }
    sim_run(sim, 4 * LIMIT_HEARTBEAT_MS);
    CU_ASSERT_FATAL(sim_is_alive(sim, joiner));
    CU_ASSERT(ranks_has(node_members(sim_node(sim, 0), stream),
                        sim_rank(sim, joiner)));
    sim_send_int(sim, 0, stream, 0);
    sim_send_int(sim, 0, stream, 1);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(order.next, 2);
    CU_ASSERT_FALSE(order.broken);
}
