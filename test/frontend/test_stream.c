/* test_stream.c - streams of real trees: modes, filters, members, syncs. */
#include "test/frontend/tree.h"

/* A wave of wait_for_all becomes one packet; unfiltered packets come alone. */
TEST_OF_TREES(waves_of_each_mode)
{
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_stream *each = tree_open(network, COP_DO_NOT_WAIT, NULL);
    struct cop_stream *timed = tree_open(network, COP_TIME_OUT, "sum");
    uint32_t count = (uint32_t)cop_stream_size(sum), seen, k;

    for (int wave = 0; wave < 100; wave++)
        CHECK_OK(cop_stream_send(sum, TAG_ECHO, "%d", wave));
    for (int wave = 0; wave < 100; wave++) {
        CU_ASSERT_EQUAL(tree_receive(sum, &seen), wave * (int)count);
        CU_ASSERT_EQUAL(seen, count);
    }
    CHECK_OK(cop_stream_send(each, TAG_ECHO, "%d", 7));
    for (k = 0; k < count; k++) {
        CU_ASSERT_EQUAL(tree_receive(each, &seen), 7);
        CU_ASSERT_EQUAL(seen, 1);
    }
    CHECK_OK(cop_stream_send(timed, TAG_ECHO, "%d", 1));
    for (k = 0; k < count; k += seen) {
        CU_ASSERT_EQUAL(tree_receive(timed, &seen), (int)seen);
        CU_ASSERT_FATAL(seen > 0);
    }
    CU_ASSERT_EQUAL(k, count);
}

/* If the filter cannot take a wave's packets, an event names the wave. */
TEST_OF_TREES(a_filter_error_is_an_event)
{
    struct cop_stream *stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_event event;

    CHECK_OK(cop_stream_send(stream, TAG_TEXT, ""));
    CHECK_OK(tree_await(network, COP_EVENT_FILTER_ERROR, &event));
    CU_ASSERT_EQUAL(event.stream_id, cop_stream_id(stream));
    tree_check_says(event.text, "sum");
}

/* A filter that the front-end or a back-end cannot load: the error names it. */
TEST(a_filter_that_is_missing)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    const struct cop_communicator *all = cop_network_everyone(network);
    struct cop_stream *stream = NULL;
    struct cop_error error = {""};

    options.up_filter = "no_such_filter";
    CHECK_IS(cop_stream_open(&stream, network, all, &options, &error),
             -ELIBBAD);
    tree_check_says(error.text, "node 0|no_such_filter");
    options.up_filter = NULL;
    options.up_filter_backend = "no_such_filter";
    CHECK_IS(cop_stream_open(&stream, network, all, &options, &error),
             -ELIBBAD);
    CU_ASSERT_PTR_NULL(strstr(error.text, "node 0"));
    tree_check_says(error.text, "no_such_filter");
    CU_ASSERT_PTR_NULL(stream);
    /* and the network still works */
    stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    CU_ASSERT_EQUAL(tree_echo(stream, 1), 4);
    tree_end(network);
}

/* Parameters that a filter refuses: the opening fails, with the node and the
 * filter's sentence. New ones are an event, and the old ones stay. */
TEST(parameters_that_are_refused)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    const struct cop_communicator *all = cop_network_everyone(network);
    struct cop_packet *parameters, *packet;
    struct cop_stream *stream = NULL;
    struct cop_error error = {""};
    struct cop_event event;
    double lowest, highest;
    uint64_t *counts;
    uint32_t count;
    unsigned rank = 0;

    options.up_filter = "histogram";
    CHECK_IS(cop_stream_open(&stream, network, all, &options, &error),
             -ELIBBAD);
    CU_ASSERT_EQUAL(sscanf(error.text, "node %u cannot use", &rank), 1);
    CU_ASSERT(rank > 2);
    tree_check_says(error.text, "histogram|parameters must be");
    CHECK_OK(cop_packet_new(&parameters, 0, "%lf %lf %ud", 0., 10., 2u));
    options.parameters = parameters;
    stream = tree_open_with(network, &options);
    cop_packet_free(parameters);
    CHECK_OK(cop_stream_set_parameters(stream, "%s", "wrong"));
    CHECK_OK(tree_await(network, COP_EVENT_FILTER_ERROR, &event));
    tree_check_says(event.text, "parameters must be|stay");
    CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", 3));
    CHECK_OK(cop_stream_receive(stream, &packet, TREE_PATIENCE_MS));
    CHECK_OK(cop_packet_unpack(packet, "%lf %lf %auld", &lowest, &highest,
                               &counts, &count));
    CU_ASSERT_EQUAL(highest, 10.);
    CU_ASSERT_EQUAL(counts[1], 4);
    cop_packet_free(packet);
    tree_end(network);
}

TEST(wrong_options_of_a_stream)
{
    struct cop_network *network = tree_launch("flat:2");
    struct cop_network *other = tree_launch("flat:1");
    const struct cop_communicator *all = cop_network_everyone(network);
    struct cop_stream_options good = COP_STREAM_OPTIONS_INIT, bad;
    struct cop_stream *stream = NULL;
    struct cop_error error;

    bad = good;
    bad.size = 1;
    CHECK_IS(cop_stream_open(&stream, network, all, &bad, &error), -EINVAL);
    bad = good;
    bad.sync = COP_TIME_OUT;
    CHECK_IS(cop_stream_open(&stream, network, all, &bad, &error), -EINVAL);
    tree_check_says(error.text, "wave_timeout_ms");
    bad.sync = (enum cop_sync)9;
    CHECK_IS(cop_stream_open(&stream, network, all, &bad, &error), -EINVAL);
    bad = good;
    bad.wave_timeout_ms = 5;
    CHECK_IS(cop_stream_open(&stream, network, all, &bad, &error), -EINVAL);
    bad = good;
    bad.up_filter = "a/b";
    CHECK_IS(cop_stream_open(&stream, network, all, &bad, &error), -EINVAL);
    tree_check_says(error.text, "a/b");
    bad.up_filter = "";
    CHECK_IS(cop_stream_open(&stream, network, all, &bad, &error), -EINVAL);
    CHECK_IS(cop_stream_open(&stream, other, all, &good, &error), -EINVAL);
    CHECK_IS(cop_stream_open(&stream, network, NULL, &good, &error), -EINVAL);
    CU_ASSERT_PTR_NULL(stream);
    CHECK_OK(cop_stream_open(&stream, network, all, NULL, &error));
    CHECK_IS(cop_stream_send(stream, 5, ""), -EINVAL);
    CHECK_IS(cop_stream_send(stream, TAG_ECHO, "%q", 1), -EINVAL);
    cop_network_free(other);
    tree_end(network);
}

/* A communicator of one back-end reaches only that one, at any depth. */
TEST_OF_TREES(singlecast_and_communicators)
{
    const struct cop_communicator *all = cop_network_everyone(network);
    uint32_t count = (uint32_t)cop_communicator_size(all);
    uint32_t k, ranks[2], seen, none = 0;
    struct cop_communicator *some = NULL;
    struct cop_stream *stream;
    struct cop_error error;

    CHECK_IS(cop_communicator_new(&some, network, &none, 1), -EINVAL);
    CHECK_IS(cop_communicator_new(&some, network, ranks, 0), -EINVAL);
    CU_ASSERT_EQUAL(cop_communicator_rank(all, count), UINT32_MAX);
    for (k = 0; k < count; k++) {
        uint32_t rank = cop_communicator_rank(all, k);

        stream = tree_open_one(network, rank);
        CHECK_OK(cop_stream_send(stream, TAG_RANK, ""));
        CU_ASSERT_EQUAL(tree_receive(stream, &seen), (int)rank);
        CU_ASSERT_EQUAL(seen, 1);
        cop_stream_close(stream);
    }
    ranks[0] = cop_communicator_rank(all, 0);
    ranks[1] = cop_communicator_rank(all, count - 1);
    CHECK_OK(cop_communicator_new(&some, network, ranks, 2));
    CU_ASSERT_EQUAL(cop_communicator_size(some), 2);
    CHECK_OK(cop_stream_open(&stream, network, some, NULL, &error));
    cop_communicator_free(some);
    CHECK_OK(cop_stream_send(stream, TAG_RANK, ""));
    CU_ASSERT_EQUAL(tree_receive(stream, NULL) + tree_receive(stream, NULL),
                    (int)(ranks[0] + ranks[1]));
}

/* Packets of any stream are received in the order of delivery, each once. */
TEST(receive_from_any_stream)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *streams[3], *from;
    struct cop_packet *packet;
    int seen = 0, i;

    for (i = 0; i < 3; i++)
        streams[i] = tree_open(network, COP_WAIT_FOR_ALL, "max");
    for (i = 0; i < 3; i++)
        CHECK_OK(cop_stream_send(streams[i], TAG_ECHO, "%d", i));
    for (i = 0; i < 3; i++) {
        int number, k;

        CHECK_OK(
            cop_network_receive(network, &from, &packet, TREE_PATIENCE_MS));
        CHECK_OK(cop_packet_unpack(packet, "%d", &number));
        for (k = 0; k < 3 && streams[k] != from; k++)
            ;
        CU_ASSERT_EQUAL(k, number);
        seen |= 1 << k;
        cop_packet_free(packet);
    }
    CU_ASSERT_EQUAL(seen, 7);
    CHECK_IS(cop_network_receive(network, NULL, &packet, 0), -EAGAIN);
    CHECK_IS(cop_stream_receive(streams[0], &packet, 1), -EAGAIN);
    CU_ASSERT_PTR_EQUAL(cop_network_stream(network, cop_stream_id(streams[1])),
                        streams[1]);
    CU_ASSERT_PTR_NULL(cop_network_stream(network, 99));
    tree_end(network);
}

/* After a sync, packets of members that have sent unequal numbers are paired
 * again. When the sync returns, everything sent before can be received. */
TEST_OF_TREES(sync_with_unequal_numbers)
{
    const struct cop_communicator *all = cop_network_everyone(network);
    struct cop_stream *stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    uint32_t count = (uint32_t)cop_stream_size(stream), k;
    int expected = 0, round;

    for (k = 0; k < count; k++)
        expected += (int)(cop_communicator_rank(all, k) % 3);
    for (round = 0; round < 5; round++) {
        CHECK_OK(cop_stream_send(stream, TAG_MANY, "%d", 3));
        CHECK_IS(tree_sync(stream), 0);
        CU_ASSERT_EQUAL(tree_take_all(stream), expected);
        tree_check_sum(stream, 1, count);
    }
}

/* A sync takes in more unreceived packets than all windows hold. */
TEST(sync_with_much_to_receive)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *stream = tree_open(network, COP_DO_NOT_WAIT, NULL);
    struct cop_packet *packet;
    size_t bytes = 0;

    for (int i = 0; i < 8; i++)
        CHECK_OK(cop_stream_send(stream, TAG_BYTES, "%d", 1 << 20));
    CHECK_IS(tree_sync(stream), 0);
    while (cop_stream_receive(stream, &packet, 0) == 0) {
        bytes += cop_packet_size(packet);
        cop_packet_free(packet);
    }
    CU_ASSERT(bytes >= (size_t)8 * 4 << 20);
    tree_end(network);
}

/* When sync returns 0, all answers are there, although some members send
 * unasked, and filter calls of another stream come between. */
TEST(sync_of_timed_waves_is_complete)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network = tree_launch_as(launch, "2x4", "chatter");
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_stream *aside = tree_open(network, COP_DO_NOT_WAIT, "count");
    struct cop_stream *stream;

    options.sync = COP_TIME_OUT;
    options.wave_timeout_ms = 20;
    options.up_filter = "sum";
    stream = tree_open_with(network, &options);
    CHECK_OK(cop_stream_send(aside, TAG_RANK, ""));
    CHECK_IS(tree_sync(aside), 0);
    for (int i = 0; i < 200; i++) {
        CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", i));
        CHECK_IS(tree_sync(stream), 0);
        CU_ASSERT_EQUAL(tree_take_all(stream), 8);
        tree_take_all(aside);
    }
    tree_end(network);
}

/* The error of a sync names a member that never receives again. */
TEST(a_sync_names_who_is_missing)
{
    struct cop_network *network = tree_launch("2x2");
    uint32_t rank = tree_rank(network, 2);
    struct cop_stream *all = tree_open(network, COP_DO_NOT_WAIT, NULL);
    struct cop_stream *one = tree_open_one(network, rank);
    struct cop_error error = {""};
    char expected[32];

    CHECK_OK(cop_stream_send(one, TAG_STUCK, ""));
    CHECK_OK(cop_stream_send(all, TAG_ECHO, "%d", 1));
    CHECK_IS(cop_stream_sync(all, 700, &error), -ETIMEDOUT);
    snprintf(expected, sizeof(expected), "rank %u", rank);
    tree_check_says(error.text, expected);
    CHECK_IS(cop_network_shutdown(network, 2000), -ETIMEDOUT);
    tree_free(network);
}
