/* suspended.h - the tasks of asyncio that wait: they are on no stack. A loop's
 * frame leads to the set of all tasks, a task to its coroutine, and that to the
 * coroutine for which it waits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stat/walk/code.h"
#include "stat/walk/python.h"

/* Read the suspended tasks of the loop at `loop`, until `deadline_ns` of
 * CLOCK_MONOTONIC: those of one place together, most first. `out->list` is freed
 * by the caller, its strings live as long as `codes`. Returns 0 or -ENOMEM.
 *
 * globals  the dictionary of the loop's module, asyncio.base_events */
int suspended_read(struct python_suspended *out,
                   struct codes *codes,
                   uint64_t globals,
                   uint64_t loop,
                   uint64_t deadline_ns);

/* Most notes about the tasks of a loop, and bytes of one. */
#define SUSPENDED_NOTES     6
#define SUSPENDED_NOTE_SIZE 192

/* Write note number `i` about `tasks`, which the picture shows: the places of the
 * most tasks, how many others there are, and whether there may be more. Returns
 * whether there is such a note. */
bool suspended_note(char note[SUSPENDED_NOTE_SIZE],
                    const struct python_suspended *tasks,
                    size_t i);
