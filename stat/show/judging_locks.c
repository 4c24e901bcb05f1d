/* judging_locks.c - threads that wait for locks. */
#include "stat/show/judging.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Threads of one task that wait for locks: `len` of them in a cycle, each for
 * the next one; or, if `len` is 0, all for one thread that does not wait. */
struct lock_waits {
    const struct edge *edges; /* of that task */
    size_t count;
    size_t *list; /* indexes of these edges; owned */
    int len;
    uint32_t owner;
    size_t waiting;
};

/* Append what the owner of the locks does, if known; with `numbers`, preceded
 * by the numbers of the threads. */
static char *append_owner(char *text,
                          const struct judging *judging,
                          const struct lock_waits *waits,
                          bool numbers)
{
    const struct tree *tree = judging->report->tree;
    uint32_t task = waits->edges->task, end = 0;
    struct tasks *set;
    size_t direct = 0, gil = 0;
    const char *where = "";

    for (size_t i = 0; i < waits->count; i++) {
        const struct edge *edge = &waits->edges[i];

        if ((uint32_t)edge->to != waits->owner)
            continue;
        direct++;
        gil += strstr(tree_function(tree, edge->node), FRAME_GIL) != NULL;
        if (strstr(tree_function(tree, edge->node), FRAME_OVER))
            where = FRAME_OVER;
        else if (strstr(tree_function(tree, edge->node), FRAME_ELSEWHERE))
            where = FRAME_ELSEWHERE;
    }
    if (numbers)
        text = columns_append(
            text,
            "%zu thread%s of %s %u wait%s %sfor %s that thread %u holds%s",
            waits->waiting, waits->waiting == 1 ? "" : "s", judging->noun, task,
            waits->waiting == 1 ? "s" : "",
            direct == waits->waiting ? "" : "one for another, at last ",
            gil == direct ? "the GIL" : "a mutex", waits->owner, where);
    while (end < tree->end_count &&
           !(tree->ends[end].current && tree->ends[end].tids &&
             tasks_has(tree->ends[end].tasks, task) &&
             tasks_has(tree->ends[end].tids, waits->owner)))
        end++;
    if (end == tree->end_count)
        return text;
    if (numbers && tasks_new(&set, &(struct tasks_range){task, task}, 1) == 0) {
        uint32_t shown = judging->report->shown[tree->ends[end].node];

        text = columns_append(
            text, "%s %s in ", where[0] ? " and" : ", which",
            report_still(judging->report, set, shown) > 0 ? "waits" : "is");
        tasks_free(set);
    }
    return judging_append_place(text, judging, tree->ends[end].node);
}

/* Append which threads wait for which; without `numbers`, only the places. */
static char *append_lock_waits(char *text,
                               const struct judging *judging,
                               const struct lock_waits *waits,
                               bool numbers)
{
    const struct edge *edge;

    if (waits->len == 0)
        return append_owner(text, judging, waits, numbers);
    edge = &waits->edges[waits->list[0]];
    if (numbers && waits->len == 1)
        text = columns_append(
            text, "thread %d of %s %u waits for its own lock: ", edge->from,
            judging->noun, edge->task);
    else if (numbers)
        text = columns_append(
            text, "%d threads of %s %u hold each other's locks: ", waits->len,
            judging->noun, edge->task);
    for (int i = 0; i < waits->len && i <= OTHERS_MAX; i++) {
        edge = &waits->edges[waits->list[i]];
        if (numbers && waits->len > 1)
            text = columns_append(text, "%s%d waits for %d in ",
                                  i == 0 ? "" : ", ", edge->from, edge->to);
        text = judging_append_place(text, judging, edge->node);
    }
    return text;
}

/* The waits for locks that were already mentioned. */
struct told {
    char *places[OTHERS_MAX];
    size_t count;
    size_t alike; /* tasks that wait at the places of a mentioned task */
    size_t left;  /* other tasks, not mentioned */
};

/* Append the waits of a task, unless a mentioned one waits at the same places.
 * NULL without memory. */
static char *append_new_lock_waits(char *text,
                                   struct told *told,
                                   const struct judging *judging,
                                   const struct lock_waits *waits)
{
    char *places = append_lock_waits(strdup(""), judging, waits, false);
    size_t i = 0;

    while (places && i < told->count && strcmp(told->places[i], places) != 0)
        i++;
    if (places && i == told->count && i < OTHERS_MAX) {
        told->places[told->count++] = places;
        return append_lock_waits(judging_separate(text), judging, waits, true);
    }
    told->alike += i < told->count;
    told->left += i == told->count;
    if (!places) {
        free(text);
        text = NULL;
    }
    free(places);
    return text;
}

char *judging_append_locks(char *text, struct judging *judging)
{
    struct told told = {.count = 0};
    size_t first, behind;

    for (first = judging->rank_edges; text && first < judging->edge_count;
         first = behind) {
        struct lock_waits waits = {.edges = &judging->edges[first]};

        for (behind = first; behind < judging->edge_count &&
                             judging->edges[behind].task == waits.edges->task;)
            behind++;
        waits.count = behind - first;
        waits.len = edges_circle(&waits.list, waits.edges, waits.count);
        if (waits.len == 0)
            waits.len = edges_chain(&waits.owner, &waits.waiting, waits.edges,
                                    waits.count) < 0
                            ? -ENOMEM
                            : 0;
        if (waits.len >= 0)
            text = append_new_lock_waits(text, &told, judging, &waits);
        for (int i = 0; i < waits.len; i++)
            judging->edges[first + waits.list[i]].told = true;
        free(waits.len > 0 ? waits.list : NULL);
        if (waits.len < 0) {
            free(text);
            text = NULL;
        }
    }
    for (size_t i = 0; i < told.count; i++)
        free(told.places[i]);
    if (told.alike > 0)
        text =
            columns_append(text, "; so do threads of %zu more %s%s", told.alike,
                           judging->noun, told.alike == 1 ? "" : "s");
    if (told.left > 0)
        text = columns_append(
            text, "; so do threads of %zu more %s%s, at other places",
            told.left, judging->noun, told.left == 1 ? "" : "s");
    return text;
}
