/* test_ranks.c - sets of ranks compared with bit masks. */
#include "wire/ranks.h"

#include <errno.h>

#include "test/check.h"
#include "wire/limits.h"

#define UNIVERSE 64
#define ROUNDS   4000

static uint32_t seed = 1;

/* A small private generator: the same numbers on every machine. */
static uint32_t next(uint32_t below)
{
    seed = seed * UINT32_C(1664525) + UINT32_C(1013904223);
    return (seed >> 8) % below;
}

/* Fill `set` with random runs, and `bits` with the same. */
static void fill(struct ranks *set, uint64_t *bits)
{
    uint32_t n = next(8);

    *bits = 0;
    while (n--) {
        uint32_t first = next(UNIVERSE), rank;
        uint32_t last = first + next(UNIVERSE - first);

        CHECK_OK(ranks_add(set, first, last));
        for (rank = first; rank <= last; rank++)
            *bits |= UINT64_C(1) << rank;
    }
}

/* Check that the set is `bits`, in runs that neither touch nor overlap. */
static void check_same(const struct ranks *set, uint64_t bits)
{
    uint64_t index = 0;

    for (uint32_t rank = 0; rank < UNIVERSE; rank++) {
        bool in = bits >> rank & 1;

        CU_ASSERT_EQUAL(ranks_has(set, rank), in);
        if (in)
            CU_ASSERT_EQUAL(ranks_at(set, index++), rank);
    }
    CU_ASSERT_EQUAL(ranks_size(set), index);
    CU_ASSERT_EQUAL(ranks_at(set, index), RANK_NONE);
    for (size_t i = 1; i < set->count; i++)
        CU_ASSERT(set->runs[i].first > set->runs[i - 1].last + 1);
}

/* Check that the ranks of `from`, from last to first and each twice, added to
 * `set` as a list, make `bits`. */
static void check_list(struct ranks *set,
                       const struct ranks *from,
                       uint64_t bits)
{
    uint32_t list[2 * UNIVERSE], rank = RANK_NONE;
    size_t size = 2 * (size_t)ranks_size(from), at = size;

    while ((rank = ranks_after(from, rank)) != RANK_NONE) {
        CU_ASSERT_FATAL(at >= 2);
        list[--at] = rank;
        list[--at] = rank;
    }
    CU_ASSERT_EQUAL(at, 0);
    CHECK_OK(ranks_add_list(set, list, size));
    check_same(set, bits);
}

/* Every operation agrees with the same operation on bits. */
TEST(operations_agree_with_bits)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct ranks a = {0}, b = {0}, c = {0};
        uint64_t x, y;

        fill(&a, &x);
        fill(&b, &y);
        check_same(&a, x);
        CU_ASSERT_EQUAL(ranks_cover(&a, &b), (y & ~x) == 0);
        CU_ASSERT_EQUAL(ranks_meet(&a, &b), (x & y) != 0);
        CU_ASSERT_EQUAL(ranks_equal(&a, &b), x == y);
        CHECK_OK(ranks_copy(&c, &a));
        CHECK_OK(ranks_unite(&c, &b));
        check_same(&c, x | y);
        CHECK_OK(ranks_copy(&c, &a));
        CHECK_OK(ranks_subtract(&c, &b));
        check_same(&c, x & ~y);
        CHECK_OK(ranks_copy(&c, &a));
        CHECK_OK(ranks_intersect(&c, &b));
        check_same(&c, x & y);
        CHECK_OK(ranks_from_pairs(&c, ranks_pairs(&a), 2 * a.count));
        CU_ASSERT(ranks_equal(&c, &a));
        check_list(&b, &a, x | y);
        ranks_fini(&a);
        ranks_fini(&b);
        ranks_fini(&c);
    }
}

/* A run that ends before it begins, or at RANK_NONE, is refused. */
TEST(bad_runs_are_refused)
{
    struct ranks set = {0};

    CHECK_IS(ranks_add(&set, 5, 4), -EINVAL);
    CHECK_IS(ranks_add(&set, 5, RANK_NONE), -EINVAL);
    CU_ASSERT_EQUAL(ranks_size(&set), 0);
    CHECK_OK(ranks_add(&set, 0, RANK_NONE - 1));
    CU_ASSERT_EQUAL(ranks_size(&set), UINT64_C(0xffffffff));
    ranks_fini(&set);
}

/* Pairs from the network that are no ascending runs leave the set unchanged. */
TEST(bad_pairs_are_refused)
{
    static const uint32_t bad[][4] = {
        {5, 4, 0, 0},         /* ends before it begins */
        {1, 5, 3, 9},         /* overlaps */
        {7, 9, 1, 2},         /* descends */
        {1, RANK_NONE, 0, 0}, /* no rank */
        {5, LIMIT_NODES},     /* above the limit */
    };
    static const size_t lens[] = {2, 4, 4, 2, 2};
    struct ranks set = {0};

    CHECK_OK(ranks_add(&set, 3, 4));
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
        CHECK_IS(ranks_from_pairs(&set, bad[i], lens[i]), -EBADMSG);
    CHECK_IS(ranks_from_pairs(&set, bad[1], 3), -EBADMSG);
    CU_ASSERT_EQUAL(ranks_size(&set), 2);
    ranks_fini(&set);
}

/* A million consecutive ranks are one run. */
TEST(a_row_is_one_run)
{
    struct ranks set = {0};

    for (uint32_t rank = 0; rank < 1000000; rank += 2)
        CHECK_OK(ranks_add(&set, rank, rank + 1));
    CU_ASSERT_EQUAL(set.count, 1);
    ranks_fini(&set);
}
