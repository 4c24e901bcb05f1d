/* handover.c - see handover.h. */
#include "net/handover.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void handover_wipe(unsigned char *bytes, size_t len)
{
    if (bytes)
        sodium_memzero(bytes, len);
    free(bytes);
}

static void wipe(struct handover *handover)
{
    handover_wipe(handover->bytes, handover->len);
    handover->bytes = NULL;
}

void handover_abandon(struct handover *handover)
{
    if (handover->io.fd >= 0)
        close(handover->io.fd);
    ev_io_set(&handover->io, -1, 0);
    wipe(handover);
}

void handover_close(struct handover *handover)
{
    ev_io_stop(handover->loop, &handover->io);
    handover_abandon(handover);
}

/* Write as much as the socket takes. Watch for room for the rest, and for the
 * child's answer. */
static void write_some(struct handover *handover)
{
    ev_io *io = &handover->io;
    ssize_t n;

    if (handover->sent < handover->len) {
        n = send(io->fd, handover->bytes + handover->sent,
                 handover->len - handover->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            handover_close(handover); /* the end of its process says why */
            return;
        }
        if (n > 0)
            handover->sent += (size_t)n;
        if (handover->sent == handover->len)
            wipe(handover);
    }
    ev_io_stop(handover->loop, io);
    ev_io_set(io, io->fd,
              handover->sent < handover->len ? EV_READ | EV_WRITE : EV_READ);
    ev_io_start(handover->loop, io);
}

/* The child has been accepted, has closed its end, or takes more. */
static void on_io(struct ev_loop *loop, ev_io *io, int events)
{
    struct handover *handover = io->data;
    char byte;
    ssize_t n;

    (void)loop;
    if (events & EV_READ) {
        n = recv(io->fd, &byte, 1, MSG_DONTWAIT);
        if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
            handover_close(handover);
            return;
        }
    }
    if (events & EV_WRITE)
        write_some(handover);
}

void handover_init(struct handover *handover, struct ev_loop *loop)
{
    *handover = (struct handover){.loop = loop};
    ev_io_init(&handover->io, on_io, -1, EV_READ);
    handover->io.data = handover;
}

void handover_begin(struct handover *handover,
                    int fd,
                    unsigned char *bytes,
                    size_t len)
{
    ev_io_set(&handover->io, fd, EV_READ);
    handover->bytes = bytes;
    handover->len = len;
    handover->sent = 0;
    write_some(handover);
}

void handover_append(struct handover *handover, const char *more, size_t len)
{
    unsigned char *bytes;

    if (handover->io.fd < 0)
        return;
    if (!handover->bytes)
        handover->len = handover->sent = 0;
    bytes = realloc(handover->bytes, handover->len + len);
    if (!bytes)
        return;
    memcpy(bytes + handover->len, more, len);
    handover->bytes = bytes;
    handover->len += len;
    write_some(handover);
}
