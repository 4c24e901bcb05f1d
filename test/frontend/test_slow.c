/* test_slow.c - slow filters. */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>

#include "test/frontend/tree.h"

/* Open a stream with the filter "dawdle": calls in node `rank` take `ms`. */
static struct cop_stream *open_slow(struct cop_network *network,
                                    enum cop_sync sync,
                                    uint32_t rank,
                                    uint32_t ms)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_packet *parameters;
    struct cop_stream *stream;

    CHECK_OK(cop_packet_new(&parameters, 0, "%ud %ud", rank, ms));
    options.sync = sync;
    options.up_filter = "dawdle";
    options.parameters = parameters;
    stream = tree_open_with(network, &options);
    cop_packet_free(parameters);
    return stream;
}

/* Check that no event is waiting. */
static void expect_no_event(struct cop_network *network)
{
    struct cop_event event = COP_EVENT_INIT;
    int r = cop_network_event(network, &event, 0);

    if (r == 0)
        printf("\nevent %d, rank %u: %s\n", (int)event.type, event.rank,
               event.text);
    CHECK_IS(r, -EAGAIN);
}

/* Waves queue up before a filter whose calls together take twice the failure
 * time-out. Sockets are served between the calls, no node is suspected, and
 * every packet arrives (PROTOCOL 5.1). */
TEST(short_calls_that_queue_up)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    uint32_t seen;

    launch.times.heartbeat_ms = 200;
    launch.times.failure_timeout_ms = 4000;
    network = tree_launch_as(launch, "2x2", NULL);
    stream = open_slow(network, COP_WAIT_FOR_ALL, DAWDLE_EVERYWHERE, 20);
    for (int i = 0; i < 400; i++)
        CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", i));
    for (int i = 0; i < 400; i++) {
        CU_ASSERT_EQUAL(tree_receive(stream, &seen), 4 * i);
        CU_ASSERT_EQUAL(seen, 4);
    }
    CHECK_IS(tree_sync(stream), 0);
    expect_no_event(network);
    tree_end(network);
}

/* Longer than the failure time-out. */
#define LONG_MS 6000

static struct cop_network *launch_hasty(void)
{
    struct cop_launch launch = COP_LAUNCH_INIT;

    launch.times.heartbeat_ms = 400;
    launch.times.failure_timeout_ms = 4000;
    return tree_launch_as(launch, "2x2", NULL);
}

/* PROTOCOL 14.1: the application computes, and heartbeats go on. */
TEST(a_network_lives_while_the_application_computes)
{
    struct cop_network *network = launch_hasty();
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");

    poll(NULL, 0, LONG_MS);
    tree_check_sum(sum, 1, 4);
    expect_no_event(network);
    tree_end(network);
}

/* PROTOCOL 5.1: during a long call of the front-end, another thread has the
 * helm. PROTOCOL 14.3: although the application makes no other call, queued
 * packets are sent, answers are received, and the filter begins. */
TEST(a_long_call_stops_no_heartbeats)
{
    char folder[] = "/tmp/coppice-dawdle-XXXXXX", path[64];
    struct cop_network *network;
    struct cop_stream *slow;

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/begun", folder);
    setenv("DAWDLE_FOLDER", folder, 1);
    network = launch_hasty();
    slow = open_slow(network, COP_WAIT_FOR_ALL, 0, LONG_MS);
    for (int i = 0; i < 2; i++) {
        uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;

        CHECK_OK(cop_stream_send(slow, TAG_ECHO, "%d", 1));
        while (i == 1 && rmdir(path) < 0) { /* in the background */
            CU_ASSERT_FATAL(tree_now_ms() < deadline_ms);
            tree_pause();
        }
        if (i == 1)
            poll(NULL, 0, LONG_MS);
        CU_ASSERT_EQUAL(tree_receive(slow, NULL), 4);
        expect_no_event(network);
        rmdir(path);
    }
    tree_end(network);
    CHECK_OK(rmdir(folder));
    unsetenv("DAWDLE_FOLDER");
}

/* Wait until commnode 1 has announced its end, is lost, and its four children
 * are adopted. The front-end may hear of an adoption by commnode 2 first, as it
 * comes on another link. Returns the event of commnode 1. */
static struct cop_event expect_healing(struct cop_network *network)
{
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    struct cop_event event = COP_EVENT_INIT, said = COP_EVENT_INIT;
    int told = 0, lost = 0, adopted = 0;

    while (told < 1 || lost < 1 || adopted < 4) {
        CU_ASSERT_FATAL(tree_now_ms() < deadline_ms);
        CHECK_OK(cop_network_event(network, &event, TREE_PATIENCE_MS));
        if (event.type == COP_EVENT_FILTER_ERROR) {
            CU_ASSERT_EQUAL(event.rank, 1);
            said = event;
            told++;
        } else if (event.type == COP_EVENT_NODE_LOST) {
            CU_ASSERT_EQUAL(event.rank, 1);
            lost++;
        } else if (event.type == COP_EVENT_NODE_ADOPTED) {
            CU_ASSERT_EQUAL(event.lost_parent, 1);
            adopted++;
        }
    }
    return said;
}

/* A filter call of a commnode does not return: an event names stream and node,
 * the commnode ends, its children are adopted, and streams continue. Packets in
 * the commnode are lost, and a sync reports that (PROTOCOL 5.1). */
TEST(a_call_that_never_returns)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct cop_stream *slow, *sum;
    struct cop_event event;
    uint32_t seen;
    int i;

    launch.times.filter_timeout_ms = 1000;
    network = tree_launch_as(launch, "2x4", NULL);
    sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    slow = open_slow(network, COP_WAIT_FOR_ALL, 1, 24 * 3600 * 1000);
    CHECK_OK(cop_stream_send(slow, TAG_ECHO, "%d", 1));
    event = expect_healing(network);
    CU_ASSERT_EQUAL(event.stream_id, cop_stream_id(slow));
    CU_ASSERT_PTR_NOT_NULL(strstr(event.text, "filter_timeout"));
    CHECK_OK(tree_sync(sum));
    tree_check_sum(sum, 1, 8);
    CHECK_IS(tree_sync(slow), 1);
    CHECK_OK(cop_stream_send(slow, TAG_ECHO, "%d", 2));
    do {
        i = tree_receive(slow, &seen);
    } while (seen < 8);
    CU_ASSERT_EQUAL(i, 16);
    tree_end(network);
}

static void *receive_slowly(void *arg)
{
    return (void *)(intptr_t)tree_receive(arg, NULL);
}

/* A filter call of the front-end does not return: an event reports it, and a sync
 * that waits for the call names the call, not the members. */
TEST(a_call_of_the_front_end)
{
    char folder[] = "/tmp/coppice-dawdle-XXXXXX", path[64];
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct cop_stream *slow;
    struct cop_error error = {""};
    struct cop_event event;
    pthread_t thread;
    void *sum = NULL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    setenv("DAWDLE_FOLDER", folder, 1);
    launch.times.filter_timeout_ms = 500;
    network = tree_launch_as(launch, "2x2", NULL);
    slow = open_slow(network, COP_WAIT_FOR_ALL, 0, 24 * 3600 * 1000);
    CHECK_OK(cop_stream_send(slow, TAG_ECHO, "%d", 1));
    /* the filter may run in a thread that calls */
    CHECK_OK(-pthread_create(&thread, NULL, receive_slowly, slow));
    snprintf(path, sizeof(path), "%s/begun", folder);
    while (rmdir(path) < 0)
        tree_pause();
    CHECK_OK(tree_await(network, COP_EVENT_FILTER_ERROR, &event));
    CU_ASSERT_EQUAL(event.rank, 0);
    CU_ASSERT_EQUAL(event.stream_id, cop_stream_id(slow));
    CHECK_IS(cop_stream_sync(slow, 100, &error), -ETIMEDOUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "a filter call of stream"));
    CU_ASSERT_PTR_NULL(strstr(error.text, "rank"));
    snprintf(path, sizeof(path), "%s/end", folder);
    CHECK_OK(mkdir(path, 0700));
    CHECK_IS(tree_sync(slow), 0);
    CHECK_OK(cop_stream_send(slow, TAG_ECHO, "%d", 2));
    CU_ASSERT_EQUAL(pthread_join(thread, &sum), 0);
    CU_ASSERT_EQUAL((int)(intptr_t)sum, 8); /* the wave of 1s failed */
    tree_end(network);
    rmdir(path);
    snprintf(path, sizeof(path), "%s/begun", folder);
    rmdir(path);
    CHECK_OK(rmdir(folder));
    unsetenv("DAWDLE_FOLDER");
}

/* All members have settled, and their packets wait for short filter calls of
 * the front-end: the sync reports that, and names no member. */
TEST(a_sync_behind_many_calls)
{
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    char folder[] = "/tmp/coppice-dawdle-XXXXXX", path[64];
    struct cop_network *network;
    struct cop_stream *slow;
    struct cop_error error;
    int timeout_ms = 100;

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    setenv("DAWDLE_FOLDER", folder, 1);
    network = tree_launch("flat:2");
    slow = open_slow(network, COP_WAIT_FOR_ALL, 0, 40);
    for (int i = 0; i < 2000; i++)
        CHECK_OK(cop_stream_send(slow, TAG_ECHO, "%d", i));
    do {
        CU_ASSERT_FATAL(tree_now_ms() < deadline_ms);
        error.text[0] = '\0';
        CHECK_IS(cop_stream_sync(slow, timeout_ms, &error), -ETIMEDOUT);
        CU_ASSERT_PTR_NULL(strstr(error.text, "(0 in all)"));
        timeout_ms *= 2; /* members may need longer to settle */
    } while (!strstr(error.text, "all members of stream"));
    snprintf(path, sizeof(path), "%s/end", folder);
    CHECK_OK(mkdir(path, 0700));
    CHECK_IS(tree_sync(slow), 0);
    tree_end(network);
    rmdir(path);
    snprintf(path, sizeof(path), "%s/begun", folder);
    rmdir(path);
    CHECK_OK(rmdir(folder));
    unsetenv("DAWDLE_FOLDER");
}

/* Packets arrive faster than the front-end filters them, and one member does not
 * settle: the sync still ends at its time-out. */
TEST(a_sync_while_packets_come)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network = tree_launch_as(launch, "flat:4", NULL);
    struct cop_stream *slow = open_slow(network, COP_DO_NOT_WAIT, 0, 1);
    pid_t pid = tree_pid(network, tree_rank(network, 0));
    struct cop_error error = {""};

    tree_stop(pid);
    CHECK_OK(cop_stream_send(slow, TAG_SPOUT, ""));
    tree_receive(slow, NULL);
    CHECK_IS(cop_stream_sync(slow, 2000, &error), -ETIMEDOUT);
    CHECK_OK(kill(pid, SIGCONT));
    cop_stream_close(slow);
    tree_end(network);
}

int main(void)
{
    tree_own_filters();
    return check_run("slow");
}
