/* frontend.c - coppice-stat: where is each process of a parallel job? */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "stat/classes.h"
#include "stat/dot.h"
#include "stat/emulation.h"
#include "stat/frame.h"
#include "stat/gather.h"
#include "stat/mpir.h"
#include "stat/render.h"
#include "stat/request.h"
#include "stat/targets.h"

/* Columns where nothing says how many there are. */
#define WIDTH_DEFAULT 100

/* Tasks that are named one by one when something is wrong with them. */
#define NAMED_MAX 16

#define TIMEOUT_DEFAULT_S 30
#define TIMEOUT_MAX_S     86400
#define INTERVAL_MS       100

/* Exit statuses. */
enum status {
    STATUS_ONE = 0,     /* all tasks behave alike */
    STATUS_SEVERAL = 1, /* there are several classes */
    STATUS_PARTIAL = 2, /* some tasks could not be looked at */
    STATUS_FAILED = 3,  /* nothing could be shown */
};

struct arguments {
    struct targets targets;
    struct gather_options gather;
    struct emulate emulate; /* of 0 tasks: none */
    const char *name;       /* of processes to be found; with ... */
    const char *user;
    const char *hosts;
    bool mpir; /* tasks are ranks of MPI */
    const char *dot_path;
    bool full; /* the inside of runtimes too */
    bool no_colour;
    bool help;
};

static void usage(FILE *file)
{
    fputs("usage: coppice-stat [OPTIONS] PID|HOST:PID|HOST:NAME...\n"
          "Show where the processes of a parallel job are, merged.\n"
          "  --mpir PID           the job of the launcher PID, such as mpirun\n"
          "  --children-of PID    what runs under the launcher PID\n"
          "  --name NAME          all processes called NAME\n"
          "  --user USER          ... of this user\n"
          "  --hosts LIST         ... on these hosts, such as node[01-16]\n"
          "  --file FILE          what the words of FILE say, such as "
          "HOST:PID\n"
          "  --ssh COMMAND        how to get to other hosts (default: ssh)\n"
          "  --topology FILE      the tree of daemons (default: one daemon)\n"
          "  --shape SHAPE        or its shape on this host, such as 4x4\n"
          "  --emulate KEYS       made-up traces of a large job: see the man "
          "page\n"
          "  --dot FILE           write the tree for Graphviz's dot too\n"
          "  --samples COUNT      look COUNT times (default 1)\n"
          "  --interval MS        so long apart (default 100)\n"
          "  --timeout SECONDS    give up after so long (default 30)\n"
          "  --lines              one place for each line of a function\n"
          "  --pc                 one place for each address\n"
          "  --full               classes by the inside of MPI too\n"
          "  --no-color           no terminal colours\n"
          "  --help               this text\n"
          "exit status: 0 one class, 1 several, 2 partial, 3 failed\n",
          file);
}

/* Read a number from 1 to `max`. */
static int read_number(uint32_t *out,
                       const char *text,
                       uint32_t max,
                       const char *what,
                       struct cop_error *error)
{
    unsigned long number;
    char *end;

    errno = 0;
    number = strtoul(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || number == 0 ||
        number > max)
        return cop_error_set(error, -EINVAL,
                             "%s: \"%s\" is no number from 1 to %u", what, text,
                             max);
    *out = (uint32_t)number;
    return 0;
}

/* Take one option. */
static int read_option(struct arguments *arguments,
                       int option,
                       const char *value,
                       struct cop_error *error)
{
    uint32_t number;
    int r = 0;

    switch (option) {
    case 'n':
        arguments->name = value;
        return 0;
    case 'u':
        arguments->user = value;
        return 0;
    case 'H':
        arguments->hosts = value;
        return 0;
    case 'f':
        return targets_add_file(&arguments->targets, value, error);
    case 'm':
        r = read_number(&number, value, INT_MAX, "--mpir", error);
        return r < 0 ? r
                     : mpir_add(&arguments->targets, (pid_t)number,
                                &arguments->mpir, error);
    case 'r':
        arguments->gather.daemons.ssh = value;
        return 0;
    case 'c':
        r = read_number(&number, value, INT_MAX, "--children-of", error);
        return r < 0 ? r
                     : targets_add_children(&arguments->targets, (pid_t)number,
                                            error);
    case 't':
        arguments->gather.daemons.topology_path = value;
        return 0;
    case 'S':
        arguments->gather.daemons.shape = value;
        return 0;
    case 'e':
        return emulate_parse(&arguments->emulate, value, error);
    case 'd':
        arguments->dot_path = value;
        return 0;
    case 's':
        return read_number(&arguments->gather.samples, value,
                           REQUEST_SAMPLES_MAX, "--samples", error);
    case 'i':
        return read_number(&arguments->gather.interval_ms, value,
                           REQUEST_INTERVAL_MAX_MS, "--interval", error);
    case 'T':
        r = read_number(&number, value, TIMEOUT_MAX_S, "--timeout", error);
        if (r == 0)
            arguments->gather.timeout_ms = number * 1000;
        return r;
    case 'l':
        arguments->gather.detail = NAMING_LINES;
        return 0;
    case 'p':
        arguments->gather.detail = NAMING_ADDRESSES;
        return 0;
    case 'F':
        arguments->full = true;
        return 0;
    case 'C':
        arguments->no_colour = true;
        return 0;
    case 'h':
        arguments->help = true;
        return 0;
    default:
        return cop_error_set(error, -EINVAL,
                             "wrong option: see coppice-stat --help");
    }
}

/* What --name, --user and --hosts say together. */
static int find_by_name(struct arguments *arguments, struct cop_error *error)
{
    const char *name = arguments->name ? arguments->name : "";
    const char *user = arguments->user ? arguments->user : "";

    if (arguments->hosts && !name[0] && !user[0])
        return cop_error_set(error, -EINVAL,
                             "--hosts: which processes there? give --name, or "
                             "--user, too");
    if (arguments->hosts)
        return targets_want(&arguments->targets, name, user, arguments->hosts,
                            error);
    return name[0] || user[0]
               ? targets_add_name(&arguments->targets, name, user, error)
               : 0;
}

static int read_arguments(struct arguments *arguments,
                          int argc,
                          char **argv,
                          struct cop_error *error)
{
    static const struct option options[] = {
        {"name", required_argument, NULL, 'n'},
        {"user", required_argument, NULL, 'u'},
        {"hosts", required_argument, NULL, 'H'},
        {"file", required_argument, NULL, 'f'},
        {"mpir", required_argument, NULL, 'm'},
        {"ssh", required_argument, NULL, 'r'},
        {"children-of", required_argument, NULL, 'c'},
        {"topology", required_argument, NULL, 't'},
        {"shape", required_argument, NULL, 'S'},
        {"emulate", required_argument, NULL, 'e'},
        {"dot", required_argument, NULL, 'd'},
        {"samples", required_argument, NULL, 's'},
        {"interval", required_argument, NULL, 'i'},
        {"timeout", required_argument, NULL, 'T'},
        {"lines", no_argument, NULL, 'l'},
        {"pc", no_argument, NULL, 'p'},
        {"full", no_argument, NULL, 'F'},
        {"no-color", no_argument, NULL, 'C'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    int r = 0;

    while (r == 0 && (option = getopt_long(argc, argv, "", options, NULL)) >= 0)
        r = read_option(arguments, option, optarg, error);
    for (; r == 0 && optind < argc; optind++)
        r = targets_add_text(&arguments->targets, argv[optind], error);
    if (r == 0)
        r = find_by_name(arguments, error);
    if (r == 0 && arguments->emulate.tasks > 0 && arguments->targets.count > 0)
        r = cop_error_set(error, -EINVAL,
                          "--emulate makes its processes up: give it, or "
                          "processes, but not both");
    if (r == 0 && arguments->gather.daemons.shape &&
        arguments->gather.daemons.topology_path)
        r = cop_error_set(error, -EINVAL,
                          "--shape and --topology: give one of them");
    if (r == 0 && arguments->targets.count == 0 &&
        arguments->targets.wanted_count == 0 && !arguments->help &&
        arguments->emulate.tasks == 0)
        r = cop_error_set(error, -EINVAL,
                          "which processes? give pids, --name, --mpir or "
                          "--children-of: see coppice-stat --help");
    if (r == 0 && arguments->targets.count > TASKS_MAX)
        r = cop_error_set(error, -EINVAL, "more than %u processes", TASKS_MAX);
    return r;
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

static bool wants_colour(const struct arguments *arguments)
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
static void say_wrong(const struct arguments *arguments,
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
static int say_not_walked(const struct arguments *arguments,
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
static int say_missing(const struct arguments *arguments,
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

static int write_dot(const char *path,
                     const struct tree *tree,
                     const struct classes *classes,
                     struct cop_error *error)
{
    FILE *file = fopen(path, "we");
    int r;

    if (!file)
        return cop_error_set(error, -errno, "%s: cannot write it: %s", path,
                             strerror(errno));
    r = dot_write(file, tree, classes);
    if (fclose(file) != 0 && r == 0)
        r = -errno;
    if (r < 0)
        cop_error_set(error, r, "%s: cannot write it: %s", path, strerror(-r));
    return r;
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

/* Show the answer. Returns the exit status, or a negative errno. */
static int show(const struct arguments *arguments,
                const struct tree *tree,
                struct cop_error *error)
{
    struct render_options options = {.width = terminal_width(),
                                     .colour = wants_colour(arguments),
                                     .hosts = count_hosts(&arguments->targets),
                                     .samples = arguments->gather.samples,
                                     .pids = arguments->targets.pids,
                                     .task_count = arguments->targets.count};
    struct classes *classes = NULL;
    bool partial = false;
    int status;
    int r;

    r = classes_new(&classes, tree,
                    arguments->full ? CLASSES_FULL : CLASSES_CALLS);
    if (r < 0)
        return r;
    r = classes->count ? render_tree(stdout, tree, classes, &options) : 0;
    if (r == 0)
        r = say_not_walked(arguments, tree, &partial);
    if (r == 0 && arguments->emulate.tasks == 0)
        r = say_missing(arguments, tree, &partial);
    if (r == 0 && arguments->dot_path && classes->count)
        r = write_dot(arguments->dot_path, tree, classes, error);
    if (classes->count == 0)
        status = STATUS_FAILED;
    else if (partial)
        status = STATUS_PARTIAL;
    else
        status = classes->count == 1 ? STATUS_ONE : STATUS_SEVERAL;
    classes_free(classes);
    return r < 0 ? r : status;
}

/* Emulate, and say how it went. Returns 0 or a negative errno. */
static int emulate(struct tree **tree,
                   const struct arguments *arguments,
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

static void say(const char *line)
{
    fprintf(stderr, "coppice-stat: %s\n", line);
}

int main(int argc, char **argv)
{
    struct arguments arguments = {
        .gather = {.samples = 1,
                   .interval_ms = INTERVAL_MS,
                   .timeout_ms = TIMEOUT_DEFAULT_S * 1000,
                   .say = say}};
    struct cop_error error = {""};
    struct cop_error late = {""};
    struct tree *tree = NULL;
    int r;

    r = read_arguments(&arguments, argc, argv, &error);
    if (r == 0 && arguments.help) {
        usage(stdout);
        goto out;
    }
    if (r == 0 && arguments.emulate.tasks > 0)
        r = emulate(&tree, &arguments, &error);
    else if (r == 0)
        r = gather_tree(&tree, &arguments.targets, &arguments.gather, &late,
                        &error);
    if (r == 0)
        r = show(&arguments, tree, &error);
    if (late.text[0])
        fprintf(stderr, "coppice-stat: %s\n", late.text);
    if (r == STATUS_ONE && late.text[0])
        r = STATUS_PARTIAL;
    if (r < 0) {
        fprintf(stderr, "coppice-stat: %s\n",
                error.text[0] ? error.text : strerror(-r));
        r = STATUS_FAILED;
    }
out:
    tree_free(tree);
    targets_fini(&arguments.targets);
    return r;
}
