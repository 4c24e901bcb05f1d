/* shell.h - a bare shell around a driver, for tests of net/ alone.
 *
 * No filters, no API: what comes is kept, what happened can be waited for. */
#ifndef TEST_NET_SHELL_H
#define TEST_NET_SHELL_H

#include <coppice/coppice.h>

#include "net/driver.h"
#include "test/patience.h"

#define SHELL_FRAMES_MAX 65536

struct shell {
    struct driver *driver;
    bool launched;
    bool failed;
    bool opened;
    bool ended;
    bool fail_load; /* filters cannot be loaded here */
    uint32_t lost_count;
    uint32_t joined_count;
    uint32_t slow_ms; /* if not 0, upward waves pass a filter so slow */
    int code;         /* of the last TELL_OPENED or TELL_LAUNCH_FAILED */
    char text[1024];
    struct frame frames[SHELL_FRAMES_MAX]; /* delivered: first to last */
    uint32_t streams[SHELL_FRAMES_MAX];
    size_t first;
    size_t last;
    size_t wanted; /* for shell_has_frames() */
};

/* The operations; their arg is a struct shell. */
extern const struct driver_ops shell_ops;

/* Launch `shape` with back-ends `argv`, and wait for the outcome. `launch` may
 * be NULL; times that it leaves open are patient. Returns 0 once it is
 * launched, -EHOSTUNREACH or -ETIMEDOUT if it failed, or what the making gave;
 * `shell->text` says why. */
int shell_launch(struct shell *shell,
                 const char *shape,
                 char *const *argv,
                 const struct cop_launch *launch);

/* Join as a back-end, out of the environment or a session file. */
int shell_join(struct shell *shell, const char *session_path);

/* Wait until so many have joined. */
int shell_wait_joined(struct shell *shell, uint32_t count);

/* Open a stream to all back-ends `first` to `last`. Returns its number or an
 * error. */
int shell_open(struct shell *shell, uint32_t first, uint32_t last);

/* Send a packet of `len` bytes on `stream`, waiting for credit. */
int shell_send(struct shell *shell, uint32_t stream, int32_t tag, size_t len);

/* The same with a payload, borrowed; NULL is fine. */
int shell_post(struct shell *shell,
               uint32_t stream,
               int32_t tag,
               struct payload *payload);

/* Take the next packet: 0, -EAGAIN or -ENOTCONN. */
int shell_receive(struct shell *shell,
                  uint32_t *stream,
                  struct frame *out,
                  int timeout_ms);

/* End the network, wait for the children, free. Returns how many children had
 * to be killed, or an error. */
int shell_shutdown(struct shell *shell, int timeout_ms);

/* Free what is there, without a word. */
void shell_fini(struct shell *shell);

#endif
