/* test_fields.c - the filters `fields` and `classes`: results by hand, in any
 * tree and in both forms, and what they refuse. */
#include <math.h>

#include "filters/call.h"
#include "test/filters/waves.h"

#define SEEDS      8
#define WORDS(...) ((const char *[]){__VA_ARGS__, NULL})

static void set_words(const char **words)
{
    uint32_t count = 0;

    payload_free(parameters);
    parameters = NULL;
    while (words && words[count])
        count++;
    if (words)
        CHECK_OK(packet_pack(&parameters, "%as", words, count));
}

/* Run one wave of `leaves`, which are freed, in a random tree. */
static struct cop_packet *wave_of(const char *filter,
                                  struct cop_packet **leaves,
                                  uint32_t count,
                                  uint32_t seed)
{
    struct tree *tree = tree_new(filter, count, false, seed);
    struct cop_packet *found = run_wave(tree, leaves);

    for (uint32_t i = 0; i < count; i++)
        cop_packet_free(leaves[i]);
    tree_free(tree);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    return found;
}

TEST(each_value_has_its_reduction)
{
    static const struct {
        int32_t number;
        double load;
        const char *host;
        int16_t heat;
    } sent[] = {{5, 1.5, "n3", 10},
                {-2, 4.5, "n7", 20},
                {9, 4.5, "n1", 25},
                {1, 0.5, "n0", -1}};

    set_words(WORDS("sum", "max", "with:1", "avg", "min", "with:4", "same",
                    "concat"));
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        struct cop_packet *leaves[4], *found;
        const char *host, *coldest, *job;
        const int32_t *all;
        int16_t average, least;
        int32_t sum;
        uint32_t count;
        double load;

        for (int i = 0; i < 4; i++)
            CHECK_OK(cop_packet_new(&leaves[i], 5, "%d %lf %s %hd %hd %s %s %d",
                                    sent[i].number, sent[i].load, sent[i].host,
                                    sent[i].heat, sent[i].heat, sent[i].host,
                                    "job 7", sent[i].number));
        found = wave_of("fields", leaves, 4, seed);
        CU_ASSERT_EQUAL(cop_packet_tag(found), 5);
        CHECK_OK(cop_packet_unpack(found, "%d %lf %s %hd %hd %s %s %ad", &sum,
                                   &load, &host, &average, &least, &coldest,
                                   &job, &all, &count));
        CU_ASSERT_EQUAL(sum, 13);
        CU_ASSERT_EQUAL(load, 4.5);
        CU_ASSERT_STRING_EQUAL(host, "n1"); /* the lower of two */
        CU_ASSERT_EQUAL(average, 13);       /* 54 / 4 */
        CU_ASSERT_EQUAL(least, -1);
        CU_ASSERT_STRING_EQUAL(coldest, "n0");
        CU_ASSERT_STRING_EQUAL(job, "job 7");
        CU_ASSERT_EQUAL_FATAL(count, 4);
        for (int i = 0; i < 4; i++)
            CU_ASSERT_EQUAL(all[i], sent[i].number);
        cop_packet_free(found);
    }
}

/* The greatest of all numbers, descending, with the names of their senders. */
TEST(the_top_is_right_in_any_tree)
{
    set_words(WORDS("top:5", "with:0"));
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        uint32_t dice = seed, best[LEAVES_MAX], count, names, n = 1 + seed * 4;
        struct cop_packet *leaves[LEAVES_MAX], *found;
        const char *const *hosts;
        const uint32_t *top;

        for (uint32_t i = 0; i < n; i++) {
            char name[16];

            /* Equal numbers are of different hosts; the lower one wins. */
            best[i] = next_random(&dice) % 16;
            snprintf(name, sizeof(name), "n%02u", i);
            CHECK_OK(cop_packet_new(&leaves[i], 5, "%ud %s", best[i], name));
        }
        found = wave_of("fields", leaves, n, seed);
        CHECK_OK(
            cop_packet_unpack(found, "%aud %as", &top, &count, &hosts, &names));
        CU_ASSERT_EQUAL_FATAL(count, n < 5 ? n : 5);
        CU_ASSERT_EQUAL_FATAL(names, count);
        for (uint32_t i = 0; i < count; i++) {
            char name[16];
            uint32_t w = 0;

            for (uint32_t k = 1; k < n; k++)
                if (best[w] == UINT32_MAX ||
                    (best[k] != UINT32_MAX && best[k] > best[w]))
                    w = k;
            snprintf(name, sizeof(name), "n%02u", w);
            CU_ASSERT_EQUAL(top[i], best[w]);
            CU_ASSERT_STRING_EQUAL(hosts[i], name);
            best[w] = UINT32_MAX;
        }
        cop_packet_free(found);
    }
}

/* Arrays are reduced by element; a NaN is no extreme, whichever input has it. */
TEST(arrays_are_reduced_by_element)
{
    const double a[] = {1, (double)NAN, 3}, b[] = {2, 5, (double)NAN};
    const int32_t from_a[] = {10, 11, 12}, from_b[] = {20, 21, 22};
    struct cop_packet *leaves[2], *found;
    const double *most, *least, *plain;
    const int32_t *of_most, *of_least;
    uint32_t counts[5];

    set_words(WORDS("max", "with:0", "min", "with:2", "min"));
    CHECK_OK(cop_packet_new(&leaves[0], 5, "%alf %ad %alf %ad %alf", a, 3,
                            from_a, 3, a, 3, from_a, 3, a, 3));
    CHECK_OK(cop_packet_new(&leaves[1], 5, "%alf %ad %alf %ad %alf", b, 3,
                            from_b, 3, b, 3, from_b, 3, b, 3));
    found = wave_of("fields", leaves, 2, 1);
    CHECK_OK(cop_packet_unpack(found, "%alf %ad %alf %ad %alf", &most,
                               &counts[0], &of_most, &counts[1], &least,
                               &counts[2], &of_least, &counts[3], &plain,
                               &counts[4]));
    for (int i = 0; i < 5; i++)
        CU_ASSERT_EQUAL_FATAL(counts[i], 3);
    CU_ASSERT(most[0] == 2 && most[1] == 5 && most[2] == 3);
    CU_ASSERT(of_most[0] == 20 && of_most[1] == 21 && of_most[2] == 12);
    CU_ASSERT(least[0] == 1 && least[1] == 5 && least[2] == 3);
    CU_ASSERT(of_least[0] == 10 && of_least[1] == 21 && of_least[2] == 12);
    CU_ASSERT(plain[0] == 1 && plain[1] == 5 && plain[2] == 3);
    cop_packet_free(found);
}

/* ---- one call, without a loader ---- */

struct lone {
    const struct cop_filter *filter;
    struct plugin *plugin;
    struct loader_node node;
    struct loader_output output;
    struct node_call node_call;
    struct cop_packet *parameters;
    struct cop_packet *inputs[2];
    uint32_t inlets[2];
    struct cop_filter_call call;
    void *state;
};

/* Make a filter's state in a node. Returns what `init` does. */
static int lone_begin(struct lone *lone,
                      const char *name,
                      enum node_role role,
                      const char **words)
{
    uint32_t count = 0;

    *lone = (struct lone){.node = {.role = role, .rank = 3}};
    CHECK_OK(plugin_open(&lone->plugin, path, name, NULL));
    lone->filter = plugin_filter(lone->plugin);
    while (words && words[count])
        count++;
    if (words)
        CHECK_OK(cop_packet_new(&lone->parameters, 0, "%as", words, count));
    lone->node_call =
        (struct node_call){.upward = true, .inlets = lone->inlets};
    lone->call = (struct cop_filter_call){.call = &lone->node_call,
                                          .node = &lone->node,
                                          .filter = lone->filter,
                                          .packets = lone->inputs,
                                          .parameters = &lone->parameters,
                                          .output = &lone->output};
    return lone->filter->init(&lone->state, &lone->call);
}

static void lone_end(struct lone *lone)
{
    lone->filter->free(lone->state);
    cop_packet_free(lone->parameters);
    loader_output_fini(&lone->output);
    plugin_close(lone->plugin);
}

/* Parameters that make no sense are refused when the stream is opened. */
TEST(wrong_parameters_are_refused)
{
    static const char *many[COP_VALUES_MAX];
    const struct {
        const char **words;
        const char *text;
    } cases[] = {
        {NULL, "must be \"%as\""},
        {WORDS(NULL), "must be \"%as\""},
        {WORDS("sum", "mean"), "word 1 of the parameters is \"mean\""},
        {WORDS("top"), "\"top\""},
        {WORDS("top:0"), "\"top:0\""},
        {WORDS("top:65537"), "K from 1 to 65536"},
        {WORDS("top:3x"), "\"top:3x\""},
        {WORDS("top:-1"), "\"top:-1\""},
        {WORDS("with:"), "\"with:\""},
        {WORDS("with:0"), "is \"with:0\", but value 0 is none of"},
        {WORDS("with:1", "with:0"), "value 1 is none of"},
        {WORDS("max", "with:1"), "value 1 is none of"},
        {WORDS("max", "with:0", "with:1"), "value 1 is none of"},
        {WORDS("sum", "with:0"), "value 0 is none of"},
        {WORDS("max", "with:2"), "value 2 is none of"},
        {many, "with \"avg\", there may be at most 30"},
    };
    struct lone lone;

    for (int i = 0; i < COP_VALUES_MAX - 1; i++)
        many[i] = "avg";
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK_IS(lone_begin(&lone, "fields", NODE_COMMNODE, cases[i].words),
                 -EPROTO);
        if (!strstr(lone.output.text, cases[i].text))
            printf("\n\"%s\" does not say \"%s\"\n", lone.output.text,
                   cases[i].text);
        CU_ASSERT_PTR_NOT_NULL(strstr(lone.output.text, cases[i].text));
        lone_end(&lone);
    }
}

/* Run the wave form on two packets of ranks 7 and 9, which are freed. */
static int wave_of_two(struct lone *lone,
                       struct cop_packet *a,
                       struct cop_packet *b)
{
    int r;

    lone->inputs[0] = a;
    lone->inputs[1] = b;
    lone->inlets[0] = 7;
    lone->inlets[1] = 9;
    lone->call.packet_count = 2;
    r = lone->filter->filter(lone->state, &lone->call);
    cop_packet_free(a);
    cop_packet_free(b);
    return r;
}

static struct cop_packet *packet_of(const char *format, ...)
{
    struct cop_packet *packet;
    va_list args;

    va_start(args, format);
    CHECK_OK(cop_packet_new_va(&packet, 5, format, args));
    va_end(args);
    return packet;
}

static void check_two_refused(const char *name,
                              const char **words,
                              struct cop_packet *a,
                              struct cop_packet *b,
                              const char *text)
{
    struct lone lone;

    CHECK_OK(lone_begin(&lone, name, NODE_COMMNODE, words));
    CHECK_IS(wave_of_two(&lone, a, b), -EPROTO);
    if (!strstr(lone.output.text, text))
        printf("\n\"%s\" does not say \"%s\"\n", lone.output.text, text);
    CU_ASSERT_PTR_NOT_NULL(strstr(lone.output.text, text));
    CU_ASSERT_EQUAL(lone.output.up_count, 0);
    lone_end(&lone);
}

/* The error says which value of which rank is refused. */
TEST(wrong_packets_are_refused)
{
    const unsigned char head[] = {'f', 'l', 'd', 1, COP_STRING};
    const int32_t three[] = {1, 2, 3};

    check_two_refused("fields", WORDS("avg"),
                      packet_of("%auc %lf %uld", head, 5, 1.0, UINT64_C(1)),
                      packet_of("%d", 1), "value 0 from rank 7 is a string");
    check_two_refused("fields", WORDS("sum", "sum"), packet_of("%d %d", 1, 2),
                      packet_of("%d", 1), "rank 9 has the format \"%d\"");
    check_two_refused("fields", WORDS("sum"), packet_of("%d", 1),
                      packet_of("%ud", 1),
                      "value 0 from rank 9 has another type (\"%ud\")");
    check_two_refused("fields", WORDS("same", "max"),
                      packet_of("%d %s", 1, "x"), packet_of("%d %d", 1, 2),
                      "value 1 from rank 7 is a string: \"max\" takes numbers");
    check_two_refused("fields", WORDS("sum"), packet_of("%ad", three, 3),
                      packet_of("%ad", three, 2),
                      "value 0 from rank 9 has 2 elements, from rank 7 3");
    check_two_refused("fields", WORDS("max", "with:0"),
                      packet_of("%ad %ad", three, 3, three, 2),
                      packet_of("%ad %ad", three, 3, three, 3),
                      "value 1 from rank 7 has 2 elements");
    check_two_refused(
        "fields", WORDS("top:3", "with:0"), packet_of("%d %ad", 1, three, 1),
        packet_of("%d %ad", 1, three, 2), "value 1 from rank 9 has 2 elements");
    check_two_refused("fields", WORDS("sum", "same"),
                      packet_of("%d %s", 1, "a"), packet_of("%d %s", 1, "b"),
                      "value 1 must be the same in all back-ends: from rank 7 "
                      "it is \"a\", from rank 9 \"b\"");
    check_two_refused("fields", WORDS("avg"), packet_of("%ld", INT64_MAX),
                      packet_of("%ld", INT64_MAX),
                      "value 0 with that from rank 9 does not fit in 64 bits");
    check_two_refused("classes", NULL, packet_of("%d %s", 1, "a"),
                      packet_of("%d", 1), "value 1 from rank 9 (\"%d\")");
    check_two_refused("classes", NULL, packet_of("%d", 1),
                      packet_of("%ad", three, 1),
                      "value 0 from rank 9 (\"%ad\")");
}

/* ---- classes ---- */

TEST(equal_packets_become_one_class)
{
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        static const int32_t codes[] = {0, 1, 0, 127, 1, 0, 1};
        static const char *const texts[] = {"ok", "b",  "ok", "",
                                            "a",  "ok", "b"};
        struct cop_packet *leaves[7], *found;
        uint32_t counts[4], order = 0;
        const int32_t *code;
        const char *const *text;
        const uint32_t *sizes, *ranks;
        for (int i = 0; i < 7; i++)
            CHECK_OK(
                cop_packet_new(&leaves[i], 5, "%d %s", codes[i], texts[i]));
        found = wave_of("classes", leaves, 7, seed);
        CHECK_OK(cop_packet_unpack(found, "%ad %as %aud %aud", &code,
                                   &counts[0], &text, &counts[1], &sizes,
                                   &counts[2], &ranks, &counts[3]));
        CU_ASSERT_FATAL(counts[0] == 4 && counts[1] == 4 && counts[2] == 4 &&
                        counts[3] == 7);
        CU_ASSERT(code[0] == 0 && strcmp(text[0], "ok") == 0 && sizes[0] == 3);
        CU_ASSERT(code[1] == 1 && strcmp(text[1], "b") == 0 && sizes[1] == 2);
        CU_ASSERT(code[2] == 1 && strcmp(text[2], "a") == 0 && sizes[2] == 1);
        CU_ASSERT(code[3] == 127 && strcmp(text[3], "") == 0 && sizes[3] == 1);
        for (int k = 0; k < 4; k++)
            for (uint32_t i = 0; i < 7; i++)
                if (codes[i] == code[k] && strcmp(texts[i], text[k]) == 0)
                    CU_ASSERT_EQUAL(ranks[order++], LEAF_RANK + i);
        CU_ASSERT_EQUAL(order, 7);
        cop_packet_free(found);
    }
}

TEST(an_array_may_be_a_value)
{
    const int32_t a[] = {1, 2, 3}, b[] = {1, 2};
    struct cop_packet *leaves[3], *found;
    const int32_t *elements;
    const uint32_t *lens, *sizes, *ranks;
    uint32_t counts[4];

    CHECK_OK(cop_packet_new(&leaves[0], 5, "%ad", a, 3));
    CHECK_OK(cop_packet_new(&leaves[1], 5, "%ad", b, 2));
    CHECK_OK(cop_packet_new(&leaves[2], 5, "%ad", a, 0));
    found = wave_of("classes", leaves, 3, 2);
    CHECK_OK(cop_packet_unpack(found, "%ad %aud %aud %aud", &elements,
                               &counts[0], &lens, &counts[1], &sizes,
                               &counts[2], &ranks, &counts[3]));
    CU_ASSERT_FATAL(counts[0] == 5 && counts[1] == 3 && counts[2] == 3 &&
                    counts[3] == 3);
    CU_ASSERT(lens[0] == 0 && lens[1] == 2 && lens[2] == 3);
    CU_ASSERT(elements[0] == 1 && elements[1] == 2 && elements[4] == 3);
    cop_packet_free(found);
}

/* A packet of classes as between nodes: numbers from `first` on, one member
 * each. */
static struct cop_packet *many_classes(int32_t first, uint32_t count)
{
    const unsigned char head[] = {'c', 'l', 's', 1, 0};
    int32_t *numbers = calloc(count, sizeof(*numbers));
    uint32_t *ones = calloc(count, sizeof(*ones));
    uint32_t *ranks = calloc(count, sizeof(*ranks));
    struct cop_packet *packet;

    CU_ASSERT_FATAL(numbers && ones && ranks);
    for (uint32_t i = 0; i < count; i++) {
        numbers[i] = first + (int32_t)i;
        ones[i] = 1;
        ranks[i] = (uint32_t)first + i;
    }
    packet = packet_of("%auc %ad %aud %aud", head, (uint32_t)sizeof(head),
                       numbers, count, ones, count, ranks, count);
    free(numbers);
    free(ones);
    free(ranks);
    return packet;
}

TEST(many_classes_are_merged)
{
    uint32_t counts[4];
    const unsigned char *head;
    const uint32_t *sizes, *ranks;
    struct cop_packet *found;
    const int32_t *numbers;
    struct lone lone;

    CHECK_OK(lone_begin(&lone, "classes", NODE_COMMNODE, NULL));
    CHECK_OK(
        wave_of_two(&lone, many_classes(0, 60000), many_classes(40000, 60000)));
    found = open_frame(&lone.output.up[0]);
    CHECK_OK(cop_packet_unpack(found, "%auc %ad %aud %aud", &head, &counts[0],
                               &numbers, &counts[1], &sizes, &counts[2], &ranks,
                               &counts[3]));
    CU_ASSERT_EQUAL_FATAL(counts[1], 100000);
    CU_ASSERT_EQUAL(counts[3], 100000); /* a rank counts once in a class */
    for (uint32_t i = 0; i < counts[1]; i++)
        CU_ASSERT_FATAL(numbers[i] == (int32_t)i && sizes[i] == 1 &&
                        ranks[i] == i);
    cop_packet_free(found);
    lone_end(&lone);
}

/* Classes whose numbers do not agree come from a damaged node. */
TEST(damaged_classes_are_refused)
{
    const unsigned char head[] = {'c', 'l', 's', 1, 0, 1, 0, 0};
    const int32_t values[] = {4, 5, 6};
    const uint32_t counts[] = {1, 2, 0, UINT32_MAX};

    for (uint32_t mask = 0; mask < 1 << 9; mask++) {
        uint32_t head_len = 4 + mask % 4, n = mask / 4 % 4, m = mask / 16 % 4;
        uint32_t members = mask / 64 % 4;
        const uint32_t *sizes = mask / 256 ? counts + 1 : counts;
        bool is_right = head_len == 6 &&
                        ((n == 1 && m == 1 && members == sizes[0]) ||
                         (n == 2 && m == 3 && members == 3 && sizes == counts));
        struct lone lone;
        int r;

        CHECK_OK(lone_begin(&lone, "classes", NODE_COMMNODE, NULL));
        r = wave_of_two(&lone,
                        packet_of("%auc %ad %ad %aud %aud %aud", head, head_len,
                                  values, n, values, m, counts, n, sizes, n,
                                  counts, members),
                        packet_of("%d %ad", 1, values, 2));
        CU_ASSERT_EQUAL(r == 0, is_right);
        lone_end(&lone);
    }
}

/* A filter that does not care about the tag gives 0. */
TEST(a_packet_without_a_tag_gets_that_of_the_wave)
{
    struct lone lone;

    CHECK_OK(lone_begin(&lone, "classes", NODE_COMMNODE, NULL));
    CHECK_OK(cop_packet_new(&lone.inputs[0], 77, ""));
    lone.call.packet_count = 1;
    for (int32_t tag = 0; tag < 2; tag++) {
        struct cop_packet *packet;

        CHECK_OK(cop_packet_new(&packet, tag, ""));
        CHECK_OK(cop_filter_emit(&lone.call, packet));
        CU_ASSERT_EQUAL(lone.output.up[tag].tag, tag == 0 ? 77 : 1);
    }
    cop_packet_free(lone.inputs[0]);
    lone_end(&lone);
}

/* ---- totals ---- */

/* Join packets in a back-end, its packed state in a commnode, and that one's in
 * the front-end. */
static struct cop_packet *total_of(const char *name,
                                   const char **words,
                                   struct cop_packet **packets,
                                   size_t count)
{
    static const enum node_role roles[] = {NODE_BACKEND, NODE_COMMNODE,
                                           NODE_FRONTEND};
    struct cop_packet *packet = NULL;
    struct lone lone;

    for (int i = 0; i < 3; i++) {
        CHECK_OK(lone_begin(&lone, name, roles[i], words));
        for (size_t k = 0; i == 0 && k < count; k++) {
            lone.node.rank = (uint32_t)k;
            CHECK_OK(lone.filter->join(lone.state, packets[k], &lone.call));
        }
        if (i > 0) {
            CHECK_OK(lone.filter->join(lone.state, packet, &lone.call));
            cop_packet_free(packet);
        }
        packet = NULL;
        CHECK_OK(lone.filter->pack(lone.state, &packet));
        CU_ASSERT_PTR_NOT_NULL_FATAL(packet);
        lone_end(&lone);
    }
    return packet;
}

TEST(totals_are_those_of_all_packets)
{
    struct cop_packet *packets[5], *found;
    const char *const *names;
    const int32_t *top;
    uint32_t counts[2];
    int32_t average;
    int64_t sum;

    for (int i = 0; i < 5; i++)
        packets[i] = packet_of("%ld %d %d %s", (int64_t)i, 10 * i, i % 3,
                               i % 2 ? "odd" : "even");
    found =
        total_of("fields", WORDS("sum", "avg", "top:2", "with:2"), packets, 5);
    CHECK_OK(cop_packet_unpack(found, "%ld %d %ad %as", &sum, &average, &top,
                               &counts[0], &names, &counts[1]));
    CU_ASSERT_EQUAL(sum, 10);
    CU_ASSERT_EQUAL(average, 20);
    CU_ASSERT_FATAL(counts[0] == 2 && counts[1] == 2);
    CU_ASSERT(top[0] == 2 && top[1] == 1);
    CU_ASSERT_STRING_EQUAL(names[0], "even");
    CU_ASSERT_STRING_EQUAL(names[1], "even"); /* of 1 and 4: the lower */
    cop_packet_free(found);
    for (int i = 0; i < 5; i++)
        cop_packet_free(packets[i]);
}

/* A value travels each link once: equal answers of 1 KiB from 1,024 back-ends
 * are one, with the ranks. */
TEST(equal_answers_travel_once)
{
    static struct cop_packet *packets[1024];
    char text[1024];
    struct cop_packet *found;
    const char *const *texts;
    const uint32_t *sizes, *ranks;
    uint32_t counts[3];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (int i = 0; i < 1024; i++)
        packets[i] = packet_of("%s", text);
    found = total_of("classes", NULL, packets, 1024);
    CU_ASSERT(cop_packet_size(found) <= 6 * 1024);
    CHECK_OK(cop_packet_unpack(found, "%as %aud %aud", &texts, &counts[0],
                               &sizes, &counts[1], &ranks, &counts[2]));
    CU_ASSERT_FATAL(counts[0] == 1 && counts[1] == 1 && counts[2] == 1024);
    CU_ASSERT_STRING_EQUAL(texts[0], text);
    CU_ASSERT_EQUAL(sizes[0], 1024);
    for (uint32_t i = 0; i < 1024; i++)
        CU_ASSERT_EQUAL(ranks[i], i);
    cop_packet_free(found);
    for (int i = 0; i < 1024; i++)
        cop_packet_free(packets[i]);
}

/* As many steps as packets, not as their square. */
TEST(a_total_of_many_classes)
{
    enum {
        PACKETS = 40000,
        CLASSES = 20000
    };
    static struct cop_packet *packets[PACKETS];
    const uint32_t *sizes, *ranks;
    struct cop_packet *found;
    const int32_t *numbers;
    uint32_t counts[3];

    for (int i = 0; i < PACKETS; i++)
        packets[i] = packet_of("%d", i % CLASSES);
    found = total_of("classes", NULL, packets, PACKETS);
    CHECK_OK(cop_packet_unpack(found, "%ad %aud %aud", &numbers, &counts[0],
                               &sizes, &counts[1], &ranks, &counts[2]));
    CU_ASSERT_FATAL(counts[0] == CLASSES && counts[2] == PACKETS);
    for (int i = 0; i < CLASSES; i++)
        CU_ASSERT_FATAL(numbers[i] == i && sizes[i] == 2 &&
                        ranks[2 * i] == (uint32_t)i &&
                        ranks[2 * i + 1] == (uint32_t)(i + CLASSES));
    cop_packet_free(found);
    for (int i = 0; i < PACKETS; i++)
        cop_packet_free(packets[i]);
}

int main(void)
{
    int r;

    path = getenv("COPPICE_FILTER_PATH");
    if (!path) {
        fprintf(stderr, "set COPPICE_FILTER_PATH\n");
        return EXIT_FAILURE;
    }
    r = check_run("fields and classes");
    payload_free(parameters);
    return r;
}
