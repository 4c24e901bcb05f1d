/* judgement.c - see judgement.h. */
#include "stat/show/judgement.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "stat/show/columns.h"
#include "stat/show/edges.h"
#include "stat/show/movers.h"
#include "stat/show/picture.h"
#include "stat/show/threads.h"
#include "stat/walk/runtime.h"

/* So many places are told of besides that of most tasks. */
#define OTHERS_MAX 3

/* Bytes of a set of tasks. */
#define RANKS_SIZE 64

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

/* Append what stands between two parts of the sentence. */
static char *append_separator(char *text)
{
    return text && text[0] ? columns_append(text, "; ") : text;
}

/* Append how many places were not told of. */
static char *append_more(char *text, size_t count)
{
    return columns_append(text, "; others are at %zu more place%s", count,
                          count == 1 ? "" : "s");
}

/* What people call the call of a runtime: MPI_Send for PMPI_Send. */
static const char *plain_name(const char *function)
{
    function += strspn(function, "_");
    return strncmp(function, "PMPI_", 5) == 0 ? function + 1 : function;
}

/* Whether `node` is written in C or C++, as its file says. */
static bool is_in_c(const struct judging *judging, uint32_t node)
{
    const char *ending = strrchr(report_file(judging->report, node), '.');

    return ending && (ending[1] == 'c' || ending[1] == 'h');
}

/* Whether `node` is of a library, or in C or C++ and called by one of Python. */
static bool is_of_library(const struct judging *judging, uint32_t node)
{
    const struct tree *tree = judging->report->tree;

    if (runtime_is_library_at(tree, node))
        return true;
    while (tree->nodes[node].depth > 0 && is_in_c(judging, node))
        node = judging->report->above[node];
    return runtime_is_python_library(tree, node);
}

/* The deepest function at or above `node` that has a source and is no call of a
 * runtime, and with `own` not of a library; else the outermost. What it has
 * called is `*called`. */
static uint32_t user_of(uint32_t *called,
                        const struct judging *judging,
                        uint32_t node,
                        bool own)
{
    const struct report *report = judging->report;

    *called = node;
    while (report->tree->nodes[node].depth > 0 &&
           (!report_file(report, node)[0] ||
            runtime_is_call(report_function(report, node)) ||
            (own && is_of_library(judging, node)))) {
        *called = node;
        node = judging->report->above[node];
    }
    return node;
}

/* Append file and line of `user`: if it has no line, the one from which it has
 * called `called`. */
static char *append_source(char *text,
                           const struct report *report,
                           uint32_t user,
                           uint32_t called)
{
    uint32_t line = report_line(report, user);

    if (line == 0)
        line = report->tree->nodes[called].call_line;
    text = columns_append(text, "%s", report_file(report, user));
    return line ? columns_append(text, ":%u)", line)
                : columns_append(text, ")");
}

/* Append where `node` is: the deepest function of the program that has a source,
 * behind what it has called. Where all are of libraries, one of these. */
static char *append_place(char *text,
                          const struct judging *judging,
                          uint32_t node)
{
    const struct report *report = judging->report;
    uint32_t called, user = user_of(&called, judging, node, true);
    const char *function;

    if (!report_file(report, user)[0] || is_of_library(judging, user))
        user = user_of(&called, judging, node, false);
    function = report_function(report, called);
    /* What a library without names, such as mpi4py's, has called. */
    if (strstr(function, "+0x") &&
        runtime_is_call(report_function(report, node)))
        function = report_function(report, node);
    if (!report_file(report, user)[0])
        return picture_append_function(
            text, plain_name(report_function(report, node)));
    if (called == user || function[0] == '[')
        return picture_append(text, report, user);
    text = picture_append_function(text, plain_name(function));
    text = columns_append(text, " (");
    text = picture_append_function(text, report_function(report, user));
    return append_source(columns_append(text, ", "), report, user, called);
}

/* The top-level node above `node`. */
static uint32_t top_of(const struct judging *judging, uint32_t node)
{
    while (judging->report->tree->nodes[node].depth > 0)
        node = judging->report->above[node];
    return node;
}

static int by_node(const void *a, const void *b)
{
    const uint32_t *x = a;
    const uint32_t *y = b;

    return (*x > *y) - (*x < *y);
}

/* The end of class number `i` that tells it best: one that the largest class
 * has not, of main() if it has one. */
static uint32_t class_place(const struct judging *judging, size_t i)
{
    const struct report *report = judging->report;
    const struct classes *classes = report->classes;
    size_t most = classes->count - 1;
    uint32_t found = classes->ends[i][0], k;
    unsigned best = 0;

    for (k = 0; k < classes->end_counts[i]; k++) {
        uint32_t end = classes->ends[i][k];
        unsigned worth = 1;

        if (i == most ||
            !bsearch(&end, classes->ends[most], classes->end_counts[most],
                     sizeof(end), by_node))
            worth += 2;
        if (strcmp(report_function(report, top_of(judging, end)), "main") == 0)
            worth++;
        if (worth > best) {
            best = worth;
            found = end;
        }
    }
    return found;
}

/* Whether `node` is the outermost function that has a source. */
static bool is_outermost(const struct judging *judging, uint32_t node)
{
    while (judging->report->tree->nodes[node].depth > 0) {
        node = judging->report->above[node];
        if (report_file(judging->report, node)[0])
            return false;
    }
    return true;
}

/* Whether `function` is a note that stands for a whole process. */
static bool is_state(const char *function)
{
    return function[0] == '[' && strcmp(function, FRAME_RUNNING) != 0 &&
           strncmp(function, FRAME_THREAD, strlen(FRAME_THREAD)) != 0;
}

/* Append which function of the program has called `node`: the loop may be
 * there, and call it again and again. */
static char *append_caller(char *text,
                           const struct judging *judging,
                           uint32_t node)
{
    const struct report *report = judging->report;
    uint32_t called;
    uint32_t user = user_of(&called, judging, report->above[node], true);

    if (!report_file(report, user)[0])
        return text;
    text = columns_append(text, ", called from ");
    text = picture_append_function(text, report_function(report, user));
    return append_source(columns_append(text, " ("), report, user,
                         called == user ? node : called);
}

/* Find what class number `i` does, and where. Returns 0 or -ENOMEM. */
static int find_doing(enum doing *doing,
                      char **place,
                      const struct judging *judging,
                      size_t i)
{
    const struct report *report = judging->report;
    uint32_t node = class_place(judging, i), kept;
    const char *top = report_function(report, top_of(judging, node));
    int r = movers_never_left(&kept, report, i);

    if (r < 0)
        return r;
    *doing = DOING_NOTHING;
    if (is_state(top)) {
        *doing = DOING_NOTE;
    } else if (report_unchanged(report, report->classes->sets[i]) > 0) {
        *doing = DOING_WAIT;
    } else if (r > 0) {
        *doing = is_outermost(judging, kept) ? DOING_MOVE : DOING_LOOP;
        node = kept;
    }
    *place = *doing == DOING_NOTE ? strdup(top)
                                  : append_place(strdup(""), judging, node);
    if (*doing == DOING_LOOP)
        *place = append_caller(*place, judging, node);
    return *place ? 0 : -ENOMEM;
}

static void group_free(struct group *group)
{
    tasks_free(group->tasks);
    free(group->key);
    free(group);
}

/* Add class number `i` to those that do the same at the same place. Returns 0 or
 * -ENOMEM. */
static int groups_add(struct judging *judging, size_t i)
{
    struct tasks *set = judging->report->classes->sets[i];
    struct group *group;
    enum doing doing;
    char *place, *key;
    int r = find_doing(&doing, &place, judging, i);

    if (r < 0)
        return r;
    key = columns_append(strdup(""), "%d%s", (int)doing, place);
    free(place);
    if (!key)
        return -ENOMEM;
    HASH_FIND_STR(judging->groups, key, group);
    judging->tasks += tasks_count(set);
    if (group) {
        free(key);
        return tasks_change(&group->tasks, TASKS_UNION, set);
    }
    group = calloc(1, sizeof(*group));
    if (!group) {
        free(key);
        return -ENOMEM;
    }
    group->doing = doing;
    group->key = key;
    group->place = key + 1;
    group->tasks = tasks_ref(set);
    HASH_ADD_KEYPTR(hh, judging->groups, key, strlen(key), group);
    if (group->hh.tbl)
        return 0;
    group_free(group);
    return -ENOMEM;
}

/* The fewest tasks first. */
static int by_size(const struct group *a, const struct group *b)
{
    uint32_t more = tasks_count(a->tasks), less = tasks_count(b->tasks);

    if (more != less)
        return more < less ? -1 : 1;
    return tasks_compare(a->tasks, b->tasks);
}

/* Find what all do, the fewest first. Returns 0 or -ENOMEM. */
static int judging_begin(struct judging *judging)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < judging->report->classes->count; i++)
        r = groups_add(judging, i);
    HASH_SORT(judging->groups, by_size);
    if (r == 0)
        r = edges_find(&judging->edges, &judging->edge_count,
                       judging->report->tree);
    for (size_t i = 0; r == 0 && i < judging->edge_count; i++)
        judging->rank_edges += !judging->edges[i].threads;
    return r;
}

static void judging_end(struct judging *judging)
{
    struct group *group, *next;

    HASH_ITER (hh, judging->groups, group, next) {
        HASH_DEL(judging->groups, group);
        group_free(group);
    }
    free(judging->edges);
}

/* Append which tasks these are; those of most are only counted. */
static char *append_tasks(char *text,
                          const struct judging *judging,
                          const struct group *group,
                          bool most)
{
    uint32_t count = tasks_count(group->tasks);
    char ranks[RANKS_SIZE];

    if (most && count == judging->tasks && count > 1)
        return columns_append(text, "all %u %ss", count, judging->noun);
    if (most && count > 1 && HASH_COUNT(judging->groups) > 1)
        return columns_append(text, "%u of %u %ss", count, judging->tasks,
                              judging->noun);
    return columns_append(text, "%s%s %s", judging->noun, count == 1 ? "" : "s",
                          tasks_text(group->tasks, ranks, sizeof(ranks)));
}

/* Append what the tasks of `group` do. */
static char *append_group(char *text,
                          const struct judging *judging,
                          const struct group *group,
                          bool most)
{
    bool one = tasks_count(group->tasks) == 1;
    const char *place = group->place;

    text = append_tasks(text, judging, group, most);
    switch (group->doing) {
    case DOING_NOTHING:
        return columns_append(text, " %s in %s", one ? "is" : "are", place);
    case DOING_WAIT:
        return columns_append(text, " wait%s in %s", one ? "s" : "", place);
    case DOING_MOVE:
        return columns_append(text, " move%s in %s", one ? "s" : "", place);
    case DOING_LOOP:
        return columns_append(text, " move%s, but %s never seen outside %s",
                              one ? "s" : "", one ? "was" : "were", place);
    case DOING_NOTE:
        return columns_append(text, ": %s", place);
    }
    return text;
}

/* By falling number of threads. */
static int by_threads(const void *a, const void *b)
{
    const struct threads_place *x = a;
    const struct threads_place *y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    if (x->odd != y->odd)
        return x->odd ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* What a task does; NULL if that is not known. */
static const struct group *group_of(const struct judging *judging,
                                    uint32_t task)
{
    const struct group *group;

    for (group = judging->groups; group; group = group->hh.next)
        if (tasks_has(group->tasks, task))
            return group;
    return NULL;
}

/* Threads of one task that wait for locks: `len` of them in a circle, each for
 * the next; or if `len` is 0 in the end for one thread, which waits for none. */
struct lock_waits {
    const struct edge *edges; /* of that task */
    size_t count;
    size_t *list; /* which of them; ours */
    int len;
    uint32_t owner;
    size_t waiting;
};

/* Append what the thread does for whose locks others wait, if that is known;
 * before it, with `numbers`, which threads these are. */
static char *append_owner(char *text,
                          const struct judging *judging,
                          const struct lock_waits *waits,
                          bool numbers)
{
    const struct tree *tree = judging->report->tree;
    uint32_t task = waits->edges->task, end = 0;
    const struct group *group = group_of(judging, task);
    size_t direct = 0;

    for (size_t i = 0; i < waits->count; i++)
        direct += (uint32_t)waits->edges[i].to == waits->owner;
    if (numbers)
        text = columns_append(
            text,
            "%zu thread%s of %s %u wait%s %sfor a mutex that thread "
            "%u holds",
            waits->waiting, waits->waiting == 1 ? "" : "s", judging->noun, task,
            waits->waiting == 1 ? "s" : "",
            direct == waits->waiting ? "" : "one for another, at last ",
            waits->owner);
    while (end < tree->end_count &&
           !(tree->ends[end].current && tree->ends[end].tids &&
             tasks_has(tree->ends[end].tasks, task) &&
             tasks_has(tree->ends[end].tids, waits->owner)))
        end++;
    if (end == tree->end_count)
        return text;
    if (numbers)
        text = columns_append(text, ", which %s in ",
                              group && group->doing == DOING_WAIT ? "waits"
                                                                  : "is");
    return append_place(text, judging, tree->ends[end].node);
}

/* Append which threads wait for which; without `numbers`, only where. */
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
        text = append_place(text, judging, edge->node);
    }
    return text;
}

/* What was said of waits for locks so far. */
struct told {
    char *places[OTHERS_MAX];
    size_t count;
    size_t alike; /* tasks whose waits are at the same places as another's */
    size_t left;  /* others that were not told of */
};

/* Append what is waited for in a task, unless another is at the same places. NULL
 * without memory. */
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
        return append_lock_waits(append_separator(text), judging, waits, true);
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

/* Append which threads hold each other's locks, or wait for those of one, task
 * by task; NULL without memory. */
static char *append_locks(char *text, struct judging *judging)
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

/* Whether the only thread that each task has at `place` was told of: it is in a
 * circle. */
static bool is_told(const struct judging *judging,
                    const struct threads_place *place)
{
    const struct report *report = judging->report;
    uint32_t behind = place->node + report->tree->nodes[place->node].size;
    uint32_t told = 0;

    for (size_t i = judging->rank_edges; i < judging->edge_count; i++)
        told += judging->edges[i].told &&
                judging->edges[i].node >= place->node &&
                judging->edges[i].node < behind;
    return place->count == 1 && told == judging->tasks;
}

/* Append where the threads of all tasks are, which are one class: those of most,
 * then the odd ones. */
static char *append_places(char *text,
                           const struct judging *judging,
                           const struct threads_place *places,
                           int count)
{
    const struct group *group = judging->groups;
    bool waits = group->doing == DOING_WAIT;
    char ids[THREADS_IDS_SIZE];
    uint32_t all = 0;
    int shown = 0;

    for (int i = 0; i < count; i++)
        all += places[i].count;
    for (int i = 0; i < count; i++) {
        bool one = places[i].count == 1;

        if (is_told(judging, &places[i]))
            continue;
        if (threads_ids(ids, judging->report, places[i].node) < 0) {
            free(text);
            return NULL;
        }
        if (shown++ > OTHERS_MAX)
            continue;
        text = append_separator(text);
        if (shown == 1 && judging->tasks > 1)
            text = columns_append(text, "each of the %u %ss: ", judging->tasks,
                                  judging->noun);
        else if (shown == 1)
            text =
                columns_append(append_tasks(text, judging, group, false), ": ");
        if (shown == 1 && !one)
            text =
                columns_append(text, "%u of %u threads", places[i].count, all);
        else if (one && ids[0])
            text = columns_append(text, "%s", ids);
        else
            text = columns_append(text, "%u thread%s", places[i].count,
                                  one ? "" : "s");
        text = columns_append(text, "%s in ",
                              waits ? (one ? " waits" : " wait")
                                    : (one ? " is" : " are"));
        text = append_place(text, judging, places[i].node);
    }
    if (shown > OTHERS_MAX + 1)
        text = append_more(text, (size_t)shown - OTHERS_MAX - 1);
    return text;
}

/* Append where the threads are, if all tasks are alike and have some that differ:
 * odd ones, or any of the only task. `*done` becomes whether they do. NULL
 * without memory. */
static char *append_threads(char *text,
                            const struct judging *judging,
                            bool *done)
{
    const struct group *group = judging->groups;
    struct threads_place *places = NULL;
    int count;

    *done = false;
    if (judging->report->classes->count != 1 ||
        (group->doing != DOING_WAIT && group->doing != DOING_NOTHING))
        return text;
    count = threads_places(&places, judging->report, 0);
    if (count < 0) {
        free(text);
        return NULL;
    }
    for (int i = 0; i < count; i++)
        *done |= count > 1 && (places[i].odd || judging->tasks == 1);
    if (*done) {
        qsort(places, (size_t)count, sizeof(*places), by_threads);
        text = append_places(text, judging, places, count);
    }
    free(places);
    return text;
}

/* Append that `waiting` ranks wait in the end for rank `last`. */
static char *append_chain(char *text,
                          const struct judging *judging,
                          size_t waiting,
                          uint32_t last)
{
    const struct group *group = group_of(judging, last);
    const struct edge *direct = NULL;
    size_t count = 0;

    for (size_t i = 0; i < judging->rank_edges; i++)
        if ((uint32_t)judging->edges[i].to == last) {
            direct = &judging->edges[i];
            count++;
        }
    if (waiting == 1 && direct && direct->tagged)
        text =
            columns_append(text, "; rank %u waits %s tag %d %s rank %u",
                           direct->task, direct->receives ? "for" : "to send",
                           direct->tag, direct->receives ? "from" : "to", last);
    else if (waiting == 1 && direct)
        text = columns_append(text, "; rank %u waits for rank %u", direct->task,
                              last);
    else
        text = columns_append(
            text, "; %zu ranks wait %sfor rank %u", waiting,
            count == waiting ? "" : "one for another, at last ", last);
    return group ? columns_append(text, ", which %s in %s",
                                  group->doing == DOING_WAIT ? "waits" : "is",
                                  group->place)
                 : text;
}

/* Append for which rank ranks wait, and who has another tag. NULL without
 * memory. */
static char *append_ranks(char *text, const struct judging *judging)
{
    const struct edge *edges = judging->edges, *odd;
    size_t count = judging->rank_edges, waiting = 0;
    int32_t others = 0;
    uint32_t last = 0;
    int r = edges_chain(&last, &waiting, edges, count);

    if (r < 0) {
        free(text);
        return NULL;
    }
    if (r == 2)
        text = columns_append(text,
                              "; %zu ranks wait for each other in a "
                              "circle",
                              waiting);
    else if (r == 1)
        text = append_chain(text, judging, waiting, last);
    odd = edges_odd_tag(&others, edges, count);
    if (odd)
        text = columns_append(
            text, "; only rank %u %s tag %d (%s rank %d), the others %s %d",
            odd->task, odd->receives ? "waits for" : "sends", odd->tag,
            odd->receives ? "from" : "to", odd->to,
            odd->receives ? "for" : "send", others);
    return text;
}

/* Whether these tasks are no longer there to move. */
static bool has_ended(const struct group *group)
{
    return group->doing == DOING_NOTE &&
           (strcmp(group->place, FRAME_EXITED) == 0 ||
            strncmp(group->place, FRAME_ZOMBIE, strlen(FRAME_ZOMBIE)) == 0);
}

/* Append whether a task that has not ended has moved, and how many samples say
 * so. */
static char *append_evidence(char *text, const struct judging *judging)
{
    const struct report_source *source = &judging->report->source;
    struct tasks *alive = tasks_ref(judging->report->everyone);
    const struct group *group = judging->groups;
    const char *other = "";
    uint32_t still;
    int r = 0;

    for (; group && r == 0; group = group->hh.next)
        if (has_ended(group)) {
            r = tasks_change(&alive, TASKS_MINUS, group->tasks);
            other = "other ";
        }
    still = report_unchanged(judging->report, alive);
    tasks_free(alive);
    if (r < 0) {
        free(text);
        return NULL;
    }
    if (source->samples < 2)
        return columns_append(text, " (1 sample)");
    if (still == source->samples)
        text =
            columns_append(text, "; no %s%s has moved", other, judging->noun);
    else if (still > 0)
        text = columns_append(text, "; no %s%s has moved for %.1f s", other,
                              judging->noun,
                              (double)(still - 1) * source->interval_ms / 1000);
    return columns_append(text, " (%u samples, %.1f s)", source->samples,
                          (double)(source->samples - 1) * source->interval_ms /
                              1000);
}

/* The sentence; NULL without memory. */
static char *judging_text(struct judging *judging)
{
    const struct targets *targets = judging->report->source.targets;
    const struct group *group = judging->groups;
    size_t count = HASH_COUNT(judging->groups), i;
    char ranks[RANKS_SIZE], *text;
    bool threads;

    if (count == 0)
        return strdup("");
    while (group->hh.next)
        group = group->hh.next;
    text = append_locks(strdup(""), judging);
    text = append_threads(text, judging, &threads);
    if (!threads)
        text = append_group(append_separator(text), judging, group, true);
    group = judging->groups;
    for (i = 0; i + 1 < count && i < OTHERS_MAX; i++) {
        text = columns_append(text, "; ");
        text = append_group(text, judging, group, false);
        group = group->hh.next;
    }
    if (count > OTHERS_MAX + 1)
        text = append_more(text, count - OTHERS_MAX - 1);
    if (targets && targets->ranked && judging->rank_edges > 0)
        text = append_ranks(text, judging);
    if (targets && targets->absent && tasks_count(targets->absent) > 0)
        text =
            columns_append(text, "; %s%s %s %s no process here", judging->noun,
                           tasks_count(targets->absent) == 1 ? "" : "s",
                           tasks_text(targets->absent, ranks, sizeof(ranks)),
                           tasks_count(targets->absent) == 1 ? "has" : "have");
    return append_evidence(text, judging);
}

int judgement_make(char **out, const struct report *report)
{
    struct judging judging = {.report = report, .noun = report_noun(report)};
    char *text = NULL;
    int r = judging_begin(&judging);

    if (r == 0)
        text = judging_text(&judging);
    judging_end(&judging);
    if (r == 0 && !text)
        r = -ENOMEM;
    if (r < 0)
        return r;
    columns_clean(text);
    *out = text;
    return 0;
}
