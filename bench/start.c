/* start.c - launch a network of benchmark back-ends. */
#include "bench/start.h"

#include <coppice/coppice.h>
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* To open a stream, each back-end loads its filter. Where page faults are dear,
 * that is 6 ms of a CPU, so 1,664 of them on two CPUs take half of the default,
 * and each wakes twice a second meanwhile. */
#define OPEN_TIMEOUT_MS 60000

int start_path(char *path, size_t room, const char *name)
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

/* In the build tree the parts lie beside us; what the environment says goes
 * first. An installed library knows for itself. */
static int find_part(char *path, const char *name, const char *variable)
{
    if (getenv(variable) || start_path(path, PATH_MAX, name) < 0 ||
        access(path, R_OK) < 0)
        path[0] = '\0';
    return path[0] != '\0';
}

int start_launch(struct cop_network **out,
                 const char *program,
                 struct cop_launch *launch)
{
    char backend[PATH_MAX];
    char commnode[PATH_MAX];
    char filters[PATH_MAX];
    char *argv[] = {backend, NULL};
    struct cop_error error;
    int r;

    r = start_path(backend, sizeof(backend), program);
    if (r < 0)
        return r;
    launch->backend_argv = argv;
    launch->times.open_timeout_ms = OPEN_TIMEOUT_MS;
    if (find_part(commnode, "../run/coppice-commnode", "COPPICE_COMMNODE"))
        launch->commnode_path = commnode;
    if (find_part(filters, "../run/filters", "COPPICE_FILTER_PATH"))
        launch->filter_path = filters;
    r = cop_network_launch(out, launch, &error);
    if (r < 0)
        warnx("coppice: %s", error.text);
    return r;
}

int start_network(struct cop_network **out,
                  const char *program,
                  const char *shape,
                  const char *text,
                  const char *session_path)
{
    struct cop_launch launch = COP_LAUNCH_INIT;

    launch.topology_shape = shape;
    launch.topology_text = text;
    launch.session_path = session_path;
    launch.allow_injection = session_path != NULL;
    return start_launch(out, program, &launch);
}
