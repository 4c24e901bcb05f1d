/* footprint.c - the cost of a process, as /proc shows it. */
#include "bench/footprint.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/family.h"

#define PATH_LEN   64
#define LINE_LEN   512
#define THREAD_LEN (PATH_LEN + NAME_MAX + 16)

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

/* What one thread has done so far, from its folder in /proc. */
static double read_wake_ups(const char *thread)
{
    char path[THREAD_LEN];
    long count;

    snprintf(path, sizeof(path), "%s/status", thread);
    count = sum_lines(path, "voluntary_ctxt_switches");
    return count > 0 ? (double)count : 0;
}

static double read_cpu_us(const char *thread)
{
    char path[THREAD_LEN];
    double ns = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%s/schedstat", thread);
    file = fopen(path, "re");
    if (file && fscanf(file, "%lf", &ns) != 1)
        ns = 0;
    if (file)
        fclose(file);
    return ns / 1e3;
}

static double sum_threads(pid_t pid, double (*read)(const char *thread))
{
    char path[PATH_LEN + NAME_MAX];
    struct dirent *entry;
    double sum = 0;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%s", (int)pid,
                 entry->d_name);
        sum += read(path);
    }
    if (dir)
        closedir(dir);
    return sum;
}

static double read_value(pid_t pid, enum footprint_what what)
{
    char path[PATH_LEN];

    switch (what) {
    case FOOTPRINT_PRIVATE_KIB:
        snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
        return (double)sum_lines(path, "Private_");
    case FOOTPRINT_THREADS:
        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        return (double)sum_lines(path, "Threads:");
    case FOOTPRINT_DESCRIPTORS:
        snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
        return (double)count_entries(path);
    case FOOTPRINT_WAKE_UPS:
        return sum_threads(pid, read_wake_ups);
    case FOOTPRINT_CPU_US:
        return sum_threads(pid, read_cpu_us);
    case FOOTPRINT_COUNT:
        break;
    }
    return -EINVAL;
}

static int measure_process(const struct process *process, struct sample *into)
{
    double value[FOOTPRINT_COUNT];
    int r = 0;

    for (int what = 0; what < FOOTPRINT_COUNT; what++) {
        value[what] = read_value(process->pid, (enum footprint_what)what);
        if (value[what] == -ENOENT || value[what] == -ESRCH)
            return 0;
        if (value[what] < 0)
            return (int)value[what];
    }
    for (int what = 0; r == 0 && what < FOOTPRINT_COUNT; what++)
        r = sample_add(&into[what], value[what]);
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

double footprint_cpu_us(pid_t root)
{
    double sum_us = sum_threads(root, read_cpu_us);
    struct family family;
    int r = family_read(&family, root);

    for (size_t i = 0; r == 0 && i < family.count; i++)
        sum_us += sum_threads(family.list[i].pid, read_cpu_us);
    family_fini(&family);
    return sum_us;
}
