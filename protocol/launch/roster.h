/* roster.h - the payload of READY and TABLE: which nodes have started.
 *
 * READY carries up the back-ends and internal nodes of a subtree that have
 * started, the labels of those that have one, and the nodes that are missing
 * (PROTOCOL 12.2). TABLE carries down the
 * internal nodes of the whole tree. A node keeps TABLE packed: in a large tree
 * the addresses take most of its memory, and it needs few of them. */
#pragma once

#include <stdbool.h>

#include "topology/table.h"
#include "wire/frame.h"
#include "wire/ranks.h"

struct roster_internal {
    uint32_t rank;
    uint32_t parent;  /* RANK_NONE at the front-end */
    uint32_t fan_out; /* children that it started */
    char *address;
};

/* What is known of one node beside its rank. */
struct roster_note {
    uint32_t rank;
    uint32_t parent; /* of a node that joined late: the node that took it in;
                        else RANK_NONE */
    bool commnode;   /* such a node is one ... */
    uint32_t place;  /* ... that was started for this place; 0: none */
    char *host;
    char *text;
};

/* In order of rank, once sorted. */
struct roster_notes {
    struct roster_note *list;
    uint32_t count;
};

/* Caller's storage; all zero is empty. */
struct roster {
    struct ranks backends;
    struct roster_internal *internals;
    uint32_t internal_count;
    struct roster_notes missing; /* `text` says why */
    struct roster_notes names;   /* back-ends, and commnodes that have joined:
                                    `text` is the label, or "" */
};

/* Free the content of `roster`, which is then empty. */
void roster_fini(struct roster *roster);

/* Whether a back-end may have the label `text`: at most LIMIT_LABEL bytes, no
 * control characters. "" is no label. */
bool label_is_valid(const char *text);

/* Add one node; the texts are copied. Return 0 or -ENOMEM. */
int roster_add_internal(struct roster *roster,
                        uint32_t rank,
                        uint32_t parent,
                        uint32_t fan_out,
                        const char *address);
int roster_add_note(struct roster_notes *notes,
                    uint32_t rank,
                    const char *host,
                    const char *text);

/* Remove all entries of `ranks`. Returns 0 or -ENOMEM. */
int roster_remove(struct roster *roster, const struct ranks *ranks);

/* Sort the missing nodes, and the names, by rank. */
void roster_sort(struct roster *roster);

/* The note of `rank` in sorted notes, or NULL. Borrowed. */
struct roster_note *roster_find(const struct roster_notes *notes,
                                uint32_t rank);

/* Add all of `other`. Returns 0 or -ENOMEM. */
int roster_merge(struct roster *roster, const struct roster *other);

/* Pack `roster` into READY or TABLE; the payload is the caller's. TABLE has
 * only the internal nodes. Returns 0 or -ENOMEM. */
int roster_encode(const struct roster *roster,
                  enum frame_type type,
                  struct frame *out);

/* Read a roster from the network. `out` is untouched on error. Returns 0,
 * -EBADMSG or -ENOMEM. */
int roster_decode(const struct frame *frame, struct roster *out);

/* ---- the payload of TABLE, which each node keeps packed ---------------- */

/* Make the topology table from `payload`; table_free() it. Returns 0; -EBADMSG
 * if the payload is malformed or not a tree, or -ENOMEM. */
int roster_table(struct payload *payload, struct table **out);

/* The addresses at which internal node `rank` listens, to be freed. Returns 0;
 * -ENOENT if there is no such node, -EBADMSG or -ENOMEM. */
int roster_address(struct payload *payload, uint32_t rank, char **out);
