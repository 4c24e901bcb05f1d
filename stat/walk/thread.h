/* thread.h - what the kernel tells about a thread without stopping it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes of a thread's name, and of a place in the kernel, with their ends. */
#define THREAD_NAME_SIZE  64
#define THREAD_PLACE_SIZE 160

/* What /proc/PID/task/TID/stat says. */
struct thread_status {
    char name[THREAD_NAME_SIZE]; /* as the thread calls itself */
    char state;       /* R runs, S sleeps, D sleeps in the kernel and takes no
                         signal, T is stopped, t is traced, Z has exited */
    int exited;       /* of Z: as from wait(); 0 also if it may not be read */
    pid_t parent;     /* of its process */
    uint64_t started; /* start time in ticks since the boot; it tells apart two
                         processes that had the same pid */
};

/* Read the status of a thread; `tid` is `pid` for the first thread. Returns 0,
 * or -ESRCH if there is no such thread. */
int thread_status(struct thread_status *out, pid_t pid, pid_t tid);

/* How much a thread has done. */
struct thread_efforts {
    uint64_t sleeps; /* how often it gave up the processor voluntarily, to wait
                        or to be stopped */
    uint64_t run_ns; /* how long it has run; 0 if the kernel does not count
                        it */
    bool asleep;     /* it waits now */
    bool runs;       /* now, or would if it had a processor */
};

/* How a thread sleeps. */
enum thread_sleep {
    SLEEP_UNKNOWN,
    SLEEP_FOREVER, /* until something happens */
    SLEEP_TIMED,   /* in a system call with a time-out */
    SLEEP_SHORT,   /* ... of seconds: it polls */
};

/* Find how the thread sleeps, by its system call, such as epoll_wait(). The
 * kernel tells it only to a process that may trace the thread. */
enum thread_sleep thread_sleep(pid_t pid, pid_t tid);

/* Read it. Returns 0, or -ESRCH if there is no such thread. */
int thread_efforts(struct thread_efforts *out, pid_t pid, pid_t tid);

/* The thread whose folder in /proc shows what process `pid` has mapped: the
 * first thread, or one that has outlived it. */
pid_t thread_with_memory(pid_t pid);

/* The id that thread `tid` has in its own process; in a container it is not the
 * id that it has for us. */
pid_t thread_inner_tid(pid_t pid, pid_t tid);

/* Whether threads have the same ids for process `pid` as for this one. */
bool thread_shares_ids(pid_t pid);

/* Whether `state` is that of an ended thread. */
bool thread_has_ended(char state);

/* Write the place in the kernel where the thread sleeps, such as "nfs_wait", or
 * else its system call, such as "system call read"; "" if neither is known. The
 * kernel tells both only to a process that may trace the thread. */
void thread_place(char text[static THREAD_PLACE_SIZE], pid_t pid, pid_t tid);

/* The usual name of a signal, such as "SIGTTIN"; `text` is room for it. */
const char *thread_signal(char text[static THREAD_NAME_SIZE], int signal);
