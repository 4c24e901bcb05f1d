/* process.h - a child process, by a descriptor that says when to look at it.
 *
 * The descriptor is a pidfd. Without pidfds (under valgrind 3.19, before Linux
 * 5.4, in some containers) it is a timer. */
#pragma once

#include <signal.h>
#include <sys/types.h>

/* Without pidfds: milliseconds between two looks. */
#define PROCESS_LOOK_MS 10

/* Watch the child `pid`. Returns a close-on-exec descriptor that is readable
 * when the child has ended, or when the next look is due; or a negative errno:
 * -ESRCH if it has ended and this process ignores SIGCHLD. */
int process_watch(pid_t pid);

/* Look at the child `pid` without waiting, as waitid() does with `options`, such
 * as WEXITED. Returns 1 with `*info`; 0 if it is in no such state; or a negative
 * errno: -ECHILD if it has ended and another wait() took its status. */
int process_look(int fd, pid_t pid, int options, siginfo_t *info);

/* Send `signal` to the child `pid`, but never to another process that has got
 * its number after another wait() of this process took its status. */
void process_kill(int fd, pid_t pid, int signal);
