/* adopter.h - the nodes that an orphan asks to adopt it, and their order
 * (PROTOCOL 7.3).
 *
 * The algorithms are those of chapter 7 of the dissertation. A name such as
 * NHI-WM says which internal nodes are candidates, and in which order they are
 * asked:
 *
 *   GP    the nearest live ancestor of the lost parent
 *   RT    the front-end
 *   GP+   that ancestor and its internal children
 *   RT+   the front-end and its internal children
 *   NHI   all nodes below which the orphan does not make the tree higher
 *   ANY   all nodes
 *
 *   R     at random
 *   M     by rank; the orphans of one parent begin at different places
 *   WR    at random, by r^(1/w): nodes with a larger weight w tend to be first
 *   WM    by fan-out, then nodes that do not make the tree higher, then by
 *         rank: the orphans of one parent begin at different places
 *
 * One algorithm is not in the dissertation (doc/study.md):
 *
 *   NHI-WF  as NHI-WM, but orphan r begins where it would if each of its elder
 *           siblings had taken the adopter with the fewest children
 *
 * Candidates have not failed, have a path to the front-end, and are outside
 * the orphan's own subtree.
 *
 * Pure: the results depend on the table and the orphan only. Random numbers are
 * from the orphan's seed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct table;

/* Algorithms are numbers below this; 0 is NHI-WM, the default. */
#define ADOPTER_ALGORITHMS 19
#define ADOPTER_DEFAULT    0

/* The name of an algorithm; NULL if there is no such algorithm. */
const char *adopter_name(uint32_t algorithm);

/* The names of all, comma-separated. */
const char *adopter_names(void);

/* The algorithm of that name; -ENOENT if there is none. */
int adopter_find(const char *name);

/* Whether the algorithm may make the tree higher: only ANY may. */
bool adopter_may_raise(uint32_t algorithm);

/* A node that looks for a parent. */
struct adopter_orphan {
    uint32_t rank;    /* of an internal node, or of a back-end */
    uint32_t height;  /* links to its deepest back-end; 0 for a back-end */
    uint32_t ordinal; /* among its parent's children (PROTOCOL 7.2) */
    uint32_t lost;    /* the parent that it has lost */
    uint64_t seed;    /* for R and WR */
};

/* The candidates of one orphan. Siblings of the same height share them if they
 * are back-ends, as these have no subtree that must be left out. */
struct adopter_survey; /* opaque */

/* Find the candidates. Takes time proportional to the number of nodes.
 *
 * table         complete; borrowed for the call
 * algorithm     below ADOPTER_ALGORITHMS
 * orphan        its rank, height and lost are used
 * height_limit  NHI: the highest allowed number of links from the front-end to
 *               the deepest back-end; ANY: the height below which a tree does
 *               not count as getting higher
 *
 * Returns 0, and adopter_survey_free() is due; or -ENOMEM. */
int adopter_survey_new(struct adopter_survey **out,
                       const struct table *table,
                       uint32_t algorithm,
                       const struct adopter_orphan *orphan,
                       uint32_t height_limit);

/* Free `survey`. NULL is fine. */
void adopter_survey_free(struct adopter_survey *survey);

/* The number of candidates: 1 or more. If no node satisfies the criterion, the
 * front-end is the only candidate. */
uint32_t adopter_survey_count(const struct adopter_survey *survey);

/* The candidate to ask after `turn` others: the ranks of turns 0 to count - 1
 * are all candidates in the orphan's order. Turn 0 takes one pass over the
 * candidates; a later turn may sort them once.
 *
 * orphan  its ordinal and seed are used
 *
 * Returns 0, -ENOENT if `turn` is the count or more, or -ENOMEM. */
int adopter_survey_pick(struct adopter_survey *survey,
                        const struct adopter_orphan *orphan,
                        uint32_t turn,
                        uint32_t *rank);
