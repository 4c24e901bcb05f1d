/* judging.h - a judgement in the making; private to judgement.h.
 *
 * judging.c finds what tasks do, and where; judging_locks.c says which threads
 * wait for locks; judgement.c makes the sentence of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "stat/show/columns.h"
#include "stat/show/edges.h"
#include "stat/show/report.h"

/* So many places are told of besides that of most tasks. */
#define OTHERS_MAX 3

/* What tasks do at their place. */
enum doing {
    DOING_NOTHING, /* it is not known: they are there */
    DOING_WAIT,
    DOING_MOVE,
    DOING_LOOP, /* they move, and were only seen in a function that another one
                   of the program has called */
    DOING_NOTE, /* the place is a note, such as "[zombie: exited]" */
};

/* Tasks that do one thing at one place. */
struct group {
    UT_hash_handle hh;
    char *key; /* what it does, as a digit, and where */
    const char *place;
    enum doing doing;
    struct tasks *tasks; /* ours */
};

/* A judgement in the making. */
struct judging {
    const struct report *report;
    struct group *groups;
    uint32_t tasks; /* of all of them */
    const char *noun;
    struct edge *edges; /* those of threads are last */
    size_t edge_count;
    size_t rank_edges;
};

/* Find what all do, the fewest tasks first, and who waits for whom. `judging`
 * has its report and noun, and is to be ended in any case. Returns 0 or
 * -ENOMEM. */
int judging_begin(struct judging *judging);
void judging_end(struct judging *judging);

/* What a task does; NULL if that is not known. */
const struct group *judging_group_of(const struct judging *judging,
                                     uint32_t task);

/* These append to `text`, which is ours and may be NULL, and return what it has
 * become; NULL: there is no memory, and `text` is freed. */

/* Where `node` is: the deepest function of the program that has a source, behind
 * what it has called. Where all are of libraries, one of these. */
char *judging_append_place(char *text,
                           const struct judging *judging,
                           uint32_t node);

/* Which threads hold each other's locks, or wait for those of one, task by task.
 * Edges that were told of are marked so. */
char *judging_append_locks(char *text, struct judging *judging);

/* What stands between two parts of the sentence. */
static inline char *judging_separate(char *text)
{
    return text && text[0] ? columns_append(text, "; ") : text;
}
