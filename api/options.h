/* options.h - option structs of any version. */
#pragma once

#include <coppice/error.h>
#include <stddef.h>

/* Copy the struct `from`, which begins with its `size`, to the `room` bytes at
 * `to`, the struct of this version. Missing members become zero.
 *
 * least  its size in the first version
 * init   the name of its initialiser, for the sentence in `error`
 *
 * Returns 0, or -EINVAL if its size is less than `least`, or if it sets a
 * member that this version does not have. */
int options_read(void *to,
                 size_t room,
                 const void *from,
                 size_t least,
                 const char *init,
                 struct cop_error *error);
