/* family.c - the descendants of a process, from /proc. */
#include "bench/family.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

static int add_process(struct family *family, pid_t pid, pid_t parent)
{
    struct process *list =
        realloc(family->list, (family->count + 1) * sizeof(*list));

    if (!list)
        return -ENOMEM;
    list[family->count++] = (struct process){.pid = pid, .parent = parent};
    family->list = list;
    return 0;
}

/* Add the children that one thread of `parent` has started. */
static int read_children(struct family *family, const char *path, pid_t parent)
{
    FILE *file = fopen(path, "re");
    int pid;
    int r = 0;

    if (!file)
        return 0; /* the thread has ended */
    while (r == 0 && fscanf(file, "%d", &pid) == 1)
        r = add_process(family, pid, parent);
    fclose(file);
    return r;
}

static int add_children(struct family *family, pid_t parent)
{
    char pattern[64];
    glob_t paths;
    int r = 0;

    snprintf(pattern, sizeof(pattern), "/proc/%d/task/*/children", (int)parent);
    if (glob(pattern, GLOB_NOSORT, NULL, &paths) != 0)
        return 0; /* it has ended */
    for (size_t i = 0; r == 0 && i < paths.gl_pathc; i++)
        r = read_children(family, paths.gl_pathv[i], parent);
    globfree(&paths);
    return r;
}

int family_read(struct family *family, pid_t root)
{
    int r;

    *family = (struct family){.list = NULL};
    r = add_children(family, root);
    for (size_t i = 0; r == 0 && i < family->count; i++) {
        size_t before = family->count;

        r = add_children(family, family->list[i].pid);
        family->list[i].child_count = (uint32_t)(family->count - before);
    }
    return r;
}

void family_fini(struct family *family)
{
    free(family->list);
    *family = (struct family){.list = NULL};
}
