/* test_exact.c - streams of whole waves over real processes (PROTOCOL 16). */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/frontend/tree.h"

/* The next wave is the `index`-th hash of each of `ranks`, added up. */
static void check_wave(struct cop_stream *stream,
                       const uint32_t *ranks,
                       size_t count,
                       uint32_t index)
{
    struct cop_packet *packet;
    uint64_t sum = 0, want = 0;

    for (size_t i = 0; i < count; i++)
        want += member_hash(ranks[i], index);
    CHECK_OK(cop_stream_receive(stream, &packet, TREE_PATIENCE_MS));
    CHECK_OK(cop_packet_unpack(packet, "%uld", &sum));
    CU_ASSERT_EQUAL(sum, want);
    CU_ASSERT_EQUAL(cop_packet_contributors(packet), count);
    CU_ASSERT(!cop_packet_is_late(packet));
    cop_packet_free(packet);
}

/* A back-end is killed: later waves do not include it, and none is wrong. */
TEST(a_backend_is_killed)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *stream =
        tree_open_as(network, COP_GUARANTEE_WAVES, "sum", 0);
    pid_t victim = tree_pid(network, tree_rank(network, 0));
    uint32_t ranks[4];
    struct cop_event event;

    for (size_t i = 0; i < 4; i++)
        ranks[i] = tree_rank(network, i);
    CHECK_OK(cop_stream_send(stream, TAG_HASHES, "%d", 1));
    check_wave(stream, ranks, 4, 0);
    CHECK_OK(kill(victim, SIGKILL));
    CHECK_OK(tree_await(network, COP_EVENT_BACKEND_LOST, &event));
    CHECK_OK(cop_stream_send(stream, TAG_HASHES, "%d", 10));
    for (uint32_t index = 1; index <= 10; index++)
        check_wave(stream, ranks + 1, 3, index);
    CHECK_IS(tree_sync(stream), 0);
    tree_end(network);
}

/* A back-end that leaves stays until all its packets have been accepted. */
TEST(a_backend_leaves)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *stream =
        tree_open_as(network, COP_GUARANTEE_WAVES, "sum", 0);
    struct cop_stream *one = tree_open_one(network, tree_rank(network, 0));
    struct cop_event event;
    uint32_t ranks[4];

    for (size_t i = 0; i < 4; i++)
        ranks[i] = tree_rank(network, i);
    CHECK_OK(cop_stream_send(stream, TAG_HASHES, "%d", 50));
    CHECK_OK(cop_stream_send(one, TAG_GO, ""));
    for (uint32_t index = 0; index < 50; index++)
        check_wave(stream, ranks, 4, index);
    CHECK_OK(tree_await(network, COP_EVENT_BACKEND_LOST, &event));
    CU_ASSERT_EQUAL(event.rank, ranks[0]);
    CHECK_OK(cop_stream_send(stream, TAG_HASHES, "%d", 1));
    check_wave(stream, ranks + 1, 3, 50);
    tree_end(network);
}

/* The network ends while a back-end leaves, and its packet is in no whole wave:
 * it is told that not everything was accepted. */
TEST(a_backend_that_leaves_too_late_is_told)
{
    struct cop_network *network = tree_launch("flat:2");
    struct cop_stream *stream =
        tree_open_as(network, COP_GUARANTEE_WAVES, "sum", 0);
    struct cop_stream *first = tree_open_one(network, tree_rank(network, 0));
    struct cop_stream *other = tree_open_one(network, tree_rank(network, 1));
    char folder[] = "/tmp/coppice-end-XXXXXX", path[64];
    int leave = 0, end = 0;
    FILE *file;

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/results", folder);
    CHECK_OK(mkfifo(path, 0600));
    CHECK_OK(cop_stream_send(other, TAG_STUCK, ""));
    CHECK_OK(cop_stream_send(stream, TAG_HASHES, "%d", 1));
    CHECK_OK(cop_stream_send(first, TAG_END, "%s", path));
    file = fopen(path, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fscanf(file, "%d", &leave), 1);
    CHECK_IS(leave, -ETIMEDOUT);
    CHECK_IS(cop_network_shutdown(network, 1000), -ETIMEDOUT);
    CU_ASSERT_EQUAL(fscanf(file, "%d", &end), 1);
    CHECK_IS(end, -ETIMEDOUT);
    fclose(file);
    CHECK_OK(unlink(path));
    CHECK_OK(rmdir(folder));
    tree_free(network);
}

/* Calls that only the other role, or only other streams, may make. */
TEST(calls_that_do_not_fit)
{
    struct cop_network *network = tree_launch("flat:2");
    struct cop_stream *plain = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_error error;

    CHECK_IS(cop_stream_unfinal(plain, NULL, NULL), -EPERM);
    CHECK_IS(cop_network_leave(network, 0, &error), -EPERM);
    tree_end(network);
}
