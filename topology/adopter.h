/* adopter.h - whom an orphan asks to adopt it (PROTOCOL 7.3).
 *
 * The algorithms of chapter 7 of the dissertation, by name. A name such as
 * NHI-WM says which internal nodes are candidates, and in which order they are
 * asked:
 *
 *   GP    the nearest living ancestor of the parent that was lost
 *   RT    the front-end
 *   GP+   that ancestor and its internal children
 *   RT+   the front-end and its internal children
 *   NHI   all below which the orphan does not raise the tree
 *   ANY   all
 *
 *   R     at random
 *   M     by rank, the orphans of one parent beginning at different places
 *   WR    at random, by r^(1/w): those with a larger weight w tend to be first
 *   WM    by fan-out, then those that do not raise the tree, then rank; the
 *         orphans of one parent beginning at different places
 *
 * and one that is not in the dissertation (doc/study.md):
 *
 *   NHI-WF  as NHI-WM, but orphan r begins where it would if its elder
 *           siblings had each taken the adopter with the fewest children
 *
 * Candidates have not failed, have a path to the front-end, and are outside
 * the orphan's own subtree.
 *
 * Pure: functions of the table and the orphan. What is random comes from the
 * orphan's seed. */
#ifndef TOPOLOGY_ADOPTER_H
#define TOPOLOGY_ADOPTER_H

#include <stdbool.h>
#include <stdint.h>

struct table;

/* Algorithms are numbers below this; 0 is NHI-WM, the default. */
#define ADOPTER_ALGORITHMS 19
#define ADOPTER_DEFAULT    0

/* The name of an algorithm; NULL if there is no such one. */
const char *adopter_name(uint32_t algorithm);

/* The names of all, comma-separated. */
const char *adopter_names(void);

/* The algorithm of that name; -ENOENT if there is none. */
int adopter_find(const char *name);

/* Whether the algorithm may raise the tree: only ANY may. */
bool adopter_may_raise(uint32_t algorithm);

/* A node that looks for a parent. */
struct adopter_orphan {
    uint32_t rank;    /* of an internal node, or of a back-end */
    uint32_t height;  /* links to its deepest back-end; 0 for a back-end */
    uint32_t ordinal; /* among its parent's children (PROTOCOL 7.2) */
    uint32_t lost;    /* the parent that it had */
    uint64_t seed;    /* for R and WR */
};

/* The candidates of one orphan; also of its siblings as long as these have its
 * height and are back-ends, whose subtrees are no candidates anyway. */
struct adopter_survey; /* opaque */

/* Find the candidates. Time grows with the number of nodes, not faster.
 *
 * table         complete; not needed any more afterwards
 * algorithm     below ADOPTER_ALGORITHMS
 * orphan        rank, height and lost are looked at
 * height_limit  links from the front-end to the deepest back-end, at most, for
 *               NHI; ANY takes the tree as at least that high
 *
 * Returns 0, and adopter_survey_free() is due; or -ENOMEM. */
int adopter_survey_new(struct adopter_survey **out,
                       const struct table *table,
                       uint32_t algorithm,
                       const struct adopter_orphan *orphan,
                       uint32_t height_limit);

/* Free `survey`. NULL is fine. */
void adopter_survey_free(struct adopter_survey *survey);

/* How many candidates: 1 or more, as the front-end stands in where nobody
 * satisfies the criterion. */
uint32_t adopter_survey_count(const struct adopter_survey *survey);

/* Whether the front-end only stands in, although the tree is higher then. */
bool adopter_survey_last_resort(const struct adopter_survey *survey);

/* Whom to ask when `turn` candidates have been asked: the ranks of turns 0 to
 * count - 1 are all candidates in the orphan's order. Turn 0 takes one pass
 * over the candidates; a later turn may sort them, once.
 *
 * orphan  ordinal and seed are looked at
 *
 * Returns 0, -ENOENT if `turn` is the count or more, or -ENOMEM. */
int adopter_survey_pick(struct adopter_survey *survey,
                        const struct adopter_orphan *orphan,
                        uint32_t turn,
                        uint32_t *rank);

#endif
