/* targets.h - the processes to look at. */
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

/* A search on one host, by the daemon there. */
struct targets_wanted {
    uint32_t host;
    char *name; /* of a program or its file; "": any of that user */
    char *user; /* "": any user */
    char *job;  /* a Slurm job or step instead; "": none; TARGETS_PIDS: facts
                   about the pids in `name` */
};

/* The value of `job` for a search by pids. */
#define TARGETS_PIDS "pids"

/* What is known about a process. */
struct targets_facts {
    struct rank rank;
    char name[16]; /* as the kernel keeps it; "": not known */
    bool sought;   /* found by a search; else its pid was given */
    bool helper;   /* another process above it is its rank, or task, */
    bool worker;   /* and runs the same program */
    int32_t of;    /* the pid of that one; 0: not known */
    bool starts;   /* it has no rank, and only waits for what it has started */
};

/* A process that is not looked at. */
struct targets_aside {
    uint32_t host;
    int32_t pid;
    struct targets_facts facts;
};

struct targets_index; /* opaque */

/* Processes, each once, and searches for more. All zero is empty. A helper that is
 * looked at follows its rank, whose task it is part of.
 *
 * Until targets_settle(), process i is task i. */
struct targets {
    int32_t *pids;
    uint32_t *hosts; /* of each process; 0 is this host */
    uint32_t *tasks; /* task number of each process, ascending */
    struct targets_facts *facts;
    uint32_t count;
    bool ranked;          /* task numbers are ranks */
    bool no_helpers;      /* do not look at helpers of ranks */
    struct tasks *absent; /* ranks of the job without a process; NULL: none */
    struct targets_aside *asides;
    uint32_t aside_count;
    uint32_t doubtful;   /* of `asides`: they look like processes of the job */
    bool only_starter;   /* one that was given has only started the job */
    char **host_names;   /* from host 1 on */
    uint32_t host_count; /* including this host; 0: nothing was added */
    struct targets_wanted *wanted;
    uint32_t wanted_count;
    char *slurm_job;             /* job of the hosts; NULL: not known */
    struct targets_index *index; /* finds processes and hosts; private */
};

/* Free what `targets` holds. */
void targets_fini(struct targets *targets);

/* How many hosts have tasks; at least 1. */
uint32_t targets_hosts_used(const struct targets *targets);

/* Decide what the tasks are, once all processes are known. If all given
 * processes have different ranks of one job, these are the task numbers. Then
 * found processes without a rank are set aside, and the missing ranks of the
 * job are noted. Otherwise tasks are numbered in their order. Workers are part of
 * the task that has started them, unless `no_helpers`; other helpers are set
 * aside.
 *
 * say  gets what is missing, and why ranks are not used; may be NULL
 *
 * Returns 0 or -ENOMEM. */
int targets_settle(struct targets *targets, void (*say)(const char *line));

/* Note that a process was set aside. Returns 0 or -ENOMEM. */
int targets_set_aside(struct targets *targets,
                      const struct targets_aside *aside);

/* Bytes of a sentence about processes set aside. */
#define TARGETS_ASIDES_SIZE 4096

/* Write which helpers, or other processes, are set aside, and why; "": none. */
void targets_asides_text(char text[static TARGETS_ASIDES_SIZE],
                         const struct targets *targets,
                         bool helpers);

/* Report the processes set aside to `say`, if any. */
void targets_say_asides(const struct targets *targets,
                        void (*say)(const char *line));

/* The word for a task: "rank" or "task". */
const char *targets_noun(const struct targets *targets);

/* Find the index of `task`. Returns whether it has a process. */
bool targets_find(const struct targets *targets,
                  uint32_t task,
                  uint32_t *index);

/* Make the set of all tasks, including those without a process. Returns 0 or
 * -ENOMEM. */
int targets_everyone(struct tasks **out, const struct targets *targets);

/* Set `absent`, the ranks that have no process; it is taken. */
void targets_set_absent(struct targets *targets, struct tasks *absent);

/* Find the number of the host `name`, which is added if new: 0 for this host's
 * own name, "localhost" and "". Returns 0; -EINVAL with a sentence if no host
 * can have that name; or -ENOMEM. */
int targets_host(struct targets *targets,
                 const char *name,
                 uint32_t *host,
                 struct cop_error *error);

/* The name of host number `host`. */
const char *targets_host_name(const struct targets *targets, uint32_t host);

/* Add process `pid` of a host. If it is already there, but nothing is known of
 * it, it was given: set its other `facts`.
 *
 * facts  what is known; NULL: nothing
 *
 * Returns 0 or -ENOMEM. */
int targets_add(struct targets *targets,
                uint32_t host,
                pid_t pid,
                const struct targets_facts *facts);

/* Add `task`, above all others, as process `pid` of a host, even if that is
 * already there: for core files, which may come from several machines, and for
 * recorded looks. Returns 0 or -ENOMEM. */
int targets_append(struct targets *targets,
                   uint32_t task,
                   uint32_t host,
                   pid_t pid);

/* The facts about process `pid` of a host; NULL: it is not among the targets. */
const struct targets_facts *targets_facts_of(const struct targets *targets,
                                             uint32_t host,
                                             int32_t pid);

/* Whether a process of host `one` has the pid of one of host `other`. */
bool targets_share_pid(const struct targets *targets,
                       uint32_t one,
                       uint32_t other);

/* Count the processes of host `from` as those of host `to`, each once: both
 * numbers are of the same host. Returns 0 or -ENOMEM. */
int targets_merge_host(struct targets *targets, uint32_t from, uint32_t to);

/* Add the target in `text`: PID, HOST:PID, or HOST:NAME. Processes of this host
 * are searched at once, others by their daemon. Returns 0, -ENOMEM, or -EINVAL
 * or -ENOENT with a sentence. */
int targets_add_text(struct targets *targets,
                     const char *text,
                     struct cop_error *error);

/* Find the facts about the processes that were given by pid, or by a launcher's
 * table, and their helpers: of those of this host now, of others by one search
 * per host. Returns 0, or a negative errno with a sentence. */
int targets_find_given(struct targets *targets, struct cop_error *error);

/* Add the processes of this host with the pids in `text`, "812 790", up to the
 * first word that is no pid, and their helpers: all processes below them. Returns
 * 0, or a negative errno with a sentence. */
int targets_add_pids(struct targets *targets,
                     const char *text,
                     struct cop_error *error);

/* Add the targets in the file `path`, "-": in standard input; they are
 * separated by white space, and "#" begins a comment to the end of the line.
 * Returns as targets_add_text(), or the error of reading. */
int targets_add_file(struct targets *targets,
                     const char *path,
                     struct cop_error *error);

/* Add, by pid, all processes of this host named `name` ("": any; see
 * process_is_called()), of the user `user` ("": any; a name or a number), but
 * not this one. Returns 0, -ENOENT with a sentence if there is none, or another
 * negative errno. */
int targets_add_name(struct targets *targets,
                     const char *name,
                     const char *user,
                     struct cop_error *error);

/* Add the processes of this host in the Slurm job "12" or its step "12.0":
 * those with a rank, and those without a rank and without children; but no
 * launchers and no programs of Coppice. Returns as targets_add_name(). */
int targets_add_step(struct targets *targets,
                     const char *job,
                     struct cop_error *error);

/* Search a Slurm job's processes on its hosts, if it is running and ours.
 * `text` is its usual name, "12", "12_3" of an array, or a step, "12.0".
 * Returns 0, or a negative errno with a sentence. */
int targets_add_job(struct targets *targets,
                    const char *text,
                    struct cop_error *error);

/* Add searches on each host of the list `hosts` for the processes that
 * targets_add_name(), or with a `job` targets_add_step(), would add. Returns 0,
 * -EINVAL with a sentence, or -ENOMEM. */
int targets_want(struct targets *targets,
                 const char *name,
                 const char *user,
                 const char *job,
                 const char *hosts,
                 struct cop_error *error);

/* Add, by pid, the processes below the launcher `pid`, at any depth: those with
 * a rank from its launcher in their environments, and those without a rank and
 * without children. A process above more ranks than its own is none. Of
 * processes with the same rank below each other, the rank is the topmost that
 * has mapped a runtime, or else the topmost that does not only start another;
 * those below it are helpers. This process and those below it are left out.
 * Returns 0, -ENOENT with a sentence if there is none, or another negative
 * errno. */
int targets_add_children(struct targets *targets,
                         pid_t pid,
                         struct cop_error *error);

/* Replace `*pid` by the only launcher below it, if there is one and `*pid` is
 * no launcher; `name` becomes the name of the resulting process. Returns 0, or
 * a negative errno with a sentence. */
int targets_find_launcher(pid_t *pid, char name[16], struct cop_error *error);

/* Add the processes in the table MPIR_proctable of the launcher `pid`, such as
 * Open MPI's mpirun: entry i is rank i of the job (the MPIR process acquisition
 * interface). If `pid` is no launcher but a shell, for example, and there is
 * one below it, use that one, and tell `say`, which may be NULL. If the
 * launcher has no such table, or the processes in it only start others, add the
 * processes below it on this host, like targets_add_children(). Returns 0, or a
 * negative errno with a sentence. */
int targets_add_mpir(struct targets *targets,
                     pid_t pid,
                     void (*say)(const char *line),
                     struct cop_error *error);
