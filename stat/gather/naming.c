/* naming.c - see naming.h. */
#include "stat/gather/naming.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat/show/columns.h"
#include "stat/tree/frame.h"

/* The names of one frame of the tree; count 0: not known. */
struct named {
    struct frame *frames; /* outermost first; owns their strings */
    uint32_t count;
};

struct naming {
    const struct tree *tree;
    struct named *named; /* by frame of the tree */
    uint32_t *addresses; /* frames of the tree without a name */
    uint32_t *task_of;   /* by address: a task that was there */
    uint32_t count;
    uint32_t missing;
    char *reasons[NAMING_REASONS_MAX]; /* owned */
    uint32_t reason_count;
    uint32_t number; /* of the question, see struct question */
};

static const char *function_of(const struct tree *tree, uint32_t frame)
{
    return tree->strings[tree->frames[frame].function];
}

static const char *module_of(const struct tree *tree, uint32_t frame)
{
    return tree->strings[tree->frames[frame].module];
}

/* No task. */
#define NOBODY UINT32_MAX

/* The first task of `set` that is not in `silent`. Returns 0 or -ENOMEM. */
static int first_of(uint32_t *task, struct tasks *set, struct tasks *silent)
{
    struct tasks *others;
    int r;

    r = tasks_combine(&others, TASKS_MINUS, set, silent);
    if (r < 0)
        return r;
    *task = tasks_is_empty(others) ? NOBODY : tasks_first(others);
    tasks_free(others);
    return 0;
}

/* Find for each frame a task that was there and is not silent, from an end at
 * or below a node with that frame; else NOBODY. */
static int find_tasks(const struct tree *tree,
                      struct tasks *silent,
                      uint32_t *tasks)
{
    uint32_t path[TREE_DEPTH_MAX]; /* the frames from the top down to a node */
    uint32_t known = 0;            /* how many of them have a task */
    uint32_t end = 0, task = NOBODY, depth, i;
    int r = 0;

    for (i = 0; i < tree->frame_count; i++)
        tasks[i] = NOBODY;
    for (i = 0; r == 0 && i < tree->node_count; i++) {
        depth = tree->nodes[i].depth;
        path[depth] = tree->nodes[i].frame;
        if (known > depth)
            known = depth;
        for (; r == 0 && end < tree->end_count && tree->ends[end].node == i;
             end++) {
            if (known > depth)
                continue;
            r = first_of(&task, tree->ends[end].tasks, silent);
            while (r == 0 && task != NOBODY && known <= depth)
                tasks[path[known++]] = task;
        }
    }
    return r;
}

/* Choose a task whose daemon names each address: one that has seen it and is
 * not silent, else one that has seen its module. Returns 0 or -ENOMEM. */
static int list_addresses(struct naming *naming, const uint32_t *tasks)
{
    const struct tree *tree = naming->tree;
    uint32_t *others = calloc((size_t)tree->string_count + 1, sizeof(*others));
    uint32_t task;

    if (!others)
        return -ENOMEM;
    for (uint32_t i = 0; i < tree->frame_count; i++)
        if (tasks[i] != NOBODY) /* stored plus one */
            others[tree->frames[i].module] = tasks[i] + 1;
    for (uint32_t i = 0; i < tree->frame_count; i++) {
        task =
            tasks[i] != NOBODY ? tasks[i] : others[tree->frames[i].module] - 1;
        if (function_of(tree, i)[0] || task == NOBODY)
            continue;
        naming->addresses[naming->count] = i;
        naming->task_of[naming->count++] = task;
    }
    naming->missing = naming->count;
    free(others);
    return 0;
}

int naming_new(struct naming **out,
               const struct tree *tree,
               struct tasks *silent)
{
    struct naming *naming = calloc(1, sizeof(*naming));
    uint32_t *tasks = calloc((size_t)tree->frame_count + 1, sizeof(*tasks));
    struct tasks *none = NULL;
    int r = -ENOMEM;

    if (!naming || !tasks)
        goto out;
    naming->tree = tree;
    naming->named =
        calloc((size_t)tree->frame_count + 1, sizeof(*naming->named));
    naming->addresses =
        calloc((size_t)tree->frame_count + 1, sizeof(*naming->addresses));
    naming->task_of =
        calloc((size_t)tree->frame_count + 1, sizeof(*naming->task_of));
    if (!naming->named || !naming->addresses || !naming->task_of)
        goto out;
    r = tasks_new(&none, NULL, 0);
    if (r == 0)
        r = find_tasks(tree, silent ? silent : none, tasks);
    if (r == 0)
        r = list_addresses(naming, tasks);
    if (r < 0)
        goto out;
    *out = naming;
    naming = NULL;
out:
    free(tasks);
    tasks_free(none);
    naming_free(naming);
    return r;
}

static void named_fini(struct named *named)
{
    for (uint32_t i = 0; i < named->count; i++) {
        free((char *)named->frames[i].function);
        free((char *)named->frames[i].file);
    }
    free(named->frames);
    *named = (struct named){0};
}

void naming_free(struct naming *naming)
{
    if (!naming)
        return;
    for (uint32_t i = 0; naming->named && i < naming->tree->frame_count; i++)
        named_fini(&naming->named[i]);
    free(naming->named);
    free(naming->addresses);
    free(naming->task_of);
    for (uint32_t i = 0; i < naming->reason_count; i++)
        free(naming->reasons[i]);
    free(naming);
}

uint32_t naming_missing(const struct naming *naming)
{
    return naming->missing;
}

int naming_ask(struct cop_packet **out,
               const struct naming *naming,
               uint32_t (*daemon_of)(uint32_t task, void *arg),
               void *arg)
{
    const struct tree *tree = naming->tree;
    uint32_t count = naming->count, i;
    uint32_t *module_number = calloc((size_t)tree->string_count + 1, 4);
    uint32_t *daemons = calloc((size_t)count + 1, sizeof(*daemons));
    const char **names = calloc((size_t)count + 1, sizeof(char *));
    uint32_t *modules = calloc((size_t)count + 1, sizeof(*modules));
    uint64_t *offsets = calloc((size_t)count + 1, sizeof(*offsets));
    struct question question = {naming->number, 0,       daemons, names,
                                count,          modules, offsets};
    int r = -ENOMEM;

    if (!module_number || !daemons || !names || !modules || !offsets)
        goto out;
    for (i = 0; i < count; i++) {
        const struct tree_frame *frame = &tree->frames[naming->addresses[i]];
        uint32_t *number = &module_number[frame->module];

        if (*number == 0) { /* stored plus one */
            daemons[question.module_count] = daemon_of(naming->task_of[i], arg);
            names[question.module_count] = tree->strings[frame->module];
            *number = ++question.module_count;
        }
        modules[i] = *number - 1;
        offsets[i] = frame->offset;
    }
    r = question_pack(out, &question);
out:
    free(module_number);
    free(daemons);
    free(names);
    free(modules);
    free(offsets);
    return r;
}

/* Make room for `count` frames. Returns 0 or -ENOMEM. */
static int named_reserve(struct named *named, uint32_t count)
{
    named->frames = calloc(count, sizeof(*named->frames));
    return named->frames ? 0 : -ENOMEM;
}

/* Append a copy of a frame. Without memory all frames of `named` are freed. */
static int named_add(struct named *named,
                     const char *function,
                     const char *file,
                     uint32_t line,
                     enum role role)
{
    struct frame *frame = &named->frames[named->count++];

    *frame = (struct frame){
        strdup(function), strdup(file), line, role_text(role), 0, false};
    if (frame->function && frame->file)
        return 0;
    named_fini(named);
    return -ENOMEM;
}

/* Keep `count` frames of an answer from number `first` on. */
static int named_set(struct named *named,
                     const struct answer *answer,
                     uint32_t first,
                     uint32_t count)
{
    int r = named_reserve(named, count);

    for (uint32_t i = first; r == 0 && i < first + count; i++)
        r = named_add(named, answer->functions[i], answer->files[i],
                      answer->lines[i], (enum role)answer->roles[i]);
    return r;
}

/* Keep copies of these frames. */
static int named_copy(struct named *named,
                      const struct frame *frames,
                      uint32_t count)
{
    int r = named_reserve(named, count);

    for (uint32_t i = 0; r == 0 && i < count; i++)
        r = named_add(named, frames[i].function, frames[i].file, frames[i].line,
                      role_of(frames[i].module));
    return r;
}

/* Keep a reason, unless it is known, or they are too many. Returns 0 or
 * -ENOMEM. */
static int add_reason(struct naming *naming, const char *text)
{
    uint32_t i = 0;
    char *clean;

    if (naming->reason_count == NAMING_REASONS_MAX)
        return 0;
    clean = strdup(text);
    if (!clean)
        return -ENOMEM;
    columns_clean(clean);
    while (i < naming->reason_count && strcmp(naming->reasons[i], clean) != 0)
        i++;
    if (i < naming->reason_count) {
        free(clean);
        return 0;
    }
    naming->reasons[naming->reason_count++] = clean;
    return 0;
}

int naming_take(struct naming *naming, const struct cop_packet *packet)
{
    struct answer answer;
    uint32_t first = 0, i;
    int r;

    r = answer_unpack(&answer, packet);
    if (r == 0 && answer.number != naming->number)
        return 0; /* it answers an earlier question */
    for (i = 0; r == 0 && i < answer.count; i++) {
        uint32_t count = answer.counts[i];
        struct named *named;

        if (answer.addresses[i] >= naming->count)
            return -EBADMSG;
        named = &naming->named[naming->addresses[answer.addresses[i]]];
        if (count > 0 && named->count == 0) {
            r = named_set(named, &answer, first, count);
            naming->missing -= r == 0;
        }
        first += count;
    }
    for (i = 0; r == 0 && i < answer.reason_count; i++)
        r = add_reason(naming, answer.reasons[i]);
    return r;
}

/* Compare addresses of two trees in the order of both trees. */
static int address_order(const struct tree *a,
                         uint32_t frame_a,
                         const struct tree *b,
                         uint32_t frame_b)
{
    uint64_t x = a->frames[frame_a].offset;
    uint64_t y = b->frames[frame_b].offset;
    int order = strcmp(module_of(a, frame_a), module_of(b, frame_b));

    return order ? order : (x > y) - (x < y);
}

/* The number of frames of `tree` that are addresses. They come first, ordered
 * by module, then by offset. */
static uint32_t count_addresses(const struct tree *tree)
{
    uint32_t count = 0;

    while (count < tree->frame_count && !function_of(tree, count)[0])
        count++;
    return count;
}

/* Count the addresses to ask for that have no name. */
static void count_missing(struct naming *naming)
{
    naming->missing = 0;
    for (uint32_t i = 0; i < naming->count; i++)
        naming->missing += naming->named[naming->addresses[i]].count == 0;
}

int naming_inherit(struct naming *naming, const struct naming *before)
{
    uint32_t mine = count_addresses(naming->tree);
    uint32_t theirs = count_addresses(before->tree);
    uint32_t i = 0, k = 0;
    int r = 0;

    naming->number = before->number + 1;
    for (uint32_t known = 0; r == 0 && known < before->reason_count; known++)
        r = add_reason(naming, before->reasons[known]);
    /* Also addresses that are not asked for: no daemon may be left to ask. */
    while (r == 0 && i < mine && k < theirs) {
        const struct named *known = &before->named[k];
        int order = address_order(naming->tree, i, before->tree, k);

        if (order == 0 && known->count > 0 && naming->named[i].count == 0)
            r = named_copy(&naming->named[i], known->frames, known->count);
        i += order <= 0;
        k += order >= 0;
    }
    count_missing(naming);
    return r;
}

/* Name one frame of the tree, if `names` can. Returns 0 or -ENOMEM. */
static int fill_frame(struct naming *naming,
                      uint32_t number,
                      struct names *names)
{
    const struct tree_frame *raw = &naming->tree->frames[number];
    const struct frame *frames;
    size_t count;
    int r;

    r = names_of(names, module_of(naming->tree, number), raw->offset, &frames,
                 &count);
    if (r < 0 || count == 0)
        return r == -ENOENT ? 0 : r; /* it stays without a name */
    return named_copy(&naming->named[number], frames, (uint32_t)count);
}

int naming_fill(struct naming *naming, struct names *names)
{
    uint32_t count = count_addresses(naming->tree), i;
    int r = 0;

    /* Also addresses that are not asked for. */
    for (i = 0; r == 0 && i < count; i++)
        if (naming->named[i].count == 0)
            r = fill_frame(naming, i, names);
    count_missing(naming);
    return r;
}

const char *naming_reason(const struct naming *naming, uint32_t number)
{
    return number < naming->reason_count ? naming->reasons[number] : NULL;
}

const struct tree *naming_tree(const struct naming *naming)
{
    return naming->tree;
}

const struct frame *naming_names(const struct naming *naming,
                                 uint32_t frame,
                                 uint32_t *count)
{
    *count = naming->named[frame].count;
    return naming->named[frame].frames;
}
