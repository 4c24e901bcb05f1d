/* test_counting.c - what a process asks of the kernel is counted as it was. */
#include "bench/counting.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/machine.h"
#include "test/check.h"

#define CALLS 1000
#define PAGES 300
#define TRIPS 50

static const char maps[] =
    "55d0c0000000-55d0c0001000 r--p 00000000 fe:00 17  /usr/bin/tool\n"
    "55d0c0001000-55d0c0003000 r-xp 00001000 fe:00 17  /usr/bin/tool\n"
    "55d0c0003000-55d0c0004000 rw-p 00003000 fe:00 17  /usr/bin/tool\n"
    "55d0c0004000-55d0c0006000 rw-p 00000000 00:00 0 \n"
    "55d0c1000000-55d0c1021000 rw-p 00000000 00:00 0   [heap]\n"
    "7f0000000000-7f0000100000 rw-p 00000000 00:00 0 \n"
    "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0   [stack]\n"
    "7ffc00100000-7ffc00102000 r-xp 00000000 00:00 0   [vdso]\n";

/* The zeroed variables behind a file's writable part are data, too. */
TEST(a_place_is_that_of_its_mapping)
{
    CU_ASSERT_EQUAL(counting_place(maps, 0x55d0c0000008), COUNTING_DATA);
    CU_ASSERT_EQUAL(counting_place(maps, 0x55d0c0001000), COUNTING_CODE);
    CU_ASSERT_EQUAL(counting_place(maps, 0x55d0c0002fff), COUNTING_CODE);
    CU_ASSERT_EQUAL(counting_place(maps, 0x55d0c0003000), COUNTING_DATA);
    CU_ASSERT_EQUAL(counting_place(maps, 0x55d0c0004000), COUNTING_DATA);
    CU_ASSERT_EQUAL(counting_place(maps, 0x55d0c1000010), COUNTING_HEAP);
    CU_ASSERT_EQUAL(counting_place(maps, 0x7f0000000000), COUNTING_HEAP);
    CU_ASSERT_EQUAL(counting_place(maps, 0x7ffc00020ff8), COUNTING_STACK);
    CU_ASSERT_EQUAL(counting_place(maps, 0x7ffc00100000), COUNTING_CODE);
    CU_ASSERT_EQUAL(counting_place(maps, 0x1000), COUNTING_HEAP);
    CU_ASSERT_EQUAL(counting_place("", 0x1000), COUNTING_HEAP);
}

#define ROLE(words) counting_role_of((words), sizeof(words))

TEST(a_role_is_that_of_the_command_line)
{
    CU_ASSERT_EQUAL(ROLE("/b/run/coppice-commnode"), COUNTING_COMMNODE);
    CU_ASSERT_EQUAL(ROLE("coppice-commnode\0--x"), COUNTING_COMMNODE);
    CU_ASSERT_EQUAL(ROLE("/b/bench/bench_be"), COUNTING_BACK_END);
    CU_ASSERT_EQUAL(ROLE("/b/bare_node\0005000\0004x4\0000"),
                    COUNTING_COMMNODE);
    CU_ASSERT_EQUAL(ROLE("/b/bare_node\0005000\0-\0000"), COUNTING_BACK_END);
    CU_ASSERT_EQUAL(ROLE("bare_rescue\0005000\0orphan:1,2\0000"),
                    COUNTING_BACK_END);
    CU_ASSERT_EQUAL(ROLE("bare_rescue\0005000\0refuge\0000"),
                    COUNTING_COMMNODE);
    CU_ASSERT_EQUAL(ROLE("bare_node\0005000"), COUNTING_BACK_END);
}

struct child {
    pid_t pid;
    int to, from;
};

/* Wait for a byte, work, answer; until the end of the file. */
static void serve(int from, int to, void (*work)(void))
{
    char byte;

    while (read(from, &byte, 1) == 1) {
        work();
        if (write(to, &byte, 1) != 1)
            _exit(1);
    }
    _exit(0);
}

static struct child start_child(void (*work)(void))
{
    struct child child;
    int down[2], up[2];

    CU_ASSERT_EQUAL_FATAL(pipe(down), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(up), 0);
    child.pid = fork();
    CU_ASSERT_FATAL(child.pid >= 0);
    if (child.pid == 0) {
        close(down[1]);
        close(up[0]);
        serve(down[0], up[1], work);
    }
    close(down[0]);
    close(up[1]);
    child.to = down[1];
    child.from = up[0];
    return child;
}

/* Have the child answer, and wait until it sleeps in its next read(). */
static void ask_child(const struct child *child)
{
    char path[64], byte = 0;
    FILE *file;

    CU_ASSERT_EQUAL_FATAL(write(child->to, &byte, 1), 1);
    CU_ASSERT_EQUAL_FATAL(read(child->from, &byte, 1), 1);
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)child->pid);
    while (byte != 'S') {
        file = fopen(path, "re");
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        CU_ASSERT_EQUAL_FATAL(fscanf(file, "%*d (%*[^)]) %c", &byte), 1);
        fclose(file);
    }
}

static void end_child(const struct child *child)
{
    int status = -1;

    close(child->to);
    close(child->from);
    waitpid(child->pid, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
}

/* So many system calls, and so many pages touched for the first time. */
static void call_and_touch(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t len = PAGES * page;
    char *at;

    for (int i = 0; i < CALLS; i++)
        syscall(SYS_getppid);
    at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
              -1, 0);
    if (at == MAP_FAILED)
        _exit(1);
    madvise(at, len, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < len; i += page)
        *(volatile char *)(at + i) = 1;
}

static void nothing(void)
{
}

TEST(the_work_of_a_child_is_counted)
{
    struct counts *roles = calloc(COUNTING_ROLES, sizeof(*roles));
    const struct counts *back_end = &roles[COUNTING_BACK_END];
    struct counting *counting = NULL;
    struct child child;

    CU_ASSERT_PTR_NOT_NULL_FATAL(roles);
    CHECK_OK(counting_new(&counting));
    child = start_child(call_and_touch);
    CHECK_OK(counting_begin(counting, 0));
    ask_child(&child);
    CHECK_OK(counting_end(counting, roles));

    CU_ASSERT_EQUAL(roles[COUNTING_FRONT_END].processes, 1);
    CU_ASSERT_EQUAL(roles[COUNTING_COMMNODE].processes, 0);
    CU_ASSERT_EQUAL(back_end->processes, 1);
    CU_ASSERT(back_end->sum[COUNTING_FAULTS] >= PAGES);
    CU_ASSERT(back_end->sum[COUNTING_CPU_US] > 0);
    if (counting_knows(counting, COUNTING_HEAP))
        CU_ASSERT(back_end->sum[COUNTING_HEAP] >= PAGES &&
                  back_end->sum[COUNTING_HEAP] < 2 * PAGES);
    if (counting_knows(counting, COUNTING_CALLS)) {
        CU_ASSERT_EQUAL(back_end->calls[SYS_getppid], CALLS);
        CU_ASSERT(back_end->sum[COUNTING_CALLS] > CALLS);
        CU_ASSERT_EQUAL(back_end->sum[COUNTING_READ], 1);
        CU_ASSERT_EQUAL(back_end->sum[COUNTING_WRITTEN], 1);
        CU_ASSERT_EQUAL(roles[COUNTING_FRONT_END].sum[COUNTING_READ], 1);
    }
    end_child(&child);
    counting_free(counting);
    free(roles);
}

/* A child that waits for each of its parent's words blocks at most that often,
 * and the sums of two pieces of work add up. */
TEST(blocking_is_counted)
{
    struct counts *roles = calloc(COUNTING_ROLES, sizeof(*roles));
    struct counting *counting = NULL;
    struct child child;

    CU_ASSERT_PTR_NOT_NULL_FATAL(roles);
    CHECK_OK(counting_new(&counting));
    child = start_child(nothing);
    for (int k = 0; k < 2; k++) {
        CHECK_OK(counting_begin(counting, 0));
        for (int i = 0; i < TRIPS; i++)
            ask_child(&child);
        CHECK_OK(counting_end(counting, roles));
    }
    CU_ASSERT_EQUAL(roles[COUNTING_BACK_END].processes, 2);
    CU_ASSERT(roles[COUNTING_BACK_END].sum[COUNTING_BLOCKED] > 0);
    CU_ASSERT(roles[COUNTING_BACK_END].sum[COUNTING_BLOCKED] <= 2 * TRIPS + 2);
    if (counting_knows(counting, COUNTING_CALLS))
        CU_ASSERT_EQUAL(roles[COUNTING_BACK_END].sum[COUNTING_READ], 2 * TRIPS);
    end_child(&child);
    counting_free(counting);
    free(roles);
}

/* Back-ends of another parent, and those that have ended, are left out. */
TEST(only_the_children_of_a_parent_count)
{
    struct counts *roles = calloc(COUNTING_ROLES, sizeof(*roles));
    struct counting *counting = NULL;
    struct child child, victim;

    CU_ASSERT_PTR_NOT_NULL_FATAL(roles);
    CHECK_OK(counting_new(&counting));
    child = start_child(nothing);
    CHECK_OK(counting_begin(counting, child.pid));
    CHECK_OK(counting_end(counting, roles));
    CU_ASSERT_EQUAL(roles[COUNTING_BACK_END].processes, 0);

    victim = start_child(nothing);
    CHECK_OK(counting_begin(counting, 0));
    kill(victim.pid, SIGKILL);
    CU_ASSERT_EQUAL(waitid(P_PID, (id_t)victim.pid, &(siginfo_t){.si_pid = 0},
                           WEXITED | WNOWAIT),
                    0);
    CHECK_OK(counting_end(counting, roles)); /* the victim is a zombie */
    CU_ASSERT_EQUAL(roles[COUNTING_BACK_END].processes, 1);
    waitpid(victim.pid, NULL, 0);
    close(victim.to);
    close(victim.from);
    end_child(&child);
    counting_free(counting);
    free(roles);
}

TEST(the_machine_is_measured)
{
    cpu_set_t before, after;
    struct machine machine = {0, 0, 0, 0};

    CHECK_OK(sched_getaffinity(0, sizeof(before), &before));
    CHECK_OK(machine_measure(&machine));
    CHECK_OK(sched_getaffinity(0, sizeof(after), &after));
    CU_ASSERT(CPU_EQUAL(&before, &after));
    CU_ASSERT(machine.fault_us > 0);
    CU_ASSERT(machine.switch_us > 0);
    CU_ASSERT(machine.wake_up_us >= 0); /* 0: there is one CPU */
    CU_ASSERT(machine.exec_us > machine.fault_us);
}
