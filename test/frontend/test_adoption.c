/* test_adoption.c - commnodes that die or stand still while back-ends send. */
#include "test/frontend/nodes.h"
#include "test/frontend/tree.h"

/* Numbers that one back-end sends in these tests, at most. */
#define NUMBERS_MAX 2000

/* A network whose back-ends send, and what came of it. */
struct feeding {
    struct cop_network *network;
    struct cop_stream *stream;
    size_t members;         /* at the beginning */
    int count;              /* numbers from each */
    int rate;               /* in a second */
    size_t packets;         /* that came */
    size_t seen;            /* different numbers that came */
    unsigned char *is_seen; /* by member, then by index */
    size_t lost;            /* events */
    size_t adopted;         /* commnodes */
    size_t moved;           /* back-ends */
    size_t members_lost;
};

static void feeding_begin(struct feeding *feeding,
                          const char *shape,
                          const struct cop_times *times,
                          int count,
                          int rate)
{
    memset(feeding, 0, sizeof(*feeding));
    feeding->network = tree_launch_timed(shape, times);
    feeding->stream =
        tree_open(feeding->network, COP_WAIT_FOR_ALL, "int_union");
    feeding->members =
        cop_communicator_size(cop_network_everyone(feeding->network));
    feeding->count = count;
    feeding->rate = rate;
    feeding->is_seen = calloc(feeding->members, NUMBERS_MAX);
    CU_ASSERT_FATAL(feeding->is_seen && count <= NUMBERS_MAX);
    CHECK_OK(cop_stream_send(feeding->stream, TAG_FEED, "%d %d", count, rate));
}

/* The place of a number that a member has sent; the test ends at another. */
static unsigned char *place_of(struct feeding *feeding, int32_t number)
{
    const struct cop_communicator *all = cop_network_everyone(feeding->network);
    uint32_t first = cop_communicator_rank(all, 0);
    uint32_t rank = (uint32_t)number / (uint32_t)member_number(1, 0);
    int index = number - member_number(rank, 0);

    CU_ASSERT_FATAL(rank >= first && rank - first < feeding->members);
    CU_ASSERT_FATAL(index < feeding->count);
    return &feeding->is_seen[(rank - first) * NUMBERS_MAX + (size_t)index];
}

static void take_packet(struct feeding *feeding,
                        const struct cop_packet *packet)
{
    const int32_t *numbers;
    unsigned char *place;
    uint32_t count, i;

    CHECK_OK(cop_packet_unpack(packet, "%ad", &numbers, &count));
    feeding->packets++;
    for (i = 0; i < count; i++) {
        place = place_of(feeding, numbers[i]);
        feeding->seen += !*place;
        *place = 1;
    }
}

/* What was measured fits together. */
static void take_adoption(struct feeding *feeding,
                          const struct cop_event *event)
{
    const struct cop_communicator *all = cop_network_everyone(feeding->network);
    const struct cop_recovery *recovery = &event->recovery;
    bool is_member = event->rank >= cop_communicator_rank(all, 0);

    feeding->adopted += !is_member;
    feeding->moved += is_member;
    CU_ASSERT(event->parent < cop_communicator_rank(all, 0));
    if (recovery->attempts == 0) {
        CU_ASSERT_FALSE(is_member); /* it was taken for dead, and lives */
        CU_ASSERT_EQUAL(recovery->overall_us, 0);
        return;
    }
    CU_ASSERT(recovery->connect_us > 0);
    CU_ASSERT(recovery->choose_us + recovery->connect_us +
                  recovery->compensate_us + recovery->cleanup_us <=
              recovery->overall_us);
    CU_ASSERT(recovery->overall_us < UINT64_C(1000) * TREE_PATIENCE_MS);
}

static void take_event(struct feeding *feeding, const struct cop_event *event)
{
    feeding->lost += event->type == COP_EVENT_NODE_LOST;
    if (event->type == COP_EVENT_NODE_ADOPTED)
        take_adoption(feeding, event);
    feeding->members_lost += event->type == COP_EVENT_BACKEND_LOST;
}

/* Take what has come, waiting for the first packet up to `timeout_ms`. */
static void take_all(struct feeding *feeding, int timeout_ms)
{
    struct cop_event event = COP_EVENT_INIT;
    struct cop_packet *packet;

    while (cop_stream_receive(feeding->stream, &packet, timeout_ms) == 0) {
        take_packet(feeding, packet);
        cop_packet_free(packet);
        timeout_ms = 0;
    }
    while (cop_network_event(feeding->network, &event, 0) == 0)
        take_event(feeding, &event);
}

/* Wait until `count` packets more have come. */
static void await_packets(struct feeding *feeding, size_t count)
{
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;

    count += feeding->packets;
    while (feeding->packets < count && tree_now_ms() < deadline_ms)
        take_all(feeding, 100);
    CU_ASSERT_FATAL(feeding->packets >= count);
}

/* Wait until so many deaths, and adoptions of commnodes, were told. */
static void await_events(struct feeding *feeding, size_t lost, size_t adopted)
{
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;

    while ((feeding->lost < lost || feeding->adopted < adopted) &&
           tree_now_ms() < deadline_ms)
        take_all(feeding, 20);
    CU_ASSERT_FATAL(feeding->lost >= lost && feeding->adopted >= adopted);
}

/* Wait until so many back-ends have said that they have moved. */
static void await_moves(struct feeding *feeding, size_t moved)
{
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;

    while (feeding->moved < moved && tree_now_ms() < deadline_ms)
        take_all(feeding, 20);
    CU_ASSERT_EQUAL_FATAL(feeding->moved, moved);
}

/* Everybody has sent all: is the front-end's set the union of it? Then the
 * network ends, and leaves nothing. */
static void feeding_end(struct feeding *feeding)
{
    const struct cop_communicator *all = cop_network_everyone(feeding->network);
    size_t wanted = feeding->members * (size_t)feeding->count;
    struct cop_error error = {""};
    int r;

    r = cop_stream_sync(feeding->stream, 2 * TREE_PATIENCE_MS, &error);
    if (r < 0)
        printf("\nsync: %s\n", error.text);
    CHECK_IS(r, 0);
    take_all(feeding, 0);
    if (feeding->seen != wanted)
        printf("\n%zu of %zu numbers came\n", feeding->seen, wanted);
    CU_ASSERT_EQUAL(feeding->seen, wanted);
    CU_ASSERT_EQUAL(cop_communicator_size(all), feeding->members);
    CU_ASSERT_EQUAL(feeding->members_lost, 0);
    tree_end(feeding->network);
    free(feeding->is_seen);
}

/* Shapes, and how fast back-ends send. */
static const struct {
    const char *shape;
    int count;
    int rate;
    size_t below; /* back-ends of a commnode of the last level */
} loads[] = {
    {"2x2x2", 20, 10, 2},   {"2x2x2", 1000, 1000, 2}, {"4x4", 20, 10, 4},
    {"4x4", 1000, 1000, 4}, {"8x8", 20, 10, 8},       {"8x8", 500, 1000, 8},
};
#define LOADS (sizeof(loads) / sizeof(*loads))

static void begin_load(struct feeding *feeding, size_t i)
{
    feeding_begin(feeding, loads[i].shape, NULL, loads[i].count, loads[i].rate);
    await_packets(feeding, 2);
}

/* One commnode of the last level is killed while they send. */
static void one_is_killed(void)
{
    struct feeding feeding;
    pid_t nodes[NODES_MAX];
    size_t i;

    for (i = 0; i < LOADS; i++) {
        begin_load(&feeding, i);
        CHECK_OK(kill(nodes[nodes_all(nodes) - 1], SIGKILL));
        await_events(&feeding, 1, 0);
        await_moves(&feeding, loads[i].below);
        feeding_end(&feeding);
        CU_ASSERT_EQUAL(feeding.lost, 1);
        CU_ASSERT_EQUAL(feeding.adopted, 0);
        CU_ASSERT_EQUAL(feeding.moved, loads[i].below);
    }
}

/* One of the first level of three: below it is a whole subtree. */
static void one_with_a_subtree_is_killed(void)
{
    struct feeding feeding;
    pid_t nodes[NODES_MAX];
    size_t i;

    for (i = 0; i < 2; i++) {
        begin_load(&feeding, i);
        nodes_all(nodes);
        CHECK_OK(kill(nodes[0], SIGKILL));
        await_events(&feeding, 1, 2);
        feeding_end(&feeding);
        CU_ASSERT_EQUAL(feeding.lost, 1);
    }
}

static void two_siblings_at_once(void)
{
    struct feeding feeding;
    pid_t nodes[NODES_MAX];
    size_t count, i;

    for (i = 0; i < LOADS; i++) {
        begin_load(&feeding, i);
        count = nodes_all(nodes);
        CU_ASSERT_FATAL(count >= 2);
        CHECK_OK(kill(nodes[count - 1], SIGKILL));
        CHECK_OK(kill(nodes[count - 2], SIGKILL));
        await_events(&feeding, 2, 0);
        feeding_end(&feeding);
        CU_ASSERT_EQUAL(feeding.lost, 2);
    }
}

static void parent_and_child_at_once(void)
{
    struct feeding feeding;
    pid_t nodes[NODES_MAX], below[NODES_MAX];
    size_t i;

    for (i = 0; i < 2; i++) { /* those with three levels */
        begin_load(&feeding, i);
        nodes_all(nodes);
        CU_ASSERT_FATAL(nodes_below(nodes[0], below) == 2);
        CHECK_OK(kill(below[0], SIGKILL));
        CHECK_OK(kill(nodes[0], SIGKILL));
        await_events(&feeding, 2, 1);
        feeding_end(&feeding);
        CU_ASSERT_EQUAL(feeding.lost, 2);
    }
}

/* In the end the front-end is everybody's parent. */
static void every_commnode_after_another(void)
{
    struct feeding feeding;
    pid_t nodes[NODES_MAX];
    size_t count, i, k;

    for (i = 0; i < 4; i++) {
        begin_load(&feeding, i);
        count = nodes_all(nodes);
        for (k = 0; k < count; k++) {
            CHECK_OK(kill(nodes[k], SIGKILL));
            await_events(&feeding, k + 1, 0);
        }
        feeding_end(&feeding);
        CU_ASSERT_EQUAL(feeding.lost, count);
    }
}

/* One commnode is stopped for longer than `failure_timeout`: its children find
 * other parents. When it goes on it hurts nobody. */
static void one_stands_still(void)
{
    static const struct cop_times times = {
        .heartbeat_ms = 100,
        .failure_timeout_ms = 1000,
    };
    struct feeding feeding;
    pid_t nodes[NODES_MAX];
    size_t i, level;

    for (i = 0; i < 2; i++)
        for (level = 0; level < 2; level++) {
            feeding_begin(&feeding, loads[i].shape, &times, loads[i].count,
                          loads[i].rate);
            await_packets(&feeding, 2);
            CU_ASSERT_EQUAL_FATAL(nodes_all(nodes), 6);
            CHECK_OK(kill(nodes[level ? 5 : 0], SIGSTOP));
            await_events(&feeding, 1, level ? 0 : 2);
            CHECK_OK(kill(nodes[level ? 5 : 0], SIGCONT));
            feeding_end(&feeding);
        }
}

/* A commnode is killed, and at once the network is shut down. */
static void a_shutdown_in_the_middle(void)
{
    struct feeding feeding;
    pid_t nodes[NODES_MAX];
    size_t i;

    for (i = 0; i < LOADS; i += 2) {
        begin_load(&feeding, i);
        nodes_all(nodes);
        CHECK_OK(kill(nodes[0], SIGKILL));
        cop_network_shutdown(feeding.network, 10000);
        cop_network_free(feeding.network);
        CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
        free(feeding.is_seen);
    }
}

/* The front-end is killed when it has children that it has not started. */
static void the_frontend_is_killed(void)
{
    pid_t nodes[NODES_MAX];
    int ready[2];
    uint64_t begin_ms;
    char byte;
    pid_t pid;

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    CHECK_OK(pipe(ready));
    pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        struct feeding feeding;

        feeding_begin(&feeding, "2x2x2", NULL, 1000, 1000);
        await_packets(&feeding, 2);
        nodes_all(nodes);
        kill(nodes[0], SIGKILL);
        await_events(&feeding, 1, 2);
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            take_all(&feeding, 100);
    }
    close(ready[1]);
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    begin_ms = tree_now_ms();
    CHECK_OK(kill(pid, SIGKILL));
    CU_ASSERT(tree_is_clean(5000));
    CU_ASSERT(tree_now_ms() - begin_ms <= 1000);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"one is killed", one_is_killed},
        {"one with a subtree is killed", one_with_a_subtree_is_killed},
        {"two siblings at once", two_siblings_at_once},
        {"parent and child at once", parent_and_child_at_once},
        {"every commnode, one after another", every_commnode_after_another},
        {"one stands still", one_stands_still},
        {"a shutdown in the middle", a_shutdown_in_the_middle},
        {"the front-end is killed", the_frontend_is_killed},
        CU_TEST_INFO_NULL,
    };

    return check_run("adoption", tests);
}
