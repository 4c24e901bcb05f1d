/* targets.c - see targets.h. */
#include "stat/targets.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One process of this host. */
struct process {
    int32_t pid;
    int32_t parent;
    char name[32];
};

/* All of them, by pid. */
struct table {
    struct process *processes;
    size_t count;
};

void targets_fini(struct targets *targets)
{
    free(targets->pids);
    *targets = (struct targets){NULL, 0};
}

int targets_add(struct targets *targets, pid_t pid)
{
    int32_t *grown;
    uint32_t i;

    for (i = 0; i < targets->count; i++) {
        if (targets->pids[i] == pid)
            return 0;
    }
    /* Grows at powers of two. */
    if ((targets->count & (targets->count - 1)) == 0) {
        grown = reallocarray(targets->pids,
                             targets->count ? 2 * (size_t)targets->count : 1,
                             sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        targets->pids = grown;
    }
    targets->pids[targets->count++] = pid;
    return 0;
}

int targets_add_text(struct targets *targets,
                     const char *text,
                     struct cop_error *error)
{
    char *end;
    long pid;

    errno = 0;
    pid = strtol(text, &end, 10);
    if (errno || end == text || *end || pid <= 0 || pid > INT_MAX)
        return cop_error_set(error, -EINVAL,
                             "\"%s\" is no pid: give numbers of processes",
                             text);
    return targets_add(targets, (pid_t)pid);
}

/* Read /proc/PID/stat. Returns whether the process is alive. */
static bool process_read(struct process *process, long pid)
{
    char path[64];
    char text[512];
    const char *open;
    const char *close;
    size_t len;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    open = strchr(text, '(');
    close = strrchr(text, ')');
    if (!open || !close || close < open || close[1] != ' ' || close[2] == 'Z')
        return false;
    process->pid = (int32_t)pid;
    process->parent = (int32_t)strtol(close + 3, NULL, 10);
    snprintf(process->name, sizeof(process->name), "%.*s",
             (int)(close - open - 1), open + 1);
    return true;
}

static int by_pid(const void *a, const void *b)
{
    const struct process *x = a;
    const struct process *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Read all processes into `table`; free its array. */
static int table_read(struct table *table)
{
    struct dirent *entry;
    size_t room = 0;
    DIR *folder = opendir("/proc");

    if (!folder)
        return -errno;
    while ((entry = readdir(folder)) != NULL) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);

        if (*end || pid <= 0)
            continue;
        if (table->count == room) {
            struct process *grown;

            room = room ? 2 * room : 256;
            grown = reallocarray(table->processes, room, sizeof(*grown));
            if (!grown) {
                closedir(folder);
                return -ENOMEM;
            }
            table->processes = grown;
        }
        table->count += process_read(&table->processes[table->count], pid);
    }
    closedir(folder);
    if (table->count)
        qsort(table->processes, table->count, sizeof(*table->processes),
              by_pid);
    return 0;
}

static const struct process *table_find(const struct table *table, int32_t pid)
{
    struct process key = {.pid = pid};

    return table->count ? bsearch(&key, table->processes, table->count,
                                  sizeof(key), by_pid)
                        : NULL;
}

/* Whether the program of `pid` is a file called `name`. */
static bool runs_file(int32_t pid, const char *name)
{
    char path[64];
    char exe[PATH_MAX];
    const char *file;
    ssize_t len;

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    len = readlink(path, exe, sizeof(exe) - 1);
    if (len < 0)
        return false;
    exe[len] = '\0';
    file = strrchr(exe, '/');
    return file && strcmp(file + 1, name) == 0;
}

int targets_add_name(struct targets *targets,
                     const char *name,
                     struct cop_error *error)
{
    struct table table = {NULL, 0};
    bool found = false;
    size_t i;
    int r;

    r = table_read(&table);
    for (i = 0; r == 0 && i < table.count; i++) {
        const struct process *process = &table.processes[i];

        if (process->pid == getpid() || (strcmp(process->name, name) != 0 &&
                                         !runs_file(process->pid, name)))
            continue;
        found = true;
        r = targets_add(targets, process->pid);
    }
    free(table.processes);
    if (r == 0 && !found)
        r = cop_error_set(error, -ENOENT,
                          "no process is called \"%s\" on this host", name);
    return r;
}

/* Whether `process` is somewhere below `pid`, and not below this process. */
static bool is_below(const struct table *table,
                     const struct process *process,
                     pid_t pid)
{
    size_t steps;

    /* The table is no snapshot: a ring of parents must not hold us. */
    for (steps = 0; process && steps < table->count; steps++) {
        if (process->pid == getpid())
            return false;
        if (process->parent == pid)
            return true;
        process = table_find(table, process->parent);
    }
    return false;
}

static bool is_parent(const struct table *table, int32_t pid)
{
    size_t i;

    for (i = 0; i < table->count; i++) {
        if (table->processes[i].parent == pid)
            return true;
    }
    return false;
}

int targets_add_children(struct targets *targets,
                         pid_t pid,
                         struct cop_error *error)
{
    struct table table = {NULL, 0};
    bool found = false;
    size_t i;
    int r;

    r = table_read(&table);
    if (r == 0 && !table_find(&table, pid))
        r = cop_error_set(error, -ENOENT,
                          "pid %d: no such process: give the pid of a running "
                          "launcher",
                          (int)pid);
    for (i = 0; r == 0 && i < table.count; i++) {
        const struct process *process = &table.processes[i];

        if (!is_below(&table, process, pid) || is_parent(&table, process->pid))
            continue;
        found = true;
        r = targets_add(targets, process->pid);
    }
    free(table.processes);
    if (r == 0 && !found)
        r = cop_error_set(error, -ENOENT, "pid %d has no children", (int)pid);
    return r;
}
