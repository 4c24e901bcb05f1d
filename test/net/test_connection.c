/* test_connection.c - links over real sockets: handshake, frames, closing. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/connection.h"
#include "net/dial.h"
#include "net/helm.h"
#include "net/libev.h"
#include "net/listener.h"
#include "net/output.h"
#include "net/tcp.h"
#include "test/check.h"
#include "test/patience.h"
#include "wire/limits.h"

/* No test waits longer than this, even on a busy machine. */
#define PATIENCE_S (PATIENCE_MS / 1e3)

#define FRAMES 2000

/* One end: a set with at most one connection under test. */
struct end {
    struct connections *set;
    struct connection *connection; /* up */
    struct handshake_identity peer;
    bool was_up;
    bool down;
    int code;
    char text[256];
    size_t frame_count;
    size_t byte_count;
    size_t part_count; /* reads that completed no frame */
    uint32_t next;     /* number of the next frame expected */
    bool wrong;        /* a frame was not as expected */
    size_t echo;       /* send this many frames back at once */
    bool close_it;     /* close on the first frame */
    uint64_t heard_ms; /* of the last frame */
};

static struct ev_loop *loop;
static bool out_of_patience;
static bool no_buffers; /* no send succeeds, though the sockets work */

ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
    if (!no_buffers)
        return sendto(fd, bytes, len, flags, NULL, 0);
    errno = ENOBUFS;
    return -1;
}
static struct end ends[2]; /* acceptor, dialer */
static int sockets[2];     /* of these ends */
static const unsigned char keys[2][HANDSHAKE_KEY_LEN] = {{1}, {2}};
static const unsigned char session[HANDSHAKE_SESSION_LEN] = {3};

static struct frame numbered(uint32_t number, size_t len)
{
    struct frame frame = {
        .type = FRAME_DATA,
        .stream = 1,
        .tag = 100,
        .sequence = number,
    };

    if (len > 0) {
        CHECK_OK(payload_new(&frame.payload, len));
        memset(frame.payload->bytes, (int)(number & 0xff), len);
    }
    return frame;
}

static void on_up(void *arg,
                  struct connection *connection,
                  const struct handshake_identity *peer)
{
    struct end *end = arg;

    end->connection = connection;
    end->peer = *peer;
    end->was_up = true;
}

static void on_frame(void *arg,
                     struct connection *connection,
                     struct frame *frame)
{
    struct end *end = arg;
    struct frame answer;
    size_t len = frame->payload ? frame->payload->len : 0;

    end->heard_ms = connection_heard_ms(connection);
    if (frame->sequence != end->next++)
        end->wrong = true;
    for (size_t i = 0; i < len; i++)
        if (frame->payload->bytes[i] != (unsigned char)frame->sequence)
            end->wrong = true;
    end->frame_count++;
    end->byte_count += len;
    frame_fini(frame);
    if (end->close_it && end->connection) {
        end->connection = NULL;
        connection_close(connection);
        return;
    }
    for (size_t i = 0; i < end->echo; i++) {
        answer = numbered((uint32_t)i, 16);
        connection_send(connection, &answer);
    }
}

static void on_bytes(void *arg, struct connection *connection)
{
    struct end *end = arg;

    CU_ASSERT_PTR_EQUAL(connection, end->connection);
    end->part_count++;
}

static void on_down(void *arg,
                    struct connection *connection,
                    bool was_up,
                    int code,
                    const char *text)
{
    struct end *end = arg;

    (void)connection;
    CU_ASSERT_EQUAL(was_up, end->connection != NULL);
    end->connection = NULL;
    end->down = true;
    end->code = code;
    snprintf(end->text, sizeof(end->text), "%s", text);
}

static const struct connection_ops ops = {on_up, on_frame, on_bytes, on_down};

static void on_patience(struct ev_loop *l, ev_timer *timer, int events)
{
    (void)l;
    (void)timer;
    (void)events;
    out_of_patience = true;
}

static void make_end(int i, const unsigned char *key, uint32_t handshake_ms)
{
    struct connections_config config = {
        .loop = loop,
        .key = key,
        .session = session,
        .own = {.rank = i ? 5 : 2, .role = i ? NODE_BACKEND : NODE_COMMNODE},
        .heartbeat_ms = LIMIT_HEARTBEAT_MS,
        .failure_timeout_ms = 3000,
        .handshake_timeout_ms = handshake_ms,
        .unproved_max = 2,
        .ops = &ops,
        .arg = &ends[i],
    };

    memset(&ends[i], 0, sizeof(ends[i]));
    CHECK_OK(connections_new(&ends[i].set, &config));
}

/* Two connected, non-blocking sockets. */
static void connect_pair(int fds[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof(address);
    int listener;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_OK(bind(listener, (struct sockaddr *)&address, sizeof(address)));
    CHECK_OK(listen(listener, 1));
    CHECK_OK(getsockname(listener, (struct sockaddr *)&address, &len));
    fds[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_OK(connect(fds[1], (struct sockaddr *)&address, len));
    fds[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    CHECK_OK(fds[0]);
    close(listener);
    CHECK_OK(fcntl(fds[1], F_SETFL, O_NONBLOCK));
}

/* Run the loop, with one flush per turn, until `done`. */
#define RUN_UNTIL(done)                                                        \
    do {                                                                       \
        flush_all();                                                           \
        while (!(done) && !out_of_patience) {                                  \
            ev_run(loop, EVRUN_ONCE);                                          \
            flush_all();                                                       \
        }                                                                      \
        CU_ASSERT_FALSE_FATAL(out_of_patience);                                \
    } while (0)

static void flush_all(void)
{
    for (int i = 0; i < 2; i++)
        if (ends[i].set)
            connections_flush(ends[i].set, false);
}

/* Bytes sent may take a moment to arrive, even on one machine. Returns the
 * number of bytes received, or -1. */
static ssize_t receive(int fd, void *bytes, size_t len)
{
    struct pollfd waited = {.fd = fd, .events = POLLIN};

    CU_ASSERT_EQUAL(poll(&waited, 1, PATIENCE_MS), 1);
    return recv(fd, bytes, len, MSG_DONTWAIT);
}

static ev_timer patience;

static void begin(const unsigned char *dialer_key, uint32_t handshake_ms)
{
    struct cop_error error;

    CHECK_OK(libev_load(&error));
    loop = ev_loop_new(EVFLAG_AUTO);
    out_of_patience = false;
    make_end(0, keys[0], handshake_ms);
    make_end(1, dialer_key, handshake_ms);
    ev_timer_init(&patience, on_patience, PATIENCE_S, 0.);
    ev_timer_start(loop, &patience);
}

static void begin_link(const unsigned char *dialer_key)
{
    begin(dialer_key, PATIENCE_MS);
    connect_pair(sockets);
    CHECK_OK(connection_new(ends[0].set, sockets[0], false, RANK_NONE));
    CHECK_OK(connection_new(ends[1].set, sockets[1], true, 2));
}

/* Make a link whose ends have both authenticated. */
static void begin_proved_link(void)
{
    begin_link(keys[0]);
    RUN_UNTIL(ends[0].connection && ends[1].connection);
}

/* Let the dialer send `count` frames of `len` bytes. */
static void send_frames(uint32_t count, size_t len)
{
    for (uint32_t i = 0; i < count; i++) {
        struct frame frame = numbered(i, len);

        connection_send(ends[1].connection, &frame);
    }
}

static void finish(void)
{
    ev_timer_stop(loop, &patience);
    connections_free(ends[0].set);
    connections_free(ends[1].set);
    ends[0].set = NULL;
    ends[1].set = NULL;
    ev_loop_destroy(loop);
}

TEST(link_comes_up)
{
    begin_proved_link();
    CU_ASSERT_EQUAL(ends[0].peer.rank, 5);
    CU_ASSERT_EQUAL(ends[1].peer.rank, 2);
    CU_ASSERT(!connection_is_dialer(ends[0].connection));
    CU_ASSERT(connection_is_dialer(ends[1].connection));
    connections_hang_up(ends[1].set); /* established connections stay */
    flush_all();
    CU_ASSERT(!ends[1].down && ends[1].connection);
    finish();
}

TEST(wrong_key_is_said_at_both_ends)
{
    begin_link(keys[1]);
    RUN_UNTIL(ends[0].down && ends[1].down);
    CHECK_IS(ends[1].code, -EACCES);
    CU_ASSERT(!ends[0].was_up && !ends[1].was_up);
    CU_ASSERT(strstr(ends[0].text, "key") != NULL);
    finish();
}

/* Frames of all sizes, copied and by reference, arrive whole and in order, in
 * both directions at once, although the sockets are often full. */
TEST(frames_arrive_in_order)
{
    static const size_t lens[] = {0,     1,      100, 16383, 16384,  16385,
                                  70000, 300000, 5,   40,    1 << 20};
    size_t total = 0;

    begin_proved_link();
    for (uint32_t i = 0; i < 300; i++)
        for (int e = 0; e < 2; e++) {
            size_t len = lens[i % (sizeof(lens) / sizeof(lens[0]))];
            struct frame frame = numbered(i, len);

            total += e ? len : 0;
            connection_send(ends[e].connection, &frame);
            CU_ASSERT_PTR_NULL(frame.payload);
        }
    RUN_UNTIL(ends[0].frame_count == 300 && ends[1].frame_count == 300);
    for (int e = 0; e < 2; e++) {
        CU_ASSERT_EQUAL(ends[e].byte_count, total);
        CU_ASSERT(!ends[e].wrong);
        CU_ASSERT_EQUAL(connections_queued(ends[e].set), 0);
    }
    finish();
}

/* Each read of an incomplete frame is reported: the other end is alive
 * (PROTOCOL 6.1). A read that completes a frame is reported as that frame. */
TEST(parts_of_a_frame_are_told)
{
    struct frame small = numbered(0, 4), large = numbered(1, 20 << 20);

    begin_proved_link();
    connection_send(ends[1].connection, &small);
    RUN_UNTIL(ends[0].frame_count == 1);
    CU_ASSERT_EQUAL(ends[0].part_count, 0);
    connection_send(ends[1].connection, &large);
    RUN_UNTIL(ends[0].frame_count == 2);
    CU_ASSERT(ends[0].part_count >= 10);
    CU_ASSERT_EQUAL(ends[1].part_count, 0);
    finish();
}

static uint64_t now_ms(void)
{
    return helm_clock_us() / 1000;
}

/* Let the acceptor receive nothing for a while, until its link is at rest. */
static void come_to_rest(uint64_t *at_ms)
{
    connections_tick(ends[0].set, *at_ms += LIMIT_HEARTBEAT_MS);
    connections_tick(ends[0].set, *at_ms += LIMIT_HEARTBEAT_MS);
}

static void send_beat(void)
{
    struct frame beat = {.type = FRAME_HEARTBEAT};

    connection_send(ends[1].connection, &beat);
    flush_all();
}

/* Wait until `len` bytes wait at the acceptor, whether or not it is woken. */
static void wait_bytes(int len)
{
    uint64_t until_ms = now_ms() + PATIENCE_MS;
    int there = 0;

    while (there < len) {
        CU_ASSERT_FATAL(now_ms() < until_ms);
        CHECK_OK(ioctl(sockets[0], FIONREAD, &there));
    }
    CU_ASSERT_EQUAL(there, len);
}

/* PROTOCOL 6.1e: on a link at rest a repeated heartbeat wakes no process. It is
 * read with the next tick, and counts from the time it arrived. */
TEST(a_repeated_heartbeat_wakes_no_process)
{
    uint64_t at_ms = now_ms(), sent_ms, came_ms, tick_ms;

    begin_proved_link();
    send_beat();
    RUN_UNTIL(ends[0].frame_count == 1);
    CU_ASSERT_EQUAL(ends[0].heard_ms, 0);
    send_beat(); /* the link is not at rest yet */
    RUN_UNTIL(ends[0].frame_count == 2);
    come_to_rest(&at_ms);
    sent_ms = now_ms();
    send_beat();
    wait_bytes(FRAME_REPEAT_LEN);
    came_ms = now_ms();
    ev_run(loop, EVRUN_NOWAIT);
    CU_ASSERT_EQUAL(ends[0].frame_count, 2);
    poll(NULL, 0, 100);
    tick_ms = now_ms();
    connections_tick(ends[0].set, tick_ms);
    CU_ASSERT_EQUAL(ends[0].frame_count, 3);
    CU_ASSERT_EQUAL(ends[0].part_count, 0);
    /* The system's clock ticks every 10 ms or less. Time between tick_ms and
     * the read makes the heartbeat earlier. */
    CU_ASSERT(ends[0].heard_ms + 20 + (now_ms() - tick_ms) >= sent_ms);
    CU_ASSERT(ends[0].heard_ms <= came_ms + 20);
    finish();
}

/* Send `bytes`, which are no frame of their own, to the acceptor. */
static void send_raw(const unsigned char *bytes, size_t len)
{
    CU_ASSERT_EQUAL(send(sockets[1], bytes, len, 0), (ssize_t)len);
}

/* PROTOCOL 6.1e: everything else wakes a link at rest, including the link's end
 * and the last bytes of a long frame. */
TEST(all_else_wakes_a_link_at_rest)
{
    struct frame small = numbered(0, 0), large = numbered(1, 100);
    unsigned char bytes[FRAME_HEAD_MAX + 100];
    uint64_t at_ms = now_ms();
    size_t len = frame_encode(&large, bytes) + 100;

    memcpy(bytes + len - 100, large.payload->bytes, 100);
    frame_fini(&large);
    begin_proved_link();
    send_beat();
    RUN_UNTIL(ends[0].frame_count == 1);
    come_to_rest(&at_ms);
    connection_send(ends[1].connection, &small);
    RUN_UNTIL(ends[0].frame_count == 2);
    send_beat(); /* the link is no longer at rest */
    RUN_UNTIL(ends[0].frame_count == 3);
    come_to_rest(&at_ms);
    send_raw(bytes, len - 1);
    RUN_UNTIL(ends[0].part_count == 1);
    send_raw(bytes + len - 1, 1);
    RUN_UNTIL(ends[0].frame_count == 4);
    come_to_rest(&at_ms);
    send_raw(bytes, 7);
    wait_bytes(7);
    connections_tick(ends[0].set, now_ms()); /* reads a part of a header */
    CU_ASSERT_EQUAL(ends[0].part_count, 2);
    send_raw(bytes + 7, 1);
    RUN_UNTIL(ends[0].part_count == 3);
    send_raw(bytes + 8, len - 8);
    RUN_UNTIL(ends[0].frame_count == 5);
    come_to_rest(&at_ms);
    connection_close(ends[1].connection);
    RUN_UNTIL(ends[0].down);
    finish();
}

/* Many small frames are sent by one flush, and the queue shrinks afterwards. */
TEST(small_frames_are_gathered)
{
    begin_proved_link();
    send_frames(FRAMES, 4);
    CU_ASSERT_EQUAL(connections_queued(ends[1].set),
                    FRAMES * (FRAME_HEADER_LEN + 4));
    RUN_UNTIL(ends[0].frame_count == FRAMES);
    CU_ASSERT(!ends[0].wrong);
    finish();
}

/* Bytes queued before the close arrive before the end of the connection. */
TEST(close_sends_what_is_queued)
{
    begin_proved_link();
    send_frames(20, 200000);
    connection_close(ends[1].connection);
    ends[1].connection = NULL;
    CU_ASSERT(connections_linger(ends[1].set));
    RUN_UNTIL(ends[0].down && !connections_linger(ends[1].set));
    CU_ASSERT_EQUAL(ends[0].frame_count, 20);
    CHECK_IS(ends[0].code, 0);
    CU_ASSERT(!ends[1].down);
    finish();
}

/* A frame's receiver may close the connection from within the call. */
TEST(close_from_within_a_frame)
{
    begin_proved_link();
    ends[0].close_it = true;
    send_frames(10, 10);
    RUN_UNTIL(ends[1].down && !connections_linger(ends[0].set));
    CU_ASSERT_EQUAL(ends[0].frame_count, 1);
    CU_ASSERT(!ends[0].down);
    finish();
}

/* ---- strangers ---- */

/* Make an acceptor, and a plain socket of the test at the other end. */
static int begin_stranger(uint32_t handshake_ms)
{
    int fds[2];

    begin(keys[0], handshake_ms);
    connect_pair(fds);
    CHECK_OK(connection_new(ends[0].set, fds[0], false, RANK_NONE));
    return fds[1];
}

TEST(silence_ends_at_the_deadline)
{
    ev_tstamp start = ev_time(); /* earlier than the loop's clock */
    int fd = begin_stranger(50);

    RUN_UNTIL(ends[0].down);
    CHECK_IS(ends[0].code, -ETIMEDOUT);
    CU_ASSERT(ev_time() - start > 0.045);
    close(fd);
    finish();
}

TEST(nonsense_is_refused)
{
    char nonsense[HANDSHAKE_HELLO_LEN] = "GET / HTTP/1.0\r\n\r\n";
    int fd = begin_stranger(PATIENCE_MS);

    CHECK_OK(send(fd, nonsense, sizeof(nonsense), MSG_NOSIGNAL));
    RUN_UNTIL(ends[0].down);
    CHECK_IS(ends[0].code, -EPROTO);
    close(fd);
    finish();
}

TEST(end_in_the_handshake_is_told)
{
    int fd = begin_stranger(PATIENCE_MS);

    close(fd);
    RUN_UNTIL(ends[0].down);
    CHECK_IS(ends[0].code, -ECONNRESET);
    finish();
}

/* Of too many unproved connections the oldest is closed (PROTOCOL 1.2). */
TEST(oldest_unproved_goes_first)
{
    int first = begin_stranger(PATIENCE_MS);
    int more[2][2];
    char byte;

    connect_pair(more[0]);
    connect_pair(more[1]);
    CHECK_OK(connection_new(ends[0].set, more[0][0], false, RANK_NONE));
    CU_ASSERT(!ends[0].down);
    CHECK_OK(connection_new(ends[0].set, more[1][0], false, RANK_NONE));
    CU_ASSERT(ends[0].down);
    CHECK_IS(ends[0].code, -ECONNABORTED);
    CHECK_IS(receive(first, &byte, 1), 0);
    CHECK_IS(recv(more[0][1], &byte, 1, MSG_DONTWAIT), -1);
    close(first);
    close(more[0][1]);
    close(more[1][1]);
    finish();
}

/* Connections of strangers do not end a node's own dial, however old it is. */
TEST(strangers_do_not_end_our_own_call)
{
    int stranger = begin_stranger(PATIENCE_MS);
    int own[2], more[3][2];
    char bytes[256];
    ssize_t n;

    connect_pair(own);
    CHECK_OK(connection_new(ends[0].set, own[0], true, 2));
    for (size_t i = 0; i < 3; i++) {
        connect_pair(more[i]);
        ends[0].down = false;
        CHECK_OK(connection_new(ends[0].set, more[i][0], false, RANK_NONE));
        CU_ASSERT(ends[0].down); /* an earlier stranger's connection */
    }
    do
        n = recv(own[1], bytes, sizeof(bytes), MSG_DONTWAIT);
    while (n > 0);
    CU_ASSERT(n < 0 && errno == EAGAIN); /* the dial has not ended */
    close(stranger);
    close(own[1]);
    for (size_t i = 0; i < 3; i++)
        close(more[i][1]);
    finish();
}

/* Does nothing else than wake the loop. */
static void on_readable(struct ev_loop *l, ev_io *io, int events)
{
    (void)l;
    (void)io;
    (void)events;
}

/* Make a peer that has authenticated; the test holds its socket. */
static int begin_proved(void)
{
    struct handshake_identity own = {5, 0, NODE_BACKEND};
    unsigned char nonce[HANDSHAKE_NONCE_LEN] = {9};
    unsigned char input[HANDSHAKE_OUTPUT_LEN];
    struct handshake handshake;
    const unsigned char *bytes;
    size_t len;
    int fd = begin_stranger(PATIENCE_MS);
    ssize_t n = -1;
    ev_io io;

    handshake_init(&handshake, keys[0], session, true, &own, 2, nonce);
    bytes = handshake_output(&handshake, &len);
    CHECK_IS(send(fd, bytes, len, 0), len);
    ev_io_init(&io, on_readable, fd, EV_READ);
    ev_io_start(loop, &io);
    RUN_UNTIL((n = recv(fd, input, sizeof(input), 0)) > 0);
    ev_io_stop(loop, &io);
    CU_ASSERT_EQUAL_FATAL(n, HANDSHAKE_OUTPUT_LEN);
    bytes = input;
    len = (size_t)n;
    CHECK_IS(handshake_take(&handshake, &bytes, &len), 1);
    bytes = handshake_output(&handshake, &len);
    CHECK_IS(send(fd, bytes, len, 0), len);
    RUN_UNTIL(ends[0].connection);
    return fd;
}

/* A wrong frame of an authenticated peer ends its link, with a message. */
static void try_wrong_frame(unsigned char *header, int code, const char *word)
{
    int fd = begin_proved();

    CHECK_OK(send(fd, header, FRAME_HEADER_LEN, MSG_NOSIGNAL));
    RUN_UNTIL(ends[0].down);
    CHECK_IS(ends[0].code, code);
    CU_ASSERT(strstr(ends[0].text, word) != NULL);
    close(fd);
    finish();
}

TEST(oversize_frame_ends_the_link)
{
    unsigned char header[FRAME_HEADER_LEN] = {0x7f, 0xff, 0xff, 0xff, 1};

    try_wrong_frame(header, -EMSGSIZE, "limit");
}

TEST(nonsense_frame_ends_the_link)
{
    unsigned char header[FRAME_HEADER_LEN] = {0, 0, 0, 0, 99};

    try_wrong_frame(header, -EBADMSG, "no frame");
}

TEST(end_in_the_middle_of_a_frame_is_told)
{
    unsigned char header[FRAME_HEADER_LEN] = {0, 0, 1, 0, 1};
    int fd = begin_proved();

    CHECK_OK(send(fd, header, sizeof(header), MSG_NOSIGNAL));
    shutdown(fd, SHUT_WR);
    RUN_UNTIL(ends[0].down);
    CU_ASSERT(strstr(ends[0].text, "middle") != NULL);
    close(fd);
    finish();
}

/* A reset is reported once; sends after it do no harm. */
TEST(reset_in_the_middle_is_told)
{
    struct linger now = {1, 0};
    struct frame frame;
    int fd = begin_proved();

    for (int i = 0; i < 100; i++) {
        frame = numbered((uint32_t)i, 100000);
        connection_send(ends[0].connection, &frame);
    }
    connections_flush(ends[0].set, false);
    CHECK_OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
    close(fd);
    frame = numbered(100, 100000);
    connection_send(ends[0].connection, &frame);
    RUN_UNTIL(ends[0].down);
    CHECK_IS(ends[0].code, -ECONNRESET);
    finish();
}

/* An error that the socket does not know also ends the link, at both ends;
 * bytes received before are read first. */
TEST(a_failed_send_ends_the_link)
{
    struct frame frame;
    int come, tries = PATIENCE_MS;

    begin_proved_link();
    send_frames(20, 4);
    connections_flush(ends[1].set, false);
    do
        CHECK_OK(ioctl(sockets[0], FIONREAD, &come));
    while (come < 20 * (FRAME_HEADER_LEN + 4) && tries-- > 0 &&
           poll(NULL, 0, 1) == 0);
    no_buffers = true;
    frame = numbered(0, 4);
    connection_send(ends[0].connection, &frame);
    connections_flush(ends[0].set, false);
    no_buffers = false;
    RUN_UNTIL(ends[0].down && ends[1].down);
    CHECK_IS(ends[0].code, -ENOBUFS);
    CU_ASSERT_EQUAL(ends[0].frame_count, 20);
    finish();
}

/* PROTOCOL 1.4: a write to a closed end raises no signal, with one part or with
 * several. */
TEST(a_write_to_nobody_raises_no_signal)
{
    static const size_t lens[] = {4, 100000};

    for (size_t i = 0; i < 2; i++) {
        struct output output = {0};
        struct frame frame = numbered(1, lens[i]);
        int pair[2];

        CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
        close(pair[0]);
        CHECK_OK(output_put_frame(&output, &frame));
        CHECK_IS(output_write(&output, pair[1]), -EPIPE);
        close(pair[1]);
        frame_fini(&frame);
        output_fini(&output);
    }
}

/* ---- listening and dialing ---- */

static int accepted_fd = -1;
static int dialed_fd = -1;
static int dial_result = 1;
static char dial_text[256];

static void on_call(void *arg, int fd)
{
    (void)arg;
    accepted_fd = fd;
}

static void on_dialed(void *arg, int fd, const char *text)
{
    (void)arg;
    dial_result = fd < 0 ? fd : 0;
    dialed_fd = fd;
    snprintf(dial_text, sizeof(dial_text), "%s", text);
}

/* Begin to dial, as dial_new() does. On the same host the connection may be
 * made at once; then the result is as if on_dialed() had reported it. */
static int call(struct dial **out, const char *addresses)
{
    int fd = -1;
    int r;

    *out = NULL;
    dial_result = 1;
    r = dial_new(out, loop, addresses, PATIENCE_MS, on_dialed, NULL, &fd);
    CU_ASSERT_EQUAL(dial_result, 1); /* never within the call */
    if (r <= 0)
        return r;
    CU_ASSERT_PTR_NULL(*out);
    on_dialed(NULL, fd, "");
    return 0;
}

static int option_of(int fd, int option)
{
    int value = -1;
    socklen_t len = sizeof(value);

    CHECK_OK(getsockopt(fd, IPPROTO_TCP, option, &value, &len));
    return value;
}

/* The bootstrap of the listener. */
static struct bootstrap bootstrap = {
    .networks = (char[]){""},
    .loopback = true,
    .times.failure_timeout_ms = 700,
};

TEST(call_is_answered)
{
    struct listener *listener;
    struct dial *dial;

    begin(keys[0], PATIENCE_MS);
    CHECK_OK(listener_new(&listener, loop, &bootstrap, on_call, NULL, NULL));
    CHECK_OK(call(&dial, listener_address(listener)));
    RUN_UNTIL(dial_result <= 0 && accepted_fd >= 0);
    CHECK_IS(dial_result, 0);
    /* inherited from the listener, not set for each connection */
    CU_ASSERT_EQUAL(option_of(accepted_fd, TCP_NODELAY), 1);
    CU_ASSERT_EQUAL(option_of(accepted_fd, TCP_USER_TIMEOUT), 3 * 700);
    close(dialed_fd);
    close(accepted_fd);
    accepted_fd = -1;
    dial_free(dial);
    listener_free(listener);
    finish();
}

/* No node is at the first address, so the second is tried at once. */
TEST(next_address_is_tried)
{
    char text[LIMIT_ADDRESS + 64];
    struct listener *listener;
    struct dial *dial;

    begin(keys[0], PATIENCE_MS);
    CHECK_OK(listener_new(&listener, loop, &bootstrap, on_call, NULL, NULL));
    snprintf(text, sizeof(text), "127.0.0.1 1 %s", listener_address(listener));
    CHECK_OK(call(&dial, text));
    RUN_UNTIL(dial_result <= 0 && accepted_fd >= 0);
    CHECK_IS(dial_result, 0);
    close(dialed_fd);
    close(accepted_fd);
    accepted_fd = -1;
    dial_free(dial);
    listener_free(listener);
    finish();
}

TEST(nobody_there_is_told)
{
    struct dial *dial;

    begin(keys[0], PATIENCE_MS);
    CHECK_OK(call(&dial, "127.0.0.1 1"));
    RUN_UNTIL(dial_result <= 0);
    CHECK_IS(dial_result, -ECONNREFUSED);
    CU_ASSERT(strstr(dial_text, "127.0.0.1 1") != NULL);
    dial_free(dial);
    CHECK_IS(call(&dial, ""), -EBADMSG);
    CHECK_IS(call(&dial, "x 1"), -EBADMSG);
    finish();
}

/* A dial is refused only if all addresses refuse. */
TEST(one_refusal_is_not_all)
{
    static const char *const addresses[] = {
        "127.0.0.1 1 255.255.255.255 1", /* broadcasts cannot be connected */
        "255.255.255.255 1 127.0.0.1 1",
        "127.0.0.1 1 127.0.0.2 1",
    };
    struct dial *dial;

    begin(keys[0], PATIENCE_MS);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(call(&dial, addresses[i]));
        RUN_UNTIL(dial_result <= 0);
        CU_ASSERT_EQUAL(dial_result == -ECONNREFUSED, i == 2);
        dial_free(dial);
    }
    finish();
}

/* The dialer gives up a handshake without sending anything. */
TEST(hanging_up_says_nothing)
{
    char hello[2 * HANDSHAKE_HELLO_LEN];
    int fds[2];

    begin(keys[0], PATIENCE_MS);
    connect_pair(fds);
    CHECK_OK(connection_new(ends[1].set, fds[1], true, 2));
    flush_all();
    CHECK_IS(receive(fds[0], hello, sizeof(hello)), HANDSHAKE_HELLO_LEN);
    connections_hang_up(ends[1].set);
    flush_all();
    CHECK_IS(receive(fds[0], hello, sizeof(hello)), 0);
    CU_ASSERT(!ends[1].down);
    close(fds[0]);
    finish();
}

/* Three times the time-out, or the system's maximum. */
TEST(any_time_out_is_set)
{
    static const struct {
        uint32_t failure_ms;
        unsigned user_ms;
    } cases[] = {
        {1, 3},
        {3000, 9000},
        {INT_MAX / 3 - 1, INT_MAX / 3 * 3 - 3},
        {1431655766, INT_MAX}, /* three times it, less 2^32, is 2 */
        {UINT32_MAX, INT_MAX},
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        unsigned user_ms = 0;
        socklen_t len = sizeof(user_ms);

        CHECK_OK(tcp_prepare(fd, cases[i].failure_ms));
        CHECK_OK(getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_ms, &len));
        CU_ASSERT_EQUAL(user_ms, cases[i].user_ms);
    }
    close(fd);
}
