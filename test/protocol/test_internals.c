/* test_internals.c - the packed form of internal nodes: written and read again,
 * its size, and refused forms. */
#include "protocol/launch/internals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/launch/roster.h"
#include "test/check.h"
#include "wire/ranks.h"
#include "wire/varint.h"

#define NODES_MAX 6000

/* Nodes, and their addresses. */
struct nodes {
    struct roster_internal list[NODES_MAX];
    char addresses[NODES_MAX][128];
    uint32_t count;
};

static struct nodes nodes;
static unsigned random_state = 1;

static uint32_t next_number(uint32_t limit)
{
    random_state = random_state * 1103515245u + 12345u;
    return random_state / 65536 % limit;
}

static void add(uint32_t rank, uint32_t parent, uint32_t fan_out)
{
    nodes.list[nodes.count] = (struct roster_internal){
        rank, parent, fan_out, nodes.addresses[nodes.count]};
    nodes.count++;
}

/* Make three levels of internal nodes, with `fan_out` children each, on hosts
 * with `interfaces` interfaces. */
static void make_regular(uint32_t fan_out, unsigned interfaces)
{
    uint32_t count = 1 + fan_out + fan_out * fan_out;

    nodes.count = 0;
    for (uint32_t rank = 0; rank < count; rank++) {
        unsigned port = 32768 + next_number(28232);
        size_t len = 0;

        add(rank, rank == 0 ? RANK_NONE : (rank - 1) / fan_out, fan_out);
        for (unsigned i = 0; i < interfaces; i++)
            len += (size_t)snprintf(nodes.addresses[rank] + len,
                                    sizeof(nodes.addresses[rank]) - len,
                                    "%s10.%u.%u.%u %u", i ? " " : "", i,
                                    rank / 250, 1 + rank % 250, port);
    }
}

/* Write the nodes, read them again, compare. Returns the number of bytes. */
static size_t come_back(void)
{
    struct internals_reader reader;
    struct roster_internal back;
    unsigned char *bytes;
    size_t len;

    CHECK_OK(internals_write(nodes.list, nodes.count, &bytes, &len));
    CHECK_OK(internals_begin(&reader, bytes, len));
    for (uint32_t i = 0; i < nodes.count; i++) {
        CHECK_IS(internals_next(&reader, &back), 1);
        CU_ASSERT_EQUAL(back.rank, nodes.list[i].rank);
        CU_ASSERT_EQUAL(back.parent, nodes.list[i].parent);
        CU_ASSERT_EQUAL(back.fan_out, nodes.list[i].fan_out);
        CU_ASSERT_STRING_EQUAL(back.address, nodes.list[i].address);
    }
    CHECK_OK(internals_next(&reader, &back));
    free(bytes);
    return len;
}

/* A level of a regular tree is one run; an address costs what differs in it. */
TEST(a_regular_tree_takes_few_bytes)
{
    make_regular(70, 1);
    CU_ASSERT(come_back() < 6 * nodes.count);
    make_regular(70, 4);
    CU_ASSERT(come_back() < 21 * nodes.count);
    for (uint32_t i = 0; i < nodes.count; i++)
        strcpy(nodes.addresses[i], "127.0.0.1 4711");
    CU_ASSERT(come_back() < nodes.count + 60);
    nodes.list[500].fan_out--; /* the runs continue after an exception */
    CU_ASSERT(come_back() < nodes.count + 90);
    nodes.count = 0;
    CU_ASSERT_EQUAL(come_back(), 1);
}

/* Any nodes are read as they were written, in any order, with any texts. */
TEST(whatever_is_written_is_read)
{
    static const char *const texts[] = {
        "",
        "7",
        "007",
        "8 9",
        "fe80::1a 4000",
        "10.0.0.1 1",
        "10.0.0.200 2",
        "1234567890",
        "4294967296 5",
        "999999999",
        "0",
        "10.0.0.x 1",
        "a1b2c3",
        "ff02::2 65535",
    };
    static const size_t count = sizeof(texts) / sizeof(*texts);

    for (int round = 0; round < 300; round++) {
        nodes.count = 0;
        for (uint32_t i = 0; i < 40; i++) {
            add(next_number(3) ? i : next_number(LIMIT_NODES),
                next_number(4) ? i / 4 : next_number(UINT32_MAX),
                next_number(5) ? 4 : next_number(1 << 20));
            strcpy(nodes.addresses[i], texts[next_number((uint32_t)count)]);
        }
        come_back();
    }
    nodes.count = 0;
    add(LIMIT_NODES - 1, UINT32_MAX - 1, UINT32_MAX);
    add(0, RANK_NONE, 0);
    come_back();
}

/* Arbitrary bytes give nodes within the limits, or an error; never more nodes
 * than bytes. */
TEST(wild_bytes_do_no_harm)
{
    struct internals_reader reader;
    struct roster_internal back;
    unsigned char *bytes;
    size_t len;

    make_regular(6, 2);
    CHECK_OK(internals_write(nodes.list, nodes.count, &bytes, &len));
    for (int round = 0; round < 20000; round++) {
        unsigned char *bad = malloc(len);
        size_t bad_len = next_number(8) ? len : next_number((uint32_t)len);
        size_t count = 0;
        int r;

        memcpy(bad, bytes, len);
        for (uint32_t i = 1 + next_number(3); i > 0; i--)
            bad[next_number((uint32_t)len)] = (unsigned char)next_number(256);
        r = internals_begin(&reader, bad, bad_len);
        if (r == 0)
            while ((r = internals_next(&reader, &back)) > 0) {
                CU_ASSERT_FATAL(++count <= bad_len);
                CU_ASSERT(back.rank < LIMIT_NODES);
                CU_ASSERT(strlen(back.address) < INTERNALS_ADDRESS);
            }
        CU_ASSERT(r == 0 || r == -EBADMSG);
        free(bad);
    }
    free(bytes);
}

/* ---- bounds ---- */

/* Arbitrary bytes under construction. */
struct wild {
    unsigned char bytes[2 * INTERNALS_ADDRESS + 64];
    size_t len;
};

static void put(struct wild *wild, uint64_t value)
{
    wild->len += varint_write(wild->bytes + wild->len, value);
}

static void put_text(struct wild *wild, const char *text)
{
    put(wild, 0);
    put(wild, strlen(text));
    memcpy(wild->bytes + wild->len, text, strlen(text));
    wild->len += strlen(text);
}

/* The fields of a run; its first rank and parent are relative. */
struct run {
    int64_t rank;
    uint64_t more;
    int64_t parent;
    uint64_t more_siblings;
    uint64_t fan_out;
};

static void put_run(struct wild *wild, const struct run *run)
{
    put(wild, varint_fold(run->rank));
    put(wild, run->more);
    put(wild, varint_fold(run->parent));
    put(wild, run->more_siblings);
    put(wild, run->fan_out);
}

/* Read all nodes, from memory that ends with the last byte. Returns 0, or the
 * result of internals_next(). */
static int read_all(const struct wild *wild)
{
    unsigned char *bytes = malloc(wild->len);
    struct internals_reader reader;
    struct roster_internal node;
    int r;

    memcpy(bytes, wild->bytes, wild->len);
    r = internals_begin(&reader, bytes, wild->len);
    while (r == 0 && (r = internals_next(&reader, &node)) > 0)
        r = 0;
    free(bytes);
    return r;
}

/* The maximum of each number of a run is read; one more is refused. */
TEST(a_run_has_bounds)
{
    static const struct {
        struct run last, refused;
    } bounds[] = {
        {{.rank = LIMIT_NODES - 2, .more = 1},
         {.rank = LIMIT_NODES - 1, .more = 1}},
        {{.rank = LIMIT_NODES - 2, .more = 1}, {.rank = -1, .more = 1}},
        {{.rank = 1, .more = 1}, {.rank = INT64_MAX, .more = 1}},
        {{.more = 1}, {.more = 2}},
        {{.more = 1}, {.more = UINT64_MAX}},
        {{.more = 1, .parent = UINT32_MAX - 1},
         {.more = 1, .parent = UINT32_MAX}},
        {{.more = 1, .parent = UINT32_MAX, .more_siblings = 1},
         {.more = 1, .parent = INT64_C(1) << 32, .more_siblings = 1}},
        {{.more = 1, .more_siblings = LIMIT_NODES},
         {.more = 1, .more_siblings = LIMIT_NODES + 1}},
        {{.more = 1}, {.more = 1, .more_siblings = UINT64_MAX}},
        {{.more = 1, .fan_out = UINT32_MAX},
         {.more = 1, .fan_out = UINT64_C(1) << 32}},
    };

    for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
        for (int more = 0; more < 2; more++) {
            struct wild wild = {.len = 0};

            put(&wild, 2);
            put_run(&wild, more ? &bounds[i].refused : &bounds[i].last);
            put(&wild, 1); /* the addresses are empty */
            put(&wild, 1);
            CHECK_IS(read_all(&wild), more ? -EBADMSG : 0);
        }
    }
}

/* A step whose sum would overflow is refused. */
TEST(a_step_has_a_bound)
{
    struct wild wild = {.len = 0};

    put(&wild, 2);
    put_run(&wild, &(struct run){.rank = 1, .parent = 1});
    put(&wild, 1);
    put_run(&wild, &(struct run){.rank = INT64_MAX});
    put(&wild, 1);
    CHECK_IS(read_all(&wild), -EBADMSG);
}

TEST(nodes_have_a_bound)
{
    struct internals_reader reader;
    struct wild wild = {.len = 0};

    put(&wild, LIMIT_NODES);
    CHECK_OK(internals_begin(&reader, wild.bytes, wild.len));
    wild.len = 0;
    put(&wild, LIMIT_NODES + 1);
    CHECK_IS(internals_begin(&reader, wild.bytes, wild.len), -EBADMSG);
}

/* Read a node with the address `text`, and one whose address has the numbers in
 * `mask` changed, each by `step`. */
static int read_changed(const char *text, uint64_t mask, int64_t step)
{
    struct wild wild = {.len = 0};

    put(&wild, 2);
    put_run(&wild, &(struct run){.more = 1});
    put_text(&wild, text);
    put(&wild, mask + 1);
    for (; mask > 0; mask >>= 1)
        if (mask & 1)
            put(&wild, varint_fold(step));
    return read_all(&wild);
}

TEST(addresses_have_bounds)
{
    static const char nines[] = "9.9.9.9.9.9.9.9.9.9.9.9.9.9.9.9."
                                "9.9.9.9.9.9.9.9.9.9.9.9.9.9.9.9.9";
    static const uint64_t first_32 = UINT32_MAX;
    char text[INTERNALS_ADDRESS + 1];
    char *last = text + INTERNALS_ADDRESS - 2; /* of the longest address */

    CHECK_OK(read_changed("1", 1, 999999998));
    CHECK_IS(read_changed("1", 1, 999999999), -EBADMSG);
    CHECK_OK(read_changed("1", 1, -1));
    CHECK_IS(read_changed("1", 1, -2), -EBADMSG);
    CHECK_OK(read_changed(nines, first_32, 1));
    CHECK_IS(read_changed(nines, first_32 + 1, 1), -EBADMSG);

    memset(text, '.', sizeof(text));
    text[INTERNALS_ADDRESS] = '\0';
    CHECK_IS(read_changed(text, 0, 0), -EBADMSG);
    last[1] = '\0';
    CHECK_OK(read_changed(text, 0, 0));
    *last = '9';
    CHECK_OK(read_changed(text, 1, -1));
    CHECK_IS(read_changed(text, 1, 1), -EBADMSG);
    CHECK_IS(read_changed(text, 1, 999999990), -EBADMSG);
    strcpy(last + 2 - sizeof(nines), nines);
    CHECK_OK(read_changed(text, first_32, -1));
    CHECK_IS(read_changed(text, first_32, 999999990), -EBADMSG);
}

/* Each valid form that is cut short is refused. */
TEST(what_is_cut_off_is_refused)
{
    struct wild wild = {.len = 0};

    put(&wild, 2);
    put_run(&wild, &(struct run){.more = 1});
    put_text(&wild, "10.0.0.1 4711");
    put(&wild, 1 + 0x11);
    put(&wild, varint_fold(300));
    put(&wild, varint_fold(-300));
    CHECK_OK(read_all(&wild));
    while (--wild.len > 0)
        CHECK_IS(read_all(&wild), -EBADMSG);
}

/* The longest addresses, and addresses with more numbers than may change, are
 * read as they were written. */
TEST(long_addresses_come_back)
{
    static char texts[4][INTERNALS_ADDRESS];

    nodes.count = 0;
    for (uint32_t i = 0; i < 4; i++) {
        memset(texts[i], i < 2 ? 'a' : '.', INTERNALS_ADDRESS - 1);
        texts[i][INTERNALS_ADDRESS - 2] = (char)('1' + i);
        for (size_t k = 0; k < 33 && i >= 2; k++)
            texts[i][2 * k] = (char)('1' + i);
        add(i, 0, 0);
        nodes.list[i].address = texts[i];
    }
    come_back();
    for (size_t k = 0; k < 32; k++) /* now only the 33rd number */
        texts[3][2 * k] = texts[2][2 * k];
    come_back();
}

/* The forms that each rule refuses. */
TEST(what_is_no_node_is_refused)
{
    static const struct {
        unsigned char bytes[24];
        size_t len;
    } bad[] = {
        {{1}, 1},                                  /* no node follows */
        {{0, 0}, 2},                               /* extra bytes */
        {{0x81, 0x80, 0x80, 0x01}, 4},             /* LIMIT_NODES + 1 */
        {{1, 0, 1, 0, 0, 0, 1}, 7},                /* a run too long */
        {{1, 1, 0, 0, 0, 0, 1}, 7},                /* rank -1 */
        {{1, 0, 0, 1, 0, 0, 1}, 7},                /* a parent number too low */
        {{1, 0, 0, 0, 0, 0, 2}, 7},                /* a number changes */
        {{1, 0, 0, 0, 0, 0, 0, 2, '1'}, 9},        /* a text cut short */
        {{1, 0, 0, 0, 0, 0, 0, 1, 0}, 9},          /* a zero byte in it */
        {{1, 0, 0, 0, 0, 0, 0, 0xfd, 7}, 9},       /* too long a text */
        {{2, 0, 1, 0, 0, 0, 0, 1, '0', 2, 1}, 11}, /* a number below 0 */
        {{2, 0, 1, 0, 0, 0, 0, 2, '0', '1', 2, 2}, 12}, /* no plain number */
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct internals_reader reader;
        struct roster_internal node;
        int r = internals_begin(&reader, bad[i].bytes, bad[i].len);

        while (r == 0 && (r = internals_next(&reader, &node)) > 0)
            r = 0;
        CU_ASSERT_EQUAL(r, -EBADMSG);
    }
}
