/* look_hosts.c - reads the processes of a look. */
#include "stat/diff/reading.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The process of a task, by task number; pid 0: not known yet. */
struct place {
    int32_t pid;
    uint32_t host;
};

/* Read the processes of one host. */
static int read_pids(struct reading *reading,
                     struct place *places,
                     const json_t *pids,
                     const struct tasks *set,
                     uint32_t host,
                     const char *where)
{
    uint32_t count = reading->look->tasks, task;
    struct tasks_cursor at = tasks_begin(set);
    size_t next = 0;

    if (json_array_size(pids) != tasks_count(set))
        return cop_error_set(
            reading->error, -EINVAL, "%s: %spids: %zu processes of %u tasks",
            reading->name, where, json_array_size(pids), tasks_count(set));
    while (tasks_next(&at)) {
        for (task = at.range.first; task <= at.range.last; task++) {
            const json_t *value = json_array_get(pids, next++);
            json_int_t pid = json_integer_value(value);

            if (pid < 1 || pid > INT32_MAX)
                return cop_error_set(reading->error, -EINVAL,
                                     "%s: %spids[%zu]: no pid", reading->name,
                                     where, next - 1);
            if (task >= count || places[task].pid != 0)
                return cop_error_set(reading->error, -EINVAL,
                                     "%s: %sset: task %u is %s", reading->name,
                                     where, task,
                                     task >= count ? "not one of the job's"
                                                   : "on another host too");
            places[task] = (struct place){(int32_t)pid, host};
        }
    }
    return 0;
}

/* Read the tasks of all hosts. */
static int read_places(struct reading *reading,
                       struct place *places,
                       const json_t *array)
{
    struct targets *targets = &reading->look->targets;
    const json_t *pids = NULL;
    struct tasks *set;
    struct cop_error wrong = {""};
    const char *name = "";
    uint32_t host;
    char where[48];
    int r = 0;

    for (size_t i = 0; r == 0 && i < json_array_size(array); i++) {
        const json_t *object = json_array_get(array, i);

        snprintf(where, sizeof(where), "hosts[%zu].", i);
        r = reading_text(reading, &name, object, where, "name");
        if (r == 0)
            r = reading_set(reading, &set, object, where, "set");
        if (r == 0)
            r = reading_array(reading, &pids, object, where, "pids");
        if (r == 0)
            r = targets_host(targets, name, &host, &wrong);
        if (wrong.text[0])
            return cop_error_set(reading->error, r, "%s: %sname: %s",
                                 reading->name, where, wrong.text);
        if (r == 0)
            r = read_pids(reading, places, pids, set, host, where);
    }
    return r;
}

/* Find the tasks that must have a process: all, unless they are ranks, some of
 * which may be missing or not requested. */
static int find_placed(struct tasks **out, const struct reading *reading)
{
    const struct look *look = reading->look;
    struct tasks_range all = {0, look->tasks - 1};

    if (!look->targets.ranked)
        return tasks_new(out, &all, look->tasks > 0);
    return tasks_combine(out, TASKS_MINUS, look->everyone, look->missing);
}

/* Add the tasks that have a process. Those in `placed` must have one. */
static int take_places(struct reading *reading,
                       const struct place *places,
                       const struct tasks *placed)
{
    struct look *look = reading->look;
    int r = 0;

    for (uint32_t task = 0; r == 0 && task < look->tasks; task++) {
        if (places[task].pid != 0)
            r = targets_append(&look->targets, task, places[task].host,
                               places[task].pid);
        else if (tasks_has(placed, task))
            r = cop_error_set(reading->error, -EINVAL,
                              "%s: hosts: task %u is on none", reading->name,
                              task);
    }
    return r;
}

/* Read the processes that were set aside. */
static int read_asides(struct reading *reading)
{
    struct targets *targets = &reading->look->targets;
    const json_t *array = json_object_get(reading->top, "without_rank");
    struct cop_error wrong = {""};
    struct targets_aside aside = {.host = 0};
    const char *name = "", *host = "";
    uint64_t pid = 0;
    char where[48];
    int r = 0;

    for (size_t i = 0; r == 0 && i < json_array_size(array); i++) {
        const json_t *object = json_array_get(array, i);

        snprintf(where, sizeof(where), "without_rank[%zu].", i);
        r = reading_text(reading, &name, object, where, "name");
        if (r == 0)
            r = reading_text(reading, &host, object, where, "host");
        if (r == 0)
            r = reading_number(reading, &pid, object, where, "pid", INT32_MAX);
        if (r == 0)
            r = targets_host(targets, host, &aside.host, &wrong);
        if (wrong.text[0])
            return cop_error_set(reading->error, r, "%s: %shost: %s",
                                 reading->name, where, wrong.text);
        aside.pid = (int32_t)pid;
        aside.facts.helper = json_is_true(json_object_get(object, "helper"));
        snprintf(aside.facts.name, sizeof(aside.facts.name), "%s", name);
        if (r == 0)
            r = targets_set_aside(targets, &aside);
    }
    return r;
}

/* A made-up job has no processes. */
int look_hosts_read(struct reading *reading)
{
    struct look *look = reading->look;
    const json_t *array = NULL;
    struct tasks *placed = NULL;
    struct place *places;
    int r;

    r = reading_array(reading, &array, reading->top, "", "hosts");
    if (r < 0 || json_array_size(array) == 0)
        return r;
    look->targets.ranked = json_is_true(json_object_get(reading->top, "ranks"));
    places = calloc((size_t)look->tasks + 1, sizeof(*places));
    r = places ? find_placed(&placed, reading) : -ENOMEM;
    if (r == 0)
        r = read_places(reading, places, array);
    if (r == 0)
        r = take_places(reading, places, placed);
    if (r == 0)
        r = read_asides(reading);
    if (r == 0 && look->targets.ranked)
        targets_set_absent(&look->targets, tasks_ref(look->missing));
    tasks_free(placed);
    free(places);
    return r;
}
