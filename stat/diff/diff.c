/* diff.c - see diff.h. */
#include "stat/diff/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat/diff/numbering.h"
#include "stat/list.h"
#include "stat/tree/build.h"
#include "stat/tree/classes.h"
#include "stat/tree/frame.h"

/* The reason for a task that is missing in a look. */
#define NO_ANSWER "not found, or no answer from its daemon in time"

/* The tasks of one look, and those of them that were not walked. */
struct presence {
    struct tasks *all;
    struct tasks *unseen;
};

static int find_presence(struct presence *presence,
                         const struct look *look,
                         const uint32_t *tasks)
{
    const struct tree *tree = look->tree;
    struct tasks *all = NULL;
    struct tasks *unseen = tasks_ref(look->missing);
    int r;

    r = tree_tasks(&all, tree);
    if (r == 0)
        r = tasks_change(&all, TASKS_UNION, look->missing);
    for (uint32_t end = 0; r == 0 && end < tree->end_count; end++)
        if (tree_is_not_walked(tree, tree->ends[end].node))
            r = tasks_change(&unseen, TASKS_UNION, tree->ends[end].tasks);
    if (r == 0)
        r = tasks_renumber(&presence->all, all, tasks);
    if (r == 0)
        r = tasks_renumber(&presence->unseen, unseen, tasks);
    tasks_free(all);
    tasks_free(unseen);
    return r;
}

/* Add a gap for the tasks of `set` that both looks have, if any. */
static int gap_add(struct diff *diff,
                   enum diff_side side,
                   const struct tasks *set,
                   const uint32_t *tasks,
                   const char *reason)
{
    struct diff_gap *gap = &diff->gaps[diff->gap_count];
    struct tasks *here = NULL;
    int r;

    r = tasks_renumber(&here, set, tasks);
    if (r == 0)
        r = tasks_change(&here, TASKS_BOTH, diff->unknown);
    if (r < 0 || tasks_count(here) == 0) {
        tasks_free(here);
        return r;
    }
    *gap = (struct diff_gap){here, side, reason};
    diff->gap_count++;
    return 0;
}

/* Find the tasks that could not be walked, and why. */
static int find_gaps(struct diff *diff, uint32_t *const *tasks)
{
    size_t most = DIFF_SIDES;
    int r = 0;

    for (int side = 0; side < DIFF_SIDES; side++)
        most += diff->looks[side]->tree->end_count;
    diff->gaps = calloc(most, sizeof(*diff->gaps));
    if (!diff->gaps)
        return -ENOMEM;
    for (int side = 0; r == 0 && side < DIFF_SIDES; side++) {
        const struct look *look = diff->looks[side];
        const struct tree *tree = look->tree;

        r = gap_add(diff, (enum diff_side)side, look->missing, tasks[side],
                    NO_ANSWER);
        for (uint32_t end = 0; r == 0 && end < tree->end_count; end++) {
            uint32_t node = tree->ends[end].node;

            if (tree_is_not_walked(tree, node))
                r = gap_add(diff, (enum diff_side)side, tree->ends[end].tasks,
                            tasks[side], tree_function(tree, node));
        }
    }
    return r;
}

/* Find which tasks are in which look. */
static int find_presences(struct diff *diff, uint32_t *const *tasks)
{
    struct presence of[DIFF_SIDES] = {{0}};
    int r = 0;

    for (int side = 0; r == 0 && side < DIFF_SIDES; side++)
        r = find_presence(&of[side], diff->looks[side], tasks[side]);
    if (r == 0)
        r = tasks_combine(&diff->appeared, TASKS_MINUS, of[DIFF_B].all,
                          of[DIFF_A].all);
    if (r == 0)
        r = tasks_combine(&diff->vanished, TASKS_MINUS, of[DIFF_A].all,
                          of[DIFF_B].all);
    if (r == 0)
        r = tasks_combine(&diff->unknown, TASKS_UNION, of[DIFF_A].unseen,
                          of[DIFF_B].unseen);
    if (r == 0)
        r = tasks_change(&diff->unknown, TASKS_MINUS, diff->appeared);
    if (r == 0)
        r = tasks_change(&diff->unknown, TASKS_MINUS, diff->vanished);
    if (r == 0)
        r = tasks_change(&of[DIFF_A].all, TASKS_UNION, of[DIFF_B].all);
    if (r == 0)
        diff->everyone = tasks_count(of[DIFF_A].all);
    for (int side = 0; side < DIFF_SIDES; side++) {
        tasks_free(of[side].all);
        tasks_free(of[side].unseen);
    }
    return r;
}

/* Make a copy of `set` with numbers higher by `up` and lower by `down`. */
static int shift_tasks(struct tasks **out,
                       const struct tasks *set,
                       uint32_t up,
                       uint32_t down)
{
    struct tasks_cursor at = tasks_begin(set);
    struct tasks_range *ranges = NULL;
    size_t count = 0;
    int r = 0;

    while (r == 0 && tasks_next(&at)) {
        r = list_grow(&ranges, count, sizeof(*ranges));
        if (r == 0)
            ranges[count++] = (struct tasks_range){at.range.first + up - down,
                                                   at.range.last + up - down};
    }
    if (r == 0)
        r = tasks_new(out, ranges, count);
    free(ranges);
    return r;
}

/* Add one end of a look to the tree of both. */
static int put_end(struct build *build,
                   const struct diff *diff,
                   enum diff_side side,
                   uint32_t place,
                   const struct tasks *set,
                   const uint32_t *tasks)
{
    struct tree_end end = {
        .node = place, .samples = 1, .threads = 1, .current = true};
    struct tasks *here = NULL;
    int r;

    r = tasks_renumber(&here, set, tasks);
    if (r == 0)
        r = tasks_change(&here, TASKS_MINUS, diff->unknown);
    if (r == 0)
        r = shift_tasks(&end.tasks, here, side == DIFF_A ? 0 : diff->count, 0);
    if (r == 0 && tasks_count(end.tasks) > 0)
        r = build_end(build, &end);
    tasks_free(here);
    tasks_free(end.tasks);
    return r;
}

/* Whether any file has folders: those of Python have, except in looks of an
 * older version. */
static bool has_folders(const struct look *look)
{
    const struct tree *tree = look->tree;

    for (uint32_t i = 0; i < tree->frame_count; i++)
        if (strchr(tree->strings[tree->frames[i].file], '/'))
            return true;
    return false;
}

/* Add the tree of a look to that of both, except tasks not walked; if `bare`,
 * its files without folders. */
static int put_look(struct build *build,
                    const struct diff *diff,
                    enum diff_side side,
                    const uint32_t *tasks,
                    bool bare)
{
    const struct tree *tree = diff->looks[side]->tree;
    uint32_t above[TREE_DEPTH_MAX + 1]; /* the parent at each depth */
    uint32_t end = 0, node;
    int r = 0;

    above[0] = BUILD_TOP;
    for (node = 0; r == 0 && node < tree->node_count; node++) {
        struct frame frame = tree_frame(tree, tree->nodes[node].frame);
        uint32_t depth = tree->nodes[node].depth;
        const char *slash = bare ? strrchr(frame.file, '/') : NULL;

        frame.file = slash ? slash + 1 : frame.file;
        r = build_node(build, &above[depth + 1], above[depth], &frame);
        for (; r == 0 && end < tree->end_count && tree->ends[end].node == node;
             end++)
            if (!frame.not_walked && tree->ends[end].current)
                r = put_end(build, diff, side, above[depth + 1],
                            tree->ends[end].tasks, tasks);
    }
    return r;
}

/* Make the tree of both looks, and its report. */
static int join_looks(struct diff *diff, uint32_t *const *tasks)
{
    const struct look *a = diff->looks[DIFF_A];
    const struct look *b = diff->looks[DIFF_B];
    struct report_source source = {
        .hosts = 1, .samples = 1, .full = a->full && b->full};
    struct tasks_range range = {0, 2 * diff->count - 1};
    struct tree_progress progress = {.moved = 1, .seen = 1};
    bool bare = has_folders(a) != has_folders(b);
    struct build *build = NULL;
    int r;

    r = build_new(&build, a->detail != NAMING_FUNCTIONS &&
                              b->detail != NAMING_FUNCTIONS);
    if (r == 0)
        r = tasks_new(&progress.tasks, &range, diff->count > 0);
    if (r == 0)
        r = build_progress(build, &progress);
    if (r == 0)
        r = put_look(build, diff, DIFF_A, tasks[DIFF_A], bare);
    if (r == 0)
        r = put_look(build, diff, DIFF_B, tasks[DIFF_B], bare);
    if (r == 0)
        r = build_tree(&diff->tree, build, 0);
    if (r == 0)
        r = report_new(&diff->report, diff->tree, &source);
    tasks_free(progress.tasks);
    build_free(build);
    return r;
}

/* The move of one task. */
struct step {
    long from;
    long to;
    uint32_t task;
};

static int by_step(const void *a, const void *b)
{
    const struct step *x = a;
    const struct step *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (x->task > y->task) - (x->task < y->task);
}

static int by_size(const void *a, const void *b)
{
    const struct diff_move *x = a;
    const struct diff_move *y = b;

    if (tasks_count(x->tasks) != tasks_count(y->tasks))
        return tasks_count(x->tasks) < tasks_count(y->tasks) ? -1 : 1;
    return tasks_compare(x->tasks, y->tasks);
}

/* Find the class of each task in each look; -1 if it is in none. */
static void find_classes(struct step *steps, const struct diff *diff)
{
    const struct classes *classes = diff->report->classes;

    for (uint32_t task = 0; task < diff->count; task++)
        steps[task] = (struct step){-1, -1, task};
    for (size_t i = 0; i < classes->count; i++) {
        struct tasks_cursor at = tasks_begin(classes->sets[i]);

        while (tasks_next(&at)) {
            for (uint32_t task = at.range.first; task <= at.range.last;
                 task++) {
                if (task < diff->count)
                    steps[task].from = (long)i;
                else
                    steps[task - diff->count].to = (long)i;
            }
        }
    }
}

/* Merge sorted steps between the same two classes into one move each. */
static int gather_moves(struct diff *diff,
                        const struct step *steps,
                        size_t count,
                        struct tasks_range *ranges)
{
    size_t next;
    int r = 0;

    diff->moves = calloc(count + 1, sizeof(*diff->moves));
    if (!diff->moves)
        return -ENOMEM;
    for (size_t first = 0; r == 0 && first < count; first = next) {
        struct diff_move *move = &diff->moves[diff->move_count];

        for (next = first;
             next < count && steps[next].from == steps[first].from &&
             steps[next].to == steps[first].to;
             next++)
            ranges[next - first] =
                (struct tasks_range){steps[next].task, steps[next].task};
        r = tasks_new(&move->tasks, ranges, next - first);
        move->from = steps[first].from;
        move->to = steps[first].to;
        diff->move_count += r == 0;
    }
    if (r == 0)
        qsort(diff->moves, diff->move_count, sizeof(*diff->moves), by_size);
    return r;
}

/* Find the tasks that stayed, and the moves of the others. */
static int find_moves(struct diff *diff)
{
    struct step *steps = calloc((size_t)diff->count + 1, sizeof(*steps));
    struct tasks_range *ranges =
        calloc((size_t)diff->count + 1, sizeof(*ranges));
    size_t stayed = 0, moved = 0, count = 0;
    int r = -ENOMEM;

    if (!steps || !ranges)
        goto out;
    find_classes(steps, diff);
    for (uint32_t task = 0; task < diff->count; task++)
        if (steps[task].from >= 0 && steps[task].from == steps[task].to)
            ranges[stayed++] = (struct tasks_range){task, task};
    r = tasks_new(&diff->unchanged, ranges, stayed);
    for (uint32_t task = 0; task < diff->count; task++)
        if (steps[task].from >= 0 && steps[task].to >= 0 &&
            steps[task].from != steps[task].to)
            ranges[moved++] = (struct tasks_range){task, task};
    if (r == 0)
        r = tasks_new(&diff->moved, ranges, moved);
    for (uint32_t task = 0; task < diff->count; task++)
        if (steps[task].from != steps[task].to)
            steps[count++] = steps[task];
    qsort(steps, count, sizeof(*steps), by_step);
    if (r == 0)
        r = gather_moves(diff, steps, count, ranges);
out:
    free(steps);
    free(ranges);
    return r;
}

int diff_new(struct diff **out,
             const struct look *a,
             const struct look *b,
             struct cop_error *error)
{
    struct diff *diff = calloc(1, sizeof(*diff));
    uint32_t *tasks[DIFF_SIDES] = {NULL, NULL};
    int r;

    if (!diff)
        return -ENOMEM;
    diff->looks[DIFF_A] = a;
    diff->looks[DIFF_B] = b;
    r = numbering_make(diff, error);
    if (r == 0 &&
        (a->detail == NAMING_ADDRESSES) != (b->detail == NAMING_ADDRESSES))
        r = cop_error_set(error, -EINVAL,
                          "one look was made with --pc, the other without");
    if (r == 0)
        r = numbering_invert(&tasks[DIFF_A], diff, DIFF_A);
    if (r == 0)
        r = numbering_invert(&tasks[DIFF_B], diff, DIFF_B);
    if (r == 0)
        r = find_presences(diff, tasks);
    if (r == 0)
        r = find_gaps(diff, tasks);
    if (r == 0)
        r = join_looks(diff, tasks);
    if (r == 0)
        r = find_moves(diff);
    free(tasks[DIFF_A]);
    free(tasks[DIFF_B]);
    if (r < 0) {
        diff_free(diff);
        return r;
    }
    *out = diff;
    return 0;
}

void diff_free(struct diff *diff)
{
    if (!diff)
        return;
    for (size_t i = 0; i < diff->move_count; i++)
        tasks_free(diff->moves[i].tasks);
    for (size_t i = 0; i < diff->gap_count; i++)
        tasks_free(diff->gaps[i].tasks);
    free(diff->moves);
    free(diff->gaps);
    tasks_free(diff->unchanged);
    tasks_free(diff->moved);
    tasks_free(diff->appeared);
    tasks_free(diff->vanished);
    tasks_free(diff->unknown);
    report_free(diff->report);
    tree_free(diff->tree);
    free(diff->numbers[DIFF_A]);
    free(diff->numbers[DIFF_B]);
    free(diff);
}

int diff_tasks(struct tasks **out,
               const struct diff *diff,
               enum diff_side side,
               struct tasks *tasks)
{
    uint32_t first = side == DIFF_A ? 0 : diff->count;
    struct tasks_range range = {first, first + diff->count - 1};
    struct tasks *all = NULL;
    struct tasks *here = NULL;
    int r;

    r = tasks_new(&all, &range, diff->count > 0);
    if (r == 0)
        r = tasks_combine(&here, TASKS_BOTH, tasks, all);
    if (r == 0)
        r = shift_tasks(out, here, 0, first);
    tasks_free(all);
    tasks_free(here);
    return r;
}

/* A look that has the process of `task`; NULL: none. */
static const struct targets *targets_of(const struct diff *diff,
                                        uint32_t task,
                                        uint32_t *index)
{
    for (int side = DIFF_B; side >= DIFF_A; side--) {
        const struct targets *targets = &diff->looks[side]->targets;

        if (targets_find(targets, diff->numbers[side][task], index))
            return targets;
    }
    return NULL;
}

const char *diff_host(const struct diff *diff, uint32_t task)
{
    uint32_t index;
    const struct targets *targets = targets_of(diff, task, &index);

    return targets ? targets_host_name(targets, targets->hosts[index]) : NULL;
}

int32_t diff_pid(const struct diff *diff, uint32_t task)
{
    uint32_t index;
    const struct targets *targets = targets_of(diff, task, &index);

    return targets ? targets->pids[index] : 0;
}
