/* program.c - check that programs and directories exist. */
#include "frontend/program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns 0 if the file `path` can be run, else a negative errno. */
static int can_run(const char *path)
{
    struct stat stat_of;

    if (stat(path, &stat_of) < 0)
        return -errno;
    if (!S_ISREG(stat_of.st_mode))
        return -EACCES;
    return access(path, X_OK) < 0 ? -errno : 0;
}

/* As can_run(), for `name` in the directories of `path`. */
static int can_run_in(const char *path, const char *name)
{
    char candidate[PATH_MAX];
    const char *end;
    int best = -ENOENT;
    int n, r;

    for (;; path = end + 1) {
        end = strchrnul(path, ':');
        n = snprintf(candidate, sizeof(candidate), "%.*s/%s",
                     end == path ? 1 : (int)(end - path),
                     end == path ? "." : path, name);
        if (n > 0 && (size_t)n < sizeof(candidate)) {
            r = can_run(candidate);
            if (r == 0)
                return 0;
            if (r == -EACCES)
                best = r;
        }
        if (!*end)
            return best;
    }
}

int program_check(const char *name,
                  const char *what,
                  const char *advice,
                  struct cop_error *error)
{
    const char *path = getenv("PATH");
    int r;

    if (!*name)
        r = -ENOENT;
    else if (strchr(name, '/'))
        r = can_run(name);
    else
        r = can_run_in(path ? path : "/usr/local/bin:/bin:/usr/bin", name);
    if (r == 0)
        return 0;
    if (r != -EACCES)
        return cop_error_set(error, -ENOENT, "%s \"%s\" was not found%s; %s",
                             what, name, strchr(name, '/') ? "" : " in $PATH",
                             advice);
    return cop_error_set(error, r, "%s \"%s\" is no program that you may run",
                         what, name);
}

int program_check_directories(const char *path, struct cop_error *error)
{
    char directory[PATH_MAX];
    struct stat stat_of;
    const char *end;
    size_t len;

    for (;; path = end + 1) {
        end = strchrnul(path, ':');
        len = (size_t)(end - path);
        if (len > 0 && len < sizeof(directory)) {
            memcpy(directory, path, len);
            directory[len] = '\0';
            if (stat(directory, &stat_of) < 0 || !S_ISDIR(stat_of.st_mode))
                return cop_error_set(error, -ENOENT,
                                     "filter_path: \"%s\" is no directory",
                                     directory);
        } else if (len > 0) {
            return cop_error_set(error, -ENOENT,
                                 "filter_path: a directory of %zu bytes is "
                                 "too long",
                                 len);
        }
        if (!*end)
            return 0;
    }
}
