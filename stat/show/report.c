/* report.c - see report.h. */
#include "stat/show/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stat/list.h"
#include "stat/show/columns.h"
#include "stat/show/folders.h"
#include "stat/show/judgement.h"
#include "stat/show/threads.h"
#include "stat/walk/runtime.h"

const char *report_noun(const struct report *report)
{
    return targets_noun(report->source.targets);
}

const char *report_function(const struct report *report, uint32_t node)
{
    return tree_function(report->tree, node);
}

const char *report_file(const struct report *report, uint32_t node)
{
    uint32_t string =
        report->tree->frames[report->tree->nodes[node].frame].file;

    return report->tree->strings[string] + report->folders[string];
}

const char *report_path(const struct report *report, uint32_t node)
{
    const struct tree *tree = report->tree;

    return tree->strings[tree->frames[tree->nodes[node].frame].file];
}

uint32_t report_line(const struct report *report, uint32_t node)
{
    const struct tree *tree = report->tree;

    return tree->frames[tree->nodes[node].frame].line;
}

uint32_t report_top(const struct report *report, uint32_t node)
{
    while (report->tree->nodes[node].depth > 0)
        node = report->above[node];
    return node;
}

const char *report_caller(uint32_t *line,
                          const struct report *report,
                          uint32_t node)
{
    *line = report->tree->nodes[node].call_line;
    return *line == 0 || report_file(report, node)[0]
               ? ""
               : report_file(report, report->above[node]);
}

/* Find the parent of each node. */
static void find_above(struct report *report)
{
    const struct tree *tree = report->tree;
    uint32_t above[TREE_DEPTH_MAX];

    for (uint32_t node = 0; node < tree->node_count; node++) {
        uint32_t depth = tree->nodes[node].depth;

        above[depth] = node;
        report->above[node] = depth > 0 ? above[depth - 1] : node;
    }
}

/* Find the nodes inside a runtime. */
static void find_shown(struct report *report)
{
    if (!report->source.full) {
        runtime_places(report->shown, report->tree);
        return;
    }
    for (uint32_t node = 0; node < report->tree->node_count; node++)
        report->shown[node] = node;
}

uint64_t report_threads_here(const struct report *report, uint32_t node)
{
    const struct tree *tree = report->tree;
    uint64_t count = 0;

    for (uint32_t end = report->first_end[node];
         end < tree->end_count && tree->ends[end].node == node; end++)
        if (tree->ends[end].current && !tree_is_not_walked(tree, node))
            count += (uint64_t)tree->ends[end].threads *
                     tasks_count(tree->ends[end].tasks);
    return count;
}

/* Count the threads at and below each node. */
static void count_threads(struct report *report)
{
    const struct tree_node *nodes = report->tree->nodes;

    for (uint32_t node = report->tree->node_count; node-- > 0;) {
        report->threads[node] = report_threads_here(report, node);
        for (uint32_t child = node + 1; child < node + nodes[node].size;
             child += nodes[child].size)
            report->threads[node] += report->threads[child];
    }
}

/* Order by task. `threads` is the difference from the previous task here. */
static int by_from(const void *a, const void *b)
{
    const struct report_piece *x = a;
    const struct report_piece *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

/* Add a piece. Returns 0 or -ENOMEM. */
static int add_piece(struct report_piece **pieces,
                     size_t *count,
                     uint32_t from,
                     uint64_t threads)
{
    if (list_grow(pieces, *count, sizeof(**pieces)) < 0)
        return -ENOMEM;
    (*pieces)[(*count)++] = (struct report_piece){from, threads};
    return 0;
}

/* Find how many threads each task has. Returns 0 or -ENOMEM. */
static int find_pieces(struct report *report)
{
    const struct tree *tree = report->tree;
    struct report_piece *pieces = NULL;
    size_t count = 0, kept = 0, i;
    int r = 0;

    for (uint32_t end = 0; r == 0 && end < tree->end_count; end++) {
        struct tasks_cursor at = tasks_begin(tree->ends[end].tasks);
        uint64_t threads = tree->ends[end].threads;

        if (!tree->ends[end].current ||
            tree_is_not_walked(tree, tree->ends[end].node))
            continue;
        while (r == 0 && tasks_next(&at)) {
            r = add_piece(&pieces, &count, at.range.first, threads);
            if (r == 0)
                r = add_piece(&pieces, &count, at.range.last + 1, 0 - threads);
        }
    }
    if (count > 0)
        qsort(pieces, count, sizeof(*pieces), by_from);
    for (i = 0; i < count; i++) {
        uint64_t before = kept > 0 ? pieces[kept - 1].threads : 0;

        if (kept > 0 && pieces[kept - 1].from == pieces[i].from)
            pieces[kept - 1].threads += pieces[i].threads;
        else
            pieces[kept++] = (struct report_piece){pieces[i].from,
                                                   before + pieces[i].threads};
    }
    report->pieces = pieces;
    report->piece_count = kept;
    return r;
}

/* The last piece at or before `task`; 0 if none. */
static size_t piece_of(const struct report *report, uint32_t task)
{
    size_t low = 0, high = report->piece_count;

    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;

        if (report->pieces[middle].from <= task)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint64_t report_threads(const struct report *report, const struct tasks *tasks)
{
    const struct report_piece *pieces = report->pieces;
    struct tasks_cursor at = tasks_begin(tasks);
    uint64_t count = 0;

    while (tasks_next(&at)) {
        struct tasks_range range = at.range;

        for (size_t k = piece_of(report, range.first);
             k < report->piece_count && pieces[k].from <= range.last; k++) {
            uint32_t first = pieces[k].from, last = range.last;

            if (first < range.first)
                first = range.first;
            if (k + 1 < report->piece_count && pieces[k + 1].from <= last)
                last = pieces[k + 1].from - 1;
            if (first <= last)
                count += pieces[k].threads * (last - first + 1);
        }
    }
    return count;
}

uint32_t report_few(uint32_t all)
{
    return all < 2 * OUTLIER_SHARE ? 1 : all / OUTLIER_SHARE;
}

/* The most tasks of an outlier; 0 if no class has more tasks than that. */
static uint32_t find_outlier_most(const struct report *report)
{
    uint32_t all = tasks_count(report->everyone);
    uint32_t most = report_few(all);

    for (size_t i = 0; all >= OUTLIER_TASKS && i < report->classes->count; i++)
        if (tasks_count(report->classes->sets[i]) > most)
            return most;
    return 0;
}

int report_tasks(struct tasks **out,
                 const struct tree *tree,
                 enum note_kind kind)
{
    struct tasks *found = NULL;
    uint32_t end = 0, node;
    int r;

    r = tasks_new(&found, NULL, 0);
    for (node = 0; r == 0 && node < tree->node_count; node++) {
        uint32_t behind = node + tree->nodes[node].size;

        if (tree_note(tree, node) != kind)
            continue;
        while (end < tree->end_count && tree->ends[end].node < node)
            end++;
        for (; r == 0 && end < tree->end_count && tree->ends[end].node < behind;
             end++)
            r = tasks_change(&found, TASKS_UNION, tree->ends[end].tasks);
    }
    if (r < 0) {
        tasks_free(found);
        return r;
    }
    *out = found;
    return 0;
}

/* Find the tasks that were requested but not walked. Returns 0 or -ENOMEM. */
static int find_left_out(struct report *report)
{
    static const struct targets none = {.count = 0};
    const struct targets *targets = report->source.targets;
    const struct tree *tree = report->tree;
    int r;

    r = targets_everyone(&report->silent, targets ? targets : &none);
    if (r == 0)
        report->asked = tasks_count(report->silent);
    if (r == 0)
        r = tasks_change(&report->silent, TASKS_MINUS, report->everyone);
    if (r == 0)
        r = tasks_combine(&report->left_out, TASKS_UNION, report->silent,
                          report->silent);
    for (uint32_t end = 0; r == 0 && end < tree->end_count; end++)
        if (tree_is_not_walked(tree, tree->ends[end].node))
            r = tasks_change(&report->left_out, TASKS_UNION,
                             tree->ends[end].tasks);
    if (report->asked == 0)
        report->asked = tasks_count(report->everyone);
    return r < 0 ? r : report_tasks(&report->cut, tree, NOTE_GIVEN_UP);
}

/* Whether a stack that ends at `node` does not tell where the program is: it is
 * truncated, or all of Go's runtime, which runs other goroutines meanwhile. */
static bool is_hidden(const struct report *report, uint32_t node)
{
    bool go = false;

    while (runtime_role(report->tree, node) != ROLE_PROGRAM ||
           tree_note(report->tree, node) != NOTE_NONE) {
        go |= runtime_role(report->tree, node) == ROLE_GO;
        if (report->tree->nodes[node].depth == 0)
            return go || tree_note(report->tree, node) == NOTE_TRUNCATED;
        node = report->above[node];
    }
    return tree_note(report->tree, report_top(report, node)) == NOTE_TRUNCATED;
}

/* Whether each place of class number `class` is hidden. */
static bool is_unknown(const struct report *report, size_t class)
{
    const struct classes *classes = report->classes;
    uint32_t i = 0;

    while (i < classes->end_counts[class] &&
           is_hidden(report, classes->ends[class][i]))
        i++;
    return i == classes->end_counts[class];
}

/* Find the tasks of which no place in the program is known. Returns 0 or
 * -ENOMEM. */
static int find_unknown(struct report *report)
{
    int r = tasks_new(&report->unknown, NULL, 0);

    for (size_t i = 0; r == 0 && i < report->classes->count; i++)
        if (is_unknown(report, i))
            r = tasks_change(&report->unknown, TASKS_UNION,
                             report->classes->sets[i]);
    return r;
}

/* Make the sentence; NULL without memory. */
static char *find_missing(const struct report *report)
{
    const struct targets *targets = report->source.targets;
    const struct tasks *set = report->left_out;
    char ranks[128];

    if (tasks_count(set) > 0)
        return columns_append(
            strdup(""), "partial: %u of %u %ss were not looked at: %s",
            tasks_count(set), report->asked, report_noun(report),
            tasks_text(set, ranks, sizeof(ranks)));
    set = report->cut;
    if (tasks_count(set) > 0)
        return columns_append(strdup(""),
                              "partial: the stacks of %u of %u %ss are cut, "
                              "because --max-stop had passed: %s",
                              tasks_count(set), report->asked,
                              report_noun(report),
                              tasks_text(set, ranks, sizeof(ranks)));
    set = report->unknown;
    if (tasks_count(set) > 0)
        return columns_append(strdup(""),
                              "partial: it is not known where in the "
                              "program %u of %u %ss are: %s",
                              tasks_count(set), report->asked,
                              report_noun(report),
                              tasks_text(set, ranks, sizeof(ranks)));
    if (targets && targets->doubtful > 0)
        return columns_append(
            strdup(""),
            "partial: %u process%s not looked at, though %s be %s of the job: "
            "%s no rank of its launcher",
            targets->doubtful, targets->doubtful == 1 ? " was" : "es were",
            targets->doubtful == 1 ? "it may" : "they may",
            targets->doubtful == 1 ? "one" : "some",
            targets->doubtful == 1 ? "it has" : "they have");
    if (targets && targets->only_starter)
        return strdup(
            "partial: processes that a given one has started were not "
            "looked at, though they may be the job");
    if (report->source.late && report->source.late[0])
        return columns_append(strdup("partial: "), "%s", report->source.late);
    return strdup("");
}

/* Append `count` of `what` in words. */
static char *append_count(char *text,
                          uint64_t count,
                          const char *what,
                          const char *plural)
{
    return columns_append(text, "%" PRIu64 " %s%s", count, what,
                          count == 1 ? "" : plural);
}

/* Make the summary; NULL without memory. */
static char *find_summary(const struct report *report)
{
    const struct report_source *source = &report->source;
    uint32_t left_out = tasks_count(report->left_out);
    char *text = strdup(report->missing[0] ? "partial: " : "");

    if (left_out > 0)
        text = columns_append(text, "%u of ", report->asked - left_out);
    text = append_count(text, report->asked, report_noun(report), "s");
    if (source->threads) {
        text = columns_append(text, ", ");
        text = append_count(text, report_threads(report, report->everyone),
                            "thread", "s");
        text = columns_append(text, ",");
    }
    text = columns_append(text, " on ");
    text = append_count(text, source->hosts, "host", "s");
    text = columns_append(text, ", ");
    text = append_count(text, report->classes->count, "class", "es");
    text = columns_append(text, ", ");
    return append_count(text, source->samples, "sample", "s");
}

/* Find which processes were set aside. Returns 0 or -ENOMEM. */
static int find_asides(struct report *report)
{
    static const struct targets none = {.count = 0};
    const struct targets *targets = report->source.targets;
    char text[TARGETS_ASIDES_SIZE];

    for (int i = 0; i < 2; i++) {
        targets_asides_text(text, targets ? targets : &none, i == 1);
        report->asides[i] = strdup(text);
        if (!report->asides[i])
            return -ENOMEM;
        columns_clean(report->asides[i]);
    }
    return 0;
}

int report_new(struct report **out,
               const struct tree *tree,
               const struct report_source *source)
{
    struct report *report = calloc(1, sizeof(*report));
    uint32_t end = tree->end_count;
    int r = -ENOMEM;

    if (!report)
        return -ENOMEM;
    report->source = *source;
    report->tree = tree;
    report->under =
        calloc((size_t)tree->node_count + 1, sizeof(struct tasks *));
    report->first_end = calloc((size_t)tree->node_count + 1, sizeof(uint32_t));
    report->above = calloc((size_t)tree->node_count + 1, sizeof(uint32_t));
    report->shown = calloc((size_t)tree->node_count + 1, sizeof(uint32_t));
    report->threads = calloc((size_t)tree->node_count + 1, sizeof(uint64_t));
    report->odd = calloc((size_t)tree->node_count + 1, sizeof(bool));
    if (!report->under || !report->first_end || !report->above ||
        !report->shown || !report->threads || !report->odd)
        goto out;
    for (size_t i = 0; i < tree->node_count; i++)
        report->first_end[i] = tree->end_count;
    while (end-- > 0)
        report->first_end[tree->ends[end].node] = end;
    r = folders_find(&report->folders, tree);
    if (r < 0)
        goto out;
    find_above(report);
    find_shown(report);
    count_threads(report);
    r = tree_under(tree, report->under);
    if (r < 0) {
        memset(report->under, 0, tree->node_count * sizeof(struct tasks *));
        goto out;
    }
    r = classes_new(&report->classes, tree,
                    source->full ? CLASSES_FULL : CLASSES_CALLS);
    if (r == 0)
        r = tree_tasks(&report->everyone, tree);
    if (r == 0)
        r = find_left_out(report);
    if (r == 0)
        r = find_unknown(report);
    if (r == 0)
        r = find_pieces(report);
    if (r < 0)
        goto out;
    report->outlier_most = find_outlier_most(report);
    r = find_asides(report);
    if (r == 0)
        r = threads_find_odd(report->odd, report);
    if (r < 0)
        goto out;
    r = judgement_make(&report->judgement, report);
    if (r < 0)
        goto out;
    r = -ENOMEM;
    report->missing = find_missing(report);
    if (report->missing)
        report->summary = find_summary(report);
    if (!report->summary)
        goto out;
    columns_clean(report->missing);
    *out = report;
    r = 0;
    report = NULL;
out:
    report_free(report);
    return r;
}

void report_free(struct report *report)
{
    if (!report)
        return;
    for (uint32_t i = 0; report->under && i < report->tree->node_count; i++)
        tasks_free(report->under[i]);
    tasks_free(report->everyone);
    tasks_free(report->silent);
    tasks_free(report->left_out);
    tasks_free(report->cut);
    tasks_free(report->unknown);
    classes_free(report->classes);
    free(report->under);
    free(report->folders);
    free(report->first_end);
    free(report->above);
    free(report->shown);
    free(report->threads);
    free(report->odd);
    free(report->pieces);
    free(report->summary);
    free(report->judgement);
    free(report->asides[0]);
    free(report->asides[1]);
    free(report->missing);
    free(report);
}

bool report_has_end(const struct report *report, uint32_t node)
{
    return report->first_end[node] < report->tree->end_count;
}

bool report_is_call(const struct report *report, uint32_t node)
{
    return report->tree->nodes[node].size > 1 &&
           report->shown[node + 1] == report->shown[node];
}

bool report_is_folded(const struct report *report, uint32_t node)
{
    uint32_t behind = node + report->tree->nodes[node].size, at = node + 1;

    if (!report_is_call(report, node))
        return false;
    while (at < behind && report->shown[at] == report->shown[node])
        at++;
    return at == behind;
}

long report_class(const struct report *report, const struct tasks *tasks)
{
    return classes_find(report->classes, tasks);
}

bool report_is_outlier(const struct report *report, const struct tasks *tasks)
{
    return tasks_count(tasks) <= report->outlier_most;
}

bool report_is_outlying(const struct report *report, uint32_t node)
{
    return report->odd[node] || report_is_outlier(report, report->under[node]);
}

uint32_t report_unchanged(const struct report *report, struct tasks *tasks)
{
    int64_t still =
        report->source.samples < 2 ? 0 : tree_unmoved(report->tree, tasks);

    return still > 1 ? (uint32_t)still : 0;
}

uint32_t report_still(const struct report *report,
                      struct tasks *tasks,
                      uint32_t node)
{
    const struct tree *tree = report->tree;
    uint32_t behind =
        report_is_call(report, node) ? node + tree->nodes[node].size : node + 1;
    uint32_t least = UINT32_MAX, end = tree->end_count;

    for (uint32_t at = node; at < behind && end == tree->end_count; at++)
        end = report->first_end[at];
    for (; end < tree->end_count && tree->ends[end].node < behind; end++) {
        const struct tree_end *at = &tree->ends[end];
        struct tasks *both;
        int r;

        if (!at->current || at->still >= least ||
            report->shown[at->node] != report->shown[node])
            continue;
        r = tasks_combine(&both, TASKS_BOTH, at->tasks, tasks);
        if (r < 0)
            return 0;
        if (tasks_count(both) > 0)
            least = at->still;
        tasks_free(both);
    }
    if (least == 0 || least == UINT32_MAX) /* a file of an older version */
        return report_unchanged(report, tasks);
    return report->source.samples > 1 && least > 1 ? least : 0;
}

const char *report_host(const struct report *report, uint32_t task)
{
    const struct targets *targets = report->source.targets;
    uint32_t index;

    if (!targets || !targets_find(targets, task, &index))
        return NULL;
    return targets_host_name(targets, targets->hosts[index]);
}

int32_t report_pid(const struct report *report, uint32_t task)
{
    const struct targets *targets = report->source.targets;

    uint32_t index;

    return targets && targets_find(targets, task, &index) ? targets->pids[index]
                                                          : 0;
}
