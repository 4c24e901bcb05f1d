/* quiet.h - threads that sleep in a system call which a stop would end.
 *
 * A few calls return EINTR when their thread is stopped and goes on, although
 * no signal handler ran: see signal(7). Such a thread need not be stopped: while
 * it sleeps, its stack and the registers that it gave the kernel stay as they
 * are, and the kernel tells whether it has run meanwhile. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Registers are numbered as in DWARF; so many are known, the pc the last. */
#define QUIET_REGISTERS 17
#define QUIET_PC        16

/* A thread, asleep in such a call. */
struct quiet {
    uint64_t registers[QUIET_REGISTERS];
    uint32_t known;         /* which of them, a bit each */
    unsigned long switches; /* how often it has left a processor */
};

/* Whether the thread was in such a call just now: quicker than quiet_look(). */
bool quiet_is_likely(pid_t pid, pid_t tid);

/* Find how thread `tid` of process `pid` sleeps. Returns whether it does so in
 * such a call; always false where registers are not known to us. */
bool quiet_look(struct quiet *out, pid_t pid, pid_t tid);

/* Whether it has slept ever since. */
bool quiet_is_same(const struct quiet *quiet, pid_t pid, pid_t tid);
