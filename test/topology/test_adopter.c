/* test_adopter.c - NHI-WM beside a plain search. */
#include "topology/adopter.h"

#include "test/topology/grove.h"

#define SEEDS 5000

/* Whether candidate `a` comes before `b`. */
static bool before(const struct grove *grove, uint32_t a, uint32_t b)
{
    uint32_t of_a = grove_fan_out(grove, a);
    uint32_t of_b = grove_fan_out(grove, b);

    return of_a != of_b ? of_a < of_b : grove->rank[a] < grove->rank[b];
}

/* Rule 7.3, word by word: the ranks in order, and how many. `self` is the
 * orphan's index; grove->count for a back-end. */
static uint32_t search(const struct grove *grove,
                       uint32_t self,
                       const struct adopter_orphan *orphan,
                       uint32_t height_limit,
                       uint32_t *out)
{
    uint32_t chosen[GROVE_MAX];
    uint32_t count = 0;
    uint32_t i;
    uint32_t j;

    for (i = 0; i < grove->count; i++) {
        uint32_t depth = grove_depth(grove, i, 0);

        if (depth == TABLE_NO_PATH || depth + 1 + orphan->height > height_limit)
            continue;
        if (self < grove->count && grove_depth(grove, i, self) != TABLE_NO_PATH)
            continue;
        for (j = count++; j > 0 && before(grove, i, chosen[j - 1]); j--)
            chosen[j] = chosen[j - 1];
        chosen[j] = i;
    }
    if (count == 0)
        chosen[count++] = 0;
    for (i = 0; i < count; i++)
        out[i] = grove->rank[chosen[(orphan->ordinal + i) % count]];
    return count;
}

static void compare(const struct grove *grove,
                    const struct table *table,
                    uint64_t *state)
{
    uint32_t self = 1 + tree_random(state) % grove->count;
    uint32_t height_limit = tree_random(state) % 12;
    struct adopter_orphan orphan = {TABLE_RANKS_MAX - 1, 0,
                                    tree_random(state) % 100};
    struct adopter_list list = {0};
    uint32_t expected[GROVE_MAX];
    uint32_t count;

    if (self < grove->count) {
        orphan.rank = grove->rank[self];
        orphan.height = grove_height(grove, self);
        CU_ASSERT_EQUAL(orphan.height,
                        table_subtree_height(table, orphan.rank));
    }
    count = search(grove, self, &orphan, height_limit, expected);
    CHECK_OK(adopter_list(table, &orphan, height_limit, &list));
    CU_ASSERT_EQUAL_FATAL(list.count, count);
    CU_ASSERT(memcmp(list.ranks, expected, count * sizeof *expected) == 0);
    CU_ASSERT_EQUAL(list.last_resort, orphan.height + 1 > height_limit);
    adopter_list_fini(&list);
    CU_ASSERT_PTR_NULL(list.ranks);
    adopter_list_fini(&list);
}

/* Rule 7.3: thousands of trees in which nodes fail and move, list by list. */
static void a_plain_search_finds_the_same(void)
{
    uint64_t seed;

    for (seed = 1; seed <= SEEDS; seed++) {
        uint64_t state = seed * 2 + 1;
        struct grove grove;
        struct table *table;
        uint32_t steps;

        grove_init(&grove, &state);
        table = grove_table(&grove, &state);
        for (steps = tree_random(&state) % 30; steps > 0; steps--) {
            grove_step(&grove, table, &state);
            compare(&grove, table, &state);
        }
        compare(&grove, table, &state);
        table_free(table);
    }
}

static struct table *shape_table(const char *shape)
{
    struct topology *topo = NULL;
    struct table *table = NULL;

    CHECK_OK(topology_from_shape(&topo, shape, NULL, NULL));
    CHECK_OK(table_from_topology(&table, topo));
    topology_free(topo);
    return table;
}

/* The orphans of a commnode of 4x4 first ask four different adopters: the
 * front-end, which has one child less now, then the three others. */
static void siblings_begin_at_different_places(void)
{
    static const uint32_t first[] = {0, 2, 3, 4, 0, 2};
    struct table *table = shape_table("4x4");
    uint32_t i;

    CHECK_IS(table_record(table, 1, 0, TABLE_FAILED), 1);
    for (i = 0; i < sizeof first / sizeof first[0]; i++) {
        struct adopter_orphan orphan = {5 + i, 0, i};
        struct adopter_list list = {0};

        CHECK_OK(adopter_list(table, &orphan, 2, &list));
        CU_ASSERT_EQUAL(list.count, 4);
        CU_ASSERT_EQUAL(list.ranks[0], first[i]);
        CU_ASSERT_FALSE(list.last_resort);
        adopter_list_fini(&list);
    }
    table_free(table);
}

/* Fan-outs that need more than one digit of the sort, in either order. */
static void wide_fan_outs_are_sorted(void)
{
    static const uint32_t backends[] = {70000, 2047, 2048, 131072, 4095, 1};
    static const uint32_t sorted[] = {5, 1, 2, 4, 0, 3};
    struct adopter_orphan orphan = {99, 0, 0};
    struct adopter_list list = {0};
    struct table *table = shape_table("5x1");
    uint32_t i;

    for (i = 0; i < 6; i++)
        CHECK_OK(table_set_backends(table, i, backends[i]));
    CHECK_OK(adopter_list(table, &orphan, 2, &list));
    CU_ASSERT_EQUAL_FATAL(list.count, 6);
    for (i = 0; i < 6; i++)
        CU_ASSERT_EQUAL(list.ranks[i], sorted[i]);
    adopter_list_fini(&list);
    table_free(table);
}

/* Nobody is low enough: the front-end alone, marked, at any ordinal and at a
 * height at which a sum would wrap. */
static void the_front_end_is_the_last_resort(void)
{
    static const uint32_t heights[] = {2, UINT32_MAX};
    struct table *table = shape_table("2x2");
    int i;

    for (i = 0; i < 2; i++) {
        struct adopter_orphan orphan = {2, heights[i], UINT32_MAX};
        struct adopter_list list = {0};

        CHECK_OK(adopter_list(table, &orphan, 2, &list));
        CU_ASSERT_EQUAL(list.count, 1);
        CU_ASSERT_EQUAL(list.ranks[0], 0);
        CU_ASSERT(list.last_resort);
        adopter_list_fini(&list);
    }
    table_free(table);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"a plain search finds the same", a_plain_search_finds_the_same},
        {"siblings begin at different places",
         siblings_begin_at_different_places},
        {"wide fan-outs are sorted", wide_fan_outs_are_sorted},
        {"the front-end is the last resort", the_front_end_is_the_last_resort},
        CU_TEST_INFO_NULL,
    };
    return check_run("adopter", tests);
}
