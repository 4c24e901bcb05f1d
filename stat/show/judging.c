/* judging.c - what tasks do, and where. */
#include "stat/show/judging.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat/show/movers.h"
#include "stat/show/picture.h"
#include "stat/walk/runtime.h"

/* The usual name of a runtime's function: MPI_Send for PMPI_Send, system for
 * __libc_system. */
static const char *plain_name(const char *function)
{
    if (strncmp(function, "__libc_", 7) == 0)
        return function + 7;
    function += strspn(function, "_");
    return strncmp(function, "PMPI_", 5) == 0 ||
                   strncmp(function, "pshmem_", 7) == 0
               ? function + 1
               : function;
}

/* Whether `node` is written in C or C++, by the ending of its file. */
static bool is_in_c(const struct judging *judging, uint32_t node)
{
    const char *ending = strrchr(report_file(judging->report, node), '.');

    return ending && (ending[1] == 'c' || ending[1] == 'h');
}

/* Whether `node` is of a library, or C or C++ called by a library of Python. */
static bool is_of_library(const struct judging *judging, uint32_t node)
{
    const struct tree *tree = judging->report->tree;

    if (runtime_is_library(tree, node))
        return true;
    while (tree->nodes[node].depth > 0 && is_in_c(judging, node))
        node = judging->report->above[node];
    return runtime_is_python_library(tree, node);
}

/* The deepest function at or above `node` that has a source and is no call of a
 * runtime, and with `own` not of a library; else the outermost. `*called`
 * becomes the function that it has called. */
static uint32_t user_of(uint32_t *called,
                        const struct judging *judging,
                        uint32_t node,
                        bool own)
{
    const struct report *report = judging->report;

    *called = node;
    while (report->tree->nodes[node].depth > 0 &&
           (!report_file(report, node)[0] ||
            runtime_is_call(report->tree, node) ||
            (own && is_of_library(judging, node)))) {
        *called = node;
        node = judging->report->above[node];
    }
    return node;
}

/* Append the file and line of `user`, or if it has no line, the line from which
 * it has called `called`. */
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

/* The function to name for the call from `user` towards `node`: `called`, or, if
 * `called` has no symbol, the first function below it that has one. Functions of
 * mpi4py, and inner functions of a libc without debug symbols, have none. */
static uint32_t named_below(const struct report *report,
                            uint32_t user,
                            uint32_t called,
                            uint32_t node)
{
    for (; node != user; node = report->above[node])
        if (!strstr(report_function(report, node), "+0x"))
            called = node;
    return called;
}

char *judging_append_place(char *text,
                           const struct judging *judging,
                           uint32_t node)
{
    const struct report *report = judging->report;
    uint32_t called, user = user_of(&called, judging, node, true);
    uint32_t named;

    if (!report_file(report, user)[0] || is_of_library(judging, user))
        user = user_of(&called, judging, node, false);
    named = named_below(report, user, called, node);
    if (!report_file(report, user)[0])
        return picture_append_function(
            text, plain_name(report_function(report, node)));
    if (called == user || tree_note(report->tree, named) != NOTE_NONE)
        return picture_append(text, report, user);
    text = picture_append_function(text,
                                   plain_name(report_function(report, named)));
    text = columns_append(text, " (");
    text = picture_append_function(text, report_function(report, user));
    return append_source(columns_append(text, ", "), report, user, called);
}

static int by_node(const void *a, const void *b)
{
    const uint32_t *x = a;
    const uint32_t *y = b;

    return (*x > *y) - (*x < *y);
}

/* Whether a note stands for a whole process. */
static bool is_state(enum note_kind note)
{
    return note != NOTE_NONE && note != NOTE_RUNNING &&
           note != NOTE_THREAD_NAME && note != NOTE_THREAD;
}

bool judging_differs(const struct judging *judging, size_t class, uint32_t i)
{
    const struct classes *classes = judging->report->classes;
    size_t most = classes->count - 1;

    return class == most ||
           !bsearch(&classes->ends[class][i], classes->ends[most],
                    classes->end_counts[most], sizeof(uint32_t), by_node);
}

/* The most telling end of class number `i`: not below a note that stands for all
 * of a stack, if possible; one that the largest class does not have; of the
 * first thread. */
static uint32_t class_place(const struct judging *judging, size_t i)
{
    const struct report *report = judging->report;
    const struct classes *classes = report->classes;
    uint32_t found = classes->ends[i][0], k;
    unsigned best = 0;

    for (k = 0; k < classes->end_counts[i]; k++) {
        uint32_t end = classes->ends[i][k], top = report_top(report, end);
        const char *function = report_function(report, top);
        unsigned worth = 1;

        if (!is_state(tree_note(report->tree, top)))
            worth += 4;
        if (judging_differs(judging, i, k))
            worth += 2;
        if (strcmp(function, "main") == 0 || strcmp(function, "<module>") == 0)
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

/* Append the function of the program that has called `node`: the loop may be
 * there instead, and call `node` repeatedly. */
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

/* An end of class number `i` where threads have moved; UINT32_MAX: none. */
static uint32_t find_mover(const struct report *report, size_t i)
{
    const struct classes *classes = report->classes;

    if (report_unchanged(report, classes->sets[i]) > 0)
        return UINT32_MAX;
    for (uint32_t k = 0; k < classes->end_counts[i]; k++)
        if (report_still(report, classes->sets[i], classes->ends[i][k]) == 0)
            return classes->ends[i][k];
    return UINT32_MAX;
}

/* Find what class number `i` does, and where; `*at` becomes that node. Returns 0
 * or -ENOMEM. */
static int find_doing(enum doing *doing,
                      char **place,
                      uint32_t *at,
                      const struct judging *judging,
                      size_t i)
{
    const struct report *report = judging->report;
    struct tasks *set = report->classes->sets[i];
    uint32_t node = class_place(judging, i), kept, mover = UINT32_MAX;
    uint32_t top = report_top(report, node);
    enum note_kind note = tree_note(report->tree, top);
    int r = movers_never_left(&kept, report, i);

    if (r < 0)
        return r;
    *doing = DOING_NOTHING;
    if (is_state(note)) {
        *doing = note == NOTE_ENDED ? DOING_OVER : DOING_NOTE;
    } else if (report_still(report, set, node) > 0) {
        *doing = DOING_WAIT;
        mover = find_mover(report, i);
    } else if (r > 0) {
        *doing = is_outermost(judging, kept) ? DOING_MOVE : DOING_LOOP;
        node = kept;
    }
    *place = is_state(note) ? strdup(report_function(report, top))
                            : judging_append_place(strdup(""), judging, node);
    if (*doing == DOING_LOOP)
        *place = append_caller(*place, judging, node);
    if (mover != UINT32_MAX)
        *place = judging_append_place(
            columns_append(*place, ", while other threads move in "), judging,
            mover);
    *at = node;
    return *place ? 0 : -ENOMEM;
}

static void group_free(struct group *group)
{
    tasks_free(group->tasks);
    free(group->place);
    free(group->key);
    free(group);
}

/* Add class number `i` to the group that does the same at the same place.
 * Returns 0 or -ENOMEM. */
static int groups_add(struct judging *judging, size_t i)
{
    const struct report *report = judging->report;
    struct tasks *set = report->classes->sets[i];
    struct group *group;
    enum doing doing;
    char *place, *key;
    uint32_t node;
    size_t len;
    int r = find_doing(&doing, &place, &node, judging, i);

    if (r < 0)
        return r;
    len = 1 + strlen(place);
    key = columns_append(strdup(""), "%d%s%s", (int)doing, place,
                         report_function(report, node));
    free(place);
    if (!key)
        return -ENOMEM;
    HASH_FIND_STR(judging->groups, key, group);
    judging->tasks += tasks_count(set);
    if (group) {
        free(key);
        group->class = i;
        group->class_count++;
        return tasks_change(&group->tasks, TASKS_UNION, set);
    }
    group = calloc(1, sizeof(*group));
    if (group)
        group->place = strndup(key + 1, len - 1);
    if (!group || !group->place) {
        free(group);
        free(key);
        return -ENOMEM;
    }
    group->doing = doing;
    group->key = key;
    group->node = node;
    group->class = i;
    group->class_count = 1;
    group->tasks = tasks_ref(set);
    HASH_ADD_KEYPTR(hh, judging->groups, key, strlen(key), group);
    if (group->hh.tbl)
        return 0;
    group_free(group);
    return -ENOMEM;
}

/* Order by rising number of tasks. */
static int by_size(const struct group *a, const struct group *b)
{
    uint32_t more = tasks_count(a->tasks), less = tasks_count(b->tasks);

    if (more != less)
        return more < less ? -1 : 1;
    return tasks_compare(a->tasks, b->tasks);
}

int judging_begin(struct judging *judging)
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

void judging_end(struct judging *judging)
{
    struct group *group, *next;

    HASH_ITER (hh, judging->groups, group, next) {
        HASH_DEL(judging->groups, group);
        group_free(group);
    }
    free(judging->edges);
}
const struct group *judging_group_of(const struct judging *judging,
                                     uint32_t task)
{
    const struct group *group;

    for (group = judging->groups; group; group = group->hh.next)
        if (tasks_has(group->tasks, task))
            return group;
    return NULL;
}
