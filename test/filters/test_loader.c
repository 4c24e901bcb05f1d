/* test_loader.c - the filters of one node: input, output, failures. */
#include "filters/loader.h"

#include <errno.h>

#include "test/check.h"
#include "test/filters/echo.h"
#include "wire/packet.h"

#define INPUTS_MAX 8

static char path[8192]; /* the built-in filters, then the tests' filters */

/* A loader, and a call with its packets. */
struct bench {
    struct loader *loader;
    struct loader_node node;
    struct node_call call;
    struct frame inputs[INPUTS_MAX];
    uint32_t inlets[INPUTS_MAX];
    struct loader_output output;
};

static void bench_init(struct bench *bench, const char *up, const char *down)
{
    struct stream_definition definition = {
        .up_filter = (char *)up,
        .down_filter = (char *)down,
    };

    memset(bench, 0, sizeof(*bench));
    bench->node =
        (struct loader_node){.role = NODE_COMMNODE, .rank = 3, .depth = 2};
    bench->call = (struct node_call){
        .upward = true,
        .inputs = bench->inputs,
        .inlets = bench->inlets,
    };
    CHECK_OK(
        loader_new(&bench->loader, &definition, NODE_COMMNODE, path, NULL));
}

static void bench_clear(struct bench *bench)
{
    while (bench->call.input_count > 0)
        frame_fini(&bench->inputs[--bench->call.input_count]);
}

static void bench_fini(struct bench *bench)
{
    bench_clear(bench);
    loader_output_fini(&bench->output);
    loader_free(bench->loader);
}

/* Add `packet` (taken) to the wave, from rank 10, 11, ... */
static void add_packet(struct bench *bench, struct cop_packet *packet)
{
    size_t i = bench->call.input_count++;

    bench->inputs[i] = frame_ref(packet_frame(packet));
    bench->inlets[i] = 10 + (uint32_t)i;
    cop_packet_free(packet);
}

static void put_int(struct bench *bench, int32_t tag, int32_t value)
{
    struct cop_packet *packet;

    CHECK_OK(cop_packet_new(&packet, tag, "%d", value));
    add_packet(bench, packet);
}

static void put_ints(struct bench *bench, int32_t *values, uint32_t count)
{
    struct cop_packet *packet;

    CHECK_OK(cop_packet_new(&packet, 1, "%ad", values, count));
    add_packet(bench, packet);
}

/* Run a wave of the added packets, and clear it. */
static int run_wave(struct bench *bench)
{
    int r =
        loader_call(bench->loader, &bench->call, &bench->node, &bench->output);

    bench_clear(bench);
    return r;
}

/* Returns the packet of an output frame; the frame stays in place. */
static struct cop_packet *open_frame(const struct frame *frame)
{
    struct frame copy = frame_ref(frame);
    struct cop_packet *packet;

    CHECK_OK(packet_from_frame(&packet, &copy));
    return packet;
}

/* Whether the array in `frame` has exactly these members. */
static bool has_ints(const struct frame *frame, const int *values, uint32_t n)
{
    struct cop_packet *packet = open_frame(frame);
    const int32_t *found;
    uint32_t count;
    bool has;

    CHECK_OK(cop_packet_unpack(packet, "%ad", &found, &count));
    has = count == n && memcmp(found, values, n * sizeof(*found)) == 0;
    cop_packet_free(packet);
    return has;
}

static int32_t read_int(const struct frame *frame)
{
    struct cop_packet *packet = open_frame(frame);
    int32_t value;

    CHECK_OK(cop_packet_unpack(packet, "%d", &value));
    cop_packet_free(packet);
    return value;
}

#define HAS(frame, ...)                                                        \
    has_ints(frame, (const int[]){__VA_ARGS__},                                \
             sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

/* PROTOCOL 5.2: the filter gets all facts of the call. */
TEST(a_filter_is_told_the_facts)
{
    static const uint32_t expected[8] = {3, 2, 5, 17, 99, 0, 0, 1};
    struct cop_packet *packet;
    struct bench bench;
    const uint32_t *facts;
    const uint32_t *inlets;
    uint32_t count;
    int32_t parameter;
    int32_t waves;

    bench_init(&bench, "echo", "");
    bench.call.child_count = 5;
    bench.call.contributors = 17;
    bench.call.sequence = UINT64_C(4) << PACKET_WAVE_BITS | 99;
    put_int(&bench, ECHO_SHOW, 0);
    put_int(&bench, ECHO_SHOW, 0);
    CHECK_OK(run_wave(&bench));
    CU_ASSERT_EQUAL_FATAL(bench.output.up_count, 1);
    CU_ASSERT_EQUAL(bench.output.down_count, 0);
    CU_ASSERT_EQUAL(bench.output.up[0].origin, 3);
    CU_ASSERT_EQUAL(bench.output.up[0].tag, ECHO_SHOW);
    packet = open_frame(&bench.output.up[0]);
    CHECK_OK(cop_packet_unpack(packet, "%aud %aud %d %d", &facts, &count,
                               &inlets, &count, &parameter, &waves));
    CU_ASSERT_EQUAL(memcmp(facts, expected, sizeof(expected)), 0);
    CU_ASSERT(inlets[0] == 10 && inlets[1] == RANK_NONE);
    CU_ASSERT(parameter == 0 && waves == 1);
    cop_packet_free(packet);
    bench_fini(&bench);
}

/* The filter gets new parameters from the next call on. */
TEST(parameters_reach_the_filter)
{
    struct cop_packet *packet;
    struct payload *payload;
    struct bench bench;
    const uint32_t *array;
    uint32_t count;
    int32_t parameter;
    int32_t waves;

    bench_init(&bench, "echo", "");
    for (int i = 1; i <= 3; i++) {
        CHECK_OK(packet_pack(&payload, "%d", 100 * i));
        bench.call.parameters = payload;
        put_int(&bench, ECHO_SHOW, 0);
        CHECK_OK(run_wave(&bench));
        payload_free(payload);
        packet = open_frame(&bench.output.up[0]);
        CHECK_OK(cop_packet_unpack(packet, "%aud %aud %d %d", &array, &count,
                                   &array, &count, &parameter, &waves));
        CU_ASSERT(parameter == 100 * i && waves == i);
        cop_packet_free(packet);
    }
    bench_fini(&bench);
}

/* PROTOCOL 5.3: a failed call has a text that names the filter, and no output.
 * The first text is kept. */
TEST(a_failed_call_has_a_text)
{
    struct bench bench;

    bench_init(&bench, "echo", "");
    put_int(&bench, ECHO_FAIL, 0);
    CHECK_IS(run_wave(&bench), -EPROTO);
    CU_ASSERT_STRING_EQUAL(bench.output.text, "echo: told to fail, 42");
    CU_ASSERT_EQUAL(bench.output.up_count, 0);
    put_int(&bench, ECHO_ERROR, 0);
    CHECK_IS(run_wave(&bench), -EIO);
    CU_ASSERT_STRING_EQUAL(bench.output.text,
                           "echo: filter: Input/output error");
    put_int(&bench, ECHO_POSITIVE, 0);
    CHECK_IS(run_wave(&bench), -EINVAL);
    CU_ASSERT_STRING_EQUAL(bench.output.text,
                           "echo: filter returned 5; it may return 0 or a "
                           "negative errno");
    CU_ASSERT_EQUAL(bench.output.up_count, 0);
    put_int(&bench, ECHO_SHOW, 0);
    CHECK_OK(run_wave(&bench));
    CU_ASSERT_STRING_EQUAL(bench.output.text, "");
    CU_ASSERT_EQUAL(bench.output.up_count, 1);
    bench_fini(&bench);
}

/* If `init` fails, it is called again by the next call. */
TEST(init_may_fail)
{
    struct payload *payload;
    struct bench bench;
    struct frame state;

    bench_init(&bench, "echo", "");
    CHECK_OK(packet_pack(&payload, "%d", ECHO_REFUSE));
    bench.call.parameters = payload;
    put_int(&bench, ECHO_SHOW, 0);
    CHECK_IS(run_wave(&bench), -EPROTO);
    CU_ASSERT_STRING_EQUAL(bench.output.text, "echo: told not to begin");
    CHECK_IS(loader_state(bench.loader, &state), 0);
    bench.call.parameters = NULL;
    payload_free(payload);
    put_int(&bench, ECHO_SHOW, 0);
    CHECK_OK(run_wave(&bench));
    CHECK_IS(loader_state(bench.loader, &state), 1);
    frame_fini(&state);
    bench_fini(&bench);
}

/* Call `init` with `value` as the parameters, which the caller frees. */
static int run_init(struct bench *bench, int value, struct payload **payload)
{
    CHECK_OK(packet_pack(payload, "%d", value));
    bench->call.parameters = *payload;
    bench->call.init = true;
    return loader_call(bench->loader, &bench->call, &bench->node,
                       &bench->output);
}

/* Check the parameter of a wave's call. */
static void expect_parameter(struct bench *bench, int expected)
{
    struct cop_packet *packet;
    const uint32_t *facts, *inlets;
    uint32_t count;
    int32_t parameter, waves;

    bench->call.init = false;
    put_int(bench, ECHO_SHOW, 0);
    CHECK_OK(run_wave(bench));
    CU_ASSERT_EQUAL_FATAL(bench->output.up_count, 1);
    packet = open_frame(&bench->output.up[0]);
    CHECK_OK(cop_packet_unpack(packet, "%aud %aud %d %d", &facts, &count,
                               &inlets, &count, &parameter, &waves));
    CU_ASSERT_EQUAL(parameter, expected);
    cop_packet_free(packet);
}

/* PROTOCOL 3.2: `init` makes the state at the opening. New parameters that it
 * refuses later leave the old ones in force; the reason is said once, whichever
 * call has them first. */
TEST(init_proves_parameters)
{
    struct payload *good, *bad, *better, *worse;
    struct bench bench;
    struct frame state;

    bench_init(&bench, "echo", "");
    CU_ASSERT(loader_facts(bench.loader).inits);
    CHECK_IS(run_init(&bench, ECHO_REFUSE, &bad), -EPROTO);
    CU_ASSERT_STRING_EQUAL(bench.output.text, "echo: told not to begin");
    CHECK_OK(run_init(&bench, 70, &good));
    CU_ASSERT_STRING_EQUAL(bench.output.text, "");
    CHECK_IS(loader_state(bench.loader, &state), 1);
    frame_fini(&state);
    for (int i = 0; i < 2; i++) {
        bench.call.parameters = bad; /* the first call, a wave's, has them */
        expect_parameter(&bench, 70);
        CU_ASSERT_EQUAL(strlen(bench.output.text) > 0, i == 0);
        CU_ASSERT_EQUAL(strstr(bench.output.text, "stay") != NULL, i == 0);
    }
    CHECK_OK(run_init(&bench, 80, &better));
    CU_ASSERT_STRING_EQUAL(bench.output.text, "");
    expect_parameter(&bench, 80);
    CHECK_OK(run_init(&bench, ECHO_REFUSE, &worse));
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.output.text, "told not to begin; "));
    expect_parameter(&bench, 80);
    CU_ASSERT_STRING_EQUAL(bench.output.text, "");
    payload_free(good);
    payload_free(bad);
    payload_free(better);
    payload_free(worse);
    bench_fini(&bench);
}

/* PROTOCOL 3.2: `init` of a downstream filter is called likewise; and that of a
 * stream of totals, though each slot gets a state of its own. */
TEST(init_of_every_filter)
{
    struct stream_definition total = {
        .up_filter = (char[]){"histogram"},
        .kind = STREAM_TOTAL,
    };
    struct payload *bad;
    struct bench bench;

    bench_init(&bench, "", "echo");
    CHECK_IS(run_init(&bench, ECHO_REFUSE, &bad), -EPROTO);
    payload_free(bad);
    bench_fini(&bench);
    bench_init(&bench, "", "");
    loader_free(bench.loader);
    CHECK_OK(loader_new(&bench.loader, &total, NODE_BACKEND, path, NULL));
    bench.node.role = NODE_BACKEND;
    CHECK_IS(run_init(&bench, 1, &bad), -EPROTO);
    payload_free(bad);
    bench_fini(&bench);
}

/* PROTOCOL 5.6: packets in the opposite direction have their own list. */
TEST(emitting_goes_both_ways)
{
    struct bench bench;

    bench_init(&bench, "echo", "echo");
    put_int(&bench, ECHO_AGAINST, 0);
    CHECK_OK(run_wave(&bench));
    CU_ASSERT(bench.output.up_count == 1 && bench.output.down_count == 1);
    bench.call.upward = false;
    put_int(&bench, ECHO_FAIL, 0);
    CHECK_IS(run_wave(&bench), -EPROTO);
    CU_ASSERT(bench.output.up_count == 0 && bench.output.down_count == 0);
    put_int(&bench, ECHO_NOTHING, 0);
    CHECK_OK(run_wave(&bench));
    CU_ASSERT(bench.output.up_count == 0 && bench.output.down_count == 0);
    bench_fini(&bench);
}

/* Without a filter the inputs are the output. */
TEST(no_filter_passes_on)
{
    struct stream_filters facts;
    struct bench bench;

    bench_init(&bench, "", NULL);
    facts = loader_facts(bench.loader);
    CU_ASSERT(!facts.up && !facts.up_single && !facts.down);
    CU_ASSERT(facts.down_one_to_one && !facts.recoverable);
    CU_ASSERT_PTR_NOT_NULL(loader_why_not_recoverable(bench.loader));
    put_int(&bench, 5, 1);
    put_int(&bench, 6, 2);
    CHECK_OK(run_wave(&bench));
    CU_ASSERT_EQUAL_FATAL(bench.output.up_count, 2);
    CU_ASSERT(bench.output.up[0].tag == 5 && bench.output.up[1].tag == 6);
    bench_fini(&bench);
    loader_free(NULL);
}

static void check_facts(const char *up,
                        const char *down,
                        struct stream_filters expected)
{
    struct stream_filters facts;
    struct bench bench;

    bench_init(&bench, up, down);
    facts = loader_facts(bench.loader);
    CU_ASSERT_EQUAL(facts.up, expected.up);
    CU_ASSERT_EQUAL(facts.up_single, expected.up_single);
    CU_ASSERT_EQUAL(facts.down, expected.down);
    CU_ASSERT_EQUAL(facts.down_one_to_one, expected.down_one_to_one);
    CU_ASSERT_EQUAL(facts.recoverable, expected.recoverable);
    CU_ASSERT_EQUAL(!loader_why_not_recoverable(bench.loader),
                    expected.recoverable);
    bench_fini(&bench);
}

/* PROTOCOL 5.5, 9.4: a stream's facts follow from its filters' laws. */
TEST(laws_become_facts)
{
    check_facts("sum", "",
                (struct stream_filters){.up = true, .down_one_to_one = true});
    check_facts("avg", "sum",
                (struct stream_filters){.up = true,
                                        .up_single = true,
                                        .down = true,
                                        .down_one_to_one = true});
    check_facts(
        "int_union", "int_union",
        (struct stream_filters){
            .up = true, .up_single = true, .down = true, .recoverable = true});
}

/* PROTOCOL 5.4: the front-end and the back-ends may have other filters. */
TEST(roles_may_differ)
{
    static const enum node_role roles[] = {NODE_FRONTEND, NODE_COMMNODE,
                                           NODE_BACKEND};
    struct stream_definition definition = {
        .up_filter = (char *)"sum",
        .up_filter_frontend = (char *)"nothing_front",
        .up_filter_backend = (char *)"nothing_back",
        .down_filter = (char *)"",
    };
    static const char *const names[] = {"nothing_front", NULL, "nothing_back"};
    struct loader *loader;
    struct cop_error error;

    for (int i = 0; i < 3; i++) {
        int r = loader_new(&loader, &definition, roles[i], path, &error);

        CU_ASSERT_EQUAL(r, names[i] ? -ENOENT : 0);
        if (r == 0)
            loader_free(loader);
        else
            CU_ASSERT_PTR_NOT_NULL(strstr(error.text, names[i]));
    }
    definition.up_filter_frontend = definition.up_filter_backend =
        (char *)LOADER_NONE;
    definition.up_filter = (char *)"nothing";
    for (int i = 0; i < 3; i++) {
        int r = loader_new(&loader, &definition, roles[i], path, &error);

        CU_ASSERT_EQUAL(r, roles[i] == NODE_COMMNODE ? -ENOENT : 0);
        if (r == 0)
            loader_free(loader);
    }
    definition.up_filter = (char *)"";
    definition.down_filter = (char *)"nothing_down";
    CHECK_IS(loader_new(&loader, &definition, NODE_COMMNODE, path, &error),
             -ENOENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "nothing_down"));
}

/* Equation 3.8: only new elements go up. */
TEST(a_join_filter_emits_what_is_new)
{
    struct bench bench;
    struct frame state;

    bench_init(&bench, "int_union", "");
    CHECK_IS(loader_state(bench.loader, &state), 0);
    put_ints(&bench, (int32_t[]){5, 1, 5}, 3);
    put_ints(&bench, (int32_t[]){3, 1}, 2);
    CHECK_OK(run_wave(&bench));
    CU_ASSERT_EQUAL_FATAL(bench.output.up_count, 1);
    CU_ASSERT(HAS(&bench.output.up[0], 1, 3, 5));
    put_ints(&bench, (int32_t[]){5, 3}, 2);
    CHECK_OK(run_wave(&bench));
    CU_ASSERT_EQUAL(bench.output.up_count, 0);
    put_ints(&bench, (int32_t[]){-7, 3, 9}, 3);
    CHECK_OK(run_wave(&bench));
    CU_ASSERT_EQUAL_FATAL(bench.output.up_count, 1);
    CU_ASSERT(HAS(&bench.output.up[0], -7, 9));
    CHECK_IS(loader_state(bench.loader, &state), 1);
    CU_ASSERT(HAS(&state, -7, 1, 3, 5, 9));
    frame_fini(&state);
    bench_fini(&bench);
}

/* The first wave becomes the state; the second one is joined to it. */
TEST(the_first_wave_is_joined_once)
{
    struct bench bench;
    struct frame state;

    bench_init(&bench, "joins", "");
    for (int32_t i = 0; i < 3; i++)
        put_int(&bench, 1, i);
    CHECK_OK(run_wave(&bench));
    CHECK_IS(loader_state(bench.loader, &state), 1);
    CHECK_IS(read_int(&state), 3);
    frame_fini(&state);
    put_int(&bench, 1, 3);
    CHECK_OK(run_wave(&bench));
    CHECK_IS(loader_state(bench.loader, &state), 1);
    CHECK_IS(read_int(&state), 4);
    frame_fini(&state);
    bench_fini(&bench);
}

/* When a child begins anew, the first input may be its empty slot. The total has
 * the tag of a packet that is there. */
TEST(an_empty_slot_has_no_tag)
{
    struct stream_definition definition = {.kind = STREAM_TOTAL,
                                           .up_filter = (char[]){"joins"}};
    uint32_t keys[] = {4, 5};
    struct bench bench;

    bench_init(&bench, "joins", "");
    loader_free(bench.loader);
    CHECK_OK(loader_new(&bench.loader, &definition, NODE_COMMNODE, path, NULL));
    bench.inputs[0] = (struct frame){.type = FRAME_DATA, .flags = FRAME_EMPTY};
    bench.call.input_count = 1;
    put_int(&bench, 77, 3);
    bench.call.slots = CALL_PACK;
    bench.call.state = true;
    bench.call.keys = bench.call.kept = keys;
    bench.call.kept_count = 2;
    CHECK_OK(run_wave(&bench));
    CU_ASSERT_EQUAL_FATAL(bench.output.up_count, 1);
    CU_ASSERT_EQUAL(bench.output.up[0].tag, 77);
    CHECK_IS(read_int(&bench.output.up[0]), 1);
    bench_fini(&bench);
}

/* Add a tree of stacks that has no stack, only a longest stop of `byte` ns. */
static void put_stacks(struct bench *bench, unsigned char byte)
{
    unsigned char bytes[9] = {byte};
    struct cop_packet *packet;

    CHECK_OK(cop_packet_new(&packet, 1, "%auc", bytes, 9u));
    add_packet(bench, packet);
}

/* A daemon's first packet is passed on unread, and read when the second comes.
 * If it is not a tree, the parent reports that, and the daemon goes on. */
TEST(a_daemon_sends_its_first_stacks_on)
{
    const struct payload *payload;
    struct bench bench;
    struct frame state;

    for (int good = 0; good < 2; good++) {
        bench_init(&bench, "stat_merge", "");
        bench.node.role = NODE_BACKEND;
        if (good)
            put_stacks(&bench, 7);
        else
            put_int(&bench, 1, 7);
        payload = bench.inputs[0].payload;
        CHECK_OK(run_wave(&bench));
        CU_ASSERT_EQUAL_FATAL(bench.output.up_count, 1);
        CU_ASSERT_PTR_EQUAL(bench.output.up[0].payload, payload);
        put_stacks(&bench, 7);
        CHECK_OK(run_wave(&bench));
        CU_ASSERT_EQUAL(bench.output.up_count, good ? 0 : 1);
        put_stacks(&bench, 9);
        CHECK_OK(run_wave(&bench));
        CU_ASSERT_EQUAL(bench.output.up_count, 1);
        put_int(&bench, 1, 7);
        CU_ASSERT(run_wave(&bench) < 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(bench.output.text, "stat_merge"));
        CHECK_IS(loader_state(bench.loader, &state), 1);
        frame_fini(&state);
        bench_fini(&bench);
    }
}

/* PROTOCOL 5.3: if one packet cannot be joined, the others still are. */
TEST(the_good_part_of_a_wave_is_joined)
{
    struct cop_packet *packet;
    struct bench bench;
    struct frame state;

    bench_init(&bench, "int_union", "");
    put_ints(&bench, (int32_t[]){1}, 1);
    CHECK_OK(cop_packet_new(&packet, 1, "%s", "two"));
    add_packet(&bench, packet);
    put_ints(&bench, (int32_t[]){3}, 1);
    CHECK_IS(run_wave(&bench), -EPROTO);
    CU_ASSERT_STRING_EQUAL(
        bench.output.text,
        "int_union: a packet has the format \"%s\": it must be \"%ad\"");
    CU_ASSERT_EQUAL_FATAL(bench.output.up_count, 1);
    CU_ASSERT(HAS(&bench.output.up[0], 1, 3));
    CHECK_IS(loader_state(bench.loader, &state), 1);
    CU_ASSERT(HAS(&state, 1, 3));
    frame_fini(&state);
    bench_fini(&bench);
}

/* A damaged packet is an error with a text, in both kinds of filters. */
TEST(damaged_packets_are_an_error)
{
    static const char *const names[] = {"sum", "avg", "concat", "int_union"};
    struct bench bench;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        bench_init(&bench, names[i], "");
        put_int(&bench, 1, 1);
        bench_clear(&bench);
        bench.call.input_count = 1;
        bench.inputs[0] = (struct frame){.type = FRAME_DATA};
        CHECK_OK(payload_new(&bench.inputs[0].payload, 40));
        memset(bench.inputs[0].payload->bytes, 'x', 40);
        CU_ASSERT(run_wave(&bench) < 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(bench.output.text, names[i]));
        CU_ASSERT_EQUAL(bench.output.up_count, 0);
        bench_fini(&bench);
    }
}

/* A frame taken from the output is not freed with it. */
TEST(output_frames_can_be_taken)
{
    struct bench bench;
    struct frame taken;

    bench_init(&bench, "sum", "");
    put_int(&bench, 1, 20);
    put_int(&bench, 1, 22);
    CHECK_OK(run_wave(&bench));
    taken = bench.output.up[0];
    bench.output.up[0].payload = NULL;
    put_int(&bench, 1, 1);
    CHECK_OK(run_wave(&bench));
    bench_fini(&bench);
    CU_ASSERT_EQUAL(taken.payload->refs, 1);
    frame_fini(&taken);
}

int main(void)
{
    const char *build = getenv("BUILD");
    const char *good = getenv("COPPICE_FILTER_PATH");

    if (!good || !build) {
        fprintf(stderr, "set BUILD and COPPICE_FILTER_PATH\n");
        return EXIT_FAILURE;
    }
    snprintf(path, sizeof(path), "%s:%s/test/filters/.libs", good, build);
    return check_run("loader");
}
