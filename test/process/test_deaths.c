/* test_deaths.c - an adopter is killed during an adoption. All other deaths of
 * commnodes are those of the storm (test/storm). */
#include "test/frontend/tree.h"
#include "test/process/feeding.h"
#include "test/process/journal.h"

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
