/* handover.h - the bootstrap of a child, on its way to it through a socket. The
 * child is watched until it says that its parent has accepted it, or ends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "net/libev.h"

/* Caller's storage. */
struct handover {
    struct ev_loop *loop;
    ev_io io; /* our end; its descriptor is -1 if it is closed */
    unsigned char *bytes;
    size_t len;
    size_t sent;
};

/* Make one that is closed. `loop` is kept. */
void handover_init(struct handover *handover, struct ev_loop *loop);

/* Begin to write `bytes` (taken) to the socket `fd` (taken). */
void handover_begin(struct handover *handover,
                    int fd,
                    unsigned char *bytes,
                    size_t len);

/* Write more behind it: lost if it is closed, or without memory. */
void handover_append(struct handover *handover, const char *more, size_t len);

/* Wipe the bytes, which hold the key, and close the socket. */
void handover_close(struct handover *handover);

/* The same in a forked child, which must not touch the loop. */
void handover_abandon(struct handover *handover);

/* Wipe and free a bootstrap. NULL is fine. */
void handover_wipe(unsigned char *bytes, size_t len);
