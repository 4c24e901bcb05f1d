/* test_compose.c - different functions in one tree: f(x) = x + 2 and g(x) = 3x
 * (dissertation, 6.6.5), which neither commute nor associate, by role. With
 * COP_GUARANTEE_WAVES each answer is that composition, whichever commnodes die.
 */
#include "test/frontend/member.h"
#include "test/frontend/nodes.h"
#include "test/frontend/tree.h"

/* Waves before the first death, and after each. */
#define WAVES 20

static struct cop_network *launch(const char *shape)
{
    tree_own_filters();
    return tree_launch(shape);
}

static struct cop_stream *open_composition(struct cop_network *network,
                                           const char *backend,
                                           const char *commnode,
                                           const char *frontend)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;

    options.guarantee = COP_GUARANTEE_WAVES;
    options.up_filter = commnode;
    options.up_filter_backend = backend;
    options.up_filter_frontend = frontend;
    return tree_open_with(network, &options);
}

/* All members answer `number`. */
static int ask(struct cop_stream *stream, int number)
{
    struct cop_packet *packet;
    int answer = 0;

    CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", number));
    CHECK_OK(cop_stream_receive(stream, &packet, TREE_PATIENCE_MS));
    CHECK_OK(cop_packet_unpack(packet, "%d", &answer));
    cop_packet_free(packet);
    return answer;
}

static void check_answers(struct cop_stream *sum_first,
                          struct cop_stream *sum_last,
                          int members)
{
    for (int number = 1; number <= WAVES; number++) {
        CU_ASSERT_EQUAL(ask(sum_first, number), 3 * members * number + 2);
        CU_ASSERT_EQUAL(ask(sum_last, number), 3 * members * (number + 2));
    }
}

/* f after g, and g after f, each once on the way of each value: at back-ends and
 * at the front-end. Every commnode is killed. */
TEST(roles_give_the_same_answer_in_every_tree)
{
    struct cop_network *network = launch("2x2x2");
    struct cop_stream *f_of_g =
        open_composition(network, "times_three", "sum", "plus_two");
    struct cop_stream *g_of_f =
        open_composition(network, "plus_two", "sum", "times_three");
    pid_t commnodes[NODES_MAX];
    size_t count = nodes_all(commnodes);

    CU_ASSERT_EQUAL_FATAL(count, 6);
    check_answers(f_of_g, g_of_f, 8);
    for (size_t i = 0; i < count; i++) {
        CHECK_OK(kill(commnodes[i], SIGKILL));
        check_answers(f_of_g, g_of_f, 8);
    }
    CHECK_IS(tree_sync(f_of_g), 0);
    CHECK_IS(tree_sync(g_of_f), 0);
    tree_end(network);
}

/* A function of commnodes is applied once at each commnode between member and
 * front-end: the answer depends on the tree. */
TEST(commnodes_apply_theirs_as_often_as_there_are_some)
{
    struct cop_network *network = launch("2x2");
    struct cop_stream *stream =
        open_composition(network, "none", "plus_two", "times_three");
    pid_t commnodes[NODES_MAX];
    struct cop_event event;

    CU_ASSERT_EQUAL_FATAL(nodes_all(commnodes), 2);
    CU_ASSERT_EQUAL(ask(stream, 5), 3 * (4 * 5 + 2 * 2));
    for (int i = 0; i < 2; i++)
        CHECK_OK(kill(commnodes[i], SIGKILL));
    for (int i = 0; i < 4; i++)
        CHECK_OK(tree_await(network, COP_EVENT_NODE_ADOPTED, &event));
    CU_ASSERT_EQUAL(ask(stream, 5), 3 * 4 * 5);
    tree_end(network);
}
