/* test_deaths.c - commnodes are killed while back-ends send. */
#include "test/frontend/tree.h"
#include "test/process/feeding.h"
#include "test/process/journal.h"

/* Tree shapes, and the rates at which back-ends send. */
static const struct {
    const char *shape;
    int count;
    int rate;
    bool deep;    /* commnodes have commnodes as children */
    size_t below; /* back-ends of a commnode of the last level */
} loads[] = {
    {"2x2x2x2", 20, 10, true, 2},
    {"2x2x2x2", 1000, 1000, true, 2},
    {"8x8", 20, 10, false, 8},
    {"8x8", 500, 1000, false, 8},
};
#define LOADS (sizeof(loads) / sizeof(*loads))

/* Launch load `i`, and wait until back-ends send. `nodes` gets its commnodes,
 * upper levels first. Returns their number. */
static size_t begin_load(struct feeding *feeding,
                         size_t i,
                         pid_t nodes[NODES_MAX])
{
    struct cop_launch launch = COP_LAUNCH_INIT;

    launch.topology_shape = loads[i].shape;
    CHECK_OK(feeding_begin(feeding, launch, loads[i].count, loads[i].rate));
    CU_ASSERT_FATAL(feeding_await(feeding, 2));
    return nodes_all(nodes);
}

/* Check that `killed` commnodes are lost, but no number and no back-end. */
static void end_load(struct feeding *feeding, size_t killed)
{
    CU_ASSERT(feeding_await_events(feeding, killed, 0));
    CU_ASSERT_EQUAL(feeding->lost, killed);
    CU_ASSERT(feeding_end(feeding));
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
}

/* A commnode of the last level. */
TEST(one_is_killed)
{
    struct feeding feeding;
    pid_t nodes[NODES_MAX];

    for (size_t i = 0; i < LOADS; i++) {
        CHECK_OK(kill(nodes[begin_load(&feeding, i, nodes) - 1], SIGKILL));
        CU_ASSERT(feeding_await_moves(&feeding, loads[i].below));
        CU_ASSERT_EQUAL(feeding.moved, loads[i].below);
        CU_ASSERT_EQUAL(feeding.adopted, 0);
        end_load(&feeding, 1);
    }
}

/* A commnode of the first level is killed, with a subtree below it. */
TEST(one_with_a_subtree_is_killed)
{
    struct feeding feeding;
    pid_t nodes[NODES_MAX];

    for (size_t i = 0; i < LOADS; i++) {
        if (!loads[i].deep)
            continue;
        begin_load(&feeding, i, nodes);
        CHECK_OK(kill(nodes[0], SIGKILL));
        CU_ASSERT(feeding_await_events(&feeding, 1, 2));
        end_load(&feeding, 1);
    }
}

TEST(two_siblings_at_once)
{
    struct feeding feeding;
    pid_t nodes[NODES_MAX];
    size_t count;

    for (size_t i = 0; i < LOADS; i++) {
        count = begin_load(&feeding, i, nodes);
        CU_ASSERT_FATAL(count >= 2);
        CHECK_OK(kill(nodes[count - 1], SIGKILL));
        CHECK_OK(kill(nodes[count - 2], SIGKILL));
        end_load(&feeding, 2);
    }
}

TEST(parent_and_child_at_once)
{
    struct feeding feeding;
    pid_t nodes[NODES_MAX], below[NODES_MAX];

    for (size_t i = 0; i < LOADS; i++) {
        if (!loads[i].deep)
            continue;
        begin_load(&feeding, i, nodes);
        CU_ASSERT_FATAL(nodes_below(nodes[0], below) == 2);
        CHECK_OK(kill(below[0], SIGKILL));
        CHECK_OK(kill(nodes[0], SIGKILL));
        end_load(&feeding, 2);
    }
}

/* In the end the front-end is the parent of all back-ends, which still send. */
TEST(every_commnode_after_another)
{
    struct feeding feeding;
    pid_t nodes[NODES_MAX];
    size_t count;

    for (size_t i = 0; i < LOADS; i++) {
        count = begin_load(&feeding, i, nodes);
        for (size_t k = 0; k < count; k++) {
            CHECK_OK(kill(nodes[k], SIGKILL));
            CU_ASSERT_FATAL(feeding_await_events(&feeding, k + 1, 0));
        }
        CU_ASSERT(feeding_is_whole(&feeding));
        CHECK_OK(feeding_feed(&feeding, 20, 1000));
        end_load(&feeding, count);
    }
}

/* The tree in which an adopter dies: front-end 0, commnodes 1 and 2, below
 * them 3 to 6, each with five back-ends, from rank 7 on. */
#define ADOPTER_SHAPE "2x2x5"

enum {
    VICTIM = 3, /* is killed; its children are orphans */
    FROZEN = 2, /* is stopped, and forwards no probe */
    BELOW_FROZEN = 5
};

/* Wait for a line after the `from`-th in which a back-end has asked a child of
 * the stopped node to adopt it. (The stopped node forwards no probe.) The lines of
 * that back-end begin with `who`. Returns the line number, or 0 if there is none. */
static int await_question(const struct journal *journal,
                          int from,
                          unsigned *adopter,
                          char who[64])
{
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    char words[64];
    int line = 0;

    while (line == 0 && tree_now_ms() < deadline_ms) {
        tree_pause();
        *adopter = *adopter == BELOW_FROZEN ? BELOW_FROZEN + 1 : BELOW_FROZEN;
        snprintf(words, sizeof(words), "back-end: LINK-UP rank %u, our parent",
                 *adopter);
        line = journal_find(journal, from, "coppice[", words, who, 64);
    }
    if (line > 0)
        *strchr(who, ':') = '\0';
    return line;
}

/* A node dies while it adopts: as its parent is stopped, its probe cannot have
 * returned, so it cannot have answered the orphan. */
TEST(the_adopter_during_the_adoption)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct feeding feeding;
    struct journal journal;
    unsigned adopter = 0;
    pid_t nodes[NODES_MAX];
    char words[64], who[64];
    int line, lost, adopted;

    launch.topology_shape = ADOPTER_SHAPE;
    launch.times.failure_timeout_ms =
        60000; /* the stopped node is not suspected */
    launch.times.probe_timeout_ms = 60000;
    CHECK_OK(journal_begin(&journal));
    CHECK_OK(feeding_begin(&feeding, launch, 100, 100));
    CU_ASSERT_FATAL(feeding_await(&feeding, 2));
    CU_ASSERT_EQUAL_FATAL(nodes_all(nodes), 6);
    line = journal_lines(&journal);
    tree_stop(nodes[FROZEN - 1]);
    CHECK_OK(kill(nodes[VICTIM - 1], SIGKILL));
    line = await_question(&journal, line, &adopter, who);
    if (line > 0)
        kill(nodes[adopter - 1], SIGKILL);
    CHECK_OK(kill(nodes[FROZEN - 1], SIGCONT));
    CU_ASSERT_FATAL(line > 0);
    CU_ASSERT(feeding_await_events(&feeding, 2, 0));
    CU_ASSERT(feeding.was_lost[VICTIM] && feeding.was_lost[adopter]);
    CU_ASSERT(feeding_end(&feeding));
    /* The orphan lost this link first, and was adopted afterwards. */
    snprintf(words, sizeof(words), "LINK-DOWN rank %u", adopter);
    lost = journal_find(&journal, line, who, words, NULL, 0);
    adopted = journal_find(&journal, line, who, "ADOPTED", NULL, 0);
    CU_ASSERT(lost > 0 && adopted > lost);
    journal_end(&journal, CU_get_number_of_failures() > 0);
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
}

/* A commnode is killed, and the network is shut down at once. */
TEST(a_shutdown_in_the_middle)
{
    struct feeding feeding;
    pid_t nodes[NODES_MAX];

    for (size_t i = 0; i < LOADS; i++) {
        begin_load(&feeding, i, nodes);
        CHECK_OK(kill(nodes[0], SIGKILL));
        cop_network_shutdown(feeding.network, TREE_PATIENCE_MS);
        feeding_fini(&feeding);
        CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
    }
}
