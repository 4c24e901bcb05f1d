/* nodes.h - the processes of a tree on this machine, as /proc shows them. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The maximum number of commnodes of one tree in the tests. */
#define NODES_MAX 128

/* The parent of process `pid`; copies its name (16 bytes) if `name` is not
 * NULL. Returns -1 if there is no such process, or if it is a zombie. */
static inline pid_t nodes_parent(pid_t pid, char *name)
{
    char path[64], line[512], unused[16];
    const char *end;
    int parent = -1;
    char state = 'Z';
    FILE *file;

    name = name ? name : unused;
    *name = '\0';
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return -1;
    if (fgets(line, sizeof(line), file)) {
        end = strrchr(line, ')');
        if (!end || sscanf(end, ") %c %d", &state, &parent) != 2 ||
            sscanf(line, "%*d (%15[^)]", name) != 1 || state == 'Z')
            parent = -1;
    }
    fclose(file);
    return parent;
}

/* Whether process `a` was started before `b`. Few processes were started in
 * between: if the pids are far apart, the kernel has wrapped around. */
static inline bool nodes_is_older(pid_t a, pid_t b)
{
    FILE *file = fopen("/proc/sys/kernel/pid_max", "re");
    int most = 0;
    pid_t apart = a < b ? b - a : a - b;

    if (file && fscanf(file, "%d", &most) != 1)
        most = 0;
    if (file)
        fclose(file);
    return most > 0 && apart > most / 2 ? a > b : a < b;
}

/* List the children of `parent` whose name is `called`, oldest first. Returns
 * their number. */
static inline size_t nodes_called(pid_t parent,
                                  const char *called,
                                  pid_t out[NODES_MAX])
{
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    size_t count = 0, i;
    char name[16];
    pid_t pid;

    while (dir && (entry = readdir(dir)) && count < NODES_MAX) {
        pid = (pid_t)atoi(entry->d_name);
        if (pid <= 0 || nodes_parent(pid, name) != parent ||
            strcmp(name, called) != 0)
            continue;
        for (i = count++; i > 0 && nodes_is_older(pid, out[i - 1]); i--)
            out[i] = out[i - 1];
        out[i] = pid;
    }
    if (dir)
        closedir(dir);
    return count;
}

/* List the commnodes below `parent`. */
static inline size_t nodes_below(pid_t parent, pid_t out[NODES_MAX])
{
    return nodes_called(parent, "coppice-commnod", out);
}

/* List all commnodes below this process, upper levels first. */
static inline size_t nodes_all(pid_t out[NODES_MAX])
{
    pid_t below[NODES_MAX];
    size_t count = nodes_below(getpid(), out), next, n, i;

    for (next = 0; next < count; next++) {
        n = nodes_below(out[next], below);
        for (i = 0; i < n && count < NODES_MAX; i++)
            out[count++] = below[i];
    }
    return count;
}
