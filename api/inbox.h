/* inbox.h - what was delivered and not yet taken: one queue in the order of
 * delivery, and through it a view of each stream.
 *
 * A delivery is in both at once, so a packet that is taken by one way is gone
 * from the other. Places are reused: nothing is allocated for each packet. */
#pragma once

#include "wire/frame.h"

struct cop_stream;

struct delivery {
    struct frame frame;
    struct cop_stream *stream;
    bool taken;            /* the machine was told already (10.6: a sync) */
    struct delivery *prev; /* in the order of delivery */
    struct delivery *next;
    struct delivery *stream_prev; /* the same, on its stream */
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

/* Take `delivery` out of queue and view; its frame is the caller's, and its
 * place is used again. */
void inbox_remove(struct inbox *inbox,
                  struct delivery **view,
                  struct delivery *delivery,
                  struct frame *frame);

/* Free what one view has. */
void inbox_drop(struct inbox *inbox, struct delivery **view);

/* Free the places; every view is empty. */
void inbox_fini(struct inbox *inbox);
