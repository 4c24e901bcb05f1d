/* test_slow.c - filters that take their time. */
#include "test/frontend/dawdle.h"
#include "test/frontend/tree.h"

/* Open a stream with the filter "dawdle": calls at node `rank` take `ms`. */
static struct cop_stream *open_slow(struct cop_network *network,
                                    uint32_t rank,
                                    uint32_t ms)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_packet *parameters;
    struct cop_stream *stream = NULL;
    struct cop_error error = {""};
    int r;

    CHECK_OK(cop_packet_new(&parameters, 0, "%ud %ud", rank, ms));
    options.up_filter = "dawdle";
    options.parameters = parameters;
    r = cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error);
    if (r < 0)
        printf("\nopen: %s\n", error.text);
    CHECK_OK(r);
    cop_packet_free(parameters);
    return stream;
}

/* The next event is waited for by no one: there is none. */
static void expect_no_event(struct cop_network *network)
{
    struct cop_event event = COP_EVENT_INIT;
    int r = cop_network_event(network, &event, 0);

    if (r == 0)
        printf("\nevent %d, rank %u: %s\n", (int)event.type, event.rank,
               event.text);
    CHECK_IS(r, -EAGAIN);
}

/* Waves queue up before a filter, and all of its calls together take twice the
 * failure time-out: the sockets are looked at in between, no node is taken for
 * dead, and every packet arrives (PROTOCOL 5.1). */
static void short_calls_that_queue_up(void)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_error error;
    uint32_t seen;
    int i;

    launch.times.heartbeat_ms = 200;
    launch.times.failure_timeout_ms = 2000;
    network = tree_launch_as(launch, "2x2", NULL);
    stream = open_slow(network, DAWDLE_EVERYWHERE, 10);
    for (i = 0; i < 400; i++)
        CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", i));
    for (i = 0; i < 400; i++) {
        CU_ASSERT_EQUAL(tree_receive(stream, &seen), 4 * i);
        CU_ASSERT_EQUAL(seen, 4);
    }
    CHECK_IS(cop_stream_sync(stream, TREE_PATIENCE_MS, &error), 0);
    expect_no_event(network);
    tree_end(network);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"short calls that queue up", short_calls_that_queue_up},
        CU_TEST_INFO_NULL,
    };

    tree_own_filters();
    return check_run("slow", tests);
}
