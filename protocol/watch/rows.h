/* rows.h - the status of the nodes: one row for each node (PROTOCOL 15).
 *
 * Rows go up the tree in ROWS frames, to which each node adds its own, and from
 * the front-end to the observer. */
#pragma once

#include <stdbool.h>

#include "wire/frame.h"

/* The state of a node. A node that answers is UP. The other states come from
 * what its parent and the front-end know. */
enum row_state {
    ROW_UP,
    ROW_DEGRADED, /* up, and something below it is not */
    ROW_SILENT,   /* linked, but has not answered in time */
    ROW_ORPHAN,   /* its parent is lost, and no other has adopted it yet */
    ROW_MISSING,  /* was never started */
    ROW_LOST,     /* dead, or given up */
    ROW_STATES,
};

/* In the place of milliseconds or microseconds: not known. */
#define ROW_UNKNOWN UINT32_MAX

/* One node. */
struct row {
    uint32_t rank;
    uint32_t parent; /* RANK_NONE at the front-end */
    uint32_t role;   /* enum node_role */
    uint32_t state;  /* enum row_state */
    uint32_t incarnation;
    uint32_t age_ms;       /* time in this state; at most ROW_UNKNOWN - 1 */
    uint32_t round_us;     /* round trip of the link to the parent */
    uint32_t adoptions;    /* how often it was adopted */
    uint32_t adopted_from; /* the parent that it lost last; RANK_NONE: none */
    uint32_t place;        /* that it was started for (20.1); 0: none */
    char *host;            /* "" where it is not known */
    char *label;           /* "" without one */
    char *reason;          /* why ROW_MISSING or ROW_LOST; NULL: not known */
};

/* Caller's storage; all zero is empty. */
struct rows {
    struct row *list;
    uint32_t count;
    uint32_t left_off; /* rows above LIMIT_STATUS_ROWS, counted and dropped */
};

/* Free the content of `rows`, which is then empty. */
void rows_fini(struct rows *rows);

/* Free what `row`, an element of some rows, owns. */
void rows_forget(struct row *row);

/* Add a copy of `row`, with its host, label and reason. Above LIMIT_STATUS_ROWS the
 * row is only counted. Returns 0 or -ENOMEM. */
int rows_add(struct rows *rows, const struct row *row);

/* Move all of `from` to the end of `rows`; `from` is then empty. Returns 0 or
 * -ENOMEM. */
int rows_append(struct rows *rows, struct rows *from);

/* Pack `rows` into a ROWS frame; the payload is the caller's.
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
 * text  receives the frame's text, which says why there are no rows, in up to
 *       `text_len` bytes; may be NULL
 *
 * Returns 0, -EBADMSG or -ENOMEM. */
int rows_decode(const struct frame *frame,
                struct rows *out,
                char *text,
                size_t text_len);

/* Sort rows by rank. Of two rows of one rank keep that of the higher
 * incarnation: a node that moved during the round is in two answers. */
void rows_sort(struct rows *rows);

/* The row of `rank`, or NULL. `rows` must be sorted. Borrowed. */
struct row *rows_find(const struct rows *rows, uint32_t rank);

/* Mark every node that is up, but has a node below it that is not, as
 * ROW_DEGRADED. Its age becomes the time since then. `rows` must be sorted.
 * Returns 0 or -ENOMEM. */
int rows_degrade(struct rows *rows);
