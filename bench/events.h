/* events.h - what this process and all that it starts ask of the kernel: each
 * system call, minor page fault and context switch, as the kernel's perf events tell.
 *
 * Nobody is stopped for it: an event costs its process some 0.2 us. System
 * calls are told to root only (or with kernel.perf_event_paranoid -1), faults
 * to everybody. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* In place of a system call's number. */
#define EVENT_FAULT     (-1) /* `value` is the address */
#define EVENT_EXEC      (-2) /* the process now runs another program */
#define EVENT_BLOCKED   (-3) /* a thread waits: it leaves the CPU */
#define EVENT_PREEMPTED (-4) /* a thread that could go on leaves the CPU */

struct event {
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    pid_t pid;
    int32_t call;  /* number of a system call that has returned */
    int64_t value; /* what it returned */
};

struct events;

/* Begin to record. Call this before threads and processes are started.
 *
 * Returns 0; -ENOMEM; or an error of perf_event_open() if not even faults are
 * told. */
int events_open(struct events **out);

/* Whether system calls are told. */
bool events_have_calls(const struct events *events);

/* Take what has been recorded since the last time, in the order of each CPU.
 * The list belongs to `events` and holds until the next call.
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW: some had no room. */
int events_take(struct events *events, struct event **list, size_t *count);

/* Stop recording and free `events`. NULL is fine. */
void events_close(struct events *events);
