/* test_poll.c - cop_network_fd() is readable exactly while a receive or an
 * event would not block (PROTOCOL 14.2), in each role; forked children. */
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include "test/frontend/tree.h"

/* Whether `network` is readable within `timeout_ms`; does not drive it. */
static bool is_readable(struct cop_network *network, int timeout_ms)
{
    struct pollfd waited = {.events = POLLIN};

    waited.fd = cop_network_fd(network);
    CHECK_OK(waited.fd);
    return poll(&waited, 1, timeout_ms) == 1 && (waited.revents & POLLIN);
}

/* Each time the descriptor is readable there is a packet or an event; after the
 * last one there is none. The test waits in poll() only. */
TEST_OF_TREES(readable_while_there_is_something)
{
    struct cop_stream *each = tree_open(network, COP_DO_NOT_WAIT, NULL);
    struct cop_packet *packet;
    uint32_t count = (uint32_t)cop_stream_size(each), k;

    CU_ASSERT_FALSE(is_readable(network, 0));
    CHECK_IS(cop_network_receive(network, NULL, &packet, 0), -EAGAIN);
    for (int round = 0; round < 20; round++) {
        CHECK_OK(cop_stream_send(each, TAG_ECHO, "%d", round));
        for (k = 0; k < count; k++) {
            CU_ASSERT_FATAL(is_readable(network, TREE_PATIENCE_MS));
            CHECK_OK(cop_network_receive(network, NULL, &packet, 0));
            cop_packet_free(packet);
        }
        CU_ASSERT_FALSE(is_readable(network, 0));
    }
}

/* The descriptor stays readable until the packet is taken, by any call. */
TEST(level_triggered)
{
    struct cop_network *network = tree_launch("2x2x2");
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_stream *gone = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_event event = COP_EVENT_INIT;

    CHECK_OK(cop_stream_send(sum, TAG_ECHO, "%d", 1));
    CU_ASSERT(is_readable(network, TREE_PATIENCE_MS));
    CU_ASSERT(is_readable(network, 0));
    CHECK_IS(cop_network_event(network, &event, 0), -EAGAIN);
    CU_ASSERT(is_readable(network, 0));
    CU_ASSERT_EQUAL(tree_receive(sum, NULL), 8);
    CU_ASSERT_FALSE(is_readable(network, 0));
    /* closing a stream drops its waiting packets */
    CHECK_OK(cop_stream_send(gone, TAG_ECHO, "%d", 1));
    CU_ASSERT(is_readable(network, TREE_PATIENCE_MS));
    cop_stream_close(gone);
    while (is_readable(network, 0)) {
        CHECK_OK(cop_network_event(network, &event, 0));
        CU_ASSERT_EQUAL(event.type, COP_EVENT_STREAM_CLOSED);
    }
    tree_end(network);
}

/* Events make the descriptor readable; the network's end, permanently. */
TEST(events_and_the_end)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *all = tree_open(network, COP_DO_NOT_WAIT, NULL);
    struct cop_event event = COP_EVENT_INIT;
    struct cop_packet *packet;
    int lost = 0;

    CHECK_OK(cop_stream_send(all, TAG_LEAVE, ""));
    while (lost < 4) {
        CU_ASSERT_FATAL(is_readable(network, TREE_PATIENCE_MS));
        CHECK_OK(cop_network_event(network, &event, 0));
        lost += event.type == COP_EVENT_BACKEND_LOST;
    }
    cop_network_shutdown(network, TREE_PATIENCE_MS);
    CU_ASSERT(is_readable(network, 0));
    while (cop_network_event(network, &event, 0) == 0)
        ;
    CU_ASSERT(is_readable(network, 0));
    CHECK_IS(cop_network_receive(network, NULL, &packet, 0), -ENOTCONN);
    tree_free(network);
}

/* An event that is not initialised is an error before the call waits. */
TEST(an_event_without_a_size)
{
    struct cop_network *network = tree_launch("flat:1");
    struct cop_event event = COP_EVENT_INIT;
    uint64_t begin_ms = tree_now_ms();

    event.size = 0;
    CHECK_IS(cop_network_event(network, &event, TREE_PATIENCE_MS), -EINVAL);
    CU_ASSERT(tree_now_ms() - begin_ms < TREE_PATIENCE_MS);
    tree_end(network);
}

/* Back-ends that wait in poll() only: they answer, settle, and end. */
TEST_OF_TREES_AS(backends_that_poll, "poll")
{
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");

    for (int round = 0; round < 10; round++) {
        tree_check_sum(sum, round, cop_stream_size(sum));
        CHECK_IS(tree_sync(sum), 0);
    }
}

/* The packets and the streams that wake the back-ends. */
#define WAKE_ROUNDS  20
#define WAKE_STREAMS 5

/* How long an idle back-end is observed. */
#define IDLE_MS 300

/* Back-ends that poll and take packets only, never events: each packet and
 * each event wakes them once at most, and nothing else does. */
TEST_OF_TREES_AS(backends_that_take_packets_only, "packets")
{
    struct cop_stream *most = tree_open(network, COP_WAIT_FOR_ALL, "max");
    struct timespec idle = {0, IDLE_MS * 1000000L};
    int wakes;

    for (int k = 0; k < WAKE_STREAMS; k++)
        cop_stream_close(tree_open(network, COP_WAIT_FOR_ALL, "sum"));
    for (int k = 0; k < WAKE_ROUNDS; k++)
        CU_ASSERT_EQUAL(tree_echo(most, k), k);
    nanosleep(&idle, NULL);
    CHECK_OK(cop_stream_send(most, TAG_WAKES, ""));
    wakes = tree_receive(most, NULL);
    CU_ASSERT(wakes > 0);
    if (wakes > WAKE_ROUNDS + 1 + 2 * WAKE_STREAMS + 1)
        printf("\nwoken %d times\n", wakes);
    CU_ASSERT(wakes <= WAKE_ROUNDS + 1 + 2 * WAKE_STREAMS + 1);
}

/* Open and close `count` streams. If `with_echo`, ask the members for an answer
 * on each of them. */
static void open_and_close(struct cop_network *network,
                           int count,
                           bool with_echo)
{
    struct cop_stream *stream;

    for (; count > 0; count--) {
        stream = tree_open(network, COP_WAIT_FOR_ALL, NULL);
        if (with_echo) {
            CU_ASSERT_EQUAL(tree_echo(stream, count), count);
        }
        cop_stream_close(stream);
    }
}

/* The heap of the only member. It takes events of closed streams when no packet
 * waits, so its first answers may be too early: wait for two that are equal. */
static int heap_of(struct cop_stream *asks)
{
    int heap = -1, last;

    do {
        last = heap;
        CHECK_IS(tree_sync(asks), 0);
        CHECK_OK(cop_stream_send(asks, TAG_HEAP, ""));
        heap = tree_receive(asks, NULL);
    } while (heap != last);
    return heap;
}

#define GROW_STREAMS 500
#define GROW_ROUNDS  4

/* Whether the member keeps less than `limit` bytes of each stream. A queue
 * keeps its largest size, which is larger on a busy machine; but memory that is
 * kept of a stream grows in each round. */
static bool keeps_less(struct cop_network *network,
                       struct cop_stream *asks,
                       bool with_echo,
                       int limit)
{
    int i, before, each = limit;

    for (i = 0; i < GROW_ROUNDS && each >= limit; i++) {
        before = heap_of(asks);
        open_and_close(network, GROW_STREAMS, with_echo);
        each = (heap_of(asks) - before) / GROW_STREAMS;
        printf("%d bytes a stream ... ", each);
    }
    return each < limit;
}

/* A back-end keeps nothing of a stream that was closed before the application
 * received it, and little of one that the application leaves open. */
TEST(closed_streams_leave_nothing)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network = tree_launch_as(launch, "flat:1", "poll");
    struct cop_stream *asks = tree_open(network, COP_WAIT_FOR_ALL, NULL);

    open_and_close(network, 100, false);
    CU_ASSERT(keeps_less(network, asks, false, 16));
    CU_ASSERT(keeps_less(network, asks, true, 160));
    tree_end(network);
}

/* In the front-end too, an event that is not taken wakes the application once.
 * As soon as it asks for events, the descriptor is readable until all are
 * taken. */
TEST(an_event_wakes_once)
{
    struct cop_network *network = tree_launch("flat:2");
    struct cop_stream *stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_event event = COP_EVENT_INIT;
    struct cop_packet *packet;

    cop_stream_close(stream);
    CU_ASSERT(is_readable(network, TREE_PATIENCE_MS));
    CU_ASSERT(is_readable(network, 0));
    CHECK_IS(cop_network_receive(network, NULL, &packet, 0), -EAGAIN);
    CU_ASSERT_FALSE(is_readable(network, 0));
    CHECK_OK(cop_network_event(network, &event, 0));
    CU_ASSERT_EQUAL(event.type, COP_EVENT_STREAM_CLOSED);
    stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    cop_stream_close(stream);
    CU_ASSERT(is_readable(network, TREE_PATIENCE_MS));
    CHECK_IS(cop_network_receive(network, NULL, &packet, 0), -EAGAIN);
    CU_ASSERT(is_readable(network, 0));
    CHECK_OK(cop_network_event(network, &event, 0));
    CU_ASSERT_FALSE(is_readable(network, 0));
    tree_end(network);
}

#define OWN_COUNT 40

/* Whether cop_network_free() in a forked child spares descriptors that the
 * child has opened under the numbers that the fork closed. */
static bool free_spares_our_own(struct cop_network *network)
{
    int pairs[OWN_COUNT][2], i;
    char byte = 'x';

    for (i = 0; i < OWN_COUNT; i++)
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]) < 0)
            return false;
    cop_network_free(network);
    for (i = 0; i < OWN_COUNT; i++)
        if (send(pairs[i][0], &byte, 1, MSG_NOSIGNAL) != 1 ||
            recv(pairs[i][1], &byte, 1, MSG_DONTWAIT) != 1)
            return false;
    return true;
}

/* In a forked child: returns 0, or the first call that is not -EPERM. */
static int calls_in_a_child(struct cop_network *network,
                            struct cop_stream *stream)
{
    const struct cop_communicator *all = cop_network_everyone(network);
    struct cop_stream *other = NULL;
    struct cop_communicator *some = NULL;
    struct cop_event event = COP_EVENT_INIT;
    struct cop_error error = {""};
    struct cop_packet *packet;
    uint32_t rank = 1;

    if (cop_stream_send(stream, TAG_ECHO, "%d", 1) != -EPERM)
        return 1;
    if (cop_stream_set_parameters(stream, "%d", 1) != -EPERM)
        return 2;
    if (cop_stream_flush(stream) != -EPERM)
        return 3;
    if (cop_stream_receive(stream, &packet, COP_FOREVER) != -EPERM ||
        cop_network_receive(network, NULL, &packet, COP_FOREVER) != -EPERM)
        return 4;
    if (cop_network_event(network, &event, COP_FOREVER) != -EPERM)
        return 5;
    if (cop_stream_sync(stream, COP_FOREVER, &error) != -EPERM || !*error.text)
        return 6;
    if (cop_stream_settle(stream) != -EPERM)
        return 7;
    if (cop_stream_open(&other, network, all, NULL, &error) != -EPERM || other)
        return 8;
    if (cop_communicator_new(&some, network, &rank, 1) != -EPERM || some)
        return 9;
    if (cop_network_fd(network) != -EPERM || cop_stream_fd(stream) != -EPERM)
        return 10;
    if (cop_network_write_session(network, "/nowhere/at-all", &error) != -EPERM)
        return 11;
    if (cop_network_shutdown(network, COP_FOREVER) != -EPERM)
        return 12;
    cop_stream_close(stream);
    return free_spares_our_own(network) ? 0 : 13;
}

/* A forked child, of front-end or back-end, does no harm at any moment. */
TEST_OF_TREES(a_forked_child_is_harmless)
{
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    int count = (int)cop_stream_size(sum), status = -1, round;
    pid_t pid;

    for (round = 0; round < 3; round++) {
        /* with packets in flight, and one delivered */
        CHECK_OK(cop_stream_send(sum, TAG_ECHO, "%d", round));
        if (round == 2)
            CU_ASSERT(is_readable(network, TREE_PATIENCE_MS));
        fflush(stdout);
        pid = fork();
        if (pid == 0)
            _exit(calls_in_a_child(network, sum));
        CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
        CU_ASSERT_EQUAL(status, 0);
        CU_ASSERT_EQUAL(tree_receive(sum, NULL), round * count);
        CHECK_IS(tree_sync(sum), 0);
    }
    CHECK_OK(cop_stream_send(sum, TAG_FORK, ""));
    CU_ASSERT_EQUAL(tree_receive(sum, NULL), 0);
    CU_ASSERT_EQUAL(tree_echo(sum, 1), count);
}

static void *wait_for_one(void *arg)
{
    struct cop_packet *packet = NULL;

    CHECK_OK(cop_network_receive(arg, NULL, &packet, TREE_PATIENCE_MS));
    cop_packet_free(packet);
    return NULL;
}

/* A child frees a network on which threads of its parent wait. */
TEST(a_fork_while_threads_wait)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *each = tree_open(network, COP_DO_NOT_WAIT, NULL);
    pthread_t threads[4];
    int status = 0, round, i;
    pid_t pid;

    for (i = 0; i < 4; i++)
        CU_ASSERT_EQUAL_FATAL(
            pthread_create(&threads[i], NULL, wait_for_one, network), 0);
    /* in whatever state the threads are */
    for (round = 0; round < 20 && status == 0; round++) {
        tree_pause();
        fflush(stdout);
        pid = fork();
        if (pid == 0) {
            alarm(10); /* kills the child if it hangs */
            cop_network_free(network);
            _exit(0);
        }
        CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
        CU_ASSERT_EQUAL(status, 0);
    }
    CHECK_OK(cop_stream_send(each, TAG_ECHO, "%d", 1));
    for (i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    tree_end(network);
}
