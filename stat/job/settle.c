/* settle.c - which processes become tasks, and their numbers. */
#include "stat/job/targets.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/job/processes.h"
#include "stat/list.h"

/* Most processes named on one line. */
#define NAMED_MAX 8

/* The source of ranks to use: the highest of any process that is no helper. */
static uint32_t source_of(const struct targets *targets)
{
    uint32_t source = RANK_NONE, i;

    for (i = 0; i < targets->count; i++)
        if (!targets->facts[i].helper && targets->facts[i].rank.source > source)
            source = targets->facts[i].rank.source;
    return source;
}

/* Write "solver, pid 12" or "solver, h1 pid 12". */
static void process_text(char *text,
                         size_t size,
                         const struct targets *targets,
                         uint32_t host,
                         int32_t pid,
                         const char *name)
{
    snprintf(text, size, "%s%s%s%spid %d", name, name[0] ? ", " : "",
             host ? targets_host_name(targets, host) : "", host ? " " : "",
             (int)pid);
}

/* Report why ranks are not used, naming process `i`. */
static void say_unranked(const struct targets *targets,
                         uint32_t i,
                         const char *reason,
                         void (*say)(const char *line))
{
    char process[384], line[640];

    if (!say)
        return;
    process_text(process, sizeof(process), targets, targets->hosts[i],
                 targets->pids[i], targets->facts[i].name);
    snprintf(line, sizeof(line),
             "tasks are numbered 0, 1, 2, ...; their numbers are not ranks: %s "
             "(%s)",
             reason, process);
    say(line);
}

/* A process of the job, to be sorted. */
struct ranked {
    uint32_t number;
    uint32_t index;
    bool helper;
};

static int by_number(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;

    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if (x->helper != y->helper)
        return x->helper ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Check whether the ranks of `list` are of one job. Returns NULL, or why not,
 * with the process that shows it. */
static const char *find_conflict(const struct targets *targets,
                                 const struct ranked *list,
                                 uint32_t count,
                                 uint32_t *index)
{
    const struct rank *one = NULL;

    for (uint32_t i = 0; i < count; i++) {
        const struct rank *other = &targets->facts[list[i].index].rank;

        if (list[i].helper)
            continue;
        *index = list[i].index;
        if (one && (one->job != other->job ||
                    (one->size && other->size && one->size != other->size)))
            return "the processes are of several jobs";
        if (one && one->number == other->number)
            return "several processes have the same rank";
        one = other;
    }
    return NULL;
}

/* Put the elements of an array into the order of `list`, and drop those not in
 * it. */
static int reorder(void *array,
                   size_t size,
                   const struct ranked *list,
                   uint32_t count,
                   uint32_t all)
{
    unsigned char *copy = malloc((size_t)all * size + 1);

    if (!copy)
        return -ENOMEM;
    if (all > 0) /* otherwise the array may be NULL */
        memcpy(copy, array, (size_t)all * size);
    for (uint32_t i = 0; i < count; i++)
        memcpy((unsigned char *)array + (size_t)i * size,
               copy + (size_t)list[i].index * size, size);
    free(copy);
    return 0;
}

/* Whether a process that is set aside is a rank, of another job. */
static bool is_of_other_job(const struct targets_facts *facts)
{
    return !facts->helper && facts->rank.source != RANK_NONE;
}

int targets_set_aside(struct targets *targets,
                      const struct targets_aside *aside)
{
    int r;

    targets->doubtful += is_of_other_job(&aside->facts);
    r = list_grow(&targets->asides, targets->aside_count,
                  sizeof(*targets->asides));

    if (r == 0)
        targets->asides[targets->aside_count++] = *aside;
    return r;
}

/* Drop the processes set aside that are among the targets after all. */
static void drop_asides(struct targets *targets)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < targets->aside_count; i++) {
        const struct targets_aside *aside = &targets->asides[i];

        if (targets_facts_of(targets, aside->host, aside->pid))
            targets->doubtful -= is_of_other_job(&aside->facts);
        else
            targets->asides[kept++] = *aside;
    }
    targets->aside_count = kept;
}

/* Whether a process without a rank that is set aside looks like one of the job:
 * it has the name of a process that is kept. */
static bool is_doubtful(const struct targets_facts *aside,
                        const struct targets_facts *kept)
{
    return !aside->helper && !aside->starts &&
           aside->rank.source == RANK_NONE && aside->name[0] &&
           strcmp(aside->name, kept->name) == 0;
}

/* Keep the processes of `list`, in its order, and set the others aside. */
static int keep(struct targets *targets,
                const struct ranked *list,
                uint32_t count)
{
    uint32_t all = targets->count, i;
    bool *kept = calloc((size_t)all + 1, sizeof(*kept));
    int r = kept ? 0 : -ENOMEM;

    for (i = 0; r == 0 && i < count; i++)
        kept[list[i].index] = true;
    for (i = 0; r == 0 && i < all; i++) {
        if (kept[i])
            continue;
        if (count > 0)
            targets->doubtful +=
                is_doubtful(&targets->facts[i], &targets->facts[list[0].index]);
        r = targets_set_aside(targets, &(struct targets_aside){
                                           targets->hosts[i], targets->pids[i],
                                           targets->facts[i]});
    }
    if (r == 0)
        r = reorder(targets->pids, sizeof(*targets->pids), list, count, all);
    if (r == 0)
        r = reorder(targets->hosts, sizeof(*targets->hosts), list, count, all);
    if (r == 0)
        r = reorder(targets->facts, sizeof(*targets->facts), list, count, all);
    for (i = 0; r == 0 && i < count; i++)
        targets->tasks[i] = list[i].number;
    if (r == 0)
        targets->count = count;
    free(kept);
    return r;
}

/* Find the ranks of the job, up to `last`, that have no process. If pids were
 * given, none count as missing. */
static int find_absent(struct targets *targets, uint32_t last)
{
    struct tasks_range range = {0, last};
    struct tasks *all = NULL, *present = NULL, *absent = NULL;
    int r;

    for (uint32_t i = 0; i < targets->count; i++) {
        if (!targets->facts[i].sought)
            return 0;
        if (targets->facts[i].rank.size > range.last + 1)
            range.last = targets->facts[i].rank.size - 1;
    }
    r = targets_everyone(&present, targets);
    if (r == 0)
        r = tasks_new(&all, &range, 1);
    if (r == 0)
        r = tasks_combine(&absent, TASKS_MINUS, all, present);
    if (r == 0)
        targets_set_absent(targets, absent);
    tasks_free(all);
    tasks_free(present);
    return r;
}

void targets_asides_text(char text[static TARGETS_ASIDES_SIZE],
                         const struct targets *targets,
                         bool helpers)
{
    uint32_t count = 0, i;
    bool others = false;
    int len;

    for (i = 0; i < targets->aside_count; i++)
        others |= is_of_other_job(&targets->asides[i].facts);
    len = snprintf(text, TARGETS_ASIDES_SIZE, "not looked at, as %s%s%s: ",
                   helpers           ? "a "
                   : targets->ranked ? "they have no rank"
                                     : "they only wait for what they have "
                                       "started",
                   helpers  ? targets_noun(targets)
                   : others ? " in this job"
                            : "",
                   helpers ? " has started them" : "");
    for (i = 0; i < targets->aside_count; i++) {
        const struct targets_aside *aside = &targets->asides[i];
        char process[384], rank[64] = "";

        if (aside->facts.helper != helpers || count++ >= NAMED_MAX)
            continue;
        process_text(process, sizeof(process), targets, aside->host, aside->pid,
                     aside->facts.name);
        if (!helpers && aside->facts.rank.source != RANK_NONE)
            snprintf(rank, sizeof(rank), " (rank %" PRIu32 " of another job)",
                     aside->facts.rank.number);
        len += snprintf(text + len, TARGETS_ASIDES_SIZE - (size_t)len, "%s%s%s",
                        count > 1 ? "; " : "", process, rank);
    }
    if (count > NAMED_MAX)
        snprintf(text + len, TARGETS_ASIDES_SIZE - (size_t)len,
                 "; and %" PRIu32 " more", count - NAMED_MAX);
    if (count == 0)
        text[0] = '\0';
}

void targets_say_asides(const struct targets *targets,
                        void (*say)(const char *line))
{
    char line[TARGETS_ASIDES_SIZE];

    for (int helpers = 0; helpers < 2; helpers++) {
        targets_asides_text(line, targets, helpers);
        if (line[0])
            say(line);
    }
}

/* Whether what a process that was given has started may be the job, and is not
 * looked at: it is a launcher, or launchers, or ranks not its own, are below. */
static bool has_started_job(const struct targets *targets)
{
    bool others = false;
    uint32_t i;

    for (i = 0; i < targets->aside_count; i++) {
        const struct targets_facts *facts = &targets->asides[i].facts;

        others |= facts->helper;
        if (facts->helper && (facts->rank.source != RANK_NONE
                                  ? !facts->of
                                  : process_is_launcher(facts->name)))
            return true;
    }
    for (i = 0; i < targets->count; i++) {
        const struct targets_facts *facts = &targets->facts[i];
        struct process process = {.pid = targets->pids[i]};

        /* Those of srun are on other hosts. */
        memcpy(process.name, facts->name, sizeof(process.name));
        if (!facts->sought && facts->rank.source == RANK_NONE &&
            process_is_launcher(facts->name) &&
            (others || process_is_remote_shell(&process)))
            return true;
    }
    return false;
}

/* If a launcher, or a script that has started one, was itself given, report how
 * to look at its job. */
static void say_launchers(const struct targets *targets,
                          void (*say)(const char *line))
{
    struct cop_error unused;
    char line[160], name[16];

    for (uint32_t i = 0; i < targets->count; i++) {
        const struct targets_facts *facts = &targets->facts[i];
        struct process process = {.pid = targets->pids[i]};
        pid_t launcher = process.pid;

        memcpy(process.name, facts->name, sizeof(process.name));
        if (facts->sought || targets->hosts[i] != 0)
            continue;
        if (process_is_launcher(facts->name))
            snprintf(line, sizeof(line), "pid %d is %s", (int)launcher,
                     facts->name);
        else if (process_is_wrapper(&process) &&
                 targets_find_launcher(&launcher, name, &unused) == 0 &&
                 launcher != process.pid)
            snprintf(line, sizeof(line), "pid %d (%s) has started %s, pid %d",
                     (int)process.pid, facts->name, name, (int)launcher);
        else
            continue;
        snprintf(line + strlen(line), sizeof(line) - strlen(line),
                 ": to look at the processes that it has started: --mpir %d",
                 (int)launcher);
        say(line);
    }
}

/* If the only process that was given has no rank, but has started some that have,
 * report how to look at these. */
static void say_ranks_below(const struct targets *targets,
                            void (*say)(const char *line))
{
    const struct targets_facts *facts = targets->facts;
    uint32_t i = 0;
    char line[160];

    while (i < targets->aside_count &&
           !(targets->asides[i].facts.helper &&
             targets->asides[i].facts.rank.source != RANK_NONE))
        i++;
    if (i == targets->aside_count || targets->ranked || targets->count != 1 ||
        facts->sought || targets->hosts[0] != 0 ||
        process_is_launcher(facts->name))
        return;
    snprintf(line, sizeof(line),
             "pid %d (%s) has started ranks of a job: to look at these: "
             "--children-of %d",
             (int)targets->pids[0], facts->name, (int)targets->pids[0]);
    say(line);
}

/* Report which ranks are missing. */
static void say_absent(const struct targets *targets,
                       void (*say)(const char *line))
{
    uint32_t count = targets->absent ? tasks_count(targets->absent) : 0;
    uint32_t found = 0;
    char ranks[128], line[512];

    if (count == 0)
        return;
    for (uint32_t i = 0; i < targets->count; i++)
        found += !targets->facts[i].helper;
    snprintf(line, sizeof(line),
             "%" PRIu32 " of %" PRIu32
             " ranks %s not found on %s: %s: %s ended, "
             "or run%s on another host (see --hosts), or %s not started yet",
             count, found + count, count == 1 ? "was" : "were",
             targets_hosts_used(targets) > 1 ? "these hosts" : "this host",
             tasks_text(targets->absent, ranks, sizeof(ranks)),
             count == 1 ? "it has" : "they have", count == 1 ? "s" : "",
             count == 1 ? "has" : "have");
    say(line);
}

/* The number of the task of which process `i` is a worker, with or without the use
 * of ranks; UINT32_MAX: none that is kept. */
static uint32_t number_of_own(const struct targets *targets,
                              uint32_t i,
                              uint32_t source,
                              const uint32_t *numbers)
{
    const struct targets_facts *facts = &targets->facts[i];
    const struct targets_facts *own =
        facts->worker && !targets->no_helpers
            ? targets_facts_of(targets, targets->hosts[i], facts->of)
            : NULL;

    if (!own || own->helper || (source && own->rank.source != source))
        return UINT32_MAX;
    return source ? own->rank.number : numbers[own - targets->facts];
}

/* Find the processes that are tasks, with or without the use of ranks, and their
 * workers. Returns how many. */
static uint32_t find_kept(struct ranked *list,
                          const struct targets *targets,
                          uint32_t source,
                          uint32_t *numbers)
{
    uint32_t count = 0, i;

    for (i = 0; i < targets->count; i++) {
        const struct targets_facts *facts = &targets->facts[i];

        if (facts->helper || facts->starts ||
            (source && facts->rank.source != source))
            continue;
        numbers[i] = count;
        list[count] =
            (struct ranked){source ? facts->rank.number : count, i, false};
        count++;
    }
    for (i = 0; i < targets->count; i++) {
        uint32_t number = targets->facts[i].helper
                              ? number_of_own(targets, i, source, numbers)
                              : UINT32_MAX;

        if (number != UINT32_MAX)
            list[count++] = (struct ranked){number, i, true};
    }
    if (count > 0)
        qsort(list, count, sizeof(*list), by_number);
    return count;
}

/* Whether ranks cannot be used; reports why. */
static bool is_unranked(const struct targets *targets,
                        const struct ranked *list,
                        uint32_t count,
                        uint32_t source,
                        void (*say)(const char *line))
{
    const char *reason;
    uint32_t i;

    for (i = 0; i < targets->count; i++) {
        if (targets->facts[i].sought || targets->facts[i].helper ||
            targets->facts[i].rank.source == source)
            continue;
        say_unranked(targets, i, "a process has none", say);
        return true;
    }
    reason = find_conflict(targets, list, count, &i);
    if (reason)
        say_unranked(targets, i, reason, say);
    return reason != NULL;
}

int targets_settle(struct targets *targets, void (*say)(const char *line))
{
    struct ranked *list = calloc((size_t)targets->count + 1, sizeof(*list));
    uint32_t *numbers = calloc((size_t)targets->count + 1, sizeof(*numbers));
    uint32_t source = source_of(targets), count;
    int r = -ENOMEM;

    if (!list || !numbers)
        goto out;
    drop_asides(targets);
    count = find_kept(list, targets, source, numbers);
    if (source != RANK_NONE && is_unranked(targets, list, count, source, say)) {
        source = RANK_NONE;
        count = find_kept(list, targets, source, numbers);
    }
    r = keep(targets, list, count);
    targets->ranked = r == 0 && source != RANK_NONE;
    targets->only_starter = has_started_job(targets);
    if (targets->ranked)
        r = find_absent(targets, targets->tasks[count - 1]);
    if (r == 0 && say) {
        say_absent(targets, say);
        say_launchers(targets, say);
        say_ranks_below(targets, say);
    }
out:
    free(numbers);
    free(list);
    return r;
}

const char *targets_noun(const struct targets *targets)
{
    return targets && targets->ranked ? "rank" : "task";
}

bool targets_find(const struct targets *targets, uint32_t task, uint32_t *index)
{
    uint32_t low = 0, high = targets->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (targets->tasks[middle] < task)
            low = middle + 1;
        else
            high = middle;
    }
    *index = low;
    return low < targets->count && targets->tasks[low] == task;
}

int targets_everyone(struct tasks **out, const struct targets *targets)
{
    struct tasks_range *ranges =
        calloc((size_t)targets->count + 1, sizeof(*ranges));
    struct tasks *all = NULL;
    int r;

    if (!ranges)
        return -ENOMEM;
    for (uint32_t i = 0; i < targets->count; i++)
        ranges[i] = (struct tasks_range){targets->tasks[i], targets->tasks[i]};
    r = tasks_new(&all, ranges, targets->count);
    free(ranges);
    if (r == 0 && targets->absent)
        r = tasks_change(&all, TASKS_UNION, targets->absent);
    if (r < 0) {
        tasks_free(all);
        return r;
    }
    *out = all;
    return 0;
}

void targets_set_absent(struct targets *targets, struct tasks *absent)
{
    tasks_free(targets->absent);
    targets->absent = absent;
}
