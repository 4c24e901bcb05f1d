/* test_slots.c - the totals of a stream of totals: CALL_JOIN and CALL_PACK on
 * the loaders of random trees, for every filter that can make totals. */
#include "filters/loader.h"

#include <errno.h>

#include "test/check.h"
#include "wire/packet.h"

#define SEEDS      20
#define NODES_MAX  64
#define LEAVES_MAX 24
#define WAVES      5

static const char *path;
static struct payload *parameters; /* of every call */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* ---- a tree; node 0 is the front-end ---- */

struct tree {
    struct loader *loaders[NODES_MAX];
    uint32_t parents[NODES_MAX];
    uint32_t count;
    uint32_t inner; /* nodes below this number are internal */
};

static enum node_role role_of(const struct tree *tree, uint32_t node)
{
    if (node == 0)
        return NODE_FRONTEND;
    return node < tree->inner ? NODE_COMMNODE : NODE_BACKEND;
}

static struct loader *loader_for(const char *filter, enum node_role role)
{
    struct stream_definition definition = {.kind = STREAM_TOTAL,
                                           .up_filter = (char *)filter};
    struct loader *loader = NULL;

    CHECK_OK(loader_new(&loader, &definition, role, path, NULL));
    return loader;
}

/* Make `inner` internal nodes, each except the first below an earlier one, and
 * `leaf_count` back-ends anywhere below them. */
static void tree_init(struct tree *tree,
                      const char *filter,
                      uint32_t inner,
                      uint32_t leaf_count,
                      uint32_t *seed)
{
    tree->inner = inner;
    tree->count = inner + leaf_count;
    for (uint32_t i = 0; i < tree->count; i++) {
        uint32_t above = i < inner ? i : inner;

        tree->parents[i] = above ? next_random(seed) % above : 0;
        tree->loaders[i] = loader_for(filter, role_of(tree, i));
    }
}

static void tree_fini(struct tree *tree)
{
    for (uint32_t i = 0; i < tree->count; i++)
        loader_free(tree->loaders[i]);
}

/* ---- calls ---- */

/* Run a call for slot `key`, with the input `frame` or, if NULL, none. */
static int run(struct loader *loader,
               enum node_role role,
               struct node_call call,
               const struct frame *frame,
               uint32_t key,
               struct loader_output *output)
{
    struct loader_node where = {.role = role, .rank = 1, .depth = 1};
    struct frame input = frame ? *frame : (struct frame){.type = 0};
    uint32_t inlet = 7;

    call.upward = true;
    call.parameters = parameters;
    call.inputs = &input;
    call.inlets = &inlet;
    call.keys = &key;
    call.input_count = frame != NULL;
    return loader_call(loader, &call, &where, output);
}

/* Join `frame` at `node` into the slot `key`, and the output of each node into
 * the slot of its parent whose key is the child's number. */
static void join_up(struct tree *tree,
                    uint32_t node,
                    uint32_t key,
                    struct frame frame)
{
    struct node_call call = {.slots = CALL_JOIN};
    struct loader_output output = {.up = NULL};

    CHECK_OK(run(tree->loaders[node], role_of(tree, node), call, &frame, key,
                 &output));
    CU_ASSERT_EQUAL(output.up_count, node > 0);
    if (node > 0)
        join_up(tree, tree->parents[node], node, output.up[0]);
    loader_output_fini(&output);
}

/* The total of `node` over the slots `kept`; the caller owns the payload. */
static struct frame pack(struct tree *tree,
                         uint32_t node,
                         const uint32_t *kept,
                         size_t kept_count)
{
    struct node_call call = {.slots = CALL_PACK,
                             .state = true,
                             .kept = kept,
                             .kept_count = kept_count};
    struct loader_output output = {.up = NULL};
    struct frame total = {.type = 0};

    CHECK_OK(
        run(tree->loaders[node], role_of(tree, node), call, NULL, 0, &output));
    CU_ASSERT(output.up_count <= 1);
    if (output.up_count == 1)
        total = frame_ref(&output.up[0]);
    loader_output_fini(&output);
    return total;
}

/* The total of `node`, all of whose children have slots. */
static struct frame pack_whole(struct tree *tree, uint32_t node)
{
    uint32_t kept[NODES_MAX];
    size_t count = 0;

    for (uint32_t i = 1; i < tree->count; i++)
        if (tree->parents[i] == node)
            kept[count++] = i;
    return pack(tree, node, kept, count);
}

/* Put `total` into slot `key` of `node`; without a payload it is empty. */
static void put(struct tree *tree,
                uint32_t node,
                uint32_t key,
                struct frame total)
{
    uint32_t kept[NODES_MAX];
    struct node_call call = {.slots = CALL_PACK, .kept = kept};
    struct loader_output output = {.up = NULL};

    for (uint32_t i = 1; i < tree->count; i++)
        kept[call.kept_count++] = i;
    if (!total.payload)
        total.flags |= FRAME_EMPTY;
    CHECK_OK(run(tree->loaders[node], role_of(tree, node), call, &total, key,
                 &output));
    CU_ASSERT_EQUAL(output.up_count, 0);
    loader_output_fini(&output);
}

static bool is_same(const struct frame *a, const struct frame *b)
{
    if (!a->payload || !b->payload)
        return a->payload == b->payload;
    return a->tag == b->tag && a->payload->len == b->payload->len &&
           memcmp(a->payload->bytes, b->payload->bytes, a->payload->len) == 0;
}

/* ---- packets of back-ends ---- */

/* The input of each filter: small whole numbers, so that doubles are exact. */
enum taste {
    TASTE_INT,
    TASTE_DOUBLES,
    TASTE_INTS
};

static const struct usage {
    const char *filter;
    enum taste taste;
} usages[] = {
    {"sum", TASTE_INT},        {"sum", TASTE_DOUBLES},
    {"min", TASTE_DOUBLES},    {"max", TASTE_INT},
    {"avg", TASTE_INT},        {"avg", TASTE_DOUBLES},
    {"count", TASTE_DOUBLES},  {"count", TASTE_INT},
    {"histogram", TASTE_INT},  {"histogram", TASTE_INTS},
    {"int_union", TASTE_INTS},
};
#define USAGES (sizeof(usages) / sizeof(usages[0]))

static struct frame roll(enum taste taste, uint32_t *seed)
{
    int32_t ints[3];
    double doubles[3];
    struct cop_packet *packet = NULL;
    struct frame frame;

    for (uint32_t i = 0; i < 3; i++) {
        ints[i] = (int32_t)(next_random(seed) % 300) - 50;
        doubles[i] = ints[i];
    }
    if (taste == TASTE_INT)
        CHECK_OK(cop_packet_new(&packet, 77, "%d", ints[0]));
    else if (taste == TASTE_INTS)
        CHECK_OK(cop_packet_new(&packet, 77, "%ad", ints, UINT32_C(3)));
    else
        CHECK_OK(
            cop_packet_new(&packet, 77, "%lf %alf", doubles[0], doubles, 3));
    frame = frame_ref(packet_frame(packet));
    cop_packet_free(packet);
    return frame;
}

/* Send the same random packets of every back-end in `tree` and in `flat`, where
 * all back-ends are children of the front-end. */
static void send_waves(struct tree *tree,
                       struct tree *flat,
                       enum taste taste,
                       uint32_t *seed)
{
    uint32_t leaves = tree->count - tree->inner;

    for (int w = 0; w < WAVES; w++) {
        for (uint32_t i = 0; i < leaves; i++) {
            struct frame frame = roll(taste, seed);

            if (next_random(seed) % 3 > 0) { /* unequal numbers of packets */
                join_up(tree, tree->inner + i, SLOT_OWN, frame);
                join_up(flat, flat->inner + i, SLOT_OWN, frame);
            }
            frame_fini(&frame);
        }
    }
}

/* ---- what must hold ---- */

/* In any tree, the total of the front-end is that of all packets. */
TEST(totals_are_the_same_in_any_tree)
{
    struct tree tree, flat;
    struct frame found, expected;
    uint32_t dice;

    for (size_t u = 0; u < USAGES; u++) {
        for (uint32_t seed = 1; seed <= SEEDS; seed++) {
            uint32_t leaves;

            dice = seed;
            leaves = 1 + next_random(&dice) % LEAVES_MAX;
            tree_init(&flat, usages[u].filter, 1, leaves, &dice);
            tree_init(&tree, usages[u].filter, 1 + next_random(&dice) % 12,
                      leaves, &dice);
            send_waves(&tree, &flat, usages[u].taste, &dice);
            found = pack_whole(&tree, 0);
            expected = pack_whole(&flat, 0);
            if (!is_same(&found, &expected))
                printf("\n%s, seed %u\n", usages[u].filter, seed);
            CU_ASSERT(is_same(&found, &expected));
            frame_fini(&found);
            frame_fini(&expected);
            tree_fini(&tree);
            tree_fini(&flat);
        }
    }
}

/* A node's total equals its parent's slot for it. */
TEST(a_total_is_what_the_parent_has)
{
    struct tree tree, flat;
    struct frame before, total, after;
    uint32_t dice;

    for (size_t u = 0; u < USAGES; u++) {
        for (uint32_t seed = 1; seed <= SEEDS; seed++) {
            dice = seed;
            tree_init(&flat, usages[u].filter, 1, 8, &dice);
            tree_init(&tree, usages[u].filter, 4, 8, &dice);
            send_waves(&tree, &flat, usages[u].taste, &dice);
            before = pack_whole(&tree, 0);
            for (uint32_t i = tree.count; i-- > 1;) {
                total = pack_whole(&tree, i);
                put(&tree, tree.parents[i], i, total);
                frame_fini(&total);
            }
            after = pack_whole(&tree, 0);
            CU_ASSERT(is_same(&before, &after));
            frame_fini(&before);
            frame_fini(&after);
            tree_fini(&tree);
            tree_fini(&flat);
        }
    }
}

/* A slot that is not kept, or that is replaced by nothing, leaves the total. If
 * the slot is made again, it is empty. */
TEST(a_slot_that_ends_leaves_the_total)
{
    struct tree flat;
    struct frame total, other;
    uint32_t dice = 1, seed = 5;
    uint32_t both[] = {1, 2}, one[] = {1};

    tree_init(&flat, "sum", 1, 2, &dice);
    other = roll(TASTE_INT, &seed);
    join_up(&flat, 1, SLOT_OWN, other);
    total = pack(&flat, 0, both, 2);
    CU_ASSERT(is_same(&total, &other));
    frame_fini(&total);
    join_up(&flat, 2, SLOT_OWN, other);
    total = pack(&flat, 0, one, 1);
    CU_ASSERT(is_same(&total, &other));
    frame_fini(&total);
    total = pack(&flat, 0, both, 2); /* 2 is new, so it is empty */
    CU_ASSERT(is_same(&total, &other));
    frame_fini(&total);
    put(&flat, 0, 1, (struct frame){.payload = NULL});
    total = pack(&flat, 0, both, 2);
    CU_ASSERT_PTR_NULL(total.payload);
    put(&flat, 0, SLOT_OWN, other);
    put(&flat, 0, SLOT_OWN, other); /* this slot is joined to, not replaced */
    join_up(&flat, 2, SLOT_OWN, other);
    total = pack(&flat, 0, NULL, 0); /* and always kept */
    CU_ASSERT_FATAL(total.payload != NULL);
    frame_fini(&total);
    frame_fini(&other);
    tree_fini(&flat);
}

/* The application's average is divided; packets to a parent are not. */
TEST(only_the_front_end_divides)
{
    struct cop_packet *packet;
    struct tree tree;
    struct frame total;
    uint32_t dice = 1;
    int32_t average = 0, i;

    tree_init(&tree, "avg", 2, 3, &dice);
    for (i = 0; i < 9; i++) {
        CHECK_OK(cop_packet_new(&packet, 1, "%d", i < 8 ? 10 : 100));
        join_up(&tree, 2 + (i == 8), SLOT_OWN, *packet_frame(packet));
        cop_packet_free(packet);
    }
    total = pack_whole(&tree, 0);
    CHECK_OK(packet_from_frame(&packet, &total));
    CHECK_OK(cop_packet_unpack(packet, "%d", &average));
    CU_ASSERT_EQUAL(average, 20); /* (8 * 10 + 100) / 9 */
    cop_packet_free(packet);
    tree_fini(&tree);
}

/* Results by hand: the borders of bins, numbers outside, NaN. */
TEST(a_histogram_counts_every_number_once)
{
    static const uint64_t expected[] = {1, 2, 1, 0, 1, 2, 1};
    double numbers[] = {-0.5, 0, 0.9, 1, 3, 4, 1e300, strtod("nan", NULL)};
    struct cop_packet *packet;
    struct tree tree;
    struct frame total;
    const uint64_t *counts;
    double lowest, highest;
    uint32_t dice = 1, len, i;
    struct payload *saved = parameters;

    CHECK_OK(packet_pack(&parameters, "%lf %lf %ud", 0.0, 4.0, UINT32_C(4)));
    tree_init(&tree, "histogram", 2, 1, &dice);
    CHECK_OK(cop_packet_new(&packet, 1, "%alf", numbers, UINT32_C(8)));
    join_up(&tree, 2, SLOT_OWN, *packet_frame(packet));
    cop_packet_free(packet);
    total = pack_whole(&tree, 0);
    CHECK_OK(packet_from_frame(&packet, &total));
    CHECK_OK(cop_packet_unpack(packet, "%lf %lf %auld", &lowest, &highest,
                               &counts, &len));
    CU_ASSERT(lowest == 0 && highest == 4);
    CU_ASSERT_EQUAL_FATAL(len, 7);
    for (i = 0; i < len; i++)
        CU_ASSERT_EQUAL(counts[i], expected[i]);
    cop_packet_free(packet);
    tree_fini(&tree);
    payload_free(parameters);
    parameters = saved;
}

/* ---- bad input ---- */

/* Check that `packet` (taken) fails in `filter`, with `words`; totals stay. */
static void check_refused(const char *filter,
                          enum node_role role,
                          struct cop_packet *packet,
                          const char *words)
{
    struct node_call join = {.slots = CALL_JOIN};
    struct node_call pack_it = {.slots = CALL_PACK, .state = true};
    struct loader_output before = {.up = NULL}, after = {.up = NULL};
    struct loader_output output = {.up = NULL};
    struct loader *loader = loader_for(filter, role);

    CHECK_OK(run(loader, role, pack_it, NULL, 0, &before));
    CU_ASSERT(run(loader, role, join, packet_frame(packet), SLOT_OWN, &output) <
              0);
    if (!strstr(output.text, words))
        printf("\n\"%s\" does not say \"%s\"\n", output.text, words);
    CU_ASSERT_PTR_NOT_NULL(strstr(output.text, words));
    CU_ASSERT_EQUAL(output.up_count, 0);
    CHECK_OK(run(loader, role, pack_it, NULL, 0, &after));
    CU_ASSERT_EQUAL(before.up_count, after.up_count);
    cop_packet_free(packet);
    loader_output_fini(&output);
    loader_output_fini(&before);
    loader_output_fini(&after);
    loader_free(loader);
}

static struct cop_packet *packet_of(const char *format, ...)
{
    struct cop_packet *packet = NULL;
    va_list args;

    va_start(args, format);
    CHECK_OK(cop_packet_new_va(&packet, 1, format, args));
    va_end(args);
    return packet;
}

TEST(packets_that_cannot_be_joined_are_left_out)
{
    uint64_t none[3] = {0};

    check_refused("sum", NODE_BACKEND, packet_of("%s", "a"), "numbers only");
    check_refused("avg", NODE_COMMNODE, packet_of("%s", "a"), "numbers only");
    check_refused("count", NODE_COMMNODE, packet_of("%d", 3), "%uld");
    check_refused("histogram", NODE_BACKEND, packet_of("%s", "a"),
                  "numbers only");
    check_refused("histogram", NODE_COMMNODE, packet_of("%d", 3),
                  "no histogram");
    check_refused("histogram", NODE_COMMNODE,
                  packet_of("%lf %lf %auld", 0.0, 1.0, none, UINT32_C(3)),
                  "no histogram");
    check_refused("histogram", NODE_COMMNODE,
                  packet_of("%lf %lf %auld", 1.0, 1.0, none, UINT32_C(3)),
                  "no histogram");
}

/* The second packet does not fit the first: it is left out. */
TEST(packets_of_another_format_are_left_out)
{
    struct node_call join = {.slots = CALL_JOIN};
    struct node_call pack_it = {.slots = CALL_PACK, .state = true};
    struct loader_output output = {.up = NULL};
    static const struct {
        const char *filter;
        const char *words;
    } cases[] = {{"sum", "the total so far \"%d\""},
                 {"max", "the total so far \"%d\""},
                 {"avg", "differ"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct loader *loader = loader_for(cases[i].filter, NODE_COMMNODE);
        struct cop_packet *good = packet_of("%d", 4);
        struct cop_packet *bad = packet_of("%lf", 4.0);

        CHECK_OK(run(loader, NODE_COMMNODE, join, packet_frame(good), SLOT_OWN,
                     &output));
        CU_ASSERT(run(loader, NODE_COMMNODE, join, packet_frame(bad), SLOT_OWN,
                      &output) < 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(output.text, cases[i].words));
        CHECK_OK(run(loader, NODE_COMMNODE, pack_it, NULL, 0, &output));
        CU_ASSERT_EQUAL(output.up_count, 1);
        cop_packet_free(good);
        cop_packet_free(bad);
        loader_free(loader);
    }
    loader_output_fini(&output);
}

/* A hostile count must not make the front-end divide by 0. */
TEST(averages_of_too_many_are_refused)
{
    unsigned char head[] = {'a', 'v', 'g', 1, COP_INT32};
    struct node_call join = {.slots = CALL_JOIN};
    struct loader_output output = {.up = NULL};
    struct loader *loader = loader_for("avg", NODE_FRONTEND);
    struct cop_packet *packet = packet_of("%auc %ld %uld", head, UINT32_C(5),
                                          INT64_C(7), (uint64_t)INT64_MAX);

    CHECK_OK(
        run(loader, NODE_FRONTEND, join, packet_frame(packet), 1, &output));
    CU_ASSERT(
        run(loader, NODE_FRONTEND, join, packet_frame(packet), 1, &output) < 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(output.text, "does not fit"));
    cop_packet_free(packet);
    loader_output_fini(&output);
    loader_free(loader);
}

/* The stream of a filter that cannot make totals is not opened. */
TEST(filters_without_totals_are_refused)
{
    struct stream_definition definition = {.kind = STREAM_TOTAL};
    struct loader *loader = NULL;
    struct cop_error error;

    definition.up_filter = (char *)"concat";
    CHECK_IS(loader_new(&loader, &definition, NODE_COMMNODE, path, &error),
             -EOPNOTSUPP);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "\"concat\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "no `join`"));
    definition.up_filter = (char *)"";
    CHECK_IS(loader_new(&loader, &definition, NODE_COMMNODE, path, &error),
             -EOPNOTSUPP);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "no upstream filter"));
}

int main(void)
{
    int r;

    path = getenv("COPPICE_FILTER_PATH");
    if (!path) {
        fprintf(stderr, "set COPPICE_FILTER_PATH\n");
        return EXIT_FAILURE;
    }
    if (packet_pack(&parameters, "%lf %lf %ud", -50.0, 200.0, UINT32_C(10)) < 0)
        return EXIT_FAILURE;
    r = check_run("slots");
    payload_free(parameters);
    return r;
}
