/* frame.h - frames on a link: a header of 32 bytes and a payload.
 *
 *     0        4    5     6          8        12    16       20      24
 *     | length |type|flags| reserved | stream | tag | origin | count |sequence|
 *
 * Network byte order (PROTOCOL 2.1). A frame with the flag FRAME_WAVES has 16
 * bytes more between header and payload (PROTOCOL 16.2):
 *
 *     32      40           44         48
 *     | check | generation | reserved |
 *
 * A frame is a small value, and copying it does not copy the payload:
 * frame_ref() makes a copy that may be kept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/payload.h"

#define FRAME_HEADER_LEN 32
#define FRAME_WAVES_LEN  16

/* Bytes of a HEARTBEAT that repeats the last one on its link: UINT32_MAX in the
 * place of a length. All other frames are longer than several of these, so that
 * an idle link wakes its reader for the others only (PROTOCOL 6.1e). */
#define FRAME_REPEAT_LEN 4

/* The longest header. */
#define FRAME_HEAD_MAX (FRAME_HEADER_LEN + FRAME_WAVES_LEN)

/* The types of frames, and their directions. */
#define FRAME_TYPES(X)                                                         \
    X(FRAME_DATA, 1, "data")           /* both: a packet of a stream */        \
    X(FRAME_MARKER, 2, "marker")       /* down: a sync */                      \
    X(FRAME_CONTROL, 3, "control")     /* down: stream 0 */                    \
    X(FRAME_SNAPSHOT, 4, "snapshot")   /* down: the state of stream 0 */       \
    X(FRAME_RESUME, 5, "resume")       /* up: the sender counts from here */   \
    X(FRAME_CLAIM, 6, "claim")         /* up: (members, received, settled) */  \
    X(FRAME_STABLE, 7, "stable")       /* down: all members have these */      \
    X(FRAME_CREDIT, 8, "credit")       /* both: bytes that were consumed */    \
    X(FRAME_HEARTBEAT, 9, "heartbeat") /* both */                              \
    X(FRAME_READY, 10, "ready")        /* up: a subtree has started */         \
    X(FRAME_TABLE, 11, "table")        /* down: the launched tree */           \
    X(FRAME_JOIN, 12, "join")          /* up: a joiner asks for a rank */      \
    X(FRAME_JOINED, 13, "joined")      /* down: its answer */                  \
    X(FRAME_FAULT, 14, "fault")        /* up: a filter failed */               \
    X(FRAME_RECORD, 15, "record")      /* both: failures and adoptions */      \
    X(FRAME_GOODBYE, 16, "goodbye")    /* up: this node leaves */              \
    X(FRAME_END, 17, "end")            /* down: the network has ended */       \
    X(FRAME_ADOPT, 18, "adopt")        /* up: an orphan asks */                \
    X(FRAME_ADOPTED, 19, "adopted")    /* down: its answer */                  \
    X(FRAME_PROBE, 20, "probe")        /* up: does the path reach the root */  \
    X(FRAME_PROBED, 21, "probed")      /* down: its answer */                  \
    X(FRAME_FEED, 22, "feed")          /* up: asks for the next packets */     \
    X(FRAME_COMPENSATION, 23, "compensation") /* up: a filter state */         \
    X(FRAME_EXPEL, 24, "expel")               /* down: nodes given up */       \
    X(FRAME_SILENCE, 25, "silence")           /* both: closes a silent link */ \
    X(FRAME_RECOVERED, 26, "recovered")       /* up: an orphan's report */     \
    X(FRAME_FAN_OUT, 27, "fan-out") /* both: how many back-ends nodes have */  \
    X(FRAME_TOTAL, 28, "total")     /* up: a total and its members (17.4) */   \
    X(FRAME_FAREWELL, 29, "farewell") /* up: totals of a leaving back-end */   \
    X(FRAME_FINAL, 30, "final")       /* down: waves that are accepted */      \
    X(FRAME_SKIP, 31, "skip")         /* down: numbers for others (10.7) */    \
    X(FRAME_NODE, 32, "node")         /* both: commnodes that joined (19.2) */ \
    X(FRAME_MOVE, 33, "move")         /* down: another parent (18.1) */        \
    X(FRAME_MOVED, 34, "moved")       /* up: why there was no move */          \
    X(FRAME_RETIRE, 35, "retire")     /* both: a drain (20.4) */               \
    X(FRAME_STATUS, 40, "status")     /* down, from an observer: a question */ \
    X(FRAME_HEARD, 41, "heard")       /* up: STATUS has arrived */             \
    X(FRAME_ROWS, 42, "rows")         /* up, to an observer: the answer */     \
    X(FRAME_INJECT, 43, "inject")     /* down, from an observer: a failure */  \
    X(FRAME_REPORTS, 44, "reports") /* from an observer, to it: recoveries */  \
    X(FRAME_DRAIN, 45, "drain")     /* from an observer: empty a host */

#define FRAME_ENUM(name, number, text) name = number,
enum frame_type {
    FRAME_TYPES(FRAME_ENUM)
};
#undef FRAME_ENUM

enum frame_flag {
    FRAME_LAST = 1 << 0,         /* up: the last packet of its wave */
    FRAME_LATE = 1 << 1,         /* up: its wave was already released */
    FRAME_EMPTY = 1 << 2,        /* a wave or a number without a packet */
    FRAME_COMPENSATING = 1 << 3, /* up: output for a compensation (9.2) */
    FRAME_NEWCOMER = 1 << 7,     /* up: late, as its sender has just joined */
    FRAME_WAVES = 1 << 4, /* up: it has a check and a generation (16.2) */
    FRAME_OVER = 1 << 5,  /* up: the end of an epoch (16.10) */
    FRAME_ASK = 1 << 6,   /* up: FINAL is wanted at once (16.5) */
    /* down: its payload ends with destinations (10.7) */
    FRAME_SOME = FRAME_LATE,
    FRAME_VOID = FRAME_ASK, /* in streams of totals, which have no FINAL, and
                               never sent: a total covers it (17.3) */
};

/* One frame. `payload` may be NULL: no bytes. Packets are kept and forwarded as
 * frames: DATA, and downwards MARKER and CONTROL. So their values have names
 * here; messages.h has those of the other types. */
struct frame {
    uint8_t type;
    uint8_t flags;
    uint32_t stream;
    int32_t tag;
    uint32_t origin;
    union {
        uint32_t count;        /* in the header */
        uint32_t contributors; /* up: the back-ends in it (2.4) */
        uint32_t behind;       /* down: its number minus the stable one (2.1) */
    };
    uint32_t generation; /* FRAME_WAVES: how often its stream began a redo */
    union {
        uint64_t sequence; /* in the header */
        uint64_t wave;     /* up: epoch and wave (4.1); 0: none (5.6) */
        uint64_t number;   /* down: on its stream; 0: none (5.6) */
    };
    union {
        uint64_t check; /* FRAME_WAVES: sum of its members' hashes (16.3) */
        uint64_t run;   /* FRAME_EMPTY, delivered: how many lost waves, of which
                           `wave` is the last (4.3b) */
    };
    struct payload *payload;
};

/* The name of `type` for traces and errors; "unknown" if there is none. */
const char *frame_name(uint8_t type);

_Static_assert((int)FRAME_WAVES == FRAME_WAVES_LEN,
               "frame_head_len() adds the flag");

/* Bytes of `frame` on a link before its payload. */
static inline size_t frame_head_len(const struct frame *frame)
{
    return FRAME_HEADER_LEN + (size_t)(frame->flags & FRAME_WAVES);
}

/* Bytes of `frame` on a link. */
static inline size_t frame_len(const struct frame *frame)
{
    return frame_head_len(frame) + (frame->payload ? frame->payload->len : 0);
}

/* A copy of `frame`, with a reference to its payload. */
struct frame frame_ref(const struct frame *frame);

/* Give up the reference to the payload. */
static inline void frame_fini(struct frame *frame)
{
    if (frame->payload)
        payload_free(frame->payload);
    frame->payload = NULL;
}

/* Write the header of `frame` to `out`. Returns its bytes, frame_head_len(). */
size_t frame_encode(const struct frame *frame,
                    unsigned char out[FRAME_HEAD_MAX]);

/* ---- writing frames to a stream of bytes ---- */

/* The state between two frames of one link: the header of the last HEARTBEAT.
 * Caller's storage; zeros to begin. */
struct frame_writer {
    unsigned char beat[FRAME_HEADER_LEN];
};

/* As frame_encode(), for the next frame on the link. A repeated HEARTBEAT takes
 * FRAME_REPEAT_LEN bytes. */
size_t frame_writer_encode(struct frame_writer *writer,
                           const struct frame *frame,
                           unsigned char out[FRAME_HEAD_MAX]);

/* ---- reading frames from a stream of bytes ---- */

/* The state between two reads of one link; caller's storage. */
struct frame_reader {
    uint32_t limit;      /* most payload bytes accepted */
    uint32_t header_len; /* bytes of a partial header */
    uint32_t body_len;   /* payload bytes received */
    uint32_t wanted;     /* payload length in the last header */
    bool headed;         /* a header was read, and not all of its payload */
    unsigned char header[FRAME_HEAD_MAX];
    struct frame frame; /* being read; payload allocated with its length */
    struct frame beat;  /* the last HEARTBEAT without a payload; type 0: none */
};

/* Begin; no payload above `limit` bytes is accepted. */
void frame_reader_init(struct frame_reader *reader, uint32_t limit);

/* Whether no frame was read in part. */
bool frame_reader_rests(const struct frame_reader *reader);

/* Free the partial frame. */
void frame_reader_fini(struct frame_reader *reader);

/* Take bytes from `*bytes`, moving it and `*len` forward, until a frame is
 * whole. `out` is then the caller's.
 *
 * Returns 1 with a frame in `out`; 0 if all bytes were taken and more are
 * needed; -EBADMSG (unknown type, flag or reserved bits, nothing to repeat);
 * -EMSGSIZE above the limit; -ENOMEM. After an error, close the link. */
int frame_reader_take(struct frame_reader *reader,
                      const unsigned char **bytes,
                      size_t *len,
                      struct frame *out);

/* The payload length in the last header: after -ENOMEM, the bytes that could
 * not be allocated. */
uint32_t frame_reader_wanted(const struct frame_reader *reader);

/* The place to read the next bytes of a long payload to, directly. Returns
 * NULL, or a place of `*len` bytes; then call frame_reader_filled(). */
unsigned char *frame_reader_space(struct frame_reader *reader, size_t *len);

/* `len` bytes were read to that place. Returns 1 with a frame in `out`, or 0
 * if it is not whole yet. */
int frame_reader_filled(struct frame_reader *reader,
                        size_t len,
                        struct frame *out);
