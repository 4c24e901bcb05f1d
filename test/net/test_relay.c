/* test_relay.c - a relay passes all bytes on, and never waits for a reader. */
#include "net/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "test/check.h"
#include "test/patience.h"

static char seen[4 * RELAY_LEN];

/* Read until `len` bytes are there, or end-of-file. Returns their number. */
static size_t read_until(int fd, size_t len)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    size_t count = 0;
    ssize_t n = 1;

    while (count < len && n > 0 && poll(&poller, 1, PATIENCE_MS) > 0) {
        n = read(fd, seen + count, len - count);
        if (n > 0)
            count += (size_t)n;
    }
    return count;
}

TEST(everything_arrives_in_order)
{
    struct relay *relay;
    char bytes[1000];
    int pair[2];
    size_t at = 0;

    CHECK_OK(pipe(pair));
    CHECK_OK(relay_new(&relay, pair[1]));
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (char)(at++ % 251);
        relay_put(relay, bytes, sizeof(bytes));
        CU_ASSERT_EQUAL_FATAL(read_until(pair[0], sizeof(bytes)),
                              sizeof(bytes));
        CU_ASSERT_EQUAL(memcmp(seen, bytes, sizeof(bytes)), 0);
    }
    relay_free(relay);
    CHECK_OK(close(pair[0]));
    CHECK_OK(close(pair[1]));
}

/* If the process stalls for a second, bytes are lost: one success is enough. */
TEST(end_waits_until_the_last_bytes_are_written)
{
    static char bytes[RELAY_LEN]; /* as much as a pipe holds */
    struct relay *relay;
    size_t count = 0;
    int pair[2];

    for (int i = 0; count < sizeof(bytes) && i < 3; i++) {
        CHECK_OK(pipe(pair));
        CHECK_OK(relay_new(&relay, pair[1]));
        relay_put(relay, bytes, sizeof(bytes));
        relay_free(relay);
        CHECK_OK(close(pair[1]));
        count = read_until(pair[0], sizeof(seen));
        CHECK_OK(close(pair[0]));
    }
    CU_ASSERT_EQUAL(count, sizeof(bytes));
}

/* Fill the relay to a pipe that is not read. Returns the number of bytes put,
 * far more than pipe and relay hold. */
static size_t fill(struct relay *relay)
{
    char bytes[1024];
    size_t put = 0;

    memset(bytes, 'x', sizeof(bytes));
    for (int i = 0; i < 1024; i++) {
        relay_put(relay, bytes, sizeof(bytes));
        put += sizeof(bytes);
    }
    return put;
}

TEST(bytes_that_do_not_fit_are_counted)
{
    unsigned long long lost = 0;
    struct relay *relay;
    size_t put;
    size_t count;
    int pair[2];

    CHECK_OK(pipe(pair));
    CHECK_OK(relay_new(&relay, pair[1]));
    put = fill(relay);
    count = 0;
    do { /* the reader is back: all held bytes, then the line */
        CU_ASSERT_EQUAL_FATAL(read_until(pair[0], 1), 1);
        count++;
    } while (seen[0] == 'x');
    CU_ASSERT(read_until(pair[0], 20) == 20);
    seen[20] = '\0';
    CU_ASSERT_EQUAL(sscanf(seen, "coppice: %llu", &lost), 1);
    CU_ASSERT(lost > 0);
    CU_ASSERT_EQUAL(count - 1 + lost, put);
    while (seen[0] != '\n')
        CU_ASSERT_EQUAL_FATAL(read_until(pair[0], 1), 1);
    relay_put(relay, "more", 4);
    CU_ASSERT_EQUAL(read_until(pair[0], 4), 4);
    CU_ASSERT_EQUAL(memcmp(seen, "more", 4), 0);
    relay_free(relay);
    CHECK_OK(close(pair[1]));
    CU_ASSERT_EQUAL(read_until(pair[0], 1), 0);
    CHECK_OK(close(pair[0]));
}

TEST(end_does_not_wait_for_a_reader)
{
    struct relay *relay;
    int pair[2];

    CHECK_OK(pipe(pair));
    CHECK_OK(relay_new(&relay, pair[1]));
    fill(relay);
    relay_free(relay);
    CHECK_OK(close(pair[0]));
    CHECK_OK(close(pair[1]));
}

/* A SIGPIPE would end this program. */
TEST(reader_that_has_gone_harms_nothing)
{
    struct relay *relay;
    int pair[2];

    CHECK_OK(pipe(pair));
    CHECK_OK(close(pair[0]));
    CHECK_OK(relay_new(&relay, pair[1]));
    fill(relay);
    relay_free(relay);
    CHECK_OK(close(pair[1]));
}

TEST(descriptor_may_be_non_blocking)
{
    struct relay *relay;
    int pair[2];
    char bytes[4096] = {0};

    CHECK_OK(pipe(pair));
    CHECK_OK(fcntl(pair[1], F_SETFL, O_NONBLOCK));
    while (write(pair[1], bytes, sizeof(bytes)) > 0)
        continue; /* full */
    CHECK_OK(relay_new(&relay, pair[1]));
    memset(bytes, 'y', sizeof(bytes));
    relay_put(relay, bytes, sizeof(bytes));
    for (size_t i = 0; i < 16; i++) /* a pipe holds 16 pages */
        CU_ASSERT_EQUAL(read_until(pair[0], 4096), 4096);
    CU_ASSERT_EQUAL(read_until(pair[0], 4096), 4096);
    CU_ASSERT_EQUAL(seen[0], 'y');
    relay_free(relay);
    CHECK_OK(close(pair[0]));
    CHECK_OK(close(pair[1]));
}
