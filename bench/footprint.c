/* footprint.c - the cost of an idle process. */
#include "bench/footprint.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/family.h"

#define PATH_LEN 64
#define LINE_LEN 512

/* The sum of the numbers in the lines of `path` that begin with `key`. */
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

static long read_value(pid_t pid, enum footprint_what what)
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

static int measure_process(const struct process *process, struct sample *into)
{
    long value[FOOTPRINT_COUNT];
    int r = 0;

    for (int what = 0; what < FOOTPRINT_COUNT; what++) {
        value[what] = read_value(process->pid, (enum footprint_what)what);
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
    struct family family;
    int taken = 0;
    int r = family_read(&family, root);

    for (size_t i = 0; r >= 0 && i < family.count; i++) {
        const struct process *process = &family.list[i];

        r = measure_process(process, process->child_count ? inner : leaf);
        if (r > 0)
            taken++;
    }
    family_fini(&family);
    return r < 0 ? r : taken;
}

/* The processor time of all threads of a process. */
static double cpu_of(pid_t pid)
{
    char path[PATH_LEN + NAME_MAX];
    struct dirent *entry;
    double sum_ns = 0;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        double ns = 0;
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid,
                 entry->d_name);
        file = fopen(path, "re");
        if (file && fscanf(file, "%lf", &ns) == 1)
            sum_ns += ns;
        if (file)
            fclose(file);
    }
    if (dir)
        closedir(dir);
    return sum_ns / 1e3;
}

double footprint_cpu_us(pid_t root)
{
    double sum_us = cpu_of(root);
    struct family family;
    int r = family_read(&family, root);

    for (size_t i = 0; r == 0 && i < family.count; i++)
        sum_us += cpu_of(family.list[i].pid);
    family_fini(&family);
    return sum_us;
}
