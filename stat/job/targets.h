/* targets.h - which processes are looked at. */
#ifndef STAT_JOB_TARGETS_H
#define STAT_JOB_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <coppice/error.h>

/* Most processes. */
#define TARGETS_MAX (UINT32_C(1) << 24)

/* What is to be looked for at one host, by a daemon there. */
struct targets_wanted {
    uint32_t host;
    char *name; /* of a program, or of its file; "": any, of that user */
    char *user; /* "": of any user */
};

struct targets_index; /* opaque */

/* Processes in the order in which they become tasks, each once, and what else
 * is to be found. A zeroed one is empty. */
struct targets {
    int32_t *pids;
    uint32_t *hosts; /* of each: 0 is this host */
    uint32_t count;
    uint32_t ranked_count; /* so many, from task 0 on, are ranks of MPI */
    char **host_names;     /* from 1 on */
    uint32_t host_count;   /* with this host: 0, before anything was added */
    struct targets_wanted *wanted;
    uint32_t wanted_count;
    struct targets_index *index; /* who is there already; private */
};

/* Free what `targets` holds. */
void targets_fini(struct targets *targets);

/* How many hosts have tasks; at least 1. */
uint32_t targets_hosts_used(const struct targets *targets);

/* Whether the number of each task is its rank of MPI. */
bool targets_are_ranked(const struct targets *targets);

/* The number of the host `name`, added if need be: 0 for this host's own name,
 * "localhost" and "". Returns 0; -EINVAL with a sentence if no host can have
 * that name; or -ENOMEM. */
int targets_host(struct targets *targets,
                 const char *name,
                 uint32_t *host,
                 struct cop_error *error);

/* What people call host number `host`. */
const char *targets_host_name(const struct targets *targets, uint32_t host);

/* Add process `pid` of a host, unless it is there already.
 * Returns 0 or -ENOMEM. */
int targets_add(struct targets *targets, uint32_t host, pid_t pid);

/* Add process `pid` of this host, also if there is one already: of core files,
 * which may come from several machines. Returns 0 or -ENOMEM. */
int targets_add_core(struct targets *targets, pid_t pid);

/* Add what `text` says: PID, HOST:PID, or HOST:NAME. Processes of this host are
 * looked for at once, others by their daemon. Returns 0, -ENOMEM, or -EINVAL or
 * -ENOENT with a sentence. */
int targets_add_text(struct targets *targets,
                     const char *text,
                     struct cop_error *error);

/* Add what the words of the file `path` say, "-": of standard input; from "#"
 * to the end of a line is a comment. Returns as targets_add_text(), or what
 * reading said. */
int targets_add_file(struct targets *targets,
                     const char *path,
                     struct cop_error *error);

/* Add, by pid, all processes of this host whose program's file or whose name
 * is `name` ("": any), of the user `user` ("": any; a name or a number), but
 * not this one. Returns 0, -ENOENT with a sentence if there is none, or
 * another negative errno. */
int targets_add_name(struct targets *targets,
                     const char *name,
                     const char *user,
                     struct cop_error *error);

/* Have the same looked for on each host of the list `hosts`.
 * Returns 0, -EINVAL with a sentence, or -ENOMEM. */
int targets_want(struct targets *targets,
                 const char *name,
                 const char *user,
                 const char *hosts,
                 struct cop_error *error);

/* Add, by pid, what runs under the launcher `pid`: each process below it, at
 * whatever depth, that has no children of its own. (So shells and launchers
 * between are left out; and a task that has started a child is represented by
 * that child.) This process and what is under it are left out. Where each has
 * a rank of its own from its launcher in its environment, as MPI gives, they
 * are in the order of these. Returns 0, -ENOENT with a sentence if there is
 * none, or another negative errno. */
int targets_add_children(struct targets *targets,
                         pid_t pid,
                         struct cop_error *error);

/* Add the processes in the table MPIR_proctable of the launcher `pid`, such as
 * Open MPI's mpirun: process i of it is rank i of the job (the MPIR process
 * acquisition interface). If the launcher has no such table, add what runs
 * under it on this host, as targets_add_children() does, and set `*table` to
 * false. Returns 0, or a negative errno with a sentence. */
int targets_add_mpir(struct targets *targets,
                     pid_t pid,
                     bool *table,
                     struct cop_error *error);

#endif
