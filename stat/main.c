/* main.c - coppice-stat: where is each process of a parallel job? */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stat/diff/comparison.h"
#include "stat/diff/replay.h"
#include "stat/gather/follow.h"
#include "stat/gather/gather.h"
#include "stat/gather/progress.h"
#include "stat/job/command.h"
#include "stat/job/cores.h"
#include "stat/options.h"
#include "stat/show/columns.h"
#include "stat/show/origin.h"
#include "stat/show/past.h"
#include "stat/show/remarks.h"
#include "stat/show/render.h"
#include "stat/show/report.h"
#include "stat/show/screen.h"
#include "stat/tree/classes.h"
#include "stat/write/output.h"

/* Most messages about single tasks. */
#define NAMED_MAX 32

/* Exit statuses. */
enum status {
    STATUS_ONE = 0,     /* all tasks are in one class */
    STATUS_SEVERAL = 1, /* there are several classes */
    STATUS_PARTIAL = 2, /* some tasks could not be walked */
    STATUS_FAILED = 3,  /* nothing could be shown */
};

static bool wants_colour(const struct options *arguments)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    return !arguments->no_colour && !(no_colour && no_colour[0]) &&
           isatty(STDOUT_FILENO) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

/* Print why the tasks of `set` could not be walked. */
static void say_wrong(const struct options *arguments,
                      const struct tasks *set,
                      const char *reason)
{
    const struct targets *targets = &arguments->targets;
    uint32_t count = tasks_count(set), index;
    const char *noun = targets_noun(targets);
    bool known = targets_find(targets, tasks_first(set), &index);
    uint32_t host = known ? targets->hosts[index] : 0;
    char ranks[256], more[32] = "", who[320] = "", line[1024];

    if (count > 1)
        snprintf(more, sizeof(more), " and %u more", count - 1);
    if (known && targets->pids[index] > 0) /* 0 if a core file does not tell */
        snprintf(who, sizeof(who), " (%s%spid %d%s)",
                 host ? targets_host_name(targets, host) : "", host ? " " : "",
                 (int)targets->pids[index], more);
    snprintf(line, sizeof(line), "%s%s %s%s: %s", noun, count > 1 ? "s" : "",
             tasks_text(set, ranks, sizeof(ranks)), who, reason);
    progress_say(line);
}

/* Print which tasks could not be walked, and why. */
static void say_not_walked(const struct options *arguments,
                           const struct tree *tree)
{
    uint32_t named = 0, i;

    for (i = 0; i < tree->end_count; i++) {
        const struct tree_end *end = &tree->ends[i];

        if (!tree_is_not_walked(tree, end->node))
            continue;
        if (named++ < NAMED_MAX)
            say_wrong(arguments, end->tasks, tree_function(tree, end->node));
    }
    if (named > NAMED_MAX)
        fprintf(stderr, "coppice-stat: and %u more such lines: see --json\n",
                named - NAMED_MAX);
}

/* Draw the picture. Returns 0 or a negative errno with a sentence. */
static int draw_picture(const struct report *report,
                        const struct render_options *options,
                        struct cop_error *error)
{
    int r;

    errno = 0;
    r = render_report(stdout, report, options);
    if (r < 0 && r != -ENOMEM)
        cop_error_set(error, r, "standard output: cannot write it: %s",
                      strerror(-r));
    return r;
}

/* Warn if processes were stopped for longer than --max-stop. The time is
 * rounded to tenths of a millisecond, as in the picture. */
static void say_overrun(const struct options *arguments,
                        const struct tree *tree)
{
    uint64_t tenths = (tree->stop_ns + 50000) / 100000;
    char line[160];

    if (tenths <= (uint64_t)arguments->gather.max_stop_ms * 10)
        return;
    snprintf(line, sizeof(line),
             "processes were stopped for up to %" PRIu64 ".%" PRIu64
             " ms, longer than --max-stop: their hosts are busy",
             tenths / 10, tenths % 10);
    progress_say(line);
}

/* Show the result. Returns the exit status, or a negative errno. */
static int show_report(const struct options *arguments,
                       const struct tree *tree,
                       const struct window *window,
                       const char *late,
                       struct cop_error *error)
{
    struct report_source source = {.targets = &arguments->targets,
                                   .hosts =
                                       targets_hosts_used(&arguments->targets),
                                   .samples = 1,
                                   .interval_ms = arguments->gather.interval_ms,
                                   .history = arguments->gather.history,
                                   .present_only = arguments->follow,
                                   .threads = arguments->gather.names,
                                   .full = arguments->full,
                                   .detail = arguments->gather.detail,
                                   .late = late,
                                   .command = arguments->words,
                                   .taken_s = (uint64_t)time(NULL)};
    struct render_options options = {.width = screen_width(),
                                     .colour = wants_colour(arguments)};
    struct past past = {NULL, NULL};
    struct report *report = NULL;
    char *job = arguments->core_count > 0 ? strdup("")
                                          : origin_job(&arguments->targets);
    size_t classes;
    int status;
    int r;

    if (!job)
        return -ENOMEM;
    source.job = job;
    /* There may be fewer samples than requested. */
    if (arguments->core_count == 0)
        source.samples = tree_samples(tree);
    r = past_init(&past, window, &source);
    source.past = past.report;
    if (r == 0)
        r = report_new(&report, tree, &source);
    if (r < 0)
        goto out;
    classes = report->classes->count;
    /* Files first: a closed pipe on standard output may end the program. */
    if (classes)
        r = outputs_write(&arguments->outputs, report, error);
    if (classes && outputs_standard(&arguments->outputs) == 0) {
        int drawn = draw_picture(report, &options, r == 0 ? error : NULL);

        /* Ctrl-C has also ended the program that reads the pictures. */
        if (drawn == -EPIPE && arguments->follow)
            drawn = 0;
        r = r == 0 ? drawn : r;
    }
    say_not_walked(arguments, tree);
    if (r == 0)
        r = remarks_find(report, progress_say);
    if (arguments->core_count == 0)
        say_overrun(arguments, tree);
    if (classes == 0)
        status = STATUS_FAILED;
    else if (report->missing[0])
        status = STATUS_PARTIAL;
    else
        status = classes == 1 ? STATUS_ONE : STATUS_SEVERAL;
out:
    report_free(report);
    past_fini(&past);
    free(job);
    return r < 0 ? r : status;
}

/* Start the command, and wait until the first look is due. Returns 0, 1 with
 * `*status` if the command ended earlier, or a negative errno. */
static int start_command(struct options *arguments,
                         int *status,
                         struct cop_error *error)
{
    char line[128];
    pid_t pid;
    int r;

    r = command_start(&pid, arguments->command, error);
    if (r == 0 && arguments->after_s)
        snprintf(line, sizeof(line),
                 "the command runs as pid %d; the look is in %u s", (int)pid,
                 arguments->after_s);
    else if (r == 0)
        snprintf(
            line, sizeof(line),
            "the command runs as pid %d; the look is when it has been idle "
            "for %d s",
            (int)pid, COMMAND_QUIET_S);
    if (r == 0)
        progress_say(line);
    if (r == 0)
        r = command_await(pid, arguments->after_s, status);
    if (r == 1)
        snprintf(line, sizeof(line),
                 "the command has ended with status %d: there is nothing to "
                 "look at",
                 *status);
    else if (r == 0)
        snprintf(line, sizeof(line),
                 "looking at the command, pid %d, which goes on: to end it, "
                 "kill %d",
                 (int)pid, (int)pid);
    if (r >= 0)
        progress_say(line);
    return r != 0
               ? r
               : command_targets(&arguments->targets, pid, progress_say, error);
}

/* Show the looks recorded in a file. */
static int replay_looks(const struct options *arguments,
                        struct cop_error *error)
{
    struct render_options options = {.width = screen_width(),
                                     .colour = wants_colour(arguments)};

    return replay_run(arguments->replay, &arguments->outputs, &options, error);
}

/* Compare two looks. */
static int compare_looks(const struct options *arguments,
                         struct cop_error *error)
{
    struct render_options options = {.width = screen_width(),
                                     .colour = wants_colour(arguments)};

    return comparison_run(arguments->diff,
                          arguments->outputs.paths[OUTPUT_JSON], &options,
                          error);
}

/* Ctrl-C was pressed. */
static volatile sig_atomic_t interrupted;

static void take_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* From the first call on, one Ctrl-C ends the sampling and shows the samples so
 * far; a second one, or one before that call, ends the program. */
static bool is_interrupted(void)
{
    const struct sigaction action = {.sa_handler = take_interrupt,
                                     .sa_flags = (int)SA_RESETHAND};
    static bool taken;

    if (!taken)
        sigaction(SIGINT, &action, NULL);
    taken = true;
    return interrupted;
}

/* Look at the job, once or repeatedly. */
static int gather_looks(struct tree **tree,
                        struct options *arguments,
                        struct window *window,
                        struct cop_error *late,
                        struct cop_error *error)
{
    struct follow_options options = {.targets = &arguments->targets,
                                     .interval_ms =
                                         arguments->gather.interval_ms,
                                     .detail = arguments->gather.detail,
                                     .threads = arguments->gather.names,
                                     .full = arguments->full,
                                     .record = arguments->record,
                                     .history = arguments->gather.history,
                                     .window = window,
                                     .command = arguments->words,
                                     .colour = wants_colour(arguments)};
    struct follow *follow = NULL;
    int r = 0;

    if (arguments->follow) {
        r = follow_new(&follow, &options);
        if (r < 0)
            return r;
        arguments->gather.say = follow_say;
        arguments->gather.viewer = follow_viewer(follow);
        /* Ctrl-C also ends a pager that reads the pictures. */
        signal(SIGPIPE, SIG_IGN);
    }
    arguments->gather.quiet_asides = isatty(STDOUT_FILENO) &&
                                     isatty(STDERR_FILENO) &&
                                     outputs_standard(&arguments->outputs) == 0;
    if (!arguments->is_quick)
        arguments->gather.is_ended = is_interrupted;
    else
        arguments->gather.show = NULL;
    r = gather_tree(tree, &arguments->targets, &arguments->gather, late, error);
    arguments->gather.viewer = NULL;
    progress_end();
    follow_free(follow);
    return r;
}

int main(int argc, char **argv)
{
    struct options arguments;
    struct cop_error error = {""};
    struct cop_error late = {""};
    struct history history = {.count = 0};
    struct window window = {.count = 0};
    struct tree *tree = NULL;
    int status = 0;
    int r;

    options_init(&arguments);
    arguments.gather.history = &history;
    arguments.gather.say = progress_say;
    arguments.gather.show = progress_show;
    arguments.words = origin_command(argc, argv);
    r = options_read(&arguments, argc, argv, &error);
    if (r == 0 && arguments.help) {
        options_usage(stdout);
        goto out;
    }
    if (r == 0 && arguments.version) {
        puts("coppice-stat " COPPICE_VERSION);
        goto out;
    }
    if (r == 0 && arguments.command) {
        r = start_command(&arguments, &status, &error);
        if (r == 1) {
            r = status == 0 ? STATUS_ONE : STATUS_FAILED;
            goto out;
        }
    }
    if (r == 0 && arguments.diff[0])
        r = compare_looks(&arguments, &error);
    else if (r == 0 && arguments.replay)
        r = replay_looks(&arguments, &error);
    else if (r == 0 && arguments.core_count > 0)
        r = cores_tree(&tree, &arguments.targets, arguments.cores,
                       arguments.core_count, arguments.gather.detail,
                       arguments.full, progress_say, &error);
    else if (r == 0)
        r = gather_looks(&tree, &arguments, &window, &late, &error);
    if (r == 0 && tree)
        r = show_report(&arguments, tree, &window, late.text, &error);
    if (late.text[0])
        progress_say(late.text);
    if (r < 0) {
        progress_say(error.text[0] ? error.text : strerror(-r));
        r = STATUS_FAILED;
    }
out:
    tree_free(tree);
    history_fini(&history);
    window_fini(&window);
    options_fini(&arguments);
    return r;
}
