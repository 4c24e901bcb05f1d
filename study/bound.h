/* bound.h - the best that any assignment of orphans could reach. */
#pragma once

#include <stdint.h>

struct table_site;

/* The least maximum fan-out that an assignment of the orphans can reach,
 * exactly. Each orphan goes to a node with a path to the front-end, and the
 * tree must not become higher than `height`.
 *
 * A node that may adopt an orphan may also adopt any lower one, so the sets of
 * candidates are nested. Hence a maximum F can be reached if and only if for
 * each height h the orphans of height h or more find enough free places, F
 * minus the fan-out at each node, at depths of height - 1 - h or less (Hall's
 * theorem). The least F is found by bisection.
 *
 * sites    `count` internal nodes; those with TABLE_NO_PATH do not adopt
 * orphans  how many of each height, 0 to `height`; the front-end may take any
 *
 * Returns the fan-out; or -ENOMEM. */
int64_t study_bound(const struct table_site *sites,
                    uint32_t count,
                    const uint32_t *orphans,
                    uint32_t height);
