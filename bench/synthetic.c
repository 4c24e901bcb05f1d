/* synthetic.c - see synthetic.h. */
#include "bench/synthetic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/tree/build.h"

/* The mean number of bands of neighbours in one class. */
#define BANDS_PER_CLASS 4

/* A pseudo-random number from the seed and two others (SplitMix64). */
static uint64_t draw_number(uint32_t seed, uint32_t what, uint32_t number)
{
    uint64_t z = ((uint64_t)seed << 32 ^ (uint64_t)what << 56 ^ number) +
                 UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Draw a class, lower ones more often: the cube of a uniform draw. */
static uint32_t draw_class(const struct synthetic *job, uint32_t number)
{
    uint64_t u = draw_number(job->seed, 1, number) >> 48; /* 16 bits */

    return (uint32_t)((u * u * u * job->classes) >> 48);
}

static int read_key(struct synthetic *job, const char *key, const char *value)
{
    const struct {
        const char *key;
        uint32_t *number;
        uint32_t least;
        uint32_t most;
    } keys[] = {
        {"tasks", &job->tasks, 1, TASKS_MAX},
        {"daemons", &job->daemons, 1, TASKS_MAX},
        {"depth", &job->depth, 1, SYNTHETIC_DEPTH_MAX},
        {"classes", &job->classes, 1, SYNTHETIC_CLASSES_MAX},
        {"outliers", &job->outliers, 0, SYNTHETIC_CLASSES_MAX},
        {"seed", &job->seed, 0, UINT32_MAX},
    };
    unsigned long number;
    char *end;

    if (strcmp(key, "placement") == 0) {
        job->cyclic = strcmp(value, "cyclic") == 0;
        return job->cyclic || strcmp(value, "block") == 0 ? 0 : -EINVAL;
    }
    if (strcmp(key, "mix") == 0) {
        job->scattered = strcmp(value, "scattered") == 0;
        return job->scattered || strcmp(value, "bands") == 0 ? 0 : -EINVAL;
    }
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strcmp(key, keys[i].key) != 0)
            continue;
        errno = 0;
        number = strtoul(value, &end, 10);
        if (errno || end == value || *end || value[0] == '-' ||
            number < keys[i].least || number > keys[i].most)
            return -EINVAL;
        *keys[i].number = (uint32_t)number;
        return 0;
    }
    return -EINVAL;
}

int synthetic_parse(struct synthetic *job,
                    const char *text,
                    struct cop_error *error)
{
    struct synthetic read = {212992, 1664, 20, 16, 4, false, false, 1};
    char *copy = strdup(text), *rest = copy, *part, *value;
    int r = copy ? 0 : -ENOMEM;

    while (r == 0 && (part = strsep(&rest, ",")) != NULL) {
        value = strchr(part, '=');
        if (value)
            *value++ = '\0';
        if (!value || read_key(&read, part, value) < 0)
            r = cop_error_set(
                error, -EINVAL,
                "\"%s%s%s\" is not understood: give tasks=N, "
                "daemons=N, depth=N, classes=N, outliers=N, seed=N, "
                "placement=block|cyclic, mix=bands|scattered, with commas",
                part, value ? "=" : "", value ? value : "");
    }
    free(copy);
    if (r == 0 && (read.daemons > read.tasks || read.outliers > read.tasks))
        r = cop_error_set(error, -EINVAL, "%u tasks are fewer than the %s",
                          read.tasks,
                          read.daemons > read.tasks ? "daemons" : "outliers");
    if (r == 0)
        *job = read;
    return r;
}

/* The task that is outlier number `i`. */
static uint32_t outlier_task(const struct synthetic *job, uint32_t i)
{
    return (uint32_t)(draw_number(job->seed, 2, i) % job->tasks);
}

/* The number of the outlier that the task is, counted from 1; 0: none. */
static uint32_t outlier_of(const struct synthetic *job, uint32_t task)
{
    for (uint32_t i = 0; i < job->outliers; i++)
        if (outlier_task(job, i) == task)
            return i + 1;
    return 0;
}

static uint32_t class_of(const struct synthetic *job, uint32_t task)
{
    uint64_t bands = (uint64_t)job->classes * BANDS_PER_CLASS;

    if (bands > job->tasks || job->scattered)
        return draw_class(job, task);
    return draw_class(job, (uint32_t)(task * bands / job->tasks));
}

/* The frame at `depth` of a class: all classes share the first half, then they
 * branch in two repeatedly. `text` has room for the function's name. */
static struct frame frame_at(const struct synthetic *job,
                             uint32_t class,
                             uint32_t depth,
                             char *text,
                             size_t size)
{
    uint32_t shared = job->depth / 2, bits = 0, below;

    while (UINT32_C(1) << bits < job->classes)
        bits++;
    if (depth == 0) {
        snprintf(text, size, "main");
    } else if (depth < shared) {
        snprintf(text, size, "step_%u", depth);
    } else {
        below = depth - shared + 1;
        snprintf(text, size, "work_%u_%u", depth,
                 below < bits ? class >> (bits - below) : class);
    }
    return (struct frame){text, "job.c", 10 * depth + 1, "", 0, false};
}

/* The tasks with equal traces. */
struct group {
    struct tasks_range *ranges;
    size_t count;
    size_t room;
};

/* Add a task, higher than all others in the group. Returns 0 or -ENOMEM. */
static int group_add(struct group *group, uint32_t task)
{
    struct tasks_range *last =
        group->count > 0 ? &group->ranges[group->count - 1] : NULL;
    struct tasks_range *grown;
    size_t room;

    if (last && last->last + 1 == task) {
        last->last = task;
        return 0;
    }
    if (group->count == group->room) {
        room = group->room ? 2 * group->room : 16;
        grown = reallocarray(group->ranges, room, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        group->ranges = grown;
        group->room = room;
    }
    group->ranges[group->count++] = (struct tasks_range){task, task};
    return 0;
}

/* Add the trace of class `class` to the tree, with the tasks of `group` at its
 * end; if `outlier` is above 0, one frame further. */
static int put_group(struct build *build,
                     const struct synthetic *job,
                     uint32_t class,
                     uint32_t outlier,
                     const struct group *group)
{
    struct tree_end end = {.samples = 1, .threads = 1, .current = true};
    struct frame frame;
    uint32_t node = BUILD_TOP, i;
    char text[32];
    int r = 0;

    for (i = 0; r == 0 && i < job->depth; i++) {
        frame = frame_at(job, class, i, text, sizeof(text));
        r = build_node(build, &node, node, &frame);
    }
    if (r == 0 && outlier) {
        snprintf(text, sizeof(text), "stuck_%u", outlier);
        frame = FRAME_NOTE(text);
        r = build_node(build, &node, node, &frame);
    }
    end.node = node;
    if (r == 0)
        r = tasks_new(&end.tasks, group->ranges, group->count);
    if (r == 0) {
        r = build_end(build, &end);
        tasks_free(end.tasks);
    }
    return r;
}

/* Add all tasks of `groups`, by class, and of `outliers`, by number. */
static int put_groups(struct build *build,
                      const struct synthetic *job,
                      const struct group *groups,
                      const struct group *outliers,
                      const struct group *all)
{
    struct tree_progress progress = {.moved = 1, .seen = 1};
    int r;

    r = tasks_new(&progress.tasks, all->ranges, all->count);
    if (r == 0) {
        r = build_progress(build, &progress);
        tasks_free(progress.tasks);
    }
    for (uint32_t i = 0; r == 0 && i < job->classes; i++)
        if (groups[i].count > 0)
            r = put_group(build, job, i, 0, &groups[i]);
    for (uint32_t i = 0; r == 0 && i < job->outliers; i++)
        if (outliers[i].count > 0)
            r = put_group(build, job, class_of(job, outlier_task(job, i)),
                          i + 1, &outliers[i]);
    return r;
}

static void groups_free(struct group *groups, uint32_t count)
{
    for (uint32_t i = 0; groups && i < count; i++)
        free(groups[i].ranges);
    free(groups);
}

/* How many tasks the daemons before `daemon` have in cyclic placement. */
static uint32_t before_daemon(const struct synthetic *job, uint32_t daemon)
{
    uint32_t rest = job->tasks % job->daemons;

    return daemon * (job->tasks / job->daemons) +
           (daemon < rest ? daemon : rest);
}

int synthetic_numbers(uint32_t **out, const struct synthetic *job)
{
    uint32_t *numbers, task;

    *out = NULL;
    if (!job->cyclic)
        return 0;
    numbers = calloc(job->tasks, sizeof(*numbers));
    if (!numbers)
        return -ENOMEM;
    for (task = 0; task < job->tasks; task++)
        numbers[before_daemon(job, task % job->daemons) + task / job->daemons] =
            task;
    *out = numbers;
    return 0;
}

int synthetic_tree(struct tree **out,
                   const struct synthetic *job,
                   uint32_t daemon)
{
    uint64_t tasks = job->tasks, daemons = job->daemons;
    uint64_t first = 0, end = tasks, step = 1, task;
    uint32_t number = 0;
    struct group *groups = calloc(job->classes, sizeof(*groups));
    struct group *outliers =
        calloc((size_t)job->outliers + 1, sizeof(*outliers));
    struct group all = {NULL, 0, 0};
    struct build *build = NULL;
    int r = groups && outliers ? build_new(&build, true) : -ENOMEM;

    if (daemon != SYNTHETIC_ALL && job->cyclic) {
        first = daemon;
        step = daemons;
        number = before_daemon(job, daemon);
    } else if (daemon != SYNTHETIC_ALL) {
        first = daemon * tasks / daemons;
        end = (daemon + 1) * tasks / daemons;
        number = (uint32_t)first;
    }
    for (task = first; r == 0 && task < end; task += step, number++) {
        uint32_t outlier = outlier_of(job, (uint32_t)task);

        r = group_add(&all, number);
        if (r == 0)
            r = group_add(outlier ? &outliers[outlier - 1]
                                  : &groups[class_of(job, (uint32_t)task)],
                          number);
    }
    if (r == 0)
        r = put_groups(build, job, groups, outliers, &all);
    if (r == 0)
        r = build_tree(out, build, 0);
    build_free(build);
    groups_free(groups, job->classes);
    groups_free(outliers, job->outliers);
    free(all.ranges);
    return r;
}
