/* test_fd.c - cop_stream_fd() is readable exactly while a receive on its stream
 * would not block, and sets the stream's packets apart (PROTOCOL 14.2). */
#include <poll.h>
#include <pthread.h>

#include "test/frontend/tree.h"

static bool is_readable(int fd, int timeout_ms)
{
    struct pollfd waited = {.fd = fd, .events = POLLIN};

    CHECK_OK(fd);
    return poll(&waited, 1, timeout_ms) == 1 && (waited.revents & POLLIN);
}

/* Readable exactly while the stream has packets. Nothing but a receive on it
 * sees them. */
TEST_OF_TREES(readable_while_the_stream_has_packets)
{
    struct cop_stream *each = tree_open(network, COP_DO_NOT_WAIT, NULL);
    struct cop_stream *other = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    size_t count = cop_stream_size(each), k;
    int fd = cop_stream_fd(each);
    struct cop_packet *packet;

    CU_ASSERT_EQUAL(cop_stream_fd(each), fd);
    CU_ASSERT_NOT_EQUAL(cop_stream_fd(other), fd);
    for (int round = 0; round < 10; round++) {
        CU_ASSERT_FALSE(is_readable(fd, 0));
        CHECK_OK(cop_stream_send(each, TAG_ECHO, "%d", round));
        for (k = 0; k < count; k++) {
            CU_ASSERT_FATAL(is_readable(fd, TREE_PATIENCE_MS));
            CU_ASSERT_FALSE(is_readable(cop_network_fd(network), 0));
            CHECK_IS(cop_network_receive(network, NULL, &packet, 0), -EAGAIN);
            CHECK_OK(cop_stream_receive(each, &packet, 0));
            cop_packet_free(packet);
        }
        CHECK_OK(cop_stream_send(other, TAG_ECHO, "%d", round));
        CU_ASSERT(is_readable(cop_stream_fd(other), TREE_PATIENCE_MS));
        CU_ASSERT_FALSE(is_readable(fd, 0));
        CU_ASSERT_EQUAL(tree_receive(other, NULL), round * (int)count);
    }
}

/* Packets that wait when the first call is made move to the descriptor. Closing
 * the stream drops what waits, and closes the descriptor. */
TEST(packets_before_the_descriptor)
{
    struct cop_network *network = tree_launch("2x2x2");
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_stream *rest = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    int network_fd = cop_network_fd(network), before, fd;
    struct cop_packet *packet;

    CHECK_OK(cop_stream_send(sum, TAG_ECHO, "%d", 1));
    CU_ASSERT_FATAL(is_readable(network_fd, TREE_PATIENCE_MS));
    before = tree_descriptors();
    fd = cop_stream_fd(sum);
    CU_ASSERT(is_readable(fd, 0));
    CU_ASSERT_FALSE(is_readable(network_fd, 0));
    CHECK_OK(cop_stream_send(rest, TAG_ECHO, "%d", 2));
    CU_ASSERT_FATAL(is_readable(network_fd, TREE_PATIENCE_MS));
    CU_ASSERT_EQUAL(tree_receive(sum, NULL), 8);
    CU_ASSERT_FALSE(is_readable(fd, 0));
    CU_ASSERT(is_readable(network_fd, 0));
    CHECK_OK(cop_network_receive(network, NULL, &packet, 0));
    cop_packet_free(packet);
    CU_ASSERT_FALSE(is_readable(network_fd, 0));

    CHECK_OK(cop_stream_send(sum, TAG_ECHO, "%d", 1));
    CU_ASSERT(is_readable(fd, TREE_PATIENCE_MS));
    cop_stream_close(sum);
    CU_ASSERT_EQUAL(tree_descriptors(), before);
    CU_ASSERT_EQUAL(tree_echo(rest, 3), 24);
    tree_end(network);
}

/* An event is not forgotten because a stream with its own descriptor was
 * received until -EAGAIN. */
TEST(an_event_stays_for_the_network)
{
    struct cop_network *network = tree_launch("flat:2");
    struct cop_stream *closed = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_packet *packet;

    CU_ASSERT_FALSE(is_readable(cop_stream_fd(sum), 0));
    cop_stream_close(closed);
    CU_ASSERT(is_readable(cop_network_fd(network), TREE_PATIENCE_MS));
    CHECK_IS(cop_stream_receive(sum, &packet, 0), -EAGAIN);
    CU_ASSERT(is_readable(cop_network_fd(network), 0));
    CU_ASSERT_FALSE(is_readable(cop_stream_fd(sum), 0));
    tree_end(network);
}

/* The network's end makes it readable for ever. */
TEST(readable_after_the_end)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_stream *later = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    int fd = cop_stream_fd(sum);
    struct cop_packet *packet;

    CHECK_OK(cop_stream_send(sum, TAG_ECHO, "%d", 1));
    CHECK_IS(cop_network_shutdown(network, TREE_PATIENCE_MS), 0);
    CU_ASSERT(is_readable(fd, 0));
    CU_ASSERT_EQUAL(tree_receive(sum, NULL), 4);
    CU_ASSERT(is_readable(fd, 0));
    CHECK_IS(cop_stream_receive(sum, &packet, COP_FOREVER), -ENOTCONN);
    CU_ASSERT(is_readable(fd, 0));
    CU_ASSERT(is_readable(cop_stream_fd(later), 0));
    tree_free(network);
}

/* ---- back-ends that join ---- */

struct session {
    char folder[32];
    char path[64];
};

/* A network without back-ends, and a session file. */
static struct cop_network *launch_bare(struct session *session)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network = NULL;
    struct cop_error error = {""};

    launch.topology_shape = "2x2";
    be_patient(&launch);
    CHECK_OK(cop_network_launch(&network, &launch, &error));
    snprintf(session->folder, sizeof(session->folder), "/tmp/coppice-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(session->folder));
    snprintf(session->path, sizeof(session->path), "%s/session",
             session->folder);
    CHECK_OK(cop_network_write_session(network, session->path, &error));
    return network;
}

static void drop_session(const struct session *session)
{
    unlink(session->path);
    CHECK_OK(rmdir(session->folder));
}

/* A back-end in this process. */
static struct cop_network *join(const struct session *session)
{
    struct cop_join join = COP_JOIN_INIT;
    struct cop_network *joined = NULL;
    struct cop_error error = {""};
    int r;

    join.session_path = session->path;
    r = cop_network_join(&joined, &join, &error);
    if (r < 0)
        printf("\njoin: %s\n", error.text);
    CHECK_OK(r);
    return joined;
}

/* The next stream that opens at a back-end. */
static struct cop_stream *next_stream(struct cop_network *joined)
{
    struct cop_event event;

    CHECK_OK(tree_await(joined, COP_EVENT_STREAM_OPENED, &event));
    return cop_network_stream(joined, event.stream_id);
}

/* Without a member, nothing can be waited for; with one, it can again. */
TEST(readable_without_members)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct session session;
    struct cop_network *network = launch_bare(&session), *joined;
    struct cop_event event;
    struct cop_stream *grow;
    struct cop_packet *packet;
    int fd;

    options.sync = COP_DO_NOT_WAIT;
    options.grow = true;
    grow = tree_open_with(network, &options);
    fd = cop_stream_fd(grow);
    for (int round = 0; round < 3; round++) {
        CU_ASSERT(is_readable(fd, TREE_PATIENCE_MS));
        CHECK_IS(cop_stream_receive(grow, &packet, 0), -ENODEV);
        CU_ASSERT(is_readable(fd, 0));
        joined = join(&session);
        CHECK_OK(tree_await(network, COP_EVENT_BACKEND_JOINED, &event));
        CU_ASSERT_FALSE(is_readable(fd, 0));
        CHECK_IS(cop_stream_receive(grow, &packet, 0), -EAGAIN);
        CHECK_OK(cop_stream_send(next_stream(joined), TAG_ECHO, "%d", round));
        CU_ASSERT(is_readable(fd, TREE_PATIENCE_MS));
        CHECK_IS(cop_network_leave(joined, TREE_PATIENCE_MS, NULL), 0);
        cop_network_free(joined);
        CHECK_OK(tree_await(network, COP_EVENT_BACKEND_LOST, &event));
        CU_ASSERT_EQUAL(tree_receive(grow, NULL), round);
    }
    drop_session(&session);
    tree_end(network);
}

/* At a back-end: each stream has its own, a sync ends although the application
 * polls, and a stream that the front-end has closed is readable until the
 * back-end closes it, too. */
TEST(a_back_end_that_polls_its_streams)
{
    struct session session;
    struct cop_network *network = launch_bare(&session), *joined;
    struct cop_stream *down[2], *up[2];
    struct cop_packet *packet;
    struct cop_event event;
    int fd[2], before;

    joined = join(&session);
    CHECK_OK(tree_await(network, COP_EVENT_BACKEND_JOINED, &event));
    before = tree_descriptors();
    for (int i = 0; i < 2; i++) {
        down[i] = tree_open(network, COP_WAIT_FOR_ALL, "sum");
        up[i] = next_stream(joined);
        fd[i] = cop_stream_fd(up[i]);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_OK(cop_stream_send(down[i], TAG_ECHO, "%d", i));
        CU_ASSERT(is_readable(fd[i], TREE_PATIENCE_MS));
        CU_ASSERT_FALSE(is_readable(fd[1 - i], 0));
        CHECK_IS(cop_network_receive(joined, NULL, &packet, 0), -EAGAIN);
        CU_ASSERT_EQUAL(tree_receive(up[i], NULL), i);
        CHECK_IS(cop_stream_receive(up[i], &packet, 0), -EAGAIN);
        CHECK_IS(tree_sync(down[i]), 0);
        CU_ASSERT_FALSE(is_readable(fd[i], 0));
    }
    CHECK_OK(cop_stream_send(down[0], TAG_ECHO, "%d", 5));
    cop_stream_close(down[0]);
    CU_ASSERT(is_readable(fd[0], TREE_PATIENCE_MS));
    CU_ASSERT_EQUAL(tree_receive(up[0], NULL), 5);
    CU_ASSERT(is_readable(fd[0], TREE_PATIENCE_MS));
    CHECK_IS(cop_stream_receive(up[0], &packet, COP_FOREVER), -EPIPE);
    CU_ASSERT(is_readable(fd[0], 0));
    CU_ASSERT_EQUAL(cop_stream_fd(up[0]), fd[0]);
    CU_ASSERT_FALSE(is_readable(fd[1], 0));
    cop_stream_close(up[0]);
    CU_ASSERT_EQUAL(tree_descriptors(), before + 1);
    CHECK_OK(cop_stream_send(down[1], TAG_ECHO, "%d", 6));
    CU_ASSERT(is_readable(fd[1], TREE_PATIENCE_MS));
    cop_stream_close(up[1]); /* with a packet that waits */
    CU_ASSERT_EQUAL(tree_descriptors(), before);
    CHECK_IS(cop_network_leave(joined, TREE_PATIENCE_MS, NULL), 0);
    cop_network_free(joined);
    drop_session(&session);
    tree_end(network);
}

/* ---- threads ---- */

#define ROUNDS 200

static void *ask_and_poll(void *arg)
{
    struct cop_stream *sum = arg;
    int members = (int)cop_stream_size(sum), fd = cop_stream_fd(sum), number;
    struct cop_packet *packet;

    for (int round = 0; round < ROUNDS; round++) {
        CHECK_OK(cop_stream_send(sum, TAG_ECHO, "%d", round));
        CU_ASSERT_FATAL(is_readable(fd, TREE_PATIENCE_MS));
        CHECK_OK(cop_stream_receive(sum, &packet, 0));
        CHECK_OK(cop_packet_unpack(packet, "%d", &number));
        CU_ASSERT_EQUAL(number, round * members);
        cop_packet_free(packet);
    }
    return NULL;
}

/* Threads with a stream each take nothing from each other, nor from one that
 * receives for the whole network. */
TEST_OF_TREES(threads_with_a_stream_each)
{
    struct cop_stream *rest = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    int count = (int)cop_stream_size(rest), number;
    struct cop_stream *from, *sums[2];
    struct cop_packet *packet;
    pthread_t threads[2];

    for (int i = 0; i < 2; i++) {
        sums[i] = tree_open(network, COP_WAIT_FOR_ALL, "sum");
        CHECK_OK(cop_stream_fd(sums[i]));
        CU_ASSERT_EQUAL_FATAL(
            pthread_create(&threads[i], NULL, ask_and_poll, sums[i]), 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_OK(cop_stream_send(rest, TAG_ECHO, "%d", round));
        CHECK_OK(
            cop_network_receive(network, &from, &packet, TREE_PATIENCE_MS));
        CU_ASSERT_PTR_EQUAL(from, rest);
        CHECK_OK(cop_packet_unpack(packet, "%d", &number));
        CU_ASSERT_EQUAL(number, round * count);
        cop_packet_free(packet);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}
