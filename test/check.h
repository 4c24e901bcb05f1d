/* check.h - one CUnit program per test file, with an honest exit status.
 *
 * CUnit's own main returns 0 whatever happened; check_run() does not. */
#pragma once

#include <CUnit/Basic.h>
#include <CUnit/TestDB.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The call returns 0 or a count; else say which call and which error. */
#define CHECK_OK(call)                                                         \
    do {                                                                       \
        long check_r_ = (long)(call);                                          \
        if (check_r_ < 0)                                                      \
            printf("\n%s:%d: %s: %s\n", __FILE__, __LINE__, #call,             \
                   strerror((int)-check_r_));                                  \
        CU_ASSERT_FATAL(check_r_ >= 0);                                        \
    } while (0)

/* The call returns exactly `expected`, such as -EINVAL. */
#define CHECK_IS(call, expected)                                               \
    do {                                                                       \
        long check_r_ = (long)(call);                                          \
        if (check_r_ != (long)(expected))                                      \
            printf("\n%s:%d: %s is %ld, not %s\n", __FILE__, __LINE__, #call,  \
                   check_r_, #expected);                                       \
        CU_ASSERT(check_r_ == (long)(expected));                               \
    } while (0)

/* Known to CUnit under its name, in which '_' is read as ' '. */
static inline void check_add(const char *name, CU_TestFunc test)
{
    char *sentence = strdup(name), *at;

    for (at = sentence; at && *at != '\0'; at++)
        if (*at == '_')
            *at = ' ';
    if (!sentence ||
        (!CU_registry_initialized() &&
         (CU_initialize_registry() != CUE_SUCCESS ||
          !CU_add_suite("tests", NULL, NULL))) ||
        !CU_add_test(CU_get_suite("tests"), sentence, test))
        abort();
    free(sentence);
}

/* TEST(name) { ... } is a test; check_run() runs all of the file, in order. */
#define TEST(name)                                                             \
    static void name(void);                                                    \
    __attribute__((constructor)) static void add_##name(void)                  \
    {                                                                          \
        check_add(#name, name);                                                \
    }                                                                          \
    static void name(void)

/* Run all tests; returns main's exit status. */
static inline int check_run(const char *suite)
{
    unsigned failed;

    if (!CU_registry_initialized() ||
        CU_set_suite_name(CU_get_suite("tests"), suite) != CUE_SUCCESS)
        return EXIT_FAILURE;
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    failed = CU_get_number_of_failures() + (CU_get_number_of_tests_run() == 0);
    CU_cleanup_registry();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
