/* launch.c - the children that a node starts, and what becomes of them. */
#include "net/launch.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/address.h"
#include "net/relay.h"
#include "topology/topology.h"
#include "wire/limits.h"

extern char **environ;

/* Children started between two looks at the loop. */
#define WORK_COUNT 4

/* How long we wait for a process that was killed. */
#define KILLED_WAIT_MS 2000

/* A line of ssh's standard output; what we keep of its standard error. */
#define LINE_LEN  64
#define WORDS_LEN 256

/* What only a child behind ssh has. */
struct remote {
    ev_io out;
    ev_io err;
    char line[LINE_LEN];
    size_t line_len;
    char words[WORDS_LEN]; /* its last words */
    size_t words_len;
    bool accepted;
    bool exited; /* `exited STATUS` came: the program's end is certain */
};

struct child {
    struct launch *launch;
    struct child *next; /* those that wait to be started */
    uint32_t rank;
    pid_t pid;      /* 0: not started, or waited for */
    uint32_t links; /* that are up */
    bool met;       /* one was up */
    bool over;      /* its end is known: `text` says how */
    bool told;      /* and has been told */
    char *text;     /* or NULL */
    ev_io process;
    ev_io boot; /* our end of the bootstrap's socket */
    unsigned char *bytes;
    size_t len;
    size_t sent;
    struct remote *remote; /* or NULL */
};

struct launch {
    struct ev_loop *loop;
    const struct bootstrap *bootstrap;
    const char *address;
    sigset_t mask;
    launch_begun_fn *begun;
    launch_gone_fn *gone;
    void *arg;
    struct child **children; /* by their place in the subtree, or NULL */
    uint32_t child_count;    /* of these places */
    struct child *waiting;   /* in order */
    struct child **waiting_end;
    struct relay *relay; /* of standard errors behind ssh, or NULL */
    size_t alive;
    bool abandoned; /* descriptors are closed, children are not ours */
};

/* ---- what is known of an end ----------------------------------------------
 */

static const char *host_of(const struct child *child)
{
    const struct topology *subtree = child->launch->bootstrap->subtree;

    return topology_host(subtree, topology_index(subtree, child->rank));
}

static const char *program_of(const struct child *child)
{
    const struct bootstrap *bootstrap = child->launch->bootstrap;
    uint32_t index = topology_index(bootstrap->subtree, child->rank);

    if (topology_is_leaf(bootstrap->subtree, index) && !bootstrap->attach)
        return bootstrap->backend_argv[0];
    return bootstrap->commnode_path;
}

static void launch_tell(struct child *child)
{
    struct launch *launch = child->launch;

    if (!child->over || child->told || child->links > 0)
        return;
    child->told = true;
    launch->gone(launch->arg, child->rank,
                 child->text ? child->text : "it has ended");
}

/* The end of the node is certain. `how` completes "PROGRAM ...". */
static void launch_over(struct child *child, const char *how)
{
    if (child->over)
        return;
    child->over = true;
    if (asprintf(&child->text, "%s %s", program_of(child), how) < 0)
        child->text = NULL;
    launch_tell(child);
}

/* ---- descriptors ------------------------------------------------------------
 */

static void close_watched(struct launch *launch, ev_io *io)
{
    if (io->fd < 0 || launch->abandoned)
        return;
    ev_io_stop(launch->loop, io);
    close(io->fd);
    ev_io_set(io, -1, 0);
}

/* The bootstrap holds the key. */
static void wipe_bytes(struct child *child)
{
    if (child->bytes)
        sodium_memzero(child->bytes, child->len);
    free(child->bytes);
    child->bytes = NULL;
}

static void close_boot(struct child *child)
{
    close_watched(child->launch, &child->boot);
    wipe_bytes(child);
}

/* Write what the socket takes of the bootstrap, and watch for the rest and for
 * the child's answer. */
static void write_boot(struct child *child)
{
    ssize_t n;

    if (child->sent < child->len) {
        n = send(child->boot.fd, child->bytes + child->sent,
                 child->len - child->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            close_boot(child); /* how it ended, its process will tell */
            return;
        }
        if (n > 0)
            child->sent += (size_t)n;
        if (child->sent == child->len)
            wipe_bytes(child);
    }
    ev_io_stop(child->launch->loop, &child->boot);
    ev_io_set(&child->boot, child->boot.fd,
              child->sent < child->len ? EV_READ | EV_WRITE : EV_READ);
    ev_io_start(child->launch->loop, &child->boot);
}

/* The child has been accepted, or has closed its end. */
static void on_boot(struct ev_loop *loop, ev_io *io, int events)
{
    struct child *child = io->data;
    char byte;
    ssize_t n;

    (void)loop;
    if (events & EV_READ) {
        n = recv(io->fd, &byte, 1, MSG_DONTWAIT);
        if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
            close_boot(child);
            return;
        }
    }
    if (events & EV_WRITE)
        write_boot(child);
}

/* ---- behind ssh
 * --------------------------------------------------------------- */

static void take_line(struct child *child)
{
    struct remote *remote = child->remote;
    int status;
    char how[64];

    if (strcmp(remote->line, "accepted") == 0) {
        remote->accepted = true;
        close_boot(child);
    } else if (sscanf(remote->line, "exited %d", &status) == 1) {
        remote->exited = true;
        snprintf(how, sizeof(how), "exited with status %d", status);
        launch_over(child, how);
    } else if (sscanf(remote->line, "killed %d", &status) == 1) {
        remote->exited = true;
        snprintf(how, sizeof(how), "was ended by signal %d (%s)", status,
                 strsignal(status));
        launch_over(child, how);
    }
}

/* Other lines (what a shell's start-up file prints) are passed over. */
static void read_out(struct child *child)
{
    struct remote *remote = child->remote;
    char bytes[256];
    ssize_t n;
    ssize_t i;

    n = read(remote->out.fd, bytes, sizeof(bytes));
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_watched(child->launch, &remote->out);
    for (i = 0; i < n; i++) {
        if (bytes[i] == '\n') {
            remote->line[remote->line_len] = '\0';
            take_line(child);
            remote->line_len = 0;
        } else if (remote->line_len + 1 < LINE_LEN) {
            remote->line[remote->line_len++] = bytes[i];
        }
    }
}

/* Keep the last WORDS_LEN bytes, as one line. */
static void keep_words(struct remote *remote, const char *bytes, size_t len)
{
    size_t drop;
    size_t i;

    if (len >= WORDS_LEN) {
        bytes += len - WORDS_LEN + 1;
        len = WORDS_LEN - 1;
    }
    if (remote->words_len + len >= WORDS_LEN) {
        drop = remote->words_len + len - WORDS_LEN + 1;
        remote->words_len -= drop;
        memmove(remote->words, remote->words + drop, remote->words_len);
    }
    for (i = 0; i < len; i++)
        remote->words[remote->words_len++] =
            isprint((unsigned char)bytes[i]) ? bytes[i] : ' ';
}

/* Let bytes go to our standard error, which may not be read: never wait. They
 * are lost if there is no memory or thread for it. */
static void pass_on(struct launch *launch, const char *bytes, size_t len)
{
    if (!launch->relay && relay_new(&launch->relay, STDERR_FILENO) < 0)
        return;
    relay_put(launch->relay, bytes, len);
}

/* Until the child is accepted its words explain a failure; afterwards they are
 * the program's, and pass through. Returns whether there may be more. */
static bool read_err(struct child *child)
{
    struct remote *remote = child->remote;
    char bytes[1024];
    ssize_t n;

    n = read(remote->err.fd, bytes, sizeof(bytes));
    if (n > 0 && !remote->accepted)
        keep_words(remote, bytes, (size_t)n);
    else if (n > 0)
        pass_on(child->launch, bytes, (size_t)n);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_watched(child->launch, &remote->err);
    return n > 0;
}

static void on_out(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop;
    (void)events;
    read_out(io->data);
}

static void on_err(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop;
    (void)events;
    read_err(io->data);
}

/* What ssh has said until now, as one line; "" if there is nothing. */
static const char *last_words(struct child *child)
{
    struct remote *remote = child->remote;
    const char *words;

    if (!remote)
        return "";
    while (remote->err.fd >= 0 && !remote->accepted && read_err(child))
        continue;
    while (remote->words_len > 0 && remote->words[remote->words_len - 1] == ' ')
        remote->words_len--;
    remote->words[remote->words_len] = '\0';
    for (words = remote->words; *words == ' ';)
        words++;
    return words;
}

/* ssh itself has ended. Without `exited` this proves something only if the
 * program was never there (PROTOCOL 12.1). */
static void ssh_ended(struct child *child, const char *how)
{
    struct remote *remote = child->remote;
    const char *words;
    char text[WORDS_LEN + 160];

    while (remote->out.fd >= 0 && !remote->exited) {
        struct pollfd poller = {.fd = remote->out.fd, .events = POLLIN};

        if (poll(&poller, 1, 0) <= 0)
            break;
        read_out(child);
    }
    if (remote->exited || remote->accepted || child->met)
        return;
    words = last_words(child);
    snprintf(text, sizeof(text), "could not be started: %s %s%s%s",
             child->launch->bootstrap->ssh_argv[0], how, *words ? ": " : "",
             words);
    launch_over(child, text);
}

/* ---- the process
 * ---------------------------------------------------------------- */

static void describe_end(char *out, size_t room, int r, const siginfo_t *info)
{
    if (r < 0)
        snprintf(out, room,
                 "has ended (how, whoever else waits for children knows)");
    else if (info->si_code == CLD_EXITED)
        snprintf(out, room, "exited with status %d", info->si_status);
    else
        snprintf(out, room, "was ended by signal %d (%s)", info->si_status,
                 strsignal(info->si_status));
}

/* It is dead, or `wait_ms` have passed. The application may have waited for
 * it, or ignore SIGCHLD (PROTOCOL 14.4). Returns whether it is dead. */
static bool collect(struct child *child, int wait_ms, char *how, size_t room)
{
    struct pollfd poller = {.fd = child->process.fd, .events = POLLIN};
    siginfo_t info = {0};
    int r;

    if (poll(&poller, 1, wait_ms) <= 0)
        return false;
    r = waitid(P_PIDFD, (id_t)child->process.fd, &info, WEXITED | WNOHANG);
    describe_end(how, room, r, &info);
    close_watched(child->launch, &child->process);
    child->pid = 0;
    child->launch->alive--;
    return true;
}

static void on_process(struct ev_loop *loop, ev_io *io, int events)
{
    struct child *child = io->data;
    char how[128];

    (void)loop;
    (void)events;
    if (!collect(child, 0, how, sizeof(how)))
        return;
    close_boot(child);
    if (child->remote)
        ssh_ended(child, how);
    else
        launch_over(child, how);
}

/* ---- starting
 * ---------------------------------------------------------------------- */

/* Descriptors of a start; all -1 to begin. The second of each is the
 * child's. */
struct pipes {
    int boot[2];
    int out[2];
    int err[2];
};

static void close_pair(int pair[2])
{
    if (pair[0] >= 0)
        close(pair[0]);
    if (pair[1] >= 0)
        close(pair[1]);
    pair[0] = -1;
    pair[1] = -1;
}

static int open_pipe(int pair[2])
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pair[0] = ends[0];
    pair[1] = ends[1];
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int open_pipes(struct pipes *pipes, bool remote)
{
    int r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pipes->boot) < 0)
        return -errno;
    if (!remote)
        return 0;
    r = open_pipe(pipes->out);
    if (r == 0)
        r = open_pipe(pipes->err);
    return r;
}

/* Quote a word for the shell at the far end of ssh. */
static char *launch_quote(const char *word)
{
    size_t len = strlen(word);
    char *quoted = malloc(4 * len + 3);
    char *at = quoted;

    if (!quoted)
        return NULL;
    *at++ = '\'';
    for (; *word; word++) {
        if (*word == '\'') {
            memcpy(at, "'\\''", 4);
            at += 4;
        } else {
            *at++ = *word;
        }
    }
    *at++ = '\'';
    *at = '\0';
    return quoted;
}

static void free_words(char **words)
{
    size_t i;

    for (i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

/* The command line of a child behind ssh. */
static int ssh_command(char ***out,
                       const struct bootstrap *bootstrap,
                       const char *host,
                       char *const *program)
{
    size_t ssh_count = 0;
    size_t count = 0;
    char **words;
    size_t n = 0;
    size_t i;

    while (bootstrap->ssh_argv[ssh_count])
        ssh_count++;
    while (program[count])
        count++;
    words = calloc(ssh_count + count + 5, sizeof(*words));
    if (!words)
        return -ENOMEM;
    for (i = 0; i < ssh_count; i++)
        words[n++] = strdup(bootstrap->ssh_argv[i]);
    words[n++] = strdup(host);
    words[n++] = launch_quote(bootstrap->commnode_path);
    words[n++] = strdup("--start");
    words[n++] = strdup("--");
    for (i = 0; i < count; i++)
        words[n++] = launch_quote(program[i]);
    for (i = 0; i < n; i++)
        if (!words[i]) {
            while (n-- > 0)
                free(words[n]);
            free(words);
            return -ENOMEM;
        }
    *out = words;
    return 0;
}

/* Our environment, and the number of the bootstrap's descriptor. */
static int make_environment(char ***out, char *variable)
{
    size_t count = 0;
    size_t n = 0;
    size_t i;
    char **copy;

    while (environ && environ[count])
        count++;
    copy = malloc((count + 2) * sizeof(*copy));
    if (!copy)
        return -ENOMEM;
    for (i = 0; i < count; i++)
        if (strncmp(environ[i], BOOTSTRAP_VARIABLE "=",
                    sizeof(BOOTSTRAP_VARIABLE)) != 0)
            copy[n++] = environ[i];
    copy[n++] = variable;
    copy[n] = NULL;
    *out = copy;
    return 0;
}

/* Say which descriptors the new process has. A descriptor that is put onto
 * itself is inherited. */
static int add_descriptors(posix_spawn_file_actions_t *actions,
                           const struct pipes *pipes,
                           bool remote)
{
    int r;

    if (!remote) {
        r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null",
                                             O_RDONLY, 0);
        if (r == 0)
            r = posix_spawn_file_actions_adddup2(actions, pipes->boot[1],
                                                 pipes->boot[1]);
        return -r;
    }
    r = posix_spawn_file_actions_adddup2(actions, pipes->boot[1], STDIN_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(actions, pipes->out[1],
                                             STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(actions, pipes->err[1],
                                             STDERR_FILENO);
    return -r;
}

static int spawn_with(struct child *child,
                      const struct pipes *pipes,
                      char *const *argv,
                      char *const *environment,
                      posix_spawn_file_actions_t *actions,
                      posix_spawnattr_t *attributes)
{
    bool remote = child->remote != NULL;
    int r;

    r = add_descriptors(actions, pipes, remote);
    if (r < 0)
        return r;
    /* What a terminal sends, such as at Ctrl-C, is for the application. But ssh
     * may have to ask it for a password. A process group in our session would
     * be orphaned by our death: the kernel then sends SIGHUP to the group if a
     * member is stopped. */
    r = posix_spawnattr_setflags(attributes, remote ? POSIX_SPAWN_SETSIGMASK
                                                    : POSIX_SPAWN_SETSIGMASK |
                                                          POSIX_SPAWN_SETSID);
    if (r == 0)
        r = posix_spawnattr_setsigmask(attributes, &child->launch->mask);
    if (r == 0)
        r = posix_spawnp(&child->pid, argv[0], actions, attributes, argv,
                         environment);
    if (r != 0)
        child->pid = 0;
    return -r;
}

static int launch_spawn(struct child *child,
                        const struct pipes *pipes,
                        char *const *argv)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char variable[sizeof(BOOTSTRAP_VARIABLE) + 16];
    char **environment = NULL;
    int r;

    snprintf(variable, sizeof(variable), "%s=%d", BOOTSTRAP_VARIABLE,
             pipes->boot[1]);
    if (!child->remote) {
        r = make_environment(&environment, variable);
        if (r < 0)
            return r;
    }
    r = -posix_spawn_file_actions_init(&actions);
    if (r == 0) {
        r = -posix_spawnattr_init(&attributes);
        if (r == 0) {
            r = spawn_with(child, pipes, argv,
                           environment ? environment : environ, &actions,
                           &attributes);
            posix_spawnattr_destroy(&attributes);
        }
        posix_spawn_file_actions_destroy(&actions);
    }
    free(environment);
    return r;
}

/* The new process runs: watch it and what it says. */
static int launch_adopt(struct child *child, struct pipes *pipes)
{
    struct launch *launch = child->launch;
    int fd;

    fd = (int)syscall(SYS_pidfd_open, child->pid, 0);
    if (fd < 0) {
        int r = -errno;

        if (r != -ESRCH)
            kill(child->pid, SIGKILL);
        waitpid(child->pid, NULL, 0);
        child->pid = 0;
        return r;
    }
    launch->alive++;
    ev_io_set(&child->process, fd, EV_READ);
    ev_io_start(launch->loop, &child->process);
    ev_io_set(&child->boot, pipes->boot[0], EV_READ);
    pipes->boot[0] = -1;
    if (child->remote) {
        ev_io_set(&child->remote->out, pipes->out[0], EV_READ);
        ev_io_start(launch->loop, &child->remote->out);
        ev_io_set(&child->remote->err, pipes->err[0], EV_READ);
        ev_io_start(launch->loop, &child->remote->err);
        pipes->out[0] = -1;
        pipes->err[0] = -1;
    }
    write_boot(child);
    return 0;
}

static int make_remote(struct child *child)
{
    struct remote *remote = calloc(1, sizeof(*remote));

    if (!remote)
        return -ENOMEM;
    ev_io_init(&remote->out, on_out, -1, EV_READ);
    remote->out.data = child;
    ev_io_init(&remote->err, on_err, -1, EV_READ);
    remote->err.data = child;
    child->remote = remote;
    return 0;
}

static int make_bootstrap(struct child *child)
{
    struct launch *launch = child->launch;
    struct bootstrap *bootstrap;
    int r;

    r = bootstrap_child(&bootstrap, launch->bootstrap, child->rank,
                        launch->address);
    if (r < 0)
        return r;
    r = bootstrap_encode(bootstrap, &child->bytes, &child->len);
    bootstrap_free(bootstrap);
    return r;
}

/* Start it: bootstrap, descriptors, process. */
static int start_child(struct child *child)
{
    const struct bootstrap *bootstrap = child->launch->bootstrap;
    struct pipes pipes = {{-1, -1}, {-1, -1}, {-1, -1}};
    char *commnode[] = {bootstrap->commnode_path, NULL};
    char *const *program = commnode;
    char **words = NULL;
    const char *host = host_of(child);
    int r;

    if (program_of(child) != bootstrap->commnode_path)
        program = bootstrap->backend_argv;
    r = make_bootstrap(child);
    if (r == 0 && strcmp(bootstrap->launcher, "ssh") == 0 &&
        !address_is_own(host)) {
        r = make_remote(child);
        if (r == 0)
            r = ssh_command(&words, bootstrap, host, program);
        program = words;
    }
    if (r == 0)
        r = open_pipes(&pipes, child->remote != NULL);
    if (r == 0)
        r = launch_spawn(child, &pipes, program);
    if (r == 0)
        r = launch_adopt(child, &pipes);
    close_pair(pipes.boot);
    close_pair(pipes.out);
    close_pair(pipes.err);
    free_words(words);
    return r;
}

/* ---- all of them
 * -------------------------------------------------------------------- */

int launch_new(struct launch **out,
               struct ev_loop *loop,
               const struct bootstrap *bootstrap,
               const char *address,
               const sigset_t *mask,
               launch_begun_fn *begun,
               launch_gone_fn *gone,
               void *arg)
{
    struct launch *launch = calloc(1, sizeof(*launch));

    if (!launch)
        return -ENOMEM;
    if (bootstrap->subtree)
        launch->child_count = topology_count(bootstrap->subtree);
    launch->children =
        calloc(launch->child_count + 1, sizeof(*launch->children));
    if (!launch->children) {
        free(launch);
        return -ENOMEM;
    }
    launch->loop = loop;
    launch->bootstrap = bootstrap;
    launch->address = address;
    launch->mask = *mask;
    launch->begun = begun;
    launch->gone = gone;
    launch->arg = arg;
    launch->waiting_end = &launch->waiting;
    *out = launch;
    return 0;
}

void launch_dismiss(struct launch *launch)
{
    uint32_t i;

    for (i = 0; i < launch->child_count; i++)
        if (launch->children[i])
            close_boot(launch->children[i]);
}

size_t launch_kill(struct launch *launch)
{
    struct child *child;
    size_t count = 0;
    uint32_t i;

    for (i = 0; i < launch->child_count; i++) {
        child = launch->children[i];
        if (!child || child->pid <= 0)
            continue;
        syscall(SYS_pidfd_send_signal, child->process.fd, SIGKILL, NULL, 0);
        count++;
    }
    return count;
}

void launch_kill_stopped(struct launch *launch)
{
    struct child *child;
    uint32_t i;

    for (i = 0; i < launch->child_count; i++) {
        siginfo_t info = {0};

        child = launch->children[i];
        if (child && child->pid > 0 &&
            waitid(P_PIDFD, (id_t)child->process.fd, &info,
                   WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid != 0)
            syscall(SYS_pidfd_send_signal, child->process.fd, SIGKILL, NULL, 0);
    }
}

static void free_child(struct child *child)
{
    struct launch *launch = child->launch;
    char how[128];

    if (child->pid > 0 && !launch->abandoned)
        collect(child, KILLED_WAIT_MS, how, sizeof(how));
    close_watched(launch, &child->process);
    close_boot(child);
    if (child->remote) {
        close_watched(launch, &child->remote->out);
        close_watched(launch, &child->remote->err);
    }
    free(child->remote);
    free(child->text);
    free(child);
}

void launch_free(struct launch *launch)
{
    uint32_t i;

    if (!launch)
        return;
    if (!launch->abandoned)
        launch_kill(launch);
    for (i = 0; i < launch->child_count; i++)
        if (launch->children[i])
            free_child(launch->children[i]);
    if (launch->abandoned)
        relay_abandon(launch->relay);
    else
        relay_free(launch->relay);
    free(launch->children);
    free(launch);
}

static void abandon(int fd)
{
    if (fd >= 0)
        close(fd);
}

void launch_abandon(struct launch *launch)
{
    const struct child *child;
    uint32_t i;

    launch->abandoned = true;
    for (i = 0; i < launch->child_count; i++) {
        child = launch->children[i];
        if (!child)
            continue;
        abandon(child->process.fd);
        abandon(child->boot.fd);
        if (child->remote) {
            abandon(child->remote->out.fd);
            abandon(child->remote->err.fd);
        }
    }
}

/* The place of `rank`, or NULL if it is not below us. */
static struct child **launch_place(struct launch *launch, uint32_t rank)
{
    const struct topology *subtree = launch->bootstrap->subtree;
    uint32_t index;

    if (launch->child_count == 0)
        return NULL;
    index = topology_index(subtree, rank);
    if (index == TOPOLOGY_NONE || index == 0)
        return NULL;
    return &launch->children[index];
}

static struct child *launch_find(struct launch *launch, uint32_t rank)
{
    struct child **at = launch_place(launch, rank);

    return at ? *at : NULL;
}

int launch_child(struct launch *launch, uint32_t rank)
{
    struct child **at = launch_place(launch, rank);
    struct child *child;

    assert(at && !*at);
    child = calloc(1, sizeof(*child));
    if (!child)
        return -ENOMEM;
    *at = child;
    child->launch = launch;
    child->rank = rank;
    ev_io_init(&child->process, on_process, -1, EV_READ);
    child->process.data = child;
    ev_io_init(&child->boot, on_boot, -1, EV_READ);
    child->boot.data = child;
    *launch->waiting_end = child;
    launch->waiting_end = &child->next;
    return 0;
}

void launch_stop(struct launch *launch, uint32_t rank, const char *text)
{
    struct child *child = launch_find(launch, rank);
    char how[128];
    const char *words;
    char *said;

    if (!child)
        return;
    if (child->pid > 0 && !child->remote && collect(child, 0, how, sizeof(how)))
        launch_over(child, how);
    words = child->over ? "" : last_words(child);
    if (!child->over &&
        asprintf(&said, "%s%s%s", text, *words ? ": " : "", words) >= 0) {
        child->over = true;
        child->text = said;
    }
    close_boot(child);
    if (child->pid > 0)
        syscall(SYS_pidfd_send_signal, child->process.fd, SIGKILL, NULL, 0);
    child->told = true;
    launch->gone(launch->arg, rank, child->text ? child->text : text);
}

bool launch_work(struct launch *launch)
{
    struct child *child;
    char how[160];
    int count;
    int r;

    for (count = 0; launch->waiting && count < WORK_COUNT; count++) {
        child = launch->waiting;
        launch->waiting = child->next;
        if (!launch->waiting)
            launch->waiting_end = &launch->waiting;
        if (child->over)
            continue; /* it was stopped before */
        r = start_child(child);
        if (r == 0) {
            launch->begun(launch->arg, child->rank);
            continue;
        }
        close_boot(child);
        snprintf(how, sizeof(how), "could not be started%s%s: %s",
                 child->remote ? " by " : "",
                 child->remote ? launch->bootstrap->ssh_argv[0] : "",
                 r == -EMFILE ? "too many open files: raise `ulimit -n`"
                              : strerror(-r));
        launch_over(child, how);
    }
    return launch->waiting != NULL;
}

void launch_linked(struct launch *launch, uint32_t rank)
{
    struct child *child = launch_find(launch, rank);

    if (!child)
        return;
    child->links++;
    child->met = true;
}

void launch_unlinked(struct launch *launch, uint32_t rank)
{
    struct child *child = launch_find(launch, rank);

    if (!child || child->links == 0)
        return;
    child->links--;
    launch_tell(child);
}

void launch_disown(struct launch *launch)
{
    struct child *child;
    uint32_t i;

    for (i = 0; i < launch->child_count; i++) {
        child = launch->children[i];
        if (!child || child->pid <= 0 || !child->met || child->links > 0)
            continue;
        close_watched(launch, &child->process);
        child->pid = 0;
        launch->alive--;
    }
}

size_t launch_alive(const struct launch *launch)
{
    return launch->alive;
}
