/* traces.c - see traces.h. */
#include "stat/walk/traces.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "stat/hash.h"
#include "stat/intern.h"
#include "stat/list.h"
#include "stat/table.h"
#include "stat/tree/build.h"
#include "stat/tree/note.h"
#include "stat/walk/stays.h"

/* How many stacks are kept before unneeded ones are freed. */
#define STACKS_MIN 64

/* A frame of a kept stack, without padding: stacks are compared as bytes. */
struct place {
    const char *function;
    const char *file;
    const char *module;
    uint64_t offset;
    uint32_t line;
    uint32_t not_walked;
};

/* An interned stack. */
struct stack {
    UT_hash_handle hh;
    uint64_t number; /* never reused */
    bool needed;     /* valid only in free_unneeded() */
    uint32_t count;
    struct place places[];
};

/* One stack of one task. */
struct spot {
    struct stack *stack;
    uint64_t stay;                /* the hash of its decisive frames */
    uint32_t still;               /* samples of that stay, ... */
    bool polls;                   /* ... and whether threads there wake up, up
                                     to the task's last move */
    uint32_t samples;             /* up to the task's last move */
    uint32_t threads;             /* when last seen */
    uint32_t before;              /* in the previous sample; above 0: current */
    uint32_t now;                 /* in this sample */
    uint32_t now_known;           /* how many of `now` have an id */
    struct tasks_range *now_tids; /* those ids; owned */
    struct tasks *tids;           /* of `threads`; NULL: not known; owned */
};

struct seen {
    UT_hash_handle hh;
    uint32_t task;
    uint32_t moved;
    uint32_t seen;
    struct stays stays;
    bool here;        /* in this sample */
    uint32_t stop_us; /* the longest */
    bool stop_new;    /* longer than in the previous sample */
    struct spot *spots;
    uint32_t count;
};

struct traces {
    struct interned *strings;
    struct stack *stacks;
    struct seen *tasks;
    uint64_t next;      /* number of the next new stack */
    size_t stacks_most; /* with more than these, unneeded ones are freed */
    bool forgets;
};

int traces_new(struct traces **out)
{
    struct traces *traces = calloc(1, sizeof(*traces));

    if (!traces)
        return -ENOMEM;
    traces->stacks_most = STACKS_MIN;
    *out = traces;
    return 0;
}

static void spot_fini(struct spot *spot)
{
    free(spot->now_tids);
    tasks_free(spot->tids);
}

void traces_free(struct traces *traces)
{
    struct seen *seen;

    if (!traces)
        return;
    TABLE_FREE(traces->strings);
    TABLE_FREE(traces->stacks);
    for (seen = traces->tasks; seen; seen = seen->hh.next) {
        for (uint32_t i = 0; i < seen->count; i++)
            spot_fini(&seen->spots[i]);
        free(seen->spots);
        stays_fini(&seen->stays);
    }
    TABLE_FREE(traces->tasks);
    free(traces);
}

void traces_forget(struct traces *traces)
{
    traces->forgets = true;
}

/* The string whose text this is. */
static struct interned *string_of(const char *text)
{
    return (struct interned *)(text - offsetof(struct interned, text));
}

/* The one copy of `text`; NULL without memory. */
static const char *text_of(struct traces *traces, const char *text)
{
    struct interned *interned = intern(&traces->strings, text);

    return interned ? interned->text : NULL;
}

/* The one copy of a stack; NULL without memory. */
static struct stack *stack_of(struct traces *traces,
                              const struct frame *frames,
                              size_t count)
{
    size_t len = count * sizeof(struct place), i;
    struct stack *stack = calloc(1, sizeof(*stack) + len), *known;

    if (!stack)
        return NULL;
    stack->count = (uint32_t)count;
    for (i = 0; i < count; i++) {
        struct place *place = &stack->places[i];

        place->function = text_of(traces, frames[i].function);
        place->file = text_of(traces, frames[i].file);
        place->module = text_of(traces, frames[i].module);
        place->offset = frames[i].offset;
        place->line = frames[i].line;
        place->not_walked = frames[i].not_walked;
        if (!place->function || !place->file || !place->module)
            goto fail;
    }
    HASH_FIND(hh, traces->stacks, stack->places, len, known);
    if (known) {
        free(stack);
        return known;
    }
    stack->number = traces->next++;
    HASH_ADD_KEYPTR(hh, traces->stacks, stack->places, len, stack);
    if (stack->hh.tbl)
        return stack;
fail:
    free(stack);
    return NULL;
}

static struct seen *seen_of(struct traces *traces, uint32_t task)
{
    struct seen *seen;

    HASH_FIND(hh, traces->tasks, &task, sizeof(task), seen);
    if (seen)
        return seen;
    seen = calloc(1, sizeof(*seen));
    if (!seen)
        return NULL;
    seen->task = task;
    HASH_ADD(hh, traces->tasks, task, sizeof(task), seen);
    if (!seen->hh.tbl) {
        free(seen);
        return NULL;
    }
    return seen;
}

/* Add a thread of the task in this sample. Returns 0 or -ENOMEM. */
static int spot_add(struct seen *seen,
                    struct stack *stack,
                    uint64_t stay,
                    pid_t tid)
{
    struct spot *spot;
    uint32_t i;

    for (i = 0; i < seen->count && seen->spots[i].stack != stack; i++)
        ;
    if (i == seen->count) {
        if (list_grow(&seen->spots, i, sizeof(*seen->spots)) < 0)
            return -ENOMEM;
        seen->spots[i] = (struct spot){.stack = stack, .stay = stay};
        seen->count++;
    }
    spot = &seen->spots[i];
    spot->stay = stay;
    spot->now++;
    seen->here = true;
    if (tid <= 0 || (uint32_t)tid >= TASKS_MAX)
        return 0;
    if (list_grow(&spot->now_tids, spot->now_known, sizeof(*spot->now_tids)) <
        0)
        return -ENOMEM;
    spot->now_tids[spot->now_known++] =
        (struct tasks_range){(uint32_t)tid, (uint32_t)tid};
    return 0;
}

/* Keep the ids of the present threads, if all are known. Returns 0 or
 * -ENOMEM. */
static int spot_keep_tids(struct spot *spot)
{
    struct tasks *tids = NULL;
    int r = 0;

    if (spot->now_known == spot->now)
        r = tasks_new(&tids, spot->now_tids, spot->now);
    if (r == 0 && tids && tasks_count(tids) != spot->now) {
        tasks_free(tids); /* an id was reused during the sample */
        tids = NULL;
    }
    if (r < 0)
        return r;
    tasks_free(spot->tids);
    spot->tids = tids;
    return 0;
}

/* The hash of the first `count` places of a stack. */
static uint64_t places_hash(const struct stack *stack, size_t count)
{
    if (count > stack->count)
        count = stack->count;
    return hash_bytes(HASH_EMPTY, stack->places,
                      count * sizeof(stack->places[0]));
}

int traces_add_thread(struct traces *traces,
                      uint32_t task,
                      pid_t tid,
                      const struct frame *frames,
                      size_t count,
                      const struct evidence *evidence)
{
    struct stack *stack;
    struct seen *seen;
    uint64_t hash;

    if (count == 0 || task >= TASKS_MAX)
        return -EINVAL;
    if (count > TREE_DEPTH_MAX)
        count = TREE_DEPTH_MAX;
    stack = stack_of(traces, frames, count);
    seen = stack ? seen_of(traces, task) : NULL;
    hash = stack ? places_hash(stack, evidence->decisive) : 0;
    if (!seen || spot_add(seen, stack, hash, tid) < 0)
        return -ENOMEM;
    return stays_add(&seen->stays, hash, evidence);
}

int traces_add(struct traces *traces,
               uint32_t task,
               const struct frame *frames,
               size_t count)
{
    return traces_add_thread(
        traces, task, 0, frames, count,
        &(struct evidence){.decisive = count, .weight = WEIGHT_NATIVE});
}

static struct frame frame_of(const struct place *place)
{
    return (struct frame){place->function, place->file,   place->line,
                          place->module,   place->offset, place->not_walked};
}

int traces_end(struct traces *traces, uint32_t task, const char *note)
{
    struct frame frames[TREE_DEPTH_MAX] = {FRAME_NOTE(note)};
    const struct seen *seen = seen_of(traces, task);
    const struct stack *was = NULL;
    size_t count = 1;

    for (uint32_t i = 0; seen && !was && i < seen->count; i++)
        if (seen->spots[i].before > 0)
            was = seen->spots[i].stack;
    for (uint32_t i = 0; was && i < was->count && count < TREE_DEPTH_MAX; i++)
        if (!was->places[i].not_walked &&
            note_read(was->places[i].function).kind != NOTE_ENDED)
            frames[count++] = frame_of(&was->places[i]);
    return traces_add(traces, task, frames, count);
}

/* A time in microseconds, rounded up to a few significant bits, so that the
 * longest of several times does not increase often. */
static uint32_t rounded_us(uint64_t ns)
{
    uint64_t us = ns / 1000 + 1, unit = 1;

    while (us / unit >= 16)
        unit *= 2;
    us = (us + unit - 1) / unit * unit;
    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

int traces_stopped(struct traces *traces, uint32_t task, uint64_t ns)
{
    struct seen *seen = seen_of(traces, task);
    uint32_t us = rounded_us(ns);

    if (!seen)
        return -ENOMEM;
    seen->stop_new |= us > seen->stop_us;
    if (us > seen->stop_us)
        seen->stop_us = us;
    return 0;
}

/* Note in a spot how long its threads have stood still, or only whether they
 * poll. Returns whether they do, and did not before. */
static bool spot_note(struct spot *spot, const struct seen *seen, bool moved)
{
    const struct stay *stay = stays_find(&seen->stays, spot->stay);
    bool polled = spot->polls;

    if (moved)
        spot->still = stay ? stay->still : 0;
    if (moved || stay)
        spot->polls = stay && stay->polls;
    return spot->polls && !polled;
}

/* The task has not moved: it keeps its place, even if frames inside a runtime
 * differ. Returns whether more of its threads poll. */
static bool seen_stay(struct seen *seen)
{
    uint32_t kept = 0, i;
    bool polls = false;

    for (i = 0; i < seen->count; i++) {
        struct spot spot = seen->spots[i];

        spot.now = 0;
        spot.now_known = 0;
        if (spot.before > 0)
            polls |= spot_note(&spot, seen, false);
        if (spot.before > 0 || spot.samples > 0)
            seen->spots[kept++] = spot;
        else
            spot_fini(&spot);
    }
    seen->count = kept;
    return polls;
}

/* The task has moved, for the first time in `still` samples. Returns 0 or
 * -ENOMEM. */
static int seen_move(struct seen *seen, uint32_t still)
{
    uint32_t threads = 0, i;
    int r = 0;

    for (i = 0; i < seen->count; i++)
        threads += seen->spots[i].now;
    for (i = 0; r == 0 && i < seen->count; i++) {
        struct spot *spot = &seen->spots[i];

        if (spot->before > 0)
            spot->samples += still;
        spot->still = 0;
        spot->polls = false;
        if (spot->now > 0) {
            spot_note(spot, seen, true);
            spot->samples++;
            spot->threads = spot->now;
            if (threads > 1) /* else the id is the pid */
                r = spot_keep_tids(spot);
        }
        spot->before = spot->now;
        spot->now = 0;
        spot->now_known = 0;
    }
    return r;
}

/* What a sample of a task has to tell. */
enum news {
    NEWS_NONE,
    NEWS_POLLS, /* more of its threads poll */
    NEWS_MOVED,
};

/* Process this sample of one task. Returns its news or -ENOMEM. */
static int seen_advance(struct seen *seen)
{
    int news = NEWS_MOVED, r = 0;

    if (stays_end_sample(&seen->stays) || seen->seen == 0) {
        r = seen_move(seen, seen->seen - seen->moved);
        seen->moved = seen->seen + 1;
    } else {
        news = seen_stay(seen) ? NEWS_POLLS : NEWS_NONE;
    }
    seen->seen++;
    seen->here = false;
    return r < 0 ? r : news;
}

/* Forget the earlier places of a task that has just moved. */
static void seen_forget(struct seen *seen)
{
    uint32_t kept = 0, i;

    for (i = 0; i < seen->count; i++) {
        struct spot spot = seen->spots[i];

        spot.samples = 1;
        spot.threads = spot.before;
        if (spot.before > 0)
            seen->spots[kept++] = spot;
        else
            spot_fini(&spot);
    }
    seen->count = kept;
}

/* One end of one task, or its progress, which has no stack: then `end` has what
 * the progress says, as samples and threads. */
struct entry {
    const struct stack *stack;
    struct tree_end end; /* without node and tasks; its ids are borrowed */
    uint32_t task;
};

static int by_weight(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;

    if (x->stack != y->stack) {
        if (!x->stack || !y->stack)
            return x->stack ? 1 : -1;
        return x->stack->number < y->stack->number ? -1 : 1;
    }
    return tree_end_compare(&x->end, &y->end);
}

static int by_task(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    int order = by_weight(a, b);

    return order ? order : (x->task > y->task) - (x->task < y->task);
}

/* Add a stack to the tree; `*node` becomes its last node. */
static int put_stack(struct build *build,
                     uint32_t *node,
                     const struct stack *stack)
{
    uint32_t i, parent = BUILD_TOP;
    int r = 0;

    for (i = 0; r == 0 && i < stack->count; i++) {
        struct frame frame = frame_of(&stack->places[i]);

        r = build_node(build, node, parent, &frame);
        parent = *node;
    }
    return r;
}

/* Add sorted entries; those that differ only in the task become one. */
static int put_entries(struct build *build,
                       const struct entry *entries,
                       size_t count)
{
    struct tasks_range *ranges = calloc(count + 1, sizeof(*ranges));
    const struct stack *put = NULL;
    uint32_t node = 0;
    size_t i;
    int r = ranges ? 0 : -ENOMEM;

    for (size_t first = 0; r == 0 && first < count; first = i) {
        const struct entry *entry = &entries[first];
        struct tasks *tasks = NULL;

        for (i = first; i < count && by_weight(entry, &entries[i]) == 0; i++)
            ranges[i - first] =
                (struct tasks_range){entries[i].task, entries[i].task};
        r = tasks_new(&tasks, ranges, i - first);
        if (r == 0 && entry->stack && entry->stack != put)
            r = put_stack(build, &node, entry->stack);
        put = entry->stack;
        if (r == 0 && entry->stack) {
            struct tree_end end = entry->end;

            end.node = node;
            end.tasks = tasks;
            r = build_end(build, &end);
        } else if (r == 0) {
            r = build_progress(
                build, &(struct tree_progress){entry->end.samples,
                                               entry->end.threads, tasks});
        }
        tasks_free(tasks);
    }
    free(ranges);
    return r;
}

/* Append the news of one task to the `*count` entries. Returns 0 or -ENOMEM. */
static int put_seen(struct entry *entries,
                    size_t *count,
                    struct seen *seen,
                    bool forgets)
{
    int news = seen_advance(seen);

    if (news < 0)
        return news;
    if (news == NEWS_MOVED && forgets)
        seen_forget(seen);
    for (uint32_t i = 0; news != NEWS_NONE && i < seen->count; i++) {
        const struct spot *spot = &seen->spots[i];

        entries[(*count)++] = (struct entry){spot->stack,
                                             {.samples = spot->samples,
                                              .threads = spot->threads,
                                              .current = spot->before > 0,
                                              .still = spot->still,
                                              .polls = spot->polls,
                                              .tids = spot->tids},
                                             seen->task};
    }
    entries[(*count)++] = (struct entry){
        NULL, {.samples = seen->moved, .threads = seen->seen}, seen->task};
    return 0;
}

/* Add the stops that are longer than before. */
static int put_stops(struct build *build, struct traces *traces)
{
    struct seen *seen;
    int r = 0;

    for (seen = traces->tasks; r == 0 && seen; seen = seen->hh.next) {
        if (seen->stop_new)
            r = build_stop(build,
                           &(struct tree_stop){seen->task, seen->stop_us});
        seen->stop_new = false;
    }
    return r;
}

/* Mark the needed stacks and strings. */
static void find_needed(struct traces *traces)
{
    const struct seen *seen;
    struct stack *stack;

    for (seen = traces->tasks; seen; seen = seen->hh.next)
        for (uint32_t i = 0; i < seen->count; i++)
            seen->spots[i].stack->needed = true;
    for (stack = traces->stacks; stack; stack = stack->hh.next) {
        for (uint32_t i = 0; stack->needed && i < stack->count; i++) {
            string_of(stack->places[i].function)->mark = 1;
            string_of(stack->places[i].file)->mark = 1;
            string_of(stack->places[i].module)->mark = 1;
        }
    }
}

/* Free the stacks on which no task is any more, and their strings. Does nothing
 * until the number of stacks has doubled. */
static void free_unneeded(struct traces *traces)
{
    struct interned *string, *next_string;
    struct stack *stack, *next_stack;

    if (!traces->forgets || HASH_COUNT(traces->stacks) <= traces->stacks_most)
        return;
    find_needed(traces);
    HASH_ITER (hh, traces->stacks, stack, next_stack) {
        if (!stack->needed) {
            HASH_DEL(traces->stacks, stack);
            free(stack);
        } else {
            stack->needed = false;
        }
    }
    HASH_ITER (hh, traces->strings, string, next_string) {
        if (!string->mark) {
            HASH_DEL(traces->strings, string);
            free(string);
        } else {
            string->mark = 0;
        }
    }
    traces->stacks_most = 2 * (size_t)HASH_COUNT(traces->stacks);
    if (traces->stacks_most < STACKS_MIN)
        traces->stacks_most = STACKS_MIN;
}

int traces_sample(struct tree **out, struct traces *traces, uint64_t stop_ns)
{
    struct entry *entries = NULL;
    struct build *build = NULL;
    struct seen *seen;
    size_t count = 0;
    int r;

    for (seen = traces->tasks; seen; seen = seen->hh.next)
        count += (size_t)seen->count + 1;
    entries = calloc(count + 1, sizeof(*entries));
    r = entries ? build_new(&build, true) : -ENOMEM;
    if (r < 0)
        goto out;
    count = 0;
    for (seen = traces->tasks; r == 0 && seen; seen = seen->hh.next)
        if (seen->here)
            r = put_seen(entries, &count, seen, traces->forgets);
    if (r == 0) {
        qsort(entries, count, sizeof(*entries), by_task);
        r = put_entries(build, entries, count);
    }
    if (r == 0)
        r = put_stops(build, traces);
    if (r == 0)
        r = build_tree(out, build, stop_ns);
    if (r == 0)
        free_unneeded(traces);
out:
    build_free(build);
    free(entries);
    return r;
}
