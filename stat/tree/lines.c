/* lines.c - see lines.h. */
#include "stat/tree/lines.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stat/list.h"

/* Most siblings that are compared with each other. */
#define SIBLINGS_MAX 256

/* Most tasks of two siblings that are examined. */
#define TASKS_TRIED 16

struct place {
    char *function;
    char *file;
};

struct lines {
    struct place *places;
    size_t count;
};

void lines_free(struct lines *lines)
{
    if (!lines)
        return;
    for (size_t i = 0; i < lines->count; i++) {
        free(lines->places[i].function);
        free(lines->places[i].file);
    }
    free(lines->places);
    free(lines);
}

bool lines_any(const struct lines *lines)
{
    return lines->count > 0;
}

bool lines_has(const struct lines *lines,
               const char *function,
               const char *file)
{
    for (size_t i = 0; i < lines->count; i++)
        if (strcmp(lines->places[i].function, function) == 0 &&
            strcmp(lines->places[i].file, file) == 0)
            return true;
    return false;
}

/* Add the function of `node`, unless it is there. Returns 0 or -ENOMEM. */
static int lines_add(struct lines *lines,
                     const struct tree *tree,
                     uint32_t node)
{
    struct frame frame = tree_frame(tree, tree->nodes[node].frame);
    struct place *place;

    if (lines_has(lines, frame.function, frame.file))
        return 0;
    if (list_grow(&lines->places, lines->count, sizeof(*lines->places)) < 0)
        return -ENOMEM;
    place = &lines->places[lines->count];
    place->function = strdup(frame.function);
    place->file = strdup(frame.file);
    if (place->function && place->file) {
        lines->count++;
        return 0;
    }
    free(place->function);
    free(place->file);
    return -ENOMEM;
}

/* Whether `task` stays at or below `node`: it has not moved in the last sample,
 * or was there in all samples. After a single sample, a thread that ran does
 * not stay. */
static bool stands(const struct tree *tree, uint32_t node, uint32_t task)
{
    uint32_t behind = node + tree->nodes[node].size, moved = 0, seen = 0, i;
    uint64_t samples = 0;

    for (i = 0; i < tree->progress_count && seen == 0; i++)
        if (tasks_has(tree->progress[i].tasks, task)) {
            moved = tree->progress[i].moved;
            seen = tree->progress[i].seen;
        }
    for (i = 0; i < tree->end_count; i++) {
        const struct tree_end *end = &tree->ends[i];

        if (end->node < node || end->node >= behind ||
            !tasks_has(end->tasks, task) ||
            (seen == 1 && tree_note(tree, end->node) == NOTE_RUNNING))
            continue;
        if (end->current && moved < seen)
            return true;
        samples += end->samples;
    }
    return seen > 0 && samples >= seen;
}

/* Whether the functions that both nodes have called do not distinguish them:
 * both have called one function, or neither has called any. */
static bool are_alike(const struct tree *tree, uint32_t a, uint32_t b)
{
    const struct tree_node *nodes = tree->nodes;

    for (uint32_t i = a + 1; i < a + nodes[a].size; i += nodes[i].size)
        for (uint32_t k = b + 1; k < b + nodes[b].size; k += nodes[k].size)
            if (tree->frames[nodes[i].frame].function ==
                tree->frames[nodes[k].frame].function)
                return true;
    return nodes[a].size == 1 && nodes[b].size == 1;
}

/* Whether two siblings are one function at two lines, with like calls, and a
 * task stays at both. Of many tasks only the first are examined. Returns 1, 0
 * or -ENOMEM. */
static int is_split(const struct tree *tree,
                    struct tasks *const *sets,
                    uint32_t a,
                    uint32_t b)
{
    const struct tree_frame *x = &tree->frames[tree->nodes[a].frame];
    const struct tree_frame *y = &tree->frames[tree->nodes[b].frame];
    uint32_t tried = 0, task;
    struct tasks_cursor at;
    struct tasks *both;
    int r;

    if (x->function != y->function || x->file != y->file ||
        x->line == y->line || !are_alike(tree, a, b))
        return 0;
    r = tasks_combine(&both, TASKS_BOTH, sets[a], sets[b]);
    if (r < 0)
        return r;
    for (at = tasks_begin(both); r == 0 && tasks_next(&at);)
        for (task = at.range.first; r == 0 && task <= at.range.last; task++)
            if (tried++ < TASKS_TRIED)
                r = stands(tree, a, task) && stands(tree, b, task);
            else
                break;
    tasks_free(both);
    return r;
}

/* Compare `first` with the siblings after it, which are ordered by function.
 * Returns 0 or -ENOMEM. */
static int compare_siblings(struct lines *lines,
                            const struct tree *tree,
                            struct tasks *const *sets,
                            uint32_t first)
{
    uint32_t next = first + tree->nodes[first].size, count = 0;
    int r = 0;

    if (tree->strings[tree->frames[tree->nodes[first].frame].file][0] == '\0')
        return 0;
    for (; r == 0 && next < tree->node_count && count < SIBLINGS_MAX &&
           tree->nodes[next].depth == tree->nodes[first].depth &&
           strcmp(tree_function(tree, next), tree_function(tree, first)) == 0;
         next += tree->nodes[next].size, count++)
        r = is_split(tree, sets, first, next);
    return r > 0 ? lines_add(lines, tree, first) : r;
}

int lines_new(struct lines **out, const struct tree *tree)
{
    struct lines *lines = calloc(1, sizeof(*lines));
    struct tasks **sets =
        calloc((size_t)tree->node_count + 1, sizeof(struct tasks *));
    int r = lines && sets ? tree_under(tree, sets) : -ENOMEM;
    bool found = r == 0;

    for (uint32_t node = 0; r == 0 && node < tree->node_count; node++)
        r = compare_siblings(lines, tree, sets, node);
    for (uint32_t node = 0; found && node < tree->node_count; node++)
        tasks_free(sets[node]);
    free(sets);
    if (r < 0) {
        lines_free(lines);
        return r;
    }
    *out = lines;
    return 0;
}
