/* rank.c - see rank.h. */
#include "stat/job/rank.h"

#include <stdlib.h>
#include <string.h>

#include "stat/hash.h"
#include "stat/job/environment.h"
#include "stat/tree/tasks.h"
#include "stat/walk/thread.h"

/* Most processes above one whose environments are compared with its own. */
#define ABOVE_MAX 64

/* Variables of one launcher; NULL: not set by it. */
struct variables {
    const char *number;
    const char *sizes[2];
    const char *job[2];
};

static const struct variables variables[RANK_SOURCES] = {
    [RANK_EXPORTED] = {"RANK", {"WORLD_SIZE"}, {NULL}},
    [RANK_SLURM] = {"SLURM_PROCID",
                    {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
                    {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
    [RANK_FLUX] = {"FLUX_TASK_RANK", {"FLUX_JOB_SIZE"}, {"FLUX_JOB_ID"}},
    [RANK_PLATFORM] = {"MPI_RANKID", {"MPI_NRANKS"}, {NULL}},
    [RANK_PALS] = {"PALS_RANKID", {NULL}, {"PALS_APID"}},
    [RANK_JSM] = {"JSM_NAMESPACE_RANK", {"JSM_NAMESPACE_SIZE"}, {NULL}},
    [RANK_MVAPICH] = {"MV2_COMM_WORLD_RANK", {"MV2_COMM_WORLD_SIZE"}, {NULL}},
    [RANK_PMI] = {"PMI_RANK", {"PMI_SIZE"}, {NULL}},
    [RANK_OPEN_MPI] = {"OMPI_COMM_WORLD_RANK",
                       {"OMPI_COMM_WORLD_SIZE"},
                       {"OMPI_MCA_ess_base_jobid"}},
    [RANK_PMIX] = {"PMIX_RANK", {"OMPI_COMM_WORLD_SIZE"}, {"PMIX_NAMESPACE"}},
    [RANK_HOROVOD] = {"HOROVOD_RANK", {"HOROVOD_SIZE"}, {NULL}},
    [RANK_TORCH] = {"RANK", {"WORLD_SIZE"}, {"TORCHELASTIC_RUN_ID"}},
};

/* Sources that also tell the size of a job whose own variables do not. */
static const uint32_t size_sources[] = {RANK_SLURM, RANK_PMI};

/* The value of `name` in `line`, "NAME=VALUE"; NULL: it is another variable. */
static const char *value_in(const char *line, const char *name)
{
    size_t len = name ? strlen(name) : 0;

    return name && strncmp(line, name, len) == 0 && line[len] == '='
               ? line + len + 1
               : NULL;
}

/* Read a number up to `max`. Returns whether `text` is one. */
static bool read_number(uint32_t *number, const char *text, uint32_t max)
{
    char *end;
    unsigned long value;

    if (text[0] < '0' || text[0] > '9')
        return false;
    value = strtoul(text, &end, 10);
    if (*end || value > max)
        return false;
    *number = (uint32_t)value;
    return true;
}

/* The ranks in an environment, by launcher. */
struct environment {
    struct rank ranks[RANK_SOURCES];
    bool slurm_job;
    bool slurm_step;
    bool local_rank;
};

/* Read one variable of the environment. */
static void read_line(void *arg, const char *line)
{
    struct environment *environment = arg;
    const char *text;
    uint32_t number;

    environment->slurm_job |= value_in(line, "SLURM_JOB_ID") != NULL;
    environment->slurm_step |= value_in(line, "SLURM_STEP_ID") != NULL;
    environment->local_rank |= value_in(line, "LOCAL_RANK") != NULL;
    for (uint32_t source = RANK_NONE + 1; source < RANK_TABLE; source++) {
        struct rank *rank = &environment->ranks[source];

        text = value_in(line, variables[source].number);
        if (text && read_number(&number, text, TASKS_MAX - 1)) {
            rank->number = number;
            rank->source = source;
        }
        for (size_t i = 0; i < 2; i++) {
            text = value_in(line, variables[source].sizes[i]);
            /* The first of the two variables counts, in any order. */
            if (text && (i == 0 || rank->size == 0) &&
                read_number(&number, text, TASKS_MAX))
                rank->size = number;
            text = value_in(line, variables[source].job[i]);
            if (text) /* a sum, since variables are in any order */
                rank->job += hash_bytes(i + 1, text, strlen(text));
        }
    }
}

/* Read the ranks in the environment that process `pid` got, or with `live` has.
 * Returns whether it could be read. */
static bool read_ranks(struct environment *environment, pid_t pid, bool live)
{
    struct rank *ranks = environment->ranks;

    *environment = (struct environment){.slurm_job = false};
    if (!(live ? environment_read_live(pid, read_line, environment)
               : environment_read(pid, read_line, environment)))
        return false;
    /* A job script also has SLURM_PROCID=0, but is no step. */
    if (environment->slurm_job && !environment->slurm_step)
        ranks[RANK_SLURM].source = RANK_NONE;
    /* Others may use RANK in another sense. */
    if (ranks[RANK_TORCH].size == 0)
        ranks[RANK_TORCH].source = ranks[RANK_EXPORTED].source = RANK_NONE;
    if (environment->local_rank)
        ranks[RANK_EXPORTED].source = RANK_NONE;
    else
        ranks[RANK_TORCH].source = RANK_NONE;
    return true;
}

/* The ranks, one bit for each source, that are in `inner` and, if that is not
 * NULL, are other ones in `outer`. */
static uint32_t changed(const struct environment *inner,
                        const struct environment *outer)
{
    uint32_t bits = 0;

    for (uint32_t source = RANK_NONE + 1; source < RANK_TABLE; source++)
        if (inner->ranks[source].source != RANK_NONE &&
            !(outer &&
              rank_equal(&inner->ranks[source], &outer->ranks[source])))
            bits |= UINT32_C(1) << source;
    return bits;
}

/* The ranks that the innermost launcher above process `pid` gave it: the
 * nearest process above it that has not all of them does not have these. */
static uint32_t innermost(const struct environment *own, pid_t pid)
{
    uint32_t all = changed(own, NULL), bits = 0;
    struct thread_status status;
    struct environment outer;

    /* A RANK alone is often exported by hand: it tells nothing beside others. */
    if (all & ~(UINT32_C(1) << RANK_EXPORTED))
        all &= ~(UINT32_C(1) << RANK_EXPORTED);
    if ((all & (all - 1)) == 0)
        return all;
    for (size_t steps = 0; bits == 0 && steps < ABOVE_MAX; steps++) {
        if (thread_status(&status, pid, pid) < 0 || status.parent <= 1 ||
            !read_ranks(&outer, status.parent, false))
            return all;
        bits = changed(own, &outer) & all;
        pid = status.parent;
    }
    return bits ? bits : all;
}

/* Choose the rank of the highest source in `bits`. */
static void choose(struct rank *rank,
                   const struct environment *environment,
                   uint32_t bits)
{
    const struct rank *ranks = environment->ranks;

    for (uint32_t source = RANK_NONE + 1; source < RANK_TABLE; source++)
        if (bits & (UINT32_C(1) << source))
            *rank = ranks[source];
    for (size_t i = 0; i < sizeof(size_sources) / sizeof(size_sources[0]);
         i++) {
        const struct rank *other = &ranks[size_sources[i]];

        if (rank->size == 0 && other->source != RANK_NONE &&
            other->number == rank->number)
            rank->size = other->size;
    }
    /* A size not above the rank belongs to something else. */
    if (rank->size <= rank->number)
        rank->size = 0;
}

void rank_read(struct rank *rank, pid_t pid)
{
    struct environment own;

    *rank = (struct rank){0};
    if (read_ranks(&own, pid, false))
        choose(rank, &own, innermost(&own, pid));
}

void rank_read_live(struct rank *rank, pid_t pid)
{
    struct environment given, live;
    uint32_t bits;

    if (!read_ranks(&live, pid, true))
        return;
    bits = changed(&live, read_ranks(&given, pid, false) ? &given : NULL);
    if (bits)
        choose(rank, &live, bits);
}

bool rank_of_step(struct rank *rank,
                  uint32_t number,
                  const char *job,
                  const char *step)
{
    *rank = (struct rank){.source = RANK_SLURM,
                          .number = number,
                          .job = hash_bytes(1, job, strlen(job)) +
                                 hash_bytes(2, step, strlen(step))};
    return number < TASKS_MAX;
}

bool rank_equal(const struct rank *a, const struct rank *b)
{
    return a->source == b->source && a->number == b->number && a->job == b->job;
}
