/* threads.c - see threads.h. */
#include "stat/show/threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/show/columns.h"
#include "stat/walk/runtime.h"

/* Longer lists of ids are replaced by their number. */
#define IDS_MAX 24

/* The first node after those that may be shown as `node`. */
static uint32_t behind_shown(const struct report *report, uint32_t node)
{
    return report_is_call(report, node) ? node + report->tree->nodes[node].size
                                        : node + 1;
}

/* The average number of threads of tasks of `set` at `node`, rounded up.
 * Returns it or -ENOMEM. */
static int64_t count_threads(const struct report *report,
                             struct tasks *set,
                             uint32_t node)
{
    const struct tree *tree = report->tree;
    uint32_t behind = behind_shown(report, node), end, all = tasks_count(set);
    uint32_t place = report->shown[node];
    uint64_t count = 0;

    for (; node < behind; node++) {
        if (report->shown[node] != place)
            continue;
        for (end = report->first_end[node];
             end < tree->end_count && tree->ends[end].node == node; end++) {
            struct tasks *both;
            int r;

            if (!tree->ends[end].current)
                continue;
            r = tasks_combine(&both, TASKS_BOTH, tree->ends[end].tasks, set);
            if (r < 0)
                return r;
            count += (uint64_t)tree->ends[end].threads * tasks_count(both);
            tasks_free(both);
        }
    }
    count = (count + all - 1) / all;
    return count < INT32_MAX ? (int64_t)count : INT32_MAX;
}

/* Whether a thread at `node` waits for others to end. */
static bool is_join(const struct report *report, uint32_t node)
{
    return runtime_role(report->tree, node) == ROLE_THREADS &&
           strstr(report_function(report, node), "join");
}

/* Whether threads do the same at `a` and `b`, even if they began elsewhere: the
 * first thread of an OpenMP region is in main(). */
static bool are_alike(const struct report *report, uint32_t a, uint32_t b)
{
    return strcmp(report_function(report, a), report_function(report, b)) ==
               0 &&
           strcmp(report_function(report, report->above[a]),
                  report_function(report, report->above[b])) == 0 &&
           strcmp(report_file(report, report->above[a]),
                  report_file(report, report->above[b])) == 0;
}

/* The number of threads that do the same as those at `place`. */
static uint32_t count_alike(const struct report *report,
                            const struct threads_place *places,
                            uint32_t count,
                            const struct threads_place *place)
{
    uint32_t alike = 0;

    for (uint32_t i = 0; i < count; i++)
        if (are_alike(report, places[i].node, place->node))
            alike += places[i].count;
    return alike;
}

int threads_places(struct threads_place **out,
                   const struct report *report,
                   size_t class)
{
    const struct classes *classes = report->classes;
    uint32_t count = classes->end_counts[class], all = 0, most = 0, i;
    struct threads_place *places = calloc((size_t)count + 1, sizeof(*places));

    if (!places)
        return -ENOMEM;
    for (i = 0; i < count; i++) {
        uint32_t node = classes->ends[class][i];
        int64_t threads = count_threads(report, classes->sets[class], node);

        if (threads < 0) {
            free(places);
            return (int)threads;
        }
        places[i] = (struct threads_place){node, (uint32_t)threads, false};
        all += (uint32_t)threads;
        if (places[i].count > most)
            most = places[i].count;
    }
    for (i = 0; i < count; i++)
        places[i].odd =
            all >= OUTLIER_TASKS && most > report_few(all) &&
            places[i].count <= report_few(all) &&
            count_alike(report, places, count, &places[i]) <= report_few(all) &&
            !is_join(report, places[i].node);
    *out = places;
    return (int)count;
}

/* Mark the places of a class: 0 not known, 1 odd in all classes so far, 2 not
 * odd. */
static int note_class(unsigned char *marks,
                      const struct report *report,
                      size_t class)
{
    struct threads_place *places = NULL;
    int count = threads_places(&places, report, class), i;

    for (i = 0; i < count; i++) {
        unsigned char *mark = &marks[places[i].node];

        *mark = places[i].odd && *mark < 2 ? 1 : 2;
    }
    free(places);
    return count < 0 ? count : 0;
}

int threads_find_odd(bool *odd, const struct report *report)
{
    const struct tree_node *nodes = report->tree->nodes;
    unsigned char *marks = calloc((size_t)report->tree->node_count + 1, 1);
    size_t count = report->classes->count, i;
    int r = marks ? 0 : -ENOMEM;

    for (i = 0; r == 0 && i < count; i++)
        if (i < THREADS_CLASSES || i + 1 == count)
            r = note_class(marks, report, i);
    for (uint32_t node = r == 0 ? report->tree->node_count : 0; node-- > 0;) {
        if (report->shown[node] != node)
            continue;
        if (marks[node] == 0 && report_has_end(report, node))
            marks[node] = 2; /* of a class that was not examined */
        if (!report_is_folded(report, node))
            for (uint32_t child = node + 1; child < node + nodes[node].size;
                 child += nodes[child].size)
                if (marks[node] < marks[child])
                    marks[node] = marks[child];
        odd[node] = marks[node] == 1;
    }
    free(marks);
    return r;
}

bool threads_odd_below(const struct report *report, uint32_t node)
{
    uint32_t behind = node + report->tree->nodes[node].size;

    while (node < behind && !report->odd[node])
        node++;
    return node < behind;
}

/* Find the ids of the threads at `node`; `*tids` becomes NULL if any is not
 * known. Returns 0 or -ENOMEM. */
static int find_tids(struct tasks **tids,
                     const struct report *report,
                     uint32_t node)
{
    const struct tree *tree = report->tree;
    uint32_t behind = behind_shown(report, node), end;
    uint32_t place = report->shown[node];
    int r = tasks_new(tids, NULL, 0);

    for (; r == 0 && node < behind; node++) {
        if (report->shown[node] != place)
            continue;
        for (end = report->first_end[node];
             r == 0 && end < tree->end_count && tree->ends[end].node == node;
             end++) {
            if (!tree->ends[end].current)
                continue;
            if (!tree->ends[end].tids) {
                tasks_free(*tids);
                *tids = NULL;
                return 0;
            }
            r = tasks_change(tids, TASKS_UNION, tree->ends[end].tids);
        }
    }
    if (r < 0)
        tasks_free(*tids);
    return r;
}

/* The number of threads of `task`, without those of a runtime. */
static uint64_t count_program(const struct report *report, uint32_t task)
{
    const struct tree *tree = report->tree;
    uint64_t count = 0;

    for (uint32_t i = 0; i < tree->end_count; i++)
        if (tree->ends[i].current &&
            !report->classes->own[tree->ends[i].node] &&
            tasks_has(tree->ends[i].tasks, task))
            count += tree->ends[i].threads;
    return count;
}

int threads_ids(char text[THREADS_IDS_SIZE],
                const struct report *report,
                uint32_t node)
{
    const struct tasks *set = report->under[node];
    const char *top = tree_function(report->tree, report_top(report, node));
    const char *noun = strcmp(top, FRAME_WORKER) == 0 ? "worker" : "thread";
    char ids[THREADS_IDS_SIZE];
    struct tasks *tids;
    uint32_t count;

    text[0] = '\0';
    if (tasks_count(set) != 1 || count_program(report, tasks_first(set)) < 2)
        return 0;
    if (find_tids(&tids, report, node) < 0)
        return -ENOMEM;
    count = tids ? tasks_count(tids) : 0;
    if (count > 0 && strlen(tasks_text(tids, ids, sizeof(ids))) > IDS_MAX)
        snprintf(text, THREADS_IDS_SIZE, "%u %ss", count, noun);
    else if (count > 0)
        snprintf(text, THREADS_IDS_SIZE, "%s%s %.*s", noun,
                 count == 1 ? "" : "s", IDS_MAX, ids);
    tasks_free(tids);
    return 0;
}

char *threads_append(char *text, const struct report *report, uint32_t node)
{
    char ids[THREADS_IDS_SIZE];

    if (threads_ids(ids, report, node) < 0) {
        free(text);
        return NULL;
    }
    return ids[0] ? columns_append(text, " [%s]", ids) : text;
}
