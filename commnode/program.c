/* program.c - a node that is started for a process on another host. */
#include "commnode/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/process.h"
#include "net/spawn.h"

/* Write all of the bootstrap, unless the program has ended. */
static void write_bootstrap(int fd, const unsigned char *bytes, size_t len)
{
    ssize_t n;

    while (len > 0) {
        n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return;
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
    }
}

int program_start(struct program *program,
                  char *const *argv,
                  const unsigned char *bytes,
                  size_t len)
{
    struct spawn spawn = SPAWN_INIT;
    int pair[2] = {-1, -1};
    int r;

    r = spawn_socketpair(pair);
    if (r == 0) {
        spawn.argv = argv;
        spawn.output = STDERR_FILENO; /* our standard output is for lines */
        spawn.bootstrap = pair[1];
        r = spawn_process(&spawn, &program->pid);
        close(pair[1]);
    }
    if (r < 0) {
        fprintf(stderr, "%s: cannot be started: %s\n", argv[0], strerror(-r));
        if (pair[0] >= 0)
            close(pair[0]);
        return r;
    }
    program->process = r;
    program->fd = pair[0];
    write_bootstrap(program->fd, bytes, len);
    return 0;
}

bool program_accepted(struct program *program)
{
    char byte;

    if (recv(program->fd, &byte, 1, 0) == 1)
        program->accepted = true;
    close(program->fd);
    program->fd = -1;
    return program->accepted;
}

bool program_ended(const struct program *program)
{
    siginfo_t info;

    return process_look(program->process, program->pid, WEXITED | WNOWAIT,
                        &info) != 0;
}

int program_reap(struct program *program)
{
    int status = 0;

    while (waitpid(program->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    close(program->process);
    program->process = -1;
    if (program->fd >= 0)
        close(program->fd);
    program->fd = -1;
    return status;
}
