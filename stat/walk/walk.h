/* walk.h - the stacks of all threads of one process.
 *
 * A process is stopped thread by thread, its stacks are taken, and it goes on
 * as before. It is never left stopped. The frames have no names: a walker
 * remembers what was mapped, so that they can be named once for all processes
 * of a program (names.h). All calls for one walker come from one thread, which
 * the kernel knows as the tracer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <coppice/error.h>

#include "stat/tree/frame.h"

/* Most frames of one stack that are kept; a deeper one is cut in the middle,
 * where a frame says that some are left out. */
#define WALK_DEPTH_MAX 512

/* Most frames that are unwound; a deeper stack begins with "[truncated]". */
#define WALK_UNWIND_MAX 100000

/* Most threads of a process that are walked; of the others there is a note. */
#define WALK_THREADS_MAX 32768

/* Bytes of a program's path, with its end; more are cut. */
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
    size_t threads_max;   /* of more threads the others are not walked */
    bool names;           /* a thread with a name of its own begins with it, in
                             a frame such as "[thread io-#]": digits as # */
    bool states;          /* each stack ends with what the scheduler says of it
                             before the stop, such as "[sleeping in
                             futex_wait_queue]"; without this only those of
                             threads that run do, with "[running]" */
    bool waits;           /* whom a thread waits for is below its stack, in
                             frames such as "[tag 7]" and "[from rank 10]" */
    bool native;          /* the frames of Python's interpreter stay, around
                             those of the program that it runs */
    struct guard *guard;  /* armed while a process is stopped; NULL: none */
};

/* What holds where nothing is said. A walk takes some tenths of a millisecond;
 * but on a machine with more threads that run than processors it takes a while
 * until each has stopped. */
#define WALK_PATIENCE_MS 1000
#define WALK_MAX_STOP_MS 5000
#define WALK_OPTIONS_INIT                                                      \
    {                                                                          \
        .patience_ms = WALK_PATIENCE_MS, .max_stop_ms = WALK_MAX_STOP_MS,      \
        .threads_max = WALK_THREADS_MAX                                        \
    }

/* One stack: `count` frames (at least 1), outermost first, without names, or
 * notes; valid during the call. Returns 0, or a negative errno that ends the
 * walk. */
typedef int (*walk_fn)(void *arg,
                       pid_t tid,
                       const struct frame *frames,
                       size_t count);

/* Make a walker. Returns 0 or -ENOMEM. */
int walker_new(struct walker **out);

/* Free `walker`. NULL is fine. */
void walker_free(struct walker *walker);

/* What names the frames that it has given; borrowed. */
struct names *walker_names(const struct walker *walker);

/* What it has found of functions, under these names; borrowed. */
struct kinds *walker_kinds(const struct walker *walker);

/* Let threads go that did not stop in time, for they were stuck in the kernel,
 * and have stopped meanwhile. Returns how many have not: call again soon. */
size_t walker_release(struct walker *walker);

/* Walk all threads of process `pid`, calling `fn` for each.
 *
 * A thread that does not stop in time, for it is stuck in the kernel, has a
 * stack of one frame, such as "[stuck in nfs_wait]". When `max_stop_ms` have
 * passed the process is let go, and what there is begins with a note, such as
 * "[stopped for 5 ms: walk given up after 37 frames]", or is one. The stacks of
 * a process that was stopped before begin with "[stopped by SIGSTOP]"; of one
 * that has ended, for which nobody has waited, there is one stack of one frame,
 * such as "[zombie: killed by SIGSEGV]".
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

/* Walk all threads of the process of which `path` is a core file.
 *
 * pid      becomes its pid
 * program  becomes its program's path; "" if that is not known
 *
 * Returns 0, or with a sentence in `error` what opening the file said, -ENOEXEC
 * if it is no core file that can be read, or what `fn` said. */
int walk_core(struct walker *walker,
              const char *path,
              pid_t *pid,
              char program[static WALK_PROGRAM_SIZE],
              walk_fn fn,
              void *arg,
              struct cop_error *error);
