/* study_bound.h - the best that any assignment of orphans could reach. */
#ifndef STUDY_BOUND_H
#define STUDY_BOUND_H

#include <stdint.h>

struct table_site;

/* The least maximum fan-out of the tree after every orphan has been given to a
 * node that has a path to the front-end, none so that the tree is higher than
 * `height`. Exact.
 *
 * Whoever may adopt an orphan may also adopt one that is less high: the sets
 * are nested. So a maximum F can be reached if and only if for each height h
 * the orphans of h or more find as many free places, F minus the fan-out each,
 * at depths of height - 1 - h or less (Hall). The least F is found by halving.
 *
 * sites    `count` internal nodes; those with TABLE_NO_PATH do not adopt
 * orphans  how many of each height, 0 to `height`; the front-end may take any
 *
 * Returns the fan-out; or -ENOMEM. */
int64_t study_bound(const struct table_site *sites,
                    uint32_t count,
                    const uint32_t *orphans,
                    uint32_t height);

#endif
