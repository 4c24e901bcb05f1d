/* test_loss.c - nodes leave, die or are stopped; the end of a network. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include <coppice/status.h>

#include "test/frontend/tree.h"
#include "test/process/journal.h"

/* One back-end leaves or is killed: an event names it, and waves continue. */
static void go_on_without(struct cop_network *network, bool is_killed)
{
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    size_t count = cop_stream_size(sum);
    uint32_t rank = tree_rank(network, 1);
    struct cop_event event;

    if (is_killed)
        CHECK_OK(kill(tree_pid(network, rank), SIGKILL));
    else
        CHECK_OK(cop_stream_send(tree_open_one(network, rank), TAG_LEAVE, ""));
    CHECK_OK(tree_await(network, COP_EVENT_BACKEND_LOST, &event));
    CU_ASSERT_EQUAL(event.rank, rank);
    CU_ASSERT_EQUAL(cop_communicator_size(cop_network_everyone(network)),
                    count - 1);
    CU_ASSERT_EQUAL(cop_stream_size(sum), count - 1);
    tree_check_sum(sum, 2, count - 1);
}

TEST_OF_TREES(a_backend_that_leaves)
{
    go_on_without(network, false);
}

TEST_OF_TREES(a_backend_that_is_killed)
{
    go_on_without(network, true);
}

/* A back-end closes Coppice's descriptors: its network ends and its process
 * lives, whichever thread is the first to use one of them. */
TEST(a_backend_that_closes_all_descriptors)
{
    for (int is_late = 0; is_late < 2; is_late++) {
        struct cop_network *network = tree_launch("flat:3");
        uint32_t rank = tree_rank(network, 1);
        struct cop_event event;

        CHECK_OK(cop_stream_send(tree_open_one(network, rank), TAG_BARE, "%d",
                                 is_late));
        CHECK_OK(tree_await(network, COP_EVENT_BACKEND_LOST, &event));
        CU_ASSERT_EQUAL(event.rank, rank);
        tree_check_says(event.text, "exited with status 0");
        if (!strstr(event.text, "exited with status 0"))
            printf("\n%s\n", event.text);
        tree_end(network);
    }
}

struct syncer {
    pthread_t thread;
    struct cop_stream *stream;
    atomic_int tid;
    int result;
};

static void *sync_once(void *arg)
{
    struct syncer *syncer = arg;

    syncer->tid = gettid();
    syncer->result = cop_stream_sync(syncer->stream, TREE_PATIENCE_MS, NULL);
    return NULL;
}

/* Wait until both threads are seen asleep several times in a row: a thread runs
 * until it waits in its sync. */
static void await_both_asleep(struct syncer syncers[2])
{
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    char path[64];

    for (int looks = 0; looks < 20; looks++) {
        for (int i = 0; i < 2; i++) {
            snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
                     syncers[i].tid);
            if (syncers[i].tid == 0 || tree_state(path) != 'S')
                looks = 0;
        }
        CU_ASSERT_FATAL(tree_now_ms() < deadline_ms);
        tree_pause();
    }
}

/* A commnode dies while two threads sync one stream, which is not recoverable:
 * both syncs report possible loss; the next sync does not. A stopped member
 * keeps both syncs waiting until both have begun. */
TEST(both_of_two_syncs_report_the_loss)
{
    struct cop_network *network = tree_launch("2x2x2");
    struct cop_stream *stream = tree_open(network, COP_DO_NOT_WAIT, NULL);
    uint32_t rank = tree_rank(network, 7);
    pid_t stopped = tree_pid(network, rank), commnodes[NODES_MAX];
    struct syncer syncers[2] = {{.stream = stream}, {.stream = stream}};

    CU_ASSERT_EQUAL_FATAL(nodes_all(commnodes), 6);
    CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", 1));
    for (int i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(tree_receive(stream, NULL), 1);
    tree_stop(stopped);
    CHECK_OK(kill(commnodes[0], SIGKILL));
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL_FATAL(
            pthread_create(&syncers[i].thread, NULL, sync_once, &syncers[i]),
            0);
    await_both_asleep(syncers);
    CHECK_OK(kill(stopped, SIGCONT));
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(pthread_join(syncers[i].thread, NULL), 0);
        CHECK_IS(syncers[i].result, 1);
    }
    CHECK_IS(tree_sync(stream), 0);
    tree_end(network);
}

/* One connection is reset. Each of its ends is suspected, and lives. A lossy
 * sync names the broken link, and no other. */
TEST(a_lossy_sync_names_the_broken_link_only)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    char session[] = "/tmp/coppice-test.XXXXXX";
    struct cop_event event = COP_EVENT_INIT;
    bool is_adopted = false, is_back = false;
    struct cop_error error = {""};
    struct cop_network *network;
    struct cop_stream *stream;
    int fd = mkstemp(session), i;

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    launch.session_path = session;
    launch.allow_injection = true;
    network = tree_launch_as(launch, "2x2x2", NULL);
    stream = tree_open(network, COP_DO_NOT_WAIT, NULL);
    CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", 1));
    for (i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(tree_receive(stream, NULL), 1);
    CHECK_OK(cop_network_inject(session, 3, COP_INJECT_CUT, 0, TREE_PATIENCE_MS,
                                &error));
    while (!is_adopted || !is_back) {
        event = (struct cop_event)COP_EVENT_INIT;
        CHECK_OK(cop_network_event(network, &event, TREE_PATIENCE_MS));
        is_adopted |= event.type == COP_EVENT_NODE_ADOPTED && event.rank == 3;
        is_back |= event.type == COP_EVENT_NODE_BACK && event.rank == 1;
        CU_ASSERT_NOT_EQUAL(event.type, COP_EVENT_NODE_LOST);
    }
    CHECK_IS(tree_sync(stream), 1);
    CHECK_OK(tree_await(network, COP_EVENT_STREAM_LOSSY, &event));
    CU_ASSERT_STRING_EQUAL(event.text, "3-1");
    tree_end(network);
    unlink(session);
}

/* Two connections are reset, each with packets of another stream. A lossy sync
 * names the link of its own stream, and so do the logs of the orphans. */
TEST(a_lossy_sync_names_the_links_of_its_stream)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_event event = COP_EVENT_INIT;
    struct cop_error error = {""};
    struct cop_network *network;
    struct cop_stream *streams[2];
    struct journal journal;
    char session[80], text[48];

    CHECK_OK(journal_begin(&journal));
    snprintf(session, sizeof(session), "%s.session", journal.path);
    launch.session_path = session;
    launch.allow_injection = true;
    network = tree_launch_as(launch, "2x2", NULL);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t ranks[] = {3 + 2 * i, 4 + 2 * i};
        struct cop_communicator *pair;

        CHECK_OK(cop_communicator_new(&pair, network, ranks, 2));
        streams[i] = tree_open_to(network, pair, NULL);
        cop_communicator_free(pair);
        CHECK_OK(cop_stream_send(streams[i], TAG_ECHO, "%d", 1));
        for (int k = 0; k < 2; k++)
            CU_ASSERT_EQUAL(tree_receive(streams[i], NULL), 1);
        CHECK_OK(cop_network_inject(session, ranks[0], COP_INJECT_CUT, 0,
                                    TREE_PATIENCE_MS, &error));
    }
    for (int i = 0; i < 2; i++)
        CHECK_OK(tree_await(network, COP_EVENT_NODE_ADOPTED, &event));
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_IS(tree_sync(streams[i]), 1);
        CHECK_OK(tree_await(network, COP_EVENT_STREAM_LOSSY, &event));
        snprintf(text, sizeof(text), "%u-%u", 3 + 2 * i, 1 + i);
        CU_ASSERT_STRING_EQUAL(event.text, text);
    }
    tree_end(network);
    for (uint32_t i = 0; i < 2; i++) {
        snprintf(text, sizeof(text), "epoch 0 may be lost with link %u-%u",
                 3 + 2 * i, 1 + i);
        CU_ASSERT(journal_find(&journal, 0, "", text, NULL, 0) > 0);
    }
    unlink(session);
    journal_end(&journal, false);
}

#define FED  300  /* numbers that each back-end sends ... */
#define RATE 1000 /* ... and how many of them in a second */

/* Receive every wave, in order. Returns how many have no values. */
static int receive_waves(struct cop_stream *stream)
{
    struct cop_packet *packet;
    int lost = 0;

    for (uint64_t wave = 2; wave <= FED; wave++) {
        CU_ASSERT_EQUAL_FATAL(
            cop_stream_receive(stream, &packet, TREE_PATIENCE_MS), 0);
        CU_ASSERT_EQUAL(cop_packet_wave(packet), wave);
        CU_ASSERT_FALSE(cop_packet_is_late(packet));
        if (cop_packet_contributors(packet) == 0) {
            lost++;
            CHECK_IS(cop_packet_value_count(packet), 0);
            CU_ASSERT_STRING_EQUAL(cop_packet_format(packet), "");
        }
        cop_packet_free(packet);
    }
    return lost;
}

/* PROTOCOL 4.3b: the commnode above all back-ends is stopped while they send, and
 * killed. The waves that it had are received, each in its place and without
 * values. If it had none, another tree is tried. */
TEST(a_lost_wave_is_received_in_its_place)
{
    int lost = 0;

    for (int attempt = 0; attempt < 20 && lost == 0; attempt++) {
        struct cop_network *network = tree_launch("1x2");
        struct cop_stream *stream =
            tree_open(network, COP_WAIT_FOR_ALL, "concat");
        pid_t commnodes[NODES_MAX];
        struct cop_packet *packet;
        struct cop_event event;

        CU_ASSERT_EQUAL_FATAL(nodes_all(commnodes), 1);
        CHECK_OK(cop_stream_send(stream, TAG_FEED, "%d %d", FED, RATE));
        CHECK_OK(cop_stream_receive(stream, &packet, TREE_PATIENCE_MS));
        CU_ASSERT_EQUAL(cop_packet_contributors(packet), 2);
        cop_packet_free(packet);
        tree_stop(commnodes[0]);
        tree_pause();
        CHECK_OK(kill(commnodes[0], SIGKILL));
        lost = receive_waves(stream);
        CHECK_IS(tree_sync(stream), 1);
        CHECK_OK(tree_await(network, COP_EVENT_STREAM_LOSSY, &event));
        CHECK_IS(tree_sync(stream), 0);
        tree_end(network);
    }
    CU_ASSERT(lost > 0);
}

/* A stopped back-end cannot end by itself: the shutdown kills and names it. */
TEST(a_shutdown_with_a_stopped_backend)
{
    for (size_t i = 0; i < TREE_SHAPES; i++) {
        struct cop_network *network = tree_launch(tree_shapes[i]);
        struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
        uint32_t rank = tree_rank(network, 0);

        tree_stop(tree_pid(network, rank));
        CHECK_OK(cop_stream_send(sum, TAG_ECHO, "%d", 1));
        CHECK_IS(cop_network_shutdown(network, 1000), -ETIMEDOUT);
        tree_free(network);
    }
}

/* Launch 2x2. A silent node is suspected after three seconds. */
static struct cop_network *launch_with_suspicions(void)
{
    struct cop_launch launch = COP_LAUNCH_INIT;

    launch.times.heartbeat_ms = 200;
    launch.times.failure_timeout_ms = 3000;
    return tree_launch_as(launch, "2x2", NULL);
}

/* A stopped commnode whose children have other parents, and a stopped back-end:
 * the shutdown does not wait for them. */
TEST(a_shutdown_does_not_wait_for_suspects)
{
    struct cop_network *network = launch_with_suspicions();
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    pid_t backend = tree_pid(network, tree_rank(network, 3));
    pid_t commnodes[NODES_MAX];
    struct cop_event event;
    uint64_t begin_ms;

    CU_ASSERT_EQUAL_FATAL(nodes_all(commnodes), 2);
    tree_stop(commnodes[0]);
    tree_stop(backend);
    for (int i = 0; i < 2; i++)
        CHECK_OK(tree_await(network, COP_EVENT_NODE_SUSPECTED, &event));
    CHECK_OK(cop_stream_send(sum, TAG_ECHO, "%d", 1));
    begin_ms = tree_now_ms();
    CHECK_IS(cop_network_shutdown(network, 2 * TREE_PATIENCE_MS), 0);
    CU_ASSERT(tree_now_ms() < begin_ms + TREE_PATIENCE_MS / 2);
    tree_free(network);
}

/* A stopped back-end, whose commnode is killed: no process is there that could
 * end it. The shutdown says so, and names it. */
TEST(a_shutdown_names_what_it_cannot_end)
{
    struct cop_network *network = launch_with_suspicions();
    uint32_t rank = tree_rank(network, 0);
    pid_t stopped = tree_pid(network, rank), commnodes[NODES_MAX];
    struct cop_event event;
    char name[64];

    CU_ASSERT_EQUAL_FATAL(nodes_all(commnodes), 2);
    tree_stop(stopped);
    CHECK_OK(kill(commnodes[0], SIGKILL));
    CHECK_OK(tree_await(network, COP_EVENT_NODE_LOST, &event));
    CHECK_IS(cop_network_shutdown(network, 10000), -ETIMEDOUT);
    CHECK_OK(tree_await(network, COP_EVENT_ENDED, &event));
    snprintf(name, sizeof(name), "not known to have ended: rank %u", rank);
    CU_ASSERT_PTR_NOT_NULL(strstr(event.text, name));
    CHECK_OK(kill(stopped, SIGKILL));
    tree_free(network);
}

/* Packets delivered before the end can still be received, and nothing else. */
TEST(the_end_is_orderly)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_packet *packet;
    struct cop_event event;

    CHECK_OK(cop_stream_send(sum, TAG_ECHO, "%d", 5));
    CHECK_IS(cop_network_shutdown(network, TREE_PATIENCE_MS), 0);
    CU_ASSERT_EQUAL(tree_receive(sum, NULL), 20);
    CHECK_IS(cop_stream_receive(sum, &packet, 1000), -ENOTCONN);
    CHECK_IS(cop_stream_send(sum, TAG_ECHO, "%d", 5), -ENOTCONN);
    CHECK_OK(tree_await(network, COP_EVENT_ENDED, &event));
    CHECK_IS(cop_network_event(network, &event, 1000), -ENOTCONN);
    CHECK_IS(cop_network_shutdown(network, 0), 0);
    cop_network_free(network);
    cop_network_free(NULL);
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
}

/* Ask all members for their ranks; check for `ranks`, in this order. */
static void check_order(struct cop_stream *concat,
                        const uint32_t *ranks,
                        uint32_t count)
{
    struct cop_packet *packet;
    const int32_t *values;
    uint32_t seen = 0, i;

    CHECK_OK(cop_stream_send(concat, TAG_RANK, ""));
    CHECK_OK(cop_stream_receive(concat, &packet, TREE_PATIENCE_MS));
    CU_ASSERT_EQUAL(cop_packet_tag(packet), TAG_RANK);
    CHECK_OK(cop_packet_unpack(packet, "%ad", &values, &seen));
    CU_ASSERT_EQUAL_FATAL(seen, count);
    for (i = 0; i < count; i++)
        CU_ASSERT_EQUAL(values[i], (int32_t)ranks[i]);
    cop_packet_free(packet);
}

#define ORDER_ROUNDS 10
#define ORDER_MAX    8

/* Values are ordered by rank, not by the order in which children connected. */
TEST(concat_is_in_the_order_of_ranks)
{
    size_t count;

    for (size_t i = 0; i < TREE_SHAPES * ORDER_ROUNDS; i++) {
        struct cop_network *network = tree_launch(tree_shapes[i % TREE_SHAPES]);
        struct cop_stream *concat =
            tree_open(network, COP_WAIT_FOR_ALL, "concat");
        uint32_t ranks[ORDER_MAX];

        count = cop_stream_size(concat);
        CU_ASSERT_FATAL(count <= ORDER_MAX);
        for (size_t k = 0; k < count; k++)
            ranks[k] = tree_rank(network, k);
        check_order(concat, ranks, (uint32_t)count);
        tree_end(network);
    }
}

/* Commnode 1 of 2x4 dies. Its children 3 to 6 go to commnode 2, the parent of 7
 * to 10, or to the front-end: each node has its children in order of rank. */
TEST(concat_has_an_order_after_an_adoption)
{
    struct cop_network *network = tree_launch("2x4");
    struct cop_stream *concat = tree_open(network, COP_WAIT_FOR_ALL, "concat");
    uint32_t parents[7] = {0}, ranks[ORDER_MAX], count = 0, rank, k;
    struct cop_event event;

    CHECK_OK(kill(nodes_parent(tree_pid(network, tree_rank(network, 0)), NULL),
                  SIGKILL));
    for (k = 0; k < 4; k++) {
        CHECK_OK(tree_await(network, COP_EVENT_NODE_ADOPTED, &event));
        CU_ASSERT_FATAL(event.rank >= 3 && event.rank <= 6);
        parents[event.rank] = event.parent;
    }
    CHECK_OK(tree_sync(concat));
    for (rank = 3; rank <= 6; rank++)
        if (parents[rank] == 2)
            ranks[count++] = rank;
    for (rank = 7; rank <= 10; rank++)
        ranks[count++] = rank;
    for (rank = 3; rank <= 6; rank++)
        if (parents[rank] == 0)
            ranks[count++] = rank;
    CU_ASSERT_EQUAL_FATAL(count, ORDER_MAX);
    for (k = 0; k < 3; k++)
        check_order(concat, ranks, count);
    tree_end(network);
}

/* The number of packets that each back-end sends before it leaves, and their
 * bytes: more than the windows of all links together. */
#define LAST_PACKETS 12
#define LAST_BYTES   (1 << 20)

/* Every member leaves while a call waits in receive: it gets all their packets,
 * and then -ENODEV, like every other call. */
TEST_OF_TREES(a_stream_without_members)
{
    struct cop_stream *each = tree_open(network, COP_DO_NOT_WAIT, NULL);
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    int count = (int)cop_stream_size(each), seen = 0, r;
    struct cop_error error = {""};
    struct cop_event event;
    struct cop_packet *packet;

    for (int k = 0; k < LAST_PACKETS; k++)
        CHECK_OK(cop_stream_send(each, TAG_BYTES, "%d", LAST_BYTES));
    CHECK_OK(cop_stream_send(each, TAG_LEAVE, ""));
    while ((r = cop_stream_receive(each, &packet, TREE_PATIENCE_MS)) == 0) {
        seen++;
        cop_packet_free(packet);
    }
    CHECK_IS(r, -ENODEV);
    CU_ASSERT_EQUAL(seen, LAST_PACKETS * count);
    CU_ASSERT_EQUAL(cop_stream_size(sum), 0);
    CHECK_IS(cop_stream_receive(sum, &packet, COP_FOREVER), -ENODEV);
    CHECK_IS(cop_stream_send(sum, TAG_ECHO, "%d", 1), -ENODEV);
    CHECK_IS(cop_stream_sync(sum, COP_FOREVER, &error), -ENODEV);
    CU_ASSERT(strstr(error.text, "no member") != NULL);
    for (int k = 0; k < count; k++)
        CHECK_OK(tree_await(network, COP_EVENT_BACKEND_LOST, &event));
}

/* The last member is killed while a sync waits for it. */
TEST(the_last_member_dies_in_a_sync)
{
    struct cop_network *network = tree_launch("2x2");
    uint32_t rank = tree_rank(network, 0);
    struct cop_stream *one = tree_open_one(network, rank);
    pid_t pid = tree_pid(network, rank);
    struct cop_error error = {""};

    CHECK_OK(cop_stream_send(one, TAG_STUCK, ""));
    CHECK_IS(cop_stream_sync(one, 50, &error), -ETIMEDOUT);
    CHECK_OK(kill(pid, SIGKILL));
    CHECK_IS(tree_sync(one), -ENODEV);
    CHECK_IS(tree_sync(one), -ENODEV);
    tree_end(network);
}
