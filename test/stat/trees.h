/* trees.h - trees of made-up stacks for the tests of stat/. */
#pragma once

#include "stat/tree/build.h"
#include "stat/tree/role.h"
#include "stat/walk/traces.h"
#include "test/check.h"

/* The tree of one sample of `traces`; frees `traces`. */
static inline struct tree *tree_of(struct traces *traces)
{
    struct tree *tree;

    CHECK_OK(traces_sample(&tree, traces, 0));
    traces_free(traces);
    return tree;
}

/* `tree` with one more sample. `tree` is taken and may be NULL. */
static inline struct tree *with_sample(struct tree *tree,
                                       struct traces *traces,
                                       uint64_t stop_ns)
{
    struct tree *more, *both;

    CHECK_OK(traces_sample(&more, traces, stop_ns));
    if (!tree)
        return more;
    CHECK_OK(tree_join(&both, tree, more));
    tree_free(tree);
    tree_free(more);
    return both;
}

/* `tree`, which is taken, as tree_settle() makes it; of NULL, NULL. */
static inline struct tree *settled(struct tree *tree)
{
    struct tree *made = NULL;

    if (tree)
        CHECK_OK(tree_settle(&made, tree));
    tree_free(tree);
    return made;
}

/* A call of MPI that a task makes from a line of solve() in s.c. */
struct made_call {
    uint32_t line;
    const char *function;
};

/* The settled tree of tasks 0 to `count` - 1, each in a call. */
static inline struct tree *tree_of_calls(const struct made_call *calls,
                                         uint32_t count)
{
    struct tree_progress progress = {1, 1, NULL};
    struct build *build;
    struct tree *tree;

    CHECK_OK(build_new(&build, false));
    for (uint32_t task = 0; task < count; task++) {
        const struct frame above = {"solve", "s.c", calls[task].line,
                                    "",      0,     false};
        const struct frame below = {calls[task].function, "", 0,
                                    role_text(ROLE_MPI),  0,  false};
        struct tree_end end = {.samples = 1, .threads = 1, .current = true};

        CHECK_OK(tasks_new(&end.tasks, &(struct tasks_range){task, task}, 1));
        CHECK_OK(build_node(build, &end.node, BUILD_TOP, &above));
        CHECK_OK(build_node(build, &end.node, end.node, &below));
        CHECK_OK(build_end(build, &end));
        tasks_free(end.tasks);
    }
    CHECK_OK(
        tasks_new(&progress.tasks, &(struct tasks_range){0, count - 1}, 1));
    CHECK_OK(build_progress(build, &progress));
    tasks_free(progress.tasks);
    CHECK_OK(build_tree(&tree, build, 0));
    build_free(build);
    return settled(tree);
}
