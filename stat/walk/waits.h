/* waits.h - what a thread waits for: the owner of a mutex, a rank of MPI.
 *
 * The data are taken while the process is stopped: registers of each frame, and
 * a part of the stack. They are interpreted later. */
#pragma once

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stat/walk/kinds.h"
#include "stat/walk/names.h"

/* Most threads of a process whose data are taken. */
#define WAITS_THREADS_MAX 256

/* Most notes about one thread, and bytes of each. */
#define WAITS_NOTES     3
#define WAITS_NOTE_SIZE 80 /* as CHILD_NOTE_SIZE and MUTEX_NOTE_SIZE */

struct waits; /* data of one thread; opaque */

/* Make an empty one. Returns it, or NULL without memory. */
struct waits *waits_new(void);

/* Free `waits`. NULL is fine. */
void waits_free(struct waits *waits);

/* Take the registers of the next frame of the thread, innermost first. */
void waits_take_frame(struct waits *waits, Dwfl_Frame *state);

/* Take the innermost part of the stack, and the mutex it may wait for. */
void waits_take_memory(struct waits *waits, pid_t pid);

/* The first argument of the system call in which the thread is, if it is in one:
 * for a lock, its address. */
uint64_t waits_address(const struct waits *waits);

/* Find what the thread waits for, as notes to put below its stack, such as
 * "[thread 18 waits for thread 17]", or "[all of 2 requests]", "[tag 7]" and
 * "[from rank 10]"; or "[waits for process 4711 (sleep)]".
 *
 * pcs  the addresses of its frames, innermost first, as frames are named
 *
 * Returns how many notes there are, or -ENOMEM. */
int waits_notes(char notes[static WAITS_NOTES][WAITS_NOTE_SIZE],
                const struct waits *waits,
                struct kinds *kinds,
                struct names *names,
                struct modules *modules,
                pid_t pid,
                pid_t tid,
                const Dwarf_Addr *pcs,
                size_t count);

/* A call of MPI or of the C library may jump to an inner function: then its own
 * frame is not on the stack. Insert it before frames[0], which is the frame of `callee`, called from
 * `caller`; both are addresses as frames are named, `caller` is 0 if there is
 * none. frames[1] may be written. `*in` becomes whether frames[0] is in
 * MPI or OpenSHMEM. Returns how many frames were inserted, or -ENOMEM. */
int waits_jumped(bool *in,
                 struct frame *frames,
                 struct kinds *kinds,
                 struct names *names,
                 struct modules *modules,
                 pid_t pid,
                 Dwarf_Addr caller,
                 Dwarf_Addr callee);
