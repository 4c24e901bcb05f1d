/* look.c - see look.h. */
#include "stat/diff/look.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stat/diff/reading.h"
#include "stat/write/json.h"
#include "stat/write/record.h"

/* Copy an optional text of the file into the look. */
static int keep_text(struct reading *reading, char **out, const char *member)
{
    const char *text = "";
    int r = reading_optional_text(reading, &text, reading->top, "", member);

    if (r == 0 && json_object_get(reading->top, member)) {
        *out = strdup(text);
        r = *out ? 0 : -ENOMEM;
    }
    return r;
}

/* Read the texts about how the look was made. */
static int read_texts(struct reading *reading)
{
    struct look *look = reading->look;
    int r;

    r = keep_text(reading, &look->origin, "origin");
    if (r == 0)
        r = keep_text(reading, &look->job, "job");
    if (r == 0)
        r = keep_text(reading, &look->command, "command");
    if (r == 0)
        r = keep_text(reading, &look->tool, "tool");
    if (r == 0)
        r = keep_text(reading, &look->late, "partial_reason");
    return r;
}

/* Read which tasks moved between the last samples. */
static int read_moves(struct reading *reading)
{
    struct history *history = &reading->look->history;
    const json_t *array = json_object_get(reading->top, "moved");

    if (json_array_size(array) > HISTORY_MAX)
        return cop_error_set(reading->error, -EINVAL,
                             "%s: moved: more than %d sets", reading->name,
                             HISTORY_MAX);
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *value = json_array_get(array, i);

        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            (uint64_t)json_integer_value(value) >= reading->set_count)
            return cop_error_set(reading->error, -EINVAL,
                                 "%s: moved[%zu]: no set", reading->name, i);
        history->moved[history->count++] =
            tasks_ref(reading->sets[json_integer_value(value)]);
    }
    return 0;
}

/* Read the node of the tree that the moving tasks of each class never left. */
static int read_never_left(struct reading *reading)
{
    struct look *look = reading->look;
    const json_t *array = json_object_get(reading->top, "classes");
    uint64_t node;
    char where[48];
    int r = 0;

    look->never_left =
        calloc(json_array_size(array) + 1, sizeof(*look->never_left));
    if (!look->never_left)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < json_array_size(array); i++) {
        snprintf(where, sizeof(where), "classes[%zu].", i);
        node = UINT32_MAX;
        r = reading_optional(reading, &node, json_array_get(array, i), where,
                             "never_left",
                             (uint64_t)look->tree->node_count - 1);
        look->never_left[look->class_count++] = (uint32_t)node;
    }
    return r;
}

/* Read the format of the file, and how the look was made. */
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
    r = reading_number(reading, &version, reading->top, "", "version",
                       INT64_MAX);
    if (r == 0 && version != JSON_VERSION)
        return cop_error_set(reading->error, -EINVAL,
                             "%s: version %" PRIu64 ": this coppice-stat "
                             "reads version %d only",
                             reading->name, version, JSON_VERSION);
    if (r == 0)
        r = reading_number(reading, &number, reading->top, "", "samples",
                           UINT32_MAX);
    look->samples = (uint32_t)number;
    if (r == 0)
        r = reading_optional(reading, &look->taken_s, reading->top, "", "taken",
                             INT64_MAX);
    number = 0;
    if (r == 0)
        r = reading_optional(reading, &number, reading->top, "", "interval_ms",
                             UINT32_MAX);
    look->interval_ms = (uint32_t)number;
    look->full = json_is_true(json_object_get(reading->top, "full"));
    look->threads =
        json_is_true(json_object_get(reading->top, "threads_shown"));
    if (r == 0)
        r = read_texts(reading);
    if (r == 0)
        r = reading_optional_text(reading, &detail, reading->top, "", "detail");
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
    uint64_t size = 0;
    const json_t *array = NULL;
    int r;

    r = reading_array(reading, &array, reading->top, "", "sets");
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
        size += tasks_size(reading->sets[i]);
        if (size > LOOK_SETS_MAX)
            return cop_error_set(reading->error, -EINVAL,
                                 "%s: sets[%zu]: the sets are too large "
                                 "together",
                                 reading->name, i);
    }
    return r;
}

/* Read whether a task could not be walked, and keep only the reason as
 * function. Older files only have the function. Returns 0 or -ENOMEM. */
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

    r = reading_array(reading, &array, reading->top, "", "frames");
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
        r = reading_text(reading, &frame->function, object, where, "function");
        if (r == 0)
            r = reading_optional_text(reading, &frame->file, object, where,
                                      "file");
        if (r == 0)
            r = reading_optional_text(reading, &frame->module, object, where,
                                      "module");
        if (r == 0)
            r = reading_optional(reading, &line, object, where, "line",
                                 UINT32_MAX);
        if (r == 0)
            r = reading_optional(reading, &frame->offset, object, where,
                                 "offset", INT64_MAX);
        if (r == 0)
            r = read_not_walked(frame, object);
        frame->line = (uint32_t)line;
    }
    return r;
}

/* Read the set of all tasks, including those without an answer. */
static int read_tasks(struct reading *reading)
{
    struct tasks *all = NULL;
    struct tasks *both = NULL;
    struct tasks *missing;
    int r;

    r = reading_set(reading, &missing, reading->top, "", "missing");
    if (r == 0)
        r = tasks_combine(&both, TASKS_BOTH, missing, reading->look->everyone);
    if (r == 0 && tasks_count(both) > 0)
        r = cop_error_set(reading->error, -EINVAL,
                          "%s: missing: a task of it is in the tree",
                          reading->name);
    if (r == 0)
        r = tasks_combine(&all, TASKS_UNION, missing, reading->look->everyone);
    if (r == 0) {
        reading->look->missing = tasks_ref(missing);
        reading->look->tasks = tasks_is_empty(all) ? 0 : tasks_last(all) + 1;
    }
    tasks_free(all);
    tasks_free(both);
    return r;
}

/* A file, and how many bytes were read from it. */
struct source {
    FILE *file;
    uint64_t len;
    bool is_over; /* at the end of the file or look */
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

/* Parse the text as JSON. */
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
        r = look_tree_read(&reading);
    if (r == 0)
        r = read_tasks(&reading);
    if (r == 0)
        r = look_hosts_read(&reading);
    if (r == 0)
        r = read_moves(&reading);
    if (r == 0)
        r = read_never_left(&reading);
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
    history_fini(&look->history);
    free(look->never_left);
    free(look->origin);
    free(look->job);
    free(look->command);
    free(look->tool);
    free(look->late);
    free(look);
}
