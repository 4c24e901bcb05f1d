/* classes.c - see classes.h. */
#include "stat/classes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat/frame.h"

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

/* The tasks with any end at the node of end `*next`, which moves behind. */
static int node_tasks(struct tasks **out,
                      const struct tree *tree,
                      uint32_t *next)
{
    uint32_t node = tree->ends[*next].node;
    struct tasks *all = tasks_ref(tree->ends[(*next)++].tasks);
    struct tasks *more;
    int r;

    for (; *next < tree->end_count && tree->ends[*next].node == node;
         (*next)++) {
        r = tasks_combine(&more, TASKS_UNION, all, tree->ends[*next].tasks);
        tasks_free(all);
        if (r < 0)
            return r;
        all = more;
    }
    *out = all;
    return 0;
}

int classes_new(struct classes **out, const struct tree *tree)
{
    struct classes *classes = calloc(1, sizeof(*classes));
    uint32_t next = 0;
    int r = 0;

    if (!classes)
        return -ENOMEM;
    while (r == 0 && next < tree->end_count) {
        uint32_t node = tree->ends[next].node;
        struct tasks *set;

        r = node_tasks(&set, tree, &next);
        if (r < 0)
            break;
        if (!classes_is_not_walked(tree, node))
            r = classes_split(classes, set);
        tasks_free(set);
    }
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
