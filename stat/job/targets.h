/* targets.h - which processes are looked at. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <coppice/error.h>

#include "stat/job/rank.h"
#include "stat/tree/tasks.h"

/* Most processes. */
#define TARGETS_MAX (UINT32_C(1) << 24)

/* What is to be looked for at one host, by a daemon there. */
struct targets_wanted {
    uint32_t host;
    char *name; /* of a program, or of its file; "": any, of that user */
    char *user; /* "": of any user */
    char *job;  /* of that Slurm job or step instead; "": of any;
                   TARGETS_PIDS: what is known of the pids of `name` */
};

/* In place of a job. */
#define TARGETS_PIDS "pids"

/* What is known of a process. */
struct targets_facts {
    struct rank rank;
    char name[16]; /* as the kernel keeps it; "": not known */
    bool sought;   /* found by a search; else its pid was given */
    bool helper;   /* has its rank from another process above it */
};

/* A process that is not looked at. */
struct targets_aside {
    uint32_t host;
    int32_t pid;
    struct targets_facts facts;
};

struct targets_index; /* opaque */

/* Processes, each once, and what else is to be found. A zeroed one is empty.
 *
 * Until targets_settle(), process i is task i. */
struct targets {
    int32_t *pids;
    uint32_t *hosts; /* of each: 0 is this host */
    uint32_t *tasks; /* the number of the task that each is, rising */
    struct targets_facts *facts;
    uint32_t count;
    bool ranked;          /* the number of each task is its rank */
    struct tasks *absent; /* ranks of the job without a process; NULL: none */
    struct targets_aside *asides;
    uint32_t aside_count;
    char **host_names;   /* from 1 on */
    uint32_t host_count; /* with this host: 0, before anything was added */
    struct targets_wanted *wanted;
    uint32_t wanted_count;
    char *slurm_job;             /* that the hosts are in; NULL: not known */
    struct targets_index *index; /* processes listed already; private */
};

/* Free what `targets` holds. */
void targets_fini(struct targets *targets);

/* How many hosts have tasks; at least 1. */
uint32_t targets_hosts_used(const struct targets *targets);

/* Decide what the tasks are, when all processes are known. If all that were
 * given have a rank, each another one of one job, tasks have the numbers of
 * the ranks. Then what was found without a rank is set aside, and what is
 * missing of the job is noted. Else tasks are numbered in their order. Helpers
 * are set aside in any case.
 *
 * say  told what is missing, and why ranks are not used; may be NULL
 *
 * Returns 0 or -ENOMEM. */
int targets_settle(struct targets *targets, void (*say)(const char *line));

/* Note that a process was set aside. Returns 0 or -ENOMEM. */
int targets_set_aside(struct targets *targets,
                      const struct targets_aside *aside);

/* Bytes of a sentence about processes that were set aside. */
#define TARGETS_ASIDES_SIZE 4096

/* Write which helpers are set aside, or which others, and why; "": none. */
void targets_asides_text(char text[static TARGETS_ASIDES_SIZE],
                         const struct targets *targets,
                         bool helpers);

/* Tell `say` which processes are set aside, if any. */
void targets_say_asides(const struct targets *targets,
                        void (*say)(const char *line));

/* What a task is called: "rank" or "task". */
const char *targets_noun(const struct targets *targets);

/* Find the index of `task`. Returns whether it has a process. */
bool targets_find(const struct targets *targets,
                  uint32_t task,
                  uint32_t *index);

/* Make the set of all tasks, those without a process included.
 * Returns 0 or -ENOMEM. */
int targets_everyone(struct tasks **out, const struct targets *targets);

/* Set the ranks of `targets` that have no process to `absent`, which is taken.
 */
void targets_set_absent(struct targets *targets, struct tasks *absent);

/* The number of the host `name`, added if need be: 0 for this host's own name,
 * "localhost" and "". Returns 0; -EINVAL with a sentence if no host can have
 * that name; or -ENOMEM. */
int targets_host(struct targets *targets,
                 const char *name,
                 uint32_t *host,
                 struct cop_error *error);

/* What people call host number `host`. */
const char *targets_host_name(const struct targets *targets, uint32_t host);

/* Add process `pid` of a host. If it is there already and nothing was known of
 * it, `facts` are.
 *
 * facts  what is known of it; NULL: nothing
 *
 * Returns 0 or -ENOMEM. */
int targets_add(struct targets *targets,
                uint32_t host,
                pid_t pid,
                const struct targets_facts *facts);

/* Add `task`, which is above all others, as process `pid` of a host, also if
 * that is there already: of core files, which may come from several machines,
 * and of looks that were read. Returns 0 or -ENOMEM. */
int targets_append(struct targets *targets,
                   uint32_t task,
                   uint32_t host,
                   pid_t pid);

/* Add what `text` says: PID, HOST:PID, or HOST:NAME. Processes of this host are
 * looked for at once, others by their daemon. Returns 0, -ENOMEM, or -EINVAL or
 * -ENOENT with a sentence. */
int targets_add_text(struct targets *targets,
                     const char *text,
                     struct cop_error *error);

/* Have what is known of the processes that were given by the pids of other hosts
 * asked for there, once for each host. Returns 0 or -ENOMEM. */
int targets_want_given(struct targets *targets);

/* Add the processes of this host that have the pids of `text`: "812 790". What is
 * no pid ends it. Returns 0 or -ENOMEM. */
int targets_add_pids(struct targets *targets, const char *text);

/* Add what the words of the file `path` say, "-": of standard input; from "#"
 * to the end of a line is a comment. Returns as targets_add_text(), or what
 * reading said. */
int targets_add_file(struct targets *targets,
                     const char *path,
                     struct cop_error *error);

/* Add, by pid, all processes of this host that are called `name` ("": any; see
 * process_is_called()), of the user `user` ("": any; a name or a number), but
 * not this one. Returns 0, -ENOENT with a sentence if there is none, or another
 * negative errno. */
int targets_add_name(struct targets *targets,
                     const char *name,
                     const char *user,
                     struct cop_error *error);

/* Add the processes of this host that are of the Slurm job "12", or of its step
 * "12.0": each that has a rank, and of the others each that has no children; not
 * launchers, and nothing of Coppice. Returns as targets_add_name(). */
int targets_add_step(struct targets *targets,
                     const char *job,
                     struct cop_error *error);

/* Have the processes of a Slurm job looked for on its hosts, if it is running
 * and ours: `text` is what people call it, "12", "12_3" of an array, or a step of
 * it, "12.0". Returns 0, or a negative errno with a sentence. */
int targets_add_job(struct targets *targets,
                    const char *text,
                    struct cop_error *error);

/* Have what targets_add_name(), or with a `job` targets_add_step(), would add
 * looked for on each host of the list `hosts`.
 * Returns 0, -EINVAL with a sentence, or -ENOMEM. */
int targets_want(struct targets *targets,
                 const char *name,
                 const char *user,
                 const char *job,
                 const char *hosts,
                 struct cop_error *error);

/* Add, by pid, what runs under the launcher `pid`: each process below it, at
 * any depth, that has a rank from its launcher in its environment, and of the
 * others each that has no children. Of several processes with one rank, below
 * each other, one is that rank: the topmost that has MPI in its memory, or else
 * the topmost that is no shell. Those below it are helpers. This process and
 * what is under it are left out. Returns 0, -ENOENT with a sentence if there is
 * none, or another negative errno. */
int targets_add_children(struct targets *targets,
                         pid_t pid,
                         struct cop_error *error);

/* Replace `*pid` by the only launcher below it, if there is one and it is none
 * itself; `name` becomes the name of what `*pid` is then. Returns 0, or a
 * negative errno with a sentence. */
int targets_find_launcher(pid_t *pid, char name[16], struct cop_error *error);

/* Add the processes in the table MPIR_proctable of the launcher `pid`, such as
 * Open MPI's mpirun: process i of it is rank i of the job (the MPIR process
 * acquisition interface). If `pid` is no launcher, such as a shell or timeout,
 * and there is one below it, take that one, and tell `say`, which may be NULL.
 * If the launcher has no such table, add what runs under it on this host, as
 * targets_add_children() does. Returns 0, or a negative errno with a sentence.
 */
int targets_add_mpir(struct targets *targets,
                     pid_t pid,
                     void (*say)(const char *line),
                     struct cop_error *error);
