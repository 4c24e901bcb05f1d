/* villain.c - a back-end that breaks the protocol once it is a member.
 *
 *   villain OFFENCE RANK MEMBER
 *
 * The process of rank RANK writes its frames itself, without the protocol's
 * state machine: it joins like any back-end, commits OFFENCE, and ends when its
 * link is closed. Other processes execute MEMBER, the tests' back-end. */
#include <err.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/address.h"
#include "net/bootstrap.h"
#include "net/handshake.h"
#include "protocol/launch/roster.h"
#include "protocol/members/control.h"
#include "test/patience.h"
#include "topology/table.h"
#include "wire/limits.h"
#include "wire/packet.h"

#define GONE (TABLE_FAILED - 1) /* as in protocol/heal/record.c */

#define STATES    300 /* of STATE_LEN bytes each */
#define STATE_LEN (1 << 20)

struct villain {
    struct bootstrap *bootstrap;
    int fd;
    struct frame_reader reader;
    unsigned char in[4096];
    const unsigned char *at;
    size_t left;
};

/* Our rank, read from the bootstrap without consuming it. */
static uint32_t peek_rank(void)
{
    const char *variable = getenv(BOOTSTRAP_VARIABLE);
    static unsigned char bytes[1 << 16];
    struct bootstrap *bootstrap = NULL;
    uint32_t rank;
    ssize_t n = 0;

    if (!variable)
        errx(2, "not started by a network");
    while (bootstrap_decode(&bootstrap, bytes, (size_t)n) < 0) {
        /* bytes that have arrived stay readable: wait for the rest */
        n = recv(atoi(variable), bytes, sizeof(bytes), MSG_PEEK);
        if (n <= 0)
            err(2, "bootstrap");
    }
    rank = bootstrap->rank;
    bootstrap_free(bootstrap);
    return rank;
}

static bool put(int fd, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;

    while (len > 0) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

        if (n < 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

/* Send `frame`, whose payload is borrowed. Returns false if the link is
 * closed. */
static bool say(struct villain *villain, const struct frame *frame)
{
    unsigned char header[FRAME_HEAD_MAX];
    size_t len = frame_encode(frame, header);

    return put(villain->fd, header, len) &&
           (!frame->payload ||
            put(villain->fd, frame->payload->bytes, frame->payload->len));
}

static bool get(struct villain *villain)
{
    ssize_t n = recv(villain->fd, villain->in, sizeof(villain->in), 0);

    villain->at = villain->in;
    villain->left = n > 0 ? (size_t)n : 0;
    return n > 0;
}

/* Connect to the parent, and authenticate. */
static void call(struct villain *villain)
{
    const struct bootstrap *bootstrap = villain->bootstrap;
    struct handshake_identity own = {bootstrap->rank, 0, NODE_BACKEND};
    const char *address = bootstrap->parent_address;
    unsigned char nonce[HANDSHAKE_NONCE_LEN];
    struct sockaddr_storage to;
    struct handshake handshake;
    const unsigned char *out;
    socklen_t len;
    size_t n;
    int r = 0;

    if (address_next(&address, &to, &len) != 1)
        errx(2, "no address");
    villain->fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(villain->fd, (struct sockaddr *)&to, len) < 0)
        err(2, "connect");
    randombytes_buf(nonce, sizeof(nonce));
    handshake_init(&handshake, bootstrap->key, bootstrap->session, true, &own,
                   bootstrap->parent_rank, nonce);
    while (r == 0) {
        out = handshake_output(&handshake, &n);
        if (!put(villain->fd, out, n) || !get(villain))
            err(2, "handshake");
        r = handshake_take(&handshake, &villain->at, &villain->left);
    }
    out = handshake_output(&handshake, &n);
    if (r < 0 || !put(villain->fd, out, n))
        errx(2, "handshake: %d", r);
}

/* Read the next frame, not its payload. Returns false if the link is closed. */
static bool hear(struct villain *villain, struct frame *out)
{
    int r;

    for (;;) {
        r = frame_reader_take(&villain->reader, &villain->at, &villain->left,
                              out);
        if (r < 0)
            errx(2, "no frame: %d", r);
        if (r == 1) {
            frame_fini(out);
            return true;
        }
        if (!get(villain))
            return false;
    }
}

/* Wait for a frame of `type`, and, if not 0, of `tag`. */
static void await(struct villain *villain, enum frame_type type, int32_t tag)
{
    struct frame frame;

    do {
        if (!hear(villain, &frame))
            errx(2, "the link was closed before a %s frame came",
                 frame_name((uint8_t)type));
    } while (frame.type != type || (tag != 0 && frame.tag != tag));
}

/* Become a member, as any back-end does. */
static void join(struct villain *villain)
{
    struct bootstrap *bootstrap = villain->bootstrap;
    struct roster roster = {0};
    struct frame frame;

    call(villain);
    bootstrap_accepted(bootstrap);
    say(villain, &(struct frame){.type = FRAME_HEARTBEAT, .count = 1 << 20});
    if (ranks_add(&roster.backends, bootstrap->rank, bootstrap->rank) < 0 ||
        roster_encode(&roster, FRAME_READY, &frame) < 0)
        errx(2, "out of memory");
    say(villain, &frame);
    frame_fini(&frame);
    roster_fini(&roster);
    await(villain, FRAME_TABLE, 0);
}

/* ---- offences ---- */

static struct frame record(const struct villain *villain,
                           uint32_t first,
                           uint32_t count,
                           uint32_t incarnation,
                           uint32_t parent)
{
    struct frame frame = {.type = FRAME_RECORD,
                          .origin = villain->bootstrap->rank};
    uint32_t columns[3][16];

    for (uint32_t i = 0; i < count; i++) {
        columns[0][i] = first + i;
        columns[1][i] = incarnation;
        columns[2][i] = parent;
    }
    if (packet_pack(&frame.payload, "%aud %aud %aud %s", columns[0], count,
                    columns[1], count, columns[2], count, "I say so") < 0)
        errx(2, "out of memory");
    return frame;
}

/* A frame that says that all other back-ends have ended. */
static struct frame gone(const struct villain *villain)
{
    return record(villain, villain->bootstrap->rank + 1, 3, 0, GONE);
}

/* A frame that says that a commnode with the highest incarnation has failed. */
static struct frame wrap(const struct villain *villain)
{
    return record(villain, 1, 1, UINT32_MAX, TABLE_FAILED);
}

/* A frame that says that a filter has failed at another back-end. */
static struct frame fault(const struct villain *villain)
{
    struct frame frame = {.type = FRAME_FAULT,
                          .origin = villain->bootstrap->rank + 1};

    if (packet_pack(&frame.payload, "%s", "it failed") < 0)
        errx(2, "out of memory");
    return frame;
}

/* A frame that says that another back-end was adopted. */
static struct frame recovered(const struct villain *villain)
{
    struct frame frame = {.type = FRAME_RECOVERED,
                          .origin = villain->bootstrap->rank + 1,
                          .count = 1};
    uint64_t us = 1;

    if (packet_pack(&frame.payload, "%ud %ud %ud %uld %uld %uld %uld %uld", 0u,
                    1u, 1u, us, us, us, us, 4 * us) < 0)
        errx(2, "out of memory");
    return frame;
}

/* A frame that says that a commnode has no back-ends. */
static struct frame fan_out(const struct villain *villain)
{
    struct frame frame = {.type = FRAME_FAN_OUT,
                          .origin = villain->bootstrap->rank};
    uint32_t rank = 1, version = 100, count = 0;

    if (packet_pack(&frame.payload, "%aud %aud %aud", &rank, 1u, &version, 1u,
                    &count, 1u) < 0)
        errx(2, "out of memory");
    return frame;
}

/* A filter state on stream 1. */
static struct frame compensation(const struct villain *villain)
{
    struct frame frame = {.type = FRAME_COMPENSATION,
                          .stream = 1,
                          .origin = villain->bootstrap->rank};

    if (payload_new(&frame.payload, STATE_LEN) < 0)
        errx(2, "out of memory");
    memset(frame.payload->bytes, 0, STATE_LEN);
    return frame;
}

static const struct offence {
    const char *name;
    struct frame (*make)(const struct villain *villain);
    int count;
} offences[] = {
    {"gone", gone, 1},       {"wrap", wrap, 1},
    {"fault", fault, 1},     {"recovered", recovered, 1},
    {"fan-out", fan_out, 1}, {"compensation", compensation, STATES},
};

static int commit(struct villain *villain, const char *name)
{
    struct frame frame;
    size_t i;

    for (i = 0; i < sizeof(offences) / sizeof(offences[0]); i++)
        if (strcmp(offences[i].name, name) == 0)
            break;
    if (i == sizeof(offences) / sizeof(offences[0]))
        errx(2, "no such offence: %s", name);
    if (offences[i].count > 1)
        await(villain, FRAME_CONTROL, CONTROL_OPEN);
    frame = offences[i].make(villain);
    for (int n = 0; n < offences[i].count && say(villain, &frame); n++)
        ;
    frame_fini(&frame);
    while (hear(villain, &frame))
        ;
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    static struct villain villain; /* static, so never a leak */
    struct cop_error error = {""};

    if (argc != 4)
        errx(2, "usage: villain OFFENCE RANK MEMBER");
    if (sodium_init() < 0)
        errx(2, "libsodium");
    if (peek_rank() != (uint32_t)atoi(argv[2])) {
        execv(argv[3], (char *[]){argv[3], NULL});
        err(2, "%s", argv[3]);
    }
    if (bootstrap_inherit(&villain.bootstrap, PATIENCE_MS, &error) < 0)
        errx(2, "%s", error.text);
    frame_reader_init(&villain.reader, LIMIT_FRAME);
    join(&villain);
    return commit(&villain, argv[1]);
}
