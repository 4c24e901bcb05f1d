/* processes.h - the processes of this host, as /proc shows them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    int32_t pid;
    int32_t parent;
    bool has_child;
    char name[16]; /* as the kernel keeps it: 15 bytes */
};

/* All of them, by pid. It is no snapshot: some may have come or gone while it
 * was read. */
struct processes {
    struct process *list;
    size_t count;
};

/* Read all processes that are alive; those that have ended and are not waited
 * for are left out. Returns 0 or a negative errno. */
int processes_read(struct processes *processes);

/* Free what `processes` holds. */
void processes_fini(struct processes *processes);

/* The process `pid`; NULL: it is not there. */
const struct process *processes_find(const struct processes *processes,
                                     pid_t pid);

/* Whether `process` is somewhere below `pid`, and neither this process nor
 * below it. */
bool processes_is_below(const struct processes *processes,
                        const struct process *process,
                        pid_t pid);

/* Read the name of process `pid`, as the kernel keeps it; "" if it is not
 * there. */
void process_name(char name[16], pid_t pid);

/* Whether people call `process` by `name`: that is its name, the name of its
 * program's file, also if that was replaced or removed since, or of the script
 * that it runs. A name with a slash is the path of the file or script; it must
 * be absolute. */
bool process_is_called(const struct process *process, const char *name);

/* The program of which `process` is a worker that Python's multiprocessing has
 * started ("spawn", "forkserver"), not only forked; NULL: of none. */
const struct process *processes_worker_of(const struct processes *processes,
                                          const struct process *process);

/* Make the name for process_is_called(): that of a path becomes absolute, with
 * its links followed. Returns 0 or -ENOMEM. */
int process_full_name(char **out, const char *name);

/* Whether the process has MPI's library in its memory. */
bool process_has_mpi(pid_t pid);

/* Whether it is a shell, or another program that starts the one that is meant:
 * timeout, time, strace. */
bool process_is_wrapper(const struct process *process);

/* Whether it is a client of ssh or its like, or srun. */
bool process_is_remote_shell(const struct process *process);

/* Whether a program of that name starts the processes of a launcher on another
 * host: orted, hydra_pmi_proxy. The name may be cut. */
bool process_is_proxy(const char *name);

/* Whether a process of that name is a launcher: mpirun, mpiexec, srun. */
bool process_is_launcher(const char *name);
