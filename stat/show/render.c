/* render.c - see render.h. */
#include "stat/show/render.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "stat/show/columns.h"
#include "stat/show/movers.h"
#include "stat/show/palette.h"
#include "stat/show/picture.h"
#include "stat/write/output.h"

/* The fewest columns of a count. */
#define COUNT_COLUMNS_MIN 6

/* ... of a number of threads, with two spaces before. */
#define THREAD_COLUMNS_MIN 9

/* The fewest columns for tasks, and the most bytes of their text. */
#define RANKS_COLUMNS_MIN 12
#define RANKS_SIZE        256

/* A class with at most this many tasks is shown with its processes. */
#define NAMED_MAX 2

#define ELLIPSIS "\xe2\x80\xa6"
#define MARK     "  \xe2\x97\x80"

struct render {
    FILE *file;
    const struct report *report;
    const struct tree *tree;
    const struct render_options *options;
    bool *drawn; /* by node: a class that is shown is at or below it */
    struct picture *picture;
    unsigned width;          /* columns */
    unsigned count_columns;  /* of a number of tasks */
    unsigned thread_columns; /* of a number of threads, with two spaces before;
                                0: not shown */
};

/* How many classes after the first ones are left out. */
static size_t classes_skipped(const struct report *report)
{
    size_t shown = PICTURE_FIRST + PICTURE_LAST;
    size_t count = report->classes->count;

    return report->source.full || count < shown + 2 ? 0 : count - shown;
}

/* Also draw earlier places of tasks, where threads make classes. */
static void find_left(struct render *render)
{
    const struct tree *tree = render->tree;
    uint32_t top, node, end = 0;

    for (top = 0; top < tree->node_count; top += tree->nodes[top].size) {
        uint32_t behind = top + tree->nodes[top].size;
        bool drawn = false;

        for (node = top; node < behind; node++)
            drawn |= render->drawn[node];
        for (; end < tree->end_count && tree->ends[end].node < behind; end++)
            if (drawn && !tree->ends[end].current)
                render->drawn[render->report->shown[tree->ends[end].node]] =
                    true;
    }
}

/* Find which nodes are to be drawn. */
static int find_drawn(struct render *render)
{
    const struct report *report = render->report;
    const struct classes *classes = report->classes;
    const struct tree_node *nodes = render->tree->nodes;
    size_t skip = classes_skipped(report);

    render->drawn = calloc((size_t)render->tree->node_count + 1, sizeof(bool));
    if (!render->drawn)
        return -ENOMEM;
    for (size_t i = 0; i < classes->count; i++) {
        if (skip > 0 && i == PICTURE_FIRST)
            i += skip;
        for (uint32_t k = 0; k < classes->end_counts[i]; k++)
            render->drawn[classes->ends[i][k]] = true;
    }
    if (skip == 0)
        find_left(render);
    /* In pre-order, the nodes below a node follow it. */
    for (uint32_t node = render->tree->node_count; node-- > 0;) {
        uint32_t child = node + 1;

        for (; !render->drawn[node] && child < node + nodes[node].size;
             child += nodes[child].size)
            render->drawn[node] = render->drawn[child];
    }
    return 0;
}

/* Begin the colour of class `class`; none for -1. */
static void colour_begin(const struct render *render, long class)
{
    if (render->options->colour && class >= 0)
        fprintf(render->file, "\033[38;5;%um", palette_terminal(class));
}

static void colour_end(const struct render *render, long class)
{
    if (render->options->colour && class >= 0)
        fputs("\033[0m", render->file);
}

/* Write the note after a line's ranks, as far as `room` columns allow. */
static void line_note(char *note,
                      size_t size,
                      const struct picture_line *line,
                      unsigned room)
{
    note[0] = '\0';
    if (!line->outlier)
        return;
    if (line->unchanged)
        snprintf(note, size, MARK " outlier, unchanged for %u samples",
                 line->unchanged);
    if (!line->unchanged || columns_of(note) > room)
        snprintf(note, size, MARK " outlier");
    if (columns_of(note) > room)
        snprintf(note, size, MARK);
}

/* The columns between a line's text and its ranks. */
static unsigned counts_columns(const struct render *render)
{
    return 2 + render->count_columns + render->thread_columns + 2;
}

/* The number of threads on a line. */
static uint64_t line_threads(const struct render *render,
                             const struct picture_line *line)
{
    return line->here ? report_threads_here(render->report, line->node)
                      : render->report->threads[line->node];
}

static void write_line(struct render *render,
                       const struct picture_line *line,
                       unsigned left_columns)
{
    unsigned rest = render->width - left_columns - counts_columns(render);
    char ranks[RANKS_SIZE];
    char note[64];
    size_t room;
    long class;

    if (!line->tasks) {
        unsigned want = columns_of(line->text);

        columns_write(render->file, line->text,
                      want < render->width ? want : render->width);
        fputc('\n', render->file);
        return;
    }
    class = report_class(render->report, line->tasks);
    room = columns_of(tasks_text(line->tasks, ranks, RANKS_COLUMNS_MIN - 2));
    line_note(note, sizeof(note), line, rest - (unsigned)room);
    room = rest - columns_of(note);
    if (room >= sizeof(ranks))
        room = sizeof(ranks) - 1;
    colour_begin(render, class);
    columns_write(render->file, line->text, left_columns);
    fprintf(render->file, "  %*u", (int)render->count_columns,
            tasks_count(line->tasks));
    if (render->thread_columns > 0)
        fprintf(render->file, "%*" PRIu64, (int)render->thread_columns,
                line_threads(render, line));
    fprintf(render->file, "  %s%s", tasks_text(line->tasks, ranks, room + 1),
            note);
    colour_end(render, class);
    fputc('\n', render->file);
}

static const char *plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* Make the first line; NULL without memory. */
static char *headline(const struct report *report)
{
    uint32_t median_us = tree_median_stop_us(report->tree);
    char *text = columns_append(strdup(report->summary), ", stopped ");

    if (median_us > 0)
        text = columns_append(text, "%.1f ms in the median, ",
                              (double)median_us / 1e3);
    return columns_append(text, "%.1f ms at most",
                          (double)report->tree->stop_ns / 1e6);
}

/* How many columns the ranks and notes need. */
static unsigned columns_wanted(const struct render *render)
{
    unsigned most = RANKS_COLUMNS_MIN;
    char ranks[RANKS_COLUMNS_MIN];
    char note[64];

    for (size_t i = 0; i < render->picture->count; i++) {
        const struct picture_line *line = &render->picture->lines[i];
        unsigned want;

        if (!line->tasks || !line->outlier)
            continue;
        line_note(note, sizeof(note), line, UINT_MAX);
        want = columns_of(note) +
               columns_of(tasks_text(line->tasks, ranks, sizeof(ranks)));
        most = want > most ? want : most;
    }
    return most;
}

/* The width of the part to the left of the counts. The headline is never cut:
 * it gets its own line if only that leaves room for the notes of the lines. */
static unsigned left_columns(const struct render *render, const char *head)
{
    const struct picture *picture = render->picture;
    unsigned most = render->width - counts_columns(render);
    unsigned wanted = counts_columns(render) + columns_wanted(render);
    unsigned left = 0;

    most -= RANKS_COLUMNS_MIN;
    for (size_t i = 0; i < picture->count; i++) {
        unsigned want = columns_of(picture->lines[i].text);

        if (picture->lines[i].tasks && want > left)
            left = want;
    }
    if (left < columns_of(head) &&
        (columns_of(head) + wanted <= render->width ||
         left + wanted > render->width))
        left = columns_of(head);
    return left < most ? left : most;
}

/* Write the headline, and the lines below it in columns. */
static int write_lines(struct render *render)
{
    char *head = render->options->headline ? strdup(render->options->headline)
                                           : headline(render->report);
    unsigned left;

    if (!head)
        return -ENOMEM;
    left = left_columns(render, head);
    if (columns_of(head) > left) {
        columns_wrap(render->file, head, render->width);
        fprintf(render->file, "\n%*s", (int)left, "");
    } else {
        columns_write(render->file, head, left);
    }
    free(head);
    fprintf(render->file, "  %*s%*s  %ss\n", (int)render->count_columns,
            "count", (int)render->thread_columns,
            render->thread_columns > 0 ? "threads" : "",
            report_noun(render->report));
    for (size_t i = 0; i < render->picture->count; i++)
        write_line(render, &render->picture->lines[i], left);
    return 0;
}

/* Append the places of the processes of a small class to `text`. */
static char *append_processes(char *text,
                              const struct render *render,
                              const struct tasks *set)
{
    const struct report *report = render->report;
    struct tasks_cursor at = tasks_begin(set);
    const char *before = " (";

    if (tasks_count(set) > NAMED_MAX)
        return text;
    while (tasks_next(&at)) {
        for (uint32_t task = at.range.first; task <= at.range.last; task++) {
            const char *host = report_host(report, task);

            if (!host)
                return text;
            text = columns_append(text, "%s%s pid %d", before, host,
                                  (int)report_pid(report, task));
            before = ", ";
        }
    }
    return columns_append(text, ")");
}

/* Write the line of class number `i`, with processes if it is small. */
static int write_class(struct render *render, size_t i)
{
    const struct report *report = render->report;
    const struct tasks *set = report->classes->sets[i];
    uint64_t threads = report_threads(report, set);
    unsigned room = render->width / 2;
    char ranks[RANKS_SIZE];
    char *note = NULL, *text;
    int r;

    if (room > sizeof(ranks))
        room = sizeof(ranks);
    text = columns_append(strdup(""), "class %zu: %u %s%s", i + 1,
                          tasks_count(set), report_noun(report),
                          plural(tasks_count(set), "", "s"));
    if (report->source.threads)
        text = columns_append(text, ", %" PRIu64 " thread%s", threads,
                              plural(threads, "", "s"));
    text = columns_append(text, ": %s", tasks_text(set, ranks, room));
    text = append_processes(text, render, set);
    if (report_is_outlier(report, set))
        text = columns_append(text, ", outlier");
    r = movers_note(&note, report, i);
    if (r == 0 && !render->options->timeless && note[0])
        text = columns_append(text, ", %s", note);
    free(note);
    if (r < 0 || !text) {
        free(text);
        return -ENOMEM;
    }
    columns_clean(text);
    colour_begin(render, (long)i);
    columns_wrap(render->file, text, render->width);
    colour_end(render, (long)i);
    fputc('\n', render->file);
    free(text);
    return 0;
}

static int write_classes(struct render *render)
{
    size_t skip = classes_skipped(render->report);
    char line[96];
    int r = 0;

    for (size_t i = 0; r == 0 && i < render->report->classes->count; i++) {
        if (skip > 0 && i == PICTURE_FIRST) {
            snprintf(line, sizeof(line),
                     ELLIPSIS
                     " %zu more classes: --full shows them, --html too",
                     skip);
            columns_wrap(render->file, line, render->width);
            fputc('\n', render->file);
            i += skip;
        }
        r = write_class(render, i);
    }
    return r;
}

/* Write a sentence on its own lines, if there is one. */
static void write_sentence(struct render *render, const char *text)
{
    if (!text[0])
        return;
    columns_wrap(render->file, text, render->width);
    fputc('\n', render->file);
}

int render_report(FILE *file,
                  const struct report *report,
                  const struct render_options *options)
{
    struct render render = {.file = file,
                            .report = report,
                            .tree = report->tree,
                            .options = options,
                            .width = options->width < RENDER_WIDTH_MIN
                                         ? RENDER_WIDTH_MIN
                                         : options->width,
                            .count_columns = COUNT_COLUMNS_MIN};
    int r;

    for (uint64_t most = tasks_count(report->everyone); most > 999999;
         most /= 10)
        render.count_columns++;
    if (report->source.threads)
        render.thread_columns = THREAD_COLUMNS_MIN;
    for (uint64_t most = report_threads(report, report->everyone);
         report->source.threads && most > 9999999; most /= 10)
        render.thread_columns++;
    r = find_drawn(&render);
    if (r == 0)
        r = picture_new(&render.picture, report, render.drawn, render.width);
    if (r == 0)
        r = write_lines(&render);
    if (r == 0)
        r = write_classes(&render);
    if (r == 0)
        write_sentence(&render, report->judgement);
    if (r == 0)
        write_sentence(&render, report->asides[0]);
    if (r == 0)
        write_sentence(&render, report->asides[1]);
    if (r == 0 && !options->headline)
        write_sentence(&render, report->missing);
    if (r == 0)
        r = output_end(file);
    picture_free(render.picture);
    free(render.drawn);
    return r;
}
