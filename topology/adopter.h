/* adopter.h - whom an orphan asks to adopt it: NHI-WM (PROTOCOL 7.3).
 *
 * "No height increase, weighted mapped", from chapter 7 of the dissertation:
 * candidates are the internal nodes below which the orphan's subtree does not
 * raise the tree, those with the fewest children first; the orphans of one
 * parent begin at different places, so that they do not all ask the same one.
 *
 * Pure: a function of the table and the orphan. */
#ifndef TOPOLOGY_ADOPTER_H
#define TOPOLOGY_ADOPTER_H

#include <stdbool.h>
#include <stdint.h>

struct table;

/* A node that looks for a parent. */
struct adopter_orphan {
    uint32_t rank;    /* of an internal node, or of a back-end */
    uint32_t height;  /* links to its deepest back-end; 0 for a back-end */
    uint32_t ordinal; /* among its parent's children (PROTOCOL 7.2) */
};

/* Whom to ask, in this order. */
struct adopter_list {
    uint32_t *ranks;
    uint32_t count; /* 1 or more */
    /* Nobody satisfies the height limit: it is the front-end alone, which
     * adopts although the tree is higher then. */
    bool last_resort;
};

/* List the adopters for `orphan`: the internal nodes that have not failed and
 * have a path to the front-end, which is one of them, outside the orphan's own
 * subtree, with depth + 1 + `orphan->height` at most `height_limit`, by
 * fan-out and then rank; beginning at the orphan's ordinal modulo their
 * number, and going round. Time grows with the number of nodes, not faster.
 *
 * table         complete
 * height_limit  links from the front-end to the deepest back-end, at most
 *
 * Returns 0, and adopter_list_fini() is due; or -ENOMEM. */
int adopter_list(const struct table *table,
                 const struct adopter_orphan *orphan,
                 uint32_t height_limit,
                 struct adopter_list *out);

/* Free what `list` holds. A list that is all zero is fine. */
void adopter_list_fini(struct adopter_list *list);

#endif
