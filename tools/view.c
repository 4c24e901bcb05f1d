/* view.c - a network's status, as a tree on a terminal. */
#include "tools/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/measure.h"

/* Columns of a label. Longer ones move the rest of their line to the right. */
#define LABEL_MAX 46

/* Bytes of a rank, a host and a label. */
#define NAME_LEN 352

/* Columns that each level of the tree takes. */
#define INDENT 3

/* The greatest depth that is drawn. Deeper nodes go below the front-end. */
#define DEPTH_MAX 256

static const struct {
    const char *name;
    const char *colour; /* "": none */
} states[VIEW_STATES] = {
    [COP_STATE_UP] = {"up", ""},
    [COP_STATE_DEGRADED] = {"degraded", "\033[33m"},
    [COP_STATE_SILENT] = {"silent", "\033[33m"},
    [COP_STATE_ORPHAN] = {"orphan", "\033[33m"},
    [COP_STATE_MISSING] = {"missing", "\033[31m"},
    [COP_STATE_LOST] = {"lost", "\033[31m"},
};

static const char no_colour[] = "\033[0m";

/* ---- the tree ---- */

static size_t find_node(const struct view *view, uint32_t rank)
{
    size_t low = 0, high = view->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint32_t at = view->nodes[middle].is.rank;

        if (at == rank)
            return middle;
        if (at < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return VIEW_NONE;
}

/* Whether the path up from node `index` ends at the front-end. While nodes move
 * it may be broken or a circle. A faulty answer may make it so long that
 * drawing it would exhaust the stack. */
static bool is_rooted(const struct view *view, size_t index)
{
    for (size_t steps = 0; index != VIEW_NONE && steps <= DEPTH_MAX; steps++) {
        if (index == 0)
            return true;
        index = find_node(view, view->nodes[index].is.parent);
    }
    return false;
}

static void arrange(struct view *view)
{
    size_t i;

    for (i = 1; i < view->count; i++)
        if (!is_rooted(view, i))
            view->nodes[i].is.parent = 0;
    for (i = view->count; i-- > 1;) { /* the lowest rank comes first */
        struct view_node *node = &view->nodes[i];
        struct view_node *parent =
            &view->nodes[find_node(view, node->is.parent)];

        node->next_sibling = parent->first_child;
        parent->first_child = i;
    }
}

int view_init(struct view *view, const struct cop_status *status)
{
    memset(view, 0, sizeof(*view));
    view->count = cop_status_count(status);
    view->left_off = cop_status_left_off(status);
    view->nodes = calloc(view->count, sizeof(*view->nodes));
    if (!view->nodes)
        return -ENOMEM;
    for (size_t i = 0; i < view->count; i++) {
        struct view_node *node = &view->nodes[i];

        node->is.size = sizeof(node->is);
        cop_status_at(status, i, &node->is);
        node->first_child = node->next_sibling = VIEW_NONE;
        view->in_state[node->is.state]++;
        view->adopted += node->is.adopted_from != COP_RANK_NONE;
    }
    arrange(view);
    return 0;
}

void view_fini(struct view *view)
{
    free(view->nodes);
    memset(view, 0, sizeof(*view));
}

bool view_is_healed(const struct view *view)
{
    return view->in_state[COP_STATE_SILENT] == 0 &&
           view->in_state[COP_STATE_ORPHAN] == 0;
}

/* ---- drawing ---- */

struct drawing {
    const struct view *view;
    const struct view_style *style;
    FILE *file;
    unsigned column; /* at which states begin */
    bool *last;      /* by depth: the node being drawn there is a last child */
};

static bool is_shown(const struct drawing *drawing, size_t index)
{
    return !drawing->style->only_bad ||
           drawing->view->nodes[index].is.state != COP_STATE_UP;
}

const char *view_host(const struct cop_status_node *node)
{
    return *node->host ? node->host : "?";
}

const char *view_state(enum cop_state state)
{
    return states[state].name;
}

/* Write what identifies the node: its rank, its host, and its label. Returns
 * the length, as snprintf(). */
static int write_name(const struct cop_status_node *node,
                      char *out,
                      size_t size)
{
    return snprintf(out, size, "%u %s%s%s%s", node->rank, view_host(node),
                    *node->label ? " (" : "", node->label,
                    *node->label ? ")" : "");
}

static unsigned label_width(const struct view_node *node, unsigned depth)
{
    return depth * INDENT + (unsigned)write_name(&node->is, NULL, 0);
}

/* Find the widest label below node `index`, and the greatest depth. */
static void measure_subtree(struct drawing *drawing,
                            size_t index,
                            unsigned depth,
                            unsigned *deepest)
{
    const struct view_node *nodes = drawing->view->nodes;
    unsigned width = label_width(&nodes[index], depth);

    if (width > drawing->column && width <= LABEL_MAX)
        drawing->column = width;
    if (depth > *deepest)
        *deepest = depth;
    for (size_t child = nodes[index].first_child; child != VIEW_NONE;
         child = nodes[child].next_sibling)
        if (is_shown(drawing, child))
            measure_subtree(drawing, child, depth + 1, deepest);
}

/* Draw the lines that lead to a node. */
static void draw_branches(const struct drawing *drawing, unsigned depth)
{
    bool ascii = drawing->style->ascii;

    for (unsigned i = 1; i < depth; i++)
        fputs(drawing->last[i] ? "   " : ascii ? "|  " : "│  ", drawing->file);
    if (depth > 0 && drawing->last[depth])
        fputs(ascii ? "`- " : "└─ ", drawing->file);
    else if (depth > 0)
        fputs(ascii ? "|- " : "├─ ", drawing->file);
}

static void draw_line(const struct drawing *drawing,
                      const struct view_node *node,
                      unsigned depth)
{
    const char *colour =
        drawing->style->colour ? states[node->is.state].colour : "";
    unsigned width = label_width(node, depth);
    char name[NAME_LEN], age[MEASURE_LEN], trip[MEASURE_LEN];
    char note[64] = "";

    draw_branches(drawing, depth);
    if (node->is.place > 0)
        snprintf(note, sizeof(note), "  in place of %u", node->is.place);
    if (node->is.adopted_from != COP_RANK_NONE)
        snprintf(note + strlen(note), sizeof(note) - strlen(note),
                 "  adopted from %u", node->is.adopted_from);
    if (node->is.round_trip_us == COP_TIME_UNKNOWN && !*note)
        *trip = '\0';
    else
        measure_trip(trip, node->is.round_trip_us);
    write_name(&node->is, name, sizeof(name));
    fprintf(drawing->file, "%s%*s  %s%-8s%s  %6s", name,
            width < drawing->column ? (int)(drawing->column - width) : 0, "",
            colour, states[node->is.state].name, *colour ? no_colour : "",
            measure_age(age, node->is.state_ms));
    if (*trip)
        fprintf(drawing->file, "  %7s%s", trip, note);
    if (*node->is.reason)
        fprintf(drawing->file, "  %s", node->is.reason);
    fputc('\n', drawing->file);
}

/* The first child from `child` on that is shown. */
static size_t next_shown(const struct drawing *drawing, size_t child)
{
    while (child != VIEW_NONE && !is_shown(drawing, child))
        child = drawing->view->nodes[child].next_sibling;
    return child;
}

static void draw_subtree(const struct drawing *drawing,
                         size_t index,
                         unsigned depth)
{
    const struct view_node *nodes = drawing->view->nodes;
    size_t child, next;

    draw_line(drawing, &nodes[index], depth);
    child = next_shown(drawing, nodes[index].first_child);
    for (; child != VIEW_NONE; child = next) {
        next = next_shown(drawing, nodes[child].next_sibling);
        drawing->last[depth + 1] = next == VIEW_NONE;
        draw_subtree(drawing, child, depth + 1);
    }
}

int view_draw(const struct view *view,
              const struct view_style *style,
              FILE *file)
{
    struct drawing drawing = {.view = view, .style = style, .file = file};
    unsigned deepest = 0;

    if (!is_shown(&drawing, 0)) {
        fprintf(file, "all nodes are up\n");
        return 0;
    }
    measure_subtree(&drawing, 0, 0, &deepest);
    drawing.last = calloc((size_t)deepest + 2, sizeof(*drawing.last));
    if (!drawing.last)
        return -ENOMEM;
    draw_subtree(&drawing, 0, 0);
    free(drawing.last);
    return 0;
}

/* ---- counting ---- */

void view_count(const struct view *view, FILE *file)
{
    const char *between = ": ";

    fprintf(file, "%zu node%s", view->count + view->left_off,
            view->count + view->left_off == 1 ? "" : "s");
    for (size_t i = 0; i < VIEW_STATES; i++) {
        if (view->in_state[i] == 0)
            continue;
        fprintf(file, "%s%zu %s", between, view->in_state[i], states[i].name);
        between = ", ";
    }
    if (view->adopted > 0)
        fprintf(file, "; %zu adopted", view->adopted);
    if (view->left_off > 0)
        fprintf(file, "; %zu not shown", view->left_off);
    fputc('\n', file);
}

/* Write `text` indented, with line breaks after commas so that it fits. */
static void put_wrapped(const char *text,
                        unsigned indent,
                        unsigned width,
                        FILE *file)
{
    unsigned column = indent;

    while (*text) {
        size_t len = strcspn(text, ",");

        len += text[len] == ',';
        if (column > indent && column + len > width) {
            fprintf(file, "\n%*s", (int)indent, "");
            column = indent;
        }
        fprintf(file, "%.*s", (int)len, text);
        column += (unsigned)len;
        text += len;
    }
    fputc('\n', file);
}

static int compare_names(const void *left, const void *right)
{
    return strverscmp(*(const char *const *)left, *(const char *const *)right);
}

/* List the hosts of all nodes in `state`, or, if that is negative, of all
 * adopted nodes, each once. Returns how many. */
static size_t collect_hosts(const struct view *view,
                            int state,
                            const char **hosts)
{
    size_t count = 0, kept = 0, i;

    for (i = 0; i < view->count; i++) {
        const struct cop_status_node *node = &view->nodes[i].is;

        if (state < 0 ? node->adopted_from != COP_RANK_NONE
                      : node->state == (enum cop_state)state)
            hosts[count++] = view_host(&view->nodes[i].is);
    }
    qsort(hosts, count, sizeof(*hosts), compare_names);
    for (i = 0; i < count; i++)
        if (kept == 0 || strcmp(hosts[kept - 1], hosts[i]) != 0)
            hosts[kept++] = hosts[i];
    return kept;
}

int view_summarise(const struct view *view,
                   const struct view_style *style,
                   FILE *file)
{
    const char **hosts = calloc(view->count, sizeof(*hosts));
    char *text;
    int r = hosts ? 0 : -ENOMEM;

    if (r == 0)
        view_count(view, file);
    for (int state = 0; r == 0 && state <= VIEW_STATES; state++) {
        bool adopted = state == VIEW_STATES;
        size_t count = adopted ? view->adopted : view->in_state[state];
        unsigned indent;

        if (count == 0 || (state == COP_STATE_UP && style->only_bad))
            continue;
        r = cop_hosts_text(&text, hosts,
                           collect_hosts(view, adopted ? -1 : state, hosts));
        if (r < 0)
            break;
        indent =
            (unsigned)fprintf(file, "%-8s %6zu  ",
                              adopted ? "adopted" : states[state].name, count);
        put_wrapped(text, indent, style->width, file);
        free(text);
    }
    free(hosts);
    return r;
}
