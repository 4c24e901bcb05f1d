/* inject.c - coppice-inject: break a running network on purpose. */
#include <coppice/status.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/command.h"
#include "tools/failure.h"
#include "tools/measure.h"

const char command_program[] = "coppice-inject";

#define EVERY_DEFAULT_MS 30000
#define EVERY_MAX_MS     (UINT32_C(31) * 86400 * 1000)
#define WAIT_DEFAULT_MS  30000
#define COUNT_MAX        1000000
#define FREEZE_MAX_MS    3600000

/* Orphans without a report that are listed by rank. */
#define NAMED_MAX 8

/* Exit statuses. */
enum status {
    STATUS_HEALED = 0, /* every orphan of every failure has reported */
    STATUS_FAILED = 1, /* the network cannot be queried, or refuses */
    STATUS_USAGE = 2,
    STATUS_UNHEALED = 3, /* an orphan has not reported in time */
};

struct arguments {
    struct failure_plan plan;
    bool named; /* --kill was given */
    bool csv;
    uint32_t every_ms;
    uint32_t count;
    uint64_t seed;
};

/* The sum of all failures. */
struct total {
    size_t failures;
    size_t orphans;
    struct cop_recovered *reports;
    size_t report_count;
};

static volatile sig_atomic_t stopped;

static const char usage[] =
    "usage: coppice-inject SESSION --kill RANK|random [OPTIONS]\n"
    "Inject failures into a running network, and watch its recoveries.\n"
    "SESSION is the session file of a network launched with allow_injection.\n"
    "  --kill RANK      the victim: a commnode or a back-end\n"
    "  --kill random    a random commnode, a new one for each failure\n"
    "  --freeze MS      stop the victim for MS milliseconds instead of killing "
    "it\n"
    "  --cut            reset the victim's link to its parent instead\n"
    "  --count N        number of failures (default 1)\n"
    "  --every S        time between two: seconds, or 500ms, 5m, 2h (default "
    "30)\n"
    "  --timeout S      how long to wait for the orphans' reports (default "
    "30)\n"
    "  --seed N         makes the random victims repeatable\n"
    "  --csv            print a line of numbers for each report\n"
    "  --help, --version\n"
    "exit status: 0 all orphans have reported, 1 failed, 2 usage, 3 an orphan "
    "has not\nreported in time\n";

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

static int read_victim(struct arguments *arguments, const char *text)
{
    arguments->named = true;
    arguments->plan.rank = COP_RANK_NONE;
    if (strcmp(text, "random") == 0)
        return 0;
    if (measure_number(text, 0, COP_RANK_NONE - 1, &arguments->plan.rank) < 0)
        return command_complain("--kill needs a rank or random, not", text);
    if (arguments->plan.rank == 0)
        return command_complain("rank 0 is the front-end: it cannot be a "
                                "victim",
                                NULL);
    return 0;
}

static int read_freeze(struct failure_plan *plan, const char *text)
{
    if (plan->kind == COP_INJECT_CUT)
        return command_complain("--freeze and --cut exclude each other", NULL);
    plan->kind = COP_INJECT_FREEZE;
    if (measure_number(text, 1, FREEZE_MAX_MS, &plan->freeze_ms) < 0)
        return command_complain(
            "--freeze needs milliseconds from 1 to 3600000, not", text);
    return 0;
}

static int read_seed(uint64_t *seed, const char *text)
{
    char *end;

    errno = 0;
    *seed = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || *seed == 0)
        return command_complain("--seed needs a number above 0, not", text);
    return 0;
}

static int take_option(void *arg, int option)
{
    struct arguments *arguments = arg;
    struct failure_plan *plan = &arguments->plan;

    switch (option) {
    case 'k':
        return read_victim(arguments, optarg);
    case 'f':
        return read_freeze(plan, optarg);
    case 'c':
        if (plan->kind == COP_INJECT_FREEZE)
            return command_complain("--freeze and --cut exclude each other",
                                    NULL);
        plan->kind = COP_INJECT_CUT;
        return 0;
    case 'n':
        if (measure_number(optarg, 1, COUNT_MAX, &arguments->count) < 0)
            return command_complain(
                "--count needs a number from 1 to 1000000, not", optarg);
        return 0;
    case 'e':
        if (measure_time(optarg, EVERY_MAX_MS, &arguments->every_ms) < 0)
            return command_complain(
                "--every needs a time such as 30 or 30s, not", optarg);
        return 0;
    case 't':
        if (measure_time(optarg, EVERY_MAX_MS, &plan->wait_ms) < 0)
            return command_complain(
                "--timeout needs a time such as 30 or 30s, not", optarg);
        return 0;
    case 's':
        return read_seed(&arguments->seed, optarg);
    default:
        arguments->csv = true;
        return 0;
    }
}

static int read_arguments(struct arguments *arguments, int argc, char **argv)
{
    static const struct option options[] = {
        {"kill", required_argument, NULL, 'k'},
        {"freeze", required_argument, NULL, 'f'},
        {"cut", no_argument, NULL, 'c'},
        {"count", required_argument, NULL, 'n'},
        {"every", required_argument, NULL, 'e'},
        {"timeout", required_argument, NULL, 't'},
        {"seed", required_argument, NULL, 's'},
        {"csv", no_argument, NULL, 'C'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0},
    };
    struct command command = {usage, options, take_option, arguments};
    int r = command_read(&command, argc, argv, &arguments->plan.session);

    if (r != 0)
        return r;
    if (!arguments->named)
        return command_complain("no victim was given: use --kill RANK or "
                                "--kill random",
                                NULL);
    return 0;
}

/* ---- output ---- */

static const char *clock_text(char out[16], time_t at)
{
    struct tm parts;

    localtime_r(&at, &parts);
    strftime(out, 16, "%H:%M:%S", &parts);
    return out;
}

static void say_begun(const struct failure *failure, void *arg)
{
    const struct arguments *arguments = arg;
    char clock[16];

    if (arguments->csv)
        return;
    printf("%s  %s rank %u (%s)", clock_text(clock, failure->at),
           failure_kind(failure->kind), failure->rank, failure->host);
    if (failure->kind == COP_INJECT_FREEZE)
        printf(" for %u ms", arguments->plan.freeze_ms);
    printf("\n");
    fflush(stdout);
}

static void say_csv(const struct failure *failure, size_t number)
{
    char clock[16];

    for (size_t i = 0; i < failure->report_count; i++) {
        const struct cop_recovered *report = &failure->reports[i];
        const struct cop_recovery *recovery = &report->recovery;

        printf("%zu,%s,%s,%u,%s,%u,%u,%u,%llu,%llu,%llu,%llu,%llu\n", number,
               clock_text(clock, failure->at), failure_kind(failure->kind),
               failure->rank, failure->host, report->rank, report->parent,
               recovery->attempts, (unsigned long long)recovery->choose_us,
               (unsigned long long)recovery->connect_us,
               (unsigned long long)recovery->compensate_us,
               (unsigned long long)recovery->cleanup_us,
               (unsigned long long)recovery->overall_us);
    }
    fflush(stdout);
}

static void say_silent(const struct failure *failure)
{
    const char *between = ": no report from ";
    size_t named = 0, i, at;

    for (i = 0; i < failure->orphan_count; i++) {
        for (at = 0; at < failure->report_count; at++)
            if (failure->reports[at].rank == failure->orphans[i])
                break;
        if (at < failure->report_count || named++ >= NAMED_MAX)
            continue;
        printf("%s%u", between, failure->orphans[i]);
        between = ", ";
    }
    printf("%s\n", named > NAMED_MAX ? " and others" : "");
}

static int say_ended(const struct failure *failure)
{
    if (failure->orphan_count == 0 && failure->report_count == 0) {
        printf("  no orphans: no node has lost its parent\n");
        return 0;
    }
    printf("  %zu orphan%s, %zu reported", failure->orphan_count,
           failure->orphan_count == 1 ? "" : "s", failure->report_count);
    say_silent(failure);
    return failure_breakdown(failure->reports, failure->report_count, stdout);
}

static int say_total(const struct total *total)
{
    if (total->failures < 2)
        return 0;
    printf("all %zu failures: %zu orphan%s, %zu reported\n", total->failures,
           total->orphans, total->orphans == 1 ? "" : "s", total->report_count);
    return failure_breakdown(total->reports, total->report_count, stdout);
}

static int add_to_total(struct total *total, const struct failure *failure)
{
    size_t count = total->report_count + failure->report_count;
    struct cop_recovered *list =
        realloc(total->reports, (count + 1) * sizeof(*list));

    if (!list)
        return -ENOMEM;
    if (failure->report_count > 0)
        memcpy(list + total->report_count, failure->reports,
               failure->report_count * sizeof(*list));
    total->reports = list;
    total->report_count = count;
    total->failures++;
    total->orphans += failure->orphan_count;
    return 0;
}

/* ---- the failures ---- */

static void sleep_until(const struct timespec *at)
{
    while (!stopped &&
           clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, at, NULL) == EINTR)
        ;
}

static void advance(struct timespec *at, uint32_t ms)
{
    at->tv_sec += ms / 1000;
    at->tv_nsec += (long)(ms % 1000) * 1000000;
    if (at->tv_nsec >= 1000000000) {
        at->tv_nsec -= 1000000000;
        at->tv_sec++;
    }
}

/* Inject one failure. Returns 0, or a negative errno after a message. */
static int cause_one(struct arguments *arguments, struct total *total)
{
    struct cop_error error = {"out of memory"};
    struct failure failure;
    int r;

    r = failure_cause(&failure, &arguments->plan, say_begun, arguments, &error);
    if (r == 0)
        r = add_to_total(total, &failure);
    if (r == 0 && arguments->csv)
        say_csv(&failure, total->failures);
    else if (r == 0)
        r = say_ended(&failure);
    if (r < 0)
        fprintf(stderr, "coppice-inject: %s\n", error.text);
    failure_fini(&failure);
    return r;
}

static int cause_all(struct arguments *arguments)
{
    struct total total = {0};
    struct timespec at;
    int r = 0;

    clock_gettime(CLOCK_MONOTONIC, &at);
    for (uint32_t i = 0; r == 0 && i < arguments->count && !stopped; i++) {
        if (i > 0) {
            advance(&at, arguments->every_ms);
            sleep_until(&at);
        }
        if (!stopped)
            r = cause_one(arguments, &total);
    }
    if (!arguments->csv)
        say_total(&total);
    free(total.reports);
    if (r < 0)
        return STATUS_FAILED;
    return total.report_count < total.orphans ? STATUS_UNHEALED : STATUS_HEALED;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct arguments arguments = {
        .plan = {.kind = COP_INJECT_KILL,
                 .wait_ms = WAIT_DEFAULT_MS,
                 .stop = &stopped},
        .every_ms = EVERY_DEFAULT_MS,
        .count = 1,
    };
    struct timespec now;
    int r;

    r = read_arguments(&arguments, argc, argv);
    if (r != 0)
        return command_end(r < 0 ? STATUS_USAGE : STATUS_HEALED, STATUS_FAILED);
    if (arguments.seed == 0) {
        clock_gettime(CLOCK_REALTIME, &now);
        arguments.seed = 1 + (uint64_t)(now.tv_nsec ^ getpid()) % 1000000;
    }
    arguments.plan.random = &arguments.seed;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (arguments.csv)
        printf("failure,time,kind,victim,host,orphan,parent,attempts,choose_us,"
               "connect_us,compensate_us,cleanup_us,overall_us\n");
    else if (arguments.plan.rank == COP_RANK_NONE)
        printf("seed %llu\n", (unsigned long long)arguments.seed);
    return command_end(cause_all(&arguments), STATUS_FAILED);
}
