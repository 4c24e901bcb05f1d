/* build.c - see build.h. */
#include "stat/tree/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat/intern.h"
#include "stat/list.h"
#include "stat/table.h"

/* Distinguishes siblings; padding is zero. */
struct place_key {
    uint64_t parent;
    struct interned *function;
    struct interned *file;
    struct interned *module;
    uint64_t offset;
    uint32_t line; /* 0 unless lines distinguish places */
    uint32_t not_walked;
};

struct place {
    UT_hash_handle hh;
    struct place_key key;
    uint32_t line;
    uint32_t last_line; /* of the frame added last */
    uint32_t call_line;
    uint32_t depth;
    uint32_t frame; /* its number in the tree, once that is made */
    uint32_t node;  /* the node's number, likewise */
};

struct build {
    bool by_line;
    struct interned *strings;
    struct place *hash;
    struct place **places;
    uint32_t place_count;
    struct tree_end *ends;
    uint32_t end_count;
    struct tree_progress *progress;
    uint32_t progress_count;
    struct tree_stop *stops;
    uint32_t stop_count;
};

int build_new(struct build **out, bool by_line)
{
    struct build *build = calloc(1, sizeof(*build));

    if (!build)
        return -ENOMEM;
    build->by_line = by_line;
    *out = build;
    return 0;
}

void build_free(struct build *build)
{
    if (!build)
        return;
    TABLE_FREE(build->hash);
    TABLE_FREE(build->strings);
    for (uint32_t i = 0; i < build->end_count; i++) {
        tasks_free(build->ends[i].tasks);
        tasks_free(build->ends[i].tids);
    }
    for (uint32_t i = 0; i < build->progress_count; i++)
        tasks_free(build->progress[i].tasks);
    free(build->places);
    free(build->ends);
    free(build->progress);
    free(build->stops);
    free(build);
}

/* Add a new place. */
static int place_add(struct build *build,
                     uint32_t *node,
                     const struct place_key *key,
                     const struct frame *frame,
                     uint32_t depth,
                     uint32_t call_line)
{
    struct place *place;

    if (list_grow(&build->places, build->place_count, sizeof(struct place *)) <
        0)
        return -ENOMEM;
    place = calloc(1, sizeof(*place));
    if (!place)
        return -ENOMEM;
    place->key = *key;
    place->line = frame->line;
    place->last_line = frame->line;
    place->call_line = call_line;
    place->depth = depth;
    place->node = build->place_count;
    HASH_ADD(hh, build->hash, key, sizeof(*key), place);
    if (!place->hh.tbl) {
        free(place);
        return -ENOMEM;
    }
    *node = build->place_count;
    build->places[build->place_count++] = place;
    return 0;
}

static int find_node(struct build *build,
                     uint32_t *node,
                     uint32_t parent,
                     const struct frame *frame,
                     bool by_line)
{
    const struct place *above =
        parent == BUILD_TOP ? NULL : build->places[parent];
    uint32_t depth = above ? above->depth + 1 : 0;
    uint32_t call_line = above ? above->last_line : 0;
    struct place_key key;
    struct place *place;

    if (depth >= TREE_DEPTH_MAX)
        return -E2BIG;
    memset(&key, 0, sizeof(key));
    key.parent = parent;
    key.function = intern(&build->strings, frame->function);
    key.file = intern(&build->strings, frame->file);
    key.module = intern(&build->strings, frame->module);
    key.offset = frame->offset;
    key.line = by_line ? frame->line : 0;
    key.not_walked = frame->not_walked;
    if (!key.function || !key.file || !key.module)
        return -ENOMEM;
    HASH_FIND(hh, build->hash, &key, sizeof(key), place);
    if (!place)
        return place_add(build, node, &key, frame, depth, call_line);
    if (place->line != frame->line)
        place->line = 0;
    if (place->call_line != call_line)
        place->call_line = 0;
    place->last_line = frame->line;
    *node = place->node;
    return 0;
}

int build_node(struct build *build,
               uint32_t *node,
               uint32_t parent,
               const struct frame *frame)
{
    return find_node(build, node, parent, frame, build->by_line);
}

int build_line(struct build *build,
               uint32_t *node,
               uint32_t parent,
               const struct frame *frame)
{
    return find_node(build, node, parent, frame, true);
}

void build_called(struct build *build, uint32_t node, uint32_t line)
{
    build->places[node]->call_line = line;
}

int build_end(struct build *build, const struct tree_end *end)
{
    if (list_grow(&build->ends, build->end_count, sizeof(*build->ends)) < 0)
        return -ENOMEM;
    build->ends[build->end_count] = *end;
    tasks_ref(end->tasks);
    tasks_ref(end->tids);
    build->end_count++;
    return 0;
}

int build_progress(struct build *build, const struct tree_progress *progress)
{
    if (list_grow(&build->progress, build->progress_count,
                  sizeof(*build->progress)) < 0)
        return -ENOMEM;
    build->progress[build->progress_count] = *progress;
    tasks_ref(build->progress[build->progress_count++].tasks);
    return 0;
}

int build_stop(struct build *build, const struct tree_stop *stop)
{
    if (list_grow(&build->stops, build->stop_count, sizeof(*build->stops)) < 0)
        return -ENOMEM;
    build->stops[build->stop_count++] = *stop;
    return 0;
}

static int by_text(const void *a, const void *b)
{
    const struct interned *const *x = a;
    const struct interned *const *y = b;

    return strcmp((*x)->text, (*y)->text);
}

/* Order of frames in a tree; the marks of strings are their numbers. */
static int by_frame(const void *a, const void *b)
{
    const struct place *x = *(struct place *const *)a;
    const struct place *y = *(struct place *const *)b;

    if (x->key.function != y->key.function)
        return x->key.function->mark < y->key.function->mark ? -1 : 1;
    if (x->key.file != y->key.file)
        return x->key.file->mark < y->key.file->mark ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->key.module != y->key.module)
        return x->key.module->mark < y->key.module->mark ? -1 : 1;
    if (x->key.offset != y->key.offset)
        return x->key.offset < y->key.offset ? -1 : 1;
    return (x->key.not_walked > y->key.not_walked) -
           (x->key.not_walked < y->key.not_walked);
}

/* Order by parent, then by frame: siblings are adjacent, in order. */
static int by_parent(const void *a, const void *b)
{
    const struct place *x = *(struct place *const *)a;
    const struct place *y = *(struct place *const *)b;

    if (x->key.parent != y->key.parent)
        return x->key.parent < y->key.parent ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

/* Number the strings in the order of a tree, and add them to it. */
static int put_strings(struct tree *tree, const struct build *build)
{
    size_t count = HASH_COUNT(build->strings), i = 0;
    struct interned **sorted = calloc(count + 1, sizeof(struct interned *));
    struct interned *string;
    char *text = tree->text;

    if (!sorted)
        return -ENOMEM;
    for (string = build->strings; string; string = string->hh.next)
        sorted[i++] = string;
    qsort(sorted, count, sizeof(struct interned *), by_text);
    for (i = 0; i < count; i++) {
        sorted[i]->mark = (uint32_t)i;
        tree->strings[i] = strcpy(text, sorted[i]->text);
        text += strlen(text) + 1;
    }
    tree->string_count = (uint32_t)count;
    free(sorted);
    return 0;
}

/* Number the frames of `sorted` places, and add each once. */
static void put_frames(struct tree *tree, struct place **sorted, uint32_t count)
{
    qsort(sorted, count, sizeof(struct place *), by_frame);
    for (uint32_t i = 0; i < count; i++) {
        const struct place *place = sorted[i];

        if (i == 0 || by_frame(&sorted[i - 1], &sorted[i]) != 0)
            tree->frames[tree->frame_count++] =
                (struct tree_frame){place->key.function->mark,
                                    place->key.file->mark,
                                    place->line,
                                    place->key.module->mark,
                                    place->key.offset,
                                    place->key.not_walked,
                                    note_read(place->key.function->text)};
        sorted[i]->frame = tree->frame_count - 1;
    }
}

/* Add the places as nodes in pre-order. For each place, `first` is where its
 * children begin in `sorted`. */
static void put_nodes(struct tree *tree,
                      const struct build *build,
                      struct place **sorted,
                      uint32_t count,
                      const uint32_t *first)
{
    uint32_t next[TREE_DEPTH_MAX + 1]; /* next sibling at each depth */
    uint32_t depth = 0;
    uint32_t above[TREE_DEPTH_MAX + 1]; /* parent at each depth */

    next[0] = first[count];
    above[0] = BUILD_TOP;
    for (;;) {
        struct place *place = next[depth] < count ? sorted[next[depth]] : NULL;
        uint32_t number, line = 0;

        if (!place || place->key.parent != above[depth]) {
            if (depth == 0)
                return;
            depth--;
            continue;
        }
        next[depth]++;
        number = place->node;
        place->node = tree->node_count;
        if (depth > 0 && build->places[above[depth]]->line == 0)
            line = place->call_line;
        tree->nodes[tree->node_count++] =
            (struct tree_node){place->frame, depth, 1, line};
        depth++;
        next[depth] = first[number];
        above[depth] = number;
    }
}

static int put_places(struct tree *tree, const struct build *build)
{
    uint32_t count = build->place_count, i;
    struct place **sorted = calloc((size_t)count + 1, sizeof(struct place *));
    uint32_t *first = calloc((size_t)count + 1, sizeof(*first));
    int r = -ENOMEM;

    if (!sorted || !first)
        goto out;
    for (i = 0; i < count; i++) {
        sorted[i] = build->places[i];
        sorted[i]->node = i;
    }
    put_frames(tree, sorted, count);
    qsort(sorted, count, sizeof(struct place *), by_parent);
    for (i = 0; i <= count; i++)
        first[i] = count;
    for (i = count; i-- > 0;) {
        uint64_t parent = sorted[i]->key.parent;

        first[parent == BUILD_TOP ? count : parent] = i;
    }
    put_nodes(tree, build, sorted, count, first);
    r = 0;
out:
    free(sorted);
    free(first);
    return r;
}

static int by_node(const void *a, const void *b)
{
    const struct tree_end *x = a;
    const struct tree_end *y = b;

    return (x->node > y->node) - (x->node < y->node);
}

/* Order with the heaviest first. */
static int by_weight(const void *a, const void *b)
{
    return tree_end_compare(b, a);
}

static int by_stop(const void *a, const void *b)
{
    return tree_stop_compare(a, b);
}

/* Add the stops that a tree keeps. */
static void put_stops(struct tree *tree, const struct build *build)
{
    if (build->stop_count == 0)
        return;
    memcpy(tree->stops, build->stops, build->stop_count * sizeof(*tree->stops));
    qsort(tree->stops, build->stop_count, sizeof(*tree->stops), by_stop);
    tree->stop_count =
        build->stop_count < TREE_STOPS_MAX ? build->stop_count : TREE_STOPS_MAX;
}

/* Add up a task's two ends at one node: no sample is in both, unless with
 * different threads. `end->tids` is borrowed, and replaced by a reference that
 * the caller owns. Returns 0 or -ENOMEM. */
static int end_sum(struct tree_end *end, const struct tree_end *other)
{
    struct tasks *tids = end->tids;
    int r = 0;

    end->samples += other->samples;
    if (end->current && other->current) {
        end->threads += other->threads;
        end->polls &= other->polls;
        if (end->still > other->still)
            end->still = other->still;
        end->tids = NULL;
        if (tids && other->tids)
            r = tasks_combine(&end->tids, TASKS_UNION, tids, other->tids);
    } else {
        if (other->current ||
            (!end->current && other->threads > end->threads)) {
            end->threads = other->threads;
            end->polls = other->polls;
            end->still = other->still;
            tids = other->tids;
        }
        end->tids = tasks_ref(tids);
    }
    end->current |= other->current;
    return r;
}

/* Add an end after those of its node, which begin at `first`. For tasks that
 * one of them has, both are summed. `set` is taken. */
static int put_end(struct tree *tree,
                   struct tree_end end,
                   struct tasks *set,
                   uint32_t first)
{
    uint32_t count = tree->end_count, i;
    struct tasks *both;
    int r = 0;

    for (i = first; r == 0 && i < count && tasks_count(set) > 0; i++) {
        struct tree_end sum = tree->ends[i];

        r = tasks_combine(&both, TASKS_BOTH, sum.tasks, set);
        if (r < 0)
            break;
        if (tasks_count(both) == 0) {
            tasks_free(both);
            continue;
        }
        r = end_sum(&sum, &end);
        if (r < 0) {
            tasks_free(both);
            break;
        }
        sum.tasks = both;
        tree->ends[tree->end_count++] = sum; /* reserve_ends() made room */
        r = tasks_change(&tree->ends[i].tasks, TASKS_MINUS, both);
        if (r == 0)
            r = tasks_change(&set, TASKS_MINUS, both);
    }
    if (r < 0 || tasks_count(set) == 0) {
        tasks_free(set);
        return r;
    }
    end.tasks = set;
    tasks_ref(end.tids);
    tree->ends[tree->end_count++] = end;
    return 0;
}

/* Sort the ends of one node, from number `first` on: the heaviest first; merge
 * those of equal weight, and drop those without tasks. */
static int order_ends(struct tree *tree, uint32_t first)
{
    uint32_t count = tree->end_count, kept = first, i;
    int r = 0;

    if (count > first)
        qsort(tree->ends + first, count - first, sizeof(*tree->ends),
              by_weight);
    for (i = first; i < count; i++) {
        struct tree_end *end = &tree->ends[i], *last = &tree->ends[kept - 1];

        if (tasks_count(end->tasks) == 0) {
            tasks_free(end->tasks);
            tasks_free(end->tids);
        } else if (kept > first && tree_end_compare(last, end) == 0) {
            if (r == 0)
                r = tasks_change(&last->tasks, TASKS_UNION, end->tasks);
            tasks_free(end->tasks);
            tasks_free(end->tids);
        } else {
            tree->ends[kept++] = *end;
        }
    }
    tree->end_count = kept;
    return r;
}

/* Make room for one more end of a node, which may overlap each other end. */
static int reserve_ends(struct tree *tree, size_t *room, uint32_t first)
{
    size_t here = tree->end_count - first;
    size_t most = tree->end_count + here + 2;
    struct tree_end *grown;

    if (most <= *room)
        return 0;
    grown = reallocarray(tree->ends, 2 * most, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    tree->ends = grown;
    *room = 2 * most;
    return 0;
}

static int put_ends(struct tree *tree, const struct build *build)
{
    uint32_t count = build->end_count, first = 0, i;
    struct tree_end *sorted = calloc((size_t)count + 1, sizeof(*sorted));
    struct tasks *known = NULL, *set;
    size_t room = count;
    int r;

    if (!sorted)
        return -ENOMEM;
    for (i = 0; i < count; i++) {
        sorted[i] = build->ends[i];
        sorted[i].node = build->places[sorted[i].node]->node;
    }
    qsort(sorted, count, sizeof(*sorted), by_node);
    r = tasks_new(&known, NULL, 0);
    for (i = 0; r == 0 && i < tree->progress_count; i++)
        r = tasks_change(&known, TASKS_UNION, tree->progress[i].tasks);
    for (i = 0; r == 0 && i < count; i++) {
        if (i == 0 || sorted[i].node != sorted[i - 1].node)
            first = tree->end_count;
        r = reserve_ends(tree, &room, first);
        if (r == 0)
            r = tasks_combine(&set, TASKS_BOTH, sorted[i].tasks, known);
        if (r == 0)
            r = put_end(tree, sorted[i], set, first);
        if (r == 0)
            r = order_ends(tree, first);
    }
    tasks_free(known);
    free(sorted);
    return r;
}

int build_tree(struct tree **out, const struct build *build, uint64_t stop_ns)
{
    struct tree_size size = {
        .strings = HASH_COUNT(build->strings),
        .frames = build->place_count,
        .nodes = build->place_count,
        .ends = build->end_count,
        .progress = build->progress_count,
        .stops = build->stop_count,
    };
    const struct interned *string;
    struct tree *tree = NULL;
    int r;

    for (string = build->strings; string; string = string->hh.next)
        size.text_len += strlen(string->text) + 1;
    r = tree_new(&tree, &size);
    if (r < 0)
        return r;
    put_stops(tree, build);
    for (uint32_t i = 0; i < build->progress_count; i++) {
        tree->progress[tree->progress_count++] = build->progress[i];
        tasks_ref(build->progress[i].tasks);
    }
    r = put_strings(tree, build);
    if (r == 0)
        r = put_places(tree, build);
    if (r == 0)
        r = put_ends(tree, build);
    if (r == 0)
        r = tree_tidy(tree);
    if (r < 0) {
        tree_free(tree);
        return r;
    }
    tree->stop_ns = stop_ns;
    *out = tree;
    return 0;
}
