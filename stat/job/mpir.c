/* mpir.c - reads the processes of a job from its launcher's table for
 * debuggers. */
#include "stat/job/targets.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stat/job/apart.h"
#include "stat/job/processes.h"
#include "stat/job/step.h"
#include "stat/walk/names.h"
#include "stat/walk/touch.h"

/* Bytes of a host's name in the table. */
#define HOST_MAX 255

/* One row of the table, in a 64-bit launcher. */
struct row {
    uint64_t host;
    uint64_t program;
    int32_t pid;
    int32_t unused;
};

/* Addresses in the launcher; 0: not found. */
struct symbols {
    Dwarf_Addr table;
    Dwarf_Addr size;
    Dwarf_Addr job; /* in srun: a text */
};

static int find_symbols(Dwfl_Module *module,
                        void **userdata,
                        const char *name,
                        Dwarf_Addr base,
                        void *arg)
{
    struct symbols *symbols = arg;
    int count = dwfl_module_getsymtab(module), i;
    GElf_Sym symbol;
    GElf_Addr address;

    (void)userdata;
    (void)name;
    (void)base;
    for (i = 0; i < count; i++) {
        const char *text = dwfl_module_getsym_info(module, i, &symbol, &address,
                                                   NULL, NULL, NULL);

        if (!text || symbol.st_shndx == 0)
            continue;
        if (strcmp(text, "MPIR_proctable") == 0)
            symbols->table = address;
        else if (strcmp(text, "MPIR_proctable_size") == 0)
            symbols->size = address;
        else if (strcmp(text, "totalview_jobid") == 0)
            symbols->job = address;
    }
    return symbols->table && symbols->size ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* Read `len` bytes at `address` of the process. Returns 0 or -EIO. */
static int read_at(int memory, void *bytes, size_t len, uint64_t address)
{
    return pread(memory, bytes, len, (off_t)address) == (ssize_t)len ? 0 : -EIO;
}

/* Read a text, which may end close to the end of a mapping. */
static int read_text(int memory, char text[HOST_MAX + 1], uint64_t address)
{
    size_t len = 0;

    while (len < HOST_MAX && read_at(memory, text + len, 1, address + len) == 0)
        if (text[len++] == '\0')
            return 0;
    return -EIO;
}

/* Add all rows of the table. */
static int add_rows(struct targets *targets,
                    int memory,
                    const struct symbols *symbols,
                    pid_t pid,
                    struct cop_error *error)
{
    char host[HOST_MAX + 1];
    uint64_t at = 0;
    int32_t count = 0, i;
    uint32_t number;
    struct row row;
    int r;

    r = read_at(memory, &count, sizeof(count), symbols->size);
    if (r == 0)
        r = read_at(memory, &at, sizeof(at), symbols->table);
    if (r == 0 && (count <= 0 || (uint32_t)count > TARGETS_MAX || at == 0))
        return cop_error_set(
            error, -EAGAIN,
            "pid %d: its MPIR_proctable is empty: has the job "
            "been started yet? to look at what it has started: "
            "--children-of %d",
            (int)pid, (int)pid);
    for (i = 0; r == 0 && i < count; i++) {
        r = read_at(memory, &row, sizeof(row), at + (uint64_t)i * sizeof(row));
        if (r == 0)
            r = read_text(memory, host, row.host);
        if (r == 0 && row.pid <= 0)
            r = -EIO;
        if (r == 0)
            r = targets_host(targets, host, &number, error);
        if (r == 0)
            r = targets_add(
                targets, number, row.pid,
                &(struct targets_facts){.rank = {.source = RANK_TABLE,
                                                 .number = (uint32_t)i,
                                                 .size = (uint32_t)count,
                                                 .job = (uint64_t)pid}});
    }
    if (r == -EIO)
        cop_error_set(error, r,
                      "pid %d: its MPIR_proctable cannot be read: is it being "
                      "changed? try again",
                      (int)pid);
    return r;
}

/* Whether a process in the table is on this host. */
static bool is_here(const struct targets *table)
{
    for (uint32_t i = 0; i < table->count; i++)
        if (table->hosts[i] == 0)
            return true;
    return false;
}

/* Whether the processes in the table that are on this host only start others:
 * none of them is one of the ranks that were found below the launcher. */
static bool only_starts(const struct targets *table,
                        const struct targets *found)
{
    bool ranks = false;

    for (uint32_t i = 0; i < found->count; i++) {
        if (targets_facts_of(table, 0, found->pids[i]))
            return false;
        ranks |= found->facts[i].rank.source != RANK_NONE;
    }
    return is_here(table) && ranks;
}

/* The variables that tell the job of the table, of any of its processes on this
 * host; all zero: not known. */
static struct rank job_of(const struct targets *table,
                          const struct targets *found)
{
    for (uint32_t i = 0; i < found->count; i++)
        if (targets_facts_of(table, 0, found->pids[i]))
            return found->facts[i].rank;
    return (struct rank){0};
}

/* Set aside a process that was found below the launcher beside the table, if it
 * is of another job, which MPI_Comm_spawn() has started, or a rank that a process
 * of the table has started. Returns 0 or -ENOMEM. */
static int set_aside(struct targets *targets,
                     const struct targets *table,
                     const struct targets *found,
                     const struct rank *job,
                     uint32_t i)
{
    struct targets_aside aside = {.pid = found->pids[i],
                                  .facts = found->facts[i]};
    const struct rank *rank = &aside.facts.rank;

    if (rank->source == RANK_NONE || aside.facts.helper ||
        targets_facts_of(table, 0, aside.pid) ||
        (rank->source == job->source && rank->job == job->job))
        return 0;
    return targets_set_aside(targets, &aside);
}

/* Add the processes in the table, and set aside others below the launcher on this
 * host. If the processes in the table only start others, and all are here, add
 * these instead. Returns 0 or a negative errno. */
static int take_table(struct targets *targets,
                      const struct targets *table,
                      pid_t launcher,
                      void (*say)(const char *line))
{
    struct targets found = {.count = 0};
    struct cop_error unused;
    struct rank job;
    bool instead;
    uint32_t i, host;
    char line[128];
    int r = targets_add_children(&found, launcher, &unused);

    if (r != -ENOMEM)
        r = 0; /* there may be none on this host */
    instead = table->host_count <= 1 && only_starts(table, &found);
    for (i = 0; r == 0 && !instead && i < table->count; i++) {
        r = targets_host(targets, targets_host_name(table, table->hosts[i]),
                         &host, &unused);
        if (r == 0)
            r = targets_add(targets, host, table->pids[i], &table->facts[i]);
    }
    job = job_of(table, &found);
    for (i = 0; r == 0 && i < found.count; i++)
        if (instead)
            r = targets_add(targets, 0, found.pids[i], &found.facts[i]);
        else if (is_here(table)) /* else their variables tell no job */
            r = set_aside(targets, table, &found, &job, i);
    snprintf(line, sizeof(line),
             "pid %d: the processes in its MPIR_proctable only start others: "
             "looking at these",
             (int)launcher);
    if (instead && say)
        say(line);
    targets_fini(&found);
    return r;
}

/* Find the addresses of the table of process `pid`. */
static int read_symbols(struct symbols *symbols,
                        pid_t pid,
                        struct cop_error *error)
{
    struct modules *modules = NULL;
    int r;

    *symbols = (struct symbols){0, 0, 0};
    r = modules_new(&modules, pid);
    if (r == -ENOENT || r == -ESRCH)
        return cop_error_set(error, -ESRCH,
                             "pid %d: no such process: has the launcher ended? "
                             "its output may say why",
                             (int)pid);
    if (r == -EACCES || r == -EPERM)
        return cop_error_set(error, r,
                             "pid %d: not permitted: run as the user who has "
                             "started this launcher, or as root",
                             (int)pid);
    if (r < 0)
        return cop_error_set(error, r,
                             "pid %d: cannot look at this launcher: %s",
                             (int)pid, strerror(-r));
    dwfl_getmodules(modules_dwfl(modules), find_symbols, symbols, 0);
    modules_free(modules);
    return 0;
}

/* Note the Slurm job in which a launcher runs: srun has it in a variable,
 * others in their environment. */
static void note_slurm_job(struct targets *targets,
                           int memory,
                           const struct symbols *symbols,
                           pid_t pid)
{
    char text[HOST_MAX + 1];
    uint64_t at = 0;

    free(targets->slurm_job);
    targets->slurm_job = NULL;
    if (symbols->job && read_at(memory, &at, sizeof(at), symbols->job) == 0 &&
        at != 0 && read_text(memory, text, at) == 0)
        targets->slurm_job = strdup(text);
    else
        targets->slurm_job = step_job_of(pid);
}

/* Add the processes in the table of the process whose pid is in `arg`. Returns 1,
 * 0 if it has no table, or a negative errno with a sentence. */
static int read_table(struct targets *targets,
                      void *arg,
                      struct cop_error *error)
{
    struct symbols symbols;
    pid_t pid = *(const pid_t *)arg;
    char path[64];
    int memory, r;

    if (!touch_memory(pid))
        return cop_error_set(error, -EIO,
                             "pid %d: cannot look at this launcher: %s",
                             (int)pid, touch_reason());
    r = read_symbols(&symbols, pid, error);
    if (r < 0 || !symbols.table || !symbols.size)
        return r;
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    memory = open(path, O_RDONLY | O_CLOEXEC);
    if (memory < 0)
        return cop_error_set(error, -errno,
                             "pid %d: cannot read its memory: %s: be its owner "
                             "or root",
                             (int)pid, strerror(errno));
    r = add_rows(targets, memory, &symbols, pid, error);
    if (r == 0)
        note_slurm_job(targets, memory, &symbols, pid);
    close(memory);
    return r < 0 ? r : 1;
}

/* The same, but do not wait for files that do not answer. */
static int add_table(struct targets *targets,
                     pid_t pid,
                     struct cop_error *error)
{
    return apart_search(targets, read_table, &pid, error);
}

/* Whether `process` is a launcher below `pid` without another between them. */
static bool is_launcher_of(const struct processes *processes,
                           const struct process *process,
                           pid_t pid)
{
    if (!process_is_launcher(process->name) ||
        !processes_is_below(processes, process, pid))
        return false;
    for (size_t steps = 0; steps < processes->count; steps++) {
        if (process->parent == pid)
            return true;
        process = processes_find(processes, process->parent);
        if (!process || process_is_launcher(process->name))
            return false;
    }
    return false;
}

int targets_find_launcher(pid_t *pid, char name[16], struct cop_error *error)
{
    struct processes processes;
    const struct process *found = NULL;
    int r;

    process_name(name, *pid);
    if (process_is_launcher(name))
        return 0;
    r = processes_read(&processes);
    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < processes.count; i++) {
        const struct process *process = &processes.list[i];

        if (!is_launcher_of(&processes, process, *pid))
            continue;
        if (found)
            r = cop_error_set(error, -EINVAL,
                              "pid %d (%s) has several launchers below it, "
                              "such as %s, pid %d, and %s, pid %d: which one?",
                              (int)*pid, name, found->name, (int)found->pid,
                              process->name, (int)process->pid);
        found = process;
    }
    if (r == 0 && found) {
        *pid = found->pid;
        memcpy(name, found->name, sizeof(found->name));
    }
    processes_fini(&processes);
    return r;
}

/* Add the processes of a launcher whose table is empty, if they have ranks on
 * this host: Open MPI's table only has processes that use MPI. Returns 0 or a
 * negative errno; -EAGAIN if none has a rank. */
static int add_ranks(struct targets *targets,
                     pid_t pid,
                     void (*say)(const char *line))
{
    struct targets children = {.count = 0};
    struct cop_error unused;
    char line[128];
    uint32_t i;
    int r;

    r = targets_add_children(&children, pid, &unused);
    for (i = 0; r == 0 && i < children.count; i++)
        if (children.facts[i].rank.source != RANK_NONE)
            break;
    if (r != -ENOMEM && (r < 0 || i == children.count))
        r = -EAGAIN;
    targets_fini(&children);
    if (r < 0)
        return r;
    snprintf(
        line, sizeof(line),
        "pid %d: its MPIR_proctable is empty: looking at its ranks on this "
        "host",
        (int)pid);
    if (say)
        say(line);
    return targets_add_children(targets, pid, &unused);
}

int targets_add_mpir(struct targets *targets,
                     pid_t pid,
                     void (*say)(const char *line),
                     struct cop_error *error)
{
    struct targets table = {.count = 0};
    pid_t launcher = pid;
    char name[16], line[128];
    int r;

    r = add_table(&table, pid, error);
    if (r == 0) {
        r = targets_find_launcher(&launcher, name, error);
        if (r == 0 && launcher != pid) {
            snprintf(line, sizeof(line),
                     "pid %d is no launcher: looking at the job of %s, pid %d, "
                     "below it",
                     (int)pid, name, (int)launcher);
            if (say)
                say(line);
            r = add_table(&table, launcher, error);
        }
    }
    if (r == 0)
        r = targets_add_children(targets, launcher, error);
    else if (r > 0)
        r = take_table(targets, &table, launcher, say);
    else if (r == -EAGAIN && add_ranks(targets, launcher, say) == 0)
        r = 0;
    if (table.slurm_job) {
        free(targets->slurm_job);
        targets->slurm_job = table.slurm_job;
        table.slurm_job = NULL;
    }
    targets_fini(&table);
    return r;
}
