/* inbox.h - packets delivered and not yet taken: one queue in the order of
 * delivery, and a view of it for each stream.
 *
 * A delivery is in both at once: taking it from one removes it from the other.
 * The structs are reused, so packets cost no allocation each. */
#pragma once

#include "wire/frame.h"

struct cop_stream;

struct delivery {
    struct frame frame;
    struct cop_stream *stream;
    bool taken;            /* the machine was told (10.6: a sync) */
    struct delivery *prev; /* in the order of delivery */
    struct delivery *next;
    struct delivery *stream_prev; /* of the same stream */
    struct delivery *stream_next;
};

/* Caller's storage; all zero is empty. A stream's view is the head of a list,
 * NULL when empty. */
struct inbox {
    struct delivery *first;
    struct delivery *spare;
};

/* Append `frame`, which is taken, also on error. Returns 0 or -ENOMEM. */
int inbox_add(struct inbox *inbox,
              struct delivery **view,
              struct cop_stream *stream,
              struct frame *frame);

/* Take the first of several lost waves that are one delivery (PROTOCOL 4.3b).
 * Returns whether `frame` is set; if not, remove the delivery. */
bool inbox_split(struct delivery *delivery, struct frame *frame);

/* Remove `delivery` from the queue and its view; its frame becomes the
 * caller's, and its struct is reused. */
void inbox_remove(struct inbox *inbox,
                  struct delivery **view,
                  struct delivery *delivery,
                  struct frame *frame);

/* Move `delivery` to the end of another queue; its view stays the same. */
void inbox_move(struct inbox *from,
                struct inbox *to,
                struct delivery *delivery);

/* Free the deliveries of one view. */
void inbox_drop(struct inbox *inbox, struct delivery **view);

/* Free the unused structs; every view is empty. */
void inbox_fini(struct inbox *inbox);
