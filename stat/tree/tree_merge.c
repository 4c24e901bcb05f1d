/* tree_merge.c - merges two trees in one pass over both: see tree.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat/list.h"
#include "stat/tree/tree.h"

/* The indexes in the output of an input's strings and frames. */
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
    struct tasks *less; /* to leave out: the other tree is newer; NULL: none */
};

/* The tasks that moved later in each of two trees; NULL for none. */
struct rivals {
    struct tasks *first;
    struct tasks *second;
};

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

/* Merge the strings of both into `tree`; they are stored in order in `text`. */
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
    struct tree_frame mapped = tree->frames[frame];

    mapped.function = map->strings[mapped.function];
    mapped.file = map->strings[mapped.file];
    mapped.module = map->strings[mapped.module];
    return mapped;
}

static void join_frames(struct tree *tree,
                        const struct tree *a,
                        const struct tree *b,
                        struct map *map_a,
                        struct map *map_b)
{
    struct tree_frame fa = {0};
    struct tree_frame fb = {0};
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
            order = tree_frame_compare(&fa, &fb);
        tree->frames[tree->frame_count] = order <= 0 ? fa : fb;
        if (order <= 0)
            map_a->frames[ia++] = tree->frame_count;
        if (order >= 0)
            map_b->frames[ib++] = tree->frame_count;
        tree->frame_count++;
    }
}

/* Add an end to the last node of `tree`, unless it has no tasks. `tasks` is
 * taken. */
static void end_add(struct tree *tree,
                    const struct tree_end *like,
                    struct tasks *tasks)
{
    if (tasks_is_empty(tasks)) {
        tasks_free(tasks);
        return;
    }
    tree->ends[tree->end_count] = *like;
    tree->ends[tree->end_count].node = tree->node_count - 1;
    tasks_ref(like->tids);
    tree->ends[tree->end_count++].tasks = tasks;
}

/* Make `tasks` without those of `less`, which may be NULL. */
static int set_without(struct tasks **out,
                       struct tasks *tasks,
                       struct tasks *less)
{
    if (less)
        return tasks_combine(out, TASKS_MINUS, tasks, less);
    *out = tasks_ref(tasks);
    return 0;
}

/* Add to `*set`, or take from it, the tasks of `other` that are not in `less`.
 */
static int set_change(struct tasks **set,
                      enum tasks_op op,
                      struct tasks *other,
                      struct tasks *less)
{
    struct tasks *rest;
    int r;

    r = set_without(&rest, other, less);
    if (r < 0)
        return r;
    r = tasks_change(set, op, rest);
    tasks_free(rest);
    return r;
}

/* Join the ends of one node, the heaviest first, each without the tasks of
 * heavier ones. */
static int ends_join(struct tree *tree, struct span a, struct span b)
{
    uint32_t first = tree->end_count;
    int r = 0;

    while (r == 0 && (a.count || b.count)) {
        const struct tree_end *like;
        struct tasks *set = NULL;
        int order;

        if (!a.count || !b.count)
            order = a.count ? 1 : -1;
        else
            order = tree_end_compare(a.ends, b.ends);
        like = order >= 0 ? a.ends : b.ends;
        r = set_without(&set, like->tasks, order >= 0 ? a.less : b.less);
        if (r == 0 && order == 0)
            r = set_change(&set, TASKS_UNION, b.ends->tasks, b.less);
        for (uint32_t i = first; r == 0 && i < tree->end_count; i++)
            if (tasks_meet(set, tree->ends[i].tasks))
                r = tasks_change(&set, TASKS_MINUS, tree->ends[i].tasks);
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

/* Add the ends of `newer` without the tasks that `older` has as heavily. */
static int ends_subtract(struct tree *tree,
                         struct span newer,
                         struct span older)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < newer.count; i++) {
        struct tasks *set = NULL;

        r = set_without(&set, newer.ends[i].tasks, newer.less);
        for (size_t k = 0; r == 0 && k < older.count; k++) {
            if (tree_end_compare(&older.ends[k], &newer.ends[i]) >= 0)
                r = set_change(&set, TASKS_MINUS, older.ends[k].tasks,
                               older.less);
        }
        if (r == 0)
            end_add(tree, &newer.ends[i], set);
        else
            tasks_free(set);
    }
    return r;
}

/* The ends of `node`, which are the next ones; `*next` advances past them. */
static struct span ends_take(const struct tree *tree,
                             uint32_t node,
                             uint32_t *next,
                             struct tasks *less)
{
    struct span span = {tree->ends + *next, 0, less};

    while (*next < tree->end_count && tree->ends[*next].node == node) {
        span.count++;
        (*next)++;
    }
    return span;
}

/* Which of two next nodes is first in pre-order: below 0 the first, above 0 the
 * second, 0 if they are the same. The deeper one is first: everything before
 * both was passed, so the shallower one has another parent. */
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

/* Go through the nodes of both in pre-order, and add to `tree` those that
 * `mode` selects. */
static int join_nodes(struct tree *tree,
                      enum mode mode,
                      const struct tree *a,
                      const struct tree *b,
                      const struct map *map_a,
                      const struct map *map_b,
                      const struct rivals *rivals)
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
        struct span ends[2] = {{0}, {0}};

        if (order <= 0) {
            *node = (struct tree_node){map_a->frames[na->frame], na->depth, 1,
                                       na->call_line};
            ends[0] = ends_take(a, ia++, &end_a, rivals->second);
        }
        if (order >= 0) {
            *node = (struct tree_node){
                map_b->frames[nb->frame], nb->depth, 1,
                order == 0 && na->call_line != nb->call_line ? 0
                                                             : nb->call_line};
            ends[1] = ends_take(b, ib++, &end_b, rivals->first);
        }
        if (mode == DIFFERENCE && order > 0)
            continue; /* only the older one has it */
        tree->node_count++;
        r = mode == JOIN ? ends_join(tree, ends[0], ends[1])
                         : ends_subtract(tree, ends[0], ends[1]);
    }
    return r;
}

/* Add one progress, unless `tasks` is empty; the set is taken. Equal progress
 * is merged. */
static int progress_add(struct tree *tree,
                        uint32_t moved,
                        uint32_t seen,
                        struct tasks *tasks)
{
    uint32_t count = tree->progress_count, i = 0;
    bool empty = tasks_is_empty(tasks);
    int r = 0;

    while (i < count &&
           (tree->progress[i].moved != moved || tree->progress[i].seen != seen))
        i++;
    if (!empty && i < count)
        r = tasks_change(&tree->progress[i].tasks, TASKS_UNION, tasks);
    else if (!empty)
        r = list_grow(&tree->progress, count, sizeof(*tree->progress));
    if (r == 0 && !empty && i == count)
        tree->progress[tree->progress_count++] =
            (struct tree_progress){moved, seen, tasks_ref(tasks)};
    tasks_free(tasks);
    return r;
}

/* Take the tasks of `mine` that `theirs` has too out of `*rest`. In a join they
 * get the higher numbers; in a difference they are kept if `mine` has a higher
 * number. */
static int progress_meet(struct tree *tree,
                         enum mode mode,
                         const struct tree_progress *mine,
                         const struct tree_progress *theirs,
                         struct tasks **rest)
{
    uint32_t moved = mine->moved;
    uint32_t seen = mine->seen;
    struct tasks *both;
    int r;

    if (!tasks_meet(*rest, theirs->tasks))
        return 0;
    r = tasks_combine(&both, TASKS_BOTH, *rest, theirs->tasks);
    if (r < 0)
        return r;
    r = tasks_change(rest, TASKS_MINUS, both);
    if (mode == DIFFERENCE && moved <= theirs->moved && seen <= theirs->seen) {
        tasks_free(both);
        return r;
    }
    if (mode == JOIN && theirs->moved > moved)
        moved = theirs->moved;
    if (mode == JOIN && theirs->seen > seen)
        seen = theirs->seen;
    if (r == 0)
        return progress_add(tree, moved, seen, both);
    tasks_free(both);
    return r;
}

static int by_progress(const void *a, const void *b)
{
    return tree_progress_compare(a, b);
}

/* Join or subtract the progress of both, as `mode` says. */
static int progress_merge(struct tree *tree,
                          enum mode mode,
                          const struct tree *a,
                          const struct tree *b)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < a->progress_count; i++) {
        const struct tree_progress *mine = &a->progress[i];
        struct tasks *rest = tasks_ref(mine->tasks);

        for (uint32_t k = 0; r == 0 && k < b->progress_count; k++)
            r = progress_meet(tree, mode, mine, &b->progress[k], &rest);
        if (r == 0)
            r = progress_add(tree, mine->moved, mine->seen, rest);
        else
            tasks_free(rest);
    }
    for (uint32_t i = 0; r == 0 && mode == JOIN && i < b->progress_count; i++) {
        const struct tree_progress *mine = &b->progress[i];
        struct tasks *rest = tasks_ref(mine->tasks);

        for (uint32_t k = 0; r == 0 && k < a->progress_count; k++)
            r = tasks_change(&rest, TASKS_MINUS, a->progress[k].tasks);
        if (r == 0)
            r = progress_add(tree, mine->moved, mine->seen, rest);
        else
            tasks_free(rest);
    }
    if (tree->progress_count)
        qsort(tree->progress, tree->progress_count, sizeof(*tree->progress),
              by_progress);
    return r;
}

/* Join or subtract the stops of both, as many as a tree keeps. */
static void stops_merge(struct tree *tree,
                        enum mode mode,
                        const struct tree *a,
                        const struct tree *b)
{
    uint32_t ia = 0, ib = 0;

    while ((ia < a->stop_count || ib < b->stop_count) &&
           tree->stop_count < TREE_STOPS_MAX) {
        const struct tree_stop *mine, *theirs;
        int order;

        mine = ia < a->stop_count ? &a->stops[ia] : NULL;
        theirs = ib < b->stop_count ? &b->stops[ib] : NULL;
        if (mine && theirs)
            order = tree_stop_compare(mine, theirs);
        else
            order = mine ? -1 : 1;
        ia += order <= 0;
        ib += order >= 0;
        if (order < 0 || (order == 0 && mine->us > theirs->us))
            tree->stops[tree->stop_count++] = *mine;
        else if (mode == JOIN)
            tree->stops[tree->stop_count++] = *theirs;
    }
}

/* Add the tasks that are in both sets to `*known`, which may be NULL. */
static int rivals_add(struct tasks **known, struct tasks *a, struct tasks *b)
{
    struct tasks *both;
    int r;

    if (!tasks_meet(a, b))
        return 0;
    r = tasks_combine(&both, TASKS_BOTH, a, b);
    if (r == 0 && *known)
        r = tasks_change(&both, TASKS_UNION, *known);
    if (r < 0)
        return r;
    tasks_free(*known);
    *known = both;
    return 0;
}

/* Find which tasks moved later in one of the trees. */
static int rivals_find(struct rivals *rivals,
                       const struct tree *a,
                       const struct tree *b)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < a->progress_count; i++) {
        const struct tree_progress *x = &a->progress[i];

        for (uint32_t k = 0; r == 0 && k < b->progress_count; k++) {
            const struct tree_progress *y = &b->progress[k];

            if (x->moved != y->moved)
                r = rivals_add(x->moved > y->moved ? &rivals->first
                                                   : &rivals->second,
                               x->tasks, y->tasks);
        }
    }
    return r;
}

/* Merge as `mode` says. Nodes without ends, and unused strings and frames may
 * remain. */
static int merge_loosely(struct tree **out,
                         enum mode mode,
                         const struct tree *a,
                         const struct tree *b)
{
    struct tree_size size = {
        .text_len = text_len(a) + text_len(b),
        .strings = (size_t)a->string_count + b->string_count,
        .frames = (size_t)a->frame_count + b->frame_count,
        .nodes = (size_t)a->node_count + b->node_count,
        .ends = (size_t)a->end_count + b->end_count,
        .stops = (size_t)a->stop_count + b->stop_count,
    };
    struct rivals rivals = {NULL, NULL};
    struct map map_a = {NULL, NULL};
    struct map map_b = {NULL, NULL};
    struct tree *tree = NULL;
    int r;

    r = tree_new(&tree, &size);
    if (r == 0)
        r = map_init(&map_a, a);
    if (r == 0)
        r = map_init(&map_b, b);
    if (r == 0)
        r = rivals_find(&rivals, a, b);
    if (r == 0)
        r = progress_merge(tree, mode, a, b);
    if (r < 0)
        goto out;
    stops_merge(tree, mode, a, b);
    join_strings(tree, a, b, &map_a, &map_b);
    join_frames(tree, a, b, &map_a, &map_b);
    r = join_nodes(tree, mode, a, b, &map_a, &map_b, &rivals);
    if (r < 0)
        goto out;
    if (mode == JOIN)
        tree->stop_ns = a->stop_ns > b->stop_ns ? a->stop_ns : b->stop_ns;
    else
        tree->stop_ns = a->stop_ns > b->stop_ns ? a->stop_ns : 0;
    *out = tree;
    tree = NULL;
out:
    tasks_free(rivals.first);
    tasks_free(rivals.second);
    map_fini(&map_a);
    map_fini(&map_b);
    tree_free(tree);
    return r;
}

/* Merge as `mode` says, without unused parts. */
static int merge_tidily(struct tree **out,
                        enum mode mode,
                        const struct tree *a,
                        const struct tree *b)
{
    struct tree *tree = NULL;
    int r;

    r = merge_loosely(&tree, mode, a, b);
    if (r < 0)
        return r;
    r = tree_tidy(tree);
    if (r < 0) {
        tree_free(tree);
        return r;
    }
    *out = tree;
    return 0;
}

int tree_join(struct tree **out, const struct tree *a, const struct tree *b)
{
    return merge_tidily(out, JOIN, a, b);
}

int tree_difference(struct tree **out,
                    const struct tree *newer,
                    const struct tree *older)
{
    return merge_tidily(out, DIFFERENCE, newer, older);
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
        r = tree_new(&empty, &(struct tree_size){0});
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
