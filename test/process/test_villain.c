/* test_villain.c - a back-end sends a forbidden frame (PROTOCOL 2.5): an event
 * says so, its link is closed, and all other back-ends stay members. Which
 * frames are forbidden is tested in test/protocol/test_permit.c. */
#include "test/frontend/tree.h"
#include "wire/frame.h"

#define VILLAIN 4 /* of ranks 3 to 10, below commnodes 1 and 2; or 1 to 8 */
#define MEMBERS 8

/* Open a stream to all back-ends but the villain. */
static struct cop_stream *open_others(struct cop_network *network)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_communicator *others;
    struct cop_stream *stream;
    uint32_t ranks[MEMBERS];
    size_t count = 0;

    for (size_t i = 0; i < MEMBERS; i++)
        if (tree_rank(network, i) != VILLAIN)
            ranks[count++] = tree_rank(network, i);
    CHECK_OK(cop_communicator_new(&others, network, ranks, count));
    options.up_filter = "sum";
    stream = tree_open_to(network, others, &options);
    cop_communicator_free(others);
    return stream;
}

/* Take the next event. No node is lost; but the villain, once it is an orphan,
 * may accuse its parent. Returns as cop_network_event(). */
static int take_event(struct cop_network *network,
                      struct cop_event *event,
                      int timeout_ms)
{
    int r = cop_network_event(network, event, timeout_ms);

    CU_ASSERT(r < 0 || (event->type != COP_EVENT_NODE_LOST &&
                        event->type != COP_EVENT_BACKEND_LOST));
    return r;
}

/* The back-end says that the network has ended, which only a parent may say.
 * Its parent cuts it off. Then it is an orphan like any other. */
static void check_offence(const char *shape)
{
    const char end[FRAME_HEADER_LEN] = {[4] = FRAME_END};
    struct cop_network *network = tree_launch(shape);
    struct cop_stream *stream = open_others(network);
    struct cop_stream *single = tree_open_one(network, VILLAIN);
    struct cop_event event = COP_EVENT_INIT;

    CHECK_OK(
        cop_stream_send(single, TAG_SAY, "%ac", end, (uint32_t)sizeof(end)));
    do
        CHECK_OK(take_event(network, &event, TREE_PATIENCE_MS));
    while (event.type != COP_EVENT_NODE_REFUSED);
    CU_ASSERT_EQUAL(event.rank, VILLAIN);
    tree_check_says(event.text, "it broke the protocol: a end frame");
    tree_check_sum(stream, 3, MEMBERS - 1);
    CU_ASSERT_EQUAL(tree_echo(single, 5), 5);
    while (take_event(network, &event, 0) == 0)
        ;
    tree_end(network);
}

TEST(a_back_end_that_breaks_the_protocol_is_cut_off)
{
    check_offence("flat:8");
    check_offence("2x4");
}
