/* test_pulse.c - rates and dips of arrivals whose moments are given. */
#include "bench/pulse.h"

#include <math.h>

#include "test/check.h"

#define NEAR 1e-6

/* Ten a second for ten seconds, but none from 5 s until `gap_s` later; what
 * was held up comes at once then. */
static struct sample steady(double gap_s)
{
    struct sample arrivals = {.values = NULL};

    for (int i = 0; i < 100; i++) {
        double at_s = i / 10.0;

        if (at_s > 5 && at_s < 5 + gap_s)
            at_s = 5 + gap_s;
        CHECK_OK(sample_add(&arrivals, at_s));
    }
    return arrivals;
}

TEST(a_rate_is_the_mean_over_the_last)
{
    struct sample arrivals = steady(0);

    CU_ASSERT(isnan(pulse_rate(&arrivals, PULSE_SPAN - 1)));
    CU_ASSERT_DOUBLE_EQUAL(pulse_rate(&arrivals, PULSE_SPAN), 10, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(pulse_usual(&arrivals, 2, 8), 10, NEAR);
    CU_ASSERT(isnan(pulse_usual(&arrivals, 20, 30)));
    sample_fini(&arrivals);
}

TEST(where_nothing_happens_is_no_dip)
{
    struct sample arrivals = steady(0);
    struct pulse_dip dip = pulse_look(&arrivals, 4, 8, 10);

    CU_ASSERT_DOUBLE_EQUAL(dip.lowest, 10, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(dip.depth, 0, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(dip.length_s, 0, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(dip.gap_s, 0.1, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(dip.slowest, 10, 1.01);
    CU_ASSERT(isnan(pulse_look(&arrivals, 4, 4.5, 10).slowest));
    sample_fini(&arrivals);
}

/* Nothing from 5.0 to 6.0: the packet at 6.0 is the last of ten in 1.9 s, and
 * as what was held up comes with it the dip is over at the same moment. */
TEST(a_gap_is_a_dip)
{
    struct sample arrivals = steady(1);
    struct pulse_dip dip = pulse_look(&arrivals, 4, 9, 10);

    CU_ASSERT_DOUBLE_EQUAL(dip.lowest, 10 / 1.9, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(dip.depth, 1 - 1 / 1.9, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(dip.length_s, 1, NEAR);
    CU_ASSERT_DOUBLE_EQUAL(dip.slowest, 1, NEAR); /* from behind 4.9 */
    CU_ASSERT_DOUBLE_EQUAL(dip.gap_s, 1, NEAR);
    dip = pulse_look(&arrivals, 1, 5, 10);
    CU_ASSERT_DOUBLE_EQUAL(dip.depth, 0, NEAR);
    sample_fini(&arrivals);
}

/* From the last packet to the end of what is looked at is a gap too. */
TEST(silence_up_to_the_end_is_a_gap)
{
    struct sample arrivals = steady(0);
    struct pulse_dip dip = pulse_look(&arrivals, 9.9, 14.9, 10);

    CU_ASSERT_DOUBLE_EQUAL(dip.gap_s, 5, NEAR);
    dip = pulse_look(&arrivals, 20, 30, 10);
    CU_ASSERT(isnan(dip.lowest));
    CU_ASSERT_DOUBLE_EQUAL(dip.gap_s, 10, NEAR);
    sample_fini(&arrivals);
}
