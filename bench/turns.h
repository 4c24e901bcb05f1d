/* turns.h - processes that take turns, so that what they do can be counted.
 *
 * turns.so, preloaded into a tree of processes under callgrind, lets one of them
 * run at a time. A process runs until it would wait; then the next one that has
 * something to do runs, in the order in which they were started. The clock
 * stands still; if none has anything to do, it jumps to the earliest timeout. So
 * each run makes the same steps, however busy the machine is. What a process
 * does while it waits for its turn is not counted.
 *
 * TURNS in the environment names a file of TURNS_LEN bytes, at first all zero,
 * which the processes share. */
#pragma once

#define TURNS_LEN 65536

/* Wait until no process has anything to do. From then on each counts from zero.
 * What it has counted before is written by callgrind, with the name of the phase
 * that has ended: that of the call before, or "launch". */
__attribute__((weak)) void turns_phase(const char *name);

/* Begin a last phase, and end all other processes. */
__attribute__((weak)) void turns_end(void);
