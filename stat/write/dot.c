/* dot.c - a merged tree for Graphviz, and for the viewer of LLNL's STAT.
 *
 * Plain `dot -Tsvg` draws it, with a node for each frame, the number and set of
 * its tasks on each edge, and one colour for each class. Graphviz ignores the
 * attributes that STAT's viewer reads: function, source and line of nodes
 * ("(null)" where not known), bv or count and rep of edges. */
#include "stat/write/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stat/show/arrows.h"
#include "stat/show/origin.h"
#include "stat/show/palette.h"
#include "stat/show/threads.h"
#include "stat/walk/runtime.h"
#include "stat/write/escape.h"

/* Longest list of ranks on an edge, in bytes. */
#define RANKS_SIZE 64

/* Sets of at most this many ranges are written in full for STAT, which has no
 * strides; of larger ones, the size and one task. */
#define BV_RANGES_MAX 4096

static int write_node(FILE *file, const struct report *report, uint32_t node)
{
    uint32_t frame = report->tree->nodes[node].frame;
    const char *source = report_file(report, node);
    uint32_t line = report_line(report, node), call_line;
    const char *caller = report_caller(&call_line, report, node);
    long class = report_class(report, report->under[node]);
    int r;

    fprintf(file, "    %u [label=\"", node + 1);
    r = escape_short(file, report->tree, frame, escape_dot);
    if (source[0]) {
        fputs("\\n", file);
        escape_dot(file, source);
        if (line)
            fprintf(file, ":%u", line);
    }
    if (caller[0]) {
        fputs("\\nfrom ", file);
        escape_dot(file, caller);
        fprintf(file, ":%u", call_line);
    }
    fprintf(file, "\", fillcolor=\"%s\", fontcolor=\"%s\", tooltip=\"",
            palette_fill(class), palette_text(class));
    escape_function(file, report->tree, frame, escape_dot);
    fputs("\", function=\"", file);
    escape_function(file, report->tree, frame, escape_dot);
    fputs("\", source=\"", file);
    escape_dot(file, source[0] ? source : "(null)");
    fprintf(file, "\", line=\"%u\", module=\"(null)\", offset=\"(null)\"];\n",
            line);
    return r;
}

/* Write the set as STAT reads it from an edge. */
static void write_bv(FILE *file, const struct tasks *set)
{
    struct tasks_cursor at = tasks_begin(set);
    const char *before = "";
    size_t count = 0;

    while (count <= BV_RANGES_MAX && tasks_next(&at))
        count++;
    if (count > BV_RANGES_MAX) {
        fprintf(file, "bv=\"(null)\", count=\"%u\", rep=\"%u\"",
                tasks_count(set), tasks_first(set));
        return;
    }
    fputs("bv=\"[", file);
    for (at = tasks_begin(set); tasks_next(&at); before = ",") {
        fprintf(file, "%s%u", before, at.range.first);
        if (at.range.last > at.range.first)
            fprintf(file, "-%u", at.range.last);
    }
    fputs("]\"", file);
}

/* Write `node` and the edge that leads to it. */
static int write_place(FILE *file,
                       const struct report *report,
                       uint32_t above,
                       uint32_t node)
{
    const struct tasks *set = report->under[node];
    char *tids = threads_append(strdup(""), report, node);
    char ranks[RANKS_SIZE];
    int r = tids ? write_node(file, report, node) : -ENOMEM;

    if (r < 0) {
        free(tids);
        return r;
    }
    fprintf(file, "    %u -> %u [label=\"", above, node + 1);
    if (report->source.threads)
        fprintf(file, "%u %ss, %" PRIu64 " threads", tasks_count(set),
                report_noun(report), report->threads[node]);
    else
        fprintf(file, "%u", tasks_count(set));
    fprintf(file, ":[%s]%s%s\", ", tasks_text(set, ranks, sizeof(ranks)), tids,
            report_is_outlying(report, node) ? " (outlier)" : "");
    free(tids);
    write_bv(file, set);
    fputs("];\n", file);
    return r;
}

/* Write the trees of a runtime's own threads, or the others: those written
 * first are on the left of the picture. */
static int write_trees(FILE *file, const struct report *report, bool own)
{
    const struct tree *tree = report->tree;
    uint32_t above[TREE_DEPTH_MAX + 1] = {0}; /* numbers of nodes; 0: root */
    int r = 0;

    for (uint32_t top = 0; top < tree->node_count;
         top += tree->nodes[top].size) {
        if (runtime_is_own(tree, top) != own)
            continue;
        for (uint32_t node = top; r == 0 && node < top + tree->nodes[top].size;
             node++) {
            uint32_t depth = tree->nodes[node].depth;

            above[depth + 1] = node + 1;
            r = write_place(file, report, above[depth], node);
        }
    }
    return r;
}

/* Write arrows for waits, which do not change the layout of the tree. */
static int write_arrows(FILE *file, const struct report *report)
{
    struct arrow *arrows = NULL;
    size_t count;
    int r = arrows_find(&arrows, &count, report);

    for (size_t i = 0; r == 0 && i < count; i++) {
        fprintf(file,
                "    %u -> %u [style=dashed, constraint=false, "
                "color=\"#b3261e\", fontcolor=\"#b3261e\", label=\"%s\", ",
                arrows[i].from + 1, arrows[i].to + 1, arrows[i].text);
        write_bv(file, arrows[i].waiting);
        fputs("];\n", file);
    }
    if (r == 0)
        arrows_free(arrows, count);
    return r;
}

int dot_write(FILE *file, const struct report *report)
{
    char *origin = origin_text(report);
    int r;

    if (!origin)
        return -ENOMEM;
    fputs("digraph stacks {\n"
          "    node [shape=box, style=\"filled,rounded\", "
          "fontname=\"sans-serif\"];\n"
          "    edge [fontname=\"sans-serif\", fontsize=10];\n"
          "    0 [label=\"/\", fillcolor=\"white\", function=\"/\", "
          "source=\"(null)\", line=\"0\", module=\"(null)\", "
          "offset=\"(null)\"];\n"
          "    labelloc=t; fontname=\"sans-serif\"; label=\"",
          file);
    escape_dot(file, report->missing[0] ? report->missing : report->summary);
    fputs("\\n", file);
    escape_dot(file, report->judgement);
    for (int i = 0; i < 2; i++) {
        fputs(report->asides[i][0] ? "\\n" : "", file);
        escape_dot(file, report->asides[i]);
    }
    fputs("\\n", file);
    escape_dot(file, origin);
    fputs("\";\n", file);
    r = write_trees(file, report, false);
    if (r == 0)
        r = write_trees(file, report, true);
    if (r == 0)
        r = write_arrows(file, report);
    fputs("}\n", file);
    free(origin);
    return r;
}
