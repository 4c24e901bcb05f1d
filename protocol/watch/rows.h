/* rows.h - what an observer is shown: one row for each node (PROTOCOL 15).
 *
 * Rows go up the tree in ROWS frames, each node adding its own, and from the
 * front-end to whoever asked. */
#ifndef PROTOCOL_WATCH_ROWS_H
#define PROTOCOL_WATCH_ROWS_H

#include <stdbool.h>

#include "wire/frame.h"

/* How a node is. A node that answers is UP; what its parent and the front-end
 * know of the others makes them the rest. */
enum row_state {
    ROW_UP,
    ROW_DEGRADED, /* up, and something below it is not */
    ROW_SILENT,   /* linked, but has not answered in time */
    ROW_ORPHAN,   /* its parent is lost, and it has no other one yet */
    ROW_MISSING,  /* was never started */
    ROW_LOST,     /* dead, or given up */
    ROW_STATES,
};

/* In the place of a number of milliseconds or microseconds: not known. */
#define ROW_UNKNOWN UINT32_MAX

/* One node. */
struct row {
    uint32_t rank;
    uint32_t parent; /* RANK_NONE at the front-end */
    uint32_t role;   /* enum node_role */
    uint32_t state;  /* enum row_state */
    uint32_t incarnation;
    uint32_t age_ms;       /* so long it has been so; at most ROW_UNKNOWN - 1 */
    uint32_t round_us;     /* round trip of the link to the parent */
    uint32_t adoptions;    /* so often it has lost a parent and found one */
    uint32_t adopted_from; /* the parent that it lost last; RANK_NONE: none */
    char *host;            /* "" where it is not known */
    char *reason;          /* why ROW_MISSING or ROW_LOST; NULL: not known */
};

/* Caller's storage; all zero is empty. */
struct rows {
    struct row *list;
    uint32_t count;
    uint32_t room;
    uint32_t left_off; /* rows above LIMIT_STATUS_ROWS, counted and dropped */
};

/* Free what `rows` holds; it is then empty. */
void rows_fini(struct rows *rows);

/* Add a copy of `row`, its host and reason included. Above LIMIT_STATUS_ROWS it
 * is only counted. Returns 0 or -ENOMEM. */
int rows_add(struct rows *rows, const struct row *row);

/* Move all of `from` to the end of `rows`; `from` is then empty. Returns 0 or
 * -ENOMEM. */
int rows_append(struct rows *rows, struct rows *from);

/* Pack into a ROWS frame; the payload is the caller's.
 *
 * code  0, or a negative errno: then `text` says why there are no rows
 *
 * Returns 0 or -ENOMEM. */
int rows_encode(const struct rows *rows,
                int code,
                const char *text,
                struct frame *out);

/* Read a ROWS frame from the network. `out` is untouched on error.
 *
 * text  what it says when its tag is not 0: up to `text_len` bytes; may be NULL
 *
 * Returns 0, -EBADMSG or -ENOMEM. */
int rows_decode(const struct frame *frame,
                struct rows *out,
                char *text,
                size_t text_len);

/* Bring rows into order of rank, and of two of one rank keep the one with the
 * higher incarnation: a node that moved while it was asked is told twice. */
void rows_sort(struct rows *rows);

/* Sorted rows: the row of `rank`, or NULL. Borrowed. */
struct row *rows_find(const struct rows *rows, uint32_t rank);

/* Sorted rows: every node that is up and has something below it that is not
 * becomes ROW_DEGRADED, since the first such thing came to be below it.
 * Returns 0 or -ENOMEM. */
int rows_degrade(struct rows *rows);

#endif
