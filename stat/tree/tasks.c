/* tasks.c - see tasks.h. */
#include "stat/tree/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Packed form: runs, each a number (steps << 1 | strided), a number for the gap
 * since the previous run, and if strided one for the stride. A first number of
 * 1, which no run has, is followed by a bitmap: the number of its first task,
 * then its bytes. Numbers have 7 bits a byte, low ones first. */
#define BITMAP_MARK 1

struct tasks {
    uint32_t references;
    uint32_t count;
    size_t range_count;
    struct tasks_range ranges[];
};

static int set_make(struct tasks **out, size_t range_room)
{
    struct tasks *tasks;

    if (range_room > TASKS_MAX)
        return -ENOMEM;
    tasks = calloc(1, sizeof(*tasks) + range_room * sizeof(*tasks->ranges));
    if (!tasks)
        return -ENOMEM;
    tasks->references = 1;
    *out = tasks;
    return 0;
}

/* Append a range that begins at or after the beginning of the last one. */
static void set_add(struct tasks *tasks, uint32_t first, uint32_t last)
{
    struct tasks_range *before = NULL;

    if (tasks->range_count)
        before = &tasks->ranges[tasks->range_count - 1];
    if (!before || first > before->last + 1) {
        tasks->ranges[tasks->range_count++] = (struct tasks_range){first, last};
        tasks->count += last - first + 1;
    } else if (last > before->last) {
        tasks->count += last - before->last;
        before->last = last;
    }
}

static int range_compare(const void *a, const void *b)
{
    const struct tasks_range *x = a;
    const struct tasks_range *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

int tasks_new(struct tasks **out,
              const struct tasks_range *ranges,
              size_t count)
{
    struct tasks_range *sorted = NULL;
    struct tasks *tasks = NULL;
    int r;

    for (size_t i = 0; i < count; i++) {
        if (ranges[i].first > ranges[i].last || ranges[i].last >= TASKS_MAX)
            return -EINVAL;
    }
    r = set_make(&tasks, count);
    if (r < 0)
        return r;
    sorted = calloc(count + 1, sizeof(*sorted));
    if (!sorted) {
        tasks_free(tasks);
        return -ENOMEM;
    }
    if (count)
        memcpy(sorted, ranges, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), range_compare);
    for (size_t i = 0; i < count; i++)
        set_add(tasks, sorted[i].first, sorted[i].last);
    free(sorted);
    *out = tasks;
    return 0;
}

struct tasks *tasks_ref(struct tasks *tasks)
{
    if (tasks)
        tasks->references++;
    return tasks;
}

void tasks_free(struct tasks *tasks)
{
    if (tasks && --tasks->references == 0)
        free(tasks);
}

static bool wanted(enum tasks_op op, bool in_a, bool in_b)
{
    switch (op) {
    case TASKS_UNION:
        return in_a || in_b;
    case TASKS_MINUS:
        return in_a && !in_b;
    case TASKS_BOTH:
        return in_a && in_b;
    }
    return false;
}

/* Where `set` next changes, at or after `at`; its range `i` is the next one. */
static uint32_t next_change(const struct tasks *set, size_t i, uint32_t at)
{
    if (i == set->range_count)
        return UINT32_MAX;
    return at < set->ranges[i].first ? set->ranges[i].first
                                     : set->ranges[i].last + 1;
}

static bool range_holds(const struct tasks *set, size_t i, uint32_t at)
{
    return i < set->range_count && at >= set->ranges[i].first;
}

int tasks_combine(struct tasks **out,
                  enum tasks_op op,
                  struct tasks *a,
                  struct tasks *b)
{
    struct tasks *tasks = NULL;
    size_t ia = 0;
    size_t ib = 0;
    uint32_t at = 0;
    uint32_t end;
    int r;

    if (a == b && op != TASKS_MINUS) {
        *out = tasks_ref(a);
        return 0;
    }
    r = set_make(&tasks, a->range_count + b->range_count);
    if (r < 0)
        return r;
    /* Between two changes, membership in both is constant. */
    while (ia < a->range_count || ib < b->range_count) {
        uint32_t end_a = next_change(a, ia, at);
        uint32_t end_b = next_change(b, ib, at);

        end = end_a < end_b ? end_a : end_b;
        if (end > at &&
            wanted(op, range_holds(a, ia, at), range_holds(b, ib, at)))
            set_add(tasks, at, end - 1);
        at = end;
        if (ia < a->range_count && at > a->ranges[ia].last)
            ia++;
        if (ib < b->range_count && at > b->ranges[ib].last)
            ib++;
    }
    *out = tasks;
    return 0;
}

int tasks_change(struct tasks **set, enum tasks_op op, struct tasks *other)
{
    struct tasks *result;
    int r;

    r = tasks_combine(&result, op, *set, other);
    if (r < 0)
        return r;
    tasks_free(*set);
    *set = result;
    return 0;
}

uint32_t tasks_count(const struct tasks *tasks)
{
    return tasks->count;
}

size_t tasks_range_count(const struct tasks *tasks)
{
    return tasks->range_count;
}

bool tasks_has(const struct tasks *tasks, uint32_t task)
{
    for (size_t i = 0; i < tasks->range_count; i++)
        if (tasks->ranges[i].first <= task && task <= tasks->ranges[i].last)
            return true;
    return false;
}

const struct tasks_range *tasks_ranges(const struct tasks *tasks)
{
    return tasks->ranges;
}

int tasks_compare(const struct tasks *a, const struct tasks *b)
{
    if (a == b)
        return 0;
    for (size_t i = 0; i < a->range_count && i < b->range_count; i++) {
        const struct tasks_range *x = &a->ranges[i];
        const struct tasks_range *y = &b->ranges[i];

        if (x->first != y->first)
            return x->first < y->first ? -1 : 1;
        if (x->last != y->last)
            return x->last < y->last ? -1 : 1;
    }
    return (a->range_count > b->range_count) -
           (a->range_count < b->range_count);
}

bool tasks_equal(const struct tasks *a, const struct tasks *b)
{
    return a->count == b->count && tasks_compare(a, b) == 0;
}

struct tasks_run tasks_next_run(const struct tasks *tasks, size_t *next)
{
    const struct tasks_range *ranges = tasks->ranges;
    size_t i = *next;
    size_t end = i + 1;
    struct tasks_run run = {ranges[i].first, ranges[i].last, 1};
    uint32_t stride = 0;

    while (run.first == run.last && end < tasks->range_count &&
           ranges[end].first == ranges[end].last) {
        uint32_t distance = ranges[end].first - ranges[end - 1].first;

        if (stride && distance != stride)
            break;
        stride = distance;
        end++;
    }
    if (end - i >= 3) {
        run.last = ranges[end - 1].last;
        run.stride = stride;
        *next = end;
    } else {
        *next = i + 1;
    }
    return run;
}

/* Write `number` at `bytes`, unless that is NULL. Returns its length. */
static size_t number_put(unsigned char *bytes, uint32_t number)
{
    size_t len = 0;

    do {
        unsigned char byte = number & 0x7f;

        number >>= 7;
        if (bytes)
            bytes[len] = (unsigned char)(byte | (number ? 0x80 : 0));
        len++;
    } while (number);
    return len;
}

/* Read a number at `*at`, which must have its shortest form. */
static int number_get(uint32_t *out,
                      const unsigned char *bytes,
                      size_t len,
                      size_t *at)
{
    uint64_t number = 0;
    unsigned shift = 0;
    unsigned char byte;

    do {
        if (*at == len || shift > 28)
            return -EBADMSG;
        byte = bytes[(*at)++];
        number |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (number > UINT32_MAX || (byte == 0 && shift > 7))
        return -EBADMSG;
    *out = (uint32_t)number;
    return 0;
}

/* Write the runs at `bytes`, unless that is NULL. Returns their length. */
static size_t runs_put(const struct tasks *tasks, unsigned char *bytes)
{
    uint32_t after = 0; /* end of the previous run */
    size_t next = 0;
    size_t len = 0;

    while (next < tasks->range_count) {
        struct tasks_run run = tasks_next_run(tasks, &next);
        uint32_t steps = (run.last - run.first) / run.stride;
        uint32_t strided = run.stride > 1;

        len += number_put(bytes ? bytes + len : NULL, steps << 1 | strided);
        len += number_put(bytes ? bytes + len : NULL, run.first - after);
        if (strided)
            len += number_put(bytes ? bytes + len : NULL, run.stride);
        after = run.last + 1;
    }
    return len;
}

/* Length of the bitmap form; SIZE_MAX for the empty set. */
static size_t bitmap_len(const struct tasks *tasks)
{
    uint32_t first;
    uint32_t last;

    if (!tasks->range_count)
        return SIZE_MAX;
    first = tasks->ranges[0].first;
    last = tasks->ranges[tasks->range_count - 1].last;
    return 1 + number_put(NULL, first) + (last - first) / 8 + 1;
}

static void bitmap_put(const struct tasks *tasks, unsigned char *bytes)
{
    uint32_t first = tasks->ranges[0].first;
    size_t len = bitmap_len(tasks);
    size_t head;

    memset(bytes, 0, len);
    head = number_put(bytes, BITMAP_MARK);
    head += number_put(bytes + head, first);
    for (size_t i = 0; i < tasks->range_count; i++) {
        for (uint32_t task = tasks->ranges[i].first;
             task <= tasks->ranges[i].last; task++)
            bytes[head + (task - first) / 8] |=
                (unsigned char)(1 << (task - first) % 8);
    }
}

size_t tasks_packed_len(const struct tasks *tasks)
{
    size_t runs = runs_put(tasks, NULL);
    size_t bitmap = bitmap_len(tasks);

    return runs <= bitmap ? runs : bitmap;
}

void tasks_pack(const struct tasks *tasks, unsigned char *bytes)
{
    if (runs_put(tasks, NULL) <= bitmap_len(tasks))
        runs_put(tasks, bytes);
    else
        bitmap_put(tasks, bytes);
}

/* Read a bitmap of `len` bytes, including its mark, into `tasks`, which has
 * room for a range in every second bit. */
static int bitmap_get(struct tasks *tasks,
                      const unsigned char *bytes,
                      size_t len)
{
    size_t at = 1;
    uint32_t first;
    int r;

    r = number_get(&first, bytes, len, &at);
    if (r < 0)
        return r;
    if (first >= TASKS_MAX || (len - at) * 8 > TASKS_MAX - first + 7)
        return -EBADMSG;
    for (size_t bit = 0; bit < (len - at) * 8; bit++) {
        if (!(bytes[at + bit / 8] & 1 << bit % 8))
            continue;
        if (first + bit >= TASKS_MAX)
            return -EBADMSG;
        set_add(tasks, first + (uint32_t)bit, first + (uint32_t)bit);
    }
    return 0;
}

/* Read one run at `*at`. */
static int run_get(struct tasks_run *run,
                   uint32_t after,
                   const unsigned char *bytes,
                   size_t len,
                   size_t *at)
{
    uint32_t head;
    uint32_t gap;
    uint64_t last;
    int r;

    run->stride = 1;
    r = number_get(&head, bytes, len, at);
    if (r < 0)
        return r;
    r = number_get(&gap, bytes, len, at);
    if (r < 0)
        return r;
    if (head & 1) {
        r = number_get(&run->stride, bytes, len, at);
        if (r < 0)
            return r;
    }
    last = (uint64_t)after + gap + (uint64_t)(head >> 1) * run->stride;
    if (last >= TASKS_MAX || (head & 1 && (run->stride < 2 || head >> 1 < 2)))
        return -EBADMSG;
    run->first = after + gap;
    run->last = (uint32_t)last;
    return 0;
}

/* Count the ranges of the runs, and add them to `tasks` unless that is NULL.
 * Returns the count, or a negative errno if the runs are malformed. */
static long runs_get(struct tasks *tasks,
                     const unsigned char *bytes,
                     size_t len)
{
    struct tasks_run run = {0, 0, 1};
    uint32_t after = 0;
    long ranges = 0;
    size_t at = 0;
    int r;

    while (at < len) {
        r = run_get(&run, after, bytes, len, &at);
        if (r < 0)
            return r;
        after = run.last + 1;
        ranges += run.stride > 1 ? (run.last - run.first) / run.stride + 1 : 1;
        if (!tasks)
            continue;
        if (run.stride == 1)
            set_add(tasks, run.first, run.last);
        else
            for (uint32_t task = run.first; task <= run.last;
                 task += run.stride)
                set_add(tasks, task, task);
    }
    return ranges;
}

int tasks_unpack(struct tasks **out, const unsigned char *bytes, size_t len)
{
    struct tasks *tasks = NULL;
    unsigned char *again = NULL;
    bool bitmap = len > 0 && bytes[0] == BITMAP_MARK;
    long ranges;
    int r;

    if (bitmap && len > TASKS_MAX / 8 + 8)
        return -EBADMSG;
    ranges = bitmap ? (long)len * 4 : runs_get(NULL, bytes, len);
    if (ranges < 0)
        return (int)ranges;
    r = set_make(&tasks, (size_t)ranges);
    if (r < 0)
        return r;
    r = bitmap ? bitmap_get(tasks, bytes, len)
               : (int)(runs_get(tasks, bytes, len) < 0 ? -EBADMSG : 0);
    if (r < 0)
        goto out;
    /* Only the canonical form is accepted: the bytes identify the set. */
    r = -EBADMSG;
    if (tasks_packed_len(tasks) != len)
        goto out;
    r = -ENOMEM;
    again = malloc(len + 1);
    if (!again)
        goto out;
    tasks_pack(tasks, again);
    r = memcmp(again, bytes, len) == 0 ? 0 : -EBADMSG;
    if (r < 0)
        goto out;
    *out = tasks;
    tasks = NULL;
out:
    free(again);
    tasks_free(tasks);
    return r;
}
