/* classes.c - see classes.h. */
#include "stat/tree/classes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat/list.h"
#include "stat/table.h"
#include "stat/walk/evidence.h"
#include "stat/walk/runtime.h"

/* From task `at` on, a trace ends at `node` (`begins`), or no longer does. */
struct step {
    uint32_t at;
    uint32_t node;
    bool begins;
};

/* One class under construction: its places, and its tasks. */
struct class
{
    uint32_t *nodes; /* where its traces end, ascending */
    struct tasks_range *ranges;
    size_t count;
    UT_hash_handle hh;
};

/* A pass over all task numbers, from one change of places to the next. */
struct sweep {
    struct step *steps;
    size_t step_count;
    uint32_t *nodes; /* where traces of the present task end, ascending */
    uint32_t *times; /* by these nodes: how many ends are there */
    size_t node_count;
    uint32_t *key;       /* the nodes that count */
    bool *own;           /* by node: it belongs to a runtime's own thread */
    unsigned char *says; /* by node: how much a trace that ends there says */
    struct class *found; /* the classes, by their nodes */
};

static int by_place(const void *a, const void *b)
{
    const struct step *x = a;
    const struct step *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

/* Find the node that represents each node, and runtimes' own threads. */
static void find_places(struct sweep *sweep,
                        uint32_t *places,
                        const struct tree *tree,
                        enum classes_ends ends)
{
    bool idle[TREE_DEPTH_MAX]; /* by depth: a thread waits for work */
    bool own = false;
    uint32_t outer = 0; /* greatest depth of a stack's outermost frame */

    if (ends == CLASSES_CALLS)
        runtime_places(places, tree);
    for (uint32_t node = 0; node < tree->node_count; node++) {
        uint32_t depth = tree->nodes[node].depth;

        /* Where a process was that has ended makes no difference. */
        if (depth == 0 && tree_note(tree, node) == NOTE_ENDED) {
            uint32_t behind = node + tree->nodes[node].size;

            for (uint32_t below = node; below < behind; below++)
                places[below] = node;
            node = behind - 1;
            continue;
        }
        if (ends != CLASSES_CALLS) {
            places[node] = node;
            continue;
        }
        if (depth <= outer) {
            bool before = runtime_is_before(tree, node);

            outer = depth + before;
            own = !before && runtime_is_own(tree, node);
            idle[depth] = runtime_is_pool(tree, node);
        } else {
            idle[depth] = idle[depth - 1] && (places[node] != node ||
                                              runtime_is_in_pool(tree, node));
        }
        sweep->own[node] = own || idle[depth];
    }
}

/* Find how much traces at each node say: their weight, and of the same weight
 * those that do not poll more. */
static void find_says(struct sweep *sweep,
                      const uint32_t *places,
                      const struct tree *tree)
{
    enum weight weights[TREE_DEPTH_MAX]; /* by depth */

    for (uint32_t node = 0; node < tree->node_count; node++) {
        uint32_t depth = tree->nodes[node].depth;
        enum weight weight = depth > 0 ? weights[depth - 1] : WEIGHT_NATIVE;

        if (weight < WEIGHT_PROGRAM && runtime_is_python(tree, node))
            weight = runtime_role(tree, node) == ROLE_PROGRAM ? WEIGHT_PROGRAM
                                                              : WEIGHT_LIBRARY;
        weights[depth] = weight;
        sweep->says[node] =
            (unsigned char)(2 * (sweep->own[node] ? WEIGHT_OWN : weight) + 1);
    }
    for (uint32_t end = 0; end < tree->end_count; end++)
        if (tree->ends[end].current && tree->ends[end].polls)
            sweep->says[places[tree->ends[end].node]] &= (unsigned char)~1U;
}

/* Add a change. Returns 0 or -ENOMEM. */
static int add_step(struct sweep *sweep,
                    uint32_t at,
                    uint32_t node,
                    bool begins)
{
    if (list_grow(&sweep->steps, sweep->step_count, sizeof(*sweep->steps)) < 0)
        return -ENOMEM;
    sweep->steps[sweep->step_count++] = (struct step){at, node, begins};
    return 0;
}

/* Find all changes, sorted. Returns 0 or -ENOMEM. */
static int find_steps(struct sweep *sweep,
                      const uint32_t *places,
                      const struct tree *tree)
{
    int r = 0;

    for (uint32_t end = 0; end < tree->end_count; end++) {
        struct tasks_cursor at = tasks_begin(tree->ends[end].tasks);
        uint32_t node = tree->ends[end].node;

        if (!tree->ends[end].current || tree_is_not_walked(tree, node))
            continue;
        node = places[node];
        while (r == 0 && tasks_next(&at)) {
            r = add_step(sweep, at.range.first, node, true);
            if (r == 0)
                r = add_step(sweep, at.range.last + 1, node, false);
        }
    }
    if (sweep->step_count > 0)
        qsort(sweep->steps, sweep->step_count, sizeof(*sweep->steps), by_place);
    return r;
}

static int sweep_init(struct sweep *sweep,
                      const struct tree *tree,
                      enum classes_ends ends)
{
    uint32_t *places = calloc((size_t)tree->node_count + 1, sizeof(*places));
    int r;

    sweep->nodes = calloc((size_t)tree->end_count + 1, sizeof(uint32_t));
    sweep->times = calloc((size_t)tree->end_count + 1, sizeof(uint32_t));
    sweep->key = calloc((size_t)tree->end_count + 1, sizeof(uint32_t));
    sweep->own = calloc((size_t)tree->node_count + 1, sizeof(bool));
    sweep->says = calloc((size_t)tree->node_count + 1, 1);
    if (!places || !sweep->nodes || !sweep->times || !sweep->key ||
        !sweep->own || !sweep->says) {
        free(places);
        return -ENOMEM;
    }
    find_places(sweep, places, tree, ends);
    if (ends == CLASSES_CALLS)
        find_says(sweep, places, tree);
    r = find_steps(sweep, places, tree);
    free(places);
    return r;
}

/* Apply one change. Several ends of a task may be represented by one node: the
 * task leaves it with the last of them. */
static void sweep_step(struct sweep *sweep, const struct step *step)
{
    size_t i = sweep->node_count;

    while (i > 0 && sweep->nodes[i - 1] > step->node)
        i--;
    if (i > 0 && sweep->nodes[i - 1] == step->node) {
        sweep->times[i - 1] += step->begins ? 1 : UINT32_MAX; /* -1 */
        if (sweep->times[i - 1] > 0)
            return;
        memmove(sweep->nodes + i - 1, sweep->nodes + i,
                (sweep->node_count - i) * sizeof(uint32_t));
        memmove(sweep->times + i - 1, sweep->times + i,
                (sweep->node_count - i) * sizeof(uint32_t));
        sweep->node_count--;
        return;
    }
    memmove(sweep->nodes + i + 1, sweep->nodes + i,
            (sweep->node_count - i) * sizeof(uint32_t));
    memmove(sweep->times + i + 1, sweep->times + i,
            (sweep->node_count - i) * sizeof(uint32_t));
    sweep->nodes[i] = step->node;
    sweep->times[i] = 1;
    sweep->node_count++;
}

/* The class with the present nodes, made if it is new; NULL: no memory. */
static struct class *class_get(struct sweep *sweep)
{
    struct class *class = NULL;
    unsigned char most = 0;
    size_t count = 0;
    size_t len;

    for (size_t i = 0; i < sweep->node_count; i++)
        if (sweep->says[sweep->nodes[i]] > most)
            most = sweep->says[sweep->nodes[i]];
    for (size_t i = 0; i < sweep->node_count; i++)
        if (sweep->says[sweep->nodes[i]] == most)
            sweep->key[count++] = sweep->nodes[i];
    len = count * sizeof(uint32_t);
    HASH_FIND(hh, sweep->found, sweep->key, len, class);
    if (class)
        return class;
    class = calloc(1, sizeof(*class));
    if (!class)
        return NULL;
    class->nodes = malloc(len);
    if (class->nodes) {
        memcpy(class->nodes, sweep->key, len);
        HASH_ADD_KEYPTR(hh, sweep->found, class->nodes, len, class);
        if (class->hh.tbl)
            return class;
    }
    free(class->nodes);
    free(class);
    return NULL;
}

/* Add tasks `first` to `last` to the class with the present nodes. */
static int sweep_found(struct sweep *sweep, uint32_t first, uint32_t last)
{
    struct class *class = class_get(sweep);

    if (!class ||
        list_grow(&class->ranges, class->count, sizeof(*class->ranges)) < 0)
        return -ENOMEM;
    class->ranges[class->count++] = (struct tasks_range){first, last};
    return 0;
}

static int sweep_run(struct sweep *sweep)
{
    size_t next = 0;
    int r = 0;

    while (r == 0 && next < sweep->step_count) {
        uint32_t at = sweep->steps[next].at;
        size_t behind = next;

        while (behind < sweep->step_count && sweep->steps[behind].at == at)
            behind++;
        /* Apply ends before beginnings, which need the room. */
        for (size_t i = next; i < behind; i++)
            if (!sweep->steps[i].begins)
                sweep_step(sweep, &sweep->steps[i]);
        for (size_t i = next; i < behind; i++)
            if (sweep->steps[i].begins)
                sweep_step(sweep, &sweep->steps[i]);
        if (sweep->node_count > 0)
            r = sweep_found(sweep, at, sweep->steps[behind].at - 1);
        next = behind;
    }
    return r;
}

static void sweep_fini(struct sweep *sweep)
{
    struct class *class;

    for (class = sweep->found; class; class = class->hh.next) {
        free(class->nodes);
        free(class->ranges);
    }
    TABLE_FREE(sweep->found);
    free(sweep->steps);
    free(sweep->nodes);
    free(sweep->times);
    free(sweep->key);
    free(sweep->own);
    free(sweep->says);
}

static int by_size(const void *a, const void *b)
{
    const struct tasks *x = *(struct tasks *const *)a;
    const struct tasks *y = *(struct tasks *const *)b;

    if (tasks_count(x) != tasks_count(y))
        return tasks_count(x) < tasks_count(y) ? -1 : 1;
    return tasks_compare(x, y);
}

/* by_size() sorts these by their first member. */
struct sorted {
    struct tasks *set;
    struct class *class;
};

/* Move the classes found into `classes`. */
static int classes_take(struct classes *classes, struct sweep *sweep)
{
    size_t count = HASH_COUNT(sweep->found);
    struct sorted *sorted = calloc(count + 1, sizeof(*sorted));
    struct class *class;
    size_t made = 0;
    int r = 0;

    classes->sets = calloc(count + 1, sizeof(struct tasks *));
    classes->ends = calloc(count + 1, sizeof(uint32_t *));
    classes->end_counts = calloc(count + 1, sizeof(uint32_t));
    if (!sorted || !classes->sets || !classes->ends || !classes->end_counts) {
        free(sorted);
        return -ENOMEM;
    }
    for (class = sweep->found; r == 0 && class; class = class->hh.next) {
        sorted[made].class = class;
        r = tasks_new(&sorted[made].set, class->ranges, class->count);
        made += r == 0;
    }
    if (r == 0)
        qsort(sorted, made, sizeof(*sorted), by_size);
    for (size_t i = 0; i < made; i++) {
        classes->sets[i] = sorted[i].set;
        classes->ends[i] = sorted[i].class->nodes;
        classes->end_counts[i] =
            (uint32_t)(sorted[i].class->hh.keylen / sizeof(uint32_t));
        sorted[i].class->nodes = NULL; /* `classes` owns it now */
    }
    classes->count = made;
    free(sorted);
    return r;
}

int classes_new(struct classes **out,
                const struct tree *tree,
                enum classes_ends ends)
{
    struct classes *classes = calloc(1, sizeof(*classes));
    struct sweep sweep = {0};
    int r;

    if (!classes)
        return -ENOMEM;
    r = sweep_init(&sweep, tree, ends);
    if (r == 0)
        r = sweep_run(&sweep);
    if (r == 0)
        r = classes_take(classes, &sweep);
    classes->own = sweep.own;
    classes->says = sweep.says;
    sweep.own = NULL;
    sweep.says = NULL;
    sweep_fini(&sweep);
    if (r < 0) {
        classes_free(classes);
        return r;
    }
    *out = classes;
    return 0;
}

void classes_free(struct classes *classes)
{
    if (!classes)
        return;
    for (size_t i = 0; i < classes->count; i++) {
        tasks_free(classes->sets[i]);
        free(classes->ends[i]);
    }
    free(classes->sets);
    free(classes->ends);
    free(classes->end_counts);
    free(classes->own);
    free(classes->says);
    free(classes);
}

long classes_find(const struct classes *classes, const struct tasks *tasks)
{
    struct tasks *const *found;

    if (classes->count == 0)
        return -1;
    found = bsearch(&tasks, classes->sets, classes->count,
                    sizeof(struct tasks *), by_size);
    return found ? found - classes->sets : -1;
}
