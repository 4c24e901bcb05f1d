/* test_laws.c - the suite that every filter must pass: each of its laws is
 * checked on random trees, with every format that it takes. */
#include "test/filters/waves.h"

#ifdef __SANITIZE_ADDRESS__
#define SEEDS 2 /* the tests are slow here */
#else
#define SEEDS 15
#endif
#define WAVES 4

/* ---- the packets of the back-ends ---- */

/* A random `type` value: small whole numbers, so that floats are exact. */
static void roll_element(void *at, enum cop_type type, uint32_t *seed)
{
    uint32_t number = next_random(seed) % 100;

    switch (type) {
    case COP_CHAR:
    case COP_UCHAR:
        *(unsigned char *)at = (unsigned char)number;
        break;
    case COP_INT16:
    case COP_UINT16:
        *(uint16_t *)at = (uint16_t)number;
        break;
    case COP_INT32:
    case COP_UINT32:
        *(int32_t *)at = (int32_t)number - 50;
        break;
    case COP_INT64:
    case COP_UINT64:
        *(int64_t *)at = (int64_t)number << 40;
        break;
    case COP_FLOAT:
        *(float *)at = (float)number - 50;
        break;
    case COP_DOUBLE:
        *(double *)at = number / 4.0 - 10;
        break;
    case COP_STRING:
        *(const char **)at = number % 2 ? "odd" : "";
        break;
    }
}

/* Make a packet of `format` with random values; arrays have `len` elements. */
static struct cop_packet *roll_packet(const char *format,
                                      uint32_t len,
                                      uint32_t *seed)
{
    static uint64_t room[COP_VALUES_MAX][8];
    struct cop_value values[COP_VALUES_MAX];
    struct format parsed;
    struct cop_packet *packet;
    int count;

    CHECK_OK(format_parse(&parsed, format));
    count = (int)parsed.count;
    for (int i = 0; i < count; i++) {
        values[i].type = (enum cop_type)parsed.items[i].type;
        values[i].shape = (enum cop_shape)parsed.items[i].shape;
        values[i].count = values[i].shape == COP_SCALAR ? 1 : len;
        values[i].data = room[i];
        for (uint32_t k = 0; k < values[i].count; k++) {
            static const unsigned char lens[] = {
                [COP_CHAR] = 1,
                [COP_UCHAR] = 1,
                [COP_INT16] = 2,
                [COP_UINT16] = 2,
                [COP_INT32] = 4,
                [COP_UINT32] = 4,
                [COP_INT64] = 8,
                [COP_UINT64] = 8,
                [COP_FLOAT] = 4,
                [COP_DOUBLE] = 8,
                [COP_STRING] = sizeof(char *),
            };

            roll_element((char *)room[i] + k * lens[values[i].type],
                         values[i].type, seed);
        }
    }
    CHECK_OK(cop_packet_new_values(&packet, 77, values, (size_t)count));
    return packet;
}

/* ---- the laws ---- */

/* One way to use a filter. */
struct usage {
    const char *filter;
    const char *const *formats;
    const char *const *words; /* parameters of `fields`; NULL: "histogram"'s */
};

static const char *const numbers[] = {
    "%c",      "%uc",  "%hd",      "%uhd",         "%d",   "%ud",  "%ld",
    "%uld",    "%f",   "%lf",      "%ac",          "%auc", "%ahd", "%auhd",
    "%ad",     "%aud", "%ald",     "%auld",        "%af",  "%alf", "%Ald",
    "%d %alf", "",     "%Alf %hd", "%ud %ald %uc", NULL,
};
static const char *const arrays[] = {
    "%ad", "%alf", "%as", "%Alf", "%ac %auld", "%as %Ad", "", NULL,
};
static const char *const scalars[] = {"%d", "%s", "%d %as", "%lf %c", NULL};
static const char *const sets[] = {"%ad", NULL};
static const char *const anything[] = {"%d", "%as %lf", "", NULL};
static const char *const mixed[] = {
    "%d %s", "%ad", "%s", "", "%as %lf", "%c %auld %f", "%Ald %uc", NULL,
};
static const char *const sums[] = {"sum", "max", "avg", NULL};
static const char *const threes[] = {
    "%d %lf %ad", "%uc %af %hd", "%ld %Ald %f", "%f %c %uld", NULL,
};
static const char *const bests[] = {"max",    "with:0", "top:3",  "with:2",
                                    "with:2", "min",    "with:5", NULL};
static const char *const sevens[] = {
    "%d %s %ud %s %hd %f %s",
    "%ad %as %alf %as %ad %auc %as",
    NULL,
};

static const struct usage usages[] = {
    {"sum", numbers, NULL},    {"min", numbers, NULL},
    {"max", numbers, NULL},    {"avg", numbers, NULL},
    {"concat", arrays, NULL},  {"concat", scalars, NULL},
    {"int_union", sets, NULL}, {"count", anything, NULL},
    {"classes", mixed, NULL},  {"histogram", numbers, NULL},
    {"fields", threes, sums},  {"fields", sevens, bests},
};

static void set_parameters(const struct usage *usage)
{
    const char **words = (const char **)usage->words;
    uint32_t count = 0;

    payload_free(parameters);
    while (words && words[count])
        count++;
    if (words)
        CHECK_OK(packet_pack(&parameters, "%as", words, count));
    else
        CHECK_OK(
            packet_pack(&parameters, "%lf %lf %ud", -20.0, 90.0, UINT32_C(9)));
}

static uint32_t laws_of(const char *name)
{
    struct plugin *plugin;
    uint32_t laws;

    CHECK_OK(plugin_open(&plugin, path, name, NULL));
    laws = plugin_filter(plugin)->laws;
    plugin_close(plugin);
    return laws;
}

/* Run WAVES waves of the same packets through a tree with `change` and through a
 * flat tree. Both must give the same results. */
static void compare(const struct usage *usage,
                    const char *format,
                    uint32_t seed,
                    void (*change)(struct tree *tree))
{
    uint32_t dice = seed;
    uint32_t leaf_count = 1 + next_random(&dice) % LEAVES_MAX;
    struct tree *flat = tree_new(usage->filter, leaf_count, true, dice);
    struct tree *tree = tree_new(usage->filter, leaf_count, false, dice);
    struct cop_packet *leaves[LEAVES_MAX];

    change(tree);
    for (int w = 0; w < WAVES; w++) {
        uint32_t len = next_random(&dice) % 6;
        struct cop_packet *expected;
        struct cop_packet *found;

        for (uint32_t i = 0; i < leaf_count; i++)
            leaves[i] = roll_packet(format, len, &dice);
        expected = run_wave(flat, leaves);
        found = run_wave(tree, leaves);
        if (!is_same_packet(expected, found))
            printf("\n%s of \"%s\", seed %u, wave %d: %s in the tree, %s "
                   "flat\n",
                   usage->filter, format, seed, w,
                   found ? cop_packet_format(found) : "nothing",
                   expected ? cop_packet_format(expected) : "nothing");
        CU_ASSERT(is_same_packet(expected, found));
        cop_packet_free(expected);
        cop_packet_free(found);
        for (uint32_t i = 0; i < leaf_count; i++)
            cop_packet_free(leaves[i]);
    }
    tree_free(flat);
    tree_free(tree);
}

static void change_nothing(struct tree *tree)
{
    (void)tree;
}

static void change_order(struct tree *tree)
{
    tree->reversed = true;
}

static void change_number(struct tree *tree)
{
    tree->twice = true;
}

/* Compare for all usages whose filters claim `law`. Returns their number. */
static int compare_all(uint32_t law, void (*change)(struct tree *tree))
{
    const char *const *format;
    int claimed = 0;

    for (size_t i = 0; i < sizeof(usages) / sizeof(usages[0]); i++) {
        if (!(laws_of(usages[i].filter) & law))
            continue;
        claimed++;
        set_parameters(&usages[i]);
        for (format = usages[i].formats; *format; format++)
            for (uint32_t seed = 1; seed <= SEEDS; seed++)
                compare(&usages[i], *format, seed, change);
    }
    return claimed;
}

/* Grouping has no effect: every tree gives the result of a flat one. */
TEST(associative_filters_give_the_same_in_any_tree)
{
    CU_ASSERT_EQUAL(compare_all(COP_ASSOCIATIVE, change_nothing), 12);
}

/* The order of the inputs has no effect. */
TEST(commutative_filters_give_the_same_in_any_order)
{
    CU_ASSERT_EQUAL(compare_all(COP_COMMUTATIVE, change_order), 10);
}

/* A repeated input has no effect. */
TEST(idempotent_filters_may_get_packets_twice)
{
    CU_ASSERT_EQUAL(compare_all(COP_IDEMPOTENT, change_number), 3);
}

/* Run one call of a lone commnode on `packets`. Returns its result. */
static int call_once(struct loader *loader,
                     struct cop_packet *const *packets,
                     size_t count,
                     bool upward,
                     struct loader_output *output)
{
    struct loader_node where = {.role = NODE_COMMNODE, .rank = 1, .depth = 1};
    struct inputs inputs = {.count = 0};
    struct node_call call = {.upward = upward,
                             .sequence = 1,
                             .contributors = (uint32_t)count,
                             .parameters = parameters,
                             .inputs = inputs.frames,
                             .inlets = inputs.inlets,
                             .input_count = count};
    int r;

    for (size_t i = 0; i < count; i++)
        inputs_add(&inputs, packet_frame(packets[i]), (uint32_t)i + 2);
    r = loader_call(loader, &call, &where, output);
    while (inputs.count > 0)
        frame_fini(&inputs.frames[--inputs.count]);
    return r;
}

static struct loader *loader_of(const char *name)
{
    struct stream_definition definition = {.up_filter = (char *)name,
                                           .down_filter = (char *)name};
    struct loader *loader;

    CHECK_OK(loader_new(&loader, &definition, NODE_COMMNODE, path, NULL));
    return loader;
}

/* COP_IDENTITY: a single packet is passed on unchanged, so the call may be left
 * out. Downwards every COP_ONE_TO_ONE filter emits one packet per input. */
TEST(one_packet_gives_that_packet)
{
    struct loader_output output = {.up = NULL};
    const char *const *format;
    int claimed = 0;

    for (size_t i = 0; i < sizeof(usages) / sizeof(usages[0]); i++) {
        uint32_t laws = laws_of(usages[i].filter);
        struct loader *loader = loader_of(usages[i].filter);

        claimed += (laws & COP_IDENTITY) != 0;
        set_parameters(&usages[i]);
        for (format = usages[i].formats; *format; format++) {
            for (uint32_t seed = 1; seed <= SEEDS; seed++) {
                uint32_t dice = seed;
                struct cop_packet *packet =
                    roll_packet(*format, seed % 6, &dice);
                struct cop_packet *found;

                if (laws & COP_IDENTITY) {
                    CHECK_OK(call_once(loader, &packet, 1, true, &output));
                    CU_ASSERT_EQUAL_FATAL(output.up_count, 1);
                    found = open_frame(&output.up[0]);
                    CU_ASSERT(is_same_packet(packet, found));
                    cop_packet_free(found);
                }
                if (laws & COP_ONE_TO_ONE) {
                    CHECK_OK(call_once(loader, &packet, 1, false, &output));
                    CU_ASSERT_EQUAL(output.down_count, 1);
                    CU_ASSERT_EQUAL(output.up_count, 0);
                }
                cop_packet_free(packet);
            }
        }
        loader_free(loader);
    }
    loader_output_fini(&output);
    CU_ASSERT_EQUAL(claimed, 3);
}

/* PROTOCOL 9.1: a new filter that takes in the packed state has the same state,
 * so compensation loses nothing. */
TEST(a_state_survives_packing)
{
    struct loader_output output = {.up = NULL};

    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        struct loader *old = loader_of("int_union");
        struct loader *fresh = loader_of("int_union");
        struct cop_packet *packet;
        struct frame state;
        struct frame again;
        uint32_t dice = seed;

        for (int w = 0; w < WAVES; w++) {
            packet = roll_packet("%ad", 1 + seed % 6, &dice);
            CHECK_OK(call_once(old, &packet, 1, true, &output));
            cop_packet_free(packet);
        }
        CHECK_IS(loader_state(old, &state), 1);
        packet = open_frame(&state);
        CHECK_OK(call_once(fresh, &packet, 1, true, &output));
        CU_ASSERT_EQUAL(output.up_count, 1);
        CHECK_IS(loader_state(fresh, &again), 1);
        CU_ASSERT_EQUAL(state.payload->len, again.payload->len);
        CU_ASSERT_EQUAL(memcmp(state.payload->bytes, again.payload->bytes,
                               state.payload->len),
                        0);
        CHECK_OK(call_once(old, &packet, 1, true, &output));
        CU_ASSERT_EQUAL(output.up_count, 0);
        cop_packet_free(packet);
        frame_fini(&state);
        frame_fini(&again);
        loader_free(old);
        loader_free(fresh);
    }
    loader_output_fini(&output);
}

/* ---- formats that a filter cannot take ---- */

/* A call of filter `name` with packets of formats `a` and `b`, whose arrays have
 * one and `b_len` elements, fails with a text that contains `words`. */
static void check_refused(const char *name,
                          const char *a,
                          const char *b,
                          uint32_t b_len,
                          const char *words)
{
    struct loader_output output = {.up = NULL};
    struct loader *loader = loader_of(name);
    struct cop_packet *packets[2];
    uint32_t seed = 1;

    packets[0] = roll_packet(a, 1, &seed);
    packets[1] = roll_packet(b, b_len, &seed);
    CU_ASSERT(call_once(loader, packets, 2, true, &output) < 0);
    CU_ASSERT_EQUAL(output.up_count, 0);
    CU_ASSERT_EQUAL(strncmp(output.text, name, strlen(name)), 0);
    if (!strstr(output.text, words))
        printf("\n\"%s\" does not say \"%s\"\n", output.text, words);
    CU_ASSERT_PTR_NOT_NULL(strstr(output.text, words));
    cop_packet_free(packets[0]);
    cop_packet_free(packets[1]);
    loader_output_fini(&output);
    loader_free(loader);
}

/* Strings, mixed formats and lengths: the error names the cause. */
TEST(wrong_formats_are_refused)
{
    static const char *const names[] = {"sum", "min", "max", "avg"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *match = i == 3 ? "differ" : "all must have";

        check_refused(names[i], "%s", "%s", 1, "takes numbers only");
        check_refused(names[i], "%d", "%as", 1, "rank 3");
        check_refused(names[i], "%d", "%ud", 1, match);
        check_refused(names[i], "%d", "%d %d", 1, match);
        check_refused(names[i], "%d %d", "%d", 1, match);
        check_refused(names[i], "%d", "", 1, match);
        check_refused(names[i], "%ad", "%d", 1, match);
        check_refused(names[i], "%ad", "%Ad", 1, match);
        check_refused(names[i], "%ad", "%ad", 2, match);
    }
    check_refused("sum", "%ad", "%ad", 2, "has 2 elements");
    check_refused("concat", "%d", "%ud", 1, "another type");
    check_refused("concat", "%d", "%d %d", 1, "2 values");
    check_refused("concat", "%d", "", 1, "0 values");
    check_refused("int_union", "%d", "%ald", 1, "it must be \"%ad\"");
}

/* ---- results by hand ---- */

/* Run filter `name` on `count` back-ends in a tree; each sends the next of
 * `values`. The front-end's packet must be one %d, `expected`. */
static void check_ints(const char *name,
                       const int32_t *values,
                       uint32_t count,
                       int32_t expected)
{
    struct cop_packet *leaves[LEAVES_MAX];
    struct cop_packet *found;
    int32_t result = 0;

    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        struct tree *tree = tree_new(name, count, false, seed);

        for (uint32_t i = 0; i < count; i++)
            CHECK_OK(cop_packet_new(&leaves[i], 5, "%d", values[i]));
        found = run_wave(tree, leaves);
        CU_ASSERT_PTR_NOT_NULL_FATAL(found);
        CHECK_OK(cop_packet_unpack(found, "%d", &result));
        CU_ASSERT_EQUAL(result, expected);
        CU_ASSERT_EQUAL(cop_packet_tag(found), 5);
        cop_packet_free(found);
        for (uint32_t i = 0; i < count; i++)
            cop_packet_free(leaves[i]);
        tree_free(tree);
    }
}

/* The laws alone would also hold for filters with consistently wrong results. */
TEST(results_are_right)
{
    static const int32_t values[] = {4, -3, 10, 1, 0, -7, 2};

    check_ints("sum", values, 7, 7);
    check_ints("min", values, 7, -7);
    check_ints("max", values, 7, 10);
    check_ints("avg", values, 7, 1);
    check_ints("avg", values, 6, 0);
    check_ints("avg", values, 1, 4);
    check_ints("avg", (const int32_t[]){INT32_MAX, INT32_MAX, 1}, 3,
               1431655765);
    check_ints("avg", (const int32_t[]){-7, 0}, 2, -3);
    check_ints("sum", (const int32_t[]){INT32_MAX, 1}, 2, INT32_MIN);
}

/* A sum that does not fit in 64 bits is an error, not a wrong average. */
TEST(an_average_that_overflows_is_an_error)
{
    struct loader_output output = {.up = NULL};
    struct loader *loader = loader_of("avg");
    struct cop_packet *packets[2];

    for (int i = 0; i < 2; i++)
        CHECK_OK(cop_packet_new(&packets[i], 0, "%ld", INT64_MAX));
    CHECK_IS(call_once(loader, packets, 2, true, &output), -EPROTO);
    CU_ASSERT_PTR_NOT_NULL(strstr(output.text, "does not fit"));
    for (int i = 0; i < 2; i++)
        cop_packet_free(packets[i]);
    loader_output_fini(&output);
    loader_free(loader);
}

/* A NaN is never the result of min or max, whichever input has it. */
TEST(nan_is_no_extreme)
{
    static const char *const names[] = {"min", "max"};
    struct loader_output output = {.up = NULL};
    int order;

    for (int i = 0; i < 4; i++) {
        struct loader *loader = loader_of(names[i / 2]);
        struct cop_packet *packets[2];
        struct cop_packet *found;
        double result = 0;

        order = i % 2;
        CHECK_OK(cop_packet_new(&packets[order], 0, "%lf", __builtin_nan("")));
        CHECK_OK(cop_packet_new(&packets[!order], 0, "%lf", 2.5));
        CHECK_OK(call_once(loader, packets, 2, true, &output));
        found = open_frame(&output.up[0]);
        CHECK_OK(cop_packet_unpack(found, "%lf", &result));
        CU_ASSERT_EQUAL(result, 2.5);
        cop_packet_free(found);
        cop_packet_free(packets[0]);
        cop_packet_free(packets[1]);
        loader_free(loader);
    }
    loader_output_fini(&output);
}

/* The result is the number of back-ends, whatever they send. */
TEST(count_counts_backends)
{
    struct cop_packet *leaves[LEAVES_MAX];
    struct cop_packet *found;
    uint32_t count;

    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        uint32_t leaf_count = 1 + seed % LEAVES_MAX;
        struct tree *tree = tree_new("count", leaf_count, false, seed);

        for (uint32_t i = 0; i < leaf_count; i++)
            CHECK_OK(
                cop_packet_new(&leaves[i], 5, i % 2 ? "%d" : "%s", "text"));
        found = run_wave(tree, leaves);
        CHECK_OK(cop_packet_unpack(found, "%ud", &count));
        CU_ASSERT_EQUAL(count, leaf_count);
        cop_packet_free(found);
        for (uint32_t i = 0; i < leaf_count; i++)
            cop_packet_free(leaves[i]);
        tree_free(tree);
    }
}

/* Concatenated values are in the back-ends' order. */
TEST(concat_keeps_the_order)
{
    struct cop_packet *leaves[LEAVES_MAX];
    struct cop_packet *found;
    const int32_t *values;
    const char *const *strings;
    uint32_t count;

    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        struct tree *tree = tree_new("concat", LEAVES_MAX, false, seed);

        for (uint32_t i = 0; i < LEAVES_MAX; i++)
            CHECK_OK(cop_packet_new(&leaves[i], 5, "%d %s", (int)i,
                                    i % 2 ? "odd" : "even"));
        found = run_wave(tree, leaves);
        CHECK_OK(cop_packet_unpack(found, "%ad %as", &values, &count, &strings,
                                   &count));
        CU_ASSERT_EQUAL_FATAL(count, LEAVES_MAX);
        for (uint32_t i = 0; i < LEAVES_MAX; i++) {
            CU_ASSERT_EQUAL(values[i], (int32_t)i);
            CU_ASSERT_STRING_EQUAL(strings[i], i % 2 ? "odd" : "even");
            cop_packet_free(leaves[i]);
        }
        cop_packet_free(found);
        tree_free(tree);
    }
}

int main(void)
{
    int r;

    path = getenv("COPPICE_FILTER_PATH");
    if (!path) {
        fprintf(stderr, "set COPPICE_FILTER_PATH\n");
        return EXIT_FAILURE;
    }
    r = check_run("laws");
    payload_free(parameters);
    return r;
}
