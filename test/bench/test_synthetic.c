/* test_synthetic.c - synthetic jobs: their options, and that their parts are
 * the whole. */
#include <errno.h>

#include "bench/synthetic.h"
#include "test/check.h"

static int parse(const char *text, const char **why)
{
    static struct cop_error error;
    struct synthetic job;

    error.text[0] = '\0';
    *why = error.text;
    return synthetic_parse(&job, text, &error);
}

/* A key or a value that is not known is named. */
TEST(wrong_keys_are_refused)
{
    const char *why;

    CHECK_IS(parse("tasks=10,moon=full", &why), -EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(why, "\"moon=full\" is not understood"));
    CHECK_IS(parse("tasks=10,daemons=12", &why), -EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(why, "10 tasks are fewer than the daemons"));
    CHECK_IS(parse("tasks=0", &why), -EINVAL);
    CHECK_IS(parse("mix=half", &why), -EINVAL);
    CHECK_OK(parse("tasks=10,daemons=10,seed=7", &why));
}

/* However the tasks are placed and mixed, the daemons' trees joined are the
 * tree of all tasks. */
TEST(parts_are_the_whole)
{
    static const char *const jobs[] = {
        "tasks=1003,daemons=12,classes=5,outliers=2",
        "tasks=1003,daemons=12,classes=5,placement=cyclic",
        "tasks=1003,daemons=12,classes=5,mix=scattered,placement=cyclic",
        "tasks=1000,daemons=12,classes=1,outliers=0",
    };
    struct cop_error error;

    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        struct tree *parts[12], *all, *joined;
        struct synthetic job;
        uint32_t *numbers;

        CHECK_OK(synthetic_parse(&job, jobs[i], &error));
        CHECK_OK(synthetic_numbers(&numbers, &job));
        for (uint32_t daemon = 0; daemon < 12; daemon++)
            CHECK_OK(synthetic_tree(&parts[daemon], &job, daemon));
        CHECK_OK(tree_join_all(&joined, parts, 12));
        if (numbers)
            CHECK_OK(tree_renumber(joined, numbers, job.tasks));
        CHECK_OK(synthetic_tree(&all, &job, SYNTHETIC_ALL));
        CU_ASSERT(tree_equal(joined, all));
        for (uint32_t daemon = 0; daemon < 12; daemon++)
            tree_free(parts[daemon]);
        tree_free(joined);
        tree_free(all);
        free(numbers);
    }
}
