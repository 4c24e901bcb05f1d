/* remote.c - a process of ours that starts nodes on other hosts. */
#include "net/remote.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* ---- standard output ---- */

/* Whether a read has found the end of the file, or an error. */
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

/* Append bytes, each one that is not printable as a space. The caller has checked
 * that they fit. */
static void add_words(struct remote *remote, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        remote->words[remote->words_len++] =
            isprint((unsigned char)bytes[i]) ? bytes[i] : ' ';
}

/* Add output to `words`. If `words` is full, the oldest bytes are dropped. With
 * `keeps_first` the first half stays, as it often has the reason, and " ... "
 * marks what was dropped behind it. */
static void keep_words(struct remote *remote, const char *bytes, size_t len)
{
    size_t room = REMOTE_WORDS_LEN - 1;
    size_t first = remote->keeps_first ? room / 2 : 0;
    size_t fits = room - remote->words_len;

    if (fits > len)
        fits = len;
    add_words(remote, bytes, fits);
    bytes += fits;
    len -= fits;
    if (len == 0)
        return;
    if (len > room - first) {
        bytes += len - (room - first);
        len = room - first;
    }
    memmove(remote->words + first, remote->words + first + len,
            room - first - len);
    remote->words_len -= len;
    add_words(remote, bytes, len);
    if (first > 0)
        memcpy(remote->words + first, " ... ", 5);
}

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
        keep_words(remote, bytes, (size_t)n);
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
    const char *words;

    while (remote->err.fd >= 0 && read_err(child))
        continue;
    while (remote->words_len > 0 && remote->words[remote->words_len - 1] == ' ')
        remote->words_len--;
    remote->words[remote->words_len] = '\0';
    for (words = remote->words; *words == ' ';)
        words++;
    return words;
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
