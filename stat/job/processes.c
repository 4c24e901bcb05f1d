/* processes.c - see processes.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf(), basename() */
#endif
#include "stat/job/processes.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stat/list.h"
#include "stat/walk/aside.h"
#include "stat/walk/thread.h"
#include "stat/walk/touch.h"

/* How much of a command line is read: a script's name is near its beginning. */
#define COMMAND_SIZE 8192

/* The kernel keeps this many bytes of a program's name. */
#define NAME_CUT 15

/* How soon a program starts another, and how much processor time it has used at
 * most, if it does nothing else: also on a busy machine. */
#define START_S 60
#define WORK_S  10

/* What the kernel appends to the path of a program whose file was deleted. */
#define DELETED " (deleted)"

/* Read what the kernel says of a process. Returns whether it is alive. */
static bool process_read(struct process *process, pid_t pid)
{
    struct thread_status status;

    if (thread_status(&status, pid, pid) < 0 || status.state == 'Z')
        return false;
    *process = (struct process){.pid = pid, .parent = status.parent};
    snprintf(process->name, sizeof(process->name), "%.15s", status.name);
    return true;
}

void process_name(char name[16], pid_t pid)
{
    struct process process = {.name = ""};

    process_read(&process, pid);
    memcpy(name, process.name, sizeof(process.name));
}

static int by_pid(const void *a, const void *b)
{
    const struct process *x = a;
    const struct process *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Note which processes have children. */
static void find_parents(struct processes *processes)
{
    for (size_t i = 0; i < processes->count; i++) {
        const struct process *found =
            processes_find(processes, processes->list[i].parent);
        struct process *parent =
            found ? &processes->list[found - processes->list] : NULL;

        if (!parent)
            continue;
        parent->child = processes->list[i].pid;
        parent->child_count++;
    }
}

int processes_read(struct processes *processes)
{
    struct dirent *entry;
    DIR *folder = opendir("/proc");
    int r = folder ? 0 : -errno;

    *processes = (struct processes){NULL, 0};
    while (r == 0 && (entry = readdir(folder)) != NULL) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);

        if (*end || pid <= 0)
            continue;
        r = list_grow(&processes->list, processes->count,
                      sizeof(*processes->list));
        if (r == 0)
            processes->count +=
                process_read(&processes->list[processes->count], (pid_t)pid);
    }
    if (folder)
        closedir(folder);
    if (r < 0) {
        processes_fini(processes);
        return r;
    }
    if (processes->count)
        qsort(processes->list, processes->count, sizeof(*processes->list),
              by_pid);
    find_parents(processes);
    return 0;
}

void processes_fini(struct processes *processes)
{
    free(processes->list);
    *processes = (struct processes){NULL, 0};
}

const struct process *processes_find(const struct processes *processes,
                                     pid_t pid)
{
    struct process key = {.pid = (int32_t)pid};

    return processes->count ? bsearch(&key, processes->list, processes->count,
                                      sizeof(key), by_pid)
                            : NULL;
}

bool processes_is_below(const struct processes *processes,
                        const struct process *process,
                        pid_t pid)
{
    /* Without a snapshot, the parents may form a loop. */
    for (size_t steps = 0; process && steps < processes->count; steps++) {
        if (process->pid == touch_owner())
            return false;
        if (process->parent == pid)
            return true;
        process = processes_find(processes, process->parent);
    }
    return false;
}

/* Read the target of the link /proc/PID/WHAT. Returns whether it could be. */
static bool read_link(char text[PATH_MAX], int32_t pid, const char *what)
{
    char path[64];
    ssize_t len;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
    len = readlink(path, text, PATH_MAX - 1);
    text[len > 0 ? len : 0] = '\0';
    return len > 0;
}

/* Read the path of a program's file. If the file was replaced or removed, this
 * is its former path. */
static bool read_program(char text[PATH_MAX], int32_t pid)
{
    size_t len;

    if (!read_link(text, pid, "exe"))
        return false;
    len = strlen(text);
    if (len > strlen(DELETED) &&
        strcmp(text + len - strlen(DELETED), DELETED) == 0)
        text[len - strlen(DELETED)] = '\0';
    return true;
}

/* Whether `text` begins with one of the NULL-terminated `words`; with `whole`
 * nothing may follow. */
static bool is_among(const char *text, const char *const *words, bool whole)
{
    for (; *words; words++)
        if (strncmp(text, *words, strlen(*words)) == 0 &&
            (!whole || !text[strlen(*words)]))
            return true;
    return false;
}

/* Whether a program runs scripts, or programs, whose name is its first
 * argument. */
static bool is_interpreter(const char *path)
{
    const char *program = basename(path);

    static const char *const begins[] = {"python", "perl",  "ruby", "julia",
                                         "octave", "pypy",  "lua",  "php",
                                         "tclsh",  "guile", NULL};
    static const char *const names[] = {"sh",  "bash", "dash", "ksh",
                                        "zsh", "node", "R",    NULL};

    return is_among(program, begins, false) || is_among(program, names, true) ||
           strstr(path, "/valgrind/") != NULL;
}

/* Whether an option of an interpreter takes the next word as its argument. */
static bool has_argument(const char *option)
{
    static const char *const options[] = {"-W", "-X", "-o", NULL};

    return is_among(option, options, true);
}

/* Read the command line of a process: words, each with a NUL. Returns its
 * length. */
static size_t read_command(char text[COMMAND_SIZE], int32_t pid)
{
    char path[64];
    size_t len = 0;
    FILE *file = NULL;

    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    if (touch_words(pid))
        file = fopen(path, "re");
    if (file) {
        len = fread(text, 1, COMMAND_SIZE - 1, file);
        fclose(file);
    }
    text[len] = '\0';
    return len;
}

/* The script in the command line of an interpreter, or with `*is_module` the
 * module of Python that it runs in place of one; NULL: none. */
static const char *script_of(const char *command, size_t len, bool *is_module)
{
    const char *word = command + strlen(command) + 1;

    *is_module = false;
    while (word < command + len && word[0] == '-') {
        size_t size = strlen(word);

        if (strncmp(word, "-c", 2) == 0)
            return NULL;
        /* -m NAME, -um NAME, -mNAME */
        if (word[1] == 'm' && word[2]) {
            *is_module = true;
            return word + 2;
        }
        *is_module = word[1] != '-' && word[size - 1] == 'm';
        if (has_argument(word))
            word += size + 1;
        word += strlen(word) + 1;
        if (*is_module)
            break;
    }
    return word < command + len && word[0] ? word : NULL;
}

/* Whether `path`, from the working directory of process `pid` if it is
 * relative, is the file `name`. */
static bool is_file(const char *path, int32_t pid, const char *name)
{
    char folder[PATH_MAX], full[2 * PATH_MAX], *real = NULL;
    bool same;

    folder[0] = '\0';
    if (path[0] != '/' && !read_link(folder, pid, "cwd"))
        return false;
    snprintf(full, sizeof(full), "%s%s%s", folder, folder[0] ? "/" : "", path);
    /* The process may be looked at even if its script does not answer. */
    touch_process(0);
    if (touch_file(0, full))
        real = realpath(full, NULL);
    touch_process(0);
    same = strcmp(full, name) == 0 || (real && strcmp(real, name) == 0);
    free(real);
    return same;
}

bool process_is_called(const struct process *process, const char *name)
{
    char program[PATH_MAX], command[COMMAND_SIZE];
    bool is_path = strchr(name, '/') != NULL, is_module = false, known;
    const char *script = NULL;
    size_t len;

    if (!is_path && strcmp(process->name, name) == 0)
        return true;
    known = read_program(program, process->pid);
    if (known && strcmp(is_path ? program : basename(program), name) == 0)
        return true;
    len = read_command(command, process->pid);
    /* What ps shows: a process may write another name over its command. */
    if (!is_path && command[0] &&
        (strcmp(command, name) == 0 || strcmp(basename(command), name) == 0))
        return true;
    if (known && is_interpreter(program))
        script = script_of(command, len, &is_module);
    if (script && is_module)
        return strcmp(script, name) == 0;
    if (script)
        return is_path ? is_file(script, process->pid, name)
                       : strcmp(basename(script), name) == 0;
    /* The file is not for us to see. */
    return !known && is_path && strcmp(command, name) == 0;
}

/* Whether the process runs that module of Python's multiprocessing: its command
 * has the interpreter, but no script. */
static bool runs_module(int32_t pid, const char *module)
{
    char command[COMMAND_SIZE], begin[64];
    size_t len = read_command(command, pid), at = 0;

    while (at < len && strcmp(command + at, "-c") != 0)
        at += strlen(command + at) + 1;
    at += strlen("-c") + 1;
    snprintf(begin, sizeof(begin), "from multiprocessing.%s import ", module);
    return at < len && strncmp(command + at, begin, strlen(begin)) == 0;
}

/* Whether it is the server that forks the workers, not one of them. */
static bool is_server(const struct processes *processes,
                      const struct process *process)
{
    const struct process *above = processes_find(processes, process->parent);

    return runs_module(process->pid, "forkserver") &&
           (!above || !runs_module(above->pid, "forkserver"));
}

const struct process *processes_worker_of(const struct processes *processes,
                                          const struct process *process)
{
    size_t steps;

    if (is_server(processes, process))
        return NULL;
    for (steps = 0; process && steps < processes->count; steps++) {
        if (!runs_module(process->pid, "spawn") &&
            !runs_module(process->pid, "forkserver"))
            return steps > 0 ? process : NULL;
        process = processes_find(processes, process->parent);
    }
    return NULL;
}

bool process_same_program(pid_t one, pid_t other)
{
    char programs[2][PATH_MAX];

    return read_program(programs[0], one) && read_program(programs[1], other) &&
           strcmp(programs[0], programs[1]) == 0;
}

bool processes_is_service(const struct processes *processes,
                          const struct process *process)
{
    return runs_module(process->pid, "resource_tracker") ||
           runs_module(process->pid, "semaphore_tracker") ||
           is_server(processes, process);
}

int process_full_name(char **out, const char *name)
{
    const char *base = basename(name);
    char *folder = NULL, *full = NULL, *copy;

    if (base == name) {
        *out = strdup(name);
        return *out ? 0 : -ENOMEM;
    }
    /* A process without a watcher must not block. */
    if (!touch_file(0, name) || (!touch_is_watched() && !aside_answers(name))) {
        *out = strdup(name);
        return *out ? 0 : -ENOMEM;
    }
    /* If the file was removed, its folder still exists. */
    full = realpath(name, NULL);
    if (!full) {
        copy = strndup(name, (size_t)(base - name));
        folder = copy ? realpath(copy, NULL) : NULL;
        free(copy);
        if (asprintf(&full, "%s/%s", folder ? folder : "", base) < 0)
            full = NULL;
        free(folder);
    }
    *out = full;
    return full ? 0 : -ENOMEM;
}

bool process_has_runtime(pid_t pid)
{
    static const char *const names[] = {
        "/libmpi.so", "/libmpi_",         "/libmpich.so", "/liboshmem.so",
        "/libsma.so", "/libtorch_cpu.so", "/libnccl.so",  NULL};
    char path[64], *line = NULL;
    bool found = false;
    size_t room = 0;
    FILE *file = NULL;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    if (touch_words(pid))
        file = fopen(path, "re");
    if (!file)
        return false;
    while (!found && getline(&line, &room, file) > 0)
        for (size_t i = 0; !found && names[i]; i++)
            found = strstr(line, names[i]) != NULL;
    free(line);
    fclose(file);
    return found;
}

uint64_t process_ticks(pid_t pid)
{
    unsigned long long user = 0, kernel = 0;
    char path[64], text[1024];
    const char *behind;
    size_t len = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    behind = strrchr(text, ')'); /* a name may contain anything */
    if (!behind || sscanf(behind + 1,
                          " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu "
                          "%llu",
                          &user, &kernel) != 2)
        return 0;
    return user + kernel;
}

/* Whether a process runs another program, or script, than its parent: it is not
 * only forked, and no worker of Python's multiprocessing. */
static bool is_other_program(pid_t parent, pid_t child)
{
    char programs[2][PATH_MAX], commands[2][COMMAND_SIZE];
    size_t lens[2];

    if (!read_program(programs[0], parent) || !read_program(programs[1], child))
        return false;
    if (strcmp(programs[0], programs[1]) != 0)
        return true;
    lens[0] = read_command(commands[0], parent);
    lens[1] = read_command(commands[1], child);
    return !runs_module(child, "spawn") && !runs_module(child, "forkserver") &&
           !runs_module(child, "resource_tracker") &&
           (lens[0] != lens[1] || memcmp(commands[0], commands[1], lens[0]));
}

bool process_is_forked(pid_t parent, pid_t child)
{
    return process_same_program(parent, child) &&
           !is_other_program(parent, child);
}

bool processes_only_starts(const struct processes *processes,
                           const struct process *process)
{
    const struct process *child = processes_find(processes, process->child);
    struct thread_status own, other;
    long ticks = sysconf(_SC_CLK_TCK);

    return process->child_count == 1 && child && !process_is_wrapper(child) &&
           thread_status(&own, process->pid, process->pid) == 0 &&
           thread_status(&other, child->pid, child->pid) == 0 &&
           own.state == 'S' &&
           other.started - own.started < START_S * (uint64_t)ticks &&
           (process_ticks(process->pid) < WORK_S * (uint64_t)ticks ||
            process_ticks(process->pid) <= process_ticks(child->pid)) &&
           is_other_program(process->pid, child->pid);
}

bool process_is_wrapper(const struct process *process)
{
    static const char *const names[] = {
        "sh",  "bash",   "dash", "ash",     "ksh",    "mksh",   "zsh",
        "csh", "tcsh",   "fish", "time",    "strace", "ltrace", "perf",
        "gdb", "script", "env",  "timeout", NULL};

    return is_among(process->name, names, true);
}

bool process_is_script(const struct process *process)
{
    static const char *const shells[] = {"sh",   "bash", "dash",    "ash",
                                         "ksh",  "mksh", "zsh",     "csh",
                                         "tcsh", "fish", "busybox", NULL};
    char program[PATH_MAX];

    return read_program(program, process->pid) &&
           is_among(basename(program), shells, true);
}

bool process_is_remote_shell(const struct process *process)
{
    static const char *const names[] = {"ssh", "rsh", "dbclient", "srun", NULL};

    return is_among(process->name, names, true);
}

/* Whether `name`, which the kernel cuts, is that of one of the NULL-terminated
 * `programs`, perhaps of another version of it: "mpiexec.hydra". */
static bool is_program(const char *name, const char *const *programs)
{
    for (; *programs; programs++) {
        size_t len = strnlen(*programs, NAME_CUT);

        if (strncmp(name, *programs, len) == 0 &&
            (name[len] == '\0' || name[len] == '.'))
            return true;
    }
    return false;
}

bool process_is_proxy(const char *name)
{
    static const char *const programs[] = {
        "orted",     "prted", "hydra_pmi_proxy", "hydra_bstrap_proxy",
        "pmi_proxy", NULL};

    return is_program(name, programs);
}

bool process_is_launcher(const char *name)
{
    static const char *const programs[] = {
        "mpirun", "mpiexec", "mpirun_rsh", "mpiexec_mpt", "orterun",  "prterun",
        "prun",   "srun",    "aprun",      "jsrun",       "torchrun", NULL};

    return is_program(name, programs);
}
