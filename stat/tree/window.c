/* window.c - see window.h. */
#include "stat/tree/window.h"

#include <stdlib.h>

#include "stat/tree/build.h"

void window_fini(struct window *window)
{
    for (uint32_t i = 0; i < WINDOW_MAX; i++)
        tree_free(window->trees[i]);
    *window = (struct window){.count = 0};
}

int window_note(struct window *window, const struct tree *tree)
{
    struct tree none = {0}, *copy = NULL;
    int r;

    if (tree->node_count + tree->end_count > WINDOW_TREE_MAX) {
        window_fini(window);
        return 0;
    }
    r = tree_join(&copy, tree, &none);
    if (r < 0)
        return r;
    tree_free(window->trees[window->count % WINDOW_MAX]);
    window->trees[window->count++ % WINDOW_MAX] = copy;
    return 0;
}

uint32_t window_samples(const struct window *window)
{
    return window->count < WINDOW_MAX ? window->count : WINDOW_MAX;
}

/* Add the places of one tree, with one sample each. Returns 0 or -ENOMEM. */
static int add_tree(struct build *build, const struct tree *tree, bool last)
{
    uint32_t places[TREE_DEPTH_MAX], end = 0, node;
    int r = 0;

    for (node = 0; r == 0 && node < tree->node_count; node++) {
        struct frame frame = tree_frame(tree, tree->nodes[node].frame);
        uint32_t depth = tree->nodes[node].depth;

        r = build_node(build, &places[depth],
                       depth > 0 ? places[depth - 1] : BUILD_TOP, &frame);
        for (; r == 0 && end < tree->end_count && tree->ends[end].node == node;
             end++)
            if (tree->ends[end].current)
                r = build_end(build, &(struct tree_end){
                                         .node = places[depth],
                                         .samples = 1,
                                         .threads = tree->ends[end].threads,
                                         .current = last,
                                         .tasks = tree->ends[end].tasks});
    }
    return r;
}

/* Add that `tasks` last moved in sample `moved`, if there are any. */
static int add_progress(struct build *build,
                        uint32_t moved,
                        uint32_t seen,
                        struct tasks *tasks)
{
    return tasks_count(tasks) == 0
               ? 0
               : build_progress(build,
                                &(struct tree_progress){moved, seen, tasks});
}

int window_tree(struct tree **out, const struct window *window, bool by_line)
{
    uint32_t count = window_samples(window), i;
    const struct tree *last = window->trees[(window->count - 1) % WINDOW_MAX];
    const struct tree *first =
        window->trees[count < WINDOW_MAX ? 0 : window->count % WINDOW_MAX];
    struct tasks *all = NULL, *moved = NULL, *still = NULL;
    struct build *build = NULL;
    int r = build_new(&build, by_line);

    for (i = 0; r == 0 && i < count; i++)
        r = add_tree(build, window->trees[i], window->trees[i] == last);
    if (r == 0)
        r = tree_tasks(&all, last);
    if (r == 0)
        r = tree_moved(&moved, last, tree_samples(first));
    if (r == 0)
        r = tasks_combine(&still, TASKS_MINUS, all, moved);
    if (r == 0)
        r = add_progress(build, 1, count, still);
    if (r == 0)
        r = add_progress(build, 2, count, moved);
    if (r == 0)
        r = build_tree(out, build, 0);
    build_free(build);
    tasks_free(all);
    tasks_free(moved);
    tasks_free(still);
    return r;
}
