/* kids.h - the children of one bare node: processes, a socket to each, and the
 * operations of a reduction tree, in one thread with blocking calls.
 *
 * Children are read in order, not by epoll: a wave needs all of them anyway, so
 * the order costs nothing, and each call left out saves time. (Tried: with
 * epoll a round trip takes 5 to 20 per cent longer.)
 *
 * Functions return 0 or a negative errno; the code that finds the cause prints
 * the message to stderr. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The root's request to the tree; the answer is that of all leaves, reduced. */
enum kids_op {
    KIDS_PING,   /* one int, summed */
    KIDS_INTS,   /* `count` messages with an int each, summed wave by wave */
    KIDS_SUM,    /* `count` arrays, summed element by element */
    KIDS_ARRAYS, /* `count` arrays from each leaf to the root; depth 1 only */
};

/* The command that goes down to every leaf. */
struct kids_command {
    uint32_t op;
    uint32_t count;
};

/* The unit of a stream of ints: the least that a packet has. */
struct kids_message {
    uint32_t len;
    int32_t value;
};

#define KIDS_ARRAY_LEN (UINT32_C(1) << 20) /* bytes of one array of doubles */

struct kids;

/* Start `count` children that run `program`, each with our port, `below` and
 * its number from 0 as arguments. Wait until each has connected and sent its
 * number of leaves; *leaves is their sum. For bare_node `below` is the fan-outs
 * of its own children ("-": it is a leaf).
 *
 * On failure no child is left. Returns 0, -ETIMEDOUT after 30 s, or an error of
 * the system. */
int kids_start(struct kids **out,
               const char *program,
               uint32_t count,
               const char *below,
               uint32_t *leaves);

/* Close every link, wait for every child, free `kids`. With `force` they are
 * killed; otherwise they end by themselves, leaves first. NULL is fine. */
void kids_end(struct kids *kids, bool force);

/* Make reads from children fail with -ETIMEDOUT after `seconds`. */
int kids_set_timeout(struct kids *kids, unsigned seconds);

/* The socket to child `index`, in the order of connection; and the process that
 * was started as number `index`. */
int kids_fd(const struct kids *kids, uint32_t index);
pid_t kids_pid(const struct kids *kids, uint32_t index);

/* Send one command to every child. */
int kids_command(struct kids *kids, const struct kids_command *command);

/* Read an int from each child. */
int kids_ping(struct kids *kids, int32_t *sum);

/* Read `count` waves of ints and send each one's sum to `up`. At the root `up`
 * is -1, and the sum must be the wave's number times `leaves`; else -EBADMSG.
 */
int kids_ints(struct kids *kids, uint32_t count, int up, uint32_t leaves);

/* Read `count` waves of arrays and send their sums to `up`. At the root `up` is
 * -1, and the elements must be those of `leaves` leaves; else -EBADMSG. */
int kids_sum(struct kids *kids, uint32_t count, int up, uint32_t leaves);

/* At the root: read `count` arrays from each child. -EBADMSG as above. */
int kids_arrays(struct kids *kids, uint32_t count);

/* ---- the other end of a link ------------------------------------------- */

/* Listen on a port of the system's choice. */
int kids_listen(int *out, uint16_t *port);

/* Accept one call. Returns 0, -ETIMEDOUT after 30 s, or an error of the
 * system. */
int kids_accept(int listener, int *out);

/* Connect to the parent on `port` of this machine. Returns the socket. */
int kids_connect(uint16_t port);

/* Read or write all of `len` bytes. Returns 0, -ECONNRESET at end of file,
 * -ETIMEDOUT, or an error of the system; prints nothing. */
int kids_read_all(int fd, void *data, uint32_t len);
int kids_write_all(int fd, const void *data, uint32_t len);

/* Send a leaf's answers to `count` of KIDS_INTS, and of the two with arrays. */
int kids_send_ints(int up, uint32_t count);
int kids_send_arrays(int up, uint32_t count);
