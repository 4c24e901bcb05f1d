/* test_poison.c - a packet that crashes its filter (PROTOCOL 11.5). */
#include "test/frontend/poison.h"
#include "test/frontend/tree.h"

/* Commnodes 1 to 3, back-ends 4 to 9. */
#define SHAPE   "3x2"
#define MEMBERS 6

/* Open a stream with this filter to the two back-ends below commnode 1. */
static struct cop_stream *open_poison(struct cop_network *network)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    uint32_t ranks[] = {tree_rank(network, 0), tree_rank(network, 1)};
    struct cop_communicator *members = NULL;
    struct cop_stream *stream;

    options.up_filter = "poison";
    options.guarantee = COP_GUARANTEE_COMPENSATION;
    CHECK_OK(cop_communicator_new(&members, network, ranks, 2));
    stream = tree_open_to(network, members, &options);
    cop_communicator_free(members);
    CU_ASSERT(cop_stream_guarantee(stream, NULL) == COP_GUARANTEE_COMPENSATION);
    return stream;
}

/* The texts that the event has for each way to die. */
static const char *const says[POISON_COUNT] = {
    [POISON_FAULT] = "signal 11", [POISON_ABORT] = "signal 6",
    [POISON_EXIT] = "exit()",     [POISON_STACK] = "signal 11",
    [POISON_HEAP] = "signal 6",   [POISON_RAISE] = "signal 11",
};

/* Wait until commnode 1 is lost and its two children are adopted. No other node
 * may die. Returns how many streams have failed. */
static int expect_healing(struct cop_network *network, struct cop_event *failed)
{
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    struct cop_event event = COP_EVENT_INIT;
    int lost = 0, adopted = 0, count = 0;

    while (lost < 1 || adopted < 2) {
        CU_ASSERT_FATAL(tree_now_ms() < deadline_ms);
        CHECK_OK(cop_network_event(network, &event, TREE_PATIENCE_MS));
        lost += event.type == COP_EVENT_NODE_LOST;
        adopted += event.type == COP_EVENT_NODE_ADOPTED;
        CU_ASSERT_NOT_EQUAL(event.type, COP_EVENT_BACKEND_LOST);
        if (event.type == COP_EVENT_NODE_LOST)
            CU_ASSERT_EQUAL(event.rank, 1);
        if (event.type == COP_EVENT_STREAM_FAILED) {
            *failed = event;
            count++;
        }
    }
    return count;
}

static void check_death(enum poison how)
{
    struct cop_network *network = tree_launch(SHAPE);
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_stream *stream = open_poison(network);
    struct cop_event event = COP_EVENT_INIT;
    struct cop_error error = {""};
    struct cop_packet *packet;

    CU_ASSERT_EQUAL(tree_echo(stream, 7), 7);
    CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", POISON + (int)how));
    CHECK_IS(cop_stream_receive(stream, &packet, TREE_PATIENCE_MS), -EIO);
    CU_ASSERT_EQUAL(expect_healing(network, &event), 1);
    CU_ASSERT_EQUAL(event.rank, 1);
    CU_ASSERT_EQUAL(event.stream_id, cop_stream_id(stream));
    tree_check_says(event.text, says[how]);
    tree_check_says(event.text, "in wave 2 of epoch 0");
    CHECK_IS(cop_stream_send(stream, TAG_ECHO, "%d", 1), -EIO);
    CHECK_IS(cop_stream_sync(stream, 0, &error), -EIO);
    tree_check_says(error.text, "COP_EVENT_STREAM_FAILED");
    cop_stream_close(stream);
    tree_check_sum(sum, 1, MEMBERS);
    stream = open_poison(network); /* a new stream works */
    CU_ASSERT_EQUAL(tree_echo(stream, 8), 8);
    CHECK_IS(tree_sync(stream), 0);
    tree_end(network);
}

/* The packed states of the orphans would crash each adopter, and then the tool.
 * Only one node dies: an event names the node, the wave and the crash. */
TEST(one_node_dies_of_a_crash)
{
    for (int how = 0; how < POISON_COUNT; how++) {
#ifdef __SANITIZE_ADDRESS__ /* AddressSanitizer ends the process by itself */
        if (how == POISON_HEAP)
            continue;
#endif
        check_death((enum poison)how);
    }
}

/* Node 1 dies in a call, but not by its filter: the stream loses nothing. */
static void check_goes_on(struct cop_network *network,
                          struct cop_stream *stream,
                          int value)
{
    struct cop_event event = COP_EVENT_INIT;
    struct cop_packet *packet = NULL;
    int number = 0;

    CU_ASSERT_EQUAL(expect_healing(network, &event), 0);
    CHECK_IS(tree_sync(stream), 0);
    CHECK_OK(cop_stream_state(stream, &packet, TREE_PATIENCE_MS));
    CHECK_OK(cop_packet_unpack(packet, "%d", &number));
    CU_ASSERT_EQUAL(number, value);
    cop_packet_free(packet);
    tree_end(network);
}

/* SIGKILL, as when the kernel is out of memory. */
TEST(a_kill_is_no_crash)
{
    struct cop_network *network = tree_launch(SHAPE);
    struct cop_stream *stream = open_poison(network);

    CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", POISON + POISON_KILL));
    check_goes_on(network, stream, POISON + POISON_KILL);
}

/* Another process sends the signal of a crash in the middle of a call. */
TEST(a_signal_from_outside_is_no_crash)
{
    struct cop_network *network = tree_launch(SHAPE);
    struct cop_stream *stream = open_poison(network);
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    pid_t nodes[NODES_MAX];
    char path[64];

    CU_ASSERT_FATAL(nodes_below(getpid(), nodes) == 3);
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)nodes[0]);
    CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", POISON + POISON_STOP));
    while (tree_state(path) != 'T') {
        CU_ASSERT_FATAL(tree_now_ms() < deadline_ms);
        tree_pause();
    }
    CHECK_OK(kill(nodes[0], SIGSEGV));
    CHECK_OK(kill(nodes[0], SIGCONT));
    check_goes_on(network, stream, POISON + POISON_STOP);
}

/* Let AddressSanitizer leave crash signals to the program. */
static void sanitizer_ignores_crashes(void)
{
    const char *options = getenv("ASAN_OPTIONS");
    char text[1024];

    snprintf(text, sizeof(text),
             "%s:handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:"
             "handle_sigill=0:use_sigaltstack=0",
             options ? options : "");
    setenv("ASAN_OPTIONS", text, 1);
}

int main(void)
{
    sanitizer_ignores_crashes();
    tree_own_filters();
    return check_run("poison");
}
