/* child.h - the process that a thread waits for, by wait4(2) or waitid(2). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes of the note. */
#define CHILD_NOTE_SIZE 80

/* Write a note on what thread `tid` of process `pid`, which is in such a call,
 * waits for: "[waits for process 4711 (sleep)]", or "[waits for one of 3 processes]".
 *
 * wanted  a pid as that process knows it, or what is not positive, for any
 *         process that it has started
 *
 * Returns whether it is known: any process, or one of a container with its own
 * pids, not if the process has 256 threads or more. */
bool child_note(char note[static CHILD_NOTE_SIZE],
                pid_t pid,
                pid_t tid,
                int32_t wanted);
