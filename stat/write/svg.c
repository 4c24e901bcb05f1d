/* svg.c - a merged tree as an icicle: the outermost frames on top, one colour
 * for each class. Widths grow with the logarithm of the number of tasks, so
 * that one task of a million is still visible. */
#include "stat/write/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stat/show/arrows.h"
#include "stat/show/columns.h"
#include "stat/show/movers.h"
#include "stat/show/origin.h"
#include "stat/show/palette.h"
#include "stat/show/picture.h"
#include "stat/show/short.h"
#include "stat/show/threads.h"
#include "stat/write/escape.h"

/* Pixels. A cell has two lines of text; a cell narrower than CELL_MIN is left
 * out. */
#define WIDTH        1000.0
#define MARGIN       12.0
#define HEAD         52.0
#define CELL         40.0
#define CELL_MIN     0.05
#define LABEL_MIN    24.0
#define LOOP         12.0 /* half the width of an arrow from a cell to itself */
#define LETTER       6.7  /* at 11 pixels */
#define TEXT_COLUMNS ((unsigned)((WIDTH - 2 * MARGIN) / LETTER))
#define LEGEND_ROW   20.0

/* Classes in the legend. */
#define LEGEND_MAX 20

/* Longest list of ranks, in bytes. */
#define RANKS_SIZE 96

struct svg {
    FILE *file;
    const struct report *report;
    double *weights; /* by node: the relative width of its subtree */
    uint32_t deepest;
    double *middles; /* by node: the middle of its cell; -1: not drawn */
};

/* Whether nothing below `node` is drawn. */
static bool is_closed(const struct report *report, uint32_t node)
{
    return report->tree->nodes[node].size == 1 ||
           report_is_folded(report, node);
}

/* 1 plus the binary logarithm of `count`, which is above 0. */
static double weight_of(uint32_t count)
{
    double weight = 1;

    for (; count > 1; count /= 2)
        weight += count >= 4 ? 1 : count / 2.0 - 0.5;
    return weight;
}

/* Compute the widths of all subtrees, and the depth of the picture. */
static void weigh_nodes(struct svg *svg)
{
    const struct report *report = svg->report;
    const struct tree *tree = report->tree;
    uint32_t above[TREE_DEPTH_MAX];

    for (uint32_t node = 0; node < tree->node_count; node++) {
        uint32_t depth = tree->nodes[node].depth;
        double weight;

        above[depth] = node;
        if (report->shown[node] != node || tree_is_not_walked(tree, above[0]))
            continue;
        if (depth > svg->deepest)
            svg->deepest = depth;
        if (!is_closed(report, node) && !report_has_end(report, node))
            continue;
        weight = weight_of(tasks_count(report->under[node]));
        for (uint32_t i = 0; i <= depth; i++)
            svg->weights[above[i]] += weight;
    }
}

/* Write a line of text in a cell, cut to its width. */
static void write_label(
    struct svg *svg, double x, double y, double width, const char *text)
{
    unsigned letters = (unsigned)((width - 8) / LETTER);

    if (letters < 2)
        return;
    fprintf(svg->file, "<text x=\"%.1f\" y=\"%.1f\">", x + 5, y);
    escape_xml(svg->file, text, letters);
    fputs("</text>", svg->file);
}

/* The text of a cell: the tasks and threads at `node`. NULL without memory. */
static char *cell_counts(const struct report *report, uint32_t node)
{
    const struct tasks *set = report->under[node];
    char ranks[RANKS_SIZE];
    char *text = columns_append(strdup(""), "%u", tasks_count(set));

    if (report->source.threads)
        text = columns_append(text, " with %" PRIu64 " threads",
                              report->threads[node]);
    text = columns_append(text, ": %s", tasks_text(set, ranks, sizeof(ranks)));
    text = threads_append(text, report, node);
    return columns_append(text, "%s",
                          report_is_outlying(report, node) ? " (outlier)" : "");
}

static int write_cell(struct svg *svg, uint32_t node, double x, double width)
{
    const struct report *report = svg->report;
    const struct tasks *set = report->under[node];
    long class = report_class(report, set);
    double y = HEAD + CELL * report->tree->nodes[node].depth;
    const char *source = report_file(report, node);
    uint32_t line = report_line(report, node);
    char *second = cell_counts(report, node);
    char *name = short_name(report_function(report, node));

    if (!second || !name) {
        free(second);
        free(name);
        return -ENOMEM;
    }
    fprintf(svg->file, "<g fill=\"%s\"><title>", palette_text(class));
    escape_xml(svg->file, report_function(report, node), 0);
    if (source[0]) {
        fputs(" (", svg->file);
        escape_xml(svg->file, source, 0);
        if (line)
            fprintf(svg->file, ":%u", line);
        fputc(')', svg->file);
    }
    source = report_caller(&line, report, node);
    if (source[0]) {
        fputs(" (from ", svg->file);
        escape_xml(svg->file, source, 0);
        fprintf(svg->file, ":%u)", line);
    }
    if (report_is_folded(report, node))
        fputs(" \xe2\x96\xb8 \xe2\x80\xa6", svg->file);
    fprintf(svg->file,
            ", %ss %s</title><rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" "
            "height=\"%.1f\" rx=\"2\" fill=\"%s\"/>",
            report_noun(report), second, x, y, width > 2 ? width - 1 : width,
            CELL - 1, palette_fill(class));
    if (width >= LABEL_MIN) {
        write_label(svg, x, y + 16, width, name);
        write_label(svg, x, y + 31, width, second);
    }
    fputs("</g>\n", svg->file);
    free(second);
    free(name);
    return 0;
}

/* Draw what is from `first` to before `behind`, side by side from `x` on, in
 * `scale` pixels for a weight of 1, and all under it. As deep as a tree is. */
static int draw_cells(
    struct svg *svg, uint32_t first, uint32_t behind, double x, double scale)
{
    const struct report *report = svg->report;
    const struct tree_node *nodes = report->tree->nodes;
    struct picture_child *children;
    long others, count, i;
    int r = 0;

    count = picture_children(&children, &others, report, NULL, first, behind);
    if (count < 0)
        return (int)count;
    for (i = 0; r == 0 && i < count; i++) {
        uint32_t node = children[i].node;
        double width = svg->weights[node] * scale;

        if (width < CELL_MIN)
            continue;
        svg->middles[node] = x + width / 2;
        r = write_cell(svg, node, x, width);
        if (r == 0 && !is_closed(report, node))
            r = draw_cells(svg, node + 1, node + nodes[node].size, x, scale);
        x += width;
    }
    free(children);
    return r;
}

/* Write the texts of the legend, right of its colours. Returns 0 or -ENOMEM. */
static int write_legend(struct svg *svg, double y)
{
    const struct report *report = svg->report;
    const struct classes *classes = report->classes;
    char ranks[RANKS_SIZE];

    for (size_t i = 0; i < classes->count && i < LEGEND_MAX; i++) {
        const struct tasks *set = classes->sets[i];
        char *note;
        int r = movers_note(&note, report, i);

        if (r < 0)
            return r;
        fprintf(svg->file,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" "
                "rx=\"2\" fill=\"%s\"/><text class=\"t\" x=\"%.1f\" "
                "y=\"%.1f\">class %zu: %u %s%s: %s%s",
                MARGIN, y, palette_fill((long)i), MARGIN + 18, y + 10, i + 1,
                tasks_count(set), report_noun(report),
                tasks_count(set) == 1 ? "" : "s",
                tasks_text(set, ranks, sizeof(ranks)),
                report_is_outlier(report, set) ? ", outlier" : "");
        if (note[0]) {
            fputs(", ", svg->file);
            escape_xml(svg->file, note, 0);
        }
        free(note);
        fputs("</text>\n", svg->file);
        y += LEGEND_ROW;
    }
    if (classes->count > LEGEND_MAX)
        fprintf(svg->file,
                "<text class=\"t\" x=\"%.1f\" y=\"%.1f\">\xe2\x80\xa6 and %zu "
                "more classes</text>\n",
                MARGIN, y + 10, classes->count - LEGEND_MAX);
    return 0;
}

/* Write a sentence after line `line` of those from `y` on. Returns its number
 * of lines, or -ENOMEM. */
static int write_sentence(
    struct svg *svg, const char *text, double y, int line, bool drawn)
{
    int lines = 0;

    while (*text) {
        size_t len = columns_line_len(text, TEXT_COLUMNS);
        char *part = strndup(text, len);

        if (!part)
            return -ENOMEM;
        lines++;
        if (drawn) {
            fprintf(svg->file, "<text class=\"t\" x=\"%.1f\" y=\"%.1f\">",
                    MARGIN, y + LEGEND_ROW * (line + lines) - 6);
            escape_xml(svg->file, part, 0);
            fputs("</text>\n", svg->file);
        }
        free(part);
        text += len;
        text += strspn(text, " ");
    }
    return lines;
}

/* Write the sentences below the legend, from `y` on. Returns their number of
 * lines, or -ENOMEM. */
static int write_sentences(struct svg *svg, double y, bool drawn)
{
    const struct report *report = svg->report;
    const char *sentences[] = {report->judgement, report->asides[0],
                               report->asides[1], report->missing};
    int lines = 0, r = 0;

    for (size_t i = 0; r >= 0 && i < sizeof(sentences) / sizeof(sentences[0]);
         i++) {
        r = write_sentence(svg, sentences[i], y, lines, drawn);
        lines += r;
    }
    return r < 0 ? r : lines;
}

static int write_picture(struct svg *svg)
{
    const struct report *report = svg->report;
    const struct tree *tree = report->tree;
    size_t legend = report->classes->count > LEGEND_MAX
                        ? LEGEND_MAX + 1
                        : report->classes->count;
    double below = HEAD + CELL * (svg->deepest + 1) + 10;
    double behind = below + LEGEND_ROW * (double)legend;
    int lines = write_sentences(svg, behind, false);
    double height = behind + LEGEND_ROW * lines + 4;
    char *origin = lines < 0 ? NULL : origin_text(report);
    double sum = 0;
    int r;

    if (!origin)
        return -ENOMEM;
    for (uint32_t node = 0; node < tree->node_count;
         node += tree->nodes[node].size)
        sum += svg->weights[node];
    fprintf(
        svg->file,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f "
        "%.0f\" width=\"%.0f\" height=\"%.0f\">\n"
        "<style>text{font:11px ui-monospace,Menlo,Consolas,monospace}"
        ".t{fill:#222}.q{fill:#5b6270}.b{fill:#fff}@media "
        "(prefers-color-scheme:dark){.t{fill:#ddd}.q{fill:#a0a7b4}"
        ".b{fill:#181a1f}}.a{fill:none;stroke:#b3261e;stroke-width:2}</style>\n"
        "<rect class=\"b\" width=\"100%%\" height=\"100%%\"/>\n"
        "<text class=\"t\" x=\"%.1f\" y=\"21\">%s</text>\n",
        WIDTH, height, WIDTH, height, MARGIN, report->summary);
    fprintf(svg->file, "<text class=\"q\" x=\"%.1f\" y=\"39\">", MARGIN);
    escape_xml(svg->file, origin, TEXT_COLUMNS);
    fputs("</text>\n", svg->file);
    free(origin);
    r = write_sentences(svg, behind, true);
    if (r >= 0)
        r = write_legend(svg, below);
    if (r < 0 || sum <= 0)
        return r;
    return draw_cells(svg, 0, tree->node_count, MARGIN,
                      (WIDTH - 2 * MARGIN) / sum);
}

/* Draw a line from the upper edge of a cell to that of another, or back. */
static void write_arrow(const struct svg *svg, const struct arrow *arrow)
{
    const struct tree_node *nodes = svg->report->tree->nodes;
    double from = svg->middles[arrow->from], to = svg->middles[arrow->to];
    double y = HEAD + CELL * nodes[arrow->from].depth + 2;
    double end = HEAD + CELL * nodes[arrow->to].depth + 2;
    double top = (y < end ? y : end) - CELL / 2;

    if (from < 0 || to < 0)
        return;
    if (arrow->from == arrow->to) {
        from += LOOP;
        to -= LOOP;
    }
    fprintf(svg->file,
            "<path class=\"a\" marker-end=\"url(#a)\" d=\"M%.1f %.1fC%.1f "
            "%.1f %.1f %.1f %.1f %.1f\"><title>%s</title></path>\n",
            from, y, from, top, to, top, to, end, arrow->text);
}

/* Draw the waits as arrows. Returns 0 or -ENOMEM. */
static int write_arrows(const struct svg *svg)
{
    struct arrow *arrows = NULL;
    size_t count;
    int r = arrows_find(&arrows, &count, svg->report);

    if (r < 0)
        return r;
    if (count > 0)
        fputs("<marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
              "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">"
              "<path fill=\"#b3261e\" d=\"M0 0L8 4L0 8z\"/></marker>\n",
              svg->file);
    for (size_t i = 0; i < count; i++)
        write_arrow(svg, &arrows[i]);
    arrows_free(arrows, count);
    return 0;
}

int svg_write(FILE *file, const struct report *report)
{
    struct svg svg = {.file = file, .report = report};
    int r;

    svg.weights =
        calloc((size_t)report->tree->node_count + 1, sizeof(*svg.weights));
    svg.middles =
        calloc((size_t)report->tree->node_count + 1, sizeof(*svg.middles));
    r = svg.weights && svg.middles ? 0 : -ENOMEM;
    for (uint32_t node = 0; r == 0 && node < report->tree->node_count; node++)
        svg.middles[node] = -1;
    if (r == 0) {
        weigh_nodes(&svg);
        r = write_picture(&svg);
    }
    if (r == 0)
        r = write_arrows(&svg);
    fputs("</svg>\n", file);
    free(svg.weights);
    free(svg.middles);
    return r;
}
