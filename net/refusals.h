/* refusals.h - which refused connections get a line in the log.
 *
 * Any process may connect to a node: a flood of connections without the key
 * must not become a flood of lines. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Lines in one second. */
#define REFUSALS_MAX 10

/* Caller's storage; zeros to begin. */
struct refusals {
    uint64_t until_ms; /* the end of this second */
    uint32_t written;
    uint32_t left_out;
};

/* A connection was refused at `now_ms`. Returns whether it gets a line. */
bool refusals_add(struct refusals *refusals, uint64_t now_ms);

/* How many refusals got no line in the second that ended by `now_ms`
 * (UINT64_MAX: even if it has not ended), to be logged now; 0 while the second
 * has not ended. The next second begins with the next refusal. */
uint32_t refusals_left_out(struct refusals *refusals, uint64_t now_ms);
