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
 * CLOCK_MONOTONIC: those of one place together, most first. What cannot be read
 * is left out. `*out` is freed by the caller, its strings live as long as
 * `codes`. Returns the number of places, or -ENOMEM.
 *
 * globals  the dictionary of the loop's module, asyncio.base_events */
int suspended_read(struct python_tasks **out,
                   struct codes *codes,
                   uint64_t globals,
                   uint64_t loop,
                   uint64_t deadline_ns);

/* Most notes about the tasks of a loop, and bytes of one. */
#define SUSPENDED_NOTES     5
#define SUSPENDED_NOTE_SIZE 192

/* Write note number `i` about `count` places, which the picture shows: those of
 * the most tasks, and how many others there are. Returns whether there is such a
 * note. */
bool suspended_note(char note[SUSPENDED_NOTE_SIZE],
                    const struct python_tasks *tasks,
                    size_t count,
                    size_t i);
