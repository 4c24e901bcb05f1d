/* launcher_local.c - start children on this machine, as child processes. */
#include "net/child.h"

static bool local_reaches(const struct bootstrap *bootstrap, const char *host)
{
    (void)bootstrap;
    (void)host;
    return true;
}

/* A terminal's signals, such as Ctrl-C, are for the application, so the child
 * leads its own session. A process group in our session would be orphaned by
 * our death: the kernel then sends SIGHUP to the group if a member is
 * stopped. */
static int local_start(struct child *child,
                       const char *host,
                       char *const *program,
                       int bootstrap)
{
    struct spawn spawn = SPAWN_INIT;

    (void)host;
    spawn.argv = program;
    spawn.bootstrap = bootstrap;
    spawn.leads_session = true;
    return child_spawn(child, &spawn);
}

const struct launcher launcher_local = {
    .name = "local",
    .is_local = true,
    .reaches = local_reaches,
    .start = local_start,
    .ended = child_over,
};
