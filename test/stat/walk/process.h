/* process.h - waiting for a process, and its data in /proc, for the tests of
 * stat/walk. */
#pragma once

#include <sched.h>
#include <stdlib.h>

#include "stat/clock.h"
#include "stat/walk/thread.h"
#include "test/check.h"

/* The longest wait for anything. */
#define PATIENCE_MS 120000

/* Wait until the condition holds, PATIENCE_MS at most. */
#define AWAIT(condition)                                                       \
    do {                                                                       \
        uint64_t await_end_ms_ = clock_now_ms() + PATIENCE_MS;                 \
        while (!(condition) && clock_now_ms() < await_end_ms_)                 \
            sched_yield();                                                     \
    } while (0)

/* The state of a thread; 0 if it is gone. */
static inline char thread_state(pid_t pid, pid_t tid)
{
    struct thread_status status;

    return thread_status(&status, pid, tid) == 0 ? status.state : 0;
}

/* The number after `key` in /proc/PID/status. */
static inline long status_number(pid_t pid, const char *key)
{
    char path[64], line[256];
    long number = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, key, strlen(key)) == 0)
            number = strtol(line + strlen(key), NULL, 10);
    fclose(file);
    return number;
}
