/* footprint.c - what a process costs while it stands there. */
#include "bench/footprint.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_LEN 64
#define LINE_LEN 512

struct process {
    pid_t pid;
    pid_t parent;
    bool below; /* descends from the root */
    bool parent_of_any;
};

struct family {
    struct process *list;
    size_t count;
};

/* The sum of the numbers in those lines of `path` that begin with `key`. */
static long sum_lines(const char *path, const char *key)
{
    char line[LINE_LEN];
    FILE *file = fopen(path, "re");
    long sum = 0;

    if (!file)
        return -errno;
    while (fgets(line, sizeof(line), file)) {
        const char *colon = strchr(line, ':');

        if (colon && strncmp(line, key, strlen(key)) == 0)
            sum += strtol(colon + 1, NULL, 10);
    }
    fclose(file);
    return sum;
}

static long count_entries(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    long count = 0;

    if (!dir)
        return -errno;
    while ((entry = readdir(dir)))
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static long look(pid_t pid, enum footprint_what what)
{
    char path[PATH_LEN];

    switch (what) {
    case FOOTPRINT_PRIVATE_KIB:
        snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
        return sum_lines(path, "Private_");
    case FOOTPRINT_THREADS:
        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        return sum_lines(path, "Threads:");
    case FOOTPRINT_DESCRIPTORS:
        snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
        return count_entries(path);
    case FOOTPRINT_COUNT:
        break;
    }
    return -EINVAL;
}

static int add(struct family *family, pid_t pid)
{
    char path[PATH_LEN];
    struct process *list;
    long parent;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    parent = sum_lines(path, "PPid:");
    if (parent < 0)
        return 0; /* it has ended */
    list = realloc(family->list, (family->count + 1) * sizeof(*list));
    if (!list)
        return -ENOMEM;
    list[family->count++] =
        (struct process){.pid = pid, .parent = (pid_t)parent};
    family->list = list;
    return 0;
}

static int read_family(struct family *family)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    int r = 0;

    if (!dir)
        return -errno;
    while (r == 0 && (entry = readdir(dir)))
        if (isdigit((unsigned char)entry->d_name[0]))
            r = add(family, (pid_t)strtol(entry->d_name, NULL, 10));
    closedir(dir);
    return r;
}

/* Mark who descends from `root`: until a pass finds nobody new, since a child
 * may stand before its parent. */
static void mark(struct family *family, pid_t root)
{
    bool found = true;

    while (found) {
        found = false;
        for (size_t i = 0; i < family->count; i++) {
            struct process *child = &family->list[i];

            for (size_t k = 0; !child->below && k < family->count; k++) {
                struct process *parent = &family->list[k];

                if (parent->pid != child->parent ||
                    (parent->pid != root && !parent->below))
                    continue;
                child->below = true;
                parent->parent_of_any = true;
                found = true;
            }
        }
    }
}

static int take(const struct process *process, struct sample *into)
{
    long value[FOOTPRINT_COUNT];
    int r = 0;

    for (int what = 0; what < FOOTPRINT_COUNT; what++) {
        value[what] = look(process->pid, (enum footprint_what)what);
        if (value[what] == -ENOENT || value[what] == -ESRCH)
            return 0;
        if (value[what] < 0)
            return (int)value[what];
    }
    for (int what = 0; r == 0 && what < FOOTPRINT_COUNT; what++)
        r = sample_add(&into[what], (double)value[what]);
    return r < 0 ? r : 1;
}

int footprint_below(pid_t root, struct sample *inner, struct sample *leaf)
{
    struct family family = {.list = NULL};
    int taken = 0;
    int r = read_family(&family);

    if (r == 0)
        mark(&family, root);
    for (size_t i = 0; r >= 0 && i < family.count; i++) {
        const struct process *process = &family.list[i];

        if (!process->below)
            continue;
        r = take(process, process->parent_of_any ? inner : leaf);
        if (r > 0)
            taken++;
    }
    free(family.list);
    return r < 0 ? r : taken;
}
