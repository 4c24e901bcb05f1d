/* quiet.h - threads that sleep in a system call that a stop would interrupt.
 *
 * A few calls return EINTR when their thread is stopped and continued, although
 * no signal handler ran: see signal(7). A call that writes returns what it has
 * written by then. Such a thread need not be stopped.
 * While it sleeps, its stack and the registers that it gave the kernel do not
 * change; the kernel's count of context switches shows whether it has run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How many registers are known, by DWARF numbers; the last is the pc. */
#define QUIET_REGISTERS 17
#define QUIET_PC        16

/* A thread that sleeps in such a call, or in any. */
struct quiet {
    bool any;
    uint64_t registers[QUIET_REGISTERS];
    uint32_t known;         /* bit i: register i is known */
    unsigned long switches; /* its context switches so far */
};

/* Whether the thread was in such a call just now, with `any` in any call:
 * quicker than quiet_look(). */
bool quiet_is_likely(pid_t pid, pid_t tid, bool any);

/* Find how thread `tid` of process `pid` sleeps. Returns whether it is in such
 * a call, with `any` in any call; always false on processors with registers not
 * known here. */
bool quiet_look(struct quiet *out, pid_t pid, pid_t tid, bool any);

/* Whether the thread has slept ever since quiet_look(). */
bool quiet_is_same(const struct quiet *quiet, pid_t pid, pid_t tid);
