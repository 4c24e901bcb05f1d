/* start.c - the far end of an ssh launch (PROTOCOL 12.1).
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
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commnode/commnode.h"
#include "net/bootstrap.h"
#include "net/spawn.h"
#include "wire/limits.h"

/* The status of a shell that cannot find a program. */
#define STATUS_NOT_FOUND 127

struct start {
    int fd; /* our end of the program's bootstrap; -1: over */
    bool accepted;
    bool input; /* standard input is still open */
    pid_t pid;
    int process; /* pidfd */
};

/* Write one line to the near end of ssh, which may be gone. */
static void start_say(const char *word, int number)
{
    char line[64];
    int len = number < 0
                  ? snprintf(line, sizeof(line), "%s\n", word)
                  : snprintf(line, sizeof(line), "%s %d\n", word, number);

    (void)!write(STDOUT_FILENO, line, (size_t)len);
}

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

static int start_begin(struct start *start, char *const *argv)
{
    struct spawn spawn = SPAWN_INIT;
    int pair[2] = {-1, -1};
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
    r = spawn_socketpair(pair);
    if (r < 0)
        goto out;
    start->fd = pair[0];
    spawn.argv = argv;
    spawn.output = STDERR_FILENO; /* standard output is for our own lines */
    spawn.bootstrap = pair[1];
    r = spawn_process(&spawn, &start->pid);
    close(pair[1]);
    if (r < 0) {
        fprintf(stderr, "%s: cannot be started: %s\n", argv[0], strerror(-r));
        goto out;
    }
    start->process = r;
    write_bootstrap(start->fd, bytes, len);
out:
    explicit_bzero(bytes, len);
    free(bytes);
    return r;
}

/* The program's parent has accepted it, or the program has closed its end. */
static void on_program(struct start *start)
{
    char byte;

    if (recv(start->fd, &byte, 1, 0) == 1) {
        start->accepted = true;
        start_say("accepted", -1);
    }
    close(start->fd);
    start->fd = -1;
}

static void on_input(struct start *start)
{
    char bytes[64];

    if (read(STDIN_FILENO, bytes, sizeof(bytes)) > 0)
        return;
    start->input = false;
    if (!start->accepted)
        kill(start->pid, SIGKILL);
}

/* Stay for the program's life. Returns its exit status. */
static int start_stay(struct start *start)
{
    struct pollfd pollers[3];
    int status;

    for (;;) {
        pollers[0] = (struct pollfd){start->process, POLLIN, 0};
        pollers[1] = (struct pollfd){start->fd, POLLIN, 0};
        pollers[2] =
            (struct pollfd){start->input ? STDIN_FILENO : -1, POLLIN, 0};
        if (poll(pollers, 3, -1) < 0 && errno != EINTR)
            break;
        if (pollers[1].revents)
            on_program(start);
        if (pollers[0].revents)
            break;
        if (pollers[2].revents)
            on_input(start);
    }
    while (waitpid(start->pid, &status, 0) < 0)
        if (errno != EINTR)
            return EXIT_FAILURE;
    if (WIFSIGNALED(status)) {
        start_say("killed", WTERMSIG(status));
        return 128 + WTERMSIG(status);
    }
    start_say("exited", WEXITSTATUS(status));
    return WEXITSTATUS(status);
}

int cop_commnode_start(char *const *argv)
{
    struct start start = {.fd = -1, .input = true, .process = -1};
    int status;

    signal(SIGPIPE, SIG_IGN); /* ssh may be gone when we report */
    if (start_begin(&start, argv) < 0)
        return STATUS_NOT_FOUND;
    status = start_stay(&start);
    if (start.fd >= 0)
        close(start.fd);
    close(start.process);
    return status;
}
