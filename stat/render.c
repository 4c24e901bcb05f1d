/* render.c - see render.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf() */
#endif
#include "stat/render.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "stat/palette.h"

/* Columns of what is right of the tree: two spaces, the count, two spaces. */
#define COUNT_COLUMNS 10

/* The fewest columns for ranks, and the most bytes of them. */
#define RANKS_COLUMNS_MIN 12
#define RANKS_SIZE        256

/* Below so many columns more of them are kept for names. */
#define WIDTH_NARROW 80

/* Tasks of a class whose processes are named. */
#define NAMED_MAX 2

/* What stands for frames, branches and the inside of a runtime left out. */
#define ELLIPSIS "\xe2\x80\xa6"
#define LEADS_ON " \xe2\x96\xb8 "
#define MARK     "  \xe2\x97\x80"

/* One line of the picture, before it is laid out. */
struct line {
    char *left;
    struct tasks *tasks; /* borrowed; NULL: a line of words only */
    uint32_t unchanged;  /* in how many samples; 0: do not say */
    bool outlier;
};

struct render {
    FILE *file;
    const struct report *report;
    const struct tree *tree;
    const struct render_options *options;
    bool *drawn; /* by node: a class that is told of is there or below */
    struct line *lines;
    size_t count;
    size_t room;
    unsigned width; /* columns */
};

/* Terminal columns of a UTF-8 string without wide characters. */
static unsigned columns(const char *text)
{
    unsigned count = 0;

    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

/* Write `text` in exactly `width` columns (at least 1): filled with spaces, or
 * cut, the last of them an ellipsis. */
static void write_cell(FILE *file, const char *text, unsigned width)
{
    unsigned have = columns(text);
    unsigned count = 0;
    size_t len;

    if (have <= width) {
        fprintf(file, "%s%*s", text, (int)(width - have), "");
        return;
    }
    for (len = 0; text[len]; len++) {
        if (((unsigned char)text[len] & 0xc0) != 0x80 && count++ == width - 1)
            break;
    }
    fprintf(file, "%.*s\xe2\x80\xa6", (int)len, text);
}

/* Add a line; `left` is taken. */
static int line_add(struct render *render, struct line line)
{
    struct line *grown;
    size_t room;

    if (!line.left)
        return -ENOMEM;
    if (render->count == render->room) {
        room = render->room ? 2 * render->room : 64;
        grown = reallocarray(render->lines, room, sizeof(*grown));
        if (!grown) {
            free(line.left);
            return -ENOMEM;
        }
        render->lines = grown;
        render->room = room;
    }
    render->lines[render->count++] = line;
    return 0;
}

/* `text` with more behind it, made anew; NULL without memory. */
__attribute__((format(printf, 2, 3))) static char *append(char *text,
                                                          const char *format,
                                                          ...)
{
    va_list args;
    char *more = NULL;
    char *both = NULL;

    va_start(args, format);
    if (vasprintf(&more, format, args) < 0)
        more = NULL;
    va_end(args);
    if (text && more && asprintf(&both, "%s%s", text, more) < 0)
        both = NULL;
    free(text);
    free(more);
    return both;
}

/* `text` with the name of `node` behind it. */
static char *append_node(char *text, const struct report *report, uint32_t node)
{
    const char *file = report_file(report, node);
    uint32_t line = report_line(report, node);

    text = append(text, "%s", report_function(report, node));
    if (!file[0])
        return text;
    return line ? append(text, " (%s:%u)", file, line)
                : append(text, " (%s)", file);
}

/* Whether all of `node` goes on in its one child. */
static bool leads_on(const struct render *render, uint32_t node)
{
    const struct tree_node *nodes = render->tree->nodes;

    return nodes[node].size > 1 && !report_has_end(render->report, node) &&
           !report_is_folded(render->report, node) &&
           nodes[node + 1].size + 1 == nodes[node].size;
}

/* ... which has no source. */
static bool leads_inside(const struct render *render, uint32_t node)
{
    return leads_on(render, node) &&
           report_file(render->report, node + 1)[0] == '\0';
}

/* How many nodes with a source follow `node` one by one, without a choice. */
static uint32_t chain_len(const struct render *render, uint32_t node)
{
    uint32_t len = 0;

    while (leads_on(render, node) && !leads_inside(render, node)) {
        node++;
        len++;
    }
    return len;
}

/* One child in the order of the picture. */
struct child {
    uint32_t node;
    const struct tasks *tasks;
};

static int by_count(const void *a, const void *b)
{
    const struct child *x = a;
    const struct child *y = b;
    int order;

    if (tasks_count(x->tasks) != tasks_count(y->tasks))
        return tasks_count(x->tasks) < tasks_count(y->tasks) ? -1 : 1;
    order = tasks_compare(x->tasks, y->tasks);
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

/* The nodes from `first` to before `behind` that are side by side and are to be
 * drawn, sorted, into a new array; how many others there are, into `others`.
 * Returns their count or -ENOMEM. */
static long children_sorted(struct child **out,
                            long *others,
                            const struct render *render,
                            uint32_t first,
                            uint32_t behind)
{
    const struct tree *tree = render->tree;
    struct child *children;
    long count = 0;
    uint32_t node;

    for (node = first; node < behind; node += tree->nodes[node].size)
        count++;
    children = calloc((size_t)count + 1, sizeof(*children));
    if (!children)
        return -ENOMEM;
    count = 0;
    *others = 0;
    for (node = first; node < behind; node += tree->nodes[node].size) {
        if (classes_is_not_walked(tree, node))
            continue;
        if (render->drawn[node])
            children[count++] =
                (struct child){node, render->report->under[node]};
        else
            ++*others;
    }
    qsort(children, (size_t)count, sizeof(*children), by_count);
    *out = children;
    return count;
}

/* The prefix of what is under a line with the prefix `prefix`; deeper than
 * a part of the width it does not grow any more. */
static char *prefix_under(const struct render *render,
                          const char *prefix,
                          const char *more)
{
    char *under = strdup(prefix);

    if (!under || columns(prefix) + 3 >
                      render->width / (render->width < WIDTH_NARROW ? 4 : 2))
        return under;
    return append(under, "%s", more);
}

/* The line of `*node`, which moves to the last frame on it. */
static int node_line(struct render *render,
                     uint32_t *node,
                     const char *prefix,
                     const char *branch,
                     bool in_outlier)
{
    const struct report *report = render->report;
    struct line line = {.tasks = report->under[*node]};
    uint32_t chain = chain_len(render, *node);

    line.left = append(strdup(prefix), "%s", branch);
    line.left = append_node(line.left, report, *node);
    if (!report->source.full && chain > RENDER_CHAIN) {
        *node += chain;
        line.left = append(line.left, LEADS_ON ELLIPSIS " %u frames" LEADS_ON,
                           chain - 1);
        line.left = append_node(line.left, report, *node);
    }
    while (leads_inside(render, *node)) {
        ++*node;
        line.left = append(line.left, LEADS_ON);
        line.left = append_node(line.left, report, *node);
    }
    if (report_is_folded(report, *node))
        line.left = append(line.left, LEADS_ON ELLIPSIS);
    line.outlier = !in_outlier && report_is_outlier(report, line.tasks);
    if (line.outlier)
        line.unchanged = report_unchanged(
            report, *node, *node + render->tree->nodes[*node].size, line.tasks);
    return line_add(render, line);
}

/* The line for those whose traces end at a node where others go on. */
static int here_line(struct render *render, uint32_t node, const char *prefix)
{
    const struct report *report = render->report;
    struct line line = {.tasks =
                            render->tree->ends[report->first_end[node]].tasks};

    line.left = append(strdup(prefix), "\xe2\x94\x9c\xe2\x94\x80 (here)");
    line.unchanged = report_unchanged(report, node, node + 1, line.tasks);
    line.outlier = report_is_outlier(report, line.tasks);
    return line_add(render, line);
}

/* The line for `count` branches that are not drawn. */
static int rest_line(struct render *render,
                     long count,
                     const char *prefix,
                     const char *branch)
{
    struct line line = {0};

    line.left = append(strdup(prefix), "%s" ELLIPSIS " %ld more branch%s",
                       branch, count, count == 1 ? "" : "es");
    return line_add(render, line);
}

/* What stands between a line and those that it hangs on. */
static const char *branch_of(bool top, bool last)
{
    if (top)
        return "";
    return last ? "\xe2\x94\x94\xe2\x94\x80 " : "\xe2\x94\x9c\xe2\x94\x80 ";
}

/* Draw what is between two nodes, side by side, and all under it. As deep as
 * a tree is, which TREE_DEPTH_MAX bounds. */
static int draw(struct render *render,
                uint32_t first,
                uint32_t behind,
                const char *prefix,
                bool top,
                bool in_outlier)
{
    const struct report *report = render->report;
    struct child *children = NULL;
    long others;
    long count;
    long skip;
    long i;
    int r = 0;

    count = children_sorted(&children, &others, render, first, behind);
    if (count < 0)
        return -ENOMEM;
    skip = count - RENDER_CLASSES_FIRST - RENDER_CLASSES_LAST;
    if (report->source.full || skip < 2)
        skip = 0;
    for (i = 0; r == 0 && i < count; i++) {
        bool last, odd;
        uint32_t node;
        uint32_t end;
        char *under;

        if (skip > 0 && i == RENDER_CLASSES_FIRST)
            i += skip;
        last = i + 1 == count && others + skip == 0;
        odd = in_outlier || report_is_outlier(report, children[i].tasks);
        node = children[i].node;
        end = node + render->tree->nodes[node].size;
        r = node_line(render, &node, prefix, branch_of(top, last), in_outlier);
        if (r < 0 || node + 1 == end || report_is_folded(report, node))
            continue;
        under = prefix_under(render, prefix,
                             top ? "" : (last ? "   " : "\xe2\x94\x82  "));
        r = under ? 0 : -ENOMEM;
        if (r == 0 && report_has_end(report, node))
            r = here_line(render, node, under);
        if (r == 0)
            r = draw(render, node + 1, end, under, false, odd);
        free(under);
    }
    if (r == 0 && others + skip > 0)
        r = rest_line(render, others + skip, prefix, branch_of(top, true));
    free(children);
    return r;
}

/* How many classes are left out, behind the first. */
static size_t classes_skipped(const struct report *report)
{
    size_t shown = RENDER_CLASSES_FIRST + RENDER_CLASSES_LAST;
    size_t count = report->classes->count;

    return report->source.full || count < shown + 2 ? 0 : count - shown;
}

/* Find which nodes are to be drawn. */
static int find_drawn(struct render *render)
{
    const struct report *report = render->report;
    const struct classes *classes = report->classes;
    const struct tree_node *nodes = render->tree->nodes;
    size_t skip = classes_skipped(report);
    uint32_t node;
    uint32_t k;
    size_t i;

    render->drawn = calloc((size_t)render->tree->node_count + 1, sizeof(bool));
    if (!render->drawn)
        return -ENOMEM;
    for (i = 0; i < classes->count; i++) {
        if (skip > 0 && i == RENDER_CLASSES_FIRST)
            i += skip;
        for (k = 0; k < classes->end_counts[i]; k++)
            render->drawn[classes->ends[i][k]] = true;
    }
    /* In pre-order what is below a node follows it. */
    for (node = render->tree->node_count; node-- > 0;) {
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

/* What a line says behind its ranks, as far as `room` columns go. */
static void line_note(char *note,
                      size_t size,
                      const struct line *line,
                      unsigned room)
{
    note[0] = '\0';
    if (!line->outlier)
        return;
    if (line->unchanged)
        snprintf(note, size, MARK " outlier, unchanged for %u samples",
                 line->unchanged);
    if (!line->unchanged || columns(note) > room)
        snprintf(note, size, MARK " outlier");
    if (columns(note) > room)
        snprintf(note, size, MARK);
}

static void write_line(struct render *render,
                       const struct line *line,
                       unsigned left_columns)
{
    unsigned rest = render->width - left_columns - COUNT_COLUMNS;
    char ranks[RANKS_SIZE];
    char note[64];
    size_t room;
    long class;

    if (!line->tasks) {
        write_cell(render->file, line->left,
                   columns(line->left) < render->width ? columns(line->left)
                                                       : render->width);
        fputc('\n', render->file);
        return;
    }
    class = report_class(render->report, line->tasks);
    room = columns(tasks_text(line->tasks, ranks, RANKS_COLUMNS_MIN - 2));
    line_note(note, sizeof(note), line, rest - (unsigned)room);
    room = rest - columns(note);
    if (room >= sizeof(ranks))
        room = sizeof(ranks) - 1;
    colour_begin(render, class);
    write_cell(render->file, line->left, left_columns);
    fprintf(render->file, "  %6u  %s%s", tasks_count(line->tasks),
            tasks_text(line->tasks, ranks, room + 1), note);
    colour_end(render, class);
    fputc('\n', render->file);
}

static const char *plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* The first line; NULL without memory. */
static char *headline(const struct report *report)
{
    const struct report_source *source = &report->source;
    uint32_t tasks = tasks_count(report->everyone);
    size_t classes = report->classes->count;

    return append(strdup(""),
                  "%u task%s on %u host%s, %zu class%s, %u sample%s, "
                  "stopped %.1f ms at most",
                  tasks, plural(tasks, "", "s"), source->hosts,
                  plural(source->hosts, "", "s"), classes,
                  plural(classes, "", "es"), source->samples,
                  plural(source->samples, "", "s"),
                  (double)report->tree->stop_ns / 1e6);
}

/* The columns for ranks and note that the lines would like. */
static unsigned columns_wanted(const struct render *render)
{
    unsigned most = RANKS_COLUMNS_MIN;
    char ranks[RANKS_COLUMNS_MIN];
    char note[64];
    size_t i;

    for (i = 0; i < render->count; i++) {
        const struct line *line = &render->lines[i];
        unsigned want;

        if (!line->tasks || !line->outlier)
            continue;
        line_note(note, sizeof(note), line, UINT_MAX);
        want = columns(note) +
               columns(tasks_text(line->tasks, ranks, sizeof(ranks)));
        most = want > most ? want : most;
    }
    return most;
}

/* The headline, and the lines below it in columns. */
static int write_lines(struct render *render)
{
    unsigned most = render->width - COUNT_COLUMNS - RANKS_COLUMNS_MIN;
    unsigned left = 0;
    unsigned wanted;
    char *head = headline(render->report);
    size_t i;

    if (!head)
        return -ENOMEM;
    for (i = 0; i < render->count; i++) {
        if (render->lines[i].tasks && columns(render->lines[i].left) > left)
            left = columns(render->lines[i].left);
    }
    /* The headline is not cut: it has a line of its own where it would take
     * the room of what is said about lines, and they have it without it. */
    wanted = COUNT_COLUMNS + columns_wanted(render);
    if (left < columns(head) && (columns(head) + wanted <= render->width ||
                                 left + wanted > render->width))
        left = columns(head);
    if (left > most)
        left = most;
    if (columns(head) > left)
        fprintf(render->file, "%s\n%*s   tasks  ranks\n", head, (int)left, "");
    else
        fprintf(render->file, "%s%*s   tasks  ranks\n", head,
                (int)(left - columns(head)), "");
    free(head);
    for (i = 0; i < render->count; i++)
        write_line(render, &render->lines[i], left);
    return 0;
}

/* Where the processes of a small class are. */
static void write_processes(struct render *render, const struct tasks *set)
{
    const struct report *report = render->report;
    const char *before = " (";
    uint32_t task;
    size_t i;

    if (tasks_count(set) > NAMED_MAX)
        return;
    for (i = 0; i < tasks_range_count(set); i++) {
        const struct tasks_range *range = &tasks_ranges(set)[i];

        for (task = range->first; task <= range->last; task++) {
            const char *host = report_host(report, task);

            if (!host)
                return;
            fprintf(render->file, "%s%s pid %d", before, host,
                    (int)report_pid(report, task));
            before = ", ";
        }
    }
    fputc(')', render->file);
}

/* The line of class number `i`; a small one with its processes. */
static void write_class(struct render *render, size_t i)
{
    const struct report *report = render->report;
    const struct tasks *set = report->classes->sets[i];
    uint32_t unchanged = report_class_unchanged(report, i);
    unsigned room = render->width / 2;
    char ranks[RANKS_SIZE];

    if (room > sizeof(ranks))
        room = sizeof(ranks);
    colour_begin(render, (long)i);
    fprintf(render->file, "class %zu: %u task%s: %s", i + 1, tasks_count(set),
            plural(tasks_count(set), "", "s"), tasks_text(set, ranks, room));
    write_processes(render, set);
    if (report_is_outlier(report, set))
        fputs(", outlier", render->file);
    if (unchanged)
        fprintf(render->file, ", unchanged for %u samples", unchanged);
    colour_end(render, (long)i);
    fputc('\n', render->file);
}

static void write_classes(struct render *render)
{
    size_t skip = classes_skipped(render->report);
    size_t i;

    for (i = 0; i < render->report->classes->count; i++) {
        if (skip > 0 && i == RENDER_CLASSES_FIRST) {
            fprintf(render->file,
                    ELLIPSIS
                    " %zu more classes: --full shows them, --html too\n",
                    skip);
            i += skip;
        }
        write_class(render, i);
    }
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
                                         : options->width};
    size_t i;
    int r;

    r = find_drawn(&render);
    if (r == 0)
        r = draw(&render, 0, report->tree->node_count, "", true, false);
    if (r == 0)
        r = write_lines(&render);
    if (r == 0) {
        write_classes(&render);
        r = fflush(file) != 0 || ferror(file) ? -EIO : 0;
    }
    for (i = 0; i < render.count; i++)
        free(render.lines[i].left);
    free(render.lines);
    free(render.drawn);
    return r;
}
