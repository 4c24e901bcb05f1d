/* test_tasks.c - sets of tasks, against an array of booleans. */
#include <errno.h>
#include <stdbool.h>

#include "stat/tree/tasks.h"
#include "test/check.h"
#include "test/stat/random.h"

/* Sets have up to 24 words and 30 ranges: both forms are met. */
#define MODEL 1500

/* A set, and its model. */
struct pair {
    struct tasks *tasks;
    bool in[MODEL];
};

static struct tasks *make(const struct tasks_range *ranges, size_t count)
{
    struct tasks *tasks;

    CHECK_OK(tasks_new(&tasks, ranges, count));
    return tasks;
}

/* A random set: sparse, strided or dense. */
static struct pair random_pair(uint64_t *seed)
{
    struct tasks_range ranges[MODEL];
    struct pair pair = {NULL, {false}};
    uint32_t kind = random_below(seed, 4);
    size_t count = random_below(seed, 30);

    for (size_t i = 0; i < count; i++) {
        uint32_t first = random_below(seed, MODEL);
        uint32_t len = kind == 0 ? 0 : random_below(seed, 9);

        if (kind == 2) {
            first = (uint32_t)(i * 7 % MODEL);
            len = 0;
        }
        ranges[i].first = first;
        ranges[i].last = first + len < MODEL ? first + len : MODEL - 1;
        for (uint32_t t = ranges[i].first; t <= ranges[i].last; t++)
            pair.in[t] = true;
    }
    pair.tasks = make(ranges, count);
    return pair;
}

static void check_members(const struct tasks *tasks, const bool *in)
{
    struct tasks_cursor at = tasks_begin(tasks);
    bool have[MODEL] = {false};
    uint32_t count = 0;

    while (tasks_next(&at))
        for (uint32_t t = at.range.first; t <= at.range.last; t++)
            have[t] = true;
    for (uint32_t t = 0; t < MODEL; t++)
        count += in[t];
    CU_ASSERT(memcmp(have, in, sizeof(have)) == 0);
    CU_ASSERT_EQUAL(tasks_count(tasks), count);
}

/* Union, difference and intersection agree with the model. */
TEST(operations_are_those_of_sets)
{
    static const enum tasks_op ops[] = {TASKS_UNION, TASKS_MINUS, TASKS_BOTH};
    uint64_t seed = 20090401;

    for (int round = 0; round < 500; round++) {
        struct pair a = random_pair(&seed);
        struct pair b = random_pair(&seed);

        check_members(a.tasks, a.in);
        for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
            bool in[MODEL];
            struct tasks *result;

            for (int t = 0; t < MODEL; t++)
                in[t] = ops[i] == TASKS_UNION   ? a.in[t] || b.in[t]
                        : ops[i] == TASKS_MINUS ? a.in[t] && !b.in[t]
                                                : a.in[t] && b.in[t];
            CHECK_OK(tasks_combine(&result, ops[i], a.tasks, b.tasks));
            check_members(result, in);
            tasks_free(result);
        }
        CU_ASSERT_EQUAL(tasks_equal(a.tasks, b.tasks),
                        memcmp(a.in, b.in, sizeof(a.in)) == 0);
        tasks_free(a.tasks);
        tasks_free(b.tasks);
    }
}

/* Whether sets meet, or one is within the other, agrees with the model. */
TEST(relations_are_those_of_sets)
{
    uint64_t seed = 3;

    for (int round = 0; round < 500; round++) {
        struct pair a = random_pair(&seed), b = random_pair(&seed);
        struct tasks *part;
        bool meet = false;

        for (int t = 0; t < MODEL; t++)
            meet |= a.in[t] && b.in[t];
        CU_ASSERT_EQUAL(tasks_meet(a.tasks, b.tasks), meet);
        CU_ASSERT_EQUAL(tasks_meet(b.tasks, a.tasks), meet);
        CHECK_OK(tasks_combine(&part, TASKS_BOTH, a.tasks, b.tasks));
        CU_ASSERT(tasks_within(part, a.tasks) && tasks_within(part, b.tasks));
        CU_ASSERT_EQUAL(tasks_within(a.tasks, b.tasks),
                        tasks_equal(part, a.tasks));
        CU_ASSERT_EQUAL(tasks_is_empty(part), !meet);
        for (int more = 0; meet && more < 20; more++) {
            uint32_t t =
                more > 0 ? random_below(&seed, MODEL) : tasks_last(part) + 1;
            struct tasks *one = make(&(struct tasks_range){t, t}, 1);

            CHECK_OK(tasks_change(&one, TASKS_UNION, part));
            CU_ASSERT_EQUAL(tasks_within(one, a.tasks), t < MODEL && a.in[t]);
            tasks_free(one);
        }
        for (uint32_t t = 0; t < MODEL; t++)
            CU_ASSERT_EQUAL(tasks_has(a.tasks, t), a.in[t]);
        tasks_free(part);
        tasks_free(a.tasks);
        tasks_free(b.tasks);
    }
}

/* The first range that differs decides the order; else who has more of them. */
static int order_of(const struct pair *a, const struct pair *b)
{
    struct tasks_cursor x = tasks_begin(a->tasks), y = tasks_begin(b->tasks);

    for (;;) {
        bool more_x = tasks_next(&x), more_y = tasks_next(&y);

        if (!more_x || !more_y)
            return more_x - more_y;
        if (x.range.first != y.range.first)
            return x.range.first < y.range.first ? -1 : 1;
        if (x.range.last != y.range.last)
            return x.range.last < y.range.last ? -1 : 1;
    }
}

/* Sets that differ in one task only are in the order of their ranges. */
TEST(the_first_difference_decides)
{
    uint64_t seed = 6;

    for (int round = 0; round < 2000; round++) {
        struct pair a = random_pair(&seed), b = {tasks_ref(a.tasks), {false}};
        uint32_t t = random_below(&seed, MODEL);
        struct tasks *one = make(&(struct tasks_range){t, t}, 1);

        CHECK_OK(
            tasks_change(&b.tasks, a.in[t] ? TASKS_MINUS : TASKS_UNION, one));
        CU_ASSERT_EQUAL(tasks_compare(a.tasks, b.tasks), order_of(&a, &b));
        CU_ASSERT_EQUAL(tasks_compare(b.tasks, a.tasks), order_of(&b, &a));
        tasks_free(one);
        tasks_free(a.tasks);
        tasks_free(b.tasks);
    }
}

/* A set with other numbers and back is the same set. */
TEST(renumbering_is_undone)
{
    uint32_t there[MODEL], back[MODEL];
    uint64_t seed = 4;

    for (uint32_t t = 0; t < MODEL; t++) {
        there[t] = t * 7 % MODEL;
        back[there[t]] = t;
    }
    for (int round = 0; round < 100; round++) {
        struct pair a = random_pair(&seed);
        struct tasks *other, *again;

        CHECK_OK(tasks_renumber(&other, a.tasks, there));
        for (uint32_t t = 0; t < MODEL; t++)
            CU_ASSERT_EQUAL(tasks_has(other, there[t]), a.in[t]);
        CHECK_OK(tasks_renumber(&again, other, back));
        CU_ASSERT(tasks_equal(again, a.tasks));
        tasks_free(again);
        tasks_free(other);
        tasks_free(a.tasks);
    }
}

/* An operation in the memory of a set does not change who else has it. */
TEST(a_shared_set_stays)
{
    uint64_t seed = 5;

    for (int round = 0; round < 200; round++) {
        struct pair a = random_pair(&seed), b = random_pair(&seed);
        enum tasks_op op = round % 2 ? TASKS_UNION : TASKS_MINUS;
        struct tasks *shared = tasks_ref(a.tasks), *expected;

        CHECK_OK(tasks_combine(&expected, op, a.tasks, b.tasks));
        CHECK_OK(tasks_change(&shared, op, b.tasks));
        check_members(a.tasks, a.in);
        CHECK_OK(tasks_change(&a.tasks, op, b.tasks));
        CU_ASSERT(tasks_equal(a.tasks, expected));
        CU_ASSERT_EQUAL(tasks_count(a.tasks), tasks_count(expected));
        CU_ASSERT(tasks_equal(shared, expected));
        tasks_free(shared);
        tasks_free(expected);
        tasks_free(a.tasks);
        tasks_free(b.tasks);
    }
}

static struct tasks *packed_again(const struct tasks *tasks)
{
    size_t len = tasks_packed_len(tasks);
    unsigned char *bytes = malloc(len + 1);
    struct tasks *again;

    CU_ASSERT_FATAL(bytes != NULL);
    tasks_pack(tasks, bytes);
    CHECK_OK(tasks_unpack(&again, bytes, len));
    free(bytes);
    return again;
}

/* Packing and unpacking returns the same set; equal sets have equal bytes. */
TEST(packing_round_trips)
{
    uint64_t seed = 7;

    for (int round = 0; round < 500; round++) {
        struct pair a = random_pair(&seed);
        struct tasks *again = packed_again(a.tasks);

        CU_ASSERT(tasks_equal(a.tasks, again));
        CU_ASSERT_EQUAL(tasks_compare(a.tasks, again), 0);
        tasks_free(again);
        tasks_free(a.tasks);
    }
}

/* The sizes that the design promises, for a million tasks. */
TEST(regular_sets_are_small)
{
    enum {
        MILLION = 1048576
    };
    struct tasks_range all = {0, MILLION - 1};
    struct tasks_range hole[] = {{0, 499}, {501, MILLION - 1}};
    static struct tasks_range every[MILLION / 16];
    struct tasks *tasks;

    tasks = make(&all, 1);
    CU_ASSERT(tasks_packed_len(tasks) <= 5);
    tasks_free(tasks);
    tasks = make(hole, 2);
    CU_ASSERT(tasks_packed_len(tasks) <= 10);
    tasks_free(tasks);
    for (uint32_t i = 0; i < MILLION / 16; i++)
        every[i] = (struct tasks_range){16 * i, 16 * i};
    tasks = make(every, MILLION / 16);
    CU_ASSERT(tasks_packed_len(tasks) <= 5);
    tasks_free(tasks);
}

/* Irregular sets cost a bitmap, not more. */
TEST(irregular_sets_cost_a_bitmap)
{
    static struct tasks_range ranges[8192];
    struct tasks *tasks;
    struct tasks *again;
    unsigned char *bytes;
    uint64_t seed = 99;
    size_t count = 0;
    size_t len;

    for (uint32_t i = 0; i < 8192; i++) {
        if (random_below(&seed, 2))
            ranges[count++] = (struct tasks_range){i, i};
    }
    tasks = make(ranges, count);
    len = tasks_packed_len(tasks);
    CU_ASSERT(len <= 8192 / 8 + 3);
    bytes = malloc(len);
    CU_ASSERT_FATAL(bytes != NULL);
    tasks_pack(tasks, bytes);
    CHECK_OK(tasks_unpack(&again, bytes, len));
    CU_ASSERT(tasks_equal(tasks, again));
    free(bytes);
    tasks_free(tasks);
    tasks_free(again);
}

/* Damaged bytes are refused, unless they say another set. */
TEST(hostile_bytes_are_refused)
{
    static const unsigned char reaches_too_far[] = {0xfe, 0xff, 0xff,
                                                    0xff, 0x0f, 0x00};
    static const unsigned char long_number[] = {0x80, 0x00, 0x00};
    static const unsigned char stride_of_one[] = {0x07, 0x00, 0x01};
    static const unsigned char empty_bitmap[] = {0x01, 0x00, 0x00};
    static const unsigned char cut[] = {0x02};
    struct tasks *tasks;
    uint64_t seed = 3;

    CHECK_IS(tasks_unpack(&tasks, reaches_too_far, 6), -EBADMSG);
    CHECK_IS(tasks_unpack(&tasks, long_number, 3), -EBADMSG);
    CHECK_IS(tasks_unpack(&tasks, stride_of_one, 3), -EBADMSG);
    CHECK_IS(tasks_unpack(&tasks, empty_bitmap, 3), -EBADMSG);
    CHECK_IS(tasks_unpack(&tasks, cut, 1), -EBADMSG);
    for (int round = 0; round < 20000; round++) {
        unsigned char bytes[12];
        struct tasks *again;
        size_t len = 1 + random_below(&seed, sizeof(bytes));

        for (size_t i = 0; i < len; i++)
            bytes[i] = (unsigned char)random_below(
                &seed, random_below(&seed, 4) ? 16 : 256);
        if (tasks_unpack(&tasks, bytes, len) < 0)
            continue;
        CU_ASSERT(tasks_is_empty(tasks) || tasks_last(tasks) < TASKS_MAX);
        again = packed_again(tasks);
        CU_ASSERT(tasks_equal(again, tasks));
        tasks_free(again);
        tasks_free(tasks);
    }
}

static void check_text(const struct tasks_range *ranges,
                       size_t count,
                       size_t size,
                       const char *expected)
{
    struct tasks *tasks = make(ranges, count);
    char text[64];

    CU_ASSERT_STRING_EQUAL(tasks_text(tasks, text, size), expected);
    tasks_free(tasks);
}

/* The text has ranges and strides, and ends with "..." if there is no room. */
TEST(text_is_for_people)
{
    struct tasks_range two[] = {{3, 15}, {0, 0}};
    struct tasks_range strided[] = {{0, 0}, {16, 16}, {32, 32}, {48, 48}};
    struct tasks_range pair[] = {{0, 0}, {16, 16}};
    struct tasks_range many[] = {{10, 20}, {30, 40}, {50, 60}};

    check_text(NULL, 0, 64, "");
    check_text(two, 2, 64, "0,3-15");
    check_text(strided, 4, 64, "0-48:16");
    check_text(pair, 2, 64, "0,16");
    check_text(many, 3, 64, "10-20,30-40,50-60");
    check_text(many, 3, 18, "10-20,30-40,50-60");
    check_text(many, 3, 17, "10-20,30-40,...");
    check_text(many, 3, 10, "10-20,...");
}

/* Reversed ranges and ranges beyond the limit are refused. */
TEST(bad_ranges_are_refused)
{
    struct tasks_range reversed = {2, 1};
    struct tasks_range far = {0, TASKS_MAX};
    struct tasks *tasks;

    CHECK_IS(tasks_new(&tasks, &reversed, 1), -EINVAL);
    CHECK_IS(tasks_new(&tasks, &far, 1), -EINVAL);
}
