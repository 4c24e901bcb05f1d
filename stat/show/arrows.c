/* arrows.c - see arrows.h. */
#include "stat/show/arrows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/show/edges.h"

/* Where class number `i` is: in main(), if it has a stack there. */
static uint32_t class_place(const struct report *report, size_t i)
{
    const struct classes *classes = report->classes;

    for (uint32_t k = 0; k < classes->end_counts[i]; k++)
        if (strcmp(report_function(report,
                                   report_top(report, classes->ends[i][k])),
                   "main") == 0)
            return classes->ends[i][k];
    return classes->ends[i][0];
}

/* Add an arrow between classes, if both are known. Returns 0 or -ENOMEM. */
static int add_ranks(struct arrow *arrow,
                     size_t *count,
                     const struct report *report,
                     const struct class_edge *link)
{
    bool one = tasks_count(link->waiting) == 1;
    char waiting[48], wanted[48];

    if (link->from == report->classes->count ||
        link->to == report->classes->count)
        return 0;
    arrow->from = report->shown[link->node];
    arrow->to = class_place(report, link->to);
    arrow->waiting = tasks_ref(link->waiting);
    snprintf(arrow->text, sizeof(arrow->text), "rank%s %s wait%s for rank%s %s",
             one ? "" : "s",
             tasks_text(link->waiting, waiting, sizeof(waiting)),
             one ? "s" : "", tasks_count(link->wanted) == 1 ? "" : "s",
             tasks_text(link->wanted, wanted, sizeof(wanted)));
    ++*count;
    return 0;
}

/* Find the place of thread `tid` of `task`. Returns whether it is known. */
static bool find_thread(uint32_t *node,
                        const struct tree *tree,
                        uint32_t task,
                        int32_t tid)
{
    for (uint32_t i = 0; i < tree->end_count; i++) {
        const struct tree_end *end = &tree->ends[i];

        if (!end->current || !end->tids || !tasks_has(end->tasks, task) ||
            !tasks_has(end->tids, (uint32_t)tid))
            continue;
        *node = end->node;
        return true;
    }
    return false;
}

/* Add an arrow between threads, if both places are known. Returns 0 or
 * -ENOMEM. */
static int add_threads(struct arrow *arrow,
                       size_t *count,
                       const struct report *report,
                       const struct edge *edge)
{
    const struct tasks_range range = {edge->task, edge->task};
    uint32_t to;
    int r;

    if (!find_thread(&to, report->tree, edge->task, edge->to))
        return 0;
    arrow->from = report->shown[edge->node];
    arrow->to = report->shown[to];
    r = tasks_new(&arrow->waiting, &range, 1);
    if (r < 0)
        return r;
    snprintf(arrow->text, sizeof(arrow->text),
             "thread %d of %s %u waits for thread %d", (int)edge->from,
             report_noun(report), edge->task, (int)edge->to);
    ++*count;
    return 0;
}

int arrows_find(struct arrow **out, size_t *count, const struct report *report)
{
    const struct targets *targets = report->source.targets;
    struct arrow *arrows = calloc(ARROWS_MAX, sizeof(*arrows));
    struct class_edge *links = NULL;
    struct edge *edges = NULL;
    size_t edge_count = 0, link_count = 0, i;
    int r = arrows ? edges_find(&edges, &edge_count, report->tree) : -ENOMEM;

    *count = 0;
    if (r == 0 && targets && targets->ranked)
        r = edges_classes(&links, &link_count, edges, edge_count,
                          report->classes);
    for (i = 0; r == 0 && i < link_count && *count < ARROWS_MAX; i++)
        r = add_ranks(&arrows[*count], count, report, &links[i]);
    for (i = 0; r == 0 && i < edge_count && *count < ARROWS_MAX; i++)
        if (edges[i].threads)
            r = add_threads(&arrows[*count], count, report, &edges[i]);
    edges_classes_free(links, link_count);
    free(edges);
    if (r < 0) {
        arrows_free(arrows, *count);
        return r;
    }
    *out = arrows;
    return 0;
}

void arrows_free(struct arrow *arrows, size_t count)
{
    for (size_t i = 0; arrows && i < count; i++)
        tasks_free(arrows[i].waiting);
    free(arrows);
}
