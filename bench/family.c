/* family.c - the processes below another one, as /proc shows them. */
#include "bench/family.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_LEN 64
#define LINE_LEN 512

/* The parent of `pid`, or -ENOENT: it has ended. */
static pid_t parent_of(pid_t pid)
{
    char path[PATH_LEN];
    char line[LINE_LEN];
    const char *name_end;
    int parent = -ENOENT;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return -ENOENT;
    if (fgets(line, sizeof(line), file)) {
        name_end = strrchr(line, ')');
        if (!name_end || sscanf(name_end, ") %*c %d", &parent) != 1)
            parent = -ENOENT;
    }
    fclose(file);
    return parent;
}

static int family_add(struct family *family, pid_t pid)
{
    struct process *list;
    pid_t parent = parent_of(pid);

    if (parent < 0)
        return 0;
    list = realloc(family->list, (family->count + 1) * sizeof(*list));
    if (!list)
        return -ENOMEM;
    list[family->count++] = (struct process){.pid = pid, .parent = parent};
    family->list = list;
    return 0;
}

static int read_all(struct family *family)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    int r = 0;

    if (!dir)
        return -errno;
    while (r == 0 && (entry = readdir(dir)))
        if (isdigit((unsigned char)entry->d_name[0]))
            r = family_add(family, (pid_t)strtol(entry->d_name, NULL, 10));
    closedir(dir);
    return r;
}

/* Move the children of `pid` to the end of the `*kept` first ones. Returns how
 * many there are. */
static uint32_t keep_children(struct family *family, pid_t pid, size_t *kept)
{
    uint32_t count = 0;

    for (size_t i = *kept; i < family->count; i++) {
        struct process found = family->list[i];

        if (found.parent != pid)
            continue;
        family->list[i] = family->list[*kept];
        family->list[(*kept)++] = found;
        count++;
    }
    return count;
}

int family_read(struct family *family, pid_t root)
{
    size_t kept = 0;
    int r;

    *family = (struct family){.list = NULL};
    r = read_all(family);
    if (r < 0)
        return r;
    keep_children(family, root, &kept);
    for (size_t i = 0; i < kept; i++)
        family->list[i].child_count =
            keep_children(family, family->list[i].pid, &kept);
    family->count = kept;
    return 0;
}

void family_fini(struct family *family)
{
    free(family->list);
    *family = (struct family){.list = NULL};
}
