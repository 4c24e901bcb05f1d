/* test_integers.c - the integers of bench/exactness, and sets of them. */
#include "bench/integers.h"

#include <errno.h>

#include "test/check.h"

static struct integers *new_set(void)
{
    struct integers *set = NULL;

    CHECK_OK(integers_new(&set));
    CU_ASSERT_FATAL(set != NULL);
    return set;
}

/* A function of sender and index, over the whole range. */
TEST(draws_are_spread_and_repeatable)
{
    struct integers *set = new_set();
    int32_t least = INT32_MAX;
    int32_t most = -1;

    for (uint32_t i = 0; i < 10000; i++) {
        int32_t number = integers_draw(i % 100, i / 100);

        CU_ASSERT_EQUAL(number, integers_draw(i % 100, i / 100));
        CHECK_OK(integers_add(set, &number, 1));
        least = number < least ? number : least;
        most = number > most ? number : most;
    }
    CU_ASSERT(integers_count(set) > 9900);
    CU_ASSERT(least >= 0 && (uint32_t)least < INTEGERS_RANGE / 100);
    CU_ASSERT((uint32_t)most > INTEGERS_RANGE / 100 * 99);
    integers_free(set);
}

TEST(a_set_knows_what_is_missing)
{
    static const int32_t all[] = {0, 7, 63, 64, (int32_t)INTEGERS_RANGE - 1};
    struct integers *wanted = new_set();
    struct integers *seen = new_set();

    CHECK_OK(integers_add(wanted, all, 5));
    CHECK_OK(integers_add(wanted, all, 5));
    CU_ASSERT_EQUAL(integers_count(wanted), 5);
    CHECK_OK(integers_add(seen, all + 1, 3));
    CU_ASSERT_EQUAL(integers_missing(seen, wanted), 2);
    CU_ASSERT_EQUAL(integers_missing(wanted, seen), 0);
    CHECK_OK(integers_add(seen, all, 5));
    CU_ASSERT_EQUAL(integers_missing(seen, wanted), 0);
    integers_free(wanted);
    integers_free(seen);
}

TEST(what_nobody_sends_is_refused)
{
    static const int32_t bad[] = {-1, (int32_t)INTEGERS_RANGE};
    struct integers *set = new_set();

    CHECK_IS(integers_add(set, &bad[0], 1), -EBADMSG);
    CHECK_IS(integers_add(set, &bad[1], 1), -EBADMSG);
    CU_ASSERT_EQUAL(integers_count(set), 0);
    integers_free(set);
    integers_free(NULL);
}
