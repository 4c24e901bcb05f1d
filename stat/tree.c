/* tree.c - see tree.h. */
#include "stat/tree.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where the strings and frames of an input are in the output. */
struct map {
    uint32_t *strings;
    uint32_t *frames;
};

enum mode {
    JOIN,
    DIFFERENCE,
};

/* A part of an input's ends: those of one node. */
struct span {
    const struct tree_end *ends;
    size_t count;
};

int tree_new(struct tree **out,
             size_t text_len,
             size_t strings,
             size_t frames,
             size_t nodes,
             size_t ends)
{
    struct tree *tree = calloc(1, sizeof(*tree));

    if (!tree)
        return -ENOMEM;
    tree->text = malloc(text_len + 1);
    tree->strings = calloc(strings + 1, sizeof(*tree->strings));
    tree->frames = calloc(frames + 1, sizeof(*tree->frames));
    tree->nodes = calloc(nodes + 1, sizeof(*tree->nodes));
    tree->ends = calloc(ends + 1, sizeof(*tree->ends));
    if (!tree->text || !tree->strings || !tree->frames || !tree->nodes ||
        !tree->ends) {
        tree_free(tree);
        return -ENOMEM;
    }
    *out = tree;
    return 0;
}

void tree_free(struct tree *tree)
{
    uint32_t i;

    if (!tree)
        return;
    for (i = 0; tree->ends && i < tree->end_count; i++)
        tasks_free(tree->ends[i].tasks);
    free(tree->text);
    free(tree->strings);
    free(tree->frames);
    free(tree->nodes);
    free(tree->ends);
    free(tree);
}

static size_t text_len(const struct tree *tree)
{
    const char *last;

    if (!tree->string_count)
        return 0;
    last = tree->strings[tree->string_count - 1];
    return (size_t)(last - tree->text) + strlen(last) + 1;
}

static int map_init(struct map *map, const struct tree *tree)
{
    map->strings = calloc(tree->string_count + 1, sizeof(*map->strings));
    map->frames = calloc(tree->frame_count + 1, sizeof(*map->frames));
    return map->strings && map->frames ? 0 : -ENOMEM;
}

static void map_fini(struct map *map)
{
    free(map->strings);
    free(map->frames);
}

/* Merge the strings of both into `tree`. Strings lie in `text` in order. */
static void join_strings(struct tree *tree,
                         const struct tree *a,
                         const struct tree *b,
                         struct map *map_a,
                         struct map *map_b)
{
    char *text = tree->text;
    uint32_t ia = 0;
    uint32_t ib = 0;

    while (ia < a->string_count || ib < b->string_count) {
        const char *string;
        size_t len;
        int order;

        if (ia == a->string_count)
            order = 1;
        else if (ib == b->string_count)
            order = -1;
        else
            order = strcmp(a->strings[ia], b->strings[ib]);
        string = order <= 0 ? a->strings[ia] : b->strings[ib];
        if (order <= 0)
            map_a->strings[ia++] = tree->string_count;
        if (order >= 0)
            map_b->strings[ib++] = tree->string_count;
        len = strlen(string) + 1;
        memcpy(text, string, len);
        tree->strings[tree->string_count++] = text;
        text += len;
    }
}

static struct tree_frame frame_mapped(const struct tree *tree,
                                      uint32_t frame,
                                      const struct map *map)
{
    return (struct tree_frame){map->strings[tree->frames[frame].function],
                               map->strings[tree->frames[frame].file],
                               tree->frames[frame].line};
}

static int frame_compare(const struct tree_frame *a, const struct tree_frame *b)
{
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

static void join_frames(struct tree *tree,
                        const struct tree *a,
                        const struct tree *b,
                        struct map *map_a,
                        struct map *map_b)
{
    struct tree_frame fa = {0, 0, 0};
    struct tree_frame fb = {0, 0, 0};
    uint32_t ia = 0;
    uint32_t ib = 0;
    int order;

    while (ia < a->frame_count || ib < b->frame_count) {
        if (ia < a->frame_count)
            fa = frame_mapped(a, ia, map_a);
        if (ib < b->frame_count)
            fb = frame_mapped(b, ib, map_b);
        if (ia == a->frame_count)
            order = 1;
        else if (ib == b->frame_count)
            order = -1;
        else
            order = frame_compare(&fa, &fb);
        tree->frames[tree->frame_count] = order <= 0 ? fa : fb;
        if (order <= 0)
            map_a->frames[ia++] = tree->frame_count;
        if (order >= 0)
            map_b->frames[ib++] = tree->frame_count;
        tree->frame_count++;
    }
}

static int end_compare(const struct tree_end *a, const struct tree_end *b)
{
    if (a->samples != b->samples)
        return a->samples < b->samples ? -1 : 1;
    return (a->threads > b->threads) - (a->threads < b->threads);
}

/* Replace `*set` by what the operation makes of it and `other`. */
static int set_change(struct tasks **set, enum tasks_op op, struct tasks *other)
{
    struct tasks *result;
    int r;

    r = tasks_combine(&result, op, *set, other);
    if (r < 0)
        return r;
    tasks_free(*set);
    *set = result;
    return 0;
}

/* Add an end to `tree`'s last node, unless it is of nobody. `tasks` is
 * taken. */
static void end_add(struct tree *tree,
                    const struct tree_end *like,
                    struct tasks *tasks)
{
    if (tasks_count(tasks) == 0) {
        tasks_free(tasks);
        return;
    }
    tree->ends[tree->end_count++] = (struct tree_end){
        tree->node_count - 1, like->samples, like->threads, tasks};
}

/* Join the ends of one node: from the heaviest down, each without the tasks
 * that a heavier one has. */
static int ends_join(struct tree *tree, struct span a, struct span b)
{
    uint32_t first = tree->end_count;
    uint32_t i;
    int r = 0;

    while (r == 0 && (a.count || b.count)) {
        const struct tree_end *like;
        struct tasks *set;
        int order;

        if (!a.count || !b.count)
            order = a.count ? 1 : -1;
        else
            order = end_compare(a.ends, b.ends);
        like = order >= 0 ? a.ends : b.ends;
        set = tasks_ref(like->tasks);
        if (order == 0)
            r = set_change(&set, TASKS_UNION, b.ends->tasks);
        for (i = first; r == 0 && i < tree->end_count; i++)
            r = set_change(&set, TASKS_MINUS, tree->ends[i].tasks);
        if (r == 0)
            end_add(tree, like, set);
        else
            tasks_free(set);
        if (order >= 0) {
            a.ends++;
            a.count--;
        }
        if (order <= 0) {
            b.ends++;
            b.count--;
        }
    }
    return r;
}

/* The ends of `newer` without the tasks that `older` has as heavily. */
static int ends_subtract(struct tree *tree,
                         struct span newer,
                         struct span older)
{
    size_t i;
    size_t k;
    int r = 0;

    for (i = 0; r == 0 && i < newer.count; i++) {
        struct tasks *set = tasks_ref(newer.ends[i].tasks);

        for (k = 0; r == 0 && k < older.count; k++) {
            if (end_compare(&older.ends[k], &newer.ends[i]) >= 0)
                r = set_change(&set, TASKS_MINUS, older.ends[k].tasks);
        }
        if (r == 0)
            end_add(tree, &newer.ends[i], set);
        else
            tasks_free(set);
    }
    return r;
}

/* The ends of node `node`, which are the next; `*next` moves behind them. */
static struct span ends_take(const struct tree *tree,
                             uint32_t node,
                             uint32_t *next)
{
    struct span span = {tree->ends + *next, 0};

    while (*next < tree->end_count && tree->ends[*next].node == node) {
        span.count++;
        (*next)++;
    }
    return span;
}

/* Which of two next nodes is first in pre-order: below 0 the first, above 0
 * the second, 0 if they are the same. The deeper one is, for what is before
 * both has been passed: the shallower one is not under the same parent. */
static int node_order(const struct tree_node *a,
                      const struct tree_node *b,
                      const struct map *map_a,
                      const struct map *map_b)
{
    if (!a || !b)
        return a ? -1 : 1;
    if (a->depth != b->depth)
        return a->depth > b->depth ? -1 : 1;
    if (map_a->frames[a->frame] != map_b->frames[b->frame])
        return map_a->frames[a->frame] < map_b->frames[b->frame] ? -1 : 1;
    return 0;
}

/* Walk the nodes of both in pre-order, and put what `mode` makes of them into
 * `tree`. */
static int join_nodes(struct tree *tree,
                      enum mode mode,
                      const struct tree *a,
                      const struct tree *b,
                      const struct map *map_a,
                      const struct map *map_b)
{
    uint32_t ia = 0;
    uint32_t ib = 0;
    uint32_t end_a = 0;
    uint32_t end_b = 0;
    int r = 0;

    while (r == 0 && (ia < a->node_count || ib < b->node_count)) {
        const struct tree_node *na = ia < a->node_count ? &a->nodes[ia] : NULL;
        const struct tree_node *nb = ib < b->node_count ? &b->nodes[ib] : NULL;
        int order = node_order(na, nb, map_a, map_b);
        struct tree_node *node = &tree->nodes[tree->node_count];
        struct span ends[2] = {{NULL, 0}, {NULL, 0}};

        if (order <= 0) {
            *node = (struct tree_node){map_a->frames[na->frame], na->depth, 1};
            ends[0] = ends_take(a, ia++, &end_a);
        }
        if (order >= 0) {
            *node = (struct tree_node){map_b->frames[nb->frame], nb->depth, 1};
            ends[1] = ends_take(b, ib++, &end_b);
        }
        if (mode == DIFFERENCE && order > 0)
            continue; /* only the older one has it */
        tree->node_count++;
        r = mode == JOIN ? ends_join(tree, ends[0], ends[1])
                         : ends_subtract(tree, ends[0], ends[1]);
    }
    return r;
}

/* Merge as `mode` says; nodes without ends, and unused strings and frames,
 * may be left. */
static int merge(struct tree **out,
                 enum mode mode,
                 const struct tree *a,
                 const struct tree *b)
{
    struct map map_a = {NULL, NULL};
    struct map map_b = {NULL, NULL};
    struct tree *tree = NULL;
    int r;

    r = tree_new(&tree, text_len(a) + text_len(b),
                 (size_t)a->string_count + b->string_count,
                 (size_t)a->frame_count + b->frame_count,
                 (size_t)a->node_count + b->node_count,
                 (size_t)a->end_count + b->end_count);
    if (r < 0)
        goto out;
    r = map_init(&map_a, a);
    if (r < 0)
        goto out;
    r = map_init(&map_b, b);
    if (r < 0)
        goto out;
    join_strings(tree, a, b, &map_a, &map_b);
    join_frames(tree, a, b, &map_a, &map_b);
    r = join_nodes(tree, mode, a, b, &map_a, &map_b);
    if (r < 0)
        goto out;
    if (mode == JOIN)
        tree->stop_ns = a->stop_ns > b->stop_ns ? a->stop_ns : b->stop_ns;
    else
        tree->stop_ns = a->stop_ns > b->stop_ns ? a->stop_ns : 0;
    *out = tree;
    tree = NULL;
out:
    map_fini(&map_a);
    map_fini(&map_b);
    tree_free(tree);
    return r;
}

/* Drop the nodes that no end is at or under. */
static void drop_nodes(struct tree *tree)
{
    uint32_t depth_wanted = 0; /* the node above, one less deep, is needed */
    uint32_t end = tree->end_count;
    uint32_t kept = tree->node_count;
    uint32_t i;

    /* Backwards, so that a node's subtree is known before it. What is kept
     * gathers at the back. */
    for (i = tree->node_count; i-- > 0;) {
        bool ended = end > 0 && tree->ends[end - 1].node == i;

        if (!ended && tree->nodes[i].depth + 1 != depth_wanted)
            continue;
        depth_wanted = tree->nodes[i].depth;
        tree->nodes[--kept] = tree->nodes[i];
        while (end > 0 && tree->ends[end - 1].node == i)
            tree->ends[--end].node = kept;
    }
    tree->node_count -= kept;
    memmove(tree->nodes, tree->nodes + kept,
            tree->node_count * sizeof(*tree->nodes));
    for (i = 0; i < tree->end_count; i++)
        tree->ends[i].node -= kept;
}

/* Drop the frames and strings that no node uses. Returns 0 or -ENOMEM. */
static int drop_frames(struct tree *tree)
{
    struct map map = {NULL, NULL};
    char *text = tree->text;
    uint32_t kept = 0;
    uint32_t i;
    int r;

    r = map_init(&map, tree);
    if (r < 0)
        goto out;
    for (i = 0; i < tree->node_count; i++)
        map.frames[tree->nodes[i].frame] = 1;
    for (i = 0; i < tree->frame_count; i++) {
        if (!map.frames[i])
            continue;
        map.strings[tree->frames[i].function] = 1;
        map.strings[tree->frames[i].file] = 1;
        map.frames[i] = kept;
        tree->frames[kept++] = tree->frames[i];
    }
    tree->frame_count = kept;
    for (i = 0; i < tree->node_count; i++)
        tree->nodes[i].frame = map.frames[tree->nodes[i].frame];
    kept = 0;
    for (i = 0; i < tree->string_count; i++) {
        size_t len = strlen(tree->strings[i]) + 1;

        if (!map.strings[i])
            continue;
        memmove(text, tree->strings[i], len);
        map.strings[i] = kept;
        tree->strings[kept++] = text;
        text += len;
    }
    tree->string_count = kept;
    for (i = 0; i < tree->frame_count; i++) {
        tree->frames[i].function = map.strings[tree->frames[i].function];
        tree->frames[i].file = map.strings[tree->frames[i].file];
    }
out:
    map_fini(&map);
    return r;
}

void tree_finish(struct tree *tree)
{
    uint32_t above[TREE_DEPTH_MAX]; /* the open node at each depth */
    uint32_t open = 0;
    uint32_t i;

    for (i = 0; i <= tree->node_count; i++) {
        uint32_t depth = i < tree->node_count ? tree->nodes[i].depth : 0;

        assert(depth <= open && depth < TREE_DEPTH_MAX);
        while (open > depth) {
            open--;
            tree->nodes[above[open]].size = i - above[open];
        }
        above[open++] = i;
    }
}

int tree_join(struct tree **out, const struct tree *a, const struct tree *b)
{
    int r;

    r = merge(out, JOIN, a, b);
    if (r < 0)
        return r;
    tree_finish(*out);
    return 0;
}

int tree_difference(struct tree **out,
                    const struct tree *newer,
                    const struct tree *older)
{
    struct tree *tree;
    int r;

    r = merge(&tree, DIFFERENCE, newer, older);
    if (r < 0)
        return r;
    drop_nodes(tree);
    r = drop_frames(tree);
    if (r < 0) {
        tree_free(tree);
        return r;
    }
    tree_finish(tree);
    *out = tree;
    return 0;
}

int tree_join_all(struct tree **out, struct tree *const *trees, size_t count)
{
    struct tree *a = NULL;
    struct tree *b = NULL;
    struct tree *empty = NULL;
    int r;

    if (count == 0)
        return -EINVAL;
    if (count == 1) {
        r = tree_new(&empty, 0, 0, 0, 0, 0);
        if (r == 0)
            r = tree_join(out, trees[0], empty);
        tree_free(empty);
        return r;
    }
    if (count == 2)
        return tree_join(out, trees[0], trees[1]);
    r = tree_join_all(&a, trees, count / 2);
    if (r == 0)
        r = tree_join_all(&b, trees + count / 2, count - count / 2);
    if (r == 0)
        r = tree_join(out, a, b);
    tree_free(a);
    tree_free(b);
    return r;
}

bool tree_is_empty(const struct tree *tree)
{
    return tree->node_count == 0 && tree->stop_ns == 0;
}

bool tree_equal(const struct tree *a, const struct tree *b)
{
    uint32_t i;

    if (a->string_count != b->string_count || a->stop_ns != b->stop_ns ||
        a->frame_count != b->frame_count || a->node_count != b->node_count ||
        a->end_count != b->end_count)
        return false;
    for (i = 0; i < a->string_count; i++) {
        if (strcmp(a->strings[i], b->strings[i]) != 0)
            return false;
    }
    for (i = 0; i < a->frame_count; i++) {
        if (frame_compare(&a->frames[i], &b->frames[i]) != 0)
            return false;
    }
    for (i = 0; i < a->node_count; i++) {
        if (a->nodes[i].frame != b->nodes[i].frame ||
            a->nodes[i].depth != b->nodes[i].depth ||
            a->nodes[i].size != b->nodes[i].size)
            return false;
    }
    for (i = 0; i < a->end_count; i++) {
        if (a->ends[i].node != b->ends[i].node ||
            end_compare(&a->ends[i], &b->ends[i]) != 0 ||
            !tasks_equal(a->ends[i].tasks, b->ends[i].tasks))
            return false;
    }
    return true;
}

int tree_under(const struct tree *tree, struct tasks **sets)
{
    struct tasks *none = NULL;
    uint32_t end = tree->end_count;
    uint32_t i;
    uint32_t child;
    int r;

    r = tasks_new(&none, NULL, 0);
    if (r < 0)
        return r;
    for (i = 0; i < tree->node_count; i++)
        sets[i] = tasks_ref(none);
    for (i = tree->node_count; r == 0 && i-- > 0;) {
        uint32_t behind = i + tree->nodes[i].size;

        for (; r == 0 && end > 0 && tree->ends[end - 1].node == i; end--)
            r = set_change(&sets[i], TASKS_UNION, tree->ends[end - 1].tasks);
        for (child = i + 1; r == 0 && child < behind;
             child += tree->nodes[child].size)
            r = set_change(&sets[i], TASKS_UNION, sets[child]);
    }
    for (i = 0; r < 0 && i < tree->node_count; i++)
        tasks_free(sets[i]);
    tasks_free(none);
    return r;
}

int tree_tasks(struct tasks **out, const struct tree *tree)
{
    struct tasks *all = NULL;
    uint32_t i;
    int r;

    r = tasks_new(&all, NULL, 0);
    for (i = 0; r == 0 && i < tree->end_count; i++)
        r = set_change(&all, TASKS_UNION, tree->ends[i].tasks);
    if (r < 0) {
        tasks_free(all);
        return r;
    }
    *out = all;
    return 0;
}
