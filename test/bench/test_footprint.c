/* test_footprint.c - what is read of processes, on real ones of known size. */
#include "bench/footprint.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/check.h"

#define BALLAST (32 << 20) /* bytes that only the grandchild has */

/* Say on `ready` that all is there, then wait to be killed. */
static void stand(int ready)
{
    if (write(ready, "", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static void be_grandchild(int ready)
{
    char *ballast;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ballast = mmap(NULL, BALLAST, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ballast == MAP_FAILED || dup(ready) < 0)
        _exit(1);
    memset(ballast, 1, BALLAST);
    stand(ready);
}

/* A child with one child of its own. Returns when both stand. */
static pid_t start_family(void)
{
    int ready[2];
    char byte;
    pid_t child;

    CHECK_OK(pipe(ready));
    child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (fork() == 0)
            be_grandchild(ready[1]);
        stand(ready[1]);
    }
    close(ready[1]);
    CU_ASSERT_EQUAL_FATAL(read(ready[0], &byte, 1), 1);
    CU_ASSERT_EQUAL_FATAL(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void fini(struct sample *samples)
{
    for (int i = 0; i < FOOTPRINT_COUNT; i++)
        sample_fini(&samples[i]);
}

/* Inner processes are told from leaves; what one holds, private memory
 * and descriptors, is seen in it and not in the other. */
TEST(a_family_is_read)
{
    struct sample inner[FOOTPRINT_COUNT] = {{.values = NULL}};
    struct sample leaf[FOOTPRINT_COUNT] = {{.values = NULL}};
    pid_t child = start_family();

    CU_ASSERT_EQUAL(footprint_below(getpid(), inner, leaf), 2);
    for (int i = 0; i < FOOTPRINT_COUNT; i++) {
        CU_ASSERT_EQUAL_FATAL(inner[i].count, 1);
        CU_ASSERT_EQUAL_FATAL(leaf[i].count, 1);
    }
    CU_ASSERT(leaf[FOOTPRINT_PRIVATE_KIB].values[0] >= BALLAST / 1024);
    CU_ASSERT(inner[FOOTPRINT_PRIVATE_KIB].values[0] > 0);
    CU_ASSERT(inner[FOOTPRINT_PRIVATE_KIB].values[0] < BALLAST / 1024);
    CU_ASSERT_EQUAL(leaf[FOOTPRINT_THREADS].values[0], 1);
    CU_ASSERT_EQUAL(leaf[FOOTPRINT_DESCRIPTORS].values[0],
                    inner[FOOTPRINT_DESCRIPTORS].values[0] + 1);
    fini(inner);
    fini(leaf);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

TEST(nobody_is_below_a_leaf)
{
    struct sample inner[FOOTPRINT_COUNT] = {{.values = NULL}};
    struct sample leaf[FOOTPRINT_COUNT] = {{.values = NULL}};

    CU_ASSERT_EQUAL(footprint_below(getpid(), inner, leaf), 0);
    CU_ASSERT_EQUAL(inner[0].count, 0);
    CU_ASSERT_EQUAL(leaf[0].count, 0);
}
