/* options.h - the structs that a tool fills in, whatever its version. */
#pragma once

#include <coppice/error.h>
#include <stddef.h>

/* Copy the struct `from`, which begins with its `size`, to the `room` bytes at
 * `to`, which are ours: what it lacks is zero.
 *
 * least  its size in the first version
 * init   the name of its initialiser, for the sentence in `error`
 *
 * Returns 0, or -EINVAL if its size is less than that, or if it says anything
 * that this version does not know. */
int options_read(void *to,
                 size_t room,
                 const void *from,
                 size_t least,
                 const char *init,
                 struct cop_error *error);
