/* diff_picture.c - the differences of two snapshots, on a terminal.
 *
 *     unchanged: 14 of 16 tasks; 2 moved
 *     A: before.json: 16 tasks, 3 classes
 *     B: after.json: 16 tasks, 3 classes, 60 s after A
 *                                                   A       B  tasks
 *     = main (ring.c:31)                           16      16  0-15
 *     - ├─ do_SendOrStall (ring.c:44) ▸ pause       1       0  1
 *     ~ ├─ ring_waitall ▸ recv                      1       1  -2 +1
 *     ...
 *     moved: 1 task: 1 (node7 pid 101): do_SendOrStall ... → ring_waitall ...
 *
 * A line begins with "-" if the place has tasks only in A, "+" only in B, "=" if
 * it has the same tasks in both, and "~" if it has different ones: then the
 * tasks that left and those that came are listed. */
#include "stat/diff/comparison.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stat/show/columns.h"
#include "stat/show/palette.h"
#include "stat/show/picture.h"
#include "stat/write/output.h"

/* The least width of a count and of a list of tasks, in columns; the greatest
 * length of such a list, in bytes. */
#define COUNT_COLUMNS_MIN 5
#define TASKS_COLUMNS_MIN 10
#define TASKS_SIZE        256

/* How many tasks are listed with their processes. */
#define NAMED_MAX 2

#define ELLIPSIS "\xe2\x80\xa6"
#define LEADS_ON " \xe2\x96\xb8 "
#define ARROW    " \xe2\x86\x92 "

struct painting {
    FILE *file;
    const struct diff *diff;
    const struct render_options *options;
    struct picture *picture;
    bool *drawn;
    unsigned width;
    unsigned count_columns;
};

/* One line of the tree. */
struct row {
    struct tasks *of[DIFF_SIDES];
    char mark;
    char *tasks; /* the tasks to list */
};

static const char *plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* Begin the colour of a line with this mark. */
static void colour_begin(const struct painting *painting, char mark)
{
    if (painting->options->colour && (mark == '-' || mark == '+'))
        fprintf(painting->file, "\033[38;5;%um",
                palette_terminal(mark == '-' ? 0 : 1));
    else if (painting->options->colour && mark == '~')
        fputs("\033[1m", painting->file);
}

static void colour_end(const struct painting *painting, char mark)
{
    if (painting->options->colour && mark != '=')
        fputs("\033[0m", painting->file);
}

static void row_fini(struct row *row)
{
    tasks_free(row->of[DIFF_A]);
    tasks_free(row->of[DIFF_B]);
    free(row->tasks);
}

/* Append `sign` and the tasks that are in `a` but not in `b` to `text`. */
static char *append_left(char *text,
                         const char *sign,
                         struct tasks *a,
                         struct tasks *b)
{
    char ranks[TASKS_SIZE / 2];
    struct tasks *left;

    if (tasks_combine(&left, TASKS_MINUS, a, b) < 0) {
        free(text);
        return NULL;
    }
    if (tasks_count(left) > 0)
        text = columns_append(text, "%s%s%s", text && text[0] ? " " : "", sign,
                              tasks_text(left, ranks, sizeof(ranks)));
    tasks_free(left);
    return text;
}

static int row_init(struct row *row,
                    const struct diff *diff,
                    struct tasks *tasks)
{
    char ranks[TASKS_SIZE];
    struct tasks *all;
    int r;

    *row = (struct row){{NULL, NULL}, ' ', NULL};
    r = diff_tasks(&row->of[DIFF_A], diff, DIFF_A, tasks);
    if (r == 0)
        r = diff_tasks(&row->of[DIFF_B], diff, DIFF_B, tasks);
    if (r < 0)
        goto out;
    all = row->of[tasks_count(row->of[DIFF_A]) == 0 ? DIFF_B : DIFF_A];
    if (tasks_count(row->of[DIFF_A]) == 0)
        row->mark = '+';
    else if (tasks_count(row->of[DIFF_B]) == 0)
        row->mark = '-';
    else
        row->mark = tasks_equal(row->of[DIFF_A], row->of[DIFF_B]) ? '=' : '~';
    if (row->mark == '~') {
        row->tasks =
            append_left(strdup(""), "-", row->of[DIFF_A], row->of[DIFF_B]);
        row->tasks =
            append_left(row->tasks, "+", row->of[DIFF_B], row->of[DIFF_A]);
    } else {
        row->tasks = strdup(tasks_text(all, ranks, sizeof(ranks)));
    }
    r = row->tasks ? 0 : -ENOMEM;
out:
    if (r < 0)
        row_fini(row);
    return r;
}

/* Whether a class has tasks in this snapshot. */
static bool class_is_in(const struct diff *diff,
                        size_t class,
                        enum diff_side side)
{
    const struct tasks *set = diff->report->classes->sets[class];

    return side == DIFF_A ? tasks_first(set) < diff->count
                          : tasks_last(set) >= diff->count;
}

/* How many classes a snapshot has. */
static size_t count_classes(const struct diff *diff, enum diff_side side)
{
    size_t count = 0, i;

    for (i = 0; i < diff->report->classes->count; i++)
        count += class_is_in(diff, i, side);
    return count;
}

/* Mark the places of class number `class`; -1: there is none. */
static void draw_class(struct painting *painting, long class)
{
    const struct classes *classes = painting->diff->report->classes;

    for (uint32_t i = 0; class >= 0 && i < classes->end_counts[class]; i++)
        painting->drawn[classes->ends[class][i]] = true;
}

/* How many moves are not listed, because there are too many. */
static size_t moves_skipped(const struct diff *diff)
{
    size_t shown = PICTURE_FIRST + PICTURE_LAST;

    return diff->report->source.full || diff->move_count < shown + 2
               ? 0
               : diff->move_count - shown;
}

/* Find the nodes to draw: all if there are few classes; otherwise those of the
 * moves that are listed, and those of the largest class. */
static int find_drawn(struct painting *painting)
{
    const struct diff *diff = painting->diff;
    const struct tree *tree = diff->tree;
    size_t count = diff->report->classes->count;
    size_t skip = moves_skipped(diff), i;

    painting->drawn = calloc((size_t)tree->node_count + 1, sizeof(bool));
    if (!painting->drawn)
        return -ENOMEM;
    for (i = 0; i < count; i++)
        if (count <= PICTURE_FIRST + PICTURE_LAST || i + 1 == count ||
            diff->report->source.full)
            draw_class(painting, (long)i);
    for (i = 0; i < diff->move_count; i++) {
        if (skip > 0 && i == PICTURE_FIRST)
            i += skip;
        draw_class(painting, diff->moves[i].from);
        draw_class(painting, diff->moves[i].to);
    }
    /* In pre-order a node is followed by its subtree. */
    for (uint32_t node = tree->node_count; node-- > 0;)
        for (uint32_t child = node + 1;
             !painting->drawn[node] && child < node + tree->nodes[node].size;
             child += tree->nodes[child].size)
            painting->drawn[node] = painting->drawn[child];
    return 0;
}

/* Write a line of words; `text` is taken. */
static int write_text(struct painting *painting, char mark, char *text)
{
    if (!text)
        return -ENOMEM;
    columns_clean(text);
    colour_begin(painting, mark);
    columns_wrap(painting->file, text, painting->width);
    colour_end(painting, mark);
    fputc('\n', painting->file);
    free(text);
    return 0;
}

/* The first lines: how much has changed, and the names of the files. */
static int write_head(struct painting *painting,
                      const char *const names[DIFF_SIDES])
{
    const struct diff *diff = painting->diff;
    const struct tasks *sets[] = {diff->moved, diff->appeared, diff->vanished,
                                  diff->unknown};
    static const char *const words[] = {"moved", "appeared", "vanished",
                                        "not known"};
    uint64_t taken[DIFF_SIDES] = {diff->looks[DIFF_A]->taken_s,
                                  diff->looks[DIFF_B]->taken_s};
    const char *before = "; ";
    char *text;

    text = columns_append(strdup(""), "unchanged: %u of %u %s%s",
                          tasks_count(diff->unchanged), diff->everyone,
                          diff->noun, plural(diff->everyone, "", "s"));
    for (int i = 0; i < 4; i++) {
        if (tasks_count(sets[i]) == 0)
            continue;
        text = columns_append(text, "%s%u %s", before, tasks_count(sets[i]),
                              words[i]);
        before = ", ";
    }
    for (int side = DIFF_A; side < DIFF_SIDES; side++) {
        size_t classes = count_classes(diff, (enum diff_side)side);
        uint32_t tasks = tasks_count(diff->looks[side]->everyone);

        if (write_text(painting, '=', text) < 0)
            return -ENOMEM;
        text = columns_append(strdup(""), "%c: %s: %u %s%s, %zu class%s",
                              side == DIFF_A ? 'A' : 'B', names[side], tasks,
                              diff->noun, plural(tasks, "", "s"), classes,
                              plural(classes, "", "es"));
    }
    if (taken[DIFF_A] && taken[DIFF_B])
        text = columns_append(
            text, ", %" PRIu64 " s %s A",
            taken[DIFF_B] >= taken[DIFF_A] ? taken[DIFF_B] - taken[DIFF_A]
                                           : taken[DIFF_A] - taken[DIFF_B],
            taken[DIFF_B] >= taken[DIFF_A] ? "after" : "before");
    return write_text(painting, '=', text);
}

/* Write `text`, cut to `room` columns with an ellipsis; not padded. */
static void write_cut(FILE *file, const char *text, unsigned room)
{
    unsigned want = columns_of(text);

    columns_write(file, text, want < room ? want : room);
}

static int write_row(struct painting *painting,
                     const struct picture_line *line,
                     unsigned left)
{
    unsigned right = 2 * painting->count_columns + 6;
    struct row row;
    int r;

    if (!line->tasks) {
        fputs("  ", painting->file);
        write_cut(painting->file, line->text, painting->width - 2);
        fputc('\n', painting->file);
        return 0;
    }
    r = row_init(&row, painting->diff, line->tasks);
    if (r < 0)
        return r;
    colour_begin(painting, row.mark);
    fprintf(painting->file, "%c ", row.mark);
    columns_write(painting->file, line->text, left);
    fprintf(painting->file, "  %*u  %*u  ", (int)painting->count_columns,
            tasks_count(row.of[DIFF_A]), (int)painting->count_columns,
            tasks_count(row.of[DIFF_B]));
    write_cut(painting->file, row.tasks, painting->width - 2 - left - right);
    colour_end(painting, row.mark);
    fputc('\n', painting->file);
    row_fini(&row);
    return 0;
}

/* Write the tree, in columns. */
static int write_tree(struct painting *painting)
{
    const struct picture *picture = painting->picture;
    unsigned right = 2 * painting->count_columns + 6;
    unsigned most = painting->width - 2 - right - TASKS_COLUMNS_MIN;
    unsigned left = 0;
    int r = 0;

    for (size_t i = 0; i < picture->count; i++)
        if (picture->lines[i].tasks &&
            columns_of(picture->lines[i].text) > left)
            left = columns_of(picture->lines[i].text);
    if (left > most)
        left = most;
    fprintf(painting->file, "%*s  %*s  %*s  %ss\n", (int)left + 2, "",
            (int)painting->count_columns, "A", (int)painting->count_columns,
            "B", painting->diff->noun);
    for (size_t i = 0; r == 0 && i < picture->count; i++)
        r = write_row(painting, &picture->lines[i], left);
    return r;
}

/* The first end of `class` that `other` does not have, or else its first end.
 * `*more` becomes the number of further ends that `other` does not have. */
static uint32_t end_of(const struct classes *classes,
                       long class,
                       long other,
                       uint32_t *more)
{
    uint32_t found = classes->ends[class][0];
    uint32_t count = 0, i, k;

    for (i = 0; i < classes->end_counts[class]; i++) {
        uint32_t node = classes->ends[class][i];

        for (k = 0; other >= 0 && k < classes->end_counts[other] &&
                    classes->ends[other][k] != node;
             k++)
            ;
        if (other >= 0 && k < classes->end_counts[other])
            continue;
        if (count++ == 0)
            found = node;
    }
    *more = count > 1 ? count - 1 : 0;
    return found;
}

/* Append to `text` where `class` is: the path from the node at which it parts
 * from the path of `other`; -1: from the top. */
static char *append_place(char *text,
                          const struct diff *diff,
                          long class,
                          long other)
{
    const struct classes *classes = diff->report->classes;
    const struct tree *tree = diff->tree;
    uint32_t more, others;
    uint32_t last = end_of(classes, class, other, &more);
    uint32_t theirs =
        other >= 0 ? end_of(classes, other, class, &others) : last;
    uint32_t first = last;
    uint32_t node = last;

    /* The nodes above `theirs` are common to both. */
    while (other >= 0 ? theirs < node || theirs >= node + tree->nodes[node].size
                      : report_file(diff->report, first)[0] == '\0') {
        first = node;
        if (tree->nodes[node].depth == 0)
            break;
        node = diff->report->above[node];
        if (other < 0)
            first = node;
    }
    text = picture_append(text, diff->report, first);
    if (first != last) {
        text = columns_append(text, diff->report->above[last] == first
                                        ? LEADS_ON
                                        : LEADS_ON ELLIPSIS LEADS_ON);
        text = picture_append(text, diff->report, last);
    }
    if (report_is_folded(diff->report, last))
        text = columns_append(text, LEADS_ON ELLIPSIS);
    if (more > 0)
        text = columns_append(text, " and %u more", more);
    return text;
}

/* Append the tasks to `text`; if they are few, with their processes. */
static char *append_tasks(char *text,
                          const struct painting *painting,
                          const struct tasks *set)
{
    unsigned room = painting->width / 2;
    struct tasks_cursor at = tasks_begin(set);
    const char *before = " (";
    char ranks[TASKS_SIZE];

    if (room > sizeof(ranks))
        room = sizeof(ranks);
    text = columns_append(
        text, "%u %s%s: %s", tasks_count(set), painting->diff->noun,
        plural(tasks_count(set), "", "s"), tasks_text(set, ranks, room));
    while (tasks_count(set) <= NAMED_MAX && tasks_next(&at)) {
        for (uint32_t task = at.range.first; task <= at.range.last; task++) {
            const char *host = diff_host(painting->diff, task);

            if (host)
                text = columns_append(text, "%s%s pid %d", before, host,
                                      (int)diff_pid(painting->diff, task));
            before = host ? ", " : before;
        }
    }
    return before[0] == ',' ? columns_append(text, ")") : text;
}

/* List which tasks moved, and where to. */
static int write_move(struct painting *painting, const struct diff_move *move)
{
    const char *word = "moved: ";
    char mark = '~';
    char *text;

    if (move->from < 0) {
        word = "appeared: ";
        mark = '+';
    } else if (move->to < 0) {
        word = "vanished: ";
        mark = '-';
    }
    text = append_tasks(strdup(word), painting, move->tasks);
    text = columns_append(text, ": ");
    if (move->from >= 0)
        text = append_place(text, painting->diff, move->from, move->to);
    if (mark == '~')
        text = columns_append(text, ARROW);
    if (move->to >= 0)
        text = append_place(text, painting->diff, move->to, move->from);
    return write_text(painting, mark, text);
}

static int write_moves(struct painting *painting)
{
    const struct diff *diff = painting->diff;
    size_t skip = moves_skipped(diff);
    int r = 0;

    for (size_t i = 0; r == 0 && i < diff->move_count; i++) {
        if (skip > 0 && i == PICTURE_FIRST) {
            r = write_text(painting, '=',
                           columns_append(strdup(""),
                                          ELLIPSIS " %zu more moves: --json "
                                                   "has them",
                                          skip));
            i += skip;
        }
        if (r == 0)
            r = write_move(painting, &diff->moves[i]);
    }
    return r;
}

/* List the tasks that could not be walked, and why. */
static int write_gaps(struct painting *painting)
{
    const struct diff *diff = painting->diff;
    int r = 0;

    for (size_t i = 0; r == 0 && i < diff->gap_count; i++) {
        const struct diff_gap *gap = &diff->gaps[i];
        char *text;

        text = append_tasks(strdup("not known: "), painting, gap->tasks);
        text = columns_append(text, ": in %c: %s",
                              gap->side == DIFF_A ? 'A' : 'B', gap->reason);
        r = write_text(painting, '=', text);
    }
    return r;
}

int diff_picture_write(FILE *file,
                       const struct diff *diff,
                       const char *const names[DIFF_SIDES],
                       const struct render_options *options)
{
    struct painting painting = {.file = file,
                                .diff = diff,
                                .options = options,
                                .width = options->width < RENDER_WIDTH_MIN
                                             ? RENDER_WIDTH_MIN
                                             : options->width,
                                .count_columns = COUNT_COLUMNS_MIN};
    int r;

    for (uint32_t most = diff->count; most > 99999; most /= 10)
        painting.count_columns++;
    r = find_drawn(&painting);
    if (r == 0)
        r = picture_new(&painting.picture, diff->report, painting.drawn,
                        painting.width);
    if (r == 0)
        r = write_head(&painting, names);
    if (r == 0 && painting.picture->count > 0)
        r = write_tree(&painting);
    if (r == 0)
        r = write_moves(&painting);
    if (r == 0)
        r = write_gaps(&painting);
    if (r == 0)
        r = output_end(file);
    picture_free(painting.picture);
    free(painting.drawn);
    return r;
}
