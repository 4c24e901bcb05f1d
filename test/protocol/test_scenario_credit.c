/* test_scenario_credit.c - back-pressure through a whole tree (PROTOCOL 3.4,
 * 3.5). */
#include "test/sim/scenario.h"

#define PACKET 100000 /* bytes of the array of one big packet */

/* The maximum size of a packet with that array on a link. */
#define WEIGHT (PACKET + 200)

/* The most that a node holds on the way up: its output for its parent, what
 * each child may send, and one packet more for each. */
#define MOST(children) ((1 + (children)) * (LIMIT_WINDOW_MAX + WEIGHT))

static void post_bytes(struct sim *sim,
                       uint32_t rank,
                       uint32_t stream,
                       size_t len)
{
    char *bytes = calloc(1, len);
    struct payload *payload = NULL;

    CU_ASSERT_FATAL(bytes != NULL);
    CHECK_OK(packet_pack(&payload, "%ac", bytes, (uint32_t)len));
    sim_post(sim, rank, stream, 100, payload);
    free(bytes);
}

static uint64_t held_bytes(struct sim *sim, uint32_t rank, uint32_t stream)
{
    return node_held_bytes(sim_node(sim, rank), stream);
}

/* PROTOCOL 3.4: a back-end that takes no packets is sent one window at most on
 * each hop; when it takes again, everything comes. */
SCENARIO(a_fast_sender_is_held_back, "0(1(2))")
{
    uint32_t stream;
    uint64_t sent;

    sim_by_hand(sim, 0);
    stream = sim_open_filter(sim, "");
    for (int i = 0; i < 400; i++)
        post_bytes(sim, 2, stream, PACKET);
    sim_run(sim, 5000);
    sent = 400 - sim_unsent(sim, 2);
    CU_ASSERT(sim_waiting(sim, 0) >= 10);
    CU_ASSERT(sim_waiting(sim, 0) * PACKET <= LIMIT_WINDOW_MAX + WEIGHT);
    CU_ASSERT(sent * PACKET <= 2 * MOST(1) + WEIGHT);
    CU_ASSERT(held_bytes(sim, 0, stream) <= MOST(1));
    CU_ASSERT(held_bytes(sim, 1, stream) <= MOST(1));
    for (int i = 0; i < 400; i++) {
        CHECK_IS(sim_receive(sim, 0, stream), 1);
        sim_run(sim, 10);
    }
    CU_ASSERT_EQUAL(sim_unsent(sim, 2), 0);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 400);
    CHECK_IS(sim_receive(sim, 0, stream), 0);
}

/* PROTOCOL 3.4: a front-end that needs 10 ms per packet slows its back-ends to
 * that rate, and no queue grows on the way. */
static void check_slow_front_end(enum cop_sync sync)
{
    struct sim *sim = sim_launch("0(1(3,4),2(5,6))");
    struct sim_app slow = {.take_ms = 10};
    uint32_t stream;

    sim_set_app(sim, 0, &slow);
    stream = sim_open_stream(sim, .sync = sync, .wave_timeout_ms = 5);
    for (uint32_t rank = 3; rank <= 6; rank++)
        for (int i = 0; i < 200; i++)
            post_bytes(sim, rank, stream, PACKET);
    for (int i = 0; i < 80; i++) {
        sim_run(sim, 100);
        for (uint32_t rank = 0; rank <= 2; rank++)
            CU_ASSERT(held_bytes(sim, rank, stream) <= MOST(2));
        if (i < 8)
            CU_ASSERT(sim_unsent(sim, 3) > 0);
    }
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 800);
    sim_end(sim);
}

TEST(a_slow_front_end_slows_its_back_ends)
{
    check_slow_front_end(COP_WAIT_FOR_ALL);
    check_slow_front_end(COP_TIME_OUT);
    check_slow_front_end(COP_DO_NOT_WAIT);
}

/* PROTOCOL 3.4: credit is per stream: one that nobody reads stops nobody who
 * reads another. */
SCENARIO(a_full_stream_stops_no_other, "0(1(2,3))")
{
    uint32_t full;
    uint32_t other;

    sim_by_hand(sim, 0);
    full = sim_open_filter(sim, "");
    other = sim_open_filter(sim, "sum");
    for (int i = 0; i < 200; i++)
        post_bytes(sim, 2, full, PACKET);
    sim_run(sim, 1000);
    CU_ASSERT(sim_unsent(sim, 2) > 0);
    for (int i = 1; i <= 100; i++) {
        sim_send_int(sim, 2, other, i);
        sim_send_int(sim, 3, other, i);
        sim_run(sim, 10);
        CHECK_IS(sim_receive(sim, 0, other), 1);
        CU_ASSERT_EQUAL(sim_last(sim, 0, other), 2 * i);
    }
}

/* PROTOCOL 3.4: a packet larger than the window passes, alone. */
SCENARIO(a_giant_passes_alone, "0(1(2))")
{
    uint32_t stream;

    sim_by_hand(sim, 0);
    stream = sim_open_filter(sim, "");
    for (int i = 0; i < 8; i++)
        post_bytes(sim, 2, stream, 2 * LIMIT_WINDOW_MAX);
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(sim_waiting(sim, 0), 1);
    CU_ASSERT(sim_unsent(sim, 2) >= 2);
    for (int i = 0; i < 8; i++) {
        CHECK_IS(sim_receive(sim, 0, stream), 1);
        sim_run(sim, 100);
        CU_ASSERT(sim_waiting(sim, 0) <= 1);
    }
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 8);
}

/* PROTOCOL 3.4: a wave that no filter makes smaller is larger than the window.
 * While it waits for another child, the front-end holds this wave and a window,
 * and no more. */
static void check_wave_beside_the_window(enum stream_guarantee kind)
{
    struct sim *sim =
        sim_launch("0(1(3,4,5,6,7,8,9,10),2)", .budget = LIMIT_WINDOW_MIN);
    uint32_t stream = sim_open_stream(sim, .kind = kind);
    uint32_t len = LIMIT_WINDOW_MIN / 4, held;

    for (uint32_t rank = 3; rank <= 10; rank++)
        for (int i = 0; i < 20; i++)
            post_bytes(sim, rank, stream, len);
    sim_run(sim, 2000);
    held = (uint32_t)held_bytes(sim, 0, stream);
    CU_ASSERT(held > 8 * len + len);
    CU_ASSERT(held <= 8 * (len + 200) + LIMIT_WINDOW_MIN);
    for (int i = 0; i < 20; i++)
        post_bytes(sim, 2, stream, len);
    sim_run(sim, 2000);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, stream), 9 * 20);
    sim_end(sim);
}

TEST(a_wave_is_held_beside_the_window)
{
    check_wave_beside_the_window(STREAM_PLAIN);
    check_wave_beside_the_window(STREAM_WAVES);
}

/* PROTOCOL 3.4: downwards too: a back-end that does not take its packets is
 * not sent more than its window. */
SCENARIO(a_slow_back_end_slows_the_front_end, "0(1(2,3))")
{
    uint32_t stream;
    size_t unsent;

    sim_by_hand(sim, 3);
    stream = sim_open_filter(sim, "");
    for (int i = 0; i < 300; i++)
        post_bytes(sim, 0, stream, PACKET);
    sim_run(sim, 5000);
    unsent = sim_unsent(sim, 0);
    CU_ASSERT(unsent > 0);
    CU_ASSERT(held_bytes(sim, 3, stream) <= LIMIT_WINDOW_MAX + WEIGHT);
    for (int i = 0; i < 300; i++) {
        CHECK_IS(sim_receive(sim, 3, stream), 1);
        sim_run(sim, 100);
    }
    CU_ASSERT_EQUAL(sim_taken(sim, 2, stream), 300);
    CU_ASSERT_EQUAL(sim_taken(sim, 3, stream), 300);
    CU_ASSERT_EQUAL(sim_unsent(sim, 0), 0);
}

/* PROTOCOL 3.5: the front-end runs at most 4 MiB ahead of what every member
 * has, and goes on when they have it. */
SCENARIO(the_front_end_waits_for_stability, "0(1(3,4),2)")
{
    uint32_t stream = sim_open_filter(sim, "");
    uint64_t sent;

    sim_freeze(sim, 4, 2000);
    for (int i = 0; i < 100; i++)
        post_bytes(sim, 0, stream, PACKET);
    sim_run(sim, 1500);
    sent = 100 - sim_unsent(sim, 0);
    CU_ASSERT(sent * PACKET <= LIMIT_UNSTABLE + WEIGHT);
    CU_ASSERT((sent + 1) * WEIGHT >= LIMIT_UNSTABLE / 2);
    CU_ASSERT_FALSE(node_can_send(sim_node(sim, 0), stream));
    sim_run(sim, 10000);
    CU_ASSERT_EQUAL(sim_unsent(sim, 0), 0);
    for (uint32_t rank = 2; rank <= 4; rank++)
        CU_ASSERT_EQUAL(sim_taken(sim, rank, stream), 100);
}

/* PROTOCOL 3.4: the limit is told before anything is queued. */
SCENARIO(without_credit_nothing_is_queued, "0(1)")
{
    uint32_t stream;
    int count = 0;

    sim_by_hand(sim, 0);
    stream = sim_open_filter(sim, "");
    while (sim_send_bytes(sim, 1, stream, PACKET) == 0)
        CU_ASSERT_FATAL(++count < 1000);
    CHECK_IS(sim_send_bytes(sim, 1, stream, PACKET), -EAGAIN);
    CU_ASSERT(count * PACKET <= (int)(LIMIT_WINDOW_MAX + WEIGHT));
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL((int)sim_waiting(sim, 0), count);
}

static unsigned count_adoptions(void)
{
    struct node_adoption adoption;
    unsigned count = 0;

    for (uint32_t rank = 1; rank <= 12; rank++)
        count += sim_adopted(rank, &adoption);
    return count;
}

/* Send `count` packets from the front-end; no node loses its parent by them. */
static void feed_all(struct sim *sim, uint32_t stream, unsigned count)
{
    unsigned adoptions = count_adoptions();

    for (unsigned i = 0; i < count; i++)
        post_bytes(sim, 0, stream, PACKET);
    for (int i = 0; i < 100 && sim_unsent(sim, 0) > 0; i++)
        sim_run(sim, 100);
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(sim_unsent(sim, 0), 0);
    CU_ASSERT_EQUAL(count_adoptions(), adoptions);
}

/* PROTOCOL 3.4: a new link begins with a full window, whatever had been owed on
 * the one before: no node that keeps to its credit is refused. */
SCENARIO(credit_begins_anew_with_a_new_parent,
         "0(1(5,6),2(7,8),3(9,10),4(11,12))")
{
    uint32_t stream = sim_open_filter(sim, "");

    for (uint32_t victim = 1; victim <= 3; victim++) {
        /* nearly half a window is consumed and not returned */
        feed_all(sim, stream, LIMIT_WINDOW_MAX / 2 / WEIGHT);
        sim_crash(sim, victim);
        sim_run(sim, 200);
    }
    feed_all(sim, stream, 100);
    CU_ASSERT(count_adoptions() >= 6);
    for (uint32_t rank = 5; rank <= 12; rank++)
        CU_ASSERT_EQUAL(sim_taken(sim, rank, stream),
                        3 * (LIMIT_WINDOW_MAX / 2 / WEIGHT) + 100);
}

/* PROTOCOL 3.4: what came from the parent that is lost, and is still in a slow
 * filter, is not given back to the next one, which has not sent it. */
SCENARIO(a_new_parent_is_given_nothing_back, "0(1(3(5,6)),2(4(7)))")
{
    uint32_t stream = sim_open_stream(sim, .down_filter = (char[]){"count"});
    struct node_adoption adoption;

    CU_ASSERT(node_is_replayable(sim_node(sim, 0), stream));
    sim_set_filter_ms(sim, 3, 100);
    for (unsigned i = 0; i < 30; i++)
        post_bytes(sim, 0, stream, PACKET);
    sim_run(sim, 200);
    sim_crash(sim, 1);
    sim_run(sim, 10000);
    CU_ASSERT_EQUAL(sim_taken(sim, 5, stream), 30);
    CU_ASSERT_EQUAL(sim_taken(sim, 6, stream), 30);
    CU_ASSERT_EQUAL(sim_adopted(3, &adoption), 1);
}

/* A downward call in progress, and its input at the beginning. */
struct outstanding {
    uint32_t index; /* of the node */
    const struct node_call *call;
    struct frame input;
};

static enum sim_tampering remember_call(struct sim *sim,
                                        uint32_t index,
                                        struct action *action,
                                        void *arg)
{
    struct outstanding *out = arg;

    (void)sim;
    if (index == out->index && action->type == ACTION_FILTER &&
        !action->call->init) {
        out->call = action->call;
        out->input = action->call->inputs[0];
    }
    return SIM_KEEP;
}

/* PROTOCOL 5.1: a filter reads its input outside the lock, so the machine
 * writes nothing to it, whatever happens to the input's link. */
TEST(what_is_in_a_filter_is_not_written_to)
{
    struct outstanding out = {.index = 3};
    struct sim *sim = sim_launch("0(1(3(5,6)),2(4(7)))",
                                 .tamper = remember_call, .tamper_arg = &out);
    uint32_t stream = sim_open_stream(sim, .down_filter = (char[]){"count"});

    sim_set_filter_ms(sim, 3, 1000);
    post_bytes(sim, 0, stream, PACKET);
    sim_run(sim, 10);
    CU_ASSERT_FATAL(out.call != NULL);
    sim_crash(sim, 1);
    sim_run(sim, 100);
    CU_ASSERT(sim_parent(sim, 3) != SIM_NONE);
    CU_ASSERT_NOT_EQUAL(sim_parent(sim, 3), 1);
    CU_ASSERT_EQUAL(out.call->inputs[0].flags, out.input.flags);
    CU_ASSERT_EQUAL(out.call->inputs[0].count, out.input.count);
    sim_run(sim, 5000);
    CU_ASSERT_EQUAL(sim_taken(sim, 5, stream), 1);
    sim_end(sim);
}

/* PROTOCOL 3.4: nor is what came on a link that broke, and still waits, given
 * back on the one by which the same child came again. */
SCENARIO(a_child_that_came_again_is_given_nothing_back, "0(1,2)")
{
    const int count = 3 * (LIMIT_WINDOW_MAX / 2) / WEIGHT; /* some are taken */
    struct node_adoption adoption;
    uint32_t stream;

    sim_by_hand(sim, 0);
    stream = sim_open_stream(sim, .sync = COP_DO_NOT_WAIT);
    for (int i = 0; i < count; i++)
        post_bytes(sim, 2, stream, PACKET);
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(sim_unsent(sim, 2), 0);
    sim_cut(sim, 2, 0);
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(sim_adopted(2, &adoption), 1);
    for (int i = 0; i < count; i++) {
        CHECK_IS(sim_receive(sim, 0, stream), 1);
        sim_run(sim, 10);
    }
    CU_ASSERT_EQUAL(sim_adopted(2, &adoption), 1);
}
