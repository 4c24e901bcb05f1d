/* classes.c - see classes.h. */
#include "stat/classes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat/frame.h"
#include "stat/runtime.h"

/* Add `set`, unless it is empty. It is taken, on error too. */
static int classes_add(struct classes *classes, struct tasks *set)
{
    struct tasks **grown;

    if (tasks_count(set) == 0) {
        tasks_free(set);
        return 0;
    }
    grown =
        reallocarray(classes->sets, classes->count + 1, sizeof(struct tasks *));
    if (!grown) {
        tasks_free(set);
        return -ENOMEM;
    }
    classes->sets = grown;
    classes->sets[classes->count++] = set;
    return 0;
}

/* Split each class into those that are in `set` and those that are not; what
 * was in no class yet is a new one. */
static int classes_split(struct classes *classes, struct tasks *set)
{
    struct tasks *rest = tasks_ref(set);
    size_t count = classes->count;
    size_t i;
    int r = 0;

    for (i = 0; r == 0 && i < count && tasks_count(rest) > 0; i++) {
        struct tasks *old = classes->sets[i];
        struct tasks *inside = NULL;
        struct tasks *outside = NULL;
        struct tasks *less = NULL;

        r = tasks_combine(&inside, TASKS_BOTH, old, rest);
        if (r == 0 && tasks_count(inside) == 0) {
            tasks_free(inside);
            continue;
        }
        if (r == 0)
            r = tasks_combine(&outside, TASKS_MINUS, old, rest);
        if (r == 0)
            r = tasks_combine(&less, TASKS_MINUS, rest, inside);
        if (r < 0) {
            tasks_free(inside);
            tasks_free(outside);
            break;
        }
        tasks_free(old);
        tasks_free(rest);
        classes->sets[i] = inside;
        rest = less;
        r = classes_add(classes, outside);
    }
    if (r < 0) {
        tasks_free(rest);
        return r;
    }
    return classes_add(classes, rest);
}

static int by_size(const void *a, const void *b)
{
    const struct tasks *x = *(struct tasks *const *)a;
    const struct tasks *y = *(struct tasks *const *)b;

    if (tasks_count(x) != tasks_count(y))
        return tasks_count(x) < tasks_count(y) ? -1 : 1;
    return tasks_compare(x, y);
}

bool classes_is_not_walked(const struct tree *tree, uint32_t node)
{
    const struct tree_frame *frame = &tree->frames[tree->nodes[node].frame];

    return tree->nodes[node].depth == 0 &&
           strncmp(tree->strings[frame->function], FRAME_NOT_WALKED,
                   strlen(FRAME_NOT_WALKED)) == 0;
}

/* The tasks with any end before node `behind`, from end `*next` on, which moves
 * behind these. */
static int place_tasks(struct tasks **out,
                       const struct tree *tree,
                       uint32_t *next,
                       uint32_t behind)
{
    struct tasks *all = NULL;
    int r;

    r = tasks_new(&all, NULL, 0);
    for (; r == 0 && *next < tree->end_count && tree->ends[*next].node < behind;
         (*next)++)
        r = tasks_change(&all, TASKS_UNION, tree->ends[*next].tasks);
    if (r < 0) {
        tasks_free(all);
        return r;
    }
    *out = all;
    return 0;
}

/* Whether `node` begins the stacks of a runtime's own threads. */
static bool is_thread(const struct tree *tree, uint32_t node)
{
    const struct tree_node *top = &tree->nodes[node];

    return top->depth == 0 &&
           runtime_is_thread(tree->strings[tree->frames[top->frame].function]);
}

/* Split by each place that has ends; threads of a runtime's own only where the
 * tasks are in no class by others, `*classed`, to which all are added. */
static int split_all(struct classes *classes,
                     struct tasks **classed,
                     const struct tree *tree,
                     enum classes_ends ends,
                     bool threads)
{
    uint32_t next = 0, node, behind;
    struct tasks *before = tasks_ref(*classed);
    struct tasks *set = NULL;
    bool own = false;
    int r = 0;

    for (node = 0; r == 0 && node < tree->node_count; node = behind) {
        behind = ends == CLASSES_FULL ? node + 1 : runtime_behind(tree, node);
        own = tree->nodes[node].depth == 0 ? is_thread(tree, node) : own;
        r = place_tasks(&set, tree, &next, behind);
        if (r == 0 && !classes_is_not_walked(tree, node) &&
            (ends == CLASSES_FULL || own == threads)) {
            if (threads)
                r = tasks_change(&set, TASKS_MINUS, before);
            if (r == 0 && tasks_count(set) > 0)
                r = classes_split(classes, set);
            if (r == 0)
                r = tasks_change(classed, TASKS_UNION, set);
        }
        tasks_free(set);
        set = NULL;
    }
    tasks_free(before);
    return r;
}

int classes_new(struct classes **out,
                const struct tree *tree,
                enum classes_ends ends)
{
    struct classes *classes = calloc(1, sizeof(*classes));
    struct tasks *classed = NULL;
    int r;

    if (!classes)
        return -ENOMEM;
    r = tasks_new(&classed, NULL, 0);
    if (r == 0)
        r = split_all(classes, &classed, tree, ends, false);
    if (r == 0 && ends == CLASSES_CALLS)
        r = split_all(classes, &classed, tree, ends, true);
    tasks_free(classed);
    if (r < 0) {
        classes_free(classes);
        return r;
    }
    if (classes->count)
        qsort(classes->sets, classes->count, sizeof(struct tasks *), by_size);
    *out = classes;
    return 0;
}

void classes_free(struct classes *classes)
{
    size_t i;

    if (!classes)
        return;
    for (i = 0; i < classes->count; i++)
        tasks_free(classes->sets[i]);
    free(classes->sets);
    free(classes);
}
