/* output.h - the bytes queued for a socket: copied bytes, and between them
 * references to long payloads. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/frame.h"

struct output_piece;

/* Caller's storage; empty if all zero. */
struct output {
    struct payload *buffer; /* copied bytes: from start to end; or NULL */
    size_t start;
    size_t end;
    size_t tail; /* copied bytes after the last piece */
    struct output_piece *pieces;
    size_t piece_start;
    size_t piece_end;
    size_t piece_room;
    size_t piece_sent; /* how much of the first payload is written */
    struct frame_writer writer;
};

/* Whether nothing is queued. */
bool output_is_empty(const struct output *output);

/* Queue bytes, or a frame. A long payload is taken: the frame has none
 * afterwards. Returns 0, -ENOMEM, or -EMSGSIZE if more than LIMIT_FRAME bytes
 * must be copied. */
int output_put_bytes(struct output *output,
                     const unsigned char *in,
                     size_t len);
int output_put_frame(struct output *output, struct frame *frame);

/* Write what `fd` takes without blocking, up to about 1 MiB. Returns how many
 * bytes, or a negative errno other than -EAGAIN. */
ssize_t output_write(struct output *output, int fd);

/* For a process that has crashed: write all that is queued, then `last`. Makes
 * system calls only, and frees nothing. Returns whether all was written before
 * `until_ms` of the monotonic clock. */
bool output_write_last(const struct output *output,
                       int fd,
                       const unsigned char *last,
                       size_t len,
                       uint64_t until_ms);

/* Drop what is queued. */
void output_drop(struct output *output);

/* Drop what is queued, and free the queue. */
void output_fini(struct output *output);
