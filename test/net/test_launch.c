/* test_launch.c - whole trees of processes on this machine. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/check.h"
#include "test/net/shell.h"

static struct shell shell;
static char backend[512];

static char *const echo_argv[] = {backend, (char[]){"echo"}, NULL};

/* One wave: each back-end answers once. */
static void exchange(uint32_t stream, int32_t tag, size_t len, size_t answers)
{
    struct frame frame;
    uint32_t from;
    size_t i;

    CHECK_OK(shell_send(&shell, stream, tag, len));
    for (i = 0; i < answers; i++) {
        CHECK_OK(shell_receive(&shell, &from, &frame, 20000));
        CU_ASSERT_EQUAL(from, stream);
        CU_ASSERT_EQUAL(frame.tag, tag);
        CU_ASSERT_EQUAL(frame.payload ? frame.payload->len : 0, len);
        if (len > 0) {
            CU_ASSERT_EQUAL(frame.payload->bytes[0], tag & 0xff);
            CU_ASSERT_EQUAL(frame.payload->bytes[len - 1], tag & 0xff);
        }
        frame_fini(&frame);
    }
}

/* A tree of one level, two, and three comes up, answers, and goes. */
static void try_shape(const char *shape, uint32_t first, uint32_t last)
{
    int stream;
    int i;

    CHECK_OK(shell_launch(&shell, shape, echo_argv, NULL));
    stream = shell_open(&shell, first, last);
    CHECK_OK(stream);
    for (i = 100; i < 110; i++)
        exchange((uint32_t)stream, i, 16, last - first + 1);
    exchange((uint32_t)stream, 110, 0, last - first + 1);
    exchange((uint32_t)stream, 111, 1 << 18, last - first + 1);
    CHECK_IS(shell_shutdown(&shell, 10000), 0);
}

static void flat_tree(void)
{
    try_shape("flat:3", 1, 3);
}

static void tree_of_two_levels(void)
{
    try_shape("2x2", 3, 6);
}

static void tree_of_three_levels(void)
{
    try_shape("2^3", 7, 14);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"a flat tree", flat_tree},
        {"a tree of two levels", tree_of_two_levels},
        {"a tree of three levels", tree_of_three_levels},
        CU_TEST_INFO_NULL,
    };
    const char *build = getenv("BUILD");

    snprintf(backend, sizeof(backend), "%s/test/net/backend",
             build ? build : ".");
    return check_run("launch", tests);
}
