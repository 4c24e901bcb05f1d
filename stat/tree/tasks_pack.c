/* tasks_pack.c - sets of tasks in packets. */
#include <errno.h>
#include <string.h>

#include "stat/tree/tasks_set.h"

/* Packed form: runs, each a number (steps << 1 | strided), a number for the gap
 * since the previous run, and if strided one for the stride. A first number of
 * 1, which no run has, is followed by a bitmap: the number of its first task,
 * then its bytes. Numbers have 7 bits a byte, low ones first. */
#define BITMAP_MARK 1

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

/* Write the runs at `bytes`, unless that is NULL. Returns their length, or if it
 * is more than `most` any such length. */
static size_t runs_put(const struct tasks *tasks,
                       unsigned char *bytes,
                       size_t most)
{
    struct tasks_cursor cursor = tasks_begin(tasks);
    uint32_t after = 0; /* end of the previous run */
    struct tasks_run run;
    size_t len = 0;

    while (len <= most && tasks_next_run(&run, &cursor)) {
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

    if (tasks_is_empty(tasks))
        return SIZE_MAX;
    first = tasks_first(tasks);
    return 1 + number_put(NULL, first) + (tasks_last(tasks) - first) / 8 + 1;
}

static void bitmap_put(const struct tasks *tasks, unsigned char *bytes)
{
    uint32_t first = tasks_first(tasks), last = tasks_last(tasks), at;
    uint64_t bits;

    bytes += number_put(bytes, BITMAP_MARK);
    bytes += number_put(bytes, first);
    for (at = first; at <= last; at += 8) {
        bits = set_word(tasks, at / WORD) >> at % WORD;
        if (at % WORD > WORD - 8)
            bits |= set_word(tasks, at / WORD + 1) << (WORD - at % WORD);
        *bytes++ = (unsigned char)bits;
    }
}

size_t tasks_packed_len(const struct tasks *tasks)
{
    size_t bitmap = bitmap_len(tasks), runs = runs_put(tasks, NULL, bitmap);

    return runs <= bitmap ? runs : bitmap;
}

void tasks_pack(const struct tasks *tasks, unsigned char *bytes)
{
    size_t bitmap = bitmap_len(tasks);

    if (runs_put(tasks, NULL, bitmap) <= bitmap)
        runs_put(tasks, bytes, SIZE_MAX);
    else
        bitmap_put(tasks, bytes);
}

/* Make the set of a bitmap of `len` bytes, including its mark. */
static int bitmap_get(struct tasks **out,
                      const unsigned char *bytes,
                      size_t len)
{
    struct tasks *tasks;
    uint32_t first, at;
    size_t i = 1;
    int r;

    r = number_get(&first, bytes, len, &i);
    if (r < 0)
        return r;
    if (i == len || first >= TASKS_MAX || (len - i) * 8 > TASKS_MAX - first + 7)
        return -EBADMSG;
    r = set_make(&tasks, set_words(first, first + (uint32_t)(len - i) * 8));
    if (r < 0)
        return r;
    tasks->base = first / WORD;
    tasks->word_count = set_words(first, first + (uint32_t)(len - i) * 8);
    for (at = first; i < len; i++, at += 8) {
        uint64_t *word = &tasks->cells[at / WORD - tasks->base];

        word[0] |= (uint64_t)bytes[i] << at % WORD;
        if (at % WORD > WORD - 8)
            word[1] |= (uint64_t)bytes[i] >> (WORD - at % WORD);
    }
    tasks = set_settle_words(tasks);
    if (tasks_is_empty(tasks) || tasks_last(tasks) >= TASKS_MAX) {
        tasks_free(tasks);
        return -EBADMSG;
    }
    *out = tasks;
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

/* The runs of a packed form: how many ranges they have, and their ends. */
struct extent {
    size_t ranges;
    uint32_t first;
    uint32_t last;
};

/* Add the tasks of a run, which is behind all others. */
static void add_run(struct tasks *tasks, const struct tasks_run *run)
{
    if (run->stride == 1 && tasks->word_count > 0)
        set_put(tasks, (struct tasks_range){run->first, run->last});
    else if (run->stride == 1)
        set_add(tasks, run->first, run->last);
    else if (tasks->word_count > 0)
        for (uint32_t at = run->first; at <= run->last; at += run->stride)
            tasks->cells[at / WORD - tasks->base] |= UINT64_C(1) << at % WORD;
    else
        for (uint32_t at = run->first; at <= run->last; at += run->stride)
            set_add(tasks, at, at);
}

/* Read the runs, and add them to `tasks` unless that is NULL. */
static int runs_get(struct extent *extent,
                    struct tasks *tasks,
                    const unsigned char *bytes,
                    size_t len)
{
    struct tasks_run run = {0, 0, 1};
    uint32_t after = 0;
    size_t at = 0;
    int r;

    *extent = (struct extent){0, 0, 0};
    while (at < len) {
        r = run_get(&run, after, bytes, len, &at);
        if (r < 0)
            return r;
        after = run.last + 1;
        if (extent->ranges == 0)
            extent->first = run.first;
        extent->last = run.last;
        extent->ranges +=
            run.stride > 1 ? (run.last - run.first) / run.stride + 1 : 1;
        if (tasks)
            add_run(tasks, &run);
    }
    return 0;
}

int tasks_unpack(struct tasks **out, const unsigned char *bytes, size_t len)
{
    struct extent extent;
    struct tasks *tasks;
    size_t words;
    int r;

    if (len > 0 && bytes[0] == BITMAP_MARK)
        return bitmap_get(out, bytes, len);
    r = runs_get(&extent, NULL, bytes, len);
    if (r < 0)
        return r;
    words = set_words(extent.first, extent.last);
    if (2 * extent.ranges < words)
        words = 0;
    r = set_make(&tasks, words ? words : extent.ranges);
    if (r < 0)
        return r;
    tasks->base = extent.first / WORD;
    tasks->word_count = extent.ranges > 0 ? words : 0;
    runs_get(&extent, tasks, bytes, len);
    *out = tasks->word_count > 0 ? set_settle_words(tasks)
                                 : set_settle_ranges(tasks);
    return 0;
}
