/* look_tree.c - reads the tree of a look. */
#include "stat/diff/reading.h"

#include <errno.h>
#include <inttypes.h>

#include "stat/tree/build.h"

/* Read the thread ids of an end, if it has them; the caller owns them. */
static int read_tids(struct reading *reading,
                     struct tasks **tids,
                     const json_t *end,
                     const char *where)
{
    const char *text = "";
    int r = reading_optional_text(reading, &text, end, where, "tids");

    if (r < 0 || !text[0])
        return r;
    r = tasks_parse(tids, text);
    if (r == -EINVAL)
        r = cop_error_set(reading->error, r, "%s: %stids: no set of numbers",
                          reading->name, where);
    return r;
}

/* Add the ends of one node to `build`, and their tasks to `*under`. */
static int read_ends(struct reading *reading,
                     struct build *build,
                     uint32_t place,
                     const json_t *object,
                     size_t index,
                     struct tasks **under)
{
    const json_t *array = NULL;
    uint64_t samples, threads;
    char where[64];
    int r;

    if (!json_object_get(object, "ends"))
        return 0;
    snprintf(where, sizeof(where), "nodes[%zu].", index);
    r = reading_array(reading, &array, object, where, "ends");
    for (size_t i = 0; r == 0 && i < json_array_size(array); i++) {
        const json_t *end = json_array_get(array, i);
        struct tasks *tasks, *twice, *tids = NULL;
        uint64_t still = 0;

        snprintf(where, sizeof(where), "nodes[%zu].ends[%zu].", index, i);
        r = reading_set(reading, &tasks, end, where, "set");
        if (r == 0)
            r = reading_number(reading, &samples, end, where, "samples",
                               UINT32_MAX);
        if (r == 0)
            r = reading_number(reading, &threads, end, where, "threads",
                               UINT32_MAX);
        if (r == 0)
            r = reading_optional(reading, &still, end, where, "still",
                                 UINT32_MAX);
        if (r == 0)
            r = tasks_combine(&twice, TASKS_BOTH, *under, tasks);
        if (r < 0)
            break;
        if (tasks_count(tasks) == 0 || tasks_count(twice) > 0)
            r = cop_error_set(
                reading->error, -EINVAL, "%s: %sset: %s", reading->name, where,
                tasks_count(tasks) == 0 ? "it is empty"
                                        : "a task of it ends there already");
        tasks_free(twice);
        if (r == 0)
            r = tasks_change(under, TASKS_UNION, tasks);
        if (r == 0)
            r = read_tids(reading, &tids, end, where);
        if (r == 0)
            r = build_end(build, &(struct tree_end){
                                     .node = place,
                                     .samples = (uint32_t)samples,
                                     .threads = (uint32_t)threads,
                                     .current = !json_object_get(end, "left"),
                                     .polls = json_object_get(end, "polls"),
                                     .still = (uint32_t)still,
                                     .tasks = tasks,
                                     .tids = tids});
        tasks_free(tids);
    }
    return r;
}

/* A node whose subtree is not complete. */
struct open {
    size_t index;
    uint32_t place;
    struct tasks *under; /* tasks at it, and below its closed children */
};

/* The last open node is complete: compare its set with the tasks found, and add
 * these to the node above, or to all tasks. */
static int close_node(struct reading *reading,
                      const json_t *nodes,
                      struct open *open,
                      struct tasks **above)
{
    struct tasks *set;
    char where[48];
    int r;

    snprintf(where, sizeof(where), "nodes[%zu].", open->index);
    r = reading_set(reading, &set, json_array_get(nodes, open->index), where,
                    "set");
    if (r == 0 && !tasks_equal(set, open->under))
        r = cop_error_set(reading->error, -EINVAL,
                          "%s: %sset: not the tasks that end at the node and "
                          "under it",
                          reading->name, where);
    if (r == 0 && tasks_count(set) == 0)
        r = cop_error_set(reading->error, -EINVAL,
                          "%s: %sset: no task is at the node", reading->name,
                          where);
    if (r == 0)
        r = tasks_change(above, TASKS_UNION, open->under);
    tasks_free(open->under);
    open->under = NULL;
    return r;
}

/* Read all nodes, in pre-order, into `build`. */
static int read_nodes(struct reading *reading, struct build *build)
{
    struct open open[TREE_DEPTH_MAX];
    uint64_t depth = 0, frame, top = 0, line;
    const json_t *array = NULL;
    uint32_t count = 0; /* open nodes */
    size_t index = 0;
    char where[48];
    int r;

    r = reading_array(reading, &array, reading->top, "", "nodes");
    for (; r == 0 && index < json_array_size(array); index++) {
        const json_t *object = json_array_get(array, index);

        snprintf(where, sizeof(where), "nodes[%zu].", index);
        r = reading_number(reading, &depth, object, where, "depth",
                           count < TREE_DEPTH_MAX ? count : TREE_DEPTH_MAX - 1);
        for (; r == 0 && count > depth; count--)
            r = close_node(reading, array, &open[count - 1],
                           count > 1 ? &open[count - 2].under
                                     : &reading->look->everyone);
        if (r == 0 && reading->frame_count == 0)
            r = cop_error_set(reading->error, -EINVAL, "%s: no frames",
                              reading->name);
        if (r == 0)
            r = reading_number(reading, &frame, object, where, "frame",
                               reading->frame_count - 1);
        if (r == 0 && count == 0)
            top = frame;
        if (r == 0 && count > 0 &&
            (reading->frames[frame].not_walked ||
             reading->frames[top].not_walked))
            r = cop_error_set(reading->error, -EINVAL,
                              "%s: %sframe: a task that could not be walked "
                              "has one frame only",
                              reading->name, where);
        line = 0;
        if (r == 0)
            r = reading_optional(reading, &line, object, where, "call_line",
                                 UINT32_MAX);
        if (r == 0)
            r = tasks_new(&open[count].under, NULL, 0);
        if (r < 0)
            break;
        open[count].index = index;
        r = build_node(build, &open[count].place,
                       count > 0 ? open[count - 1].place : BUILD_TOP,
                       &reading->frames[frame]);
        count++;
        if (r == 0 && line > 0)
            build_called(build, open[count - 1].place, (uint32_t)line);
        if (r == 0)
            r = read_ends(reading, build, open[count - 1].place, object, index,
                          &open[count - 1].under);
    }
    for (; r == 0 && count > 0; count--)
        r = close_node(reading, array, &open[count - 1],
                       count > 1 ? &open[count - 2].under
                                 : &reading->look->everyone);
    while (count > 0)
        tasks_free(open[--count].under);
    return r;
}

/* Read the sample in which tasks last moved. Files of older versions do not
 * have it: then no task has moved. */
static int read_progress(struct reading *reading, struct build *build)
{
    struct tree_progress progress = {1, reading->look->samples,
                                     reading->look->everyone};
    struct tree_progress last = {0, 0, NULL};
    struct tasks *known = NULL;
    const json_t *array = NULL;
    uint64_t moved, seen;
    char where[48];
    int r;

    if (!json_object_get(reading->top, "progress"))
        return build_progress(build, &progress);
    r = reading_array(reading, &array, reading->top, "", "progress");
    if (r == 0)
        r = tasks_new(&known, NULL, 0);
    for (size_t i = 0; r == 0 && i < json_array_size(array); i++) {
        const json_t *object = json_array_get(array, i);
        uint32_t before = known ? tasks_count(known) : 0;

        snprintf(where, sizeof(where), "progress[%zu].", i);
        r = reading_set(reading, &progress.tasks, object, where, "set");
        if (r == 0)
            r = reading_number(reading, &seen, object, where, "seen",
                               UINT32_MAX);
        if (r == 0)
            r = reading_number(reading, &moved, object, where, "moved", seen);
        if (r < 0)
            break;
        progress.moved = (uint32_t)moved;
        progress.seen = (uint32_t)seen;
        r = tasks_change(&known, TASKS_UNION, progress.tasks);
        if (r == 0 &&
            (tasks_count(known) != before + tasks_count(progress.tasks) ||
             (i > 0 && tree_progress_compare(&last, &progress) >= 0)))
            r = cop_error_set(reading->error, -EINVAL,
                              "%s: %sset: a task of it is in two, or they do "
                              "not rise",
                              reading->name, where);
        if (r == 0)
            r = build_progress(build, &progress);
        last = progress;
    }
    if (r == 0 && !tasks_equal(known, reading->look->everyone))
        r = cop_error_set(reading->error, -EINVAL,
                          "%s: progress: not of the tasks that are in the tree",
                          reading->name);
    tasks_free(known);
    return r;
}

/* Read the median of the stop times: the tree gets one process that was stopped
 * for that time. */
static int read_median(struct reading *reading, struct build *build)
{
    uint64_t ns = 0;
    int r = reading_optional(reading, &ns, reading->top, "",
                             "stopped_median_ns", (uint64_t)UINT32_MAX * 1000);

    return r < 0 || ns == 0
               ? r
               : build_stop(build,
                            &(struct tree_stop){0, (uint32_t)(ns / 1000)});
}

int look_tree_read(struct reading *reading)
{
    struct build *build = NULL;
    uint64_t stopped_ns = 0, count = 0;
    int r;

    r = tasks_new(&reading->look->everyone, NULL, 0);
    if (r == 0)
        r = build_new(&build, true);
    if (r == 0)
        r = read_nodes(reading, build);
    if (r == 0)
        r = reading_number(reading, &stopped_ns, reading->top, "", "stopped_ns",
                           INT64_MAX);
    if (r == 0)
        r = reading_number(reading, &count, reading->top, "", "tasks",
                           TASKS_MAX);
    if (r == 0 && count != tasks_count(reading->look->everyone))
        r = cop_error_set(reading->error, -EINVAL,
                          "%s: tasks: %" PRIu64 ", but %u are in the tree",
                          reading->name, count,
                          tasks_count(reading->look->everyone));
    if (r == 0)
        r = read_progress(reading, build);
    if (r == 0)
        r = read_median(reading, build);
    if (r == 0)
        r = build_tree(&reading->look->tree, build, stopped_ns);
    build_free(build);
    return r;
}
