/* ranks.h - a set of ranks, kept as sorted runs.
 *
 * The members of a claim (PROTOCOL 10.1) are such a set, never just a number.
 * 1,048,576 consecutive ranks take one run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No node has this rank. */
#define RANK_NONE UINT32_MAX

struct ranks_run {
    uint32_t first;
    uint32_t last; /* at least `first` */
};

/* Caller's storage; all zero is the empty set. */
struct ranks {
    struct ranks_run *runs; /* ascending, neither touching nor overlapping */
    size_t count;
    size_t room;
};

/* Free what the set holds; it is then the empty set. */
void ranks_fini(struct ranks *set);

/* Make `set` a copy of `from`. Returns 0, or -ENOMEM with `set` as before. */
int ranks_copy(struct ranks *set, const struct ranks *from);

/* Add the ranks from `first` to `last`. Returns 0, -EINVAL if `last` is less
 * or is RANK_NONE, or -ENOMEM. */
int ranks_add(struct ranks *set, uint32_t first, uint32_t last);

/* Add all of `other`. Returns 0, or -ENOMEM with a part of it added. */
int ranks_unite(struct ranks *set, const struct ranks *other);

/* Remove all of `other`. Returns 0 or -ENOMEM with `set` as before. */
int ranks_subtract(struct ranks *set, const struct ranks *other);

/* Keep only ranks of `other`. Returns 0 or -ENOMEM with `set` as before. */
int ranks_intersect(struct ranks *set, const struct ranks *other);

/* Whether `rank` is in the set; whether all of `other` is; whether any is;
 * whether both are the same. */
bool ranks_has(const struct ranks *set, uint32_t rank);
bool ranks_cover(const struct ranks *set, const struct ranks *other);
bool ranks_meet(const struct ranks *set, const struct ranks *other);
bool ranks_equal(const struct ranks *set, const struct ranks *other);

/* How many ranks are in the set. */
uint64_t ranks_size(const struct ranks *set);

/* Rank number `index` in ascending order; RANK_NONE past the last. */
uint32_t ranks_at(const struct ranks *set, uint64_t index);

/* The lowest rank of the set above `rank`; RANK_NONE: there is none. RANK_NONE
 * gives the lowest of all, so a loop begins and ends with it. */
uint32_t ranks_after(const struct ranks *set, uint32_t rank);

/* Add `count` ranks in any order, each of them once or more. Takes the time of
 * a sort, less than many calls of ranks_add(). Returns 0 or -ENOMEM. */
int ranks_add_list(struct ranks *set, const uint32_t *list, size_t count);

/* The runs as pairs of numbers, for a packet; borrowed, 2 * count of them. */
const uint32_t *ranks_pairs(const struct ranks *set);

/* Make `set` of `count` numbers in pairs that came from the network. Returns 0,
 * -EBADMSG if they are not ascending runs, or not all below LIMIT_NODES, or
 * -ENOMEM; `set` is untouched on error. */
int ranks_from_pairs(struct ranks *set, const uint32_t *pairs, size_t count);
