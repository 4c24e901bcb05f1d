/* spawn.c - start a process. */
#include "net/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/bootstrap.h"
#include "net/process.h"

extern char **environ;

int spawn_socketpair(int pair[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ? -errno
                                                                        : 0;
}

int spawn_pipe(int pair[2])
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pair[0] = ends[0];
    pair[1] = ends[1];
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

void spawn_close(int pair[2])
{
    for (int i = 0; i < 2; i++) {
        if (pair[i] >= 0)
            close(pair[i]);
        pair[i] = -1;
    }
}

void spawn_list_reset(sigset_t *out)
{
    struct sigaction now;

    sigfillset(out);
    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &now) < 0 || now.sa_handler == SIG_IGN)
            sigdelset(out, number);
}

static bool sets(const char *entry, const char *name)
{
    size_t len = strlen(name);

    return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

/* Copy our environment without the hidden variables. If `bootstrap` is not
 * NULL, it replaces the older variable of that name. */
static char **make_environment(const struct spawn *spawn, char *bootstrap)
{
    size_t count = 0;
    size_t n = 0;
    char **copy;

    while (environ && environ[count])
        count++;
    copy = malloc((count + 2) * sizeof(*copy));
    if (!copy)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!(bootstrap && sets(environ[i], BOOTSTRAP_VARIABLE)) &&
            !(spawn->hides && spawn->hides(environ[i])))
            copy[n++] = environ[i];
    if (bootstrap)
        copy[n++] = bootstrap;
    copy[n] = NULL;
    return copy;
}

/* Set the descriptors of the new process. A descriptor duplicated onto itself
 * is inherited. Returns 0 or an errno. */
static int add_descriptors(posix_spawn_file_actions_t *actions,
                           const struct spawn *spawn)
{
    const int from[] = {spawn->input, spawn->output, spawn->error,
                        spawn->bootstrap};
    const int to[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO,
                      spawn->bootstrap};
    int r = 0;

    if (spawn->input < 0)
        r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null",
                                             O_RDONLY, 0);
    for (int i = 0; i < 4 && r == 0; i++)
        if (from[i] >= 0)
            r = posix_spawn_file_actions_adddup2(actions, from[i], to[i]);
    return r;
}

/* Returns 0 or an errno. */
static int set_attributes(posix_spawnattr_t *attributes,
                          const struct spawn *spawn)
{
    short flags = 0;
    int r;

    if (spawn->mask)
        flags |= POSIX_SPAWN_SETSIGMASK;
    if (spawn->reset)
        flags |= POSIX_SPAWN_SETSIGDEF;
    if (spawn->leads_session)
        flags |= POSIX_SPAWN_SETSID;
    r = posix_spawnattr_setflags(attributes, flags);
    if (r == 0 && spawn->mask)
        r = posix_spawnattr_setsigmask(attributes, spawn->mask);
    if (r == 0 && spawn->reset)
        r = posix_spawnattr_setsigdefault(attributes, spawn->reset);
    return r;
}

/* Returns 0 or an errno. */
static int spawn_with(const struct spawn *spawn,
                      char *const *environment,
                      pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int r;

    r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return r;
    r = posix_spawnattr_init(&attributes);
    if (r == 0) {
        r = add_descriptors(&actions, spawn);
        if (r == 0)
            r = set_attributes(&attributes, spawn);
        if (r == 0)
            r = posix_spawnp(pid, spawn->argv[0], &actions, &attributes,
                             spawn->argv, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

int spawn_process(const struct spawn *spawn, pid_t *pid)
{
    char variable[sizeof(BOOTSTRAP_VARIABLE) + 16];
    char **environment = NULL;
    pid_t started;
    int fd;
    int r;

    snprintf(variable, sizeof(variable), "%s=%d", BOOTSTRAP_VARIABLE,
             spawn->bootstrap);
    if (spawn->bootstrap >= 0 || spawn->hides) {
        environment =
            make_environment(spawn, spawn->bootstrap >= 0 ? variable : NULL);
        if (!environment)
            return -ENOMEM;
    }
    r = spawn_with(spawn, environment ? environment : environ, &started);
    free(environment);
    if (r != 0)
        return -r;
    fd = process_watch(started);
    if (fd < 0) {
        if (fd != -ESRCH) /* ESRCH: the application ignores SIGCHLD */
            kill(started, SIGKILL);
        waitpid(started, NULL, 0);
        return fd;
    }
    *pid = started;
    return fd;
}
