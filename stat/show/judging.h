/* judging.h - the data of a judgement; private to judgement.h.
 *
 * judging.c finds what tasks do, and where; judging_locks.c finds which threads
 * wait for locks; judgement.c writes the sentence. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stat/show/columns.h"
#include "stat/show/edges.h"
#include "stat/show/report.h"
#include "stat/table.h"

/* Most places that are named besides that of most tasks. */
#define OTHERS_MAX 3

/* What tasks do at their place. */
enum doing {
    DOING_NOTHING, /* not known */
    DOING_WAIT,
    DOING_MOVE,
    DOING_LOOP, /* they move, and were only seen in a function that another
                   function of the program has called */
    DOING_NOTE, /* the place is a note, such as "[no stack]" */
    DOING_OVER, /* the same of a process that has ended: "[exited]" */
};

/* Tasks that do one thing at one place. Classes whose traces go on to different
 * functions from there are different groups. */
struct group {
    UT_hash_handle hh;
    char *key; /* the doing as a digit, the place, and the function in which the
                  trace ends; owned */
    char *place;   /* owned */
    uint32_t node; /* of that place */
    enum doing doing;
    struct tasks *tasks; /* owned */
    size_t class;        /* the last of its classes, ... */
    size_t class_count;  /* ... and how many it has */
};

/* The state of making a judgement. */
struct judging {
    const struct report *report;
    struct group *groups;
    uint32_t tasks; /* of all groups */
    const char *noun;
    struct edge *edges; /* those of threads are last */
    size_t edge_count;
    size_t rank_edges;
};

/* Fill `judging`: groups the tasks by what they do, the smallest group first,
 * and lists the waits. The caller has set `report` and `noun`, and calls
 * judging_end(), also after an error. Returns 0 or -ENOMEM. */
int judging_begin(struct judging *judging);

/* Free what judging_begin() allocated. */
void judging_end(struct judging *judging);

/* The group of `task`; NULL if it is in none. The group is owned by `judging`. */
const struct group *judging_group_of(const struct judging *judging,
                                     uint32_t task);

/* Whether the end number `i` of class number `class` is one that the largest
 * class does not have. */
bool judging_differs(const struct judging *judging, size_t class, uint32_t i);

/* The functions below append to `text` and return the new text. They take
 * `text`, which may be NULL. Without memory they free it and return NULL. */

/* Append the place of `node`: what the program called, and in parentheses the
 * deepest function of the program that has a source. If only library functions
 * have one, the deepest of these takes its place. */
char *judging_append_place(char *text,
                           const struct judging *judging,
                           uint32_t node);

/* Append, for each task, which threads wait for locks, and which thread holds
 * them. Sets `told` in the edges of threads that wait in a cycle. */
char *judging_append_locks(char *text, struct judging *judging);

/* Append a separator, unless `text` is empty. */
static inline char *judging_separate(char *text)
{
    return text && text[0] ? columns_append(text, "; ") : text;
}
