/* test_load.c - on an overloaded machine no node is suspected.
 *
 * Busy processes, four for each core, compete with a network for LOAD_S seconds
 * (or $LOAD_SECONDS) while back-ends send. With the default times no node may be
 * suspected. */
#include "test/frontend/tree.h"
#include "test/process/feeding.h"

#define LOAD_S        10
#define BUSY_PER_CORE 4
#define BUSY_MAX      1024
#define NUMBERS       200 /* of each back-end, per round */
#define RATE          100

static pid_t busy[BUSY_MAX];
static size_t busy_count;

/* Compute until the parent ends. */
static void be_busy(pid_t parent)
{
    volatile unsigned long count = 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent)
        count++;
    _exit(0);
}

static void begin_busy(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = (size_t)(cores > 0 ? cores : 1) * BUSY_PER_CORE;
    pid_t parent = getpid();

    fflush(NULL);
    while (busy_count < wanted && busy_count < BUSY_MAX) {
        busy[busy_count] = fork();
        CU_ASSERT_FATAL(busy[busy_count] >= 0);
        if (busy[busy_count] == 0)
            be_busy(parent);
        busy_count++;
    }
}

static void end_busy(void)
{
    while (busy_count > 0) {
        kill(busy[--busy_count], SIGKILL);
        waitpid(busy[busy_count], NULL, 0);
    }
}

TEST(no_node_is_suspected)
{
    const char *wanted = getenv("LOAD_SECONDS");
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct feeding feeding;
    uint64_t end_ms;
    bool whole = true;

    launch.topology_shape = "2x2x2x2";
    CHECK_OK(feeding_launch(&feeding, launch));
    begin_busy();
    end_ms =
        feeding_now_ms() + (uint64_t)(wanted ? atoi(wanted) : LOAD_S) * 1000;
    while (whole && feeding_now_ms() < end_ms) {
        CHECK_OK(feeding_feed(&feeding, NUMBERS, RATE));
        whole = feeding_is_whole(&feeding);
    }
    end_busy();
    CU_ASSERT(whole);
    CU_ASSERT_EQUAL(feeding.suspected, 0);
    CU_ASSERT_EQUAL(feeding.adopted + feeding.moved, 0);
    CU_ASSERT(feeding_end(&feeding));
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
}
