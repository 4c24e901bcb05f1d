/* test_readiness.c - a descriptor that is readable while a condition holds. */
#include "api/readiness.h"

#include <fcntl.h>
#include <poll.h>

#include "test/check.h"

static bool is_readable(int fd)
{
    struct pollfd waited = {.fd = fd, .events = POLLIN};

    return poll(&waited, 1, 0) == 1 && waited.revents == POLLIN;
}

/* Readable from the first set to the first unset, however often each is said. */
TEST(it_is_readable_while_it_is_set)
{
    struct readiness readiness = READINESS_INIT;
    int fd = readiness_open(&readiness);

    CHECK_OK(fd);
    CU_ASSERT_EQUAL(readiness_open(&readiness), fd);
    for (int round = 0; round < 3; round++) {
        CU_ASSERT_FALSE(is_readable(fd));
        for (int k = 0; k < 3; k++)
            readiness_set(&readiness, true);
        CU_ASSERT(is_readable(fd));
        CU_ASSERT(is_readable(fd));
        for (int k = 0; k < 3; k++)
            readiness_set(&readiness, false);
    }
    readiness_close(&readiness);
    CU_ASSERT_EQUAL(fcntl(fd, F_GETFD), -1);
}

/* Without a descriptor nothing happens; one that is made anew is not set. */
TEST(without_a_descriptor)
{
    struct readiness readiness = READINESS_INIT;

    readiness_set(&readiness, true);
    CU_ASSERT_EQUAL(readiness.fd, -1);
    readiness_close(&readiness);
    CHECK_OK(readiness_open(&readiness));
    CU_ASSERT_FALSE(is_readable(readiness.fd));
    readiness_set(&readiness, true);
    readiness_close(&readiness);
    CHECK_OK(readiness_open(&readiness));
    CU_ASSERT_FALSE(is_readable(readiness.fd));
    readiness_close(&readiness);
}
