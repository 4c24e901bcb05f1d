/* output.h - what waits to be written to a socket: copied bytes, and between
 * them long payloads by reference. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/frame.h"

struct output_piece;

/* Caller's storage; empty with zeros. */
struct output {
    struct payload *buffer; /* copied bytes: from start to end; or NULL */
    size_t start;
    size_t end;
    size_t tail; /* copied bytes behind the last piece */
    struct output_piece *pieces;
    size_t piece_start;
    size_t piece_end;
    size_t piece_room;
    size_t piece_sent; /* bytes of the first piece's payload */
    struct frame_writer writer;
};

/* Whether nothing is queued. */
bool output_is_empty(const struct output *output);

/* Queue bytes, or a frame: a long payload is taken then, and the frame has none
 * any more. Returns 0, -ENOMEM, or -EMSGSIZE if more than LIMIT_FRAME bytes
 * are to be copied. */
int output_put_bytes(struct output *output,
                     const unsigned char *in,
                     size_t len);
int output_put_frame(struct output *output, struct frame *frame);

/* Write what `fd` takes without blocking, about 1 MiB at most. Returns how many
 * bytes, or a negative errno other than -EAGAIN. */
ssize_t output_write(struct output *output, int fd);

/* For a process that has crashed: write all that is queued, and `last` behind
 * it. Nothing but the system is called, and nothing is freed. Returns whether
 * all was written before `until_ms` of the monotonic clock. */
bool output_write_last(const struct output *output,
                       int fd,
                       const unsigned char *last,
                       size_t len,
                       uint64_t until_ms);

/* Drop what is queued. */
void output_drop(struct output *output);

/* Drop it, and free the queue. */
void output_fini(struct output *output);
