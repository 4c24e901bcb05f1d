/* walk.h - the stacks of all threads of one process.
 *
 * A process is stopped thread by thread, its stacks are taken, and it continues
 * as before. It is never left stopped. The frames have no names: a walker
 * remembers the mapped modules, so that frames are named once for all processes
 * of a program (names.h). All calls for one walker must come from one thread,
 * which the kernel knows as the tracer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <coppice/error.h>

#include "stat/tree/frame.h"

/* Most frames kept of one stack; in a deeper one, a frame replaces the middle
 * and says so. */
#define WALK_DEPTH_MAX 512

/* Most frames that are unwound; a deeper stack begins with "[truncated]". */
#define WALK_UNWIND_MAX 100000

/* Most threads of a process that are walked; a note counts the others. */
#define WALK_THREADS_MAX 32768

/* Bytes of a program's path, with its end; a longer path is cut. */
#define WALK_PROGRAM_SIZE 256

struct kinds;
struct names;
struct guard;
struct walker; /* opaque */

/* How to walk. */
struct walk_options {
    uint32_t patience_ms; /* how long to wait for threads that are stuck */
    uint32_t max_stop_ms; /* how long a process may be stopped, at most; half
                             of it for stopping its threads */
    size_t threads_max;   /* most threads to walk; the others are left out */
    bool names;           /* the stack of a thread with its own name begins with
                             a frame such as "[thread io-#]": digits as # */
    bool states;          /* each stack ends with the thread's scheduler state
                             before the stop, such as "[sleeping in
                             futex_wait_queue]"; if false, only a running
                             thread's does, with "[running]" */
    bool waits;           /* what a thread waits for is below its stack, in
                             frames such as "[tag 7]" and "[from rank 10]" */
    bool native;          /* keep the frames of Python's interpreter around
                             those of the Python program */
    struct guard *guard;  /* armed while a process is stopped; NULL: none */
};

/* The defaults. A walk takes some tenths of a millisecond, but if a machine has
 * more running threads than processors, stopping each thread takes longer. */
#define WALK_PATIENCE_MS 1000
#define WALK_MAX_STOP_MS 5000
#define WALK_OPTIONS_INIT                                                      \
    {                                                                          \
        .patience_ms = WALK_PATIENCE_MS, .max_stop_ms = WALK_MAX_STOP_MS,      \
        .threads_max = WALK_THREADS_MAX                                        \
    }

/* One stack: `count` frames (at least 1) without names, or notes, outermost
 * first; valid during the call. Returns 0, or a negative errno that ends the
 * walk. */
typedef int (*walk_fn)(void *arg,
                       pid_t tid,
                       const struct frame *frames,
                       size_t count);

/* Make a walker. Returns 0 or -ENOMEM. */
int walker_new(struct walker **out);

/* Free `walker`. NULL is fine. */
void walker_free(struct walker *walker);

/* The names of the frames of this walker; borrowed. */
struct names *walker_names(const struct walker *walker);

/* The kinds of functions found, under these names; borrowed. */
struct kinds *walker_kinds(const struct walker *walker);

/* Release threads that were stuck in the kernel, if they have stopped by now.
 * Returns how many have not: call again soon. */
size_t walker_release(struct walker *walker);

/* Walk all threads of process `pid`, calling `fn` for each.
 *
 * A thread that is stuck in the kernel and does not stop in time has a stack of
 * one frame, such as "[stuck in nfs_wait]". After `max_stop_ms` the process is
 * let go, and an incomplete stack begins with a note, such as "[stopped for 5
 * ms: walk given up after 37 frames]", or consists of it. The stacks of a
 * process that was stopped before begin with "[stopped by SIGSTOP]". A process
 * that has ended, but was not waited for, has one stack of one frame, such as
 * "[zombie: killed by SIGSEGV]".
 *
 * stop_ns  how long the process was stopped
 *
 * Returns 0, or with a sentence in `error`:
 *   -ESRCH    there is no such process (any more)
 *   -EPERM    this process may not be traced by us
 *   -ENOEXEC  it is a 32-bit program, which is not supported
 *   others    from the system, or from `fn` */
int walk_process(struct walker *walker,
                 pid_t pid,
                 const struct walk_options *options,
                 uint64_t *stop_ns,
                 walk_fn fn,
                 void *arg,
                 struct cop_error *error);

/* Walk all threads of the process of core file `path`.
 *
 * pid      becomes its pid
 * program  becomes its program's path; "" if that is not known
 *
 * Returns 0, or with a sentence in `error` the error of opening the file,
 * -ENOEXEC if it is no core file that can be read, or what `fn` returned. */
int walk_core(struct walker *walker,
              const char *path,
              pid_t *pid,
              char program[static WALK_PROGRAM_SIZE],
              walk_fn fn,
              void *arg,
              struct cop_error *error);
