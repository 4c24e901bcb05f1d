/* thread.h - what the kernel says of a thread without stopping it. */
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
    char state;   /* R runs, S sleeps, D sleeps in the kernel and takes no
                     signal, T is stopped, t is traced, Z has exited */
    int exited;   /* of Z: as wait() has it; 0 where it may not be read, too */
    pid_t parent; /* of its process */
    uint64_t started; /* when, in ticks since the boot: of two processes with
                         one pid, one after the other, it differs */
};

/* Read it; `tid` is `pid` for the first thread. Returns 0, or -ESRCH if there
 * is no such thread. */
int thread_status(struct thread_status *out, pid_t pid, pid_t tid);

/* How far a thread has come. */
struct thread_efforts {
    uint64_t sleeps; /* how often it has left the processor of its own accord,
                        to wait or to be stopped */
    uint64_t run_ns; /* for how long it has run; 0 where the kernel does not
                        count it */
    bool asleep;     /* it waits now */
};

/* Read it. Returns 0, or -ESRCH if there is no such thread. */
int thread_efforts(struct thread_efforts *out, pid_t pid, pid_t tid);

/* Which thread's folder in /proc tells what process `pid` has mapped: the first
 * one's, or that of one which has outlived it. */
pid_t thread_with_memory(pid_t pid);

/* What thread `tid` is for its own process: another number than for us if that
 * is in a container. */
pid_t thread_inner_tid(pid_t pid, pid_t tid);

/* Whether a state is that of a thread that has ended. */
bool thread_has_ended(char state);

/* Write where in the kernel the thread sleeps, such as "nfs_wait" or, where the
 * kernel does not tell, "system call read"; "" if it tells neither: it does
 * only to who may trace the thread. */
void thread_place(char text[static THREAD_PLACE_SIZE], pid_t pid, pid_t tid);

/* What people call a signal, such as "SIGTTIN"; into `text`. */
const char *thread_signal(char text[static THREAD_NAME_SIZE], int signal);
