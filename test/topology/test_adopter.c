/* test_adopter.c - every algorithm, compared with a plain search. */
#include "topology/adopter.h"

#include "test/topology/grove.h"

#include <errno.h>
#include <math.h>

#define SEEDS 5000

/* One orphan among its siblings, for the plain search. */
struct plain {
    const struct grove *grove;
    uint32_t self; /* an index; grove->count for a back-end */
    uint32_t lost; /* the index of its lost parent */
    struct adopter_orphan orphan;
    uint32_t height_limit;
    uint32_t height; /* of the tree, for ANY */
    bool all_fit;    /* no height limit, for ANY */
};

static uint64_t plain_mix(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Whether `i` lives outside the orphan's subtree, with a path to the root. */
static bool may_adopt(const struct plain *plain, uint32_t i)
{
    const struct grove *grove = plain->grove;

    return grove_depth(grove, i, 0) != TABLE_NO_PATH &&
           (plain->self == grove->count ||
            grove_depth(grove, i, plain->self) == TABLE_NO_PATH);
}

static bool makes_higher(const struct plain *plain, uint32_t i, uint32_t height)
{
    return grove_depth(plain->grove, i, 0) + 1 + plain->orphan.height > height;
}

/* The grandparent: the nearest ancestor of the lost parent that may adopt. */
static uint32_t grandparent(const struct plain *plain)
{
    uint32_t at = plain->lost;

    for (uint32_t steps = 0; steps < plain->grove->count && at != 0; steps++) {
        at = plain->grove->last_parent[at];
        if (may_adopt(plain, at))
            return at;
    }
    return 0;
}

/* Whether node `i` is a candidate by the part of the name before the dash. */
static bool is_candidate(const struct plain *plain,
                         const char *criterion,
                         uint32_t i)
{
    const struct grove *grove = plain->grove;
    uint32_t top = criterion[0] == 'G' ? grandparent(plain) : 0;

    if (strcmp(criterion, "GP") == 0 || strcmp(criterion, "RT") == 0)
        return i == top;
    if (!may_adopt(plain, i))
        return false;
    if (strcmp(criterion, "NHI") == 0)
        return !makes_higher(plain, i, plain->height_limit);
    if (strcmp(criterion, "ANY") == 0)
        return true;
    return i == top || (i != 0 && grove->parent[i] == top);
}

/* The key of candidate `i` for WM: the lowest key is the best. */
static uint64_t plain_key(const struct plain *plain, uint32_t i)
{
    uint64_t fan_out = grove_fan_out(plain->grove, i);

    return fan_out * 2 +
           (plain->all_fit && makes_higher(plain, i, plain->height));
}

/* r^(1/w), for WR; w is defined in doc/study.md. */
static double plain_lot(const struct plain *plain,
                        uint32_t i,
                        uint32_t fan_out_max)
{
    uint64_t bits = plain_mix(plain->orphan.seed, plain->grove->rank[i]) >> 11;
    double r = ((double)bits + 0.5) / 9007199254740992.0;
    uint64_t key = plain_key(plain, i);
    double w = fan_out_max + 1.0 - (double)(key / 2);

    return pow(r, 1 / (key % 2 ? w / 2 : w));
}

/* Whether candidate `a` comes before `b`, which has a higher rank. */
static bool stays_before(const struct plain *plain,
                         const char *sorting,
                         uint32_t fan_out_max,
                         uint32_t a,
                         uint32_t b)
{
    if (strcmp(sorting, "WM") == 0 || strcmp(sorting, "WF") == 0)
        return plain_key(plain, a) <= plain_key(plain, b);
    if (strcmp(sorting, "WR") == 0)
        return plain_lot(plain, a, fan_out_max) >=
               plain_lot(plain, b, fan_out_max);
    return true;
}

/* The first choice of orphan `ordinal` with WF: each elder sibling takes the
 * first candidate with the fewest children at its turn. */
static uint32_t filled(const struct plain *plain,
                       const uint32_t *chosen,
                       uint32_t count)
{
    uint32_t fan_out[GROVE_MAX];
    uint32_t best = 0;

    for (uint32_t i = 0; i < count; i++)
        fan_out[i] = grove_fan_out(plain->grove, chosen[i]);
    for (uint32_t turn = 0; turn <= plain->orphan.ordinal; turn++) {
        best = 0;
        for (uint32_t i = 1; i < count; i++) {
            if (fan_out[i] < fan_out[best])
                best = i;
        }
        fan_out[best]++;
    }
    return best;
}

/* Sort the indices in `chosen` by the order of the algorithm. */
static void put_in_order(const struct plain *plain,
                         const char *sorting,
                         uint32_t *chosen,
                         uint32_t count)
{
    uint32_t rotated[GROVE_MAX];
    uint32_t fan_out_max = 0;
    uint32_t begin = plain->orphan.ordinal % count;
    uint32_t j;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t fan_out = grove_fan_out(plain->grove, chosen[i]);

        fan_out_max = fan_out > fan_out_max ? fan_out : fan_out_max;
    }
    for (uint32_t i = 1; i < count; i++) {
        uint32_t moved = chosen[i];

        for (j = i; j > 0 && !stays_before(plain, sorting, fan_out_max,
                                           chosen[j - 1], moved);
             j--)
            chosen[j] = chosen[j - 1];
        chosen[j] = moved;
    }
    if (strcmp(sorting, "R") == 0) {
        for (uint32_t i = 0; i < count; i++) {
            j = i + (uint32_t)(plain_mix(plain->orphan.seed, i) % (count - i));
            rotated[0] = chosen[i];
            chosen[i] = chosen[j];
            chosen[j] = rotated[0];
        }
    }
    if (strcmp(sorting, "WF") == 0)
        begin = filled(plain, chosen, count);
    if (strcmp(sorting, "R") == 0 || strcmp(sorting, "WR") == 0)
        return;
    memcpy(rotated, chosen, count * sizeof *chosen);
    for (uint32_t i = 0; i < count; i++)
        chosen[i] = rotated[(begin + i) % count];
}

/* Rule 7.3 and chapter 7, literally: the ranks in order, and their number. */
static uint32_t search(struct plain *plain, const char *name, uint32_t *ranks)
{
    char criterion[8];
    const char *dash = strchr(name, '-');
    uint32_t chosen[GROVE_MAX];
    uint32_t count = 0;

    snprintf(criterion, sizeof criterion, "%.*s", dash ? (int)(dash - name) : 7,
             name);
    plain->all_fit = strcmp(criterion, "ANY") == 0;
    for (uint32_t i = 0; i < plain->grove->count; i++) {
        if (is_candidate(plain, criterion, i))
            chosen[count++] = i;
    }
    if (count == 0)
        chosen[count++] = 0;
    put_in_order(plain, dash ? dash + 1 : "M", chosen, count);
    for (uint32_t i = 0; i < count; i++)
        ranks[i] = plain->grove->rank[chosen[i]];
    return count;
}

/* Ask for all turns, in ascending or descending order. */
static void compare_picks(struct adopter_survey *survey,
                          const struct adopter_orphan *orphan,
                          const uint32_t *expected,
                          bool backwards)
{
    uint32_t count = adopter_survey_count(survey);
    uint32_t rank = TABLE_NONE;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t turn = backwards ? count - 1 - i : i;

        CHECK_OK(adopter_survey_pick(survey, orphan, turn, &rank));
        CU_ASSERT_EQUAL(rank, expected[turn]);
    }
    CHECK_IS(adopter_survey_pick(survey, orphan, count, &rank), -ENOENT);
}

static void compare_algorithm(struct plain *plain,
                              const struct table *table,
                              uint32_t algorithm,
                              uint64_t *state)
{
    struct adopter_survey *survey = NULL;
    uint32_t expected[GROVE_MAX];
    uint32_t count = search(plain, adopter_name(algorithm), expected);
    uint32_t rank;

    CHECK_OK(adopter_survey_new(&survey, table, algorithm, &plain->orphan,
                                plain->height_limit));
    CU_ASSERT_EQUAL_FATAL(adopter_survey_count(survey), count);
    compare_picks(survey, &plain->orphan, expected, tree_random(state) % 2);
    if (plain->self == plain->grove->count) {
        /* a sibling asks the same survey for one turn */
        plain->orphan.ordinal++;
        plain->orphan.seed++;
        search(plain, adopter_name(algorithm), expected);
        CHECK_OK(adopter_survey_pick(survey, &plain->orphan, count - 1, &rank));
        CU_ASSERT_EQUAL(rank, expected[count - 1]);
    }
    adopter_survey_free(survey);
}

static void compare(const struct grove *grove,
                    const struct table *table,
                    uint64_t *state)
{
    struct plain plain = {
        .grove = grove,
        .self = 1 + tree_random(state) % grove->count,
        .lost = tree_random(state) % grove->count,
        .orphan = {TABLE_RANKS_MAX - 1, 0, tree_random(state) % 100, 0,
                   tree_random(state)},
        .height_limit = tree_random(state) % 12,
        .height = grove_height(grove, 0),
    };

    if (plain.height < plain.height_limit)
        plain.height = plain.height_limit;
    plain.orphan.lost = grove->rank[plain.lost];
    if (plain.self < grove->count) {
        plain.orphan.rank = grove->rank[plain.self];
        plain.orphan.height = grove_height(grove, plain.self);
        CU_ASSERT_EQUAL(plain.orphan.height,
                        table_subtree_height(table, plain.orphan.rank));
    }
    for (uint32_t algorithm = 0; algorithm < ADOPTER_ALGORITHMS; algorithm++)
        compare_algorithm(&plain, table, algorithm, state);
}

/* Rule 7.3: each turn, in thousands of trees whose nodes fail and move. */
TEST(a_plain_search_finds_the_same)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t state = seed * 2 + 1;
        struct grove grove;
        struct table *table;

        grove_init(&grove, &state);
        table = grove_table(&grove, &state);
        for (uint32_t steps = tree_random(&state) % 30; steps > 0; steps--) {
            grove_step(&grove, table, &state);
            if (steps % 8 == 0)
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

    CHECK_OK(topology_from_shape(&topo, shape, NULL, NULL, NULL));
    CHECK_OK(table_from_topology(&table, topo));
    topology_free(topo);
    return table;
}

/* The first choice of one orphan, by NHI-WM. */
static uint32_t first_of(const struct table *table,
                         const struct adopter_orphan *orphan,
                         uint32_t height_limit)
{
    struct adopter_survey *survey = NULL;
    uint32_t rank = TABLE_NONE;

    CHECK_OK(adopter_survey_new(&survey, table, ADOPTER_DEFAULT, orphan,
                                height_limit));
    CHECK_OK(adopter_survey_pick(survey, orphan, 0, &rank));
    adopter_survey_free(survey);
    return rank;
}

/* The orphans of a commnode of 4x4 first ask four different adopters: the
 * front-end, which now has one child less, then the three others. */
TEST(siblings_begin_at_different_places)
{
    static const uint32_t first[] = {0, 2, 3, 4, 0, 2};
    struct table *table = shape_table("4x4");

    CHECK_IS(table_record(table, 1, 0, TABLE_FAILED), 1);
    for (uint32_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        struct adopter_orphan orphan = {5 + i, 0, i, 1, 0};

        CU_ASSERT_EQUAL(first_of(table, &orphan, 2), first[i]);
    }
    table_free(table);
}

/* Fan-outs that take several digits of the sort, in either order. */
TEST(wide_fan_outs_are_sorted)
{
    static const uint32_t backends[] = {70000, 2047, 2048, 131072, 4095, 1};
    static const uint32_t sorted[] = {5, 1, 2, 4, 0, 3};
    struct adopter_orphan orphan = {99, 0, 0, 0, 0};
    struct adopter_survey *survey = NULL;
    struct table *table = shape_table("5x1");
    uint32_t rank;

    for (uint32_t i = 0; i < 6; i++)
        CHECK_OK(table_set_backends(table, i, backends[i]));
    CHECK_OK(adopter_survey_new(&survey, table, ADOPTER_DEFAULT, &orphan, 2));
    CU_ASSERT_EQUAL_FATAL(adopter_survey_count(survey), 6);
    for (uint32_t i = 0; i < 6; i++) {
        CHECK_OK(adopter_survey_pick(survey, &orphan, i, &rank));
        CU_ASSERT_EQUAL(rank, sorted[i]);
    }
    adopter_survey_free(survey);
    table_free(table);
}

/* If no candidate is low enough, the front-end is the only one, at any ordinal,
 * and at a height at which a sum would overflow. */
TEST(the_front_end_is_the_last_resort)
{
    static const uint32_t heights[] = {2, UINT32_MAX};
    struct table *table = shape_table("2x2");

    for (int i = 0; i < 2; i++) {
        struct adopter_orphan orphan = {2, heights[i], UINT32_MAX, 1, 0};
        struct adopter_survey *survey = NULL;
        uint32_t rank = TABLE_NONE;

        CHECK_OK(
            adopter_survey_new(&survey, table, ADOPTER_DEFAULT, &orphan, 2));
        CU_ASSERT_EQUAL(adopter_survey_count(survey), 1);
        CHECK_OK(adopter_survey_pick(survey, &orphan, 0, &rank));
        CU_ASSERT_EQUAL(rank, 0);
        adopter_survey_free(survey);
    }
    table_free(table);
}

/* Chapter 7: P[k_i > k_j] = w_i / (w_i + w_j). Two candidates with room for 1
 * and 3 children: the second is first in 3 of 4 draws. */
TEST(weighted_lots_keep_their_odds)
{
    struct table *table = shape_table("1x1");
    struct adopter_survey *survey = NULL;
    struct adopter_orphan orphan = {99, 0, 0, 0, 0};
    uint32_t second = 0;
    uint32_t rank = 0;

    CHECK_OK(table_set_backends(table, 0, 3));
    CHECK_OK(table_set_backends(table, 1, 2));
    CHECK_OK(adopter_survey_new(&survey, table,
                                (uint32_t)adopter_find("NHI-WR"), &orphan, 2));
    for (orphan.seed = 0; orphan.seed < 40000; orphan.seed++) {
        CHECK_OK(adopter_survey_pick(survey, &orphan, 0, &rank));
        second += rank == 1;
    }
    /* 30,000 expected, deviation 87 */
    CU_ASSERT(second > 29500 && second < 30500);
    adopter_survey_free(survey);
    table_free(table);
}

/* Eighteen algorithms of the dissertation and one more are found by name. */
TEST(algorithms_have_names)
{
    for (uint32_t i = 0; i < ADOPTER_ALGORITHMS; i++) {
        CHECK_IS(adopter_find(adopter_name(i)), i);
        CU_ASSERT_PTR_NOT_NULL(strstr(adopter_names(), adopter_name(i)));
        CU_ASSERT_EQUAL(adopter_may_raise(i),
                        strncmp(adopter_name(i), "ANY-", 4) == 0);
    }
    CU_ASSERT_STRING_EQUAL(adopter_name(ADOPTER_DEFAULT), "NHI-WM");
    CU_ASSERT(strncmp(adopter_names(), "NHI-WM, NHI-WR, ", 16) == 0);
    CU_ASSERT_PTR_NULL(adopter_name(ADOPTER_ALGORITHMS));
    CHECK_IS(adopter_find("nhi-wm"), -ENOENT);
    CHECK_IS(adopter_find("NHI"), -ENOENT);
    CHECK_IS(adopter_find(""), -ENOENT);
}
