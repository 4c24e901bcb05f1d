/* test_scenario_missing.c - launches without nodes that do not start (PROTOCOL
 * 12.2, COP_MISSING_SKIP). */
#include "test/sim/scenario.h"

#include <errno.h>

#include "protocol/state.h"

/* Ranks 1 and 2 are the parents of commnodes 3 to 6, and these of back-ends. */
#define TREE "0(1(3(7,8),4(9,10)),2(5(11,12),6(13,14)))"

/* The number of nodes of TREE without the front-end. */
#define OTHERS 14

static struct sim *begin_skipping(const char *tree, uint32_t launch_timeout_ms)
{
    return sim_begin(tree, .missing = COP_MISSING_SKIP,
                     .trace = SIM_TRACE_ALL & ~(unsigned)SIM_TRACE_FRAME,
                     .times = {.launch_timeout_ms = launch_timeout_ms});
}

/* The missing ranks in ascending order, such as "1 3 "; borrowed. */
static const char *absent(struct sim *sim)
{
    static char text[256];
    const char *host, *reason;
    uint32_t rank;
    size_t len = 0, i;

    text[0] = '\0';
    for (i = 0; node_missing(sim_node(sim, 0), i, &rank, &host, &reason); i++) {
        CU_ASSERT(*reason != '\0');
        CU_ASSERT_STRING_EQUAL(host, "sim");
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%u ", rank);
    }
    return text;
}

/* The reason why `missing` is missing; "" if it is not. */
static const char *reason_of(struct sim *sim, uint32_t missing)
{
    const char *host, *reason;
    uint32_t rank;

    for (size_t i = 0; node_missing(sim_node(sim, 0), i, &rank, &host, &reason);
         i++)
        if (rank == missing)
            return reason;
    return "";
}

static bool is_missing(struct sim *sim, uint32_t rank)
{
    return *reason_of(sim, rank) != '\0';
}

/* The nearest ancestor of `rank` that is not missing. */
static uint32_t parent_of(struct sim *sim, uint32_t rank)
{
    const struct tree *tree = sim_tree(sim);
    const struct tree_node *at = tree_find(tree, rank);

    do
        at = &tree->nodes[at->parent];
    while (is_missing(sim, at->rank));
    return at->rank;
}

/* Check that every node's view is the real tree: missing nodes are in no table
 * and no communicator, the parents, depths and fan-outs of the others are
 * right, and all internal nodes have the same table. */
static void check_tree(struct sim *sim)
{
    const struct ranks *backends = node_backends(sim_node(sim, 0));
    struct table_entry entry;
    uint32_t children[OTHERS + 1] = {0};

    for (uint32_t rank = 1; rank <= OTHERS; rank++) {
        CU_ASSERT_EQUAL(ranks_has(backends, rank),
                        sim_role(sim, rank) == NODE_BACKEND &&
                            !is_missing(sim, rank));
        if (is_missing(sim, rank)) {
            CU_ASSERT_FALSE(sim_is_alive(sim, rank));
            continue;
        }
        CU_ASSERT_FATAL(sim_is_alive(sim, rank));
        CU_ASSERT_EQUAL(sim_told(sim, rank, TELL_LAUNCHED), 1);
        CU_ASSERT_EQUAL(sim_parent(sim, rank), parent_of(sim, rank));
        children[parent_of(sim, rank)]++;
    }
    for (uint32_t i = 0; i <= OTHERS; i++) {
        if (!sim_is_alive(sim, i))
            continue;
        for (uint32_t rank = 0; rank <= 6; rank++) {
            bool known =
                table_entry(sim_node(sim, i)->heal.table, rank, &entry) == 0;

            CU_ASSERT_EQUAL(known, !is_missing(sim, rank));
            if (!known)
                continue;
            CU_ASSERT_FALSE(entry.failed);
            CU_ASSERT_EQUAL(entry.fan_out, children[rank]);
            if (rank > 0)
                CU_ASSERT_EQUAL(entry.parent, parent_of(sim, rank));
        }
    }
}

/* Check that data flows both ways, that a sync returns, and that the tree then
 * survives the death of a commnode. */
static void check_work(struct sim *sim)
{
    uint32_t stream = sim_open_filter(sim, "sum");
    const struct ranks *backends = node_backends(sim_node(sim, 0));
    int sum = 0;

    sim_echo(sim);
    sim_send_int(sim, 0, stream, 5);
    sim_run(sim, 50);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 5 * (int)ranks_size(backends));
    for (uint64_t i = 0; i < ranks_size(backends); i++)
        sum += sim_taken(sim, ranks_at(backends, i), stream) == 1;
    CU_ASSERT_EQUAL(sum, (int)ranks_size(backends));
    CHECK_IS(sim_sync_now(sim, stream), 0);
    for (uint64_t i = 1; i <= 6; i++)
        if (!is_missing(sim, (uint32_t)i)) {
            sim_crash(sim, (uint32_t)i);
            sim_run(sim, 5000);
        }
    sim_send_int(sim, 0, stream, 7);
    sim_run(sim, 5000);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 7 * (int)ranks_size(backends));
    for (uint64_t i = 7; i <= OTHERS; i++)
        CU_ASSERT_EQUAL(sim_is_alive(sim, (uint32_t)i),
                        !is_missing(sim, (uint32_t)i));
}

static void end_checked(struct sim *sim)
{
    sim_shutdown(sim, 0);
    sim_run(sim, 20000);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        CU_ASSERT_FALSE(sim_is_alive(sim, i));
    sim_end(sim);
}

/* PROTOCOL 12.2: a dead back-end is skipped, and listed with the reason. */
TEST(a_back_end_is_skipped)
{
    struct sim *sim = begin_skipping(TREE, 0);

    sim_missing(sim, 9, "ssh: No route to host");
    sim_wait(sim, 0, TELL_LAUNCHED);
    sim_run(sim, 20);
    CU_ASSERT_STRING_EQUAL(absent(sim), "9 ");
    CU_ASSERT_STRING_EQUAL(reason_of(sim, 9), "ssh: No route to host");
    check_tree(sim);
    check_work(sim);
    end_checked(sim);
}

/* PROTOCOL 12.2: the parent of a dead commnode starts that node's children
 * itself; a whole chain may be dead. */
TEST(a_chain_of_commnodes_is_skipped)
{
    static const uint32_t dead[][3] = {
        {1, 0, 0}, {3, 0, 0}, {1, 3, 0}, {1, 3, 4},
        {1, 2, 0}, {3, 5, 0}, {1, 6, 8}, {3, 7, 8},
    };

    for (size_t i = 0; i < sizeof(dead) / sizeof(*dead); i++) {
        struct sim *sim = begin_skipping(TREE, 0);
        char expected[32] = "";

        for (int k = 0; k < 3 && dead[i][k]; k++) {
            size_t len = strlen(expected);

            snprintf(expected + len, sizeof(expected) - len, "%u ", dead[i][k]);
            sim_missing(sim, dead[i][k], "no such host");
        }
        sim_wait(sim, 0, TELL_LAUNCHED);
        sim_run(sim, 20);
        CU_ASSERT_STRING_EQUAL(absent(sim), expected);
        check_tree(sim);
        check_work(sim);
        end_checked(sim);
    }
}

/* PROTOCOL 12.2: if all commnodes are dead, the front-end has all back-ends. */
TEST(all_commnodes_are_skipped)
{
    struct sim *sim = begin_skipping(TREE, 0);

    for (uint32_t rank = 1; rank <= 6; rank++)
        sim_missing(sim, rank, "the program is not there");
    sim_wait(sim, 0, TELL_LAUNCHED);
    sim_run(sim, 20);
    CU_ASSERT_STRING_EQUAL(absent(sim), "1 2 3 4 5 6 ");
    for (uint32_t rank = 7; rank <= OTHERS; rank++) {
        CU_ASSERT_EQUAL(sim_parent(sim, rank), 0);
        CU_ASSERT_EQUAL(node_depth(sim_node(sim, rank)), 1);
    }
    check_tree(sim);
    check_work(sim);
    end_checked(sim);
}

/* PROTOCOL 12.2: without any back-end the launch fails, with the reasons, and
 * no process is left. */
TEST(without_a_back_end_it_fails)
{
    struct sim *sim = begin_skipping(TREE, 0);

    for (uint32_t rank = 7; rank <= OTHERS; rank++)
        sim_missing(sim, rank, "no such program");
    sim_wait(sim, 0, TELL_LAUNCH_FAILED);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_LAUNCHED), 0);
    CU_ASSERT(strstr(sim_text(TELL_LAUNCH_FAILED), "no such program") != NULL);
    CU_ASSERT(strstr(sim_text(TELL_LAUNCH_FAILED), "rank 7") != NULL);
    CU_ASSERT_EQUAL(sim_code(TELL_LAUNCH_FAILED), -EHOSTUNREACH);
    end_checked(sim);
}

/* PROTOCOL 12.2a: starts that hang at several levels leave half of
 * launch_timeout to the other nodes. */
TEST(a_start_that_hangs_is_skipped)
{
    struct sim *sim = begin_skipping(TREE, 6000);

    sim_hang(sim, 1);
    sim_hang(sim, 3);
    sim_hang(sim, 7);
    sim_wait(sim, 0, TELL_LAUNCHED);
    CU_ASSERT(sim_now_ms(sim) >= 3000);
    CU_ASSERT(sim_now_ms(sim) <= 3100);
    CU_ASSERT_STRING_EQUAL(absent(sim), "1 3 7 ");
    CU_ASSERT(strstr(reason_of(sim, 3), "1000 ms (start_timeout)") != NULL);
    sim_run(sim, 20);
    check_tree(sim);
    check_work(sim);
    end_checked(sim);
}

/* PROTOCOL 12.2a: start_timeout is for nodes that never answer; in a tree that
 * is not deep it is the limit itself. */
TEST(a_start_has_its_own_time_out)
{
    struct sim *sim = begin_skipping("0(1(2,3))", 0);

    sim_hang(sim, 1);
    sim_run(sim, LIMIT_START_TIMEOUT_MS - 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_LAUNCHED), 0);
    sim_run(sim, 100);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_LAUNCHED), 1);
    CU_ASSERT_STRING_EQUAL(absent(sim), "1 ");
    sim_end(sim);
}

/* PROTOCOL 12.2a, 12.2b: a commnode that stops during its launch is noticed by
 * its silence, with the time-out of a start. */
TEST(silence_is_skipped)
{
    struct sim *sim = begin_skipping(TREE, 0);

    sim_run(sim, 4);
    sim_freeze(sim, 1, 1000000);
    sim_wait(sim, 0, TELL_LAUNCHED);
    CU_ASSERT(sim_now_ms(sim) >= LIMIT_START_TIMEOUT_MS);
    CU_ASSERT(sim_now_ms(sim) <= LIMIT_START_TIMEOUT_MS + LIMIT_HEARTBEAT_MS);
    CU_ASSERT_STRING_EQUAL(absent(sim), "1 ");
    sim_run(sim, 20);
    check_tree(sim);
    check_work(sim);
    end_checked(sim);
}

/* PROTOCOL 12.2a: if a node dies during the launch, at any millisecond, no
 * other node is lost; or it died after the launch, and the tree heals. But if
 * its parent had already reported it, the nodes that it started are lost with
 * it. */
TEST(a_death_during_the_launch_is_survived)
{
    for (uint64_t at_ms = 1; at_ms <= 24; at_ms++) {
        for (uint32_t rank = 1; rank <= 8; rank++) {
            struct sim *sim = begin_skipping(TREE, 0);
            uint32_t stream;
            uint64_t left;

            sim_crash_at(sim, rank, at_ms);
            sim_run(sim, 100000);
            CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_LAUNCHED), 1);
            left = ranks_size(node_backends(sim_node(sim, 0)));
            CU_ASSERT(left >= (rank >= 7 ? 7 : rank >= 3 ? 6 : 4));
            if (rank <= 2 && is_missing(sim, rank))
                CU_ASSERT_EQUAL(left, 8);
            stream = sim_open_filter(sim, "sum");
            sim_echo(sim);
            sim_send_int(sim, 0, stream, 3);
            sim_run(sim, 100);
            CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 3 * (int)left);
            CHECK_IS(sim_sync_now(sim, stream), 0);
            end_checked(sim);
        }
    }
}

/* PROTOCOL 12.2a: at launch_timeout nodes that are not ready are missing, with
 * their subtrees; the others are launched. */
TEST(the_time_out_ends_the_waiting)
{
    struct sim *sim = sim_begin(
        TREE, .missing = COP_MISSING_SKIP, .trace = SIM_TRACE_ALL,
        .times = {.launch_timeout_ms = 2000, .failure_timeout_ms = 60000});

    sim_run(sim, 4);
    sim_freeze(sim, 1, 10000);
    sim_wait(sim, 0, TELL_LAUNCHED);
    CU_ASSERT(sim_now_ms(sim) <= 2000);
    CU_ASSERT_STRING_EQUAL(absent(sim), "1 3 4 7 8 9 10 ");
    sim_run(sim, 20000);
    check_tree(sim);
    end_checked(sim);
}
