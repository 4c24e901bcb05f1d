/* test_naming.c - questions for names, and their answers: late answers, second
 * answers, answers about other addresses, and silent daemons. */
#include <errno.h>

#include "stat/gather/naming.h"
#include "test/stat/trees.h"

#define MODULE "b1d0 /usr/bin/solver"

#define ADDRESS(offset)                                                        \
    {                                                                          \
        "", "", 0, MODULE, (offset), false                                     \
    }

/* The tree of task 0, whose stack has two addresses of one module. */
static struct tree *addresses(uint64_t outer, uint64_t inner)
{
    struct frame stack[] = {ADDRESS(outer), ADDRESS(inner)};
    struct traces *traces;

    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, stack, 2));
    return tree_of(traces);
}

static struct naming *naming_of(const struct tree *tree)
{
    struct naming *naming;

    CHECK_OK(naming_new(&naming, tree, NULL));
    return naming;
}

static uint32_t daemon_of(uint32_t task, void *arg)
{
    (void)arg;
    return task + 7;
}

/* Let `naming` ask, and check that its question is about `count` addresses, the
 * first at `offset`. Returns the number of the question. */
static uint32_t ask(const struct naming *naming,
                    uint32_t count,
                    uint64_t offset)
{
    struct question question;
    struct cop_packet *packet;

    CHECK_OK(naming_ask(&packet, naming, daemon_of, NULL));
    CHECK_OK(question_unpack(&question, packet));
    CU_ASSERT_EQUAL(question.module_count, 1);
    CU_ASSERT_EQUAL(question.daemons[0], 7);
    CU_ASSERT_STRING_EQUAL(question.names[0], MODULE);
    CU_ASSERT_EQUAL(question.address_count, count);
    CU_ASSERT_EQUAL(question.offsets[0], offset);
    cop_packet_free(packet);
    return question.number;
}

/* Take the answer to question `number`: `functions`, ended by NULL, outermost
 * first, are at address `address`. Returns as naming_take(). */
static int answer(struct naming *naming,
                  uint32_t number,
                  uint32_t address,
                  const char **functions)
{
    static const char *files[] = {"a.c", "a.c"};
    static const uint32_t lines[] = {1, 2};
    static const uint32_t roles[] = {ROLE_PROGRAM, ROLE_MPI};
    static const char *reasons[] = {"no names of a", "no lines of b"};
    struct answer said = {.number = number,
                          .count = 1,
                          .addresses = &address,
                          .functions = functions,
                          .files = files,
                          .lines = lines,
                          .roles = roles,
                          .reasons = reasons,
                          .reason_count = 2};
    struct cop_packet *packet;
    int r;

    while (functions[said.frame_count])
        said.frame_count++;
    said.counts = &said.frame_count;
    CHECK_OK(answer_pack(&packet, &said));
    r = naming_take(naming, packet);
    cop_packet_free(packet);
    return r;
}

/* Check that the tree that `naming` makes has the functions `expected`, ended
 * by NULL, each under the one before. */
static void check_names(const struct naming *naming,
                        const char *const *expected)
{
    struct tree *tree;
    uint32_t i;

    CHECK_OK(naming_resolve(&tree, naming, NAMING_FUNCTIONS, false));
    for (i = 0; i < tree->node_count && expected[i]; i++)
        CU_ASSERT_STRING_EQUAL(
            tree->strings[tree->frames[tree->nodes[i].frame].function],
            expected[i]);
    CU_ASSERT(i == tree->node_count && !expected[i]);
    tree_free(tree);
}

/* An answered address has names, also of inlined functions. The first answer
 * counts. The other addresses are "module+0xoffset". */
TEST(an_answer_gives_names)
{
    const char *two[] = {"solve", "inlined", NULL}, *other[] = {"other", NULL};
    const char *const expected[] = {"solve", "inlined", "solver+0x20", NULL};
    struct tree *tree = addresses(0x10, 0x20);
    struct naming *naming = naming_of(tree);
    uint32_t number = ask(naming, 2, 0x10);

    CU_ASSERT_EQUAL(naming_missing(naming), 2);
    CHECK_IS(answer(naming, number, 2, other), -EBADMSG);
    CHECK_OK(answer(naming, number, 0, two));
    CHECK_OK(answer(naming, number, 0, other));
    CU_ASSERT_EQUAL(naming_missing(naming), 1);
    check_names(naming, expected);
    naming_free(naming);
    tree_free(tree);
}

/* Address 0 of one question is not address 0 of the next: late answers are
 * ignored. */
TEST(a_late_answer_is_not_taken)
{
    const char *old[] = {"old", NULL}, *now[] = {"now", NULL};
    const char *const expected[] = {"now", "solver+0x40", NULL};
    struct tree *trees[] = {addresses(0x10, 0x20), addresses(0x30, 0x40)};
    struct naming *before = naming_of(trees[0]);
    struct naming *naming = naming_of(trees[1]);
    uint32_t first = ask(before, 2, 0x10), second;

    CHECK_OK(naming_inherit(naming, before));
    second = ask(naming, 2, 0x30);
    CHECK_IS(answer(naming, first, 0, old), 0);
    CHECK_IS(answer(naming, first, 9, old), 0); /* not checked either */
    CU_ASSERT_EQUAL(naming_missing(naming), 2);
    CHECK_OK(answer(naming, second, 0, now));
    CU_ASSERT_EQUAL(naming_missing(naming), 1);
    check_names(naming, expected);
    naming_free(before);
    naming_free(naming);
    tree_free(trees[0]);
    tree_free(trees[1]);
}

/* Reasons are kept once, in the order in which they came, also for the next
 * tree. */
TEST(reasons_are_kept_once)
{
    const char *now[] = {"now", NULL};
    struct tree *tree = addresses(0x10, 0x20);
    struct naming *before = naming_of(tree), *naming = naming_of(tree);
    uint32_t number = ask(before, 2, 0x10);

    CU_ASSERT_PTR_NULL(naming_reason(before, 0));
    CHECK_OK(answer(before, number, 0, now));
    CHECK_OK(answer(before, number, 1, now));
    CHECK_OK(naming_inherit(naming, before));
    CU_ASSERT_STRING_EQUAL(naming_reason(naming, 0), "no names of a");
    CU_ASSERT_STRING_EQUAL(naming_reason(naming, 1), "no lines of b");
    CU_ASSERT_PTR_NULL(naming_reason(naming, 2));
    naming_free(before);
    naming_free(naming);
    tree_free(tree);
}

/* The next tree inherits the names of an earlier tree, also after the earlier
 * tree is freed, and does not ask for them again. */
TEST(what_is_known_stays)
{
    const char *two[] = {"solve", "inlined", NULL}, *other[] = {"other", NULL};
    const char *const expected[] = {"other", "solve", "inlined", NULL};
    struct tree *trees[] = {addresses(0x10, 0x20), addresses(0x08, 0x20)};
    struct naming *before = naming_of(trees[0]);
    struct naming *naming = naming_of(trees[1]);

    CHECK_OK(answer(before, ask(before, 2, 0x10), 1, two));
    CHECK_OK(naming_inherit(naming, before));
    naming_free(before);
    tree_free(trees[0]);
    CU_ASSERT_EQUAL(naming_missing(naming), 1);
    CHECK_OK(answer(naming, ask(naming, 2, 0x08), 0, other));
    CU_ASSERT_EQUAL(naming_missing(naming), 0);
    check_names(naming, expected);
    naming_free(naming);
    tree_free(trees[1]);
}

/* Inherited names stay if all daemons are silent: then there is no question. */
TEST(what_is_known_stays_without_anybody)
{
    const char *two[] = {"solve", "inlined", NULL};
    const char *const expected[] = {"solver+0x8", "solve", "inlined", NULL};
    const struct tasks_range first = {0, 0};
    struct tree *trees[] = {addresses(0x10, 0x20), addresses(0x08, 0x20)};
    struct naming *before = naming_of(trees[0]);
    struct naming *naming, *last;
    struct tasks *silent;

    CHECK_OK(tasks_new(&silent, &first, 1));
    CHECK_OK(answer(before, ask(before, 2, 0x10), 1, two));
    CHECK_OK(naming_new(&naming, trees[1], silent));
    CU_ASSERT_EQUAL(naming_missing(naming), 0);
    CHECK_OK(naming_inherit(naming, before));
    CU_ASSERT_EQUAL(naming_missing(naming), 0);
    check_names(naming, expected);
    CHECK_OK(naming_new(&last, trees[1], silent));
    CHECK_OK(naming_inherit(last, naming));
    check_names(last, expected);
    tasks_free(silent);
    naming_free(before);
    naming_free(naming);
    naming_free(last);
    tree_free(trees[0]);
    tree_free(trees[1]);
}
