/* remote.c - a child process that starts nodes on other hosts. */
#include "net/remote.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

/* ---- standard output ---- */

/* Whether a read returned end-of-file or an error. */
static bool is_end(ssize_t n)
{
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static void read_out(struct child *child)
{
    struct remote *remote = child->state;
    char bytes[4096];
    ssize_t n;
    ssize_t i;

    n = read(remote->out.fd, bytes, sizeof(bytes));
    if (is_end(n))
        child_unwatch(child, &remote->out);
    for (i = 0; i < n; i++) {
        if (bytes[i] == '\n') {
            remote->line[remote->line_len] = '\0';
            remote->line_len = 0;
            remote->take_line(child, remote->line);
        } else if (remote->line_len + 1 < REMOTE_LINE_LEN) {
            remote->line[remote->line_len++] = bytes[i];
        }
    }
}

static void on_out(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop;
    (void)events;
    read_out(io->data);
}

void remote_read_rest(struct child *child)
{
    struct remote *remote = child->state;

    while (remote->out.fd >= 0) {
        struct pollfd poller = {.fd = remote->out.fd, .events = POLLIN};

        if (poll(&poller, 1, 0) <= 0)
            break;
        read_out(child);
    }
}

/* ---- standard error ---- */

/* Returns whether there may be more to read. */
static bool read_err(struct child *child)
{
    struct remote *remote = child->state;
    char bytes[1024];
    ssize_t n;

    n = read(remote->err.fd, bytes, sizeof(bytes));
    if (n > 0 && child->met)
        child_print(child, bytes, (size_t)n);
    if (n > 0)
        quote_add(&remote->quote, bytes, (size_t)n);
    if (is_end(n))
        child_unwatch(child, &remote->err);
    return n > 0;
}

static void on_err(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop;
    (void)events;
    read_err(io->data);
}

const char *remote_words(struct child *child)
{
    struct remote *remote = child->state;

    while (remote->err.fd >= 0 && read_err(child))
        continue;
    quote_write(&remote->quote, child_bootstrap(child)->launcher_argv[0],
                remote->words);
    return remote->words;
}

/* ---- the process ---- */

int remote_start(struct child *child,
                 char *const *words,
                 int input,
                 void (*take_line)(struct child *child, char *line))
{
    struct spawn spawn = SPAWN_INIT;
    struct remote *remote = child->state;
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    int r;

    remote->out.fd = -1;
    remote->err.fd = -1;
    remote->take_line = take_line;
    r = spawn_pipe(out);
    if (r == 0)
        r = spawn_pipe(err);
    if (r < 0)
        goto out;
    spawn.argv = words;
    spawn.input = input;
    spawn.output = out[1];
    spawn.error = err[1];
    r = child_spawn(child, &spawn);
    if (r < 0)
        goto out;
    child_watch(child, &remote->out, out[0], on_out);
    child_watch(child, &remote->err, err[0], on_err);
    out[0] = -1;
    err[0] = -1;
out:
    spawn_close(out);
    spawn_close(err);
    return r;
}

void remote_close(struct child *child)
{
    struct remote *remote = child->state;

    if (!remote)
        return;
    child_unwatch(child, &remote->out);
    child_unwatch(child, &remote->err);
}
