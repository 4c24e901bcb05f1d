/* test_scenario_crossing.c - upward and downward frames that cross: claims and
 * FEEDs meet LOST and ENTER (PROTOCOL 4.5, 10.4, 11.2, 12.3). */
#include "test/sim/scenario.h"

/* All remaining members answer one packet, and all answers arrive in one
 * wave. */
static void use_stream(struct sim *sim, uint32_t stream)
{
    const struct ranks *left = node_members(sim_node(sim, 0), stream);
    unsigned before = sim_taken(sim, 0, stream);

    sim_echo(sim);
    CU_ASSERT(sim_sync_now(sim, stream) >= 0);
    sim_send_int(sim, 0, stream, 1);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    expect_taken(sim, 0, stream, before + 1, (int)ranks_size(left));
}

/* PROTOCOL 4.5, 10.4, 11.2: a commnode's only back-end ends. The front-end
 * announces that before it learns that the commnode has adopted another: for a
 * while it knows of no back-end there, though the commnode always had one. The
 * commnode still gets packets, and counts (seeds 8806, 31696, 36615). */
TEST(a_loss_crosses_an_adoption)
{
    for (uint64_t at_ms = 0; at_ms <= 12; at_ms++) {
        struct sim *sim = sim_launch("0(1(3),2(4,5))");
        uint32_t stream = sim_open_filter(sim, "sum");

        sim_hold(sim, 3, 1, sim_now_ms(sim) + 1000);
        sim_crash(sim, 2);
        sim_crash_at(sim, 3, sim_now_ms(sim) + at_ms);
        sim_run(sim, 1500);
        CU_ASSERT_EQUAL(ranks_size(node_members(sim_node(sim, 0), stream)), 2);
        use_stream(sim, stream);
        sim_end(sim);
    }
}

/* A joiner's parent dies `at_ms` after the joiner has connected, and a commnode
 * without children adopts it. The front-end learns of that late: its own input
 * is delayed by `freeze_ms`, the dead parent's last frames by `hold_ms`. */
static void join_late(uint64_t at_ms, uint64_t freeze_ms, uint64_t hold_ms)
{
    struct sim *sim = sim_launch("0(1(4),2(3))");
    uint32_t stream = sim_open_filter(sim, "sum", .grow = true);

    sim_crash(sim, 3);
    sim_run(sim, 50);
    sim_attach(sim, 1);
    sim_run(sim, at_ms);
    if (hold_ms > 0)
        sim_hold(sim, 1, 0, sim_now_ms(sim) + hold_ms);
    if (freeze_ms > 0)
        sim_freeze(sim, 0, freeze_ms);
    sim_kill_at(sim, 1, 2);
    sim_run(sim, 1000);
    CU_ASSERT(ranks_size(node_members(sim_node(sim, 0), stream)) >= 1);
    use_stream(sim, stream);
    sim_end(sim);
}

/* PROTOCOL 8.4, 10.4, 12.3: a joiner's ENTER reaches its adopter while the
 * joiner asks, or after its adoption but before the front-end knows of that
 * (seed 311). */
TEST(a_joiner_crosses_its_enter)
{
    for (uint64_t at_ms = 0; at_ms <= 12; at_ms++) {
        join_late(at_ms, 20, 0);
        for (uint64_t hold_ms = 1; hold_ms <= 15; hold_ms++)
            join_late(at_ms, 0, hold_ms);
    }
}
