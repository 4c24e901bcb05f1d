/* events.h - what this process and its descendants ask of the kernel: system
 * calls, minor page faults and context switches, from the kernel's perf events.
 *
 * No process is stopped for that: an event costs its process about 0.2 us. Only
 * root sees system calls, unless kernel.perf_event_paranoid is -1; every user
 * sees faults. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Used instead of a system call's number. */
#define EVENT_FAULT     (-1) /* `value` is the address */
#define EVENT_EXEC      (-2) /* the process now runs another program */
#define EVENT_BLOCKED   (-3) /* a thread waits, and leaves the CPU */
#define EVENT_PREEMPTED (-4) /* a thread that could continue leaves the CPU */

struct event {
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    pid_t pid;
    int32_t call;  /* number of a system call that has returned */
    int64_t value; /* what it returned */
};

struct events;

/* Start recording. Call this before threads and processes are started.
 *
 * Returns 0; -ENOMEM; or an error of perf_event_open() if not even faults are
 * visible. */
int events_open(struct events **out);

/* Whether system calls are visible. */
bool events_have_calls(const struct events *events);

/* Take the events recorded since the last call, in order for each CPU. The list
 * belongs to `events` and is valid until the next call.
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW if events were lost. */
int events_take(struct events *events, struct event **list, size_t *count);

/* Stop recording and free `events`. NULL is fine. */
void events_close(struct events *events);
