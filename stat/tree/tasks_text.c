/* tasks_text.c - sets of tasks as text. */
#include "stat/tree/tasks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/list.h"

char *tasks_text(const struct tasks *tasks, char *text, size_t size)
{
    const char *comma = "";
    size_t len = 0;
    struct tasks_cursor cursor = tasks_begin(tasks);
    struct tasks_run run;

    text[0] = '\0';
    while (tasks_next_run(&run, &cursor)) {
        char piece[48];
        size_t room = run.last < tasks_last(tasks) ? 4 : 0; /* for ",..." */
        int piece_len;

        if (run.stride > 1)
            piece_len = snprintf(piece, sizeof(piece), "%s%u-%u:%u", comma,
                                 run.first, run.last, run.stride);
        else if (run.last > run.first)
            piece_len = snprintf(piece, sizeof(piece), "%s%u-%u", comma,
                                 run.first, run.last);
        else
            piece_len =
                snprintf(piece, sizeof(piece), "%s%u", comma, run.first);
        if (len + (size_t)piece_len + room >= size) {
            snprintf(text + len, size - len, "%s...", comma);
            break;
        }
        memcpy(text + len, piece, (size_t)piece_len + 1);
        len += (size_t)piece_len;
        comma = ",";
    }
    return text;
}

/* Read a decimal number below TASKS_MAX; `*text` advances to its end. */
static bool read_number(const char **text, uint32_t *number)
{
    const char *at = *text;
    uint32_t value = 0;

    if (at[0] == '0' && at[1] >= '0' && at[1] <= '9')
        return false;
    for (; *at >= '0' && *at <= '9' && value < TASKS_MAX; at++)
        value = 10 * value + (uint32_t)(*at - '0');
    if (at == *text || value >= TASKS_MAX)
        return false;
    *text = at;
    *number = value;
    return true;
}

/* Read one number, range, or range with a stride. */
static bool read_run(const char **text, struct tasks_run *run)
{
    *run = (struct tasks_run){.stride = 1};
    if (!read_number(text, &run->first))
        return false;
    run->last = run->first;
    if (**text != '-')
        return true;
    ++*text;
    if (!read_number(text, &run->last) || run->last <= run->first)
        return false;
    if (**text != ':')
        return true;
    ++*text;
    return read_number(text, &run->stride) && run->stride > 1 &&
           (run->last - run->first) % run->stride == 0;
}

/* Append the ranges of `run` to the `*count` others. */
static int run_put(struct tasks_range **ranges,
                   size_t *count,
                   const struct tasks_run *run)
{
    uint32_t step = run->stride > 1 ? run->stride : run->last - run->first + 1;
    int r;

    for (uint32_t at = run->first; at <= run->last; at += step) {
        r = list_grow(ranges, *count, sizeof(**ranges));
        if (r < 0)
            return r;
        (*ranges)[(*count)++] =
            (struct tasks_range){at, run->stride > 1 ? at : run->last};
    }
    return 0;
}

int tasks_parse(struct tasks **out, const char *text)
{
    struct tasks_range *ranges = NULL;
    size_t count = 0;
    uint32_t from = 0; /* lower bound of the next number */
    struct tasks_run run;
    int r = 0;

    while (r == 0 && (*text || count > 0)) {
        if (!read_run(&text, &run) || run.first < from)
            r = -EINVAL;
        else
            r = run_put(&ranges, &count, &run);
        from = run.last + 1;
        if (r == 0 && !*text)
            break;
        if (r == 0 && *text++ != ',')
            r = -EINVAL;
    }
    if (r == 0)
        r = tasks_new(out, ranges, count);
    free(ranges);
    return r;
}
