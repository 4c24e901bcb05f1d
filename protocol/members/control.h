/* control.h - the packets of stream 0.
 *
 * Stream 0 opens and closes streams, sets their parameters, adds joiners,
 * removes lost back-ends, and ends the network (PROTOCOL 3.1). Its packets
 * are numbered like those of any stream. */
#pragma once

#include "protocol/node.h"

/* The tag of a FRAME_CONTROL. */
enum control_type {
    CONTROL_OPEN = 1,   /* definition */
    CONTROL_CLOSE,      /* stream, after */
    CONTROL_PARAMETERS, /* stream, after, parameters */
    CONTROL_ENTER,      /* ranks; streams and their starts */
    CONTROL_LOST,       /* ranks */
    CONTROL_SHUTDOWN,
    CONTROL_FAIL,   /* stream: it ends at once at every node (11.5) */
    CONTROL_REDO,   /* stream, generation, after: the last final wave */
    CONTROL_LEFT,   /* ranks: as LOST, and their totals are kept (17.7) */
    CONTROL_ENDING, /* ranks: to be killed by their starters (11.4) */
    CONTROL_VIEW,   /* view, stable (21) */
};

/* One control packet. Caller's storage; all zero is empty. */
struct control {
    enum control_type type;
    struct stream_definition definition; /* OPEN */
    uint32_t stream;
    uint64_t after; /* takes effect after this packet of `stream` (3.1b) */
    uint32_t generation;
    uint64_t view;   /* its number ... */
    uint64_t stable; /* ... and that of the last one that was stable then */
    struct payload *parameters;
    struct ranks ranks; /* ENTER: the joiners; LOST, LEFT: the lost back-ends;
                           ENDING: the suspects */

    /* ENTER: arrays of stream_count, one element for each stream */
    uint32_t *streams; /* its number */
    uint64_t *starts;  /* the joiners begin after this packet */
    uint64_t *markers; /* its last marker: the joiners are settled up to it */
    uint32_t *epochs;  /* the epoch of that marker */
    uint32_t stream_count;
};

/* Free the contents of `control`; it is then empty. */
void control_fini(struct control *control);

/* Free the contents of a definition; replace `to` by a copy of `from`. The copy
 * returns 0 or -ENOMEM, and leaves `to` untouched on error. */
void definition_fini(struct stream_definition *definition);
int definition_copy(struct stream_definition *to,
                    const struct stream_definition *from);

/* Pack `control` into a FRAME_CONTROL without a number; the payload is the
 * caller's. Returns 0 or -ENOMEM. */
int control_encode(const struct control *control, struct frame *out);

/* Read a FRAME_CONTROL from the network. `out` is untouched on error.
 * Returns 0, -EBADMSG or -ENOMEM. */
int control_decode(const struct frame *frame, struct control *out);
