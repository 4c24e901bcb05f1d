/* picture.c - see picture.h. */
#include "stat/show/picture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat/list.h"
#include "stat/show/columns.h"
#include "stat/show/short.h"
#include "stat/show/threads.h"
#include "stat/walk/runtime.h"

/* If there are fewer columns, a larger part is kept for names. */
#define WIDTH_NARROW 80

/* Replaces omitted frames, branches and the inside of a runtime. */
#define ELLIPSIS "\xe2\x80\xa6"
#define LEADS_ON COLUMNS_LEADS_ON

/* The state of drawing a picture. */
struct drawing {
    struct picture *picture;
    const struct report *report;
    const struct tree *tree;
    const bool *drawn;
    unsigned width; /* columns */
};

/* Add a line; its text is taken, and its tasks get a reference. */
static int line_add(struct drawing *drawing, struct picture_line line)
{
    struct picture *picture = drawing->picture;

    if (!line.text ||
        list_grow(&picture->lines, picture->count, sizeof(line)) < 0) {
        free(line.text);
        return -ENOMEM;
    }
    columns_clean(line.text);
    tasks_ref(line.tasks);
    picture->lines[picture->count++] = line;
    return 0;
}

static int by_count(const void *a, const void *b)
{
    const struct picture_child *x = a;
    const struct picture_child *y = b;
    int order;

    if (x->own != y->own)
        return x->own ? 1 : -1;
    if (tasks_count(x->tasks) != tasks_count(y->tasks))
        return tasks_count(x->tasks) < tasks_count(y->tasks) ? -1 : 1;
    order = tasks_compare(x->tasks, y->tasks);
    if (order == 0 && x->odd != y->odd)
        return x->odd ? -1 : 1;
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

long picture_children(struct picture_child **out,
                      long *others,
                      const struct report *report,
                      const bool *drawn,
                      uint32_t first,
                      uint32_t behind)
{
    const struct tree *tree = report->tree;
    struct picture_child *children;
    long count = 0;

    for (uint32_t node = first; node < behind; node += tree->nodes[node].size)
        count++;
    children = calloc((size_t)count + 1, sizeof(*children));
    if (!children)
        return -ENOMEM;
    count = 0;
    *others = 0;
    for (uint32_t node = first; node < behind; node += tree->nodes[node].size) {
        if (tree_is_not_walked(tree, node))
            continue;
        if (!drawn || drawn[node])
            children[count++] = (struct picture_child){
                node, report->under[node], threads_odd_below(report, node),
                tree->nodes[node].depth == 0 && runtime_is_own(tree, node)};
        else
            ++*others;
    }
    qsort(children, (size_t)count, sizeof(*children), by_count);
    *out = children;
    return count;
}

char *picture_append_function(char *text, const char *function)
{
    char *name = short_name(function);

    if (!name) {
        free(text);
        return NULL;
    }
    text = columns_append(text, "%s", name);
    free(name);
    return text;
}

char *picture_append(char *text, const struct report *report, uint32_t node)
{
    const char *file = report_file(report, node);
    uint32_t line = report_line(report, node);

    text = picture_append_function(text, report_function(report, node));
    if (!file[0]) {
        file = report_caller(&line, report, node);
        return file[0] ? columns_append(text, " (from %s:%u)", file, line)
                       : text;
    }
    return line ? columns_append(text, " (%s:%u)", file, line)
                : columns_append(text, " (%s)", file);
}

/* Whether all traces at `node` continue in its only child. */
static bool leads_on(const struct drawing *drawing, uint32_t node)
{
    const struct tree_node *nodes = drawing->tree->nodes;

    return nodes[node].size > 1 && !report_has_end(drawing->report, node) &&
           !report_is_folded(drawing->report, node) &&
           nodes[node + 1].size + 1 == nodes[node].size;
}

/* ... and that has no source. */
static bool leads_inside(const struct drawing *drawing, uint32_t node)
{
    return leads_on(drawing, node) &&
           report_file(drawing->report, node + 1)[0] == '\0';
}

/* How many nodes with a source follow `node` without branches. */
static uint32_t chain_len(const struct drawing *drawing, uint32_t node)
{
    uint32_t len = 0;

    while (leads_on(drawing, node) && !leads_inside(drawing, node)) {
        node++;
        len++;
    }
    return len;
}

/* The prefix of what is under a line with the prefix `prefix`; deeper than
 * a part of the width it does not grow any more. */
static char *prefix_under(const struct drawing *drawing,
                          const char *prefix,
                          const char *more)
{
    char *under = strdup(prefix);

    if (!under || columns_of(prefix) + 3 >
                      drawing->width / (drawing->width < WIDTH_NARROW ? 4 : 2))
        return under;
    return columns_append(under, "%s", more);
}

/* How many of the `chain` nodes after `node` are hidden: those before the next
 * function of the program's own, or, if these are many, before the last one. */
static uint32_t hidden_len(const struct drawing *drawing,
                           uint32_t node,
                           uint32_t chain)
{
    uint32_t first = node + chain, last = first, owns = 0, i;

    if (drawing->report->source.full || chain <= PICTURE_CHAIN)
        return 0;
    for (i = node + chain; i > node; i--) {
        if (runtime_is_library(drawing->tree, i))
            continue;
        if (owns++ == 0)
            last = i;
        first = i;
    }
    return (owns > PICTURE_CHAIN ? last : first) - node - 1;
}

/* Add the line of `*node`, which becomes the last frame on it. */
static int node_line(struct drawing *drawing,
                     uint32_t *node,
                     const char *prefix,
                     const char *branch,
                     bool in_outlier)
{
    const struct report *report = drawing->report;
    struct picture_line line = {.node = *node, .tasks = report->under[*node]};
    uint32_t hidden = hidden_len(drawing, *node, chain_len(drawing, *node));

    line.text = columns_append(strdup(prefix), "%s", branch);
    line.text = picture_append(line.text, report, *node);
    *node += hidden;
    if (hidden > 0)
        line.text = columns_append(line.text, LEADS_ON ELLIPSIS " %u frame%s",
                                   hidden, hidden == 1 ? "" : "s");
    while (hidden == 0 && leads_inside(drawing, *node)) {
        ++*node;
        line.text = columns_append(line.text, LEADS_ON);
        line.text = picture_append(line.text, report, *node);
    }
    if (report_is_folded(report, *node))
        line.text = columns_append(line.text, LEADS_ON ELLIPSIS);
    line.text = threads_append(line.text, report, *node);
    line.outlier = !in_outlier && report_is_outlying(report, line.node);
    if (line.outlier)
        line.unchanged = report_unchanged(report, line.tasks);
    return line_add(drawing, line);
}

/* Add the line for tasks whose traces end at a node where others continue. */
static int here_line(struct drawing *drawing, uint32_t node, const char *prefix)
{
    const struct report *report = drawing->report;
    const struct tree *tree = drawing->tree;
    struct picture_line line = {.node = node, .here = true};
    struct tasks *here = NULL;
    int r;

    r = tasks_new(&here, NULL, 0);
    for (uint32_t end = report->first_end[node];
         r == 0 && end < tree->end_count && tree->ends[end].node == node; end++)
        r = tasks_change(&here, TASKS_UNION, tree->ends[end].tasks);
    if (r == 0) {
        line.tasks = here;
        line.text =
            columns_append(strdup(prefix), "\xe2\x94\x9c\xe2\x94\x80 (here)");
        line.unchanged = report_unchanged(report, here);
        line.outlier = report_is_outlier(report, here);
        r = line_add(drawing, line);
    }
    tasks_free(here);
    return r;
}

/* Add the line for `count` branches that are not drawn. */
static int rest_line(struct drawing *drawing,
                     long count,
                     const char *prefix,
                     const char *branch)
{
    struct picture_line line = {0};

    line.text =
        columns_append(strdup(prefix), "%s" ELLIPSIS " %ld more branch%s",
                       branch, count, count == 1 ? "" : "es");
    return line_add(drawing, line);
}

/* The characters that connect a line to the others. */
static const char *branch_of(bool top, bool last)
{
    if (top)
        return "";
    return last ? "\xe2\x94\x94\xe2\x94\x80 " : "\xe2\x94\x9c\xe2\x94\x80 ";
}

/* Draw the siblings between two nodes, with everything below. The recursion is
 * limited by TREE_DEPTH_MAX. */
static int draw_children(struct drawing *drawing,
                         uint32_t first,
                         uint32_t behind,
                         const char *prefix,
                         bool top,
                         bool in_outlier)
{
    const struct report *report = drawing->report;
    struct picture_child *children = NULL;
    long others;
    long count;
    long skip;
    long i;
    int r = 0;

    count = picture_children(&children, &others, report, drawing->drawn, first,
                             behind);
    if (count < 0)
        return -ENOMEM;
    skip = count - PICTURE_FIRST - PICTURE_LAST;
    if (report->source.full || skip < 2)
        skip = 0;
    for (i = 0; r == 0 && i < count; i++) {
        bool last, odd;
        uint32_t node;
        uint32_t end;
        char *under;

        if (skip > 0 && i == PICTURE_FIRST)
            i += skip;
        last = i + 1 == count && others + skip == 0;
        odd = in_outlier || report_is_outlying(report, children[i].node);
        node = children[i].node;
        end = node + drawing->tree->nodes[node].size;
        r = node_line(drawing, &node, prefix, branch_of(top, last), in_outlier);
        if (r < 0 || node + 1 == end || report_is_folded(report, node))
            continue;
        under = prefix_under(drawing, prefix,
                             top ? "" : (last ? "   " : "\xe2\x94\x82  "));
        r = under ? 0 : -ENOMEM;
        if (r == 0 && report_has_end(report, node))
            r = here_line(drawing, node, under);
        if (r == 0)
            r = draw_children(drawing, node + 1, end, under, false, odd);
        free(under);
    }
    if (r == 0 && others + skip > 0)
        r = rest_line(drawing, others + skip, prefix, branch_of(top, true));
    free(children);
    return r;
}

int picture_new(struct picture **out,
                const struct report *report,
                const bool *drawn,
                unsigned width)
{
    struct picture *picture = calloc(1, sizeof(*picture));
    struct drawing drawing = {.picture = picture,
                              .report = report,
                              .tree = report->tree,
                              .drawn = drawn,
                              .width = width};
    int r;

    if (!picture)
        return -ENOMEM;
    r = draw_children(&drawing, 0, report->tree->node_count, "", true, false);
    if (r < 0) {
        picture_free(picture);
        return r;
    }
    *out = picture;
    return 0;
}

void picture_free(struct picture *picture)
{
    if (!picture)
        return;
    for (size_t i = 0; i < picture->count; i++) {
        free(picture->lines[i].text);
        tasks_free(picture->lines[i].tasks);
    }
    free(picture->lines);
    free(picture);
}
