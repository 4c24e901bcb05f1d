/* traces.c - see traces.h. */
#include "stat/traces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* A string, once. */
struct string {
    UT_hash_handle hh;
    uint32_t number; /* in the order of the tree, once it is made */
    char text[];
};

/* A frame, once. */
struct place_key {
    struct string *function;
    struct string *file;
    uint64_t line;
};

struct place {
    UT_hash_handle hh;
    struct place_key key;
    uint32_t number;
};

struct trace {
    uint32_t task;
    uint32_t sample;
    uint32_t count;
    struct place **places;
};

struct traces {
    struct string *strings;
    struct place *places;
    struct trace *traces;
    size_t count;
    size_t room;
};

int traces_new(struct traces **out)
{
    struct traces *traces = calloc(1, sizeof(*traces));

    if (!traces)
        return -ENOMEM;
    *out = traces;
    return 0;
}

void traces_free(struct traces *traces)
{
    struct string *string;
    struct string *next_string;
    struct place *place;
    struct place *next_place;
    size_t i;

    if (!traces)
        return;
    HASH_ITER(hh, traces->places, place, next_place)
    {
        HASH_DEL(traces->places, place);
        free(place);
    }
    HASH_ITER(hh, traces->strings, string, next_string)
    {
        HASH_DEL(traces->strings, string);
        free(string);
    }
    for (i = 0; i < traces->count; i++)
        free(traces->traces[i].places);
    free(traces->traces);
    free(traces);
}

/* The one copy of `text`; NULL without memory. */
static struct string *intern(struct traces *traces, const char *text)
{
    struct string *string;
    size_t len = strlen(text);

    HASH_FIND(hh, traces->strings, text, len, string);
    if (string)
        return string;
    string = calloc(1, sizeof(*string) + len + 1);
    if (!string)
        return NULL;
    memcpy(string->text, text, len + 1);
    HASH_ADD_KEYPTR(hh, traces->strings, string->text, len, string);
    if (!string->hh.tbl) {
        free(string);
        return NULL;
    }
    return string;
}

static struct place *place_of(struct traces *traces, const struct frame *frame)
{
    struct place_key key;
    struct place *place;

    memset(&key, 0, sizeof(key));
    key.function = intern(traces, frame->function);
    key.file = intern(traces, frame->file);
    key.line = frame->line;
    if (!key.function || !key.file)
        return NULL;
    HASH_FIND(hh, traces->places, &key, sizeof(key), place);
    if (place)
        return place;
    place = calloc(1, sizeof(*place));
    if (!place)
        return NULL;
    place->key = key;
    HASH_ADD(hh, traces->places, key, sizeof(key), place);
    if (!place->hh.tbl) {
        free(place);
        return NULL;
    }
    return place;
}

int traces_add(struct traces *traces,
               uint32_t task,
               uint32_t sample,
               const struct frame *frames,
               size_t count)
{
    struct trace trace = {.task = task, .sample = sample};
    size_t i;

    if (count == 0 || task >= TASKS_MAX)
        return -EINVAL;
    if (count > TREE_DEPTH_MAX)
        count = TREE_DEPTH_MAX;
    if (traces->count == traces->room) {
        size_t room = traces->room ? 2 * traces->room : 64;
        struct trace *grown =
            reallocarray(traces->traces, room, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        traces->traces = grown;
        traces->room = room;
    }
    trace.places = calloc(count, sizeof(struct place *));
    if (!trace.places)
        return -ENOMEM;
    trace.count = (uint32_t)count;
    for (i = 0; i < count; i++) {
        trace.places[i] = place_of(traces, &frames[i]);
        if (!trace.places[i]) {
            free(trace.places);
            return -ENOMEM;
        }
    }
    traces->traces[traces->count++] = trace;
    return 0;
}

static int by_text(const void *a, const void *b)
{
    const struct string *const *x = a;
    const struct string *const *y = b;

    return strcmp((*x)->text, (*y)->text);
}

static int by_place(const void *a, const void *b)
{
    const struct place_key *x = &(*(struct place *const *)a)->key;
    const struct place_key *y = &(*(struct place *const *)b)->key;

    if (x->function != y->function)
        return x->function->number < y->function->number ? -1 : 1;
    if (x->file != y->file)
        return x->file->number < y->file->number ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

/* Below 0, 0, above 0 as the stack of `a` is before, the same as or after that
 * of `b` in pre-order. */
static int stack_compare(const struct trace *a, const struct trace *b)
{
    uint32_t i;

    for (i = 0; i < a->count && i < b->count; i++) {
        if (a->places[i] != b->places[i])
            return a->places[i]->number < b->places[i]->number ? -1 : 1;
    }
    return (a->count > b->count) - (a->count < b->count);
}

static int by_stack(const void *a, const void *b)
{
    const struct trace *x = a;
    const struct trace *y = b;
    int order = stack_compare(x, y);

    if (order != 0)
        return order;
    if (x->task != y->task)
        return x->task < y->task ? -1 : 1;
    return (x->sample > y->sample) - (x->sample < y->sample);
}

/* Number strings and places in the order of a tree, and put them there. */
static int tree_places(struct tree *tree, const struct traces *traces)
{
    size_t string_count = HASH_COUNT(traces->strings);
    size_t place_count = HASH_COUNT(traces->places);
    struct string **strings = NULL;
    struct place **places = NULL;
    struct string *string;
    struct place *place;
    char *text = tree->text;
    size_t i = 0;
    int r = -ENOMEM;

    strings = calloc(string_count + 1, sizeof(struct string *));
    places = calloc(place_count + 1, sizeof(struct place *));
    if (!strings || !places)
        goto out;
    for (string = traces->strings; string; string = string->hh.next)
        strings[i++] = string;
    qsort(strings, string_count, sizeof(struct string *), by_text);
    for (i = 0; i < string_count; i++) {
        strings[i]->number = (uint32_t)i;
        tree->strings[i] = strcpy(text, strings[i]->text);
        text += strlen(text) + 1;
    }
    i = 0;
    for (place = traces->places; place; place = place->hh.next)
        places[i++] = place;
    qsort(places, place_count, sizeof(struct place *), by_place);
    for (i = 0; i < place_count; i++) {
        places[i]->number = (uint32_t)i;
        tree->frames[i] = (struct tree_frame){places[i]->key.function->number,
                                              places[i]->key.file->number,
                                              (uint32_t)places[i]->key.line};
    }
    tree->string_count = (uint32_t)string_count;
    tree->frame_count = (uint32_t)place_count;
    r = 0;
out:
    free(strings);
    free(places);
    return r;
}

/* One task at the end of a stack. */
struct weight {
    uint32_t samples;
    uint32_t threads;
    uint32_t task;
};

/* Heaviest first, then by task. */
static int by_weight(const void *a, const void *b)
{
    const struct weight *x = a;
    const struct weight *y = b;

    if (x->samples != y->samples)
        return x->samples > y->samples ? -1 : 1;
    if (x->threads != y->threads)
        return x->threads > y->threads ? -1 : 1;
    return (x->task > y->task) - (x->task < y->task);
}

/* Weigh the tasks of `count` equal stacks, which are sorted by task and
 * sample. Returns how many tasks. */
static size_t weigh(struct weight *weights,
                    const struct trace *traces,
                    size_t count)
{
    size_t tasks = 0;
    uint32_t threads = 0;
    size_t i;

    for (i = 0; i < count; i++) {
        bool same_task = i > 0 && traces[i - 1].task == traces[i].task;

        if (!same_task)
            weights[tasks++] = (struct weight){0, 0, traces[i].task};
        if (!same_task || traces[i - 1].sample != traces[i].sample) {
            weights[tasks - 1].samples++;
            threads = 0;
        }
        if (++threads > weights[tasks - 1].threads)
            weights[tasks - 1].threads = threads;
    }
    qsort(weights, tasks, sizeof(*weights), by_weight);
    return tasks;
}

/* Add the ends of the last node, of `count` equal stacks. */
static int tree_ends(struct tree *tree,
                     const struct trace *traces,
                     size_t count)
{
    struct weight *weights = calloc(count, sizeof(*weights));
    struct tasks_range *ranges = calloc(count, sizeof(*ranges));
    size_t tasks;
    size_t first;
    size_t i;
    int r = -ENOMEM;

    if (!weights || !ranges)
        goto out;
    tasks = weigh(weights, traces, count);
    for (first = 0; first < tasks; first = i) {
        struct tree_end *end = &tree->ends[tree->end_count];

        for (i = first;
             i < tasks && weights[i].samples == weights[first].samples &&
             weights[i].threads == weights[first].threads;
             i++)
            ranges[i - first] =
                (struct tasks_range){weights[i].task, weights[i].task};
        *end = (struct tree_end){tree->node_count - 1, weights[first].samples,
                                 weights[first].threads, NULL};
        r = tasks_new(&end->tasks, ranges, i - first);
        if (r < 0)
            goto out;
        tree->end_count++;
    }
    r = 0;
out:
    free(weights);
    free(ranges);
    return r;
}

/* Add nodes and ends of `count` sorted traces. */
static int tree_stacks(struct tree *tree,
                       const struct trace *traces,
                       size_t count)
{
    const struct trace *before = NULL;
    size_t first;
    size_t i;
    int r;

    for (first = 0; first < count; first = i) {
        const struct trace *trace = &traces[first];
        uint32_t depth = 0;

        while (before && depth < before->count && depth < trace->count &&
               before->places[depth] == trace->places[depth])
            depth++;
        for (; depth < trace->count; depth++)
            tree->nodes[tree->node_count++] =
                (struct tree_node){trace->places[depth]->number, depth, 1};
        for (i = first; i < count && stack_compare(trace, &traces[i]) == 0; i++)
            ;
        r = tree_ends(tree, trace, i - first);
        if (r < 0)
            return r;
        before = trace;
    }
    return 0;
}

int traces_tree(struct tree **out,
                const struct traces *traces,
                uint64_t stop_ns)
{
    struct trace *sorted = NULL;
    struct tree *tree = NULL;
    const struct string *string;
    size_t text_len = 0;
    size_t nodes = 0;
    size_t i;
    int r = -ENOMEM;

    for (string = traces->strings; string; string = string->hh.next)
        text_len += strlen(string->text) + 1;
    for (i = 0; i < traces->count; i++)
        nodes += traces->traces[i].count;
    sorted = calloc(traces->count + 1, sizeof(*sorted));
    if (!sorted)
        goto out;
    r = tree_new(&tree, text_len, HASH_COUNT(traces->strings),
                 HASH_COUNT(traces->places), nodes, traces->count);
    if (r < 0)
        goto out;
    r = tree_places(tree, traces);
    if (r < 0)
        goto out;
    if (traces->count)
        memcpy(sorted, traces->traces, traces->count * sizeof(*sorted));
    qsort(sorted, traces->count, sizeof(*sorted), by_stack);
    r = tree_stacks(tree, sorted, traces->count);
    if (r < 0)
        goto out;
    tree->stop_ns = stop_ns;
    tree_finish(tree);
    *out = tree;
    tree = NULL;
out:
    free(sorted);
    tree_free(tree);
    return r;
}
