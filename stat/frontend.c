/* frontend.c - coppice-stat: where is each process of a parallel job? */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "stat/classes.h"
#include "stat/command.h"
#include "stat/cores.h"
#include "stat/emulation.h"
#include "stat/frame.h"
#include "stat/gather.h"
#include "stat/options.h"
#include "stat/output.h"
#include "stat/remarks.h"
#include "stat/render.h"
#include "stat/report.h"

/* Columns where nothing says how many there are. */
#define WIDTH_DEFAULT 100

/* Tasks that are named one by one when something is wrong with them. */
#define NAMED_MAX 16

/* Exit statuses. */
enum status {
    STATUS_ONE = 0,     /* all tasks behave alike */
    STATUS_SEVERAL = 1, /* there are several classes */
    STATUS_PARTIAL = 2, /* some tasks could not be looked at */
    STATUS_FAILED = 3,  /* nothing could be shown */
};

static void say(const char *line)
{
    fprintf(stderr, "coppice-stat: %s\n", line);
}

/* Columns of standard output. */
static unsigned terminal_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    unsigned long width;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    width = columns ? strtoul(columns, NULL, 10) : 0;
    return width > 0 && width < 100000 ? (unsigned)width : WIDTH_DEFAULT;
}

static bool wants_colour(const struct options *arguments)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    return !arguments->no_colour && !(no_colour && no_colour[0]) &&
           isatty(STDOUT_FILENO) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

/* The host of a task; "" for this one. */
static const char *host_of(const struct targets *targets, uint32_t task)
{
    uint32_t host = targets->hosts[task];

    return host == 0 ? "" : targets_host_name(targets, host);
}

/* Name the tasks of `set` and what is wrong with them. */
static void say_wrong(const struct options *arguments,
                      const struct tasks *set,
                      const char *reason)
{
    char ranks[256];
    uint32_t named = 0;
    uint32_t task;
    size_t i;

    for (i = 0; i < tasks_range_count(set) && named < NAMED_MAX; i++) {
        const struct tasks_range *range = &tasks_ranges(set)[i];

        for (task = range->first;
             task <= range->last && task < arguments->targets.count &&
             named < NAMED_MAX;
             task++, named++)
            fprintf(stderr, "coppice-stat: task %u (%s%spid %d): %s\n", task,
                    host_of(&arguments->targets, task),
                    arguments->targets.hosts[task] ? " " : "",
                    (int)arguments->targets.pids[task], reason);
    }
    if (tasks_count(set) > named)
        fprintf(stderr, "coppice-stat: all tasks with this: %s\n",
                tasks_text(set, ranks, sizeof(ranks)));
}

/* Say which tasks could not be walked, and why. */
static int say_not_walked(const struct options *arguments,
                          const struct tree *tree,
                          bool *partial)
{
    char reason[sizeof(struct cop_error)];
    uint32_t i;

    for (i = 0; i < tree->end_count; i++) {
        uint32_t node = tree->ends[i].node;
        const char *function;

        if (!classes_is_not_walked(tree, node))
            continue;
        function =
            tree->strings[tree->frames[tree->nodes[node].frame].function];
        snprintf(reason, sizeof(reason), "%s",
                 function + strlen(FRAME_NOT_WALKED));
        reason[strcspn(reason, "]")] = '\0';
        say_wrong(arguments, tree->ends[i].tasks, reason);
        *partial = true;
    }
    return 0;
}

/* Say which tasks are not in the answer at all. */
static int say_missing(const struct options *arguments,
                       const struct tree *tree,
                       bool *partial)
{
    struct tasks_range everyone = {0, arguments->targets.count - 1};
    struct tasks *asked = NULL;
    struct tasks *answered = NULL;
    struct tasks *missing = NULL;
    int r;

    r = tasks_new(&asked, &everyone, 1);
    if (r == 0)
        r = tree_tasks(&answered, tree);
    if (r == 0)
        r = tasks_combine(&missing, TASKS_MINUS, asked, answered);
    if (r == 0 && tasks_count(missing) > 0) {
        say_wrong(arguments, missing,
                  "no answer from its daemon in time: "
                  "is its host overloaded? try a longer "
                  "--timeout");
        *partial = true;
    }
    tasks_free(asked);
    tasks_free(answered);
    tasks_free(missing);
    return r;
}

/* Say which tasks were not seen up to the last sample: their daemon was lost.
 * What it had sent is shown. */
static void say_behind(const struct options *arguments, const struct tree *tree)
{
    char ranks[256];
    uint32_t i;

    for (i = 0; i < tree->progress_count; i++) {
        const struct tree_progress *progress = &tree->progress[i];

        if (progress->seen < arguments->gather.samples &&
            arguments->gather.watch_ms == 0)
            fprintf(stderr,
                    "coppice-stat: last seen in sample %u of %u: tasks %s\n",
                    progress->seen, arguments->gather.samples,
                    tasks_text(progress->tasks, ranks, sizeof(ranks)));
    }
}

/* How many hosts have tasks; at least one. */
static uint32_t count_hosts(const struct targets *targets)
{
    uint32_t count = 0, host, i;

    for (host = 0; host < targets->host_count; host++) {
        for (i = 0; i < targets->count && targets->hosts[i] != host; i++)
            ;
        count += i < targets->count;
    }
    return count > 0 ? count : 1;
}

/* How many samples there are of the task that was looked at longest. */
static uint32_t count_samples(const struct tree *tree)
{
    uint32_t most = 0, i;

    for (i = 0; i < tree->progress_count; i++)
        if (tree->progress[i].seen > most)
            most = tree->progress[i].seen;
    return most;
}

/* Show the answer. Returns the exit status, or a negative errno. */
static int show(const struct options *arguments,
                const struct tree *tree,
                struct cop_error *error)
{
    struct report_source source = {.targets = &arguments->targets,
                                   .hosts = count_hosts(&arguments->targets),
                                   .samples = arguments->gather.samples,
                                   .threads = arguments->gather.names,
                                   .full = arguments->full,
                                   .detail = arguments->gather.detail,
                                   .taken_s = (uint64_t)time(NULL)};
    struct render_options options = {.width = terminal_width(),
                                     .colour = wants_colour(arguments)};
    struct report *report = NULL;
    bool partial = false;
    size_t classes;
    int status;
    int r;

    if (arguments->gather.watch_ms > 0)
        source.samples = count_samples(tree);
    r = report_new(&report, tree, &source);
    if (r < 0)
        return r;
    classes = report->classes->count;
    r = classes ? render_report(stdout, report, &options) : 0;
    if (r == 0)
        r = say_not_walked(arguments, tree, &partial);
    if (r == 0 && arguments->emulate.tasks == 0)
        r = say_missing(arguments, tree, &partial);
    if (r == 0)
        r = remarks_find(tree, say, &partial);
    if (r == 0 && classes)
        r = outputs_write(&arguments->outputs, report, error);
    if (classes == 0)
        status = STATUS_FAILED;
    else if (partial)
        status = STATUS_PARTIAL;
    else
        status = classes == 1 ? STATUS_ONE : STATUS_SEVERAL;
    report_free(report);
    return r < 0 ? r : status;
}

/* Emulate, and say how it went. Returns 0 or a negative errno. */
static int emulate(struct tree **tree,
                   const struct options *arguments,
                   struct cop_error *error)
{
    struct emulation result;
    uint32_t i;
    int r;

    r = emulation_run(tree, &result, &arguments->emulate, &arguments->gather,
                      error);
    if (r < 0)
        return r;
    printf("launched %u daemons in %.0f ms; merged %u tasks in %.1f ms; "
           "%u edges, %llu bytes at the root; the answer is right\n",
           arguments->emulate.daemons, (double)result.launch_ns / 1e6,
           arguments->emulate.tasks, (double)result.merge_ns / 1e6,
           result.edges, (unsigned long long)result.bytes);
    for (i = 0; i < TREE_LEVELS_MAX; i++)
        if (result.level_ns[i] > 1)
            printf("depth %u: its slowest node merged for %.1f ms\n", i,
                   (double)result.level_ns[i] / 1e6);
    return 0;
}

/* Start the command, and wait until it is to be looked at. Returns 0, 1 if it
 * has ended before, with `*status`, or a negative errno. */
static int start(struct options *arguments,
                 int *status,
                 struct cop_error *error)
{
    char line[96];
    pid_t pid;
    int r;

    r = command_start(&pid, arguments->command, error);
    if (r == 0)
        r = command_await(pid, arguments->after_s, status);
    if (r == 1)
        snprintf(line, sizeof(line),
                 "the command has ended with status %d: there is nothing to "
                 "look at",
                 *status);
    else if (r == 0)
        snprintf(line, sizeof(line),
                 "looking at the command, pid %d, which goes on", (int)pid);
    if (r >= 0)
        say(line);
    return r != 0 ? r : command_targets(&arguments->targets, pid, error);
}

int main(int argc, char **argv)
{
    struct options arguments;
    struct cop_error error = {""};
    struct cop_error late = {""};
    struct tree *tree = NULL;
    int status = 0;
    int r;

    options_init(&arguments);
    arguments.gather.say = say;
    r = options_read(&arguments, argc, argv, &error);
    if (r == 0 && arguments.help) {
        options_usage(stdout);
        goto out;
    }
    if (r == 0 && arguments.command) {
        r = start(&arguments, &status, &error);
        if (r == 1) {
            r = status == 0 ? STATUS_ONE : STATUS_FAILED;
            goto out;
        }
    }
    if (r == 0 && arguments.emulate.tasks > 0)
        r = emulate(&tree, &arguments, &error);
    else if (r == 0 && arguments.core_count > 0)
        r = cores_tree(&tree, &arguments.targets, arguments.cores,
                       arguments.core_count, arguments.gather.detail, say,
                       &error);
    else if (r == 0)
        r = gather_tree(&tree, &arguments.targets, &arguments.gather, &late,
                        &error);
    if (r == 0)
        r = show(&arguments, tree, &error);
    if (late.text[0])
        fprintf(stderr, "coppice-stat: %s\n", late.text);
    if (r >= 0 && late.text[0] && tree)
        say_behind(&arguments, tree);
    if ((r == STATUS_ONE || r == STATUS_SEVERAL) && late.text[0])
        r = STATUS_PARTIAL;
    if (r < 0) {
        fprintf(stderr, "coppice-stat: %s\n",
                error.text[0] ? error.text : strerror(-r));
        r = STATUS_FAILED;
    }
out:
    tree_free(tree);
    options_fini(&arguments);
    return r;
}
