/* dot.c - see dot.h. */
#include "stat/dot.h"

#include <errno.h>
#include <stdlib.h>

/* Fill colours that colour-blind people can tell apart (Okabe and Ito). */
static const char *const colours[] = {
    "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7",
};
#define COLOUR_COUNT (sizeof(colours) / sizeof(colours[0]))

/* Longest list of ranks on an edge, in bytes. */
#define RANKS_SIZE 64

/* Write `text` inside quotes. */
static void write_quoted(FILE *file, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
    }
}

static const char *colour_of(const struct tasks *set,
                             const struct classes *classes)
{
    size_t i;

    for (i = 0; i < classes->count; i++) {
        if (tasks_equal(set, classes->sets[i]))
            return colours[i % COLOUR_COUNT];
    }
    return "white";
}

static void write_node(FILE *file,
                       const struct tree *tree,
                       uint32_t node,
                       const struct tasks *set,
                       const struct classes *classes)
{
    const struct tree_frame *frame = &tree->frames[tree->nodes[node].frame];

    fprintf(file, "    n%u [label=\"", node);
    write_quoted(file, tree->strings[frame->function]);
    if (tree->strings[frame->file][0]) {
        fputs("\\n", file);
        write_quoted(file, tree->strings[frame->file]);
        if (frame->line)
            fprintf(file, ":%u", frame->line);
    }
    fprintf(file, "\", fillcolor=\"%s\"];\n", colour_of(set, classes));
}

static void write_edge(FILE *file,
                       const char *from,
                       uint32_t node,
                       const struct tasks *set)
{
    char ranks[RANKS_SIZE];

    fprintf(file, "    %s -> n%u [label=\"%u:[%s]\"];\n", from, node,
            tasks_count(set), tasks_text(set, ranks, sizeof(ranks)));
}

int dot_write(FILE *file,
              const struct tree *tree,
              const struct classes *classes)
{
    uint32_t above[TREE_DEPTH_MAX];
    struct tasks **sets;
    char from[16];
    uint32_t i;
    int r;

    sets = calloc(tree->node_count + 1, sizeof(struct tasks *));
    if (!sets)
        return -ENOMEM;
    r = tree_under(tree, sets);
    if (r < 0) {
        free(sets);
        return r;
    }
    fputs("digraph stacks {\n"
          "    node [shape=box, style=\"filled,rounded\", "
          "fontname=\"sans-serif\"];\n"
          "    edge [fontname=\"sans-serif\", fontsize=10];\n"
          "    root [label=\"all tasks\", fillcolor=white];\n",
          file);
    for (i = 0; i < tree->node_count; i++) {
        uint32_t depth = tree->nodes[i].depth;

        above[depth] = i;
        if (depth == 0)
            snprintf(from, sizeof(from), "root");
        else
            snprintf(from, sizeof(from), "n%u", above[depth - 1]);
        write_node(file, tree, i, sets[i], classes);
        write_edge(file, from, i, sets[i]);
    }
    for (i = 0; i < tree->node_count; i++)
        tasks_free(sets[i]);
    fputs("}\n", file);
    free(sets);
    return fflush(file) != 0 || ferror(file) ? -EIO : 0;
}
