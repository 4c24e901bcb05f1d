/* edges.c - see edges.h. */
#include "stat/show/edges.h"

#include <errno.h>
#include <stdlib.h>

#include "stat/list.h"

/* No walk along the edges has come there yet. */
#define UNSEEN 0

static struct note note_of(const struct tree *tree, uint32_t node)
{
    return tree->frames[tree->nodes[node].frame].note;
}

static int by_edge(const void *a, const void *b)
{
    const struct edge *x = a;
    const struct edge *y = b;

    if (x->threads != y->threads)
        return x->threads < y->threads ? -1 : 1;
    if (x->task != y->task)
        return x->task < y->task ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

/* Add an edge for each of `tasks`. Returns 0 or -ENOMEM. */
static int add_edges(struct edge **edges,
                     size_t *count,
                     const struct edge *edge,
                     const struct tasks *tasks)
{
    struct tasks_cursor at = tasks_begin(tasks);

    while (*count < EDGES_MAX && tasks_next(&at)) {
        for (uint32_t task = at.range.first;
             task <= at.range.last && *count < EDGES_MAX; task++) {
            if (list_grow(edges, *count, sizeof(*edge)) < 0)
                return -ENOMEM;
            (*edges)[*count] = *edge;
            (*edges)[(*count)++].task = task;
        }
    }
    return 0;
}

int edges_find(struct edge **out, size_t *count, const struct tree *tree)
{
    uint32_t above[TREE_DEPTH_MAX], node, end = 0;
    struct edge *edges = NULL;
    int r = 0;

    *count = 0;
    for (node = 0; r == 0 && node < tree->node_count; node++) {
        struct note note = note_of(tree, node), tag = {NOTE_NONE, {0, 0}};
        struct edge edge = {.node = node, .receives = note.kind == NOTE_FROM};
        uint32_t depth = tree->nodes[node].depth;
        uint32_t behind = node + tree->nodes[node].size;

        above[depth] = node;
        while (end < tree->end_count && tree->ends[end].node < node)
            end++;
        if (note.kind != NOTE_THREAD && note.kind != NOTE_FROM &&
            note.kind != NOTE_TO)
            continue;
        edge.threads = note.kind == NOTE_THREAD;
        edge.from = edge.threads ? note.numbers[0] : 0;
        edge.to = note.numbers[edge.threads];
        if (depth > 0 && !edge.threads)
            tag = note_of(tree, above[depth - 1]);
        edge.tagged = tag.kind == NOTE_TAG;
        edge.tag = tag.numbers[0];
        /* A note such as "[running]" may be below it. */
        for (; r == 0 && end < tree->end_count && tree->ends[end].node < behind;
             end++)
            if (tree->ends[end].current)
                r = add_edges(&edges, count, &edge, tree->ends[end].tasks);
    }
    if (r < 0) {
        free(edges);
        return r;
    }
    if (*count > 0)
        qsort(edges, *count, sizeof(*edges), by_edge);
    *out = edges;
    return 0;
}

/* The edge of the thread or task that `edge` waits for; `count` if that does
 * not wait. */
static size_t next_edge(const struct edge *edges,
                        size_t count,
                        const struct edge *edge)
{
    struct edge wanted = {.threads = edge->threads,
                          .task =
                              edge->threads ? edge->task : (uint32_t)edge->to,
                          .from = edge->threads ? edge->to : 0};
    const struct edge *found =
        count ? bsearch(&wanted, edges, count, sizeof(wanted), by_edge) : NULL;

    return found ? (size_t)(found - edges) : count;
}

/* Find where each edge leads: to an edge without a next one, or to a cycle,
 * represented by one of its edges. `seen` is all 0, and `path` has room for
 * `count`. */
static void follow(size_t *ends,
                   bool *circles,
                   size_t *seen,
                   size_t *path,
                   const struct edge *edges,
                   size_t count)
{
    size_t at, len;

    for (size_t first = 0; first < count; first++) {
        size_t end;
        bool circle;

        for (at = first, len = 0; at < count && seen[at] == UNSEEN; len++) {
            seen[at] = first + 1;
            path[len] = at;
            at = next_edge(edges, count, &edges[at]);
        }
        if (len == 0)
            continue;
        circle = at < count && (seen[at] == first + 1 || circles[at]);
        end = at == count             ? path[len - 1]
              : seen[at] == first + 1 ? at
                                      : ends[at];
        for (size_t i = 0; i < len; i++) {
            ends[path[i]] = end;
            circles[path[i]] = circle;
        }
    }
}

/* The arguments of follow(). */
struct following {
    size_t *ends;
    size_t *seen;
    size_t *path;
    bool *circles;
};

static void following_fini(struct following *following)
{
    free(following->ends);
    free(following->seen);
    free(following->path);
    free(following->circles);
}

static int following_init(struct following *following,
                          const struct edge *edges,
                          size_t count)
{
    following->ends = calloc(count + 1, sizeof(size_t));
    following->seen = calloc(count + 1, sizeof(size_t));
    following->path = calloc(count + 1, sizeof(size_t));
    following->circles = calloc(count + 1, sizeof(bool));
    if (!following->ends || !following->seen || !following->path ||
        !following->circles) {
        following_fini(following);
        return -ENOMEM;
    }
    follow(following->ends, following->circles, following->seen,
           following->path, edges, count);
    return 0;
}

int edges_circle(size_t **circle, const struct edge *edges, size_t count)
{
    struct following following = {NULL, NULL, NULL, NULL};
    size_t *found = calloc(count + 1, sizeof(*found));
    size_t begin = count, at, len = 0;
    int r = found ? following_init(&following, edges, count) : -ENOMEM;

    for (at = 0; r == 0 && begin == count && at < count; at++)
        if (following.circles[at])
            begin = following.ends[at];
    if (r == 0 && begin < count) {
        at = begin;
        do {
            found[len++] = at;
            at = next_edge(edges, count, &edges[at]);
        } while (at != begin);
    }
    following_fini(&following);
    if (r < 0 || len == 0) {
        free(found);
        return r;
    }
    *circle = found;
    return (int)len;
}

static int by_number(const void *a, const void *b)
{
    const size_t *x = a;
    const size_t *y = b;

    return (*x > *y) - (*x < *y);
}

int edges_chain(uint32_t *last,
                size_t *waiting,
                const struct edge *edges,
                size_t count)
{
    struct following following = {NULL, NULL, NULL, NULL};
    size_t i, run = 0, most = 0, best = 0;
    bool circle = false;
    int r;

    if (count == 0)
        return 0;
    r = following_init(&following, edges, count);
    if (r < 0)
        return r;
    /* Replace the last edge by the rank that it leads to, as several edges may
     * lead to one rank. */
    for (i = 0; i < count; i++)
        following.seen[i] = following.circles[i]
                                ? 2 * (size_t)edges[following.ends[i]].task + 1
                                : 2 * (size_t)edges[following.ends[i]].to;
    qsort(following.seen, count, sizeof(size_t), by_number);
    for (i = 0; i < count; i++) {
        run = i > 0 && following.seen[i] == following.seen[i - 1] ? run + 1 : 1;
        if (run > most) {
            most = run;
            best = following.seen[i];
        }
    }
    circle = best & 1;
    following_fini(&following);
    *last = (uint32_t)(best / 2);
    *waiting = most;
    return circle ? 2 : 1;
}

/* Find the edge with an odd tag among those that receive, or those that send. */
static const struct edge *odd_tag_of(int32_t *others,
                                     const struct edge *edges,
                                     size_t count,
                                     bool receives)
{
    const struct edge *odd = NULL;
    int32_t first[3] = {0, 0, 0};
    size_t same = 0, differ = 0, i;

    for (i = 0; i < count; i++) {
        if (edges[i].receives != receives)
            continue;
        if (!edges[i].tagged)
            return NULL;
        if (same < 3)
            first[same] = edges[i].tag;
        same++;
    }
    if (same < 3)
        return NULL;
    /* If there is an odd tag, two of the first three have the common one. */
    *others =
        first[0] == first[1] || first[0] == first[2] ? first[0] : first[1];
    for (i = 0; i < count; i++)
        if (edges[i].receives == receives && edges[i].tag != *others) {
            odd = &edges[i];
            differ++;
        }
    return differ == 1 ? odd : NULL;
}

const struct edge *edges_odd_tag(int32_t *others,
                                 const struct edge *edges,
                                 size_t count)
{
    const struct edge *odd = odd_tag_of(others, edges, count, true);

    return odd ? odd : odd_tag_of(others, edges, count, false);
}

/* Tasks in a row and their class. */
struct span {
    struct tasks_range range;
    size_t class;
};

static int by_span(const void *a, const void *b)
{
    const struct span *x = a;
    const struct span *y = b;

    return (x->range.first > y->range.first) -
           (x->range.first < y->range.first);
}

/* Find the spans of all classes, ascending. Returns 0 or -ENOMEM. */
static int find_spans(struct span **out,
                      size_t *count,
                      const struct classes *classes)
{
    struct span *spans = NULL;
    struct tasks_cursor at;
    size_t made = 0, i;
    int r = 0;

    for (i = 0; i < classes->count; i++)
        for (at = tasks_begin(classes->sets[i]); r == 0 && tasks_next(&at);) {
            r = list_grow(&spans, made, sizeof(*spans));
            if (r == 0)
                spans[made++] = (struct span){at.range, i};
        }
    if (made > 0)
        qsort(spans, made, sizeof(*spans), by_span);
    *out = spans;
    *count = made;
    return r;
}

/* The class of `task`; `none` if it is in none. */
static size_t class_of(const struct span *spans,
                       size_t count,
                       uint32_t task,
                       size_t none)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (spans[middle].range.last < task)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && spans[low].range.first <= task ? spans[low].class
                                                         : none;
}

/* One edge with its classes. */
struct link {
    size_t from;
    size_t to;
    const struct edge *edge;
};

static int by_link(const void *a, const void *b)
{
    const struct link *x = a;
    const struct link *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->edge->receives - y->edge->receives;
}

/* Make the set of the waiting tasks, or of those that they wait for. Returns 0
 * or -ENOMEM. */
static int make_set(struct tasks **out,
                    struct tasks_range *ranges,
                    const struct link *links,
                    size_t count,
                    bool wanted)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t task =
            wanted ? (uint32_t)links[i].edge->to : links[i].edge->task;

        ranges[i] = (struct tasks_range){task, task};
    }
    return tasks_new(out, ranges, count);
}

void edges_classes_free(struct class_edge *list, size_t count)
{
    for (size_t i = 0; list && i < count; i++) {
        tasks_free(list[i].waiting);
        tasks_free(list[i].wanted);
    }
    free(list);
}

/* Merge sorted links. Returns the number of edges in `list`, or -ENOMEM; `list`
 * must be freed even then. */
static long put_links(struct class_edge *list,
                      const struct link *links,
                      size_t count)
{
    struct tasks_range *ranges = calloc(count + 1, sizeof(*ranges));
    size_t i;
    long made = 0;
    int r = ranges ? 0 : -ENOMEM;

    for (size_t first = 0; r == 0 && first < count; first = i) {
        struct class_edge *at = &list[made++];

        for (i = first; i < count && by_link(&links[first], &links[i]) == 0;)
            i++;
        at->from = links[first].from;
        at->to = links[first].to;
        at->node = links[first].edge->node;
        at->receives = links[first].edge->receives;
        r = make_set(&at->waiting, ranges, links + first, i - first, false);
        if (r == 0)
            r = make_set(&at->wanted, ranges, links + first, i - first, true);
    }
    free(ranges);
    return r < 0 ? r : made;
}

int edges_classes(struct class_edge **out,
                  size_t *out_count,
                  const struct edge *edges,
                  size_t count,
                  const struct classes *classes)
{
    struct class_edge *list = calloc(count + 1, sizeof(*list));
    struct link *links = calloc(count + 1, sizeof(*links));
    struct span *spans = NULL;
    size_t span_count = 0, made = 0, i;
    long r = list && links ? find_spans(&spans, &span_count, classes) : -ENOMEM;

    for (i = 0; r == 0 && i < count; i++) {
        const struct edge *edge = &edges[i];

        if (!edge->threads && (uint32_t)edge->to < TASKS_MAX)
            links[made++] = (struct link){
                class_of(spans, span_count, edge->task, classes->count),
                class_of(spans, span_count, (uint32_t)edge->to, classes->count),
                edge};
    }
    if (r == 0) {
        qsort(links, made, sizeof(*links), by_link);
        r = put_links(list, links, made);
    }
    free(spans);
    free(links);
    if (r < 0) {
        edges_classes_free(list, count);
        return (int)r;
    }
    *out = list;
    *out_count = (size_t)r;
    return 0;
}
