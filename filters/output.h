/* output.h - the output of a filter's call. */
#pragma once

#include <coppice/filter.h>

#include "wire/frame.h"
#include "wire/limits.h"

/* The output of a call. Caller's storage, all zero at first, and reused by
 * later calls. The caller sets the payload of a frame that it takes to NULL. */
struct loader_output {
    struct frame *up; /* tag, origin and payload of each */
    size_t up_count;
    size_t up_room;
    struct frame *down;
    size_t down_count;
    size_t down_room;
    char text[LIMIT_TEXT]; /* "": no error */
};

/* Release the frames that were not taken. The storage is kept. */
void loader_output_clear(struct loader_output *output);

/* Release the frames and free the storage. */
void loader_output_fini(struct loader_output *output);

/* Release the frames, but keep the text. */
void loader_output_drop(struct loader_output *output);

/* Append `frame`, which is taken, also on error. Returns 0 or -ENOMEM. */
int loader_output_add(struct loader_output *output,
                      bool upward,
                      struct frame frame);

/* Set the text to the reason `code`, a negative errno, of a call of `filter`,
 * unless there is a text already: the first reason counts. Returns `code`. */
int loader_output_fail(struct loader_output *output,
                       const struct cop_filter *filter,
                       int code);
