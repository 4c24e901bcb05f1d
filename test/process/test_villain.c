/* test_villain.c - a back-end sends a forbidden frame (PROTOCOL 2.5): an event
 * says so, its link is closed, and all other back-ends stay members. */
#include <stdio.h>

#include "test/frontend/tree.h"

#define VILLAIN "4" /* of ranks 3 to 10, below commnodes 1 and 2; or 1 to 8 */
#define MEMBERS 8

static struct cop_network *launch(const char *shape, const char *offence)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    char program[4096], member[4096];
    char rank[] = VILLAIN;
    char *argv[] = {program, (char *)(uintptr_t)offence, rank, member, NULL};

    snprintf(program, sizeof(program), "%s/test/process/villain",
             getenv("BUILD") ? getenv("BUILD") : ".");
    snprintf(member, sizeof(member), "%s", tree_program("member"));
    launch.backend_argv = argv;
    return tree_launch_as(launch, shape, NULL);
}

/* Open a stream to all back-ends but the villain. */
static struct cop_stream *open_others(struct cop_network *network)
{
    const struct cop_communicator *all = cop_network_everyone(network);
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_communicator *others;
    struct cop_stream *stream;
    uint32_t ranks[MEMBERS];
    size_t count = 0;

    CU_ASSERT_EQUAL_FATAL(cop_communicator_size(all), MEMBERS);
    for (size_t i = 0; i < MEMBERS; i++) {
        uint32_t rank = cop_communicator_rank(all, i);

        if (rank != (uint32_t)atoi(VILLAIN))
            ranks[count++] = rank;
    }
    CHECK_OK(cop_communicator_new(&others, network, ranks, count));
    options.up_filter = "sum";
    stream = tree_open_to(network, others, &options);
    cop_communicator_free(others);
    return stream;
}

/* Check that the event is about the villain. */
static void check_event(const struct cop_event *event)
{
    bool harm = event->rank != (uint32_t)atoi(VILLAIN);

    if (harm)
        printf("\nevent %d of rank %u: %s\n", (int)event->type, event->rank,
               event->text);
    CU_ASSERT_FALSE(harm);
}

/* The other back-ends answer 3, and the sum is right. The one filter state of
 * the villain that is accepted may come first. */
static void check_answer(struct cop_stream *stream)
{
    struct cop_packet *packet;
    bool in_wave = false;
    int sum = 0;

    CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", 3));
    while (!in_wave) {
        CHECK_OK(cop_stream_receive(stream, &packet, TREE_PATIENCE_MS));
        in_wave = !cop_packet_is_compensation(packet);
        if (in_wave) {
            CHECK_OK(cop_packet_unpack(packet, "%d", &sum));
            CU_ASSERT_EQUAL(cop_packet_contributors(packet), MEMBERS - 1);
        }
        cop_packet_free(packet);
    }
    CU_ASSERT_EQUAL(sum, 3 * (MEMBERS - 1));
    CU_ASSERT_EQUAL(cop_stream_size(stream), MEMBERS - 1);
}

static void check_offence(const char *shape, const char *offence)
{
    struct cop_network *network = launch(shape, offence);
    struct cop_stream *stream = open_others(network);
    struct cop_event event = COP_EVENT_INIT;

    do {
        CHECK_OK(cop_network_event(network, &event, TREE_PATIENCE_MS));
        check_event(&event);
    } while (event.type != COP_EVENT_NODE_REFUSED);
    tree_check_says(event.text, "it broke the protocol: a ");
    check_answer(stream);
    while (cop_network_event(network, &event, 0) == 0)
        check_event(&event);
    cop_stream_close(stream);
    tree_end(network);
}

static void check_everywhere(const char *offence)
{
    check_offence("flat:8", offence);
    check_offence("2x4", offence);
}

TEST(it_cannot_say_that_others_are_gone)
{
    check_everywhere("gone");
}

TEST(numbers_do_not_wrap)
{
    check_offence("2x4", "wrap");
}

TEST(it_cannot_say_that_filters_of_others_failed)
{
    check_everywhere("fault");
}

TEST(it_cannot_say_that_others_were_adopted)
{
    check_everywhere("recovered");
}

TEST(it_cannot_change_the_fan_out_of_others)
{
    check_offence("2x4", "fan-out");
}

TEST(only_its_first_filter_state_is_taken)
{
    check_everywhere("compensation");
}
