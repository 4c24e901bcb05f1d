/* installed.c - the paths of this installation's files. */
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/installed.h"

/* The part of `path` behind the prefix, with its slash; or NULL. */
static const char *behind_prefix(const char *path)
{
    size_t len = strlen(PREFIX);

    return strncmp(path, PREFIX, len) == 0 && path[len] == '/' ? path + len
                                                               : NULL;
}

/* Fill `prefix` with the prefix to which the library was moved. Returns false
 * if it was not moved, or is at no such path, as in a build tree. */
static bool moved_prefix(char prefix[PATH_MAX])
{
    const char *suffix = behind_prefix(LIBDIR);
    char home[PATH_MAX];
    Dl_info library;
    char *end;

    if (!suffix || !dladdr((void *)(uintptr_t)installed_path, &library) ||
        !library.dli_fname || !realpath(library.dli_fname, prefix))
        return false;
    end = strrchr(prefix, '/');
    if (!end)
        return false;
    *end = '\0';
    if (realpath(LIBDIR, home) && strcmp(home, prefix) == 0)
        return false;
    if ((size_t)(end - prefix) < strlen(suffix) ||
        strcmp(end - strlen(suffix), suffix) != 0)
        return false;
    end[-(ptrdiff_t)strlen(suffix)] = '\0';
    return true;
}

char *installed_path(const char *configured)
{
    const char *rest = behind_prefix(configured);
    char prefix[PATH_MAX];
    char *path;

    if (!rest || !moved_prefix(prefix))
        return strdup(configured);
    return asprintf(&path, "%s%s", prefix, rest) < 0 ? NULL : path;
}
