/* test_options.c - the command line of the benchmarks. */
#include "bench/options.h"

#include <errno.h>

#include "test/check.h"

#define ARGS_MAX 8

static const struct options_usage usage = {
    .name = "trial",
    .what = "A trial.",
    .cases = "flat:2,2x2",
    .metrics = "waves,sum",
    .rounds = 7,
};

/* Read up to ARGS_MAX words, ended by NULL. */
static int read_words(struct options *options,
                      const struct options_usage *which,
                      const char *const *words)
{
    char *argv[ARGS_MAX + 2] = {(char *)"trial"};
    int argc = 1;

    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)words[argc - 1];
    return options_read(options, which, argc, argv);
}

#define READ(options, ...)                                                     \
    read_words((options), &usage, (const char *const[]){__VA_ARGS__, NULL})

TEST(without_words_the_usual_holds)
{
    struct options options;

    CHECK_OK(read_words(&options, &usage, (const char *const[]){NULL}));
    CU_ASSERT_EQUAL_FATAL(options.case_count, 2);
    CU_ASSERT_STRING_EQUAL(options.cases[0].text, "flat:2");
    CU_ASSERT_STRING_EQUAL(options.cases[1].text, "2x2");
    CU_ASSERT_EQUAL(options.rounds, 7);
    CU_ASSERT_FALSE(options.csv);
    CU_ASSERT_FALSE(options.bare_only);
    CU_ASSERT_PTR_NULL(options.metrics);
    options_fini(&options);
}

/* Cases that are given replace the usual ones; the option may come twice. */
TEST(words_are_taken)
{
    struct options options;

    CHECK_OK(READ(&options, "--case=3,4x5", "--rounds", "2", "--csv",
                  "--bare-only", "--metric=sum", "--case=flat:9"));
    CU_ASSERT_EQUAL_FATAL(options.case_count, 3);
    CU_ASSERT_STRING_EQUAL(options.cases[1].text, "4x5");
    CU_ASSERT_STRING_EQUAL(options.cases[2].text, "flat:9");
    CU_ASSERT_EQUAL(options.rounds, 2);
    CU_ASSERT(options.csv);
    CU_ASSERT(options.bare_only);
    CU_ASSERT(options_lists(options.metrics, "sum"));
    CU_ASSERT_FALSE(options_lists(options.metrics, "waves"));
    options_fini(&options);
}

TEST(wrong_words_are_refused)
{
    static const char *const bad[] = {
        "--case=",       "--case=4x4,",    "--case=4y4",
        "--rounds=0",    "--rounds=10001", "--rounds=-1",
        "--rounds=3x",   "--rounds=",      "--metric=wave",
        "--metric=sum,", "--nonsense",     "--rounds",
        "4x4",
    };
    struct options options;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CHECK_IS(READ(&options, bad[i]), -EINVAL);
        CU_ASSERT_PTR_NULL(options.cases);
    }
}

TEST(metrics_are_refused_where_there_is_one)
{
    struct options_usage single = usage;
    struct options options;

    single.metrics = NULL;
    CHECK_IS(read_words(&options, &single,
                        (const char *const[]){"--metric=sum", NULL}),
             -EINVAL);
}

TEST(help_is_all_that_was_asked_for)
{
    struct options options;

    CHECK_IS(READ(&options, "--case=2x2", "--help"), 1);
    CU_ASSERT_PTR_NULL(options.cases);
}

/* A word is found whole, not as the beginning of another. */
TEST(a_list_has_whole_words)
{
    CU_ASSERT(options_lists("a,bc", "a"));
    CU_ASSERT(options_lists("a,bc", "bc"));
    CU_ASSERT_FALSE(options_lists("a,bc", "b"));
    CU_ASSERT_FALSE(options_lists("a,bc", "c"));
    CU_ASSERT_FALSE(options_lists("ab", "a"));
    CU_ASSERT_FALSE(options_lists("", "a"));
}
