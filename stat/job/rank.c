/* rank.c - see rank.h. */
#include "stat/job/rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/tree/tasks.h"

/* Variables of one launcher; NULL: not set by it. */
struct variables {
    const char *number;
    const char *sizes[2];
    const char *job[2];
};

static const struct variables variables[RANK_SOURCES] = {
    [RANK_SLURM] = {"SLURM_PROCID",
                    {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
                    {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
    [RANK_TORCH] = {"RANK", {"WORLD_SIZE"}, {"TORCHELASTIC_RUN_ID"}},
    [RANK_FLUX] = {"FLUX_TASK_RANK", {"FLUX_JOB_SIZE"}, {"FLUX_JOB_ID"}},
    [RANK_PLATFORM] = {"MPI_RANKID", {"MPI_NRANKS"}, {NULL}},
    [RANK_PMI] = {"PMI_RANK", {"PMI_SIZE"}, {NULL}},
    [RANK_OPEN_MPI] = {"OMPI_COMM_WORLD_RANK",
                       {"OMPI_COMM_WORLD_SIZE"},
                       {"OMPI_MCA_ess_base_jobid"}},
    [RANK_PMIX] = {"PMIX_RANK", {"OMPI_COMM_WORLD_SIZE"}, {"PMIX_NAMESPACE"}},
};

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

/* Compute FNV-1a, continuing from `hash`. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
    if (hash == 0)
        hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

/* The ranks in an environment, by launcher. */
struct environment {
    struct rank ranks[RANK_SOURCES];
    bool slurm_job;
    bool slurm_step;
};

/* Read one variable of the environment. */
static void read_line(struct environment *environment, const char *line)
{
    const char *text;
    uint32_t number;

    environment->slurm_job |= value_in(line, "SLURM_JOB_ID") != NULL;
    environment->slurm_step |= value_in(line, "SLURM_STEP_ID") != NULL;
    for (uint32_t source = RANK_SLURM; source < RANK_TABLE; source++) {
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
                rank->job += hash_text(i + 1, text);
        }
    }
}

void rank_read(struct rank *rank, pid_t pid)
{
    struct environment environment = {0};
    struct rank *ranks = environment.ranks;
    char path[64], *line = NULL;
    uint32_t source;
    size_t room = 0;
    FILE *file;

    *rank = (struct rank){0};
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return;
    while (getdelim(&line, &room, '\0', file) > 0)
        read_line(&environment, line);
    free(line);
    fclose(file);
    /* A job script also has SLURM_PROCID=0, but is no step. */
    if (environment.slurm_job && !environment.slurm_step)
        ranks[RANK_SLURM].source = RANK_NONE;
    /* Launchers other than torchrun may use RANK in another sense. */
    if (ranks[RANK_TORCH].size == 0)
        ranks[RANK_TORCH].source = RANK_NONE;
    for (source = RANK_SLURM; source < RANK_TABLE; source++) {
        if (ranks[source].source == RANK_NONE)
            continue;
        *rank = ranks[source];
        if (rank->size == 0 && ranks[RANK_SLURM].source != RANK_NONE &&
            ranks[RANK_SLURM].number == rank->number)
            rank->size = ranks[RANK_SLURM].size;
        /* A size not above the rank belongs to something else. */
        if (rank->size <= rank->number)
            rank->size = 0;
    }
}

bool rank_of_step(struct rank *rank,
                  uint32_t number,
                  const char *job,
                  const char *step)
{
    *rank = (struct rank){.source = RANK_SLURM,
                          .number = number,
                          .job = hash_text(1, job) + hash_text(2, step)};
    return number < TASKS_MAX;
}

bool rank_equal(const struct rank *a, const struct rank *b)
{
    return a->source == b->source && a->number == b->number && a->job == b->job;
}
