/* export.c - see export.h. */
#include "tools/export.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "stat/show/characters.h"

/* ---- texts ---- */

/* Write `text` inside quotes of JSON or of dot, which have the same escapes for
 * these. Control characters become spaces, and what is no UTF-8 "?". */
static void put_text(const char *text, FILE *file)
{
    unsigned len;

    for (; *text; text += len) {
        uint32_t character = character_read(text, &len);

        if (character == CHARACTER_NONE)
            fputc('?', file);
        else if (character < ' ' || character == 0x7f)
            fputc(' ', file);
        else
            fprintf(file, "%s%.*s", *text == '"' || *text == '\\' ? "\\" : "",
                    (int)len, text);
    }
}

/* ---- dot ---- */

static void dot_write(const struct view *view, FILE *file)
{
    static const char *const colours[VIEW_STATES] = {
        [COP_STATE_UP] = "black",      [COP_STATE_DEGRADED] = "orange",
        [COP_STATE_SILENT] = "orange", [COP_STATE_ORPHAN] = "orange",
        [COP_STATE_MISSING] = "red",   [COP_STATE_LOST] = "red",
    };

    fputs("digraph coppice {\n    node [shape=box];\n", file);
    for (size_t i = 0; i < view->count; i++) {
        const struct cop_status_node *node = &view->nodes[i].is;

        fprintf(file, "    %u [color=%s, label=\"%u ", node->rank,
                colours[node->state], node->rank);
        put_text(view_host(node), file);
        if (*node->label) {
            fputs("\\n", file);
            put_text(node->label, file);
        }
        if (node->state != COP_STATE_UP)
            fprintf(file, "\\n%s", view_state(node->state));
        fputs("\"];\n", file);
        if (i > 0)
            fprintf(file, "    %u -> %u;\n", node->parent, node->rank);
    }
    fputs("}\n", file);
}

/* ---- topology ---- */

static bool is_dead(const struct cop_status_node *node)
{
    return node->state == COP_STATE_LOST || node->state == COP_STATE_MISSING;
}

/* Write a node as HOST:INSTANCE. The front-end may give any text as a host. */
static void put_node(const struct cop_status_node *node, FILE *file)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    bool fits = *node->host && *node->host != '-' &&
                node->host[strspn(node->host, letters)] == '\0';

    fprintf(file, "%s:%u", fits ? node->host : "unknown", node->rank);
}

/* Write the living children of node `index`; those of a dead one are the
 * children of its parent. Returns whether there are some. */
static bool put_children(const struct view *view,
                         size_t index,
                         bool any,
                         FILE *file)
{
    size_t child = view->nodes[index].first_child;

    for (; child != VIEW_NONE; child = view->nodes[child].next_sibling) {
        if (is_dead(&view->nodes[child].is)) {
            any = put_children(view, child, any, file);
            continue;
        }
        fputs(any ? " " : " => ", file);
        put_node(&view->nodes[child].is, file);
        any = true;
    }
    return any;
}

static void topology_write(const struct view *view, FILE *file)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct view_node *node = &view->nodes[i];

        if (is_dead(&node->is)) {
            fprintf(file, "# %s: ", view_state(node->is.state));
            put_node(&node->is, file);
            fputc('\n', file);
        } else if (node->first_child != VIEW_NONE || i == 0) {
            put_node(&node->is, file);
            put_children(view, i, false, file);
            fputs(" ;\n", file);
        }
    }
}

/* ---- JSON ---- */

/* Write a number, or null if it is not known: the same value for both kinds. */
static void put_number(const char *name, uint32_t number, FILE *file)
{
    if (number == COP_RANK_NONE)
        fprintf(file, ", \"%s\": null", name);
    else
        fprintf(file, ", \"%s\": %u", name, number);
}

static void put_string(const char *name, const char *text, FILE *file)
{
    fprintf(file, ", \"%s\": \"", name);
    put_text(text, file);
    fputc('"', file);
}

static void json_write(const struct view *view, FILE *file)
{
    static const char *const roles[] = {
        [COP_FRONTEND] = "front-end",
        [COP_COMMNODE] = "commnode",
        [COP_BACKEND] = "back-end",
    };

    fprintf(file, "{\"left_off\": %zu, \"nodes\": [", view->left_off);
    for (size_t i = 0; i < view->count; i++) {
        const struct cop_status_node *node = &view->nodes[i].is;

        fprintf(file, "%s\n{\"rank\": %u", i ? "," : "", node->rank);
        put_number("parent", i ? node->parent : COP_RANK_NONE, file);
        put_string("role", roles[node->role], file);
        put_string("state", view_state(node->state), file);
        put_number("state_ms", node->state_ms, file);
        put_number("round_trip_us", node->round_trip_us, file);
        put_number("adoptions", node->adoptions, file);
        put_number("adopted_from", node->adopted_from, file);
        put_number("place", node->place ? node->place : COP_RANK_NONE, file);
        put_string("host", node->host, file);
        put_string("label", node->label, file);
        put_string("reason", node->reason, file);
        fputc('}', file);
    }
    fputs("\n]}\n", file);
}

/* ---- all ---- */

static const struct {
    const char *name;
    void (*write)(const struct view *view, FILE *file);
} formats[] = {[EXPORT_NONE] = {"", NULL},
#define EXPORT_FORMAT(kind, name) [EXPORT_##kind] = {#name, name##_write},
               EXPORT_FORMATS(EXPORT_FORMAT)
#undef EXPORT_FORMAT
};

int export_find(enum export *format, const char *name)
{
    for (size_t i = 1; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (strcmp(name, formats[i].name) == 0) {
            *format = (enum export)i;
            return 0;
        }
    return -EINVAL;
}

void export_write(const struct view *view, enum export format, FILE *file)
{
    formats[format].write(view, file);
}
