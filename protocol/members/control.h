/* control.h - the packets of stream 0, and what they say.
 *
 * Stream 0 opens and closes streams, sets their parameters, says who has
 * joined and who is lost, and ends the network (PROTOCOL 3.1). Its packets
 * are numbered like any stream's. */
#ifndef PROTOCOL_MEMBERS_CONTROL_H
#define PROTOCOL_MEMBERS_CONTROL_H

#include "protocol/node.h"

/* The tag of a FRAME_CONTROL. */
enum control_type {
    CONTROL_OPEN = 1,   /* definition */
    CONTROL_CLOSE,      /* stream, after */
    CONTROL_PARAMETERS, /* stream, after, parameters */
    CONTROL_ENTER,      /* ranks; streams and their starts */
    CONTROL_LOST,       /* ranks */
    CONTROL_SHUTDOWN,
};

/* One such packet, read. Caller's storage; all zero is empty. */
struct control {
    enum control_type type;
    struct stream_definition definition; /* OPEN */
    uint32_t stream;
    uint64_t
        after; /* it takes effect behind this packet of the stream (3.1b) */
    struct payload *parameters;
    struct ranks ranks;
    uint32_t *streams; /* ENTER: those that the ranks become members of ... */
    uint64_t *starts;  /* ... after which packet they begin ... */
    uint64_t *markers; /* ... the last marker sent, which counts as settled */
    uint32_t *epochs;  /* ... and its epoch */
    uint32_t stream_count;
};

/* Free what `control` holds. */
void control_fini(struct control *control);

/* Free what a definition holds; copy one. The copy returns 0 or -ENOMEM. */
void definition_fini(struct stream_definition *definition);
int definition_copy(struct stream_definition *to,
                    const struct stream_definition *from);

/* Pack `control` into a FRAME_CONTROL without number; the payload is the
 * caller's. Returns 0 or -ENOMEM. */
int control_encode(const struct control *control, struct frame *out);

/* Read a FRAME_CONTROL from the network. `out` is untouched on error.
 * Returns 0, -EBADMSG or -ENOMEM. */
int control_decode(const struct frame *frame, struct control *out);

#endif
