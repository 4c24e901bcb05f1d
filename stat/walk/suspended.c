/* suspended.c - see suspended.h. */
#include "stat/walk/suspended.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/clock.h"
#include "stat/list.h"
#include "stat/walk/memory.h"

/* Most entries of a dictionary and of the set of tasks, slots of the stack of a
 * coroutine, and coroutines that wait for each other. */
#define ENTRIES_MAX 65536
#define SLOTS_MAX   4096
#define AWAITS_MAX  1000

/* Most places, and notes about them. */
#define PLACES_MAX 1024
#define NAMED_MAX  (SUSPENDED_NOTES - 1)

/* Bytes of a task in which its coroutine is sought, and most of a coroutine. */
#define TASK_SIZE      256
#define COROUTINE_SIZE 1024

/* Most bytes of a name in a note. */
#define NAME_SIZE 64

/* The members of objects that are the same in all versions. */
enum {
    OBJECT_TYPE = 8,
    TYPE_NAME = 24,
    TYPE_SIZE = 32,
    MODULE_DICT = 16,
    DICT_KEYS = 32,
    DICT_VALUES = 40,
    KEYS_INDEX_BYTES = 9, /* their logarithm */
    KEYS_KIND = 10,
    KEYS_COUNT = 24,
    KEYS_INDEX = 32,
    SET_MASK = 32,
    SET_TABLE = 40,
    WEAKREF_OBJECT = 16,
    TASK_LOOP = 16,
    STATE_BEFORE_FRAME = 5,
};

struct reading {
    struct codes *codes;
    const struct layout *layout;
    uint64_t loop;
    uint64_t deadline_ns;
    uint64_t type;         /* of coroutines; 0: not known yet */
    uint64_t frame_at;     /* in a coroutine */
    uint64_t coroutine_at; /* in a task; 0: not known yet */
    struct python_suspended *out;
};

static uint64_t pointer(const struct reading *reading, uint64_t address)
{
    return address ? memory_pointer(reading->codes->pid, address) : 0;
}

static bool is_late(const struct reading *reading)
{
    return clock_now_ns() >= reading->deadline_ns;
}

/* Whether the type at `type` has that name, of less than 16 bytes. */
static bool is_type(const struct reading *reading,
                    uint64_t type,
                    const char *name)
{
    uint64_t address = pointer(reading, type ? type + TYPE_NAME : 0);
    char text[16];

    return address &&
           memory_read(reading->codes->pid, address, text, strlen(name) + 1) &&
           memcmp(text, name, strlen(name) + 1) == 0;
}

/* Whether the text object at `address` is `name`. */
static bool is_text(const struct reading *reading,
                    uint64_t address,
                    const char *name)
{
    const uint64_t at = address + reading->layout->text_length;
    bool same = false;
    char *text;

    if (!address || pointer(reading, at) != strlen(name))
        return false;
    text = code_text(reading->codes, address);
    same = text && strcmp(text, name) == 0;
    free(text);
    return same;
}

/* The value of a name in the dictionary at `dict`, whose keys it does not share;
 * 0: none. */
static uint64_t dict_find(const struct reading *reading,
                          uint64_t dict,
                          const char *name)
{
    uint64_t keys = pointer(reading, dict ? dict + DICT_KEYS : 0), count;
    uint64_t entry[3], size, at;
    uint8_t head[KEYS_INDEX];

    if (!keys || pointer(reading, dict + DICT_VALUES) ||
        !memory_read(reading->codes->pid, keys, head, sizeof(head)) ||
        head[KEYS_INDEX_BYTES] >= 32)
        return 0;
    count = layout_number(head, KEYS_COUNT);
    /* A key of any kind is behind its hash. */
    size = head[KEYS_KIND] ? 2 : 3;
    at = keys + KEYS_INDEX + (UINT64_C(1) << head[KEYS_INDEX_BYTES]);
    for (uint64_t i = 0; i < count && i < ENTRIES_MAX; i++) {
        if (is_late(reading) ||
            !memory_read(reading->codes->pid, at + i * size * sizeof(*entry),
                         entry, size * sizeof(*entry)))
            return 0;
        if (is_text(reading, entry[size - 2], name))
            return entry[size - 1];
    }
    return 0;
}

/* The first attribute of an object, if it is a set: that of a WeakSet. */
static uint64_t set_of(const struct reading *reading, uint64_t object)
{
    uint64_t values = 0, set;

    switch (reading->layout->attributes) {
    case ATTRIBUTES_INSIDE:
        values = object + 24;
        break;
    case ATTRIBUTES_MARKED:
        values = pointer(reading, object - 24);
        values = values & 1
                     ? values + 1
                     : pointer(reading, values ? values + DICT_VALUES : 0);
        break;
    case ATTRIBUTES_BEFORE:
        values = pointer(reading, object - 32);
        if (!values) {
            values = pointer(reading, object - 24);
            values = pointer(reading, values ? values + DICT_VALUES : 0);
        }
        break;
    }
    set = pointer(reading, values);
    return is_type(reading, pointer(reading, set ? set + OBJECT_TYPE : 0),
                   "set")
               ? set
               : 0;
}

/* Whether the object at `address` is a coroutine. The first one tells where
 * coroutines have their frames. */
static bool is_coroutine(struct reading *reading, uint64_t address)
{
    uint64_t type = pointer(reading, address ? address + OBJECT_TYPE : 0), size;

    if (!type || reading->type)
        return type && type == reading->type;
    if (!is_type(reading, type, "coroutine"))
        return false;
    size = pointer(reading, type + TYPE_SIZE);
    if (size > COROUTINE_SIZE || size < reading->layout->frame_locals + 16)
        return false;
    reading->type = type;
    reading->frame_at = size - reading->layout->frame_locals;
    return true;
}

/* The coroutine of the task at `task`; 0: none. */
static uint64_t coroutine_of(struct reading *reading, uint64_t task)
{
    uint64_t size = pointer(reading, task + OBJECT_TYPE), words[TASK_SIZE / 8];
    uint64_t found;

    if (reading->coroutine_at) {
        found = pointer(reading, task + reading->coroutine_at);
        return is_coroutine(reading, found) ? found : 0;
    }
    size = pointer(reading, size ? size + TYPE_SIZE : 0);
    if (size > sizeof(words))
        size = sizeof(words);
    if (!memory_read(reading->codes->pid, task, words, size))
        return 0;
    for (uint64_t i = TASK_LOOP / 8 + 1; i < size / 8; i++)
        if (words[i] % 8 == 0 && is_coroutine(reading, words[i])) {
            reading->coroutine_at = i * 8;
            return words[i];
        }
    return 0;
}

/* Read the place of the coroutine at `*coroutine` if it is suspended; then that
 * becomes the one for which it waits, or 0. Returns whether it is. */
static bool read_place(struct python_tasks *out,
                       struct reading *reading,
                       uint64_t *coroutine)
{
    const struct layout *layout = reading->layout;
    const uint64_t frame = *coroutine + reading->frame_at;
    uint8_t bytes[LAYOUT_FRAME_SIZE];
    const struct code *code;
    int8_t state;
    int32_t top;

    if (!memory_read(reading->codes->pid, frame - STATE_BEFORE_FRAME, &state,
                     sizeof(state)) ||
        state < layout->suspended || state > -1 ||
        !memory_read(reading->codes->pid, frame, bytes,
                     layout->frame_owner + 1))
        return false;
    code = codes_find(reading->codes, layout_number(bytes, layout->frame_code));
    if (!code)
        return false;
    *out = (struct python_tasks){
        code->function, code->file,
        code_line(code,
                  (int64_t)(layout_number(bytes, layout->frame_instruction) -
                            code->address - layout->code_code)),
        code->role, 1};
    memcpy(&top, bytes + layout->frame_stack_top, sizeof(top));
    *coroutine = top > 0 && top < SLOTS_MAX
                     ? pointer(reading, frame + layout->frame_locals +
                                            ((uint64_t)top - 1) * 8)
                     : 0;
    return true;
}

/* Find the place of the task with that coroutine: the innermost one of the
 * program's own, or else the innermost. Returns whether it is suspended. */
static bool find_place(struct python_tasks *out,
                       struct reading *reading,
                       uint64_t coroutine)
{
    struct python_tasks place;
    bool found = false;

    for (unsigned i = 0; i < AWAITS_MAX && !is_late(reading) &&
                         is_coroutine(reading, coroutine);
         i++) {
        if (!read_place(&place, reading, &coroutine))
            break;
        if (!found || place.role == ROLE_PROGRAM || out->role != ROLE_PROGRAM)
            *out = place;
        found = true;
    }
    return found;
}

/* Count a task at its place. Returns 0 or -ENOMEM. */
static int add_place(struct reading *reading, const struct python_tasks *place)
{
    struct python_suspended *out = reading->out;
    size_t i;

    for (i = 0; i < out->count; i++)
        if (out->list[i].file == place->file &&
            out->list[i].function == place->function &&
            out->list[i].line == place->line) {
            out->list[i].count++;
            return 0;
        }
    if (i == PLACES_MAX) {
        out->cut = true;
        return 0;
    }
    if (list_grow(&out->list, i, sizeof(*out->list)) < 0)
        return -ENOMEM;
    out->list[out->count++] = *place;
    return 0;
}

static int by_count(const void *a, const void *b)
{
    const struct python_tasks *x = a;
    const struct python_tasks *y = b;
    int order;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    order = strcmp(x->file, y->file);
    if (order == 0)
        order = strcmp(x->function, y->function);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Read the tasks in the set at `set`, of weak references. Returns 0 or
 * -ENOMEM. */
static int read_tasks(struct reading *reading, uint64_t set)
{
    uint64_t mask = pointer(reading, set + SET_MASK);
    uint64_t table = pointer(reading, set + SET_TABLE), task;
    struct python_tasks place;
    uint64_t i;
    int r = 0;

    for (i = 0;
         table && r == 0 && i <= mask && i < ENTRIES_MAX && !is_late(reading);
         i++) {
        task = pointer(reading, table + 16 * i); /* the reference */
        task = pointer(reading, task ? task + WEAKREF_OBJECT : 0);
        if (!task || pointer(reading, task + TASK_LOOP) != reading->loop)
            continue;
        if (find_place(&place, reading, coroutine_of(reading, task)))
            r = add_place(reading, &place);
    }
    reading->out->cut |= table && i <= mask;
    return r;
}

int suspended_read(struct python_suspended *out,
                   struct codes *codes,
                   uint64_t globals,
                   uint64_t loop,
                   uint64_t deadline_ns)
{
    struct reading reading = {.codes = codes,
                              .layout = codes->layout,
                              .loop = loop,
                              .deadline_ns = deadline_ns,
                              .out = out};
    uint64_t module, set;
    int r = 0;

    *out = (struct python_suspended){.list = NULL};
    if (!reading.layout->tasks || !loop)
        return 0;
    module = dict_find(&reading, globals, "tasks");
    set = dict_find(&reading,
                    pointer(&reading, module ? module + MODULE_DICT : 0),
                    reading.layout->tasks);
    set = set ? set_of(&reading, set) : 0;
    if (set)
        r = read_tasks(&reading, set);
    out->cut |= is_late(&reading);
    if (out->count > 1)
        qsort(out->list, out->count, sizeof(*out->list), by_count);
    return r;
}

/* How many bytes of a name to show: no part of a character. */
static int name_len(const char *name)
{
    size_t len = strlen(name);

    if (len > NAME_SIZE)
        for (len = NAME_SIZE; len > 0 && (name[len] & 0xc0) == 0x80; len--)
            ;
    return (int)len;
}

bool suspended_note(char note[SUSPENDED_NOTE_SIZE],
                    const struct python_suspended *tasks,
                    size_t i)
{
    const struct python_tasks *place;
    size_t named = tasks->count < NAMED_MAX ? tasks->count : NAMED_MAX;
    const char *file;
    size_t rest = 0;

    if (i >= named) {
        snprintf(note, SUSPENDED_NOTE_SIZE,
                 "[some suspended tasks may be missing]");
        return tasks->cut && i == named;
    }
    if (i == NAMED_MAX - 1 && named < tasks->count) {
        while (i < tasks->count)
            rest += tasks->list[i++].count;
        snprintf(note, SUSPENDED_NOTE_SIZE,
                 "[%zu more tasks are suspended elsewhere]", rest);
        return true;
    }
    place = &tasks->list[i];
    file = strrchr(place->file, '/');
    file = file ? file + 1 : place->file;
    snprintf(note, SUSPENDED_NOTE_SIZE,
             "[%zu task%s suspended in %.*s (%.*s:%u)]", place->count,
             place->count == 1 ? " is" : "s are", name_len(place->function),
             place->function, name_len(file), file, place->line);
    return true;
}
