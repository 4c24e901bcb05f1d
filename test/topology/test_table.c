/* test_table.c - the topology table. */
#include "topology/table.h"

#include "test/topology/grove.h"

#include <errno.h>

#define SEEDS 2000

/* The table of 0(1(3,4),2), two back-ends at each leaf. */
static struct table *small_table(void)
{
    struct table *table = NULL;

    CHECK_OK(table_new(&table));
    CHECK_OK(table_add(table, 0, TABLE_NONE, 0, 2));
    CHECK_OK(table_add(table, 1, 0, 0, 2));
    CHECK_OK(table_add(table, 2, 0, 0, 2));
    CHECK_OK(table_add(table, 3, 1, 0, 2));
    CHECK_OK(table_add(table, 4, 1, 0, 2));
    CHECK_OK(table_check(table));
    return table;
}

static struct table_entry entry_of(const struct table *table, uint32_t rank)
{
    struct table_entry entry = {0};

    CHECK_OK(table_entry(table, rank, &entry));
    return entry;
}

/* Check that the table agrees with the grove. */
static void check_against(const struct table *table, const struct grove *grove)
{
    CU_ASSERT_EQUAL(table_count(table), grove->count);
    CU_ASSERT_EQUAL(table_height(table), grove_height(grove, 0));
    for (uint32_t i = 0; i < grove->count; i++) {
        uint32_t rank = grove->rank[i];
        struct table_entry entry = entry_of(table, rank);

        CU_ASSERT_EQUAL(entry.incarnation, grove->incarnation[i]);
        CU_ASSERT_EQUAL(entry.failed, grove->failed[i]);
        CU_ASSERT_EQUAL(entry.fan_out, grove_fan_out(grove, i));
        CU_ASSERT_EQUAL(entry.backend_count, grove->backends[i]);
        CU_ASSERT_EQUAL(table_depth(table, rank), grove_depth(grove, i, 0));
        CU_ASSERT_EQUAL(table_subtree_height(table, rank),
                        grove_height(grove, i));
        for (uint32_t j = 0; j < grove->count; j++)
            CU_ASSERT_EQUAL(table_is_below(table, rank, grove->rank[j]),
                            grove_depth(grove, i, j) != TABLE_NO_PATH);
    }
}

/* Depths, heights and fan-outs agree with those found by walking the tree,
 * after any failures and moves. */
TEST(the_table_is_the_tree)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t state = seed * 2 + 1;
        struct grove grove;
        struct table *table;

        grove_init(&grove, &state);
        table = grove_table(&grove, &state);
        check_against(table, &grove);
        for (uint32_t steps = tree_random(&state) % 40; steps > 0; steps--)
            grove_step(&grove, table, &state);
        check_against(table, &grove);
        table_free(table);
    }
}

static void shuffle(struct table_record *records,
                    uint32_t count,
                    uint64_t *state)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = tree_random(state) % i;
        struct table_record kept = records[i - 1];

        records[i - 1] = records[j];
        records[j] = kept;
    }
}

static bool same_records(const struct table *a, const struct table *b)
{
    uint32_t at_a = 0;
    uint32_t at_b = 0;
    struct table_record from_a = {0};
    struct table_record from_b = {0};
    bool more;

    do {
        more = table_changed(a, &at_a, &from_a);
        if (more != table_changed(b, &at_b, &from_b) ||
            memcmp(&from_a, &from_b, sizeof from_a) != 0)
            return false;
    } while (more);
    return true;
}

static bool same_entries(const struct table *a, const struct table *b)
{
    struct table_entry from_a;
    struct table_entry from_b;

    for (uint32_t i = 0; i < table_count(a); i++) {
        memset(&from_a, 0, sizeof from_a);
        memset(&from_b, 0, sizeof from_b);
        table_at(a, i, &from_a);
        table_at(b, i, &from_b);
        if (from_a.rank != from_b.rank || from_a.parent != from_b.parent ||
            from_a.incarnation != from_b.incarnation ||
            from_a.fan_out != from_b.fan_out || from_a.failed != from_b.failed)
            return false;
    }
    return true;
}

/* Rule 6.3: records in any order, some twice, give the same table. Rule 6.4: its
 * list of changes makes the same table from the one at launch. */
TEST(the_order_of_records_does_not_matter)
{
    struct table_record records[64];
    struct table_record record;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t state = seed * 2 + 1;
        struct grove grove;
        struct table *table[3];
        uint32_t cursor = 0;

        grove_init(&grove, &state);
        for (uint32_t i = 0; i < 3; i++)
            table[i] = grove_table(&grove, &state);
        for (uint32_t i = 0; i < 64; i++) {
            uint32_t rank = 1 + tree_random(&state) % 200;
            uint32_t incarnation = 1 + tree_random(&state) % 4;
            /* One incarnation is one attempt, so it has one parent. */
            uint32_t parent = grove.rank[(rank + incarnation) % grove.count];

            if (parent == rank || tree_random(&state) % 3 == 0)
                parent = TABLE_FAILED;
            records[i] = (struct table_record){rank, incarnation, parent};
        }
        for (uint32_t i = 0; i < 64; i++)
            CHECK_OK(table_record(table[0], records[i].rank,
                                  records[i].incarnation, records[i].parent));
        shuffle(records, 64, &state);
        for (uint32_t i = 0; i < 96; i++) {
            record = records[i % 64];
            CHECK_OK(table_record(table[1], record.rank, record.incarnation,
                                  record.parent));
        }
        while (table_changed(table[0], &cursor, &record))
            CHECK_IS(table_record(table[2], record.rank, record.incarnation,
                                  record.parent),
                     1);
        for (uint32_t i = 1; i < 3; i++) {
            CU_ASSERT(same_records(table[0], table[i]));
            CU_ASSERT(same_entries(table[0], table[i]));
        }
        for (uint32_t i = 0; i < 3; i++)
            table_free(table[i]);
    }
}

/* PROTOCOL 6.3: the higher incarnation wins; at equal incarnation FAILED
 * does. */
TEST(the_higher_incarnation_wins)
{
    struct table *table = small_table();

    CHECK_IS(table_record(table, 3, 0, 2), 0);
    CHECK_IS(table_record(table, 3, 2, 2), 1);
    CHECK_IS(table_record(table, 3, 1, 4), 0);
    CHECK_IS(table_record(table, 3, 1, TABLE_FAILED), 0);
    CU_ASSERT_EQUAL(entry_of(table, 3).parent, 2);
    CHECK_IS(table_record(table, 3, 2, TABLE_FAILED), 1);
    CHECK_IS(table_record(table, 3, 2, TABLE_FAILED), 0);
    CHECK_IS(table_record(table, 3, 2, 2), 0);
    CU_ASSERT_EQUAL(entry_of(table, 3).parent, TABLE_FAILED);
    CHECK_IS(table_record(table, 3, UINT32_MAX, 0), 1);
    CU_ASSERT_EQUAL(table_depth(table, 3), 1);
    CU_ASSERT_EQUAL(entry_of(table, 0).fan_out, 3);
    CU_ASSERT_EQUAL(entry_of(table, 1).fan_out, 1);
    CU_ASSERT_EQUAL(entry_of(table, 2).fan_out, 2);
    table_free(table);
}

/* A back-end's record is new once, and is listed; fan-outs do not change. */
TEST(records_of_back_ends_are_kept)
{
    struct table *table = small_table();
    struct table_record record = {0};
    uint32_t cursor = 0;

    CHECK_IS(table_latest(table, 1000, &record), -ENOENT);
    CHECK_IS(table_record(table, 1000, 0, TABLE_FAILED), 1);
    CHECK_IS(table_record(table, 1000, 0, TABLE_FAILED), 0);
    CHECK_IS(table_record(table, 1000, 1, 2), 1);
    CHECK_IS(table_record(table, 1000, 1, 4), 0);
    CHECK_IS(table_record(table, TABLE_RANKS_MAX - 1, 7, 2), 1);
    CHECK_IS(table_record(table, 2, 0, TABLE_FAILED), 1);
    CHECK_OK(table_latest(table, 1000, &record));
    CU_ASSERT_EQUAL(record.parent, 2);
    CU_ASSERT(table_changed(table, &cursor, &record));
    CU_ASSERT_EQUAL(record.rank, 2);
    CU_ASSERT_EQUAL(record.parent, TABLE_FAILED);
    CU_ASSERT(table_changed(table, &cursor, &record));
    CU_ASSERT_EQUAL(record.rank, 1000);
    CU_ASSERT(table_changed(table, &cursor, &record));
    CU_ASSERT_EQUAL(record.rank, TABLE_RANKS_MAX - 1);
    CU_ASSERT_EQUAL(record.incarnation, 7);
    CU_ASSERT_FALSE(table_changed(table, &cursor, &record));
    CU_ASSERT_FALSE(table_changed(table, &cursor, &record));
    CU_ASSERT_EQUAL(table_count(table), 5);
    CU_ASSERT_EQUAL(entry_of(table, 4).fan_out, 2);
    table_free(table);
}

static int fan_out(struct table *table,
                   uint32_t rank,
                   uint32_t version,
                   uint32_t backend_count)
{
    return table_fan_out(table,
                         &(struct table_fan_out){rank, version, backend_count});
}

/* PROTOCOL 6.6: the fan-out of the higher version wins, in any order. */
TEST(the_last_fan_out_counts)
{
    struct table *table = small_table();
    struct table_fan_out record;
    uint32_t cursor = 0;

    CU_ASSERT_FALSE(table_fan_out_changed(table, &cursor, &record));
    CHECK_OK(table_fan_out_of(table, 3, &record));
    CU_ASSERT_EQUAL(record.version, 0);
    CU_ASSERT_EQUAL(record.backend_count, 2);
    CHECK_IS(fan_out(table, 3, 2, 7), 1);
    CHECK_IS(fan_out(table, 3, 2, 7), 0);
    CHECK_IS(fan_out(table, 3, 1, 5), 0);
    CU_ASSERT_EQUAL(entry_of(table, 3).fan_out, 7);
    CHECK_IS(fan_out(table, 3, 3, 0), 1);
    CU_ASSERT_EQUAL(entry_of(table, 3).fan_out, 0);
    CHECK_IS(fan_out(table, 4, 1, TOPOLOGY_CHILDREN_MAX + 1), -EBADMSG);
    CHECK_IS(fan_out(table, 77, 1, 1), -ENOENT);
    cursor = 0;
    CU_ASSERT(table_fan_out_changed(table, &cursor, &record));
    CU_ASSERT_EQUAL(record.rank, 3);
    CU_ASSERT_EQUAL(record.version, 3);
    CU_ASSERT_FALSE(table_fan_out_changed(table, &cursor, &record));
    table_free(table);
}

/* PROTOCOL 6.1: tables with the same records have the same version, whatever
 * their history; tables with other records have another version. */
TEST(versions_tell_tables_apart)
{
    struct table *one = small_table(), *other = small_table();

    CU_ASSERT_EQUAL(table_version(one), 0);
    CHECK_IS(table_record(one, 3, 1, TABLE_FAILED), 1);
    CU_ASSERT_NOT_EQUAL(table_version(one), 0);
    CHECK_IS(table_record(one, 3, 2, 2), 1);
    CHECK_IS(fan_out(one, 4, 1, 3), 1);
    CHECK_IS(fan_out(one, 4, 2, 4), 1);
    CHECK_IS(table_record(one, 9, 1, 4), 1); /* a back-end */
    CHECK_IS(table_record(one, 9, 2, 3), 1);
    CHECK_IS(fan_out(other, 4, 2, 4), 1);
    CHECK_IS(table_record(other, 9, 2, 3), 1);
    CU_ASSERT_NOT_EQUAL(table_version(one), table_version(other));
    CHECK_IS(table_record(other, 3, 2, 2), 1);
    CU_ASSERT_EQUAL(table_version(one), table_version(other));
    CHECK_IS(fan_out(other, 4, 3, 4), 1);
    CU_ASSERT_NOT_EQUAL(table_version(one), table_version(other));
    table_free(one);
    table_free(other);
}

/* Impossible records change nothing. */
TEST(impossible_records_are_refused)
{
    struct table *table = small_table();

    CHECK_IS(table_record(table, 0, 9, TABLE_FAILED), 0);
    CHECK_IS(table_record(table, 0, 9, 1), -EBADMSG);
    CHECK_IS(table_record(table, 3, 9, 3), -EBADMSG);
    CHECK_IS(table_record(table, 3, 9, 77), -EBADMSG);
    CHECK_IS(table_record(table, 3, 9, TABLE_NONE), -EBADMSG);
    CHECK_IS(table_record(table, 77, 9, 77), -EBADMSG);
    CHECK_IS(table_record(table, TABLE_RANKS_MAX, 9, 1), -EBADMSG);
    CHECK_IS(table_set_backends(table, 3, TOPOLOGY_CHILDREN_MAX + 1), -EBADMSG);
    CHECK_IS(table_set_backends(table, 77, 1), -ENOENT);
    CHECK_IS(table_set_backends(table, 3, TOPOLOGY_CHILDREN_MAX), 1);
    CHECK_IS(table_set_backends(table, 3, TOPOLOGY_CHILDREN_MAX), 0);
    CU_ASSERT_EQUAL(entry_of(table, 3).fan_out, TOPOLOGY_CHILDREN_MAX);
    CU_ASSERT_EQUAL(entry_of(table, 3).incarnation, 0);
    CHECK_IS(table_add(table, 9, 0, 0, 0), -EBADMSG);
    CHECK_IS(table_check(table), -EBADMSG);
    CU_ASSERT_EQUAL(table_depth(table, 77), TABLE_NO_PATH);
    CU_ASSERT_EQUAL(table_subtree_height(table, 77), 0);
    CU_ASSERT_EQUAL(table_height(table), 3);
    table_free(table);
    table_free(NULL);
}

/* Nodes that form no tree are refused by table_add() or table_check(), and the
 * table stays empty. Each row is one node: rank, parent, fan-out. */
TEST(a_table_that_is_no_tree_is_refused)
{
    static const uint32_t wrong[][4][3] = {
        {{1, 0, 0}},                                   /* no front-end */
        {{0, TABLE_NONE, 2}, {1, 0, 0}, {1, 0, 0}},    /* twice */
        {{0, TABLE_NONE, 2}, {1, 0, 0}, {3, 2, 0}},    /* no such parent */
        {{0, TABLE_NONE, 1}, {1, 2, 1}, {2, 1, 1}},    /* a circle */
        {{0, TABLE_NONE, 1}, {1, 0, 0}, {2, 0, 0}},    /* too few */
        {{0, TABLE_NONE, 1}, {1, 1, 1}},               /* its own parent */
        {{0, TABLE_NONE, 1}, {1, TABLE_NONE, 0}},      /* two roots */
        {{0, 1, 1}, {1, 0, 0}},                        /* rank 0 is no root */
        {{0, TABLE_FAILED, 0}},                        /* a failed node */
        {{0, TABLE_NONE, TOPOLOGY_CHILDREN_MAX + 1}},  /* too many */
        {{0, TABLE_NONE, 1}, {TABLE_RANKS_MAX, 0, 0}}, /* too high */
    };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct table *table = NULL;
        int r = 0;

        CHECK_OK(table_new(&table));
        for (int j = 0; j < 4 && r == 0; j++) {
            const uint32_t *node = wrong[i][j];

            if (j > 0 && node[0] == 0)
                break;
            r = table_add(table, node[0], node[1], 0, node[2]);
        }
        CHECK_IS(r < 0 ? r : table_check(table), -EBADMSG);
        CU_ASSERT_EQUAL(table_count(table), 0);
        CU_ASSERT_EQUAL(table_height(table), 0);
        CHECK_IS(table_record(table, 1, 1, TABLE_FAILED), -EBADMSG);
        table_free(table);
    }
}

/* The topology of a launch gives a table of the same height, for any shape. */
TEST(a_topology_becomes_a_table)
{
    static const char *const shapes[] = {"flat:1", "flat:16", "8x8",
                                         "2^5",    "4x4x4",   "k:4@64",
                                         "1x1x1",  "32x32x32"};

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct topology *topo = NULL;
        struct table *table = NULL;

        CHECK_OK(topology_from_shape(&topo, shapes[i], NULL, NULL, NULL));
        CHECK_OK(table_from_topology(&table, topo));
        CU_ASSERT_EQUAL(table_count(table),
                        topology_count(topo) - topology_leaf_count(topo));
        CU_ASSERT_EQUAL(table_height(table), topology_height(topo));
        for (uint32_t j = 0; j < topology_count(topo); j++) {
            uint32_t rank = topology_rank(topo, j);

            CU_ASSERT_EQUAL(table_depth(table, rank),
                            topology_is_leaf(topo, j)
                                ? TABLE_NO_PATH
                                : topology_depth(topo, j));
        }
        table_free(table);
        topology_free(topo);
    }
}

/* Change both tables by random records and fan-outs, and check that both report
 * the same ones as new. */
static void change_both(struct table *a, struct table *b, uint64_t *state)
{
    uint32_t count = table_count(a);

    for (uint32_t steps = tree_random(state) % 60; steps > 0; steps--) {
        uint32_t rank = tree_random(state) % count;
        uint32_t incarnation = tree_random(state) % 4;
        uint32_t parent = tree_random(state) % count;
        struct table_fan_out fan_out = {
            .rank = rank,
            .version = tree_random(state) % 3,
            .backend_count = tree_random(state) % 9,
        };

        if (tree_random(state) % 3 == 0)
            parent = TABLE_FAILED;
        CU_ASSERT_EQUAL(table_record(a, rank, incarnation, parent),
                        table_record(b, rank, incarnation, parent));
        if (tree_random(state) % 3 == 0)
            CU_ASSERT_EQUAL(table_fan_out(a, &fan_out),
                            table_fan_out(b, &fan_out));
    }
}

/* Check that depths, heights, paths and fan-outs of two tables agree. */
static void compare_tables(const struct table *a, const struct table *b)
{
    struct table_fan_out from_a = {0}, from_b = {0};
    uint32_t at_a = 0, at_b = 0;
    bool more = true;

    CU_ASSERT(same_entries(a, b));
    CU_ASSERT(same_records(a, b));
    CU_ASSERT_EQUAL(table_version(a), table_version(b));
    CU_ASSERT_EQUAL(table_height(a), table_height(b));
    for (uint32_t rank = 0; rank < table_count(a); rank++) {
        CU_ASSERT_EQUAL(table_depth(a, rank), table_depth(b, rank));
        CU_ASSERT_EQUAL(table_last_parent(a, rank), table_last_parent(b, rank));
        CU_ASSERT_EQUAL(table_is_below(a, rank, 1), table_is_below(b, rank, 1));
    }
    while (more) {
        more = table_fan_out_changed(a, &at_a, &from_a);
        CU_ASSERT_EQUAL(table_fan_out_changed(b, &at_b, &from_b), more);
        CU_ASSERT_EQUAL(from_a.rank, from_b.rank);
        CU_ASSERT_EQUAL(from_a.version, from_b.version);
        CU_ASSERT_EQUAL(from_a.backend_count, from_b.backend_count);
    }
}

/* A node that has joined counts as failed until its first record, and like any
 * other after that. */
TEST(a_node_that_joins_waits_for_its_first_record)
{
    struct table *table = small_table();
    const char *address;
    uint32_t rank;

    CU_ASSERT_PTR_NULL(table_address(table, 20));
    CHECK_IS(table_record(table, 3, 1, 20), -EBADMSG);
    CHECK_IS(table_join(table, 20, "h 1"), 1);
    CHECK_IS(table_join(table, 20, "h 1"), 0);
    CHECK_IS(table_join(table, 20, "h 2"), -EBADMSG);
    CHECK_IS(table_join(table, 4, "h 1"), -EBADMSG);
    CHECK_IS(table_join(table, TABLE_RANKS_MAX, "h 1"), -EBADMSG);
    CU_ASSERT_STRING_EQUAL(table_address(table, 20), "h 1");
    CU_ASSERT_PTR_NULL(table_address(table, 4));
    CU_ASSERT(table_joined(table, 0, &rank, &address));
    CU_ASSERT_EQUAL(rank, 20);
    CU_ASSERT(!table_joined(table, 1, &rank, &address));
    CU_ASSERT(entry_of(table, 20).awaited && entry_of(table, 20).failed);
    CU_ASSERT_EQUAL(table_depth(table, 20), TABLE_NO_PATH);
    CU_ASSERT_EQUAL(entry_of(table, 2).fan_out, 2);
    CHECK_IS(table_record(table, 20, 1, 2), 1);
    CU_ASSERT(!entry_of(table, 20).awaited && !entry_of(table, 20).failed);
    CU_ASSERT_EQUAL(table_depth(table, 20), 2);
    CU_ASSERT_EQUAL(entry_of(table, 2).fan_out, 3);
    CHECK_IS(table_record(table, 3, 1, 20), 1);
    CHECK_IS(fan_out(table, 20, 1, 3), 1);
    CU_ASSERT_EQUAL(entry_of(table, 20).fan_out, 4);
    CU_ASSERT_EQUAL(table_depth(table, 3), 3);
    CU_ASSERT(table_is_below(table, 3, 20));
    CHECK_IS(table_record(table, 20, 1, TABLE_FAILED), 1);
    CU_ASSERT(entry_of(table, 20).failed && !entry_of(table, 20).awaited);
    CU_ASSERT_EQUAL(table_depth(table, 3), TABLE_NO_PATH);
    table_free(table);
}

/* Tables agree in whatever order nodes join. */
TEST(the_order_of_joining_does_not_matter)
{
    struct table *one = small_table(), *other = small_table();

    for (uint32_t rank = 10; rank < 40; rank++) {
        CHECK_IS(table_join(one, rank, "h"), 1);
        CU_ASSERT_NOT_EQUAL(table_version(one), 0);
    }
    for (uint32_t i = 0; i < 30; i++)
        CHECK_IS(table_join(other, 10 + (i * 7 + 11) % 30, "h"), 1);
    CU_ASSERT_EQUAL(table_version(one), table_version(other));
    for (uint32_t rank = 10; rank < 40; rank++) {
        uint32_t parent = rank < 13 ? rank - 9 : rank - 3;

        CHECK_IS(table_record(one, rank, 1, parent), 1);
        CHECK_IS(table_record(other, rank, 1, parent), 1);
        CHECK_IS(fan_out(one, rank, 1, rank), 1);
        CHECK_IS(fan_out(other, rank, 1, rank), 1);
    }
    CU_ASSERT_EQUAL(table_version(one), table_version(other));
    for (uint32_t rank = 10; rank < 40; rank++) {
        CU_ASSERT_EQUAL(table_depth(one, rank), table_depth(other, rank));
        CU_ASSERT_EQUAL(entry_of(one, rank).parent,
                        entry_of(other, rank).parent);
        CU_ASSERT_EQUAL(entry_of(one, rank).fan_out,
                        entry_of(other, rank).fan_out);
    }
    CU_ASSERT_EQUAL(table_count(one), 35);
    table_free(one);
    table_free(other);
}

/* A packed table equals an unpacked one, also after more records; a regular
 * tree takes a few bytes, and an irregular one stays unpacked. */
TEST(a_packed_table_is_the_same)
{
    static const char *const shapes[] = {"2^7",    "8x8x8",  "3x5x70x2",
                                         "16x9x1", "k:4@64", "flat:16"};

    for (uint64_t seed = 1; seed <= 300; seed++) {
        const char *shape = shapes[seed % (sizeof shapes / sizeof shapes[0])];
        struct topology *topo = NULL;
        struct table *packed = NULL, *other = NULL;
        struct table_entry last;
        uint64_t state = seed;

        CHECK_OK(topology_from_shape(&topo, shape, NULL, NULL, NULL));
        CHECK_OK(table_from_topology(&packed, topo));
        CHECK_OK(table_from_topology(&other, topo));
        CHECK_OK(table_pack(packed));
        if (*shape != 'k' && *shape != 'f')
            CU_ASSERT(table_bytes(packed) <= 20 * topology_height(topo));
        CHECK_OK(table_pack(packed)); /* a second time does nothing */
        compare_tables(packed, other);
        table_at(packed, table_count(packed) - 1, &last);
        for (uint32_t i = 9; seed % 2 == 0 && i > 0; i--) {
            CHECK_IS(table_join(packed, last.rank + i, "h"), 1);
            CHECK_IS(table_join(other, last.rank + i, "h"), 1);
        }
        change_both(packed, other, &state);
        compare_tables(packed, other);
        table_free(packed);
        table_free(other);
        topology_free(topo);
    }
}
