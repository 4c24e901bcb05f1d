/* start.c - the far end of an ssh launch (PROTOCOL 12.1).
 *
 *   ssh's stdin   ---- bootstrap ---->  program, on a socketpair
 *   ssh's stdout  <--- `accepted`, `exited STATUS` or `killed SIGNAL`
 *
 * End-of-file on standard input ends the program only before it is accepted:
 * afterwards the tree does not need ssh any more. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commnode/commnode.h"
#include "net/bootstrap.h"
#include "wire/limits.h"

extern char **environ;

/* The status of a shell that cannot find a program. */
#define STATUS_NOT_FOUND 127

struct start {
    int fd; /* our end of the program's bootstrap; -1: over */
    bool accepted;
    bool input; /* standard input is still open */
    pid_t pid;
    int process; /* pidfd */
};

/* One line to whoever is at the other end of ssh; he may be gone. */
static void start_say(const char *word, int number)
{
    char line[64];
    int len = number < 0
                  ? snprintf(line, sizeof(line), "%s\n", word)
                  : snprintf(line, sizeof(line), "%s %d\n", word, number);

    (void)!write(STDOUT_FILENO, line, (size_t)len);
}

static int start_spawn(struct start *start, int fd, char *const *argv)
{
    posix_spawn_file_actions_t actions;
    char number[16];
    int r;

    snprintf(number, sizeof(number), "%d", fd);
    if (setenv(BOOTSTRAP_VARIABLE, number, 1) < 0)
        return -errno;
    r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return -r;
    r = posix_spawn_file_actions_adddup2(&actions, fd, fd);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO,
                                             "/dev/null", O_RDONLY, 0);
    if (r == 0) /* standard output is ours: what it prints goes the other way */
        r = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO,
                                             STDOUT_FILENO);
    if (r == 0)
        r = posix_spawnp(&start->pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    unsetenv(BOOTSTRAP_VARIABLE);
    return -r;
}

/* Write all of the bootstrap, unless the program is gone. */
static int hand_on(int fd, const unsigned char *bytes, size_t len)
{
    ssize_t n;

    while (len > 0) {
        n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

static int start_begin(struct start *start, char *const *argv)
{
    unsigned char *bytes;
    size_t len;
    int pair[2];
    int r;

    r = bootstrap_receive(STDIN_FILENO, LIMIT_LAUNCH_TIMEOUT_MS, &bytes, &len);
    if (r < 0) {
        fprintf(stderr,
                "coppice-commnode --start: no bootstrap on standard input: "
                "%s\n",
                r == -EPIPE ? "end of file" : strerror(-r));
        return r;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        r = -errno;
        goto out;
    }
    start->fd = pair[0];
    r = start_spawn(start, pair[1], argv);
    close(pair[1]);
    if (r == 0) {
        start->process = (int)syscall(SYS_pidfd_open, start->pid, 0);
        if (start->process < 0)
            r = -errno;
    }
    if (r == 0)
        hand_on(pair[0], bytes, len); /* if it fails, the program has ended */
    else
        fprintf(stderr, "%s: cannot be started: %s\n", argv[0], strerror(-r));
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
    if (start_begin(&start, argv) < 0) {
        if (start.pid > 0)
            kill(start.pid, SIGKILL);
        return STATUS_NOT_FOUND;
    }
    status = start_stay(&start);
    if (start.fd >= 0)
        close(start.fd);
    close(start.process);
    return status;
}
