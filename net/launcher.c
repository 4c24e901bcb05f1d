/* launcher.c - the list of launchers. */
#include "net/launcher.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct launcher *const launchers[] = {
    &launcher_local,
    &launcher_ssh,
    &launcher_slurm,
    &launcher_command,
};

#define LAUNCHER_COUNT (sizeof(launchers) / sizeof(*launchers))

const struct launcher *launcher_find(const char *name, struct cop_error *error)
{
    char names[128] = "";
    size_t len = 0;

    if (!name)
        return launchers[0];
    for (size_t i = 0; i < LAUNCHER_COUNT; i++) {
        if (strcmp(launchers[i]->name, name) == 0)
            return launchers[i];
        len += (size_t)snprintf(names + len, sizeof(names) - len, "%s\"%s\"",
                                i == 0 ? "" : " or ", launchers[i]->name);
    }
    cop_error_set(error, -EINVAL, "launcher \"%s\" is unknown: use %s", name,
                  names);
    return NULL;
}
