/* test_data.c - packets on streams: large ones, too many, their order, the
 * filters of each role, and closing. */
#include <sys/resource.h>

#include "test/frontend/tree.h"

/* A filter for one role overrides the filter for all roles: back-ends count
 * themselves, commnodes add, the front-end takes the largest branch. */
TEST_OF_TREES(filters_by_role)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_stream *stream;
    struct cop_packet *packet;
    uint32_t number = 0;

    options.up_filter = "sum";
    options.up_filter_backend = "count";
    options.up_filter_frontend = "max";
    stream = tree_open_with(network, &options);
    CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", 77));
    CHECK_OK(cop_stream_receive(stream, &packet, TREE_PATIENCE_MS));
    CHECK_OK(cop_packet_unpack(packet, "%ud", &number));
    CU_ASSERT_EQUAL(number, 1u << (height - 1));
    CU_ASSERT_EQUAL(cop_packet_contributors(packet), cop_stream_size(stream));
    cop_packet_free(packet);
}

/* In each node, new parameters take effect between the two packets between
 * which they were set. The first parameters are those of the options. */
TEST_OF_TREES(parameters_in_order_with_data)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_stream *stream;
    struct cop_packet *packet;
    int nodes = (int)height + 1, k;

    CHECK_OK(
        cop_packet_new((struct cop_packet **)&options.parameters, 0, "%d", 5));
    options.down_filter = "add_parameter";
    options.up_filter = "max";
    stream = tree_open_with(network, &options);
    cop_packet_free((struct cop_packet *)(uintptr_t)options.parameters);
    for (k = 0; k < 60; k++) {
        CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", k * 100000));
        CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", k * 100000 + 1));
        if (k % 2 == 0) {
            CHECK_OK(cop_stream_set_parameters(stream, "%d", k + 6));
        } else {
            CHECK_OK(cop_packet_new(&packet, 0, "%d", k + 6));
            CHECK_OK(cop_stream_set_parameters_packet(stream, packet));
            cop_packet_free(packet);
        }
    }
    for (k = 0; k < 60; k++) {
        CU_ASSERT_EQUAL(tree_receive(stream, NULL),
                        k * 100000 + (k + 5) * nodes);
        CU_ASSERT_EQUAL(tree_receive(stream, NULL),
                        k * 100000 + 1 + (k + 5) * nodes);
    }
}

/* 8 MiB, which is two windows: down to all members, then up from each. */
TEST_OF_TREES(packets_of_8_mib)
{
    uint32_t len = 8 << 20, expected = 0, sum, i;
    unsigned char *bytes = malloc(len);
    struct cop_stream *each = tree_open(network, COP_DO_NOT_WAIT, NULL);
    size_t count = cop_stream_size(each), n;
    struct cop_packet *packet;
    struct cop_value value;

    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    for (i = 0; i < len; i++) {
        bytes[i] = (unsigned char)(i * 7 + i / 251);
        expected += bytes[i];
    }
    CHECK_OK(cop_stream_send(each, TAG_SUM, "%auc", bytes, len));
    CHECK_OK(cop_stream_send(each, TAG_SUM, "%Auc", bytes, (uint64_t)len));
    free(bytes);
    for (n = 0; n < 2 * count; n++) {
        CHECK_OK(cop_stream_receive(each, &packet, TREE_PATIENCE_MS));
        CHECK_OK(cop_packet_unpack(packet, "%ud", &sum));
        CU_ASSERT_EQUAL(sum, expected);
        cop_packet_free(packet);
    }
    CHECK_OK(cop_stream_send(each, TAG_BYTES, "%d", (int)len));
    for (n = 0; n < count; n++) {
        CHECK_OK(cop_stream_receive(each, &packet, TREE_PATIENCE_MS));
        CHECK_OK(cop_packet_value(packet, 0, &value));
        CU_ASSERT_EQUAL(value.count, len);
        cop_packet_free(packet);
    }
}

/* Send to a stopped member until a send is refused, after `timeout_ms`. Returns
 * the number of packets accepted, which varies: windows on the way down open
 * one after the other. */
static int fill(struct cop_stream *one, int timeout_ms)
{
    static char bytes[64 << 10];
    uint64_t begin_ms;
    int sent = 0, r;

    cop_stream_set_send_timeout(one, timeout_ms);
    do {
        begin_ms = tree_now_ms();
        r = cop_stream_send(one, TAG_SUM, "%ac", bytes,
                            (uint32_t)sizeof(bytes));
        sent += r == 0;
    } while (r == 0 && sent < 4096); /* 256 MiB */
    CHECK_IS(r, -EAGAIN);
    CU_ASSERT(tree_now_ms() - begin_ms >= (uint64_t)timeout_ms);
    return sent;
}

/* Syncs that time out while a member is stopped send one marker together if no
 * packet could be sent either. A sync completes when the member continues. */
TEST_OF_TREES(syncs_that_time_out_do_not_pile_up)
{
    uint32_t rank = tree_rank(network, 1);
    struct cop_stream *one = tree_open_one(network, rank);
    pid_t pid = tree_pid(network, rank);
    struct cop_error error = {""};
    char expected[32];

    snprintf(expected, sizeof(expected), "rank %u", rank);
    tree_stop(pid);
    fill(one, 0);
    for (int i = 0; i < 3; i++) {
        uint64_t begin_ms = tree_now_ms();

        error.text[0] = '\0';
        CHECK_IS(cop_stream_sync(one, 50, &error), -ETIMEDOUT);
        CU_ASSERT(tree_now_ms() - begin_ms >= 50);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.text, expected));
    }
    CHECK_OK(kill(pid, SIGCONT));
    CHECK_IS(tree_sync(one), 0);
    cop_stream_close(one);
}

/* With a time-out of 0 a send fails at once if the windows to a stopped member
 * are full. The refused packet is not sent; all others arrive. */
TEST_OF_TREES(a_send_without_credit)
{
    uint32_t rank = tree_rank(network, 1);
    struct cop_stream *one = tree_open_one(network, rank);
    pid_t pid = tree_pid(network, rank);
    struct cop_packet *packet;
    int sent = 0, k;

    tree_stop(pid);
    sent += fill(one, 0);
    CU_ASSERT(sent > 0);
    sent += fill(one, 50);
    CHECK_OK(kill(pid, SIGCONT));
    cop_stream_set_send_timeout(one, COP_FOREVER);
    CHECK_OK(cop_stream_send(one, TAG_TOTAL, ""));
    for (k = 0; k < sent; k++) {
        CHECK_OK(cop_stream_receive(one, &packet, TREE_PATIENCE_MS));
        CU_ASSERT_EQUAL(cop_packet_tag(packet), TAG_SUM);
        cop_packet_free(packet);
    }
    CU_ASSERT_EQUAL(tree_receive(one, NULL), sent + 1 /* TAG_PID */);
}

/* While one member is stopped, do_not_wait delivers the others' packets at
 * once, and time_out a wave without it. Its packet comes later. */
TEST_OF_TREES(waves_that_do_not_wait)
{
    struct cop_stream *each = tree_open(network, COP_DO_NOT_WAIT, NULL);
    struct cop_stream *timed = tree_open(network, COP_TIME_OUT, "sum");
    uint32_t count = (uint32_t)cop_stream_size(each), seen, k;
    uint32_t rank = tree_rank(network, 1);
    pid_t pid = tree_pid(network, rank);

    tree_stop(pid);
    CHECK_OK(cop_stream_send(each, TAG_RANK, ""));
    for (k = 0; k + 1 < count; k++) {
        CU_ASSERT_NOT_EQUAL(tree_receive(each, &seen), (int)rank);
        CU_ASSERT_EQUAL(seen, 1);
    }
    CHECK_OK(cop_stream_send(timed, TAG_ECHO, "%d", 1));
    for (k = 0; k + 1 < count; k += seen) {
        CU_ASSERT_EQUAL(tree_receive(timed, &seen), (int)seen);
        CU_ASSERT_FATAL(seen > 0);
    }
    CU_ASSERT_EQUAL(k, count - 1);
    CHECK_OK(kill(pid, SIGCONT));
    CU_ASSERT_EQUAL(tree_receive(each, &seen), (int)rank);
    CU_ASSERT_EQUAL(tree_receive(timed, &seen), 1);
    CU_ASSERT_EQUAL(seen, 1);
}

/* A member that only sends can be synced once it has settled. The end of the
 * stream reaches it in its send. */
TEST_OF_TREES(a_sender_that_settles)
{
    struct cop_stream *spout = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    int count = (int)cop_stream_size(sum), k;

    CHECK_OK(cop_stream_send(spout, TAG_SPOUT, ""));
    CHECK_IS(tree_sync(spout), 0);
    for (k = 0; k < 50; k++)
        CU_ASSERT(tree_receive(spout, NULL) <= count);
    cop_stream_close(spout);
    CU_ASSERT_EQUAL(tree_echo(sum, 3), 3 * count);
}

/* Ask the members for their totals until these add up to `expected`. */
static void await_totals(struct cop_stream *sum, int expected)
{
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    int total;

    do {
        CHECK_OK(cop_stream_send(sum, TAG_TOTAL, ""));
        total = tree_receive(sum, NULL);
    } while (total < expected && tree_now_ms() < deadline_ms);
    CU_ASSERT_EQUAL(total, expected);
}

/* A stream is closed with data in flight in both directions: packets sent
 * before reach every member, and other streams lose nothing. */
TEST_OF_TREES(closing_with_data_on_its_way)
{
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    int count = (int)cop_stream_size(sum), sent = 0, round, k;

    for (round = 0; round < 10; round++) {
        struct cop_stream *closed = tree_open(network, COP_DO_NOT_WAIT, NULL);
        uint32_t id = cop_stream_id(closed);

        for (k = 0; k < 20; k++, sent++)
            CHECK_OK(cop_stream_send(closed, TAG_ECHO, "%d", k));
        CHECK_OK(cop_stream_send(closed, TAG_BYTES, "%d", 300000));
        sent++;
        if (round % 2)
            tree_receive(closed, NULL);
        cop_stream_close(closed);
        CU_ASSERT_PTR_NULL(cop_network_stream(network, id));
        CHECK_OK(cop_stream_send(sum, TAG_ECHO, "%d", round));
        sent++;
        CU_ASSERT_EQUAL(tree_receive(sum, NULL), round * count);
    }
    await_totals(sum, sent * count);
}

/* A member that closes its end of a stream receives no more packets, and does not
 * delay the packets of other members. */
TEST_OF_TREES(a_member_that_closes_its_end)
{
    uint32_t rank = tree_rank(network, 1);
    struct cop_stream *one = tree_open_one(network, rank);
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    static char bytes[1 << 20];
    struct cop_packet *packet;

    CHECK_OK(cop_stream_send(one, TAG_CLOSE, ""));
    for (int k = 0; k < 16; k++) /* more than all windows */
        CHECK_OK(cop_stream_send(one, TAG_SUM, "%ac", bytes,
                                 (uint32_t)sizeof(bytes)));
    CU_ASSERT_EQUAL(tree_echo(sum, 1), (int)cop_stream_size(sum));
    CHECK_IS(cop_stream_receive(one, &packet, 0), -EAGAIN);
}

/* The bytes of this process's address space; `resident`: of its RSS. */
static rlim_t address_space(rlim_t *resident)
{
    FILE *file = fopen("/proc/self/statm", "re");
    rlim_t page_len = (rlim_t)sysconf(_SC_PAGESIZE);
    unsigned long pages[2] = {0};

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL_FATAL(fscanf(file, "%lu %lu", &pages[0], &pages[1]), 2);
    fclose(file);
    if (resident)
        *resident = pages[1] * page_len;
    return pages[0] * page_len;
}

/* A sanitizer's allocator does not reuse freed memory, and ends the process if
 * memory is short. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* If the front-end has no memory for a packet, the network ends with one error
 * that says so. */
TEST(a_packet_without_memory)
{
    struct cop_network *network = tree_launch("flat:1");
    struct cop_stream *stream = tree_open(network, COP_WAIT_FOR_ALL, NULL);
    struct cop_packet *packet;
    struct cop_event event;
    struct rlimit before, less;

    CU_ASSERT_EQUAL(tree_echo(stream, 1), 1);
    CHECK_OK(getrlimit(RLIMIT_AS, &before));
    less = before;
    less.rlim_cur = address_space(NULL) + (32 << 20);
    CHECK_OK(setrlimit(RLIMIT_AS, &less));
    CHECK_OK(cop_stream_send(stream, TAG_BYTES, "%d", 128 << 20));
    CHECK_IS(cop_stream_receive(stream, &packet, TREE_PATIENCE_MS), -ENOTCONN);
    CHECK_OK(tree_await(network, COP_EVENT_ENDED, &event));
    CU_ASSERT_PTR_NOT_NULL(strstr(event.text, "no memory for a frame of 134"));
    CHECK_OK(setrlimit(RLIMIT_AS, &before));
    tree_free(network);
}

/* Memory of large packets returns to the system some time after their free. */
TEST(memory_of_large_packets_is_given_back)
{
    enum {
        PACKETS = 16,
        LEN = 2 << 20
    };
    struct cop_network *network = tree_launch("flat:1");
    struct cop_stream *stream = tree_open(network, COP_WAIT_FOR_ALL, NULL);
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    struct cop_packet *packets[PACKETS];
    rlim_t before, now;

    CU_ASSERT_EQUAL(tree_echo(stream, 1), 1);
    address_space(&before);
    for (int i = 0; i < PACKETS; i++) {
        CHECK_OK(cop_stream_send(stream, TAG_BYTES, "%d", LEN));
        CHECK_OK(cop_stream_receive(stream, &packets[i], TREE_PATIENCE_MS));
    }
    address_space(&now);
    CU_ASSERT(now > before + (rlim_t)PACKETS * LEN / 2);
    for (int i = 0; i < PACKETS; i++)
        cop_packet_free(packets[i]);
    do {
        CHECK_IS(cop_stream_receive(stream, &packets[0], 50), -EAGAIN);
        address_space(&now);
    } while (now > before + 2 * LEN && tree_now_ms() < deadline_ms);
    CU_ASSERT(now <= before + 2 * LEN);
    tree_free(network);
}
#endif

/* A closed stream is told from a network that has ended. */
TEST(a_closed_stream_and_an_ended_network)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *asks = tree_open(network, COP_DO_NOT_WAIT, NULL);
    struct cop_stream *other = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_error error = {""};
    struct cop_packet *packet;
    const int32_t *codes;
    uint32_t count;

    CU_ASSERT_EQUAL(tree_echo(other, 1), 4);
    CHECK_OK(cop_stream_send(asks, TAG_CODES, "%d", (int)cop_stream_id(other)));
    cop_stream_close(other);
    for (int i = 0; i < 4; i++) {
        CHECK_OK(cop_stream_receive(asks, &packet, TREE_PATIENCE_MS));
        CHECK_OK(cop_packet_unpack(packet, "%ad", &codes, &count));
        for (uint32_t k = 0; k < count; k++)
            CU_ASSERT_EQUAL(codes[k], -EPIPE);
        cop_packet_free(packet);
    }
    CHECK_IS(cop_network_shutdown(network, TREE_PATIENCE_MS), 0);
    CHECK_IS(cop_stream_flush(asks), -ENOTCONN);
    CHECK_IS(cop_stream_set_parameters(asks, "%d", 1), -ENOTCONN);
    CHECK_IS(cop_stream_state(asks, &packet, 0), -ENOTCONN);
    CHECK_IS(cop_stream_sync(asks, 0, &error), -ENOTCONN);
    tree_check_says(error.text, "the network has ended");
    tree_free(network);
}

int main(void)
{
    tree_own_filters();
    return check_run("data");
}
