/* test_internals.c - internal nodes in few bytes: there and back, how few, and
 * what is not accepted. */
#include "protocol/launch/internals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/launch/roster.h"
#include "test/check.h"
#include "wire/ranks.h"

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

/* Three levels of internal nodes, with `fan_out` children each, on hosts with
 * that number of interfaces. */
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

/* Write the nodes, read them again, and compare. Returns how many bytes. */
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

/* A level of a regular tree is one run; an address costs what is new in it. */
TEST(a_regular_tree_takes_few_bytes)
{
    make_regular(70, 1);
    CU_ASSERT(come_back() < 6 * nodes.count);
    make_regular(70, 4);
    CU_ASSERT(come_back() < 21 * nodes.count);
    for (uint32_t i = 0; i < nodes.count; i++)
        strcpy(nodes.addresses[i], "127.0.0.1 4711");
    CU_ASSERT(come_back() < nodes.count + 60);
    nodes.list[500].fan_out--; /* the runs go on behind what breaks one */
    CU_ASSERT(come_back() < nodes.count + 90);
    nodes.count = 0;
    CU_ASSERT_EQUAL(come_back(), 1);
}

/* Any nodes come back, in any order, with any texts. */
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

/* Bytes of a stranger give nodes within the limits, or an error; never more
 * nodes than bytes. */
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

/* What each rule refuses. */
TEST(what_is_no_node_is_refused)
{
    static const struct {
        unsigned char bytes[24];
        size_t len;
    } bad[] = {
        {{1}, 1},                                  /* no node follows */
        {{0, 0}, 2},                               /* more follows */
        {{0x81, 0x80, 0x80, 0x01}, 4},             /* LIMIT_NODES + 1 */
        {{1, 0, 1, 0, 0, 0, 1}, 7},                /* a run too long */
        {{1, 1, 0, 0, 0, 0, 1}, 7},                /* rank -1 */
        {{1, 0, 0, 1, 0, 0, 1}, 7},                /* a parent below none */
        {{1, 0, 0, 0, 0, 0, 2}, 7},                /* a number changes */
        {{1, 0, 0, 0, 0, 0, 0, 2, '1'}, 9},        /* a text that ends */
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
