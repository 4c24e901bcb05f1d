/* rank.h - the rank that a launcher gave a process, in its environment. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The launcher that gave the rank. A process may have ranks from several, as
 * under a torchrun in a step of Slurm: the innermost counts, which the processes
 * above do not have. If one launcher set several variables, the one with the
 * highest value here counts. */
enum rank_source {
    RANK_NONE,
    RANK_EXPORTED, /* RANK and WORLD_SIZE without LOCAL_RANK: by hand, or by a
                      program that starts its own processes */
    RANK_SLURM,
    RANK_FLUX,
    RANK_PLATFORM, /* Platform MPI */
    RANK_PALS,     /* HPE Cray */
    RANK_JSM,      /* jsrun */
    RANK_MVAPICH,
    RANK_PMI, /* MPICH, Intel MPI */
    RANK_OPEN_MPI,
    RANK_PMIX,
    RANK_HOROVOD,
    RANK_TORCH, /* torchrun, deepspeed, accelerate */
    RANK_TABLE, /* MPIR_proctable of the launcher */
    RANK_SOURCES
};

/* All zero: no rank. */
struct rank {
    uint32_t source; /* of enum rank_source */
    uint32_t number; /* below TASKS_MAX */
    uint32_t size;   /* of the job; 0: not known */
    uint64_t job;    /* a hash of its name; 0: it has none */
};

/* Read the rank that process `pid` of this host had when it began; RANK_NONE if
 * it has none, or its environment may not be read. */
void rank_read(struct rank *rank, pid_t pid);

/* If process `pid` has set its own rank since it began, as workers of
 * torch.multiprocessing do, make `rank` that one. */
void rank_read_live(struct rank *rank, pid_t pid);

/* Make the rank, without its size, that rank_read() reads for task `number` of
 * the Slurm step `job`.`step`. Returns false if no rank has that number. */
bool rank_of_step(struct rank *rank,
                  uint32_t number,
                  const char *job,
                  const char *step);

/* Whether both are the same rank of the same job. */
bool rank_equal(const struct rank *a, const struct rank *b);
