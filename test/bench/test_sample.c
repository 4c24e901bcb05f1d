/* test_sample.c - what measured figures say. */
#include "bench/sample.h"

#include <errno.h>
#include <math.h>

#include "test/check.h"

#define NEAR 1e-9

static struct sample sample_of(const double *values, size_t count)
{
    struct sample sample = {.values = NULL};

    for (size_t i = 0; i < count; i++)
        CHECK_OK(sample_add(&sample, values[i]));
    return sample;
}

/* Order of arrival does not matter, and is kept. */
TEST(quantiles_lie_between_neighbours)
{
    static const double values[] = {40, 10, 30, 20};
    struct sample sample = sample_of(values, 4);

    CU_ASSERT_DOUBLE_EQUAL(sample_quantile(&sample, 0), 10, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(sample_quantile(&sample, 0.5), 25, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(sample_quantile(&sample, 0.9), 37, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(sample_quantile(&sample, 1), 40, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(sample.values[0], 40, NEAR);
    sample_fini(&sample);
}

TEST(one_figure_is_every_quantile)
{
    static const double value = 7;
    struct sample sample = sample_of(&value, 1);

    CU_ASSERT_DOUBLE_EQUAL(sample_quantile(&sample, 0), 7, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(sample_quantile(&sample, 0.99), 7, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(sample_quantile(&sample, 1), 7, NEAR);
    sample_fini(&sample);
}

TEST(nothing_has_no_quantile)
{
    struct sample sample = {.values = NULL};

    CU_ASSERT(isnan(sample_quantile(&sample, 0.5)));
    sample_fini(&sample);
}

/* More figures than there is room at first. */
TEST(a_sample_grows_and_is_used_again)
{
    struct sample sample = {.values = NULL};

    for (int i = 0; i < 1000; i++)
        CHECK_OK(sample_add(&sample, i));
    CU_ASSERT_EQUAL(sample.count, 1000);
    CU_ASSERT_DOUBLE_EQUAL(sample_quantile(&sample, 0.5), 499.5, NEAR);
    sample_clear(&sample);
    CHECK_OK(sample_add(&sample, 3));
    CU_ASSERT_DOUBLE_EQUAL(sample_quantile(&sample, 0.5), 3, NEAR);
    sample_fini(&sample);
    CU_ASSERT_EQUAL(sample.count, 0);
    CHECK_OK(sample_add(&sample, 4));
    sample_fini(&sample);
}

/* The ratio is of each round's pair: that a disturbed round is slow for both
 * does not show. */
TEST(ratios_are_of_pairs)
{
    static const double ours[] = {2, 20, 2};
    static const double bare[] = {1, 10, 1};
    struct sample numerator = sample_of(ours, 3);
    struct sample denominator = sample_of(bare, 3);
    struct sample ratio = {.values = NULL};

    CHECK_OK(sample_ratio(&ratio, &numerator, &denominator));
    CU_ASSERT_EQUAL(ratio.count, 3);
    CU_ASSERT_DOUBLE_EQUAL(sample_quantile(&ratio, 0), 2, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(sample_quantile(&ratio, 1), 2, NEAR);
    CHECK_OK(sample_add(&numerator, 1));
    CHECK_IS(sample_ratio(&ratio, &numerator, &denominator), -EINVAL);
    CU_ASSERT_EQUAL(ratio.count, 3);
    sample_fini(&ratio);
    sample_fini(&numerator);
    sample_fini(&denominator);
}
