/* options.c - see options.h. */
#include "stat/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "stat/job/hostfile.h"
#include "stat/list.h"
#include "stat/request.h"

#define TIMEOUT_DEFAULT_S 30
#define TIMEOUT_MAX_S     86400
#define INTERVAL_MS       100
#define SAMPLES           3
#define MAX_STOP_MS       5000
#define FOLLOW_MS         1000

/* Read a number from 1 to `max`. */
static int read_number(uint32_t *out,
                       const char *text,
                       uint32_t max,
                       const char *option,
                       struct cop_error *error)
{
    unsigned long number;
    char *end;

    errno = 0;
    number = strtoul(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || number == 0 ||
        number > max)
        return cop_error_set(error, -EINVAL,
                             "--%s: \"%s\" is no number from 1 to %u", option,
                             text, max);
    *out = (uint32_t)number;
    return 0;
}

/* Add a core file. */
static int add_core(struct options *options, char *path)
{
    int r = list_grow(&options->cores, options->core_count, sizeof(path));

    if (r == 0)
        options->cores[options->core_count++] = path;
    return r;
}

/* How the argument of an option is read. */
enum kind {
    FLAG,   /* no argument: a bool of struct options becomes true */
    TEXT,   /* stored in a const char * */
    NUMBER, /* a number from 1 to `max`, times `unit`, stored in a uint32_t */
    OTHER,  /* read by read_other() */
    NONE,   /* not an option: a line of --help */
};

#define AT(member) offsetof(struct options, member)
#define OUTPUT_OPTION(kind, name, help)                                        \
    {#name, "FILE", help, TEXT, AT(outputs.paths[OUTPUT_##kind]), 0, 0},

/* The options, in the order of --help. */
static const struct known {
    const char *name;
    const char *argument;
    const char *help;
    enum kind kind;
    size_t at;
    uint32_t max;
    uint32_t unit;
} known[] = {
    {"mpir", "PID", "the job of the launcher PID, such as mpirun, or below PID",
     OTHER, 0, 0, 0},
    {"job", "ID[.STEP]", "the Slurm job ID, on all its hosts", OTHER, 0, 0, 0},
    {"children-of", "PID", "the processes under the launcher PID", OTHER, 0, 0,
     0},
    {"name", "NAME", "all processes called NAME", TEXT, AT(name), 0, 0},
    {"user", "USER", "... of this user", TEXT, AT(user), 0, 0},
    {"hosts", "LIST", "... on these hosts, such as node[01-16]", TEXT,
     AT(hosts), 0, 0},
    {"file", "FILE", "the processes that FILE names, such as HOST:PID", OTHER,
     0, 0, 0},
    {"", "COMMAND...", "start COMMAND, and look when it is idle", NONE, 0, 0,
     0},
    {"after", "SECONDS", "... or when it has run for SECONDS", NUMBER,
     AT(after_s), TIMEOUT_MAX_S, 1},
    {"diff", "A B", "compare two files of --json", TEXT, AT(diff[0]), 0, 0},
    {"core", "FILE...", "the processes that dumped these core files", OTHER, 0,
     0, 0},
    {"ssh", "COMMAND", "how to reach other hosts (default: ssh)", TEXT,
     AT(gather.daemons.ssh), 0, 0},
    {"topology", "FILE", "the tree of daemons on this host (default: one)",
     TEXT, AT(gather.daemons.topology_path), 0, 0},
    {"shape", "SHAPE", "... by its shape, such as 4x4", TEXT,
     AT(gather.daemons.shape), 0, 0},
    OUTPUT_FORMATS(OUTPUT_OPTION){
        "", "", "(FILE \"-\": standard output, without a picture)", NONE, 0, 0,
        0},
    {"no-helpers", "", "leave out the workers that ranks have forked", FLAG,
     AT(targets.no_helpers), 0, 0},
    {"samples", "COUNT", "look COUNT times (default 3)", NUMBER,
     AT(gather.samples), REQUEST_SAMPLES_MAX, 1},
    {"watch", "SECONDS", "look until nothing has moved for SECONDS", NUMBER,
     AT(gather.watch_ms), TIMEOUT_MAX_S, 1000},
    {"follow", "", "look again and again; q quits", FLAG, AT(follow), 0, 0},
    {"record", "FILE", "... and keep the last looks in FILE", TEXT, AT(record),
     0, 0},
    {"replay", "FILE", "show what --record has kept", TEXT, AT(replay), 0, 0},
    {"interval", "MS", "time between looks (default 100; --follow: 1000)",
     NUMBER, AT(gather.interval_ms), REQUEST_INTERVAL_MAX_MS, 1},
    {"timeout", "SECONDS", "give up after SECONDS (default 30)", NUMBER,
     AT(gather.timeout_ms), TIMEOUT_MAX_S, 1000},
    {"threads", "", "tell threads apart by name, and count them", FLAG,
     AT(gather.names), 0, 0},
    {"states", "", "show the scheduler state of each thread", FLAG,
     AT(gather.states), 0, 0},
    {"max-stop", "MS", "stop a process for at most MS (default 5000)", NUMBER,
     AT(gather.max_stop_ms), REQUEST_MAX_STOP_MS, 1},
    {"lines", "", "tell the lines of a function apart", OTHER, 0, 0, 0},
    {"pc", "", "tell addresses apart", OTHER, 0, 0, 0},
    {"full", "", "show the inside of MPI and Python too", FLAG, AT(full), 0, 0},
    {"no-color", "", "no terminal colours", FLAG, AT(no_colour), 0, 0},
    {"help", "", "print this text, as -h does", FLAG, AT(help), 0, 0},
    {"version", "", "print the version, as -V does", FLAG, AT(version), 0, 0},
};
#define KNOWN_COUNT (sizeof(known) / sizeof(known[0]))

/* Read an option of kind OTHER. */
static int read_other(struct options *options,
                      const char *name,
                      char *value,
                      struct cop_error *error)
{
    struct targets *targets = &options->targets;
    uint32_t pid;
    int r;

    if (strcmp(name, "lines") == 0)
        options->gather.detail = NAMING_LINES;
    else if (strcmp(name, "pc") == 0)
        options->gather.detail = NAMING_ADDRESSES;
    else if (strcmp(name, "core") == 0)
        return add_core(options, value);
    else if (strcmp(name, "file") == 0)
        return targets_add_file(targets, value, error);
    else if (strcmp(name, "job") == 0)
        return targets_add_job(targets, value, error);
    else {
        r = read_number(&pid, value, INT_MAX, name, error);
        if (r < 0)
            return r;
        return strcmp(name, "mpir") == 0
                   ? targets_add_mpir(targets, (pid_t)pid, options->gather.say,
                                      error)
                   : targets_add_children(targets, (pid_t)pid, error);
    }
    return 0;
}

/* Read one option. */
static int read_option(struct options *options,
                       const struct known *option,
                       char *value,
                       struct cop_error *error)
{
    void *at = (char *)options + option->at;
    uint32_t number;
    int r = 0;

    switch (option->kind) {
    case FLAG:
        *(bool *)at = true;
        break;
    case TEXT:
        *(const char **)at = value;
        break;
    case NUMBER:
        r = read_number(&number, value, option->max, option->name, error);
        if (r == 0)
            *(uint32_t *)at = number * option->unit;
        break;
    case OTHER:
        return read_other(options, option->name, value, error);
    case NONE:
        break;
    }
    return r;
}

/* Read an argument that is not an option. */
static int read_word(struct options *options,
                     char *word,
                     struct cop_error *error)
{
    if (options->core_count > 0)
        return add_core(options, word);
    if (!options->diff[0] || options->diff[1])
        return targets_add_text(&options->targets, word, error);
    options->diff[1] = word;
    return 0;
}

/* Add a search for the processes that --name, --user and --hosts select. */
static int find_by_name(struct options *options, struct cop_error *error)
{
    const char *name = options->name ? options->name : "";
    const char *user = options->user ? options->user : "";
    char *hosts = NULL;
    int r;

    if (options->hosts && !name[0] && !user[0])
        return cop_error_set(error, -EINVAL,
                             "--hosts: give --name or --user too: which "
                             "processes are meant on these hosts?");
    if (options->hosts) {
        r = hostfile_read(&hosts, options->hosts, error);
        if (r == 0)
            r = targets_want(&options->targets, name, user, "", hosts, error);
        free(hosts);
        return r;
    }
    return name[0] || user[0]
               ? targets_add_name(&options->targets, name, user, error)
               : 0;
}

/* Refuse options that exclude each other. */
static int check_options(const struct options *options, struct cop_error *error)
{
    const struct gather_options *gather = &options->gather;
    bool live = options->targets.count > 0 || options->targets.wanted_count > 0;
    bool cores = options->core_count > 0, diff = options->diff[0] != NULL;
    unsigned files = 0, standard = outputs_standard(&options->outputs), i;

    for (i = 0; i < OUTPUT_KINDS; i++)
        files += i != OUTPUT_JSON && options->outputs.paths[i];

    const struct {
        bool wrong;
        const char *sentence;
    } rules[] = {
        {diff && !options->diff[1],
         "--diff: give two files: what --json wrote before and after"},
        {diff && (live || cores || options->command),
         "--diff: give two files, or processes, but not both"},
        {diff && files > 0,
         "--diff writes only --json: leave out the other files"},
        {options->command && (live || cores),
         "-- COMMAND: give a command, or processes, but not both"},
        {options->follow &&
             (cores || gather->samples > 0 || gather->watch_ms > 0),
         "--follow looks at processes until you quit it: not together with "
         "--core, --samples or --watch"},
        {standard > 1, "only one file can be written to standard output, "
                       "\"-\": name the others"},
        {options->follow && standard > 0,
         "--follow draws on standard output: name a file in place of \"-\""},
        {options->after_s > 0 && !options->command,
         "--after: there is no command: give it behind \"--\""},
        {cores && live, "--core: give core files, or processes, but not both"},
        {gather->daemons.shape && gather->daemons.topology_path,
         "--shape and --topology: give one of them"},
        {options->record && !options->follow,
         "--record keeps what --follow has seen: give --follow too"},
        {options->replay && (live || cores || diff || options->command),
         "--replay: give a file that --record wrote, or processes, but not "
         "both"},
        {!live && !cores && !diff && !options->replay && !options->command &&
             !options->help && !options->version,
         "which processes? give pids, --job, --mpir or --name: see "
         "coppice-stat --help"},
        {options->targets.count > TASKS_MAX,
         "too many processes: 16,777,216 at most"},
    };

    for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (rules[i].wrong)
            return cop_error_set(error, -EINVAL, "%s", rules[i].sentence);
    return 0;
}

int options_read(struct options *options,
                 int argc,
                 char **argv,
                 struct cop_error *error)
{
    struct option rows[KNOWN_COUNT + 1] = {{NULL, 0, NULL, 0}};
    int found, index, r = 0;

    /* From 2 on: getopt_long() returns 1 for a non-option. */
    for (size_t i = 0; i < KNOWN_COUNT; i++)
        rows[i] = (struct option){known[i].name, known[i].argument[0] != '\0',
                                  NULL, (int)i + 2};
    while (r == 0 &&
           (found = getopt_long(argc, argv, "-hV", rows, &index)) >= 0) {
        if (found == 1)
            r = read_word(options, optarg, error);
        else if (found == 'h')
            options->help = true;
        else if (found == 'V')
            options->version = true;
        else if (found == '?')
            r = cop_error_set(error, -EINVAL,
                              "wrong option: see coppice-stat --help");
        else
            r = read_option(options, &known[found - 2], optarg, error);
    }
    /* As words are taken in order, only "--" leaves arguments after optind. */
    if (r == 0 && optind < argc)
        options->command = argv + optind;
    if (r == 0)
        r = find_by_name(options, error);
    options->gather.full = options->full;
    options->is_quick = options->gather.samples == 0 &&
                        options->gather.watch_ms == 0 && !options->follow;
    if (options->gather.interval_ms == 0)
        options->gather.interval_ms = options->follow ? FOLLOW_MS : INTERVAL_MS;
    if (r == 0)
        r = check_options(options, error);
    if (options->gather.samples == 0)
        options->gather.samples = options->follow ? 1 : SAMPLES;
    return r;
}

void options_init(struct options *options)
{
    *options =
        (struct options){.gather = {.max_stop_ms = MAX_STOP_MS,
                                    .timeout_ms = TIMEOUT_DEFAULT_S * 1000}};
}

void options_fini(struct options *options)
{
    targets_fini(&options->targets);
    free(options->cores);
    free(options->words);
}

void options_usage(FILE *file)
{
    char option[64];

    fputs("usage: coppice-stat [OPTIONS] PID|HOST:PID|HOST:NAME...\n"
          "Show where the processes of a parallel job are, merged.\n",
          file);
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        snprintf(option, sizeof(option), "%s%s %s",
                 known[i].name[0] || known[i].argument[0] ? "--" : "",
                 known[i].name, known[i].argument);
        fprintf(file, "  %-20s %s\n", option, known[i].help);
    }
    fputs("exit status: 0 one class, 1 several, 2 partial, 3 failed;\n"
          "of --diff: 0 the same, 1 different, 2 unknown for some tasks, 3 "
          "failed\n",
          file);
}
