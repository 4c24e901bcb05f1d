/* tasks.c - see tasks.h. */
#include "stat/tree/tasks_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct tasks_range *ranges_of(const struct tasks *tasks)
{
    return (struct tasks_range *)(uintptr_t)tasks->cells;
}

int set_make(struct tasks **out, size_t room)
{
    struct tasks *tasks;

    if (room > TASKS_MAX)
        return -ENOMEM;
    tasks = calloc(1, sizeof(*tasks) + room * sizeof(*tasks->cells));
    if (!tasks)
        return -ENOMEM;
    tasks->references = 1;
    *out = tasks;
    return 0;
}

void set_add(struct tasks *tasks, uint32_t first, uint32_t last)
{
    struct tasks_range *end = ranges_of(tasks) + tasks->range_count;

    if (tasks->range_count == 0 || first > end[-1].last + 1) {
        *end = (struct tasks_range){first, last};
        tasks->range_count++;
    } else if (last > end[-1].last) {
        end[-1].last = last;
    }
}

size_t set_words(uint32_t first, uint32_t last)
{
    return (size_t)(last / WORD - first / WORD) + 1;
}

/* The bits of `range` in word number `word`, which it meets. */
static uint64_t mask_of(struct tasks_range range, uint32_t word)
{
    uint64_t mask = UINT64_MAX;

    if (range.first / WORD == word)
        mask &= UINT64_MAX << range.first % WORD;
    if (range.last / WORD == word)
        mask &= UINT64_MAX >> (WORD - 1 - range.last % WORD);
    return mask;
}

void set_put(struct tasks *tasks, struct tasks_range range)
{
    for (uint32_t at = range.first / WORD; at <= range.last / WORD; at++)
        tasks->cells[at - tasks->base] |= mask_of(range, at);
}

struct tasks *set_settle_ranges(struct tasks *tasks)
{
    const struct tasks_range *ranges = ranges_of(tasks);
    size_t count = tasks->range_count, words;
    struct tasks *bitmap;

    if (count == 0)
        return tasks;
    words = set_words(ranges[0].first, ranges[count - 1].last);
    if (2 * count < words || set_make(&bitmap, words) < 0)
        return tasks;
    bitmap->base = ranges[0].first / WORD;
    bitmap->word_count = words;
    for (size_t i = 0; i < count; i++)
        set_put(bitmap, ranges[i]);
    tasks_free(tasks);
    return bitmap;
}

/* How many of the tasks of word number `i` have no task before them. */
static uint32_t begins_in(const struct tasks *tasks, size_t i)
{
    uint64_t word = tasks->cells[i];
    uint64_t before = i > 0 ? tasks->cells[i - 1] >> (WORD - 1) : 0;

    return word ? (uint32_t)__builtin_popcountll(word & ~(word << 1 | before))
                : 0;
}

/* Drop words without tasks at both ends. */
static void trim_words(struct tasks *tasks)
{
    size_t skipped = 0;

    while (tasks->word_count > 0 && !tasks->cells[tasks->word_count - 1])
        tasks->word_count--;
    while (skipped < tasks->word_count && !tasks->cells[skipped])
        skipped++;
    tasks->base += (uint32_t)skipped;
    tasks->word_count -= skipped;
    if (skipped > 0)
        memmove(tasks->cells, tasks->cells + skipped,
                tasks->word_count * sizeof(*tasks->cells));
}

struct tasks *set_settle_words(struct tasks *tasks)
{
    struct tasks_cursor cursor = tasks_begin(tasks);
    struct tasks *ranges;
    size_t count = 0, i;

    trim_words(tasks);
    for (i = 0; i < tasks->word_count && 2 * count < tasks->word_count; i++)
        count += begins_in(tasks, i);
    if (2 * count >= tasks->word_count || set_make(&ranges, count) < 0)
        return tasks;
    while (tasks_next(&cursor))
        set_add(ranges, cursor.range.first, cursor.range.last);
    tasks_free(tasks);
    return ranges;
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
    *out = set_settle_ranges(tasks);
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

bool tasks_is_empty(const struct tasks *tasks)
{
    return tasks->range_count == 0 && tasks->word_count == 0;
}

size_t tasks_size(const struct tasks *tasks)
{
    return (tasks->range_count + tasks->word_count) * sizeof(*tasks->cells);
}

uint32_t tasks_first(const struct tasks *tasks)
{
    return tasks->word_count > 0
               ? tasks->base * WORD + (uint32_t)__builtin_ctzll(tasks->cells[0])
               : ranges_of(tasks)[0].first;
}

uint32_t tasks_last(const struct tasks *tasks)
{
    size_t words = tasks->word_count;

    return words > 0 ? (tasks->base + (uint32_t)words) * WORD - 1 -
                           (uint32_t)__builtin_clzll(tasks->cells[words - 1])
                     : ranges_of(tasks)[tasks->range_count - 1].last;
}

struct tasks_cursor tasks_begin(const struct tasks *tasks)
{
    return (struct tasks_cursor){.tasks = tasks};
}

/* The first bit at or after bit number `at` that is set, or with `invert` that
 * is not; `end` if there is none. */
static size_t find_bit(const struct tasks *tasks, size_t at, uint64_t invert)
{
    size_t end = tasks->word_count * WORD;
    uint64_t word;

    while (at < end) {
        word = (tasks->cells[at / WORD] ^ invert) >> at % WORD;
        if (word)
            return at + (size_t)__builtin_ctzll(word);
        at += WORD - at % WORD;
    }
    return end;
}

bool tasks_next(struct tasks_cursor *cursor)
{
    const struct tasks *tasks = cursor->tasks;
    size_t first;

    if (tasks->word_count == 0) {
        if (cursor->next == tasks->range_count)
            return false;
        cursor->range = ranges_of(tasks)[cursor->next++];
        return true;
    }
    first = find_bit(tasks, cursor->next, 0);
    if (first == tasks->word_count * WORD)
        return false;
    cursor->next = find_bit(tasks, first, UINT64_MAX);
    cursor->range.first = tasks->base * WORD + (uint32_t)first;
    cursor->range.last = tasks->base * WORD + (uint32_t)cursor->next - 1;
    return true;
}

/* Join, subtract or intersect two sets of ranges. Between two changes,
 * membership in both is constant. */
static void merge_ranges(struct tasks *tasks,
                         enum tasks_op op,
                         const struct tasks *a,
                         const struct tasks *b)
{
    const struct tasks_range *x = ranges_of(a), *x_end = x + a->range_count;
    const struct tasks_range *y = ranges_of(b), *y_end = y + b->range_count;
    uint32_t at = 0;

    while (x < x_end || y < y_end) {
        bool in_x = x < x_end && at >= x->first;
        bool in_y = y < y_end && at >= y->first;
        uint32_t end = UINT32_MAX;

        if (x < x_end)
            end = in_x ? x->last + 1 : x->first;
        if (y < y_end && (in_y ? y->last + 1 : y->first) < end)
            end = in_y ? y->last + 1 : y->first;
        if (end > at && (op == TASKS_UNION   ? in_x || in_y
                         : op == TASKS_MINUS ? in_x && !in_y
                                             : in_x && in_y))
            set_add(tasks, at, end - 1);
        at = end;
        x += x < x_end && at > x->last;
        y += y < y_end && at > y->last;
    }
}

/* Apply word number `at` of the second set, whose tasks are those of `bits`, to
 * the bitmap, which is the first one or, for TASKS_BOTH, empty: `from` is the
 * first one then. */
static void apply_word(struct tasks *bitmap,
                       enum tasks_op op,
                       const struct tasks *from,
                       uint32_t at,
                       uint64_t bits)
{
    uint64_t *word = &bitmap->cells[at - bitmap->base];

    if (op == TASKS_UNION)
        *word |= bits;
    else if (op == TASKS_MINUS)
        *word &= ~bits;
    else
        *word |= from->cells[at - from->base] & bits;
}

/* Apply all of `set` that is within the bitmap. */
static void apply_set(struct tasks *bitmap,
                      enum tasks_op op,
                      const struct tasks *from,
                      const struct tasks *set)
{
    uint32_t base = bitmap->base, end = base + (uint32_t)bitmap->word_count;
    uint32_t low = set->base > base ? set->base : base;
    uint32_t high = set->base + (uint32_t)set->word_count;

    if (high > end)
        high = end;
    for (uint32_t at = low; at < high; at++)
        apply_word(bitmap, op, from, at, set->cells[at - set->base]);
    for (size_t i = 0; i < set->range_count; i++) {
        struct tasks_range range = ranges_of(set)[i];

        for (uint32_t at = range.first / WORD > base ? range.first / WORD
                                                     : base;
             at <= range.last / WORD && at < end; at++)
            apply_word(bitmap, op, from, at, mask_of(range, at));
    }
}

/* Combine two sets, of which one at least is a bitmap; in TASKS_BOTH the first
 * one is. */
static int combine_words(struct tasks **out,
                         enum tasks_op op,
                         const struct tasks *a,
                         const struct tasks *b)
{
    uint32_t first = tasks_first(a), last = tasks_last(a);
    struct tasks *tasks;
    int r;

    if (op == TASKS_UNION && tasks_first(b) < first)
        first = tasks_first(b);
    if (op == TASKS_UNION && tasks_last(b) > last)
        last = tasks_last(b);
    r = set_make(&tasks, set_words(first, last));
    if (r < 0)
        return r;
    tasks->base = first / WORD;
    tasks->word_count = set_words(first, last);
    if (op != TASKS_BOTH)
        apply_set(tasks, TASKS_UNION, NULL, a);
    apply_set(tasks, op, a, b);
    *out = set_settle_words(tasks);
    return 0;
}

int tasks_combine(struct tasks **out,
                  enum tasks_op op,
                  struct tasks *a,
                  struct tasks *b)
{
    struct tasks *tasks;
    int r;

    if (op == TASKS_BOTH && a->word_count == 0) {
        tasks = a;
        a = b;
        b = tasks;
    }
    if ((a == b && op != TASKS_MINUS) ||
        (tasks_is_empty(b) && op != TASKS_BOTH)) {
        *out = tasks_ref(a);
        return 0;
    }
    if (tasks_is_empty(a)) {
        *out = tasks_ref(op == TASKS_UNION ? b : a);
        return 0;
    }
    if (a->word_count > 0 || b->word_count > 0)
        return combine_words(out, op, a, b);
    r = set_make(&tasks, a->range_count + b->range_count);
    if (r < 0)
        return r;
    merge_ranges(tasks, op, a, b);
    *out = set_settle_ranges(tasks);
    return 0;
}

/* Whether the operation can be done in the memory of `set`. */
static bool is_in_place(const struct tasks *set,
                        enum tasks_op op,
                        const struct tasks *other)
{
    if (set->references > 1 || set->word_count == 0 || op == TASKS_BOTH ||
        tasks_is_empty(other))
        return false;
    return op == TASKS_MINUS ||
           (tasks_first(other) / WORD >= set->base &&
            tasks_last(other) / WORD < set->base + set->word_count);
}

int tasks_change(struct tasks **set, enum tasks_op op, struct tasks *other)
{
    struct tasks *result;
    int r;

    if (is_in_place(*set, op, other)) {
        apply_set(*set, op, NULL, other);
        (*set)->count = 0;
        *set = set_settle_words(*set);
        return 0;
    }
    r = tasks_combine(&result, op, *set, other);
    if (r < 0)
        return r;
    tasks_free(*set);
    *set = result;
    return 0;
}

uint32_t tasks_count(const struct tasks *tasks)
{
    struct tasks *counted = (struct tasks *)(uintptr_t)tasks;

    if (tasks->count > 0)
        return tasks->count;
    for (size_t i = 0; i < tasks->word_count; i++)
        counted->count += (uint32_t)__builtin_popcountll(tasks->cells[i]);
    for (size_t i = 0; i < tasks->range_count; i++)
        counted->count +=
            ranges_of(tasks)[i].last - ranges_of(tasks)[i].first + 1;
    return tasks->count;
}

int tasks_renumber(struct tasks **out,
                   const struct tasks *tasks,
                   const uint32_t *numbers)
{
    struct tasks_range span = {UINT32_MAX, 0};
    struct tasks_cursor at;
    struct tasks *result;
    uint32_t task;
    int r;

    for (at = tasks_begin(tasks); tasks_next(&at);)
        for (task = at.range.first; task <= at.range.last; task++) {
            if (numbers[task] < span.first)
                span.first = numbers[task];
            if (numbers[task] > span.last)
                span.last = numbers[task];
        }
    if (span.first > span.last)
        return set_make(out, 0);
    r = set_make(&result, set_words(span.first, span.last));
    if (r < 0)
        return r;
    result->base = span.first / WORD;
    result->word_count = set_words(span.first, span.last);
    for (at = tasks_begin(tasks); tasks_next(&at);)
        for (task = at.range.first; task <= at.range.last; task++)
            result->cells[numbers[task] / WORD - result->base] |=
                UINT64_C(1) << numbers[task] % WORD;
    *out = set_settle_words(result);
    return 0;
}

/* The index of the first range that ends at or after `task`. */
static size_t range_at(const struct tasks *tasks, uint32_t task)
{
    size_t low = 0, high = tasks->range_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (ranges_of(tasks)[middle].last < task)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t set_word(const struct tasks *tasks, uint32_t at)
{
    return at >= tasks->base && at - tasks->base < tasks->word_count
               ? tasks->cells[at - tasks->base]
               : 0;
}

/* Whether any of `range` is in `tasks`; with `all` whether all are. */
static bool has_range(const struct tasks *tasks,
                      struct tasks_range range,
                      bool all)
{
    size_t i = range_at(tasks, range.first);

    if (tasks->word_count == 0)
        return i < tasks->range_count &&
               (all ? ranges_of(tasks)[i].first <= range.first &&
                          range.last <= ranges_of(tasks)[i].last
                    : ranges_of(tasks)[i].first <= range.last);
    for (uint32_t at = range.first / WORD; at <= range.last / WORD; at++) {
        uint64_t mask = mask_of(range, at), word = set_word(tasks, at) & mask;

        if (all ? word != mask : word != 0)
            return !all;
    }
    return all;
}

bool tasks_has(const struct tasks *tasks, uint32_t task)
{
    return has_range(tasks, (struct tasks_range){task, task}, true);
}

bool tasks_meet(const struct tasks *a, const struct tasks *b)
{
    struct tasks_cursor cursor = tasks_begin(a->word_count > 0 ? b : a);

    if (a->word_count > 0 && b->word_count > 0) {
        for (size_t i = 0; i < a->word_count; i++)
            if (a->cells[i] & set_word(b, a->base + (uint32_t)i))
                return true;
        return false;
    }
    while (tasks_next(&cursor))
        if (has_range(a->word_count > 0 ? a : b, cursor.range, false))
            return true;
    return false;
}

bool tasks_within(const struct tasks *a, const struct tasks *b)
{
    struct tasks_cursor cursor = tasks_begin(a);

    if (a->word_count > 0 && b->word_count > 0) {
        for (size_t i = 0; i < a->word_count; i++)
            if (a->cells[i] & ~set_word(b, a->base + (uint32_t)i))
                return false;
        return true;
    }
    if (!tasks_is_empty(a) &&
        has_range(b, (struct tasks_range){tasks_first(a), tasks_last(a)}, true))
        return true;
    while (tasks_next(&cursor))
        if (!has_range(b, cursor.range, true))
            return false;
    return true;
}

/* Begin with both where they differ first, if they are bitmaps. */
static void skip_equal(struct tasks_cursor *x, struct tasks_cursor *y)
{
    const struct tasks *a = x->tasks, *b = y->tasks;
    size_t i = 0;

    if (a->base != b->base)
        return;
    while (i < a->word_count && i < b->word_count && a->cells[i] == b->cells[i])
        i++;
    if (i > 0) /* the last equal task may be in ranges that differ */
        x->next = y->next = i * WORD - 1;
}

int tasks_compare(const struct tasks *a, const struct tasks *b)
{
    struct tasks_cursor x = tasks_begin(a), y = tasks_begin(b);
    bool more_x, more_y;

    if (a == b)
        return 0;
    skip_equal(&x, &y);
    for (;;) {
        more_x = tasks_next(&x);
        more_y = tasks_next(&y);
        if (!more_x || !more_y)
            return more_x - more_y;
        if (x.range.first != y.range.first)
            return x.range.first < y.range.first ? -1 : 1;
        if (x.range.last != y.range.last)
            return x.range.last < y.range.last ? -1 : 1;
    }
}

bool tasks_equal(const struct tasks *a, const struct tasks *b)
{
    return tasks_compare(a, b) == 0;
}

bool tasks_next_run(struct tasks_run *run, struct tasks_cursor *cursor)
{
    struct tasks_cursor ahead;
    uint32_t stride = 0, last;
    size_t count = 1;

    if (!tasks_next(cursor))
        return false;
    *run = (struct tasks_run){cursor->range.first, cursor->range.last, 1};
    last = run->first;
    for (ahead = *cursor; run->first == run->last && tasks_next(&ahead);
         *cursor = count >= 3 ? ahead : *cursor) {
        uint32_t distance = ahead.range.first - last;

        if (ahead.range.last > ahead.range.first ||
            (count > 1 && distance != stride))
            break;
        stride = distance;
        last = ahead.range.first;
        count++;
    }
    if (count >= 3) {
        run->last = last;
        run->stride = stride;
    }
    return true;
}
