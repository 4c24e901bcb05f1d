/* follow.c - see follow.h. */
#include "stat/gather/follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stat/list.h"
#include "stat/show/columns.h"
#include "stat/show/origin.h"
#include "stat/show/past.h"
#include "stat/show/render.h"
#include "stat/show/screen.h"
#include "stat/tree/frame.h"
#include "stat/write/record.h"

/* Lines of news that stay on the screen. */
#define NOTES_SHOWN 3

/* Lines about tasks that could not be walked. */
#define GAPS_SHOWN 4

/* Without a terminal, if nothing changes, a picture is printed after this many
 * samples, after twice as many, and so on. */
#define QUIET_FIRST 2
#define QUIET_MOST  64

struct follow {
    struct follow_options options;
    struct gather_viewer viewer;
    struct screen *screen;
    struct tree *tree; /* the last sample */
    char late[sizeof(struct cop_error)];
    uint32_t sample; /* its number */
    char *job;       /* a command line of the job; NULL: not yet known */
    char **notes;
    size_t note_count;
    struct record *record; /* NULL: not wanted */
    char *seen; /* the last printed picture without what changes with time; NULL
                   on a terminal */
    uint32_t
        printed;    /* without a terminal: sample of the last printed one ... */
    uint32_t quiet; /* ... and how many may follow it unprinted */
};

/* The receiver of follow_say(), which has no argument for it. */
static struct follow *following;

void follow_say(const char *line)
{
    struct follow *follow = following;

    if (!follow || !follow->screen || !screen_is_terminal(follow->screen)) {
        fprintf(stderr, "coppice-stat: %s\n", line);
        return;
    }
    if (list_grow(&follow->notes, follow->note_count, sizeof(char *)) < 0)
        return;
    follow->notes[follow->note_count] = strdup(line);
    follow->note_count += follow->notes[follow->note_count] != NULL;
}

/* Whether no task is left that can move. */
static bool is_over(const struct tree *tree)
{
    uint32_t top = 0;

    for (uint32_t i = 0; i < tree->end_count; i++) {
        uint32_t node = tree->ends[i].node;

        while (node - top >= tree->nodes[top].size)
            top += tree->nodes[top].size;
        if (!tree_is_not_walked(tree, node) &&
            tree_note(tree, top) != NOTE_ENDED)
            return false;
    }
    return true;
}

/* Write lines about tasks that could not be walked. */
static void write_gaps(FILE *file, const struct follow *follow, unsigned width)
{
    const struct tree *tree = follow->tree;
    uint32_t count = 0, i;
    char ranks[128];

    for (i = 0; i < tree->end_count; i++) {
        uint32_t node = tree->ends[i].node;
        char *text;

        if (!tree_is_not_walked(tree, node) || count++ >= GAPS_SHOWN)
            continue;
        text = columns_append(
            strdup(""), "%s%s %s: [not walked: %s]",
            targets_noun(follow->options.targets),
            tasks_count(tree->ends[i].tasks) == 1 ? "" : "s",
            tasks_text(tree->ends[i].tasks, ranks, sizeof(ranks)),
            tree_function(tree, node));
        if (text) {
            columns_clean(text);
            columns_wrap(file, text, width);
            fputc('\n', file);
        }
        free(text);
    }
    if (count > GAPS_SHOWN)
        fprintf(file, "and %u more such lines\n", count - GAPS_SHOWN);
}

/* Write what is missing, and recent news. */
static void write_notes(FILE *file, const struct follow *follow, unsigned width)
{
    size_t i =
        follow->note_count > NOTES_SHOWN ? follow->note_count - NOTES_SHOWN : 0;

    write_gaps(file, follow, width);
    if (follow->late[0]) {
        columns_wrap(file, follow->late, width);
        fputc('\n', file);
    }
    for (; i < follow->note_count; i++) {
        columns_wrap(file, follow->notes[i], width);
        fputc('\n', file);
    }
}

/* Write the picture of `report`, with or without what changes with time. */
static int write_picture(FILE *file,
                         const struct follow *follow,
                         const struct report *report,
                         bool timeless)
{
    size_t count = report->classes->count;
    uint32_t tasks = tasks_count(report->everyone);
    struct render_options options = {.width = screen_width(),
                                     .colour = follow->options.colour,
                                     .timeless = timeless};
    char *head;
    int r;

    head = columns_append(
        strdup(""), "%u %s%s on %u host%s, %zu class%s", tasks,
        report_noun(report), tasks == 1 ? "" : "s", report->source.hosts,
        report->source.hosts == 1 ? "" : "s", count, count == 1 ? "" : "es");
    if (!timeless)
        head =
            columns_append(head, ", sample %u, stopped %.1f ms at most",
                           follow->sample, (double)report->tree->stop_ns / 1e6);
    options.headline = head;
    r = head ? render_report(file, report, &options) : -ENOMEM;
    if (r == 0)
        write_notes(file, follow, options.width);
    free(head);
    return r;
}

/* Make the same as a new text. Returns 0 or -ENOMEM. */
static int make_picture(char **out,
                        const struct follow *follow,
                        const struct report *report,
                        bool timeless)
{
    char *text = NULL;
    size_t len;
    FILE *file = open_memstream(&text, &len);
    int r = file ? write_picture(file, follow, report, timeless) : -ENOMEM;

    if (file && fclose(file) != 0 && r == 0)
        r = -ENOMEM;
    if (r == 0)
        *out = text;
    else
        free(text);
    return r;
}

/* Print a line with the time, the sample and `more`. */
static void print_mark(struct follow *follow, const char *more)
{
    time_t now = time(NULL);
    char stamp[64] = "";
    struct tm local;

    if (localtime_r(&now, &local))
        strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &local);
    printf("--- %s, sample %u%s\n", stamp, follow->sample, more);
    follow->printed = follow->sample;
}

/* Print `text`, the picture of `report`, if it differs from the last one in
 * more than time, or if it is due. Returns 0, 1 if the output is closed, or a
 * negative errno. */
static int print_due(struct follow *follow,
                     const struct report *report,
                     const char *text)
{
    struct report_source source = report->source;
    struct report *timeless = NULL;
    char *seen = NULL;
    bool same;
    int r;

    source.samples = 1;
    r = report_new(&timeless, follow->tree, &source);
    if (r == 0)
        r = make_picture(&seen, follow, timeless, true);
    report_free(timeless);
    if (r < 0)
        return r;
    same = follow->seen && strcmp(follow->seen, seen) == 0;
    free(follow->seen);
    follow->seen = seen;
    if (same && follow->sample - follow->printed < follow->quiet)
        return 0;
    follow->quiet = same ? 2 * follow->quiet : QUIET_FIRST;
    if (follow->quiet > QUIET_MOST)
        follow->quiet = QUIET_MOST;
    print_mark(follow, "");
    fputs(text, stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}

/* Show the last sample. Returns 0, 1 if the output is closed, or a negative
 * errno. */
static int draw_picture(struct follow *follow, bool is_new)
{
    struct report_source source = {
        .targets = follow->options.targets,
        .hosts = targets_hosts_used(follow->options.targets),
        .samples = follow->sample,
        .interval_ms = follow->options.interval_ms,
        .history = follow->options.history,
        .present_only = true,
        .threads = follow->options.threads,
        .full = follow->options.full,
        .command = follow->options.command,
        .job = follow->job,
        .taken_s = (uint64_t)time(NULL),
        .detail = follow->options.detail};
    struct report *report = NULL;
    char *text = NULL;
    struct past past;
    int r = past_init(&past, follow->options.window, &source);

    source.past = past.report;
    if (r == 0)
        r = report_new(&report, follow->tree, &source);
    if (r == 0 && is_new && follow->record)
        r = record_add(follow->record, report);
    if (r == 0)
        r = make_picture(&text, follow, report, false);
    if (r == 0 && screen_is_terminal(follow->screen))
        screen_draw(follow->screen, text, "q ends it; the job goes on");
    else if (r == 0)
        r = print_due(follow, report, text);
    free(text);
    report_free(report);
    past_fini(&past);
    return r;
}

static int follow_look(void *arg, const struct tree *tree, const char *late)
{
    struct follow *follow = arg;
    struct tree none = {0};
    struct tree *kept = NULL;
    int r = 0;

    if (!follow->screen)
        r = screen_new(&follow->screen);
    if (!follow->job)
        follow->job = origin_job(follow->options.targets);
    if (r == 0)
        r = tree_join(&kept, tree, &none);
    if (r == 0)
        r = history_note(follow->options.history, tree);
    if (r == 0)
        r = window_note(follow->options.window, tree);
    if (r < 0) {
        tree_free(kept);
        return r;
    }
    tree_free(follow->tree);
    follow->tree = kept;
    follow->sample = tree_samples(tree);
    snprintf(follow->late, sizeof(follow->late), "%s", late);
    r = draw_picture(follow, true);
    if (r == 0 && is_over(tree)) {
        follow_say("no task is left that could move");
        r = 1;
    }
    return r;
}

/* Write the last looks; report an error. */
static void write_record(const struct follow *follow)
{
    struct cop_error error;

    if (record_write(follow->record, &error) < 0)
        follow_say(error.text);
}

static int follow_idle(void *arg)
{
    struct follow *follow = arg;

    if (!follow->screen)
        return 0;
    if (follow->record && record_is_wanted())
        write_record(follow);
    if (screen_is_ended(follow->screen))
        return 1;
    return follow->tree && screen_is_resized(follow->screen)
               ? draw_picture(follow, false)
               : 0;
}

static void follow_end(void *arg)
{
    struct follow *follow = arg;

    if (follow->tree && !screen_is_terminal(follow->screen))
        print_mark(follow, ": the end");
    screen_free(follow->screen);
    follow->screen = NULL;
    if (follow->record)
        write_record(follow);
    for (size_t i = 0; i < follow->note_count; i++)
        fprintf(stderr, "coppice-stat: %s\n", follow->notes[i]);
}

int follow_new(struct follow **out, const struct follow_options *options)
{
    struct follow *follow = calloc(1, sizeof(*follow));

    if (!follow)
        return -ENOMEM;
    follow->options = *options;
    follow->viewer =
        (struct gather_viewer){follow_look, follow_idle, follow_end, follow};
    if (options->record && record_new(&follow->record, options->record) < 0) {
        free(follow);
        return -ENOMEM;
    }
    following = follow;
    *out = follow;
    return 0;
}

void follow_free(struct follow *follow)
{
    if (!follow)
        return;
    following = NULL;
    record_free(follow->record);
    screen_free(follow->screen);
    for (size_t i = 0; i < follow->note_count; i++)
        free(follow->notes[i]);
    tree_free(follow->tree);
    free(follow->notes);
    free(follow->seen);
    free(follow->job);
    free(follow);
}

const struct gather_viewer *follow_viewer(const struct follow *follow)
{
    return &follow->viewer;
}
