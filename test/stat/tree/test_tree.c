/* test_tree.c - the laws of merging, and trees as packets. */
#include <errno.h>

#include "stat/tree/tree.h"
#include "test/check.h"
#include "test/stat/random.h"

#define ROUNDS 300

static struct tree *join(const struct tree *a, const struct tree *b)
{
    struct tree *tree;

    CHECK_OK(tree_join(&tree, a, b));
    return tree;
}

static struct tree *minus(const struct tree *newer, const struct tree *older)
{
    struct tree *tree;

    CHECK_OK(tree_difference(&tree, newer, older));
    return tree;
}

/* a + b = b + a; (a + b) + c = a + (b + c); a + a = a. */
TEST(joining_obeys_its_laws)
{
    uint64_t seed = 1;

    for (int round = 0; round < ROUNDS; round++) {
        struct tree *a = random_tree(&seed, 20, 40);
        struct tree *b = random_tree(&seed, 20, 40);
        struct tree *c = random_tree(&seed, 20, 40);
        struct tree *ab = join(a, b);
        struct tree *ba = join(b, a);
        struct tree *bc = join(b, c);
        struct tree *left = join(ab, c);
        struct tree *right = join(a, bc);
        struct tree *aa = join(a, a);

        CU_ASSERT(tree_equal(ab, ba));
        CU_ASSERT(tree_equal(left, right));
        CU_ASSERT(tree_equal(aa, a));
        tree_free(a);
        tree_free(b);
        tree_free(c);
        tree_free(ab);
        tree_free(ba);
        tree_free(bc);
        tree_free(left);
        tree_free(right);
        tree_free(aa);
    }
}

/* The older tree joined with the difference is the newer tree. The difference
 * between a tree and itself is empty. */
TEST(differences_join_to_the_newer)
{
    uint64_t seed = 2;

    for (int round = 0; round < ROUNDS; round++) {
        struct tree *older = random_tree(&seed, 20, 40);
        struct tree *more = random_tree(&seed, 20, 40);
        struct tree *newer = join(older, more);
        struct tree *rest = minus(newer, older);
        struct tree *again = join(older, rest);
        struct tree *none = minus(newer, newer);
        struct tree *part = minus(more, older);
        struct tree *same = join(older, part);

        CU_ASSERT(tree_equal(again, newer));
        CU_ASSERT(tree_equal(same, newer));
        CU_ASSERT(tree_is_empty(none));
        CU_ASSERT_EQUAL(none->string_count, 0);
        tree_free(older);
        tree_free(more);
        tree_free(newer);
        tree_free(rest);
        tree_free(again);
        tree_free(none);
        tree_free(part);
        tree_free(same);
    }
}

/* Joining many trees at once gives the same as joining them one by one. */
TEST(joining_all_is_joining_each)
{
    uint64_t seed = 3;
    struct tree *trees[13];
    struct tree *all;
    struct tree *each;
    struct tree *next;

    each = random_tree(&seed, 0, 1);
    each->stop_ns = 0;
    for (size_t i = 0; i < 13; i++) {
        trees[i] = random_tree(&seed, 20, 40);
        next = join(each, trees[i]);
        tree_free(each);
        each = next;
    }
    CHECK_OK(tree_join_all(&all, trees, 13));
    CU_ASSERT(tree_equal(all, each));
    CHECK_IS(tree_join_all(&next, trees, 0), -EINVAL);
    for (size_t i = 0; i < 13; i++)
        tree_free(trees[i]);
    tree_free(all);
    tree_free(each);
}

/* One sample of task 5: `threads` threads at `frames[1]` or at `frames[2]`. */
static struct tree *sample(struct traces *traces,
                           const struct frame *frames,
                           int threads,
                           int where)
{
    struct frame stack[] = {frames[0], frames[where]};
    struct tree *tree;

    while (threads-- > 0)
        CHECK_OK(traces_add(traces, 5, stack, 2));
    CHECK_OK(traces_sample(&tree, traces, 0));
    return tree;
}

/* A sample has the stacks of tasks that moved, and a count for the others. If
 * both trees have a task, the tree in which it moved later counts. */
TEST(who_moved_later_has_the_say)
{
    struct frame frames[] = {{"main", "m.c", 1, "", 0, false},
                             {"wait", "", 0, "", 0, false},
                             {"send", "", 0, "", 0, false}};
    struct traces *traces;
    struct tree *first, *still, *moved, *all, *settled;
    struct tasks *tasks;

    CHECK_OK(traces_new(&traces));
    first = sample(traces, frames, 1, 1);
    CU_ASSERT_EQUAL(first->end_count, 1);
    still = sample(traces, frames, 1, 1);
    CU_ASSERT_EQUAL(still->node_count, 0);
    CU_ASSERT_EQUAL(still->progress_count, 1);
    all = join(still, first);
    CHECK_OK(tree_settle(&settled, all));
    CU_ASSERT_EQUAL_FATAL(settled->end_count, 1);
    CU_ASSERT_EQUAL(settled->ends[0].samples, 2);
    CHECK_OK(tree_tasks(&tasks, all));
    CHECK_IS(tree_unmoved(all, tasks), 2);
    tree_free(settled);
    moved = sample(traces, frames, 2, 2);
    tree_free(all);
    all = join(first, moved);
    CU_ASSERT(tree_equal(all, moved)); /* `first` is out of date */
    tree_free(all);
    all = join(still, moved);
    CHECK_OK(tree_settle(&settled, all));
    CU_ASSERT_EQUAL_FATAL(settled->end_count, 2);
    /* in the order of their functions: send, wait */
    CU_ASSERT_EQUAL(settled->ends[0].samples, 1);
    CU_ASSERT_EQUAL(settled->ends[0].threads, 2);
    CU_ASSERT_EQUAL(settled->ends[1].samples, 2);
    CHECK_IS(tree_unmoved(all, tasks), 1);
    tasks_free(tasks);
    tree_free(settled);
    tree_free(all);
    tree_free(first);
    tree_free(still);
    tree_free(moved);
    traces_free(traces);
}

/* Packing and unpacking returns the same tree. */
TEST(packing_round_trips)
{
    uint64_t seed = 4;

    for (int round = 0; round < ROUNDS; round++) {
        struct tree *tree = random_tree(&seed, 30, 500);
        struct cop_packet *packet;
        struct tree *again;

        CHECK_OK(tree_pack(&packet, 123, tree));
        CU_ASSERT_EQUAL(cop_packet_tag(packet), 123);
        CHECK_OK(tree_unpack(&again, packet));
        CU_ASSERT(tree_equal(tree, again));
        cop_packet_free(packet);
        tree_free(tree);
        tree_free(again);
    }
}

/* Any value of a packet may be false: unpacking fails, or gives a valid tree in
 * its one form, which does not change when it is joined with itself. */
TEST(hostile_packets_are_refused)
{
    uint64_t seed = 5;
    unsigned refused = 0;

    for (int round = 0; round < 5000; round++) {
        struct tree *tree = random_tree(&seed, 12, 60);
        struct cop_packet *packet;
        struct cop_packet *bad;
        struct tree *taken;
        const unsigned char *good;
        unsigned char bytes[8192];
        uint32_t len;
        uint32_t at;

        CHECK_OK(tree_pack(&packet, 1, tree));
        CHECK_OK(cop_packet_unpack(packet, "%auc", &good, &len));
        CU_ASSERT_FATAL(len > 0 && len <= sizeof(bytes));
        memcpy(bytes, good, len);
        at = random_below(&seed, len);
        if (random_below(&seed, 2))
            bytes[at] ^= (unsigned char)(1 << random_below(&seed, 8));
        else
            bytes[at] = (unsigned char)random_below(&seed, 256);
        if (random_below(&seed, 4) == 0)
            len -= random_below(&seed, len);
        CHECK_OK(cop_packet_new(&bad, 1, "%auc", bytes, len));
        if (tree_unpack(&taken, bad) == 0) {
            struct tree *same = join(taken, taken);

            CU_ASSERT(tree_equal(taken, same));
            tree_free(same);
            tree_free(taken);
        } else {
            refused++;
        }
        cop_packet_free(bad);
        cop_packet_free(packet);
        tree_free(tree);
    }
    CU_ASSERT(refused > 2000);
}

/* Append `number`, 7 bits a byte. */
static void put(unsigned char *bytes, uint32_t *len, uint32_t number)
{
    for (; number >= 0x80; number >>= 7)
        bytes[(*len)++] = (unsigned char)(number | 0x80);
    bytes[(*len)++] = (unsigned char)number;
}

/* A packet with the set of all tasks, and `count` sets of every second task;
 * each of these sets is a few bytes in the packet, and 2 MB in memory. */
static struct cop_packet *strided_sets(uint32_t count)
{
    unsigned char bytes[1024] = {0};
    struct cop_packet *packet;
    uint32_t len = 4, i; /* no stop, strings, frames, nodes */

    put(bytes, &len, count + 1);
    put(bytes, &len, 5);
    put(bytes, &len, (TASKS_MAX - 1) << 1);
    put(bytes, &len, 0);
    for (i = 1; i <= count; i++) {
        put(bytes, &len, 6);
        put(bytes, &len, ((TASKS_MAX - 1 - i) / 2) << 1 | 1);
        put(bytes, &len, i);
        put(bytes, &len, 2);
    }
    put(bytes, &len, 0); /* no thread ids, no ends */
    put(bytes, &len, 0);
    put(bytes, &len, 1);
    put(bytes, &len, 1); /* all have moved */
    put(bytes, &len, 0);
    put(bytes, &len, 0);
    put(bytes, &len, 0); /* no stops */
    CHECK_OK(cop_packet_new(&packet, 1, "%auc", bytes, len));
    return packet;
}

/* Six bytes can be a set of 2 MB: the sets of a packet have a common limit. */
TEST(sets_together_have_a_limit)
{
    struct cop_packet *packet = strided_sets(20);
    struct tree *tree;

    CHECK_OK(tree_unpack(&tree, packet));
    tree_free(tree);
    cop_packet_free(packet);
    packet = strided_sets(80);
    CHECK_IS(tree_unpack(&tree, packet), -EBADMSG);
    cop_packet_free(packet);
}

/* Joining and then renumbering is renumbering and then joining; and a number
 * without a task is refused. */
TEST(renumbering_is_joined)
{
    uint32_t numbers[64];
    uint64_t seed = 8;

    for (uint32_t i = 0; i < 64; i++)
        numbers[i] = i * 37 % 64;
    for (int round = 0; round < ROUNDS; round++) {
        struct tree *a = random_tree(&seed, 20, 40);
        struct tree *b = random_tree(&seed, 20, 40);
        struct tree *both = join(a, b), *again;

        CHECK_OK(tree_renumber(both, numbers, 64));
        CHECK_OK(tree_renumber(a, numbers, 64));
        CHECK_OK(tree_renumber(b, numbers, 64));
        again = join(a, b);
        CU_ASSERT(tree_equal(again, both));
        if (both->end_count > 0)
            CHECK_IS(tree_renumber(both, numbers, 0), -EBADMSG);
        tree_free(a);
        tree_free(b);
        tree_free(both);
        tree_free(again);
    }
}

/* Unpack a packet of task 0 at frame "a" with the flag `not_walked` and line
 * `line`; if `below`, frame "b" is under "a". The task has one thread there,
 * with `tids` thread ids: 0 and so on. */
static int unpack_one(uint32_t not_walked,
                      uint32_t line,
                      bool below,
                      uint32_t tids)
{
    unsigned char bytes[64] = {0}; /* no stop */
    struct cop_packet *packet;
    struct tree *tree = NULL;
    uint32_t len = 1, i;
    int r;

    put(bytes, &len, below ? 3 : 2);
    memcpy(bytes + len, "\0a\0b", 5);
    len += below ? 5 : 3;
    put(bytes, &len, below ? 2 : 1);
    for (i = 0; i <= below; i++) {
        put(bytes, &len, 1 + i);
        put(bytes, &len, 0);
        put(bytes, &len, i == 0 ? line : 0);
        put(bytes, &len, 0);
        put(bytes, &len, 0);
        put(bytes, &len, i == 0 ? not_walked : 0);
    }
    put(bytes, &len, below ? 2 : 1);
    for (i = 0; i <= below; i++) {
        put(bytes, &len, i);
        put(bytes, &len, 0);
    }
    put(bytes, &len, 1); /* a set of 2 bytes: task 0 */
    put(bytes, &len, 2);
    put(bytes, &len, 0);
    put(bytes, &len, 0);
    put(bytes, &len, tids > 0); /* the same for threads */
    if (tids > 0) {
        put(bytes, &len, 2);
        put(bytes, &len, (tids - 1) << 1);
        put(bytes, &len, 0);
    }
    put(bytes, &len, 1);
    put(bytes, &len, below);
    put(bytes, &len, 1);
    put(bytes, &len, 5); /* one thread, still there ... */
    put(bytes, &len, 1); /* ... for one sample */
    put(bytes, &len, 0);
    put(bytes, &len, tids > 0);
    put(bytes, &len, 1); /* it moved in sample 1 */
    put(bytes, &len, 1);
    put(bytes, &len, 0);
    put(bytes, &len, 0);
    put(bytes, &len, 0); /* no stops */
    CHECK_OK(cop_packet_new(&packet, 1, "%auc", bytes, len));
    r = tree_unpack(&tree, packet);
    cop_packet_free(packet);
    if (r == 0)
        CU_ASSERT_EQUAL(tree_is_not_walked(tree, 0), not_walked == 1);
    if (r == 0 && tids > 0)
        CU_ASSERT_EQUAL(tasks_count(tree->ends[0].tids), tids);
    tree_free(tree);
    return r;
}

/* A task that could not be walked has a reason, but no line and no stack. */
TEST(not_walked_is_checked)
{
    CHECK_OK(unpack_one(0, 7, true, 0));
    CHECK_OK(unpack_one(0, 7, false, 0));
    CHECK_OK(unpack_one(1, 0, false, 0));
    CHECK_IS(unpack_one(2, 0, false, 0), -EBADMSG);
    CHECK_IS(unpack_one(1, 7, false, 0), -EBADMSG);
    CHECK_IS(unpack_one(1, 0, true, 0), -EBADMSG);
}

/* An end has as many thread ids as threads. */
TEST(thread_ids_are_checked)
{
    CHECK_OK(unpack_one(0, 7, true, 1));
    CHECK_IS(unpack_one(0, 7, true, 2), -EBADMSG);
}

/* A packet with another format is refused. */
TEST(other_formats_are_refused)
{
    struct cop_packet *packet;
    struct tree *tree;

    CHECK_OK(cop_packet_new(&packet, 1, "%d %s", 1, "main"));
    CHECK_IS(tree_unpack(&tree, packet), -EINVAL);
    cop_packet_free(packet);
}

/* tree_under() gives each node the tasks of all ends at and below it. */
TEST(under_a_node_is_its_subtree)
{
    uint64_t seed = 6;

    for (int round = 0; round < ROUNDS; round++) {
        struct tree *tree = random_tree(&seed, 20, 40);
        struct tasks **sets = calloc(tree->node_count + 1, sizeof(*sets));

        CU_ASSERT_FATAL(sets != NULL);
        CHECK_OK(tree_under(tree, sets));
        for (uint32_t i = 0; i < tree->node_count; i++) {
            struct tasks *sum;
            struct tasks *next;

            CHECK_OK(tasks_new(&sum, NULL, 0));
            for (uint32_t k = 0; k < tree->end_count; k++) {
                if (tree->ends[k].node < i ||
                    tree->ends[k].node >= i + tree->nodes[i].size)
                    continue;
                CHECK_OK(tasks_combine(&next, TASKS_UNION, sum,
                                       tree->ends[k].tasks));
                tasks_free(sum);
                sum = next;
            }
            CU_ASSERT(tasks_equal(sum, sets[i]));
            tasks_free(sum);
        }
        for (uint32_t i = 0; i < tree->node_count; i++)
            tasks_free(sets[i]);
        free(sets);
        tree_free(tree);
    }
}

/* A follower keeps where each task is now, and since when: neither the samples
 * nor the joined tree grow. */
TEST(followers_keep_the_present)
{
    struct frame mover[] = {{"main", "m.c", 1, "", 0, false},
                            {"", "m.c", 2, "", 0, false}};
    struct frame stayer[] = {{"main", "m.c", 1, "", 0, false},
                             {"stay", "m.c", 3, "", 0, false}};
    struct tree none = {0};
    struct traces *traces;
    struct tree *tree, *more, *both;
    char name[16];

    CHECK_OK(traces_new(&traces));
    traces_forget(traces);
    CHECK_OK(tree_join(&tree, &none, &none));
    for (uint32_t sample = 1; sample <= 300; sample++) {
        snprintf(name, sizeof(name), "f%u", sample / 3);
        mover[1].function = name;
        CHECK_OK(traces_add(traces, 0, mover, 2));
        CHECK_OK(traces_add(traces, 1, stayer, 2));
        CHECK_OK(traces_sample(&more, traces, 0));
        CU_ASSERT(more->node_count <= 3 && more->end_count <= 2);
        CHECK_OK(tree_join(&both, tree, more));
        CU_ASSERT_EQUAL(both->node_count, 3);
        CU_ASSERT_EQUAL(both->end_count, 2);
        tree_free(tree);
        tree_free(more);
        tree = both;
    }
    /* The mover arrived at f100 in sample 300. */
    CU_ASSERT_EQUAL_FATAL(tree->progress_count, 2);
    CU_ASSERT_EQUAL(tree->progress[0].moved, 1);
    CU_ASSERT_EQUAL(tree->progress[1].moved, 300);
    CHECK_OK(tree_settle(&both, tree));
    CU_ASSERT_EQUAL(both->ends[0].samples, 1);
    CU_ASSERT_EQUAL(both->ends[1].samples, 300);
    tree_free(both);
    tree_free(tree);
    traces_free(traces);
}
