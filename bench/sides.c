/* sides.c - the programs that the sides start. */
#include "bench/side.h"

#include <err.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int side_program(char *path, size_t room, const char *name)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;
    int written;

    if (len < 0) {
        int r = -errno;

        warn("/proc/self/exe");
        return r;
    }
    self[len] = '\0';
    slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    written = snprintf(path, room, "%s/%s", self, name);
    if (written < 0 || (size_t)written >= room) {
        warnx("%s/%s: the path is too long", self, name);
        return -ENAMETOOLONG;
    }
    return 0;
}
