/* render.c - see render.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf() */
#endif
#include "stat/render.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* 256-colour terminal codes that colour-blind people can tell apart: those of
 * Okabe and Ito, without black and yellow. */
static const unsigned char colours[] = {208, 39, 36, 170, 25, 166};
#define COLOUR_COUNT (sizeof(colours) / sizeof(colours[0]))

/* Columns of what is right of the tree: two spaces, the count, two spaces. */
#define COUNT_COLUMNS 10

/* The fewest columns for ranks, and the most bytes of them. */
#define RANKS_COLUMNS_MIN 12
#define RANKS_SIZE        256

/* At most one task in so many makes an outlier, among OUTLIER_TASKS or more. */
#define OUTLIER_SHARE 10
#define OUTLIER_TASKS 4

/* One line of the picture, before it is laid out. */
struct line {
    char *left;
    struct tasks *tasks; /* borrowed */
    uint32_t unchanged;  /* in how many samples; 0: do not say */
    bool outlier;
};

struct render {
    FILE *file;
    const struct tree *tree;
    const struct classes *classes;
    const struct render_options *options;
    struct tasks **sets; /* by node */
    uint32_t *first_end; /* by node; end_count where it has none */
    struct line *lines;
    size_t count;
    size_t room;
    uint32_t all;   /* tasks in the tree */
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
static char *append_node(char *text, const struct tree *tree, uint32_t node)
{
    const struct tree_frame *frame = &tree->frames[tree->nodes[node].frame];
    const char *file = tree->strings[frame->file];

    text = append(text, "%s", tree->strings[frame->function]);
    if (!file[0])
        return text;
    return frame->line ? append(text, " (%s:%u)", file, frame->line)
                       : append(text, " (%s)", file);
}

static bool has_end(const struct render *render, uint32_t node)
{
    return render->first_end[node] < render->tree->end_count;
}

/* Whether `node` only leads on to one frame without a source. */
static bool leads_on(const struct render *render, uint32_t node)
{
    const struct tree *tree = render->tree;
    const struct tree_node *child = &tree->nodes[node + 1];

    return tree->nodes[node].size > 1 && !has_end(render, node) &&
           child->size + 1 == tree->nodes[node].size &&
           tree->strings[tree->frames[child->frame].file][0] == '\0';
}

static bool is_outlier(const struct render *render, const struct tasks *tasks)
{
    uint32_t most = render->all / OUTLIER_SHARE;

    return render->all >= OUTLIER_TASKS &&
           tasks_count(tasks) <= (most ? most : 1);
}

/* For how many samples the tasks `set`, whose traces end from node `first` to
 * before `behind`, have not moved: all samples, if each trace was there in
 * all; 0 if they have just come. */
static uint32_t unchanged(const struct render *render,
                          uint32_t first,
                          uint32_t behind,
                          struct tasks *set)
{
    const struct tree *tree = render->tree;
    uint32_t samples = render->options->samples;
    bool always = true;
    uint32_t node;
    uint32_t end;
    int64_t still;

    if (samples < 2)
        return 0;
    for (node = first; node < behind; node++) {
        for (end = render->first_end[node];
             end < tree->end_count && tree->ends[end].node == node; end++)
            always &= tree->ends[end].samples == samples;
    }
    still = always ? samples : tree_unmoved(tree, set);
    return still > 1 ? (uint32_t)still : 0;
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

/* The nodes from `first` to before `behind` that are side by side, sorted,
 * into a new array. Returns their count or -ENOMEM. */
static long children_sorted(struct child **out,
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
    for (node = first; node < behind; node += tree->nodes[node].size) {
        if (!classes_is_not_walked(tree, node))
            children[count++] = (struct child){node, render->sets[node]};
    }
    qsort(children, (size_t)count, sizeof(*children), by_count);
    *out = children;
    return count;
}

/* The prefix of what is under a line with the prefix `prefix`; deeper than
 * half the width it does not grow any more. */
static char *prefix_under(const struct render *render,
                          const char *prefix,
                          const char *more)
{
    char *under = strdup(prefix);

    if (!under || columns(prefix) + 3 > render->width / 2)
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
    struct line line = {.tasks = render->sets[*node]};

    line.left = append(strdup(prefix), "%s", branch);
    line.left = append_node(line.left, render->tree, *node);
    while (leads_on(render, *node)) {
        ++*node;
        line.left = append(line.left, " \xe2\x96\xb8 ");
        line.left = append_node(line.left, render->tree, *node);
    }
    line.outlier = !in_outlier && is_outlier(render, line.tasks);
    if (line.outlier)
        line.unchanged = unchanged(
            render, *node, *node + render->tree->nodes[*node].size, line.tasks);
    return line_add(render, line);
}

/* The line for those whose traces end at a node where others go on. */
static int here_line(struct render *render, uint32_t node, const char *prefix)
{
    struct line line = {.tasks =
                            render->tree->ends[render->first_end[node]].tasks};

    line.left = append(strdup(prefix), "\xe2\x94\x9c\xe2\x94\x80 (here)");
    line.unchanged = unchanged(render, node, node + 1, line.tasks);
    line.outlier = is_outlier(render, line.tasks);
    return line_add(render, line);
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
    struct child *children = NULL;
    char *under = NULL;
    long count;
    long i;
    int r = 0;

    count = children_sorted(&children, render, first, behind);
    if (count < 0)
        return -ENOMEM;
    for (i = 0; r == 0 && i < count; i++) {
        uint32_t node = children[i].node;
        bool last = i + 1 == count;
        bool odd = in_outlier || is_outlier(render, children[i].tasks);
        uint32_t end = node + render->tree->nodes[node].size;
        const char *branch =
            last ? "\xe2\x94\x94\xe2\x94\x80 " : "\xe2\x94\x9c\xe2\x94\x80 ";

        r = node_line(render, &node, prefix, top ? "" : branch, in_outlier);
        if (r < 0 || node + 1 == end)
            continue;
        under = prefix_under(render, prefix,
                             top ? "" : (last ? "   " : "\xe2\x94\x82  "));
        r = under ? 0 : -ENOMEM;
        if (r == 0 && has_end(render, node))
            r = here_line(render, node, under);
        if (r == 0)
            r = draw(render, node + 1, end, under, false, odd);
        free(under);
    }
    free(children);
    return r;
}

/* The number of the class that is exactly `tasks`, or -1. */
static long class_of(const struct render *render, const struct tasks *tasks)
{
    size_t i;

    for (i = 0; i < render->classes->count; i++) {
        if (tasks_equal(render->classes->sets[i], tasks))
            return (long)i;
    }
    return -1;
}

/* Begin the colour of class `class`; none for -1. */
static void colour_begin(const struct render *render, long class)
{
    if (render->options->colour && class >= 0)
        fprintf(render->file, "\033[38;5;%um",
                colours[(size_t) class % COLOUR_COUNT]);
}

static void colour_end(const struct render *render, long class)
{
    if (render->options->colour && class >= 0)
        fputs("\033[0m", render->file);
}

static void write_line(struct render *render,
                       const struct line *line,
                       unsigned left_columns)
{
    unsigned rest = render->width - left_columns - COUNT_COLUMNS;
    long class = class_of(render, line->tasks);
    char ranks[RANKS_SIZE];
    char note[64] = "";
    size_t room;

    if (line->outlier && line->unchanged)
        snprintf(note, sizeof(note),
                 "  \xe2\x97\x80 outlier, unchanged for %u samples",
                 line->unchanged);
    else if (line->outlier)
        snprintf(note, sizeof(note), "  \xe2\x97\x80 outlier");
    room = columns(note) + RANKS_COLUMNS_MIN <= rest ? rest - columns(note)
                                                     : RANKS_COLUMNS_MIN;
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

/* The headline, and the lines below it in columns. */
static void write_lines(struct render *render)
{
    const struct render_options *options = render->options;
    unsigned most = render->width - COUNT_COLUMNS - RANKS_COLUMNS_MIN;
    unsigned left = 0;
    char *head = NULL;
    size_t i;

    if (asprintf(&head,
                 "%u task%s on %u host%s, %zu class%s, %u sample%s, "
                 "stopped %.1f ms at most",
                 render->all, plural(render->all, "", "s"), options->hosts,
                 plural(options->hosts, "", "s"), render->classes->count,
                 plural(render->classes->count, "", "es"), options->samples,
                 plural(options->samples, "", "s"),
                 (double)render->tree->stop_ns / 1e6) < 0)
        return;
    for (i = 0; i < render->count; i++) {
        if (columns(render->lines[i].left) > left)
            left = columns(render->lines[i].left);
    }
    if (left < columns(head))
        left = columns(head);
    if (left > most)
        left = most;
    /* The headline is not cut: it may have a line of its own. */
    if (columns(head) > left)
        fprintf(render->file, "%s\n%*s   tasks  ranks\n", head, (int)left, "");
    else
        fprintf(render->file, "%s%*s   tasks  ranks\n", head,
                (int)(left - columns(head)), "");
    free(head);
    for (i = 0; i < render->count; i++)
        write_line(render, &render->lines[i], left);
}

/* One line for each class; small ones with the pids of their tasks. */
static void write_classes(struct render *render)
{
    const struct render_options *options = render->options;
    char ranks[RANKS_SIZE];
    size_t i;

    for (i = 0; i < render->classes->count; i++) {
        const struct tasks *set = render->classes->sets[i];
        uint32_t task = tasks_count(set) ? tasks_ranges(set)[0].first : 0;

        colour_begin(render, (long)i);
        fprintf(render->file, "class %zu: %u task%s: %s", i + 1,
                tasks_count(set), plural(tasks_count(set), "", "s"),
                tasks_text(set, ranks,
                           render->width > RANKS_SIZE ? RANKS_SIZE
                                                      : render->width / 2));
        if (tasks_count(set) == 1 && options->pids &&
            task < options->task_count)
            fprintf(render->file, " (pid %d)", (int)options->pids[task]);
        colour_end(render, (long)i);
        fputc('\n', render->file);
    }
}

static int render_init(struct render *render)
{
    const struct tree *tree = render->tree;
    uint32_t end = tree->end_count;
    struct tasks *all;
    uint32_t i;
    int r;

    render->width = render->options->width < RENDER_WIDTH_MIN
                        ? RENDER_WIDTH_MIN
                        : render->options->width;
    render->sets = calloc((size_t)tree->node_count + 1, sizeof(struct tasks *));
    render->first_end = calloc((size_t)tree->node_count + 1, sizeof(uint32_t));
    if (!render->sets || !render->first_end)
        return -ENOMEM;
    r = tree_tasks(&all, tree);
    if (r < 0)
        return r;
    render->all = tasks_count(all);
    tasks_free(all);
    for (i = 0; i < tree->node_count; i++)
        render->first_end[i] = tree->end_count;
    while (end-- > 0)
        render->first_end[tree->ends[end].node] = end;
    r = tree_under(tree, render->sets);
    if (r < 0)
        memset(render->sets, 0, tree->node_count * sizeof(struct tasks *));
    return r;
}

int render_tree(FILE *file,
                const struct tree *tree,
                const struct classes *classes,
                const struct render_options *options)
{
    struct render render = {
        .file = file, .tree = tree, .classes = classes, .options = options};
    size_t i;
    int r;

    r = render_init(&render);
    if (r == 0)
        r = draw(&render, 0, tree->node_count, "", true, false);
    if (r == 0) {
        write_lines(&render);
        write_classes(&render);
        r = fflush(file) != 0 || ferror(file) ? -EIO : 0;
    }
    for (i = 0; i < render.count; i++)
        free(render.lines[i].left);
    for (i = 0; render.sets && i < tree->node_count; i++)
        tasks_free(render.sets[i]);
    free(render.lines);
    free(render.sets);
    free(render.first_end);
    return r;
}
