/* machine.c - the cost of a fault, a wake-up and a new process here. */
#include "bench/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/duel.h"
#include "bench/sample.h"

#define REPEATS 5

#define FAULTS   1024
#define WAKE_UPS 100 /* pairs of them */
#define EXECS    5

extern char **environ;

/* The microseconds of one operation; or a negative errno. */
typedef double measure_fn(void);

static double measure_fault(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t len = FAULTS * page;
    char *at = mmap(NULL, len, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    double start;

    if (at == MAP_FAILED)
        return -errno;
    madvise(at, len, MADV_NOHUGEPAGE); /* -EINVAL: no huge pages here */
    start = duel_now_s();
    for (size_t i = 0; i < len; i += page)
        *(volatile char *)(at + i) = 1;
    start = duel_now_s() - start;
    munmap(at, len);
    return start * 1e6 / FAULTS;
}

/* Return each byte, until end-of-file. */
static void echo(int from, int to)
{
    char byte;

    while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1)
        continue;
}

static double time_trips(int to, int from)
{
    struct sample trips = {.values = NULL};
    double us;
    char byte = 0;
    int r = 0;

    for (int i = 0; r == 0 && i < WAKE_UPS; i++) {
        double start = duel_now_s();

        if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1)
            r = -EIO;
        else
            r = sample_add(&trips, (duel_now_s() - start) * 1e6);
    }
    us = r < 0 ? r : sample_quantile(&trips, 0.5) / 2;
    sample_fini(&trips);
    return us;
}

/* Measure between two processes on these CPUs. */
static double measure_pair(const cpu_set_t *here, const cpu_set_t *there)
{
    int down[2], up[2];
    double us;
    pid_t pid;

    if (pipe2(down, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(up, O_CLOEXEC) < 0) {
        close(down[0]);
        close(down[1]);
        return -EMFILE;
    }
    pid = fork();
    if (pid == 0) {
        sched_setaffinity(0, sizeof(*there), there);
        close(down[1]);
        close(up[0]);
        echo(down[0], up[1]);
        _exit(0);
    }
    close(down[0]);
    close(up[1]);
    sched_setaffinity(0, sizeof(*here), here);
    us = pid < 0 ? -EAGAIN : time_trips(down[1], up[0]);
    close(down[1]);
    close(up[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return us;
}

/* Returns 0 if there is no other CPU. */
static double measure_wait(bool other)
{
    cpu_set_t all, first, last;
    double us = 0;

    if (sched_getaffinity(0, sizeof(all), &all) < 0)
        return -errno;
    CPU_ZERO(&first);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all))
            continue;
        if (CPU_COUNT(&first) == 0)
            CPU_SET(cpu, &first);
        CPU_ZERO(&last);
        CPU_SET(cpu, &last);
    }
    if (!other)
        us = measure_pair(&first, &first);
    else if (CPU_COUNT(&all) > 1)
        us = measure_pair(&first, &last);
    sched_setaffinity(0, sizeof(all), &all);
    return us;
}

static double measure_switch(void)
{
    return measure_wait(false);
}

static double measure_wake_up(void)
{
    return measure_wait(true);
}

static double measure_exec(void)
{
    char *argv[] = {(char *)"true", NULL};
    double start = duel_now_s();

    for (int i = 0; i < EXECS; i++) {
        pid_t pid;
        int r = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);

        if (r != 0)
            return -r;
        waitpid(pid, NULL, 0);
    }
    return (duel_now_s() - start) * 1e6 / EXECS;
}

int machine_measure(struct machine *machine)
{
    const struct {
        measure_fn *measure;
        double *into;
    } each[] = {
        {measure_fault, &machine->fault_us},
        {measure_switch, &machine->switch_us},
        {measure_wake_up, &machine->wake_up_us},
        {measure_exec, &machine->exec_us},
    };

    for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
        for (int k = 0; k < REPEATS; k++) {
            double us = each[i].measure();

            if (us < 0)
                return (int)us;
            if (k == 0 || us < *each[i].into)
                *each[i].into = us;
        }
    }
    return 0;
}

void machine_print(void)
{
    struct machine machine;
    int r = machine_measure(&machine);

    if (r < 0)
        printf("machine: cannot be measured: %s\n", strerror(-r));
    else
        printf("machine: %ld CPUs; a fault costs %.2f us, a wake-up %.1f us on "
               "the same CPU and %.1f us on another, fork and exec of `true` "
               "%.2f ms\n",
               sysconf(_SC_NPROCESSORS_ONLN), machine.fault_us,
               machine.switch_us, machine.wake_up_us, machine.exec_us / 1e3);
}
