/* child.c - the process of one child, and its descriptors. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/children_parts.h"
#include "net/process.h"

const struct bootstrap *child_bootstrap(const struct child *child)
{
    return child->children->bootstrap;
}

/* ---- descriptors ---- */

void child_watch(struct child *child,
                 ev_io *io,
                 int fd,
                 void (*readable)(struct ev_loop *loop, ev_io *io, int events))
{
    ev_io_init(io, readable, fd, EV_READ);
    io->data = child;
    ev_io_start(child->children->loop, io);
}

void child_unwatch(struct child *child, ev_io *io)
{
    if (io->fd < 0)
        return;
    if (!child->children->abandoned)
        ev_io_stop(child->children->loop, io);
    close(io->fd);
    ev_io_set(io, -1, 0);
}

void child_accepted(struct child *child)
{
    handover_close(&child->handover);
}

void child_print(struct child *child, const char *bytes, size_t len)
{
    struct relay **relay = &child->children->relay;

    if (!*relay && relay_new(relay, STDERR_FILENO) < 0)
        return;
    relay_put(*relay, bytes, len);
}

/* ---- the process ---- */

static void describe_end(char *out, size_t room, int r, const siginfo_t *info)
{
    if (r < 0)
        snprintf(out, room,
                 "has ended (its status went to another wait() of this "
                 "process)");
    else if (info->si_code == CLD_EXITED)
        snprintf(out, room, "exited with status %d", info->si_status);
    else
        snprintf(out, room, "was ended by signal %d (%s)", info->si_status,
                 strsignal(info->si_status));
}

bool child_reap(struct child *child, int wait_ms, char *how, size_t room)
{
    struct pollfd poller = {.fd = child->process.fd, .events = POLLIN};
    siginfo_t info;
    int r;

    do {
        if (poll(&poller, 1, wait_ms) <= 0)
            return false;
        r = process_look(child->process.fd, child->pid, WEXITED, &info);
        wait_ms -= PROCESS_LOOK_MS;
    } while (r == 0 && wait_ms > 0);
    if (r == 0)
        return false;
    describe_end(how, room, r, &info);
    child_unwatch(child, &child->process);
    child->pid = 0;
    child->children->alive--;
    return true;
}

static void on_process(struct ev_loop *loop, ev_io *io, int events)
{
    struct child *child = io->data;
    char how[128];

    (void)loop;
    (void)events;
    if (!child_reap(child, 0, how, sizeof(how)))
        return;
    handover_close(&child->handover);
    child->launcher->ended(child, how);
}

void child_kill(const struct child *child, int signal)
{
    process_kill(child->process.fd, child->pid, signal);
}

int child_spawn(struct child *child, struct spawn *spawn)
{
    int fd;

    spawn->mask = &child->children->mask;
    spawn->reset = &child->children->reset;
    spawn->hides = child->launcher->hides;
    fd = spawn_process(spawn, &child->pid);
    if (fd < 0)
        return fd;
    child->children->alive++;
    child_watch(child, &child->process, fd, on_process);
    return 0;
}
