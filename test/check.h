/* check.h - one CUnit program per test file, with an honest exit status.
 *
 * CUnit's own main returns 0 whatever happened; check_run() does not. */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

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

/* Run `tests`, ended by CU_TEST_INFO_NULL; returns main's exit status. */
static inline int check_run(const char *name, CU_TestInfo *tests)
{
    CU_SuiteInfo suites[] = {
        {name, NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };
    unsigned failed;

    if (CU_initialize_registry() != CUE_SUCCESS ||
        CU_register_suites(suites) != CUE_SUCCESS)
        return EXIT_FAILURE;
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    failed = CU_get_number_of_failures() + (CU_get_number_of_tests_run() == 0);
    CU_cleanup_registry();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
