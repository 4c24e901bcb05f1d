/* options.c - see options.h. */
#include "stat/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>

#include "stat/request.h"

#define TIMEOUT_DEFAULT_S 30
#define TIMEOUT_MAX_S     86400
#define INTERVAL_MS       100
#define MAX_STOP_MS       5000
#define FOLLOW_MS         1000

/* What getopt_long() calls a word that is no option. */
#define WORD 1

/* From here on: options that write a file, by its output_kind. */
#define OUTPUT 256

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

/* One more core file. */
static int add_core(struct options *options, char *path)
{
    char **grown =
        reallocarray(options->cores, options->core_count + 1, sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    options->cores = grown;
    options->cores[options->core_count++] = path;
    return 0;
}

/* Take an option that says which processes. Returns 1 if it is none. */
static int read_target(struct options *options,
                       int option,
                       const char *value,
                       struct cop_error *error)
{
    uint32_t number;
    int r;

    switch (option) {
    case 'o':
        return add_core(options, (char *)value);
    case 'D':
        options->diff[0] = value;
        return 0;
    case WORD:
        if (options->core_count > 0)
            return add_core(options, (char *)value);
        if (options->diff[0] && !options->diff[1]) {
            options->diff[1] = value;
            return 0;
        }
        return targets_add_text(&options->targets, value, error);
    case 'n':
        options->name = value;
        return 0;
    case 'u':
        options->user = value;
        return 0;
    case 'H':
        options->hosts = value;
        return 0;
    case 'f':
        return targets_add_file(&options->targets, value, error);
    case 'm':
        r = read_number(&number, value, INT_MAX, "--mpir", error);
        return r < 0 ? r
                     : targets_add_mpir(&options->targets, (pid_t)number,
                                        &options->mpir, error);
    case 'c':
        r = read_number(&number, value, INT_MAX, "--children-of", error);
        return r < 0 ? r
                     : targets_add_children(&options->targets, (pid_t)number,
                                            error);
    default:
        return 1;
    }
}

/* Take an option that says how to look at one process. Returns 1 if it is
 * none. */
static int read_walk(struct options *options,
                     int option,
                     const char *value,
                     struct cop_error *error)
{
    switch (option) {
    case 'M':
        return read_number(&options->gather.max_stop_ms, value,
                           REQUEST_MAX_STOP_MS, "--max-stop", error);
    case 'a':
        options->gather.names = true;
        return 0;
    case 'K':
        options->gather.states = true;
        return 0;
    case 'l':
        options->gather.detail = NAMING_LINES;
        return 0;
    case 'p':
        options->gather.detail = NAMING_ADDRESSES;
        return 0;
    default:
        return 1;
    }
}

/* Take any other one. */
static int read_option(struct options *options,
                       int option,
                       const char *value,
                       struct cop_error *error)
{
    uint32_t number;
    int r = 0;

    if (option >= OUTPUT) {
        options->outputs.paths[option - OUTPUT] = value;
        return 0;
    }
    switch (option) {
    case 'r':
        options->gather.daemons.ssh = value;
        return 0;
    case 't':
        options->gather.daemons.topology_path = value;
        return 0;
    case 'S':
        options->gather.daemons.shape = value;
        return 0;
    case 's':
        return read_number(&options->gather.samples, value, REQUEST_SAMPLES_MAX,
                           "--samples", error);
    case 'w':
        r = read_number(&number, value, TIMEOUT_MAX_S, "--watch", error);
        if (r == 0)
            options->gather.watch_ms = number * 1000;
        return r;
    case 'W':
        options->follow = true;
        return 0;
    case 'i':
        return read_number(&options->gather.interval_ms, value,
                           REQUEST_INTERVAL_MAX_MS, "--interval", error);
    case 'T':
        r = read_number(&number, value, TIMEOUT_MAX_S, "--timeout", error);
        if (r == 0)
            options->gather.timeout_ms = number * 1000;
        return r;
    case 'A':
        return read_number(&options->after_s, value, TIMEOUT_MAX_S, "--after",
                           error);
    case 'F':
        options->full = true;
        return 0;
    case 'C':
        options->no_colour = true;
        return 0;
    case 'h':
        options->help = true;
        return 0;
    default:
        return cop_error_set(error, -EINVAL,
                             "wrong option: see coppice-stat --help");
    }
}

/* What --name, --user and --hosts say together. */
static int find_by_name(struct options *options, struct cop_error *error)
{
    const char *name = options->name ? options->name : "";
    const char *user = options->user ? options->user : "";

    if (options->hosts && !name[0] && !user[0])
        return cop_error_set(error, -EINVAL,
                             "--hosts: which processes there? give --name, or "
                             "--user, too");
    if (options->hosts)
        return targets_want(&options->targets, name, user, options->hosts,
                            error);
    return name[0] || user[0]
               ? targets_add_name(&options->targets, name, user, error)
               : 0;
}

static const struct option known[] = {
    {"name", required_argument, NULL, 'n'},
    {"user", required_argument, NULL, 'u'},
    {"hosts", required_argument, NULL, 'H'},
    {"file", required_argument, NULL, 'f'},
    {"mpir", required_argument, NULL, 'm'},
    {"ssh", required_argument, NULL, 'r'},
    {"children-of", required_argument, NULL, 'c'},
    {"topology", required_argument, NULL, 't'},
    {"shape", required_argument, NULL, 'S'},
    {"core", required_argument, NULL, 'o'},
    {"after", required_argument, NULL, 'A'},
    {"diff", required_argument, NULL, 'D'},
    {"follow", no_argument, NULL, 'W'},
#define OUTPUT_OPTION(kind, name, help)                                        \
    {#name, required_argument, NULL, OUTPUT + OUTPUT_##kind},
    OUTPUT_FORMATS(OUTPUT_OPTION)
#undef OUTPUT_OPTION
        {"samples", required_argument, NULL, 's'},
    {"watch", required_argument, NULL, 'w'},
    {"interval", required_argument, NULL, 'i'},
    {"timeout", required_argument, NULL, 'T'},
    {"threads", no_argument, NULL, 'a'},
    {"states", no_argument, NULL, 'K'},
    {"max-stop", required_argument, NULL, 'M'},
    {"lines", no_argument, NULL, 'l'},
    {"pc", no_argument, NULL, 'p'},
    {"full", no_argument, NULL, 'F'},
    {"no-color", no_argument, NULL, 'C'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* The same of --diff. */
static int check_diff(const struct options *options, struct cop_error *error)
{
    int kind;

    if (!options->diff[1])
        return cop_error_set(error, -EINVAL,
                             "--diff: two files: give what --json wrote "
                             "before and after");
    if (options->targets.count > 0 || options->targets.wanted_count > 0 ||
        options->core_count > 0 || options->command)
        return cop_error_set(error, -EINVAL,
                             "--diff: give two files, or processes, but not "
                             "both");
    for (kind = 0; kind < OUTPUT_KINDS; kind++)
        if (options->outputs.paths[kind] && kind != OUTPUT_JSON)
            return cop_error_set(error, -EINVAL,
                                 "--diff writes no other file than that of "
                                 "--json");
    return 0;
}

/* Refuse what does not go together. */
static int check(const struct options *options, struct cop_error *error)
{
    bool live = options->targets.count > 0 || options->targets.wanted_count > 0;
    int r = 0;

    if (options->diff[0])
        return check_diff(options, error);
    if (options->command && (live || options->core_count > 0))
        return cop_error_set(error, -EINVAL,
                             "-- COMMAND: give a command, or processes, but "
                             "not both");
    if (options->follow &&
        (options->core_count > 0 || options->gather.samples > 1 ||
         options->gather.watch_ms > 0))
        return cop_error_set(error, -EINVAL,
                             "--follow looks at processes until you end it: "
                             "not together with --core, --samples or --watch");
    if (outputs_standard(&options->outputs) > 1)
        return cop_error_set(error, -EINVAL,
                             "only one file can be written to standard output, "
                             "\"-\": name the others");
    if (options->follow && outputs_standard(&options->outputs) > 0)
        return cop_error_set(error, -EINVAL,
                             "--follow draws on standard output: name a file "
                             "in place of \"-\"");
    if (options->after_s > 0 && !options->command)
        return cop_error_set(error, -EINVAL,
                             "--after: after the start of "
                             "which command? give it behind \"--\"");
    if (options->core_count > 0 && live)
        r = cop_error_set(error, -EINVAL,
                          "--core: give core files, or processes, but not "
                          "both");
    if (r == 0 && options->gather.daemons.shape &&
        options->gather.daemons.topology_path)
        r = cop_error_set(error, -EINVAL,
                          "--shape and --topology: give one of them");
    if (r == 0 && !live && options->core_count == 0 && !options->command &&
        !options->help)
        r = cop_error_set(error, -EINVAL,
                          "which processes? give pids, --name, --mpir or "
                          "--children-of: see coppice-stat --help");
    if (r == 0 && options->targets.count > TASKS_MAX)
        r = cop_error_set(error, -EINVAL, "more than %u processes", TASKS_MAX);
    return r;
}

int options_read(struct options *options,
                 int argc,
                 char **argv,
                 struct cop_error *error)
{
    int option;
    int r = 0;

    while (r == 0 &&
           (option = getopt_long(argc, argv, "-", known, NULL)) >= 0) {
        r = read_target(options, option, optarg, error);
        if (r == 1)
            r = read_walk(options, option, optarg, error);
        if (r == 1)
            r = read_option(options, option, optarg, error);
    }
    /* Only "--" ends the options where words are taken in their order. */
    if (r == 0 && optind < argc)
        options->command = argv + optind;
    if (r == 0)
        r = find_by_name(options, error);
    if (options->gather.interval_ms == 0)
        options->gather.interval_ms = options->follow ? FOLLOW_MS : INTERVAL_MS;
    return r < 0 ? r : check(options, error);
}

void options_init(struct options *options)
{
    *options =
        (struct options){.gather = {.samples = 1,
                                    .max_stop_ms = MAX_STOP_MS,
                                    .timeout_ms = TIMEOUT_DEFAULT_S * 1000}};
}

void options_fini(struct options *options)
{
    targets_fini(&options->targets);
    free(options->cores);
}

void options_usage(FILE *file)
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
          "  -- COMMAND...        start it, and look when it is quiet\n"
          "  --after SECONDS      ... or after so long\n"
          "  --diff A B           what is different between two files of "
          "--json\n"
          "  --core FILE...       the processes that have left these files\n"
          "  --ssh COMMAND        how to get to other hosts (default: ssh)\n"
          "  --topology FILE      the tree of daemons (default: one daemon)\n"
          "  --shape SHAPE        or its shape on this host, such as 4x4\n",
          file);
#define OUTPUT_USAGE(kind, name, help)                                         \
    fprintf(file, "  --%-18s %s\n", #name " FILE", help);
    OUTPUT_FORMATS(OUTPUT_USAGE)
#undef OUTPUT_USAGE
    fputs("                       (a FILE of \"-\": to standard output, in "
          "place of\n"
          "                       the picture)\n"
          "  --samples COUNT      look COUNT times (default 1)\n"
          "  --watch SECONDS      until nothing has moved for so long\n"
          "  --follow             again and again, drawn in place, until q "
          "is pressed\n"
          "  --interval MS        so long apart (default 100; --follow: 1000)"
          "\n"
          "  --timeout SECONDS    give up after so long (default 30)\n"
          "  --threads            tell threads apart, and count them\n"
          "  --states             what the scheduler says of each\n"
          "  --max-stop MS        stop a process for at most so long (5000)\n"
          "  --lines              one place for each line of a function\n"
          "  --pc                 one place for each address\n"
          "  --full               the inside of MPI too; leave nothing out\n"
          "  --no-color           no terminal colours\n"
          "  --help               this text\n"
          "exit status: 0 one class, 1 several, 2 partial, 3 failed;\n"
          "of --diff: 0 the same, 1 not, 2 not known of some tasks, 3 failed\n",
          file);
}
