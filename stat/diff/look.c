/* look.c - see look.h. */
#include "stat/diff/look.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "stat/tree/build.h"
#include "stat/write/json.h"
#include "stat/write/record.h"

/* The look in the making. */
struct reading {
    const char *name;
    struct cop_error *error;
    json_t *top;
    struct look *look;
    struct tasks **sets;
    size_t set_count;
    struct frame *frames; /* strings are those of `top` */
    size_t frame_count;
};

/* What a number in the file counts or points into; its largest value. */
static int read_number(struct reading *reading,
                       uint64_t *out,
                       const json_t *object,
                       const char *where,
                       const char *member,
                       uint64_t max)
{
    const json_t *value = json_object_get(object, member);
    json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;

    if (number < 0 || (uint64_t)number > max)
        return cop_error_set(reading->error, -EINVAL,
                             "%s: %s%s: no number from 0 to %" PRIu64,
                             reading->name, where, member, max);
    *out = (uint64_t)number;
    return 0;
}

/* The same where the member may be left out: `*out` stays. */
static int read_optional(struct reading *reading,
                         uint64_t *out,
                         const json_t *object,
                         const char *where,
                         const char *member,
                         uint64_t max)
{
    return json_object_get(object, member)
               ? read_number(reading, out, object, where, member, max)
               : 0;
}

/* A set, by its number; borrowed. */
static int read_set(struct reading *reading,
                    struct tasks **out,
                    const json_t *object,
                    const char *where,
                    const char *member)
{
    uint64_t number;
    int r;

    if (reading->set_count == 0)
        return cop_error_set(reading->error, -EINVAL, "%s: sets: there is none",
                             reading->name);
    r = read_number(reading, &number, object, where, member,
                    reading->set_count - 1);
    if (r == 0)
        *out = reading->sets[number];
    return r;
}

/* A string. Names with a NUL were refused by the parser. */
static int read_text(struct reading *reading,
                     const char **out,
                     const json_t *object,
                     const char *where,
                     const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));

    if (!text)
        return cop_error_set(reading->error, -EINVAL, "%s: %s%s: no string",
                             reading->name, where, member);
    *out = text;
    return 0;
}

static int read_optional_text(struct reading *reading,
                              const char **out,
                              const json_t *object,
                              const char *where,
                              const char *member)
{
    *out = "";
    return json_object_get(object, member)
               ? read_text(reading, out, object, where, member)
               : 0;
}

/* An array of `top`. */
static int read_array(struct reading *reading,
                      const json_t **out,
                      const json_t *object,
                      const char *where,
                      const char *member)
{
    const json_t *array = json_object_get(object, member);

    if (!json_is_array(array))
        return cop_error_set(reading->error, -EINVAL, "%s: %s%s: no array",
                             reading->name, where, member);
    *out = array;
    return 0;
}

/* What the file is, and how the look was made. */
static int read_source(struct reading *reading)
{
    static const char *const details[] = {
        [NAMING_FUNCTIONS] = "functions",
        [NAMING_LINES] = "lines",
        [NAMING_ADDRESSES] = "addresses",
    };
    const char *format =
        json_string_value(json_object_get(reading->top, "format"));
    struct look *look = reading->look;
    uint64_t version, number = 0;
    const char *detail;
    int r;

    if (!format || strcmp(format, "coppice-stat") != 0)
        return cop_error_set(reading->error, -EINVAL,
                             "%s: not written by coppice-stat --json: its "
                             "format is not \"coppice-stat\"",
                             reading->name);
    r = read_number(reading, &version, reading->top, "", "version", INT64_MAX);
    if (r == 0 && version != JSON_VERSION)
        return cop_error_set(reading->error, -EINVAL,
                             "%s: version %" PRIu64 ": this coppice-stat "
                             "reads version %d only",
                             reading->name, version, JSON_VERSION);
    if (r == 0)
        r = read_number(reading, &number, reading->top, "", "samples",
                        UINT32_MAX);
    look->samples = (uint32_t)number;
    if (r == 0)
        r = read_optional(reading, &look->taken_s, reading->top, "", "taken",
                          INT64_MAX);
    look->full = json_is_true(json_object_get(reading->top, "full"));
    if (r == 0)
        r = read_optional_text(reading, &detail, reading->top, "", "detail");
    if (r < 0)
        return r;
    for (number = 0; number < 3; number++)
        if (strcmp(detail, details[number]) == 0)
            look->detail = (enum naming_detail)number;
    if (detail[0] && strcmp(detail, details[look->detail]) != 0)
        return cop_error_set(reading->error, -EINVAL,
                             "%s: detail: \"%.20s\" is none", reading->name,
                             detail);
    return 0;
}

static int read_sets(struct reading *reading)
{
    uint64_t ranges = 0;
    const json_t *array = NULL;
    int r;

    r = read_array(reading, &array, reading->top, "", "sets");
    if (r < 0)
        return r;
    reading->sets = calloc(json_array_size(array) + 1, sizeof(struct tasks *));
    if (!reading->sets)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < json_array_size(array); i++) {
        const char *text = json_string_value(json_array_get(array, i));

        r = text ? tasks_parse(&reading->sets[i], text) : -EINVAL;
        if (r == -EINVAL)
            return cop_error_set(reading->error, r,
                                 "%s: sets[%zu]: not rising ranges of tasks "
                                 "below %u, such as \"0,3-15\"",
                                 reading->name, i, TASKS_MAX);
        if (r < 0)
            return r;
        reading->set_count++;
        ranges += tasks_range_count(reading->sets[i]);
        if (ranges > LOOK_RANGES_MAX)
            return cop_error_set(reading->error, -EINVAL,
                                 "%s: sets[%zu]: the sets are too large "
                                 "together",
                                 reading->name, i);
    }
    return r;
}

/* Read whether a task could not be walked; of its function keep the reason.
 * Files of older versions say so in the function only. Returns 0 or -ENOMEM. */
static int read_not_walked(struct frame *frame, const json_t *object)
{
    json_t *function = json_object_get(object, "function");
    size_t begin = strlen(FRAME_NOT_WALKED_TEXT), len;

    frame->not_walked = json_is_true(json_object_get(object, "not_walked"));
    if (strncmp(frame->function, FRAME_NOT_WALKED_TEXT, begin) != 0)
        return 0;
    frame->not_walked = true;
    len = strlen(frame->function) - begin;
    if (len > 0 && frame->function[begin + len - 1] == ']')
        len--;
    if (json_string_setn(function, frame->function + begin, len) < 0)
        return -ENOMEM;
    frame->function = json_string_value(function);
    return 0;
}

static int read_frames(struct reading *reading)
{
    const json_t *array = NULL;
    char where[48];
    uint64_t line;
    int r;

    r = read_array(reading, &array, reading->top, "", "frames");
    if (r < 0)
        return r;
    reading->frame_count = json_array_size(array);
    reading->frames =
        calloc(reading->frame_count + 1, sizeof(*reading->frames));
    if (!reading->frames)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < reading->frame_count; i++) {
        const json_t *object = json_array_get(array, i);
        struct frame *frame = &reading->frames[i];

        snprintf(where, sizeof(where), "frames[%zu].", i);
        line = 0;
        r = read_text(reading, &frame->function, object, where, "function");
        if (r == 0)
            r = read_optional_text(reading, &frame->file, object, where,
                                   "file");
        if (r == 0)
            r = read_optional_text(reading, &frame->module, object, where,
                                   "module");
        if (r == 0)
            r = read_optional(reading, &line, object, where, "line",
                              UINT32_MAX);
        if (r == 0)
            r = read_optional(reading, &frame->offset, object, where, "offset",
                              INT64_MAX);
        if (r == 0)
            r = read_not_walked(frame, object);
        frame->line = (uint32_t)line;
    }
    return r;
}

/* The ids of the threads of an end, if it has them; the caller's. */
static int read_tids(struct reading *reading,
                     struct tasks **tids,
                     const json_t *end,
                     const char *where)
{
    const char *text = "";
    int r = read_optional_text(reading, &text, end, where, "tids");

    if (r < 0 || !text[0])
        return r;
    r = tasks_parse(tids, text);
    if (r == -EINVAL)
        r = cop_error_set(reading->error, r, "%s: %stids: no set of numbers",
                          reading->name, where);
    return r;
}

/* The ends of one node: to `build`, and their tasks into `*under`. */
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
    r = read_array(reading, &array, object, where, "ends");
    for (size_t i = 0; r == 0 && i < json_array_size(array); i++) {
        const json_t *end = json_array_get(array, i);
        struct tasks *tasks, *twice, *tids = NULL;

        snprintf(where, sizeof(where), "nodes[%zu].ends[%zu].", index, i);
        r = read_set(reading, &tasks, end, where, "set");
        if (r == 0)
            r = read_number(reading, &samples, end, where, "samples",
                            UINT32_MAX);
        if (r == 0)
            r = read_number(reading, &threads, end, where, "threads",
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
            r = build_end(
                build,
                &(struct tree_end){place, (uint32_t)samples, (uint32_t)threads,
                                   !json_object_get(end, "left"), tasks, tids});
        tasks_free(tids);
    }
    return r;
}

/* A node whose subtree is not complete. */
struct open {
    size_t index;
    uint32_t place;
    struct tasks *under; /* at it, and under what was closed below */
};

/* The last open node is complete: its set must be what was found, which goes
 * on to the node above, or to everyone. */
static int close_node(struct reading *reading,
                      const json_t *nodes,
                      struct open *open,
                      struct tasks **above)
{
    struct tasks *set;
    char where[48];
    int r;

    snprintf(where, sizeof(where), "nodes[%zu].", open->index);
    r = read_set(reading, &set, json_array_get(nodes, open->index), where,
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

/* All nodes, in pre-order, into `build`. */
static int read_nodes(struct reading *reading, struct build *build)
{
    struct open open[TREE_DEPTH_MAX];
    uint64_t depth = 0, frame, top = 0;
    const json_t *array = NULL;
    uint32_t count = 0; /* open nodes */
    size_t index = 0;
    char where[48];
    int r;

    r = read_array(reading, &array, reading->top, "", "nodes");
    for (; r == 0 && index < json_array_size(array); index++) {
        const json_t *object = json_array_get(array, index);

        snprintf(where, sizeof(where), "nodes[%zu].", index);
        r = read_number(reading, &depth, object, where, "depth",
                        count < TREE_DEPTH_MAX ? count : TREE_DEPTH_MAX - 1);
        for (; r == 0 && count > depth; count--)
            r = close_node(reading, array, &open[count - 1],
                           count > 1 ? &open[count - 2].under
                                     : &reading->look->everyone);
        if (r == 0 && reading->frame_count == 0)
            r = cop_error_set(reading->error, -EINVAL, "%s: no frames",
                              reading->name);
        if (r == 0)
            r = read_number(reading, &frame, object, where, "frame",
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
        if (r == 0)
            r = tasks_new(&open[count].under, NULL, 0);
        if (r < 0)
            break;
        open[count].index = index;
        r = build_node(build, &open[count].place,
                       count > 0 ? open[count - 1].place : BUILD_TOP,
                       &reading->frames[frame]);
        count++;
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

/* The tree. Of a settled one nobody asks when who moved. */
static int read_tree(struct reading *reading)
{
    struct tree_progress progress = {.moved = 1,
                                     .seen = reading->look->samples};
    struct build *build = NULL;
    uint64_t stopped_ns = 0, count = 0;
    int r;

    r = tasks_new(&reading->look->everyone, NULL, 0);
    if (r == 0)
        r = build_new(&build, true);
    if (r == 0)
        r = read_nodes(reading, build);
    if (r == 0)
        r = read_number(reading, &stopped_ns, reading->top, "", "stopped_ns",
                        INT64_MAX);
    if (r == 0)
        r = read_number(reading, &count, reading->top, "", "tasks", TASKS_MAX);
    if (r == 0 && count != tasks_count(reading->look->everyone))
        r = cop_error_set(reading->error, -EINVAL,
                          "%s: tasks: %" PRIu64 ", but %u are in the tree",
                          reading->name, count,
                          tasks_count(reading->look->everyone));
    progress.tasks = reading->look->everyone;
    if (r == 0)
        r = build_progress(build, &progress);
    if (r == 0)
        r = build_tree(&reading->look->tree, build, stopped_ns);
    build_free(build);
    return r;
}

/* Where each task is, by its number; pid 0: nowhere so far. */
struct place {
    int32_t pid;
    uint32_t host;
};

/* The processes of one host. */
static int read_pids(struct reading *reading,
                     struct place *places,
                     const json_t *pids,
                     const struct tasks *set,
                     uint32_t host,
                     const char *where)
{
    uint32_t count = reading->look->tasks, task;
    size_t next = 0, i;

    if (json_array_size(pids) != tasks_count(set))
        return cop_error_set(
            reading->error, -EINVAL, "%s: %spids: %zu processes of %u tasks",
            reading->name, where, json_array_size(pids), tasks_count(set));
    for (i = 0; i < tasks_range_count(set); i++) {
        for (task = tasks_ranges(set)[i].first;
             task <= tasks_ranges(set)[i].last; task++) {
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

/* The tasks of all hosts. */
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
        r = read_text(reading, &name, object, where, "name");
        if (r == 0)
            r = read_set(reading, &set, object, where, "set");
        if (r == 0)
            r = read_array(reading, &pids, object, where, "pids");
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

/* Which of the tasks must have a process: all, unless they are ranks, of which
 * some may be missing or not asked for. */
static int find_placed(struct tasks **out, const struct reading *reading)
{
    const struct look *look = reading->look;
    struct tasks_range all = {0, look->tasks - 1};

    if (!look->targets.ranked)
        return tasks_new(out, &all, look->tasks > 0);
    return tasks_combine(out, TASKS_MINUS, look->everyone, look->missing);
}

/* Add the tasks that have a process. `placed` must have one. */
static int take_places(struct reading *reading,
                       const struct place *places,
                       const struct tasks *placed)
{
    struct look *look = reading->look;
    size_t range = 0;
    int r = 0;

    for (uint32_t task = 0; r == 0 && task < look->tasks; task++) {
        while (range < tasks_range_count(placed) &&
               tasks_ranges(placed)[range].last < task)
            range++;
        if (places[task].pid != 0)
            r = targets_append(&look->targets, task, places[task].host,
                               places[task].pid);
        else if (range < tasks_range_count(placed) &&
                 tasks_ranges(placed)[range].first <= task)
            r = cop_error_set(reading->error, -EINVAL,
                              "%s: hosts: task %u is on none", reading->name,
                              task);
    }
    return r;
}

/* Which process each task is: all, or, of a made-up job, none. */
static int read_hosts(struct reading *reading)
{
    struct look *look = reading->look;
    const json_t *array = NULL;
    struct tasks *placed = NULL;
    struct place *places;
    int r;

    r = read_array(reading, &array, reading->top, "", "hosts");
    if (r < 0 || json_array_size(array) == 0)
        return r;
    look->targets.ranked = json_is_true(json_object_get(reading->top, "ranks"));
    places = calloc((size_t)look->tasks + 1, sizeof(*places));
    r = places ? find_placed(&placed, reading) : -ENOMEM;
    if (r == 0)
        r = read_places(reading, places, array);
    if (r == 0)
        r = take_places(reading, places, placed);
    if (r == 0 && look->targets.ranked)
        targets_set_absent(&look->targets, tasks_ref(look->missing));
    tasks_free(placed);
    free(places);
    return r;
}

/* Who there is, with those that gave no answer. */
static int read_tasks(struct reading *reading)
{
    struct tasks *all = NULL;
    struct tasks *both = NULL;
    struct tasks *missing;
    size_t count;
    int r;

    r = read_set(reading, &missing, reading->top, "", "missing");
    if (r == 0)
        r = tasks_combine(&both, TASKS_BOTH, missing, reading->look->everyone);
    if (r == 0 && tasks_count(both) > 0)
        r = cop_error_set(reading->error, -EINVAL,
                          "%s: missing: a task of it is in the tree",
                          reading->name);
    if (r == 0)
        r = tasks_combine(&all, TASKS_UNION, missing, reading->look->everyone);
    if (r == 0) {
        count = tasks_range_count(all);
        reading->look->missing = tasks_ref(missing);
        reading->look->tasks =
            count ? tasks_ranges(all)[count - 1].last + 1 : 0;
    }
    tasks_free(all);
    tasks_free(both);
    return r;
}

/* Bytes that were read already. */
struct source {
    FILE *file;
    uint64_t len;
    bool is_over; /* at the end, or at the next of several looks */
};

static size_t read_bytes(void *buffer, size_t room, void *arg)
{
    struct source *source = arg;
    char *bytes = buffer;
    size_t len = 0;
    int next;

    while (!source->is_over && len < room) {
        next = getc_unlocked(source->file);
        source->is_over =
            next == EOF || (next == RECORD_SEPARATOR && source->len + len > 0);
        if (!source->is_over && next != RECORD_SEPARATOR)
            bytes[len++] = (char)next;
    }
    source->len += len;
    if (ferror(source->file) || source->len > LOOK_LEN_MAX)
        return (size_t)-1;
    return len;
}

/* The text as values of JSON. */
static int parse_json(struct reading *reading, FILE *file)
{
    struct source source = {file, 0, false};
    json_error_t error;

    reading->top =
        json_load_callback(read_bytes, &source, JSON_REJECT_DUPLICATES, &error);
    if (ferror(file))
        return cop_error_set(reading->error, -EIO, "%s: cannot read it: %s",
                             reading->name, strerror(errno));
    if (source.len > LOOK_LEN_MAX)
        return cop_error_set(reading->error, -EINVAL,
                             "%s: more than %" PRIu64 " bytes", reading->name,
                             LOOK_LEN_MAX);
    if (!reading->top && json_error_code(&error) == json_error_out_of_memory)
        return -ENOMEM;
    if (!reading->top)
        return cop_error_set(reading->error, -EINVAL, "%s:%d: not JSON: %s%s",
                             reading->name, error.line, error.text,
                             source.len == 0 ? ": the file is empty" : "");
    return 0;
}

int look_read(struct look **out,
              FILE *file,
              const char *name,
              struct cop_error *error)
{
    struct reading reading = {.name = name, .error = error};
    int r;

    reading.look = calloc(1, sizeof(*reading.look));
    r = reading.look ? parse_json(&reading, file) : -ENOMEM;
    if (r == 0)
        r = read_source(&reading);
    if (r == 0)
        r = read_sets(&reading);
    if (r == 0)
        r = read_frames(&reading);
    if (r == 0)
        r = read_tree(&reading);
    if (r == 0)
        r = read_tasks(&reading);
    if (r == 0)
        r = read_hosts(&reading);
    if (r == 0) {
        *out = reading.look;
        reading.look = NULL;
    }
    look_free(reading.look);
    for (size_t i = 0; i < reading.set_count; i++)
        tasks_free(reading.sets[i]);
    free(reading.sets);
    free(reading.frames);
    json_decref(reading.top);
    return r;
}

int look_open(struct look **out, const char *path, struct cop_error *error)
{
    FILE *file = fopen(path, "re");
    int r;

    if (!file)
        return cop_error_set(error, -errno, "%s: cannot open it: %s", path,
                             strerror(errno));
    r = look_read(out, file, path, error);
    fclose(file);
    return r;
}

void look_free(struct look *look)
{
    if (!look)
        return;
    targets_fini(&look->targets);
    tree_free(look->tree);
    tasks_free(look->everyone);
    tasks_free(look->missing);
    free(look);
}
