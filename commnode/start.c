/* start.c - the remote end of an ssh launch (PROTOCOL 12.1).
 *
 *   ssh's stdin   ---- bootstrap ---->  program, on a socketpair
 *   ssh's stdout  <--- `accepted`, `exited STATUS` or `killed SIGNAL`
 *
 * End-of-file on standard input ends the program only before it is accepted:
 * afterwards the tree does not need ssh any more. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commnode/commnode.h"
#include "commnode/program.h"
#include "net/bootstrap.h"
#include "wire/limits.h"

/* The exit status of a shell that cannot find a program. */
#define STATUS_NOT_FOUND 127

/* Write one line to ssh, whose local end may have ended. */
static void start_say(const char *word, int number)
{
    char line[64];
    int len = number < 0
                  ? snprintf(line, sizeof(line), "%s\n", word)
                  : snprintf(line, sizeof(line), "%s %d\n", word, number);

    (void)!write(STDOUT_FILENO, line, (size_t)len);
}

static int start_begin(struct program *program, char *const *argv)
{
    unsigned char *bytes;
    size_t len;
    int r;

    r = bootstrap_receive(STDIN_FILENO, LIMIT_LAUNCH_TIMEOUT_MS, &bytes, &len);
    if (r < 0) {
        fprintf(stderr,
                "coppice-commnode --start: no bootstrap on standard input: "
                "%s\n",
                r == -EPIPE ? "end of file" : strerror(-r));
        return r;
    }
    r = program_start(program, argv, bytes, len);
    explicit_bzero(bytes, len);
    free(bytes);
    return r;
}

/* Handle input. Returns whether standard input is still open. */
static bool on_input(const struct program *program)
{
    char bytes[64];

    if (read(STDIN_FILENO, bytes, sizeof(bytes)) > 0)
        return true;
    if (!program->accepted)
        kill(program->pid, SIGKILL);
    return false;
}

/* Run until the program ends. Returns its exit status. */
static int start_stay(struct program *program)
{
    bool input = true;
    int status;

    for (;;) {
        struct pollfd pollers[] = {
            {program->process, POLLIN, 0},
            {program->fd, POLLIN, 0},
            {input ? STDIN_FILENO : -1, POLLIN, 0},
        };

        if (poll(pollers, 3, -1) < 0 && errno != EINTR)
            break;
        if (pollers[1].revents && program_accepted(program))
            start_say("accepted", -1);
        if (pollers[0].revents && program_ended(program))
            break;
        if (pollers[2].revents)
            input = on_input(program);
    }
    status = program_reap(program);
    if (WIFSIGNALED(status)) {
        start_say("killed", WTERMSIG(status));
        return 128 + WTERMSIG(status);
    }
    start_say("exited", WEXITSTATUS(status));
    return WEXITSTATUS(status);
}

int cop_commnode_start(char *const *argv)
{
    struct program program = {.fd = -1, .process = -1};

    signal(SIGPIPE, SIG_IGN); /* ssh may have ended before we report */
    if (start_begin(&program, argv) < 0)
        return STATUS_NOT_FOUND;
    return start_stay(&program);
}
