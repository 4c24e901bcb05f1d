/* test_scenario_drain.c - hosts that are to have no commnode (PROTOCOL 20.4). */
#include <errno.h>
#include <string.h>

#include "protocol/watch/rows.h"
#include "test/sim/scenario.h"

/* Node `rank` is on host h`rank`. */
#define TREE "0(1(3(7,8),4(9,10)),2(5(11,12),6(13,14)))"

/* Drain `host`, and wait until it is empty. */
static void drain(struct sim *sim, const char *host)
{
    unsigned before = sim_told(sim, 0, TELL_DRAINED);

    CHECK_OK(sim_drain(sim, host));
    if (sim_told(sim, 0, TELL_DRAINED) == before)
        sim_wait(sim, 0, TELL_DRAINED);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_DRAINED), before + 1);
    CU_ASSERT_STRING_EQUAL(sim_text(TELL_DRAINED), host);
}

/* Every back-end answers, and nothing is lost. */
static void check_sum(struct sim *sim, uint32_t stream)
{
    CU_ASSERT(sim_sync_now(sim, stream) >= 0);
    sim_send_all(sim, stream, 7, 14, 10);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_last(sim, 0, stream), 80);
}

/* Nothing was taken for a failure. */
static void check_calm(struct sim *sim)
{
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_SUSPECTED), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_ADOPTED), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LOST), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_MOVE_FAILED), 0);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_DRAIN_FAILED), 0);
}

/* PROTOCOL 20.4: the children move one by one, and the commnode leaves. */
SCENARIO(a_host_is_drained, TREE, .hosts = 100)
{
    uint32_t stream = sim_open_filter(sim, "sum");
    uint64_t before_ms = sim_now_ms(sim);

    drain(sim, "h3");
    CU_ASSERT(sim_now_ms(sim) < before_ms + 200);
    expect_told(sim, NODE_LEFT, 1, 3);
    CU_ASSERT(sim_has_exited(sim, 3));
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_MOVED), 2);
    sim_inject(
        sim, 1, 0, /* an answer that was late */
        &(struct frame){
            .type = FRAME_RETIRE, .origin = 3, .count = 8, .sequence = 1});
    check_sum(sim, stream);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_MOVED), 2);
    drain(sim, "h1"); /* above a commnode */
    expect_told(sim, NODE_LEFT, 2, 1);
    CU_ASSERT(sim_has_exited(sim, 1));
    check_sum(sim, stream);
    check_calm(sim);
    CHECK_IS(sim_drain(sim, "h1"), -EALREADY);
    CHECK_IS(sim_move(sim, 7, 3), -EHOSTUNREACH);
}

/* Streams with a guarantee lose nothing while packets are on the way. */
SCENARIO(guarantees_hold, TREE, .hosts = 100)
{
    uint32_t set = sim_open_filter(sim, "int_union");
    uint32_t exact =
        sim_open_filter(sim, "sum", .kind = STREAM_WAVES, .redo_limit = 8);
    uint32_t total = sim_open_filter(sim, "sum", .kind = STREAM_TOTAL);
    int value;

    for (int i = 1; i <= 40; i++) {
        for (uint32_t rank = 7; rank <= 14; rank++)
            sim_send_set(sim, rank, set, i);
        sim_send_all(sim, exact, 7, 14, i);
        sim_send_all(sim, total, 7, 14, 1);
        if (i == 2)
            CHECK_OK(sim_drain(sim, "h2"));
        if (i == 20)
            CHECK_OK(sim_drain(sim, "h4"));
        sim_run(sim, 3);
    }
    while (sim_told(sim, 0, TELL_DRAINED) < 2)
        sim_wait(sim, 0, TELL_DRAINED);
    CHECK_IS(sim_sync_now(sim, set), 0);
    CHECK_IS(sim_sync_now(sim, exact), 0);
    CHECK_IS(sim_sync_now(sim, total), 0);
    CU_ASSERT_EQUAL(sim_taken(sim, 0, set), 40);
    expect_taken(sim, 0, exact, 40, 8 * 40);
    CHECK_OK(sim_state_now(sim, total, &value));
    CU_ASSERT_EQUAL(value, 8 * 40);
    check_calm(sim);
}

/* All hosts but the front-end's: it adopts everybody in the end. A host with two
 * commnodes, one above the other, is drained as well. */
SCENARIO(all_hosts_are_drained, TREE, .hosts = 2)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    drain(sim, "h1"); /* 1, 3, 5 */
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LEFT), 3);
    check_sum(sim, stream);
    drain(sim, "h0"); /* 2, 4, 6; the front-end stays */
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LEFT), 6);
    for (uint32_t rank = 7; rank <= 14; rank++)
        CU_ASSERT_EQUAL(sim_parent(sim, rank), 0);
    check_sum(sim, stream);
    check_calm(sim);
}

/* Hosts that cannot be drained, and one that has no commnode. */
SCENARIO(bad_hosts, TREE, .hosts = 100)
{
    CHECK_IS(sim_drain(sim, "h0"), -EINVAL); /* only the front-end */
    CHECK_IS(sim_drain(sim, "h99"), -ENOENT);
    CHECK_IS(sim_drain(sim, ""), -EINVAL);
    CHECK_IS(sim_drain(sim, NULL), -EINVAL);
    drain(sim, "h7"); /* of a back-end, which stays */
    sim_run(sim, 1000);
    CU_ASSERT(sim_is_alive(sim, 7));
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_MOVED), 0);
    CHECK_OK(sim_drain(sim, "h3"));
    CHECK_IS(sim_drain(sim, "h3"), -EALREADY);
    CHECK_IS(sim_move(sim, 9, 3), -EHOSTDOWN);
    sim_wait(sim, 0, TELL_DRAINED);
    expect_told(sim, NODE_LEFT, 1, 3);
    CHECK_OK(sim_begin_end(sim));
    CHECK_IS(sim_drain(sim, "h4"), -ENOTCONN);
}

/* An orphan does not ask a node that is about to leave: it is full. */
SCENARIO(nobody_is_adopted_there, TREE, .hosts = 100)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    CHECK_OK(sim_drain(sim, "h3"));
    sim_run(sim, 8);
    sim_crash(sim, 4); /* its back-ends look for a parent at once */
    sim_wait(sim, 0, TELL_DRAINED);
    sim_run(sim, 1000);
    for (uint32_t rank = 7; rank <= 10; rank++)
        CU_ASSERT(sim_is_alive(sim, sim_parent(sim, rank)));
    check_sum(sim, stream);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_LEFT), 1);
}

/* A commnode dies while it is drained. Its host is drained all the same. */
SCENARIO(it_dies, TREE, .hosts = 100, .replace = 3)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    CHECK_OK(sim_drain(sim, "h3"));
    sim_run(sim, 6);
    sim_crash(sim, 3);
    sim_wait(sim, 0, TELL_DRAINED);
    sim_run(sim, 100000);
    CU_ASSERT_EQUAL(
        sim_told(sim, 0, TELL_NODE_LOST) + sim_told(sim, 0, TELL_NODE_LEFT), 1);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_JOINED), 0);
    check_sum(sim, stream);
}

/* The first parent that is asked is stopped: the next one is tried when the move
 * has failed. */
SCENARIO(a_parent_is_stopped, TREE, .hosts = 100)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    for (uint32_t rank = 4; rank <= 6; rank++)
        sim_freeze(sim, rank, 2000);
    CHECK_OK(sim_drain(sim, "h3"));
    sim_wait(sim, 0, TELL_DRAINED);
    CU_ASSERT(sim_has_exited(sim, 3));
    sim_run(sim, 3000);
    check_sum(sim, stream);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_BACKEND_LOST), 0);
}

/* Nothing is started on a drained host, neither in the place of what has left nor
 * in that of another. */
static const char *const spares[] = {"h50", "h51", NULL};

SCENARIO(nothing_is_replaced_there,
         TREE,
         .hosts = 100,
         .replace = 1,
         .spares = spares)
{
    sim_trace(sim, SIM_TRACE_LIFE | SIM_TRACE_TELL);
    drain(sim, "h50");
    drain(sim, "h3");
    sim_run(sim, 100000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_JOINED), 0);
    sim_vanish(sim, 4);
    sim_run(sim, 60000);
    sim_wait(sim, 0, TELL_NODE_JOINED);
    CU_ASSERT_EQUAL(sim_lines(sim, "0 replaces 4 on h51"), 1);
    sim_crash(sim, 5);
    sim_wait(sim, 0, TELL_NODE_LOST);
    drain(sim, "h51");
    drain(sim, "h5"); /* before the first try */
    sim_wait(sim, 0, TELL_REPLACE_FAILED);
    CU_ASSERT_STRING_EQUAL(sim_text(TELL_REPLACE_FAILED),
                           "its host was drained, and there is no spare");
}

/* With keep_shape nothing returns to a drained host, also if it is not empty. */
SCENARIO(
    the_shape_is_given_up, TREE, .hosts = 100, .replace = 1, .keep_shape = true)
{
    uint32_t stream = sim_open_filter(sim, "sum");

    drain(sim, "h1");
    sim_run(sim, 100000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_MOVED), 2);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_JOINED), 0);
    check_sum(sim, stream);
    check_calm(sim);
}

/* A commnode that is started by hand on a drained host is welcome. */
SCENARIO(a_host_returns, TREE, .hosts = 15)
{
    uint32_t joiner;

    drain(sim, "h3");
    while (sim_count(sim) < 18) /* the index decides on the host */
        sim_attach(sim, 0);
    sim_run(sim, 1000);
    joiner = sim_join(sim, 0);
    sim_wait(sim, 0, TELL_NODE_JOINED);
    sim_run(sim, 1000);
    CU_ASSERT(sim_is_alive(sim, joiner));
    CHECK_OK(sim_move(sim, 7, sim_rank(sim, joiner)));
    sim_wait(sim, 0, TELL_NODE_MOVED);
    drain(sim, "h3"); /* again */
    CU_ASSERT(sim_has_exited(sim, joiner));
    expect_told(sim, NODE_LEFT, 2, sim_rank(sim, joiner));
}

/* A child that no node can adopt stays: the application is told, and the drain goes
 * on when it can. */
static enum sim_tampering refuse(struct sim *sim,
                                 uint32_t index,
                                 struct action *action,
                                 void *arg)
{
    const bool *refusing = arg;

    (void)sim;
    (void)index;
    if (*refusing && action->type == ACTION_SEND &&
        action->frame.type == FRAME_ADOPTED)
        action->frame.tag = 4; /* FULL */
    return SIM_KEEP;
}

static bool refusing;

SCENARIO(all_refuse_at_first,
         TREE,
         .hosts = 100,
         .tamper = refuse,
         .tamper_arg = &refusing)
{
    refusing = true;
    CHECK_OK(sim_drain(sim, "h3"));
    sim_wait(sim, 0, TELL_DRAIN_FAILED);
    expect_told(sim, DRAIN_FAILED, 1, 7);
    CU_ASSERT_STRING_EQUAL(sim_text(TELL_DRAIN_FAILED),
                           "no node has adopted it; the next try is in 1 s");
    sim_wait(sim, 0, TELL_DRAIN_FAILED);
    CU_ASSERT_EQUAL(sim_about(TELL_DRAIN_FAILED), 8);
    refusing = false;
    sim_wait(sim, 0, TELL_DRAINED);
    expect_told(sim, NODE_LEFT, 1, 3);
}

/* The command may meet a dead link, and the answer, too: it is repeated. */
static enum sim_tampering lose_first(struct sim *sim,
                                     uint32_t index,
                                     struct action *action,
                                     void *arg)
{
    unsigned *left = arg;

    (void)sim;
    (void)index;
    if (action->type == ACTION_SEND && action->frame.type == FRAME_RETIRE &&
        *left > 0) {
        (*left)--;
        return SIM_DROP;
    }
    return SIM_KEEP;
}

static unsigned losses;

SCENARIO(commands_are_repeated,
         TREE,
         .hosts = 100,
         .tamper = lose_first,
         .tamper_arg = &losses)
{
    losses = 2;
    drain(sim, "h3");
    CU_ASSERT_EQUAL(losses, 0);
    check_calm(sim);
}

/* Ask the front-end as an observer; `payload` is taken. */
static void ask(struct sim *sim,
                struct payload *payload,
                int code,
                const char *says)
{
    struct frame question = {.type = FRAME_DRAIN, .payload = payload};
    uint32_t observer = sim_observe(sim, 0, &question);
    const struct frame *answer;
    char text[LIMIT_TEXT + 1] = "";
    struct rows rows = {0};

    sim_run(sim, 10);
    answer = sim_answer(sim, observer);
    CU_ASSERT_PTR_NOT_NULL_FATAL(answer);
    CHECK_IS(answer->tag, code);
    CHECK_OK(rows_decode(answer, &rows, text, sizeof(text)));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, says));
    CU_ASSERT(sim_is_over(sim, observer));
    rows_fini(&rows);
}

static struct payload *named(const char *host)
{
    struct payload *payload = NULL;

    CHECK_OK(packet_pack(&payload, "%s", host));
    return payload;
}

SCENARIO(an_observer_needs_permission,
         TREE,
         .hosts = 100,
         .allow_injection = true)
{
    ask(sim, named("h3"), -EPERM, "launch.allow_administration");
    sim_run(sim, 1000);
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_MOVED), 0);
}

/* PROTOCOL 15.8: what an observer may ask, and what makes no sense. */
SCENARIO(an_observer_drains, TREE, .hosts = 100, .allow_administration = true)
{
    struct payload *number = NULL;
    char name[LIMIT_HOST_NAME + 2];

    CHECK_OK(packet_pack(&number, "%d", 3));
    ask(sim, number, -EINVAL, "makes no sense");
    ask(sim, NULL, -EINVAL, "makes no sense");
    ask(sim, named(""), -EINVAL, "makes no sense");
    memset(name, 'h', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    ask(sim, named(name), -EINVAL, "makes no sense");
    ask(sim, named("h99"), -ENOENT, "host h99 is not known");
    ask(sim, named("h0"), -EINVAL, "host h0 has the front-end only");
    ask(sim, named("h3"), 0, "");
    ask(sim, named("h3"), -EALREADY, "host h3 is drained, or being drained");
    sim_wait(sim, 0, TELL_DRAINED);
    CHECK_OK(sim_begin_end(sim));
    ask(sim, named("h4"), -ENOTCONN, "host h4 cannot be drained");
}

/* PROTOCOL 2.5: answers that nobody has asked for, and that no correct node gives,
 * change nothing. */
SCENARIO(lies_about_children, TREE, .hosts = 100)
{
    static const uint32_t children[] = {0, 1, 2, 3, 7, 13, 99, RANK_NONE};

    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof(children) / sizeof(children[0]); i++)
            sim_inject(sim, 1, 0,
                       &(struct frame){.type = FRAME_RETIRE,
                                       .origin = round == 0 ? 3 : 2,
                                       .count = children[i]});
        sim_run(sim, 100);
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_MOVED), 0);
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_DRAIN_FAILED), 0);
    }
    for (uint32_t rank = 0; rank < 15; rank++)
        CU_ASSERT(sim_is_alive(sim, rank));
}

static const uint32_t lies[] = {0, 1, 2, 3, 99, RANK_NONE};
static size_t lie;

static enum sim_tampering lie_often(struct sim *sim,
                                    uint32_t index,
                                    struct action *action,
                                    void *arg)
{
    (void)sim;
    (void)arg;
    if (index == 2 && action->type == ACTION_SEND &&
        action->frame.type == FRAME_RETIRE &&
        lie < sizeof(lies) / sizeof(lies[0]))
        action->frame.count = lies[lie++];
    return SIM_KEEP;
}

/* The same while its host is drained: it is asked again. */
SCENARIO(a_leaver_lies, TREE, .hosts = 100, .tamper = lie_often)
{
    lie = 0;
    drain(sim, "h2");
    sim_run(sim, 100);
    CHECK_IS(lie, sizeof(lies) / sizeof(lies[0]));
    CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_NODE_MOVED), 2);
    check_calm(sim);
}
