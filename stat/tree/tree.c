/* tree.c - see tree.h. */
#include "stat/tree/tree.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int tree_new(struct tree **out, const struct tree_size *size)
{
    struct tree *tree = calloc(1, sizeof(*tree));

    if (!tree)
        return -ENOMEM;
    tree->text = malloc(size->text_len + 1);
    tree->strings = calloc(size->strings + 1, sizeof(*tree->strings));
    tree->frames = calloc(size->frames + 1, sizeof(*tree->frames));
    tree->nodes = calloc(size->nodes + 1, sizeof(*tree->nodes));
    tree->ends = calloc(size->ends + 1, sizeof(*tree->ends));
    tree->progress = calloc(size->progress + 1, sizeof(*tree->progress));
    tree->stops = calloc(size->stops + 1, sizeof(*tree->stops));
    if (!tree->text || !tree->strings || !tree->frames || !tree->nodes ||
        !tree->ends || !tree->progress || !tree->stops) {
        tree_free(tree);
        return -ENOMEM;
    }
    *out = tree;
    return 0;
}

void tree_free(struct tree *tree)
{
    if (!tree)
        return;
    for (uint32_t i = 0; tree->ends && i < tree->end_count; i++) {
        tasks_free(tree->ends[i].tasks);
        tasks_free(tree->ends[i].tids);
    }
    for (uint32_t i = 0; tree->progress && i < tree->progress_count; i++)
        tasks_free(tree->progress[i].tasks);
    free(tree->text);
    free(tree->strings);
    free(tree->frames);
    free(tree->nodes);
    free(tree->ends);
    free(tree->progress);
    free(tree->stops);
    free(tree);
}

int tree_frame_compare(const struct tree_frame *a, const struct tree_frame *b)
{
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a->not_walked - b->not_walked;
}

struct frame tree_frame(const struct tree *tree, uint32_t number)
{
    const struct tree_frame *frame = &tree->frames[number];

    return (struct frame){tree->strings[frame->function],
                          tree->strings[frame->file],
                          frame->line,
                          tree->strings[frame->module],
                          frame->offset,
                          frame->not_walked};
}

const char *tree_function(const struct tree *tree, uint32_t node)
{
    return tree->strings[tree->frames[tree->nodes[node].frame].function];
}

enum note_kind tree_note(const struct tree *tree, uint32_t node)
{
    return tree->frames[tree->nodes[node].frame].note.kind;
}

bool tree_is_not_walked(const struct tree *tree, uint32_t node)
{
    return tree->frames[tree->nodes[node].frame].not_walked;
}

int tree_end_compare(const struct tree_end *a, const struct tree_end *b)
{
    if (a->samples != b->samples)
        return a->samples < b->samples ? -1 : 1;
    if (a->threads != b->threads)
        return a->threads < b->threads ? -1 : 1;
    if (a->current != b->current)
        return a->current - b->current;
    if (a->polls != b->polls)
        return a->polls - b->polls;
    if (a->still != b->still)
        return a->still < b->still ? -1 : 1;
    if (!a->tids || !b->tids)
        return (a->tids != NULL) - (b->tids != NULL);
    return tasks_compare(a->tids, b->tids);
}

int tree_progress_compare(const struct tree_progress *a,
                          const struct tree_progress *b)
{
    if (a->moved != b->moved)
        return a->moved < b->moved ? -1 : 1;
    return (a->seen > b->seen) - (a->seen < b->seen);
}

/* Hash a number: the finaliser of MurmurHash3, which is a bijection. */
static uint32_t scatter(uint32_t number)
{
    number ^= number >> 16;
    number *= 0x85ebca6b;
    number ^= number >> 13;
    number *= 0xc2b2ae35;
    return number ^ number >> 16;
}

int tree_stop_compare(const struct tree_stop *a, const struct tree_stop *b)
{
    uint32_t x = scatter(a->task), y = scatter(b->task);

    return (x > y) - (x < y);
}

static int by_stop(const void *a, const void *b)
{
    return tree_stop_compare(a, b);
}

static int by_stop_us(const void *a, const void *b)
{
    const struct tree_stop *x = a;
    const struct tree_stop *y = b;

    return (x->us > y->us) - (x->us < y->us);
}

uint32_t tree_median_stop_us(const struct tree *tree)
{
    struct tree_stop stops[TREE_STOPS_MAX];
    uint32_t us;

    assert(tree->stop_count <= TREE_STOPS_MAX);
    if (tree->stop_count == 0)
        return 0;
    memcpy(stops, tree->stops, tree->stop_count * sizeof(*stops));
    qsort(stops, tree->stop_count, sizeof(*stops), by_stop_us);
    us = stops[(tree->stop_count - 1) / 2].us;
    /* Stop times are rounded up, but the longest one is not. */
    return us <= tree->stop_ns / 1000 ? us : (uint32_t)(tree->stop_ns / 1000);
}

/* Drop the nodes without an end at or below them. */
static void drop_nodes(struct tree *tree)
{
    uint32_t depth_wanted = 0; /* the next node one less deep is needed */
    uint32_t end = tree->end_count;
    uint32_t kept = tree->node_count;

    /* Backwards, so that a node's subtree is known before the node. The nodes
     * to keep gather at the back. */
    for (uint32_t i = tree->node_count; i-- > 0;) {
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
    for (uint32_t i = 0; i < tree->end_count; i++)
        tree->ends[i].node -= kept;
}

/* Drop the frames and strings that no node uses. Returns 0 or -ENOMEM. */
static int drop_frames(struct tree *tree)
{
    uint32_t *frames = calloc(tree->frame_count + 1, sizeof(*frames));
    uint32_t *strings = calloc(tree->string_count + 1, sizeof(*strings));
    char *text = tree->text;
    uint32_t kept = 0;
    int r = -ENOMEM;

    if (!frames || !strings)
        goto out;
    for (uint32_t i = 0; i < tree->node_count; i++)
        frames[tree->nodes[i].frame] = 1;
    for (uint32_t i = 0; i < tree->frame_count; i++) {
        if (!frames[i])
            continue;
        strings[tree->frames[i].function] = 1;
        strings[tree->frames[i].file] = 1;
        strings[tree->frames[i].module] = 1;
        frames[i] = kept;
        tree->frames[kept++] = tree->frames[i];
    }
    tree->frame_count = kept;
    for (uint32_t i = 0; i < tree->node_count; i++)
        tree->nodes[i].frame = frames[tree->nodes[i].frame];
    kept = 0;
    for (uint32_t i = 0; i < tree->string_count; i++) {
        size_t len = strlen(tree->strings[i]) + 1;

        if (!strings[i])
            continue;
        memmove(text, tree->strings[i], len);
        strings[i] = kept;
        tree->strings[kept++] = text;
        text += len;
    }
    tree->string_count = kept;
    for (uint32_t i = 0; i < tree->frame_count; i++) {
        tree->frames[i].function = strings[tree->frames[i].function];
        tree->frames[i].file = strings[tree->frames[i].file];
        tree->frames[i].module = strings[tree->frames[i].module];
    }
    r = 0;
out:
    free(frames);
    free(strings);
    return r;
}

/* Fill in the subtree sizes. */
static void fill_sizes(struct tree *tree)
{
    uint32_t above[TREE_DEPTH_MAX]; /* the last node at each depth */
    uint32_t open = 0;

    for (uint32_t i = 0; i <= tree->node_count; i++) {
        uint32_t depth = i < tree->node_count ? tree->nodes[i].depth : 0;

        assert(depth <= open && depth < TREE_DEPTH_MAX);
        while (open > depth) {
            open--;
            tree->nodes[above[open]].size = i - above[open];
        }
        above[open++] = i;
    }
}

int tree_tidy(struct tree *tree)
{
    int r;

    drop_nodes(tree);
    r = drop_frames(tree);
    fill_sizes(tree);
    return r;
}

bool tree_is_empty(const struct tree *tree)
{
    return tree->node_count == 0 && tree->progress_count == 0 &&
           tree->stop_count == 0 && tree->stop_ns == 0;
}

bool tree_equal(const struct tree *a, const struct tree *b)
{
    if (a->string_count != b->string_count || a->stop_ns != b->stop_ns ||
        a->frame_count != b->frame_count || a->node_count != b->node_count ||
        a->end_count != b->end_count ||
        a->progress_count != b->progress_count ||
        a->stop_count != b->stop_count ||
        memcmp(a->stops, b->stops, a->stop_count * sizeof(*a->stops)) != 0 ||
        memcmp(a->nodes, b->nodes, a->node_count * sizeof(*a->nodes)) != 0)
        return false;
    for (uint32_t i = 0; i < a->string_count; i++) {
        if (strcmp(a->strings[i], b->strings[i]) != 0)
            return false;
    }
    for (uint32_t i = 0; i < a->frame_count; i++) {
        if (tree_frame_compare(&a->frames[i], &b->frames[i]) != 0)
            return false;
    }
    for (uint32_t i = 0; i < a->end_count; i++) {
        if (a->ends[i].node != b->ends[i].node ||
            tree_end_compare(&a->ends[i], &b->ends[i]) != 0 ||
            !tasks_equal(a->ends[i].tasks, b->ends[i].tasks))
            return false;
    }
    for (uint32_t i = 0; i < a->progress_count; i++) {
        if (tree_progress_compare(&a->progress[i], &b->progress[i]) != 0 ||
            !tasks_equal(a->progress[i].tasks, b->progress[i].tasks))
            return false;
    }
    return true;
}

int tree_under(const struct tree *tree, struct tasks **sets)
{
    struct tasks *none = NULL;
    uint32_t end = tree->end_count;
    int r;

    r = tasks_new(&none, NULL, 0);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < tree->node_count; i++)
        sets[i] = tasks_ref(none);
    for (uint32_t i = tree->node_count; r == 0 && i-- > 0;) {
        uint32_t behind = i + tree->nodes[i].size;

        for (; r == 0 && end > 0 && tree->ends[end - 1].node == i; end--)
            r = tasks_change(&sets[i], TASKS_UNION, tree->ends[end - 1].tasks);
        for (uint32_t child = i + 1; r == 0 && child < behind;
             child += tree->nodes[child].size)
            r = tasks_change(&sets[i], TASKS_UNION, sets[child]);
    }
    for (uint32_t i = 0; r < 0 && i < tree->node_count; i++)
        tasks_free(sets[i]);
    tasks_free(none);
    return r;
}

/* A task's end with its full number of samples. */
struct settled {
    struct tree_end end;
    uint32_t order; /* among those of its node */
};

/* Order with the heaviest first. */
static int by_settled(const void *a, const void *b)
{
    const struct settled *x = a;
    const struct settled *y = b;
    int order = tree_end_compare(&y->end, &x->end);

    return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* Add the settled ends of one node to `tree`, which has the node. `list` has
 * room for each of them with each progress. */
static int settle_node(struct tree *tree,
                       uint32_t node,
                       const struct tree_end *ends,
                       size_t end_count,
                       struct settled *list)
{
    uint32_t first = tree->end_count;
    size_t count = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < end_count; i++) {
        for (uint32_t k = 0; r == 0 && k < tree->progress_count; k++) {
            const struct tree_progress *progress = &tree->progress[k];
            struct settled *at = &list[count];

            *at = (struct settled){ends[i], (uint32_t)count};
            if (at->end.current)
                at->end.samples += progress->seen - progress->moved;
            if (at->end.samples > progress->seen) /* sum over threads */
                at->end.samples = progress->seen;
            if (at->end.still > 0)
                at->end.still += progress->seen - progress->moved;
            if (at->end.still > progress->seen)
                at->end.still = progress->seen;
            r = tasks_combine(&at->end.tasks, TASKS_BOTH, ends[i].tasks,
                              progress->tasks);
            if (r == 0 && tasks_count(at->end.tasks) == 0)
                tasks_free(at->end.tasks);
            else if (r == 0)
                count++;
        }
    }
    if (count)
        qsort(list, count, sizeof(*list), by_settled);
    for (size_t i = 0; i < count; i++) {
        struct tree_end *last =
            tree->end_count > first ? &tree->ends[tree->end_count - 1] : NULL;

        if (r == 0 && last && tree_end_compare(last, &list[i].end) == 0) {
            r = tasks_change(&last->tasks, TASKS_UNION, list[i].end.tasks);
            tasks_free(list[i].end.tasks);
        } else {
            list[i].end.node = node;
            tasks_ref(list[i].end.tids);
            tree->ends[tree->end_count++] = list[i].end;
        }
    }
    return r;
}

int tree_settle(struct tree **out, const struct tree *tree)
{
    struct tree none = {0};
    struct settled *list = NULL;
    struct tree *settled = NULL;
    struct tree_end *ends;
    uint32_t next = 0;
    size_t most = ((size_t)tree->end_count + 1) * (tree->progress_count + 1);
    int r;

    r = tree_join(&settled, tree, &none);
    if (r < 0)
        return r;
    list = calloc(most, sizeof(*list));
    ends = reallocarray(settled->ends, most, sizeof(*ends));
    if (ends)
        settled->ends = ends;
    for (uint32_t i = 0; i < settled->end_count; i++) {
        tasks_free(settled->ends[i].tasks);
        tasks_free(settled->ends[i].tids);
    }
    settled->end_count = 0;
    r = list && ends ? 0 : -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < tree->node_count; i++) {
        uint32_t first = next;

        while (next < tree->end_count && tree->ends[next].node == i)
            next++;
        r = settle_node(settled, i, tree->ends + first, next - first, list);
    }
    free(list);
    if (r < 0) {
        tree_free(settled);
        return r;
    }
    *out = settled;
    return 0;
}

uint32_t tree_samples(const struct tree *tree)
{
    uint32_t last = 0, i;

    for (i = 0; i < tree->progress_count; i++)
        if (tree->progress[i].seen > last)
            last = tree->progress[i].seen;
    return last;
}

int tree_moved(struct tasks **out, const struct tree *tree, uint32_t sample)
{
    struct tasks *moved = NULL;
    int r = tasks_new(&moved, NULL, 0);

    for (uint32_t i = 0; r == 0 && i < tree->progress_count; i++)
        if (tree->progress[i].moved > sample)
            r = tasks_change(&moved, TASKS_UNION, tree->progress[i].tasks);
    if (r < 0) {
        tasks_free(moved);
        return r;
    }
    *out = moved;
    return 0;
}

int64_t tree_unmoved(const struct tree *tree, struct tasks *tasks)
{
    int64_t least = 0;

    for (uint32_t i = 0; i < tree->progress_count; i++) {
        const struct tree_progress *progress = &tree->progress[i];
        int64_t unmoved = (int64_t)progress->seen - progress->moved + 1;
        struct tasks *both;
        int r;

        r = tasks_combine(&both, TASKS_BOTH, progress->tasks, tasks);
        if (r < 0)
            return r;
        if (tasks_count(both) > 0 && (least == 0 || unmoved < least))
            least = unmoved;
        tasks_free(both);
    }
    return least;
}

int tree_tasks(struct tasks **out, const struct tree *tree)
{
    struct tasks *all = NULL;
    int r;

    r = tasks_new(&all, NULL, 0);
    for (uint32_t i = 0; r == 0 && i < tree->end_count; i++)
        r = tasks_change(&all, TASKS_UNION, tree->ends[i].tasks);
    if (r < 0) {
        tasks_free(all);
        return r;
    }
    *out = all;
    return 0;
}

static int by_address(const void *a, const void *b)
{
    const struct tasks ***x = (const struct tasks ***)(uintptr_t)a;
    const struct tasks ***y = (const struct tasks ***)(uintptr_t)b;

    return (**x > **y) - (**x < **y);
}

/* Renumber the sets at `count` places; equal addresses are neighbours. */
static int renumber_sets(struct tasks **const *places,
                         size_t count,
                         const uint32_t *numbers,
                         uint32_t number_count)
{
    struct tasks *old = NULL, *new = NULL;
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++) {
        if (*places[i] != old) {
            tasks_free(old);
            tasks_free(new);
            old = tasks_ref(*places[i]);
            new = NULL;
            r = tasks_last(old) < number_count
                    ? tasks_renumber(&new, old, numbers)
                    : -EBADMSG;
        }
        if (r == 0) {
            tasks_free(*places[i]);
            *places[i] = tasks_ref(new);
        }
    }
    tasks_free(old);
    tasks_free(new);
    return r;
}

int tree_renumber(struct tree *tree, const uint32_t *numbers, uint32_t count)
{
    size_t sets = (size_t)tree->end_count + tree->progress_count, i;
    struct tasks ***places = calloc(sets + 1, sizeof(*places));
    int r;

    if (!places)
        return -ENOMEM;
    for (i = 0; i < sets; i++)
        places[i] = i < tree->end_count
                        ? &tree->ends[i].tasks
                        : &tree->progress[i - tree->end_count].tasks;
    qsort(places, sets, sizeof(*places), by_address);
    r = renumber_sets(places, sets, numbers, count);
    free(places);
    for (i = 0; r == 0 && i < tree->stop_count; i++) {
        if (tree->stops[i].task >= count)
            return -EBADMSG;
        tree->stops[i].task = numbers[tree->stops[i].task];
    }
    qsort(tree->stops, tree->stop_count, sizeof(*tree->stops), by_stop);
    return r;
}
