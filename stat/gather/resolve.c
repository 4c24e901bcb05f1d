/* resolve.c - makes the tree of names from that of addresses: see naming.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf() */
#endif
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/gather/naming.h"
#include "stat/tree/build.h"
#include "stat/tree/fold.h"
#include "stat/tree/lines.h"

/* How one frame of the tree is shown. */
struct shown {
    struct frame *frames; /* outermost first; NULL: not yet known */
    uint32_t count;
    bool own; /* owns the texts of functions, which include addresses */
};

/* A stack that is being added to the tree of names. */
struct resolving {
    const struct naming *naming;
    const struct tree *tree;
    enum naming_detail detail;
    const struct lines
        *lines; /* functions whose lines are places; NULL: none */
    struct build *build;
    struct shown *shown;           /* by frame of the tree */
    uint32_t path[TREE_DEPTH_MAX]; /* nodes from the top down */
    struct fold fold;
    size_t known; /* so many frames of the last stack are in the tree: */
    struct frame before[TREE_DEPTH_MAX];
    uint32_t nodes[TREE_DEPTH_MAX];
};

static const char *function_of(const struct tree *tree, uint32_t frame)
{
    return tree->strings[tree->frames[frame].function];
}

static const char *module_of(const struct tree *tree, uint32_t frame)
{
    return tree->strings[tree->frames[frame].module];
}

/* Whether a frame of the tree is start-up code only. */
static bool is_skipped(const struct resolving *resolving, uint32_t number)
{
    const char *path = module_of(resolving->tree, number);
    uint32_t count;
    const struct frame *names = naming_names(resolving->naming, number, &count);

    if (count == 1)
        return role_of(names[0].module) == ROLE_START;
    return count == 0 && path[0] &&
           strcmp(frame_module_name(path), "libc.so.6") == 0;
}

/* Whether a frame is a note, such as a thread's name: frames below it may be
 * start-up code. */
static bool is_note(const struct tree *tree, uint32_t number)
{
    return tree->frames[number].note.kind != NOTE_NONE &&
           !module_of(tree, number)[0];
}

/* `function` with the address of frame `number`, "f [a.out+0x12]"; without a
 * name, only the address. NULL without memory. */
static char *with_address(const struct tree *tree,
                          uint32_t number,
                          const char *function)
{
    const char *module = frame_module_name(module_of(tree, number));
    char *text;

    if (asprintf(&text, function[0] ? "%s [%s+0x%llx]" : "%s%s+0x%llx",
                 function, module,
                 (unsigned long long)tree->frames[number].offset) < 0)
        return NULL;
    return text;
}

/* Find how one frame of the tree is shown. Returns 0 or -ENOMEM. */
static int find_shown(struct resolving *resolving, uint32_t number)
{
    struct shown *shown = &resolving->shown[number];
    const struct tree *tree = resolving->tree;
    const struct tree_frame *raw = &tree->frames[number];
    uint32_t count;
    const struct frame *names = naming_names(resolving->naming, number, &count);
    const char *function = function_of(tree, number);
    struct frame frame = {.function = function,
                          .file = tree->strings[raw->file],
                          .line = raw->line,
                          .module = function[0] ? module_of(tree, number) : "",
                          .not_walked = raw->not_walked};
    bool addresses = resolving->detail == NAMING_ADDRESSES && count > 0;

    if (count == 0) {
        names = &frame;
        count = 1;
    }
    shown->frames = calloc(count, sizeof(*shown->frames));
    if (!shown->frames)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        char *text = NULL;

        shown->frames[shown->count] = names[i];
        if (addresses || !names[i].function[0]) {
            text = with_address(tree, number, names[i].function);
            if (!text)
                return -ENOMEM;
            shown->frames[shown->count].function = text;
            shown->own = true;
        }
        shown->count++;
    }
    return 0;
}

static void shown_fini(struct shown *shown)
{
    for (uint32_t i = 0; shown->own && i < shown->count; i++)
        free((char *)shown->frames[i].function);
    free(shown->frames);
}

/* Add one frame of the tree, which may become several, to the stack. */
static int add_frame(struct resolving *resolving, uint32_t number)
{
    const struct shown *shown = &resolving->shown[number];
    int r = shown->frames ? 0 : find_shown(resolving, number);

    for (uint32_t i = 0; r == 0 && i < shown->count; i++)
        fold_add(&resolving->fold, &shown->frames[i]);
    return r;
}

/* Add the stack to the tree; `*node` becomes its last node. It usually shares
 * its beginning with the previous stack. */
static int put_stack(struct resolving *resolving, uint32_t *node)
{
    const struct fold *fold = &resolving->fold;
    uint32_t parent = BUILD_TOP;
    bool same = true;
    int r = 0;

    for (size_t i = 0; r == 0 && i < fold->count; i++) {
        const struct frame *frame = &fold->frames[i];
        const struct frame *before = &resolving->before[i];

        same = same && i < resolving->known &&
               frame->function == before->function &&
               frame->file == before->file && frame->line == before->line;
        if (!same && resolving->lines &&
            lines_has(resolving->lines, frame->function, frame->file))
            r = build_line(resolving->build, &resolving->nodes[i], parent,
                           frame);
        else if (!same)
            r = build_node(resolving->build, &resolving->nodes[i], parent,
                           frame);
        resolving->before[i] = *frame;
        parent = resolving->nodes[i];
    }
    resolving->known = r == 0 ? fold->count : 0;
    *node = parent;
    return r;
}

/* Add the ends from `*end` on that are at node `number`. */
static int put_ends(struct resolving *resolving, uint32_t number, uint32_t *end)
{
    const struct tree *tree = resolving->tree;
    uint32_t depth = tree->nodes[number].depth, place, i;
    bool outer = true; /* only start-up code so far */
    int r = 0;

    if (*end == tree->end_count || tree->ends[*end].node != number)
        return 0;
    for (i = 0; r == 0 && i <= depth; i++) {
        uint32_t frame = tree->nodes[resolving->path[i]].frame;

        if (outer && i < depth && is_skipped(resolving, frame))
            continue;
        outer = outer && is_note(tree, frame);
        r = add_frame(resolving, frame);
    }
    if (r == 0)
        r = put_stack(resolving, &place);
    for (; r == 0 && *end < tree->end_count && tree->ends[*end].node == number;
         ++*end) {
        struct tree_end moved = tree->ends[*end];

        moved.node = place;
        r = build_end(resolving->build, &moved);
    }
    return r;
}

/* Add all stacks. */
static int put_stacks(struct resolving *resolving, bool full)
{
    const struct tree *tree = resolving->tree;
    uint32_t end = 0, i;
    int r = 0;

    for (i = 0; r == 0 && i < tree->node_count; i++) {
        resolving->path[tree->nodes[i].depth] = i;
        fold_begin(&resolving->fold, resolving->detail != NAMING_FUNCTIONS,
                   full);
        r = put_ends(resolving, i, &end);
    }
    return r;
}

/* Make the tree with names, as naming_resolve(); `lines` as in struct
 * resolving. Returns 0 or -ENOMEM. */
static int resolve(struct tree **out,
                   const struct naming *naming,
                   enum naming_detail detail,
                   const struct lines *lines,
                   bool full)
{
    const struct tree *tree = naming_tree(naming);
    struct resolving *resolving = calloc(1, sizeof(*resolving));
    int r = -ENOMEM;

    if (!resolving)
        return r;
    resolving->naming = naming;
    resolving->tree = tree;
    resolving->detail = detail;
    resolving->lines = lines;
    resolving->shown =
        calloc((size_t)tree->frame_count + 1, sizeof(*resolving->shown));
    if (resolving->shown)
        r = build_new(&resolving->build, detail != NAMING_FUNCTIONS);
    for (uint32_t i = 0; r == 0 && i < tree->progress_count; i++)
        r = build_progress(resolving->build, &tree->progress[i]);
    for (uint32_t i = 0; r == 0 && i < tree->stop_count; i++)
        r = build_stop(resolving->build, &tree->stops[i]);
    if (r == 0)
        r = put_stacks(resolving, full);
    if (r == 0)
        r = build_tree(out, resolving->build, tree->stop_ns);
    build_free(resolving->build);
    for (uint32_t i = 0; resolving->shown && i < tree->frame_count; i++)
        shown_fini(&resolving->shown[i]);
    free(resolving->shown);
    free(resolving);
    return r;
}

int naming_resolve(struct tree **out,
                   const struct naming *naming,
                   enum naming_detail detail,
                   bool full)
{
    struct tree *by_line = NULL;
    struct lines *lines = NULL;
    int r = 0;

    if (detail != NAMING_FUNCTIONS)
        return resolve(out, naming, detail, NULL, full);
    r = resolve(&by_line, naming, NAMING_LINES, NULL, full);
    if (r == 0)
        r = lines_new(&lines, by_line);
    if (r == 0)
        r = resolve(out, naming, detail, lines_any(lines) ? lines : NULL, full);
    lines_free(lines);
    tree_free(by_line);
    return r;
}
