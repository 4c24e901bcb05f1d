/* movers.c - see movers.h. */
#include "stat/show/movers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "stat/show/columns.h"
#include "stat/show/picture.h"
#include "stat/walk/runtime.h"

/* What is found below one node of the top level. */
struct below {
    uint32_t first; /* nodes, in pre-order */
    uint32_t last;
    uint64_t samples; /* sum over all tasks */
    bool any;
};

/* Whether a thread that was always at this end stands still. If the look does
 * not say so, it does if it sleeps, or waits in a call of a runtime. */
static bool is_still(const struct report *report, const struct tree_end *end)
{
    if (end->samples < report->source.samples || end->still > 0)
        return end->samples >= report->source.samples && end->still > 1;
    return runtime_is_call(report->tree, report->shown[end->node]) ||
           tree_note(report->tree, end->node) != NOTE_RUNNING;
}

/* Find where the movers' threads that say as much as `says` were below the
 * top-level node `top`. */
static int find_below(struct below *out,
                      const struct report *report,
                      struct tasks *movers,
                      uint32_t top,
                      unsigned char says,
                      bool still_too)
{
    const struct tree *tree = report->tree;
    uint32_t behind = top + tree->nodes[top].size, node = top, end;

    *out = (struct below){.any = false};
    for (; node < behind; node++) {
        for (end = report->first_end[node];
             end < tree->end_count && tree->ends[end].node == node; end++) {
            struct tasks *both;
            int r;

            if (report->classes->says[report->shown[node]] < says ||
                (!still_too && is_still(report, &tree->ends[end])))
                continue;
            r = tasks_combine(&both, TASKS_BOTH, tree->ends[end].tasks, movers);
            if (r < 0)
                return r;
            if (tasks_count(both) > 0) {
                if (!out->any)
                    out->first = report->shown[node];
                out->last = report->shown[node];
                out->samples +=
                    (uint64_t)tree->ends[end].samples * tasks_count(both);
                out->any = true;
            }
            tasks_free(both);
        }
    }
    return 0;
}

/* The deepest node below `top` with both `first` and `last` at or below it;
 * with a source, if there is one. */
static uint32_t common_node(const struct report *report,
                            uint32_t top,
                            const struct below *below)
{
    const struct tree *tree = report->tree;
    uint32_t node = top, found = top, next;

    for (;;) {
        if (report_file(report, node)[0])
            found = node;
        next = node + 1;
        while (next <= below->last &&
               next + tree->nodes[next].size <= below->first)
            next += tree->nodes[next].size;
        if (node == below->first || next > below->first ||
            next + tree->nodes[next].size <= below->last)
            return found;
        node = next;
    }
}

/* Find the deepest such place below any top-level node. */
static int find_deepest(uint32_t *out,
                        const struct report *report,
                        struct tasks *movers,
                        unsigned char says,
                        bool still_too)
{
    const struct tree *tree = report->tree;
    bool found = false;
    uint32_t node;

    for (uint32_t top = 0; top < tree->node_count;
         top += tree->nodes[top].size) {
        struct below below;
        int r;

        if (tree_is_not_walked(tree, top) || runtime_is_own(tree, top))
            continue;
        r = find_below(&below, report, movers, top, says, still_too);
        if (r < 0)
            return r;
        /* A thread that was elsewhere for a while has left this place. */
        if (!below.any || below.samples < (uint64_t)report->source.samples *
                                              tasks_count(movers))
            continue;
        node = common_node(report, top, &below);
        if (tree_note(tree, node) != NOTE_NONE)
            continue;
        if (!found || tree->nodes[node].depth > tree->nodes[*out].depth)
            *out = node;
        found = true;
    }
    return found;
}

/* Whether two nodes of two trees are the same function. */
static bool is_same(const struct report *a,
                    uint32_t node_a,
                    const struct report *b,
                    uint32_t node_b)
{
    return strcmp(report_function(a, node_a), report_function(b, node_b)) ==
               0 &&
           strcmp(report_path(a, node_a), report_path(b, node_b)) == 0;
}

/* Find a sibling from `first` on, before `behind`, that is the same function as
 * node `wanted` of `past`. Returns how many there are. */
static unsigned find_same(uint32_t *found,
                          const struct report *report,
                          uint32_t first,
                          uint32_t behind,
                          const struct report *past,
                          uint32_t wanted)
{
    unsigned count = 0;

    for (; first < behind; first += report->tree->nodes[first].size) {
        if (!is_same(report, first, past, wanted))
            continue;
        *found = first;
        count++;
    }
    return count;
}

/* Find the place in `report` of node `*node` of `past`. If it is missing, or
 * several siblings match, use the nearest node above that has a source. Returns
 * whether there is one. */
static bool find_again(uint32_t *node,
                       const struct report *report,
                       const struct report *past)
{
    const struct tree *tree = past->tree;
    uint32_t path[TREE_DEPTH_MAX], at = *node, first = 0, found;
    uint32_t behind = report->tree->node_count, depth = tree->nodes[at].depth;
    bool any = false;

    for (uint32_t i = depth + 1; i-- > 0; at = past->above[at])
        path[i] = at;
    for (uint32_t i = 0; i <= depth; i++) {
        if (find_same(&found, report, first, behind, past, path[i]) != 1)
            break;
        if (report_file(report, found)[0]) {
            *node = found;
            any = true;
        }
        first = found + 1;
        behind = found + report->tree->nodes[found].size;
    }
    return any;
}

int movers_never_left(uint32_t *node, const struct report *report, size_t class)
{
    const struct report *past = report->source.past;
    const struct report *known = past ? past : report;
    const struct classes *classes = report->classes;
    struct tasks *movers = NULL;
    unsigned char says;
    int r;

    if (report->source.never_left) {
        *node = class < report->source.never_left_count
                    ? report->source.never_left[class]
                    : UINT32_MAX;
        return *node != UINT32_MAX;
    }
    if (report->source.samples < 2 || (report->source.present_only && !past) ||
        (class >= MOVERS_CLASSES && class + 1 < classes->count))
        return 0;
    says = classes->says[classes->ends[class][0]];
    r = tree_moved(&movers, known->tree, 1); /* since they were first seen */
    if (r == 0)
        r = tasks_change(&movers, TASKS_BOTH, classes->sets[class]);
    if (r == 0 && tasks_count(movers) > 0)
        r = find_deepest(node, known, movers, says, false);
    if (r == 0 && tasks_count(movers) > 0)
        r = find_deepest(node, known, movers, says, true);
    tasks_free(movers);
    return r > 0 && past ? find_again(node, report, past) : r;
}

int movers_note(char **out, const struct report *report, size_t class)
{
    struct tasks *tasks = report->classes->sets[class];
    const struct report_source *source = &report->source;
    uint32_t still = report_unchanged(report, tasks), of = 0, node;
    int times = 0, r;

    *out = strdup("");
    if (source->samples < 2 || !*out)
        return *out ? 0 : -ENOMEM;
    if (still > 0) {
        *out = columns_append(*out, "unchanged for %u samples, %.1f s", still,
                              (double)(still - 1) * source->interval_ms / 1000);
        return *out ? 0 : -ENOMEM;
    }
    if (source->history)
        times = history_times(source->history, tasks, &of);
    r = times < 0 ? times : movers_never_left(&node, report, class);
    if (r >= 0 && of > 0)
        *out = columns_append(*out, "moved in %d of the last %u samples", times,
                              of);
    if (r > 0) {
        *out =
            columns_append(*out, "%snever seen outside ", of > 0 ? ", " : "");
        *out = picture_append(*out, report, node);
    }
    if (r >= 0)
        r = *out ? 0 : -ENOMEM;
    if (r < 0) {
        free(*out);
        *out = NULL;
    }
    return r;
}
