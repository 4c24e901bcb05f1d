/* processes.h - the processes of this host, as /proc shows them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    int32_t pid;
    int32_t parent;
    int32_t child; /* one that it has started; 0: none */
    uint32_t child_count;
    char name[16]; /* as the kernel keeps it: 15 bytes */
};

/* All processes, ordered by pid. This is no snapshot: processes may begin or
 * end while it is read. */
struct processes {
    struct process *list;
    size_t count;
};

/* Read all live processes; those that have ended but were not waited for are
 * left out. Returns 0 or a negative errno. */
int processes_read(struct processes *processes);

/* Free what `processes` holds. */
void processes_fini(struct processes *processes);

/* The process `pid`; NULL if it does not exist. */
const struct process *processes_find(const struct processes *processes,
                                     pid_t pid);

/* Whether `process` is at any depth below `pid`, and is neither this process
 * nor below it. */
bool processes_is_below(const struct processes *processes,
                        const struct process *process,
                        pid_t pid);

/* Read the name of process `pid`, as the kernel keeps it; "" if it does not
 * exist. */
void process_name(char name[16], pid_t pid);

/* Whether `name` means `process`: it is the process's name, the first word of its
 * command, as ps shows it, or the name of its program's file, even if that was
 * replaced or removed since, or of the script, the module of Python, or the
 * program under valgrind that it runs. A name with a slash is the path of the
 * file or script; it must be absolute. */
bool process_is_called(const struct process *process, const char *name);

/* The program whose worker `process` is, if Python's multiprocessing started it
 * ("spawn", "forkserver"), not only forked it; else NULL. */
const struct process *processes_worker_of(const struct processes *processes,
                                          const struct process *process);

/* Whether both processes run the same program, or scripts in the same
 * interpreter. */
bool process_same_program(pid_t one, pid_t other);

/* Whether `child` runs the program of `parent`, which is above it, with the same
 * arguments, or as a worker of Python's multiprocessing. */
bool process_is_forked(pid_t parent, pid_t child);

/* Whether it only serves Python's multiprocessing: it tracks resources, or forks
 * the workers. */
bool processes_is_service(const struct processes *processes,
                          const struct process *process);

/* Make a name for process_is_called(): a path becomes absolute, with its links
 * followed. Returns 0 or -ENOMEM. */
int process_full_name(char **out, const char *name);

/* Whether the process has mapped the library of a parallel runtime: MPI,
 * OpenSHMEM, PyTorch, NCCL. */
bool process_has_runtime(pid_t pid);

/* The processor time of a process so far, in ticks; 0 if it has ended. */
uint64_t process_ticks(pid_t pid);

/* Whether `process` seems to do nothing but wait for the only program that it
 * has started, soon after its own start, as uv and conda do. The helper of a
 * process that works has begun later, is a copy of it, or runs in a shell, as by
 * system(). */
bool processes_only_starts(const struct processes *processes,
                           const struct process *process);

/* Whether it is a shell, or another program that starts the real one: timeout,
 * time, strace. */
bool process_is_wrapper(const struct process *process);

/* Whether a shell runs it: a script has a name of its own. */
bool process_is_script(const struct process *process);

/* Whether it is a client such as ssh, or srun. */
bool process_is_remote_shell(const struct process *process);

/* Whether a program with this name starts the processes of a launcher on
 * another host: orted, hydra_pmi_proxy. The name may be cut. */
bool process_is_proxy(const char *name);

/* Whether a process with this name is a launcher: mpirun, mpiexec, srun. */
bool process_is_launcher(const char *name);
