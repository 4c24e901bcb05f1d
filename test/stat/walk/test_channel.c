/* test_channel.c - packets arrive whole between two processes, also if both send
 * at once. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stat/walk/channel.h"
#include "test/check.h"

/* More than sockets hold. */
#define MANY (1 << 20)

static struct channel *ends[2];

static void ends_new(void)
{
    int fds[2];

    CU_ASSERT_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) ==
                    0);
    CHECK_OK(channel_new(&ends[0], fds[0]));
    CHECK_OK(channel_new(&ends[1], fds[1]));
}

static void ends_free(void)
{
    channel_free(ends[0]);
    channel_free(ends[1]);
    ends[0] = ends[1] = NULL;
}

/* Values of all forms arrive as they were; a number may come alone. */
TEST(a_packet_arrives_as_it_was)
{
    static const char *const words[] = {"", "one", "another"};
    static const uint64_t numbers[] = {1, UINT64_MAX};
    struct cop_packet *packet = NULL, *got = NULL;
    const uint64_t *long_values;
    const char *const *strings;
    uint32_t count, bytes_count, long_count;
    int32_t number, first;
    const unsigned char *bytes;
    const char *text;

    ends_new();
    CHECK_OK(cop_packet_new(&packet, 107, "%d %s %as %auc %auld", -5, "text",
                            words, (uint32_t)3, "abc", (uint32_t)0, numbers,
                            (uint32_t)2));
    CHECK_OK(channel_send(ends[0], packet, 9, -1));
    CHECK_OK(channel_send(ends[0], NULL, -EINVAL, -1));
    CHECK_OK(channel_receive(ends[1], &got, &number, -1));
    CU_ASSERT_FATAL(got && number == 9 && cop_packet_tag(got) == 107);
    CHECK_OK(cop_packet_unpack(got, "%d %s %as %auc %auld", &first, &text,
                               &strings, &count, &bytes, &bytes_count,
                               &long_values, &long_count));
    CU_ASSERT(first == -5 && count == 3 && bytes_count == 0 && long_count == 2);
    CU_ASSERT_STRING_EQUAL(text, "text");
    CU_ASSERT_STRING_EQUAL(strings[0], "");
    CU_ASSERT_STRING_EQUAL(strings[2], "another");
    CU_ASSERT(long_values[1] == UINT64_MAX);
    cop_packet_free(got);
    CHECK_OK(channel_receive(ends[1], &got, &number, -1));
    CU_ASSERT(!got && number == -EINVAL);
    CHECK_IS(channel_receive(ends[1], &got, &number, 0), -EAGAIN);
    cop_packet_free(packet);
    ends_free();
}

/* The other end is gone: also after what it had sent. */
TEST(a_closed_end_is_noticed)
{
    struct cop_packet *got;
    int32_t number;

    ends_new();
    CHECK_OK(channel_send(ends[0], NULL, 1, -1));
    channel_free(ends[0]);
    ends[0] = NULL;
    CHECK_OK(channel_receive(ends[1], &got, &number, -1));
    CHECK_IS(channel_receive(ends[1], &got, &number, -1), -EPIPE);
    CHECK_IS(channel_send(ends[1], NULL, 1, -1), -EPIPE);
    ends_free();
}

/* Send a large packet and receive one. */
static void *exchange(void *arg)
{
    struct channel *channel = arg;
    struct cop_packet *packet = NULL, *got = NULL;
    uint32_t *numbers = calloc(MANY, sizeof(*numbers));
    const uint32_t *read = NULL;
    uint32_t count = 0;
    int32_t number;
    bool fine;

    if (numbers)
        numbers[MANY - 1] = 7;
    fine = numbers &&
           cop_packet_new(&packet, 101, "%aud", numbers, (uint32_t)MANY) == 0 &&
           channel_send(channel, packet, 0, -1) == 0 &&
           channel_receive(channel, &got, &number, -1) == 0 && got &&
           cop_packet_unpack(got, "%aud", &read, &count) == 0 &&
           count == MANY && read[MANY - 1] == 7;
    free(numbers);
    cop_packet_free(packet);
    cop_packet_free(got);
    return fine ? channel : NULL;
}

TEST(both_ends_may_send_at_once)
{
    pthread_t other;
    void *fine;

    ends_new();
    CU_ASSERT_FATAL(pthread_create(&other, NULL, exchange, ends[1]) == 0);
    CU_ASSERT_PTR_NOT_NULL(exchange(ends[0]));
    CU_ASSERT(pthread_join(other, &fine) == 0 && fine);
    ends_free();
}

/* While the other end does not read, the caller gets control back, and may go
 * on. */
TEST(a_send_that_is_not_taken_can_be_continued)
{
    uint32_t *numbers = calloc(MANY, sizeof(*numbers));
    struct cop_packet *packet, *got = NULL;
    int32_t number;
    int r, taken = -EAGAIN;

    CU_ASSERT_PTR_NOT_NULL_FATAL(numbers);
    ends_new();
    CHECK_OK(cop_packet_new(&packet, 101, "%aud", numbers, (uint32_t)MANY));
    CHECK_IS(channel_send(ends[0], packet, 3, 0), -EAGAIN);
    do {
        taken = channel_receive(ends[1], &got, &number, 0);
        r = channel_send(ends[0], packet, 3, 0);
    } while (r == -EAGAIN);
    CHECK_OK(r);
    if (taken == -EAGAIN)
        taken = channel_receive(ends[1], &got, &number, -1);
    CU_ASSERT(taken == 0 && got && number == 3 &&
              cop_packet_size(got) == cop_packet_size(packet));
    cop_packet_free(packet);
    cop_packet_free(got);
    free(numbers);
    ends_free();
}

/* A message with one word changed is refused, or is another one; never is read
 * what it does not have. */
TEST(damaged_messages_are_refused)
{
    const int32_t numbers[] = {1, 2, 3};
    const char *const strings[] = {"a", "", "text"};
    uint64_t words[64], sent[64];
    struct cop_packet *packet;
    ssize_t len;

    ends_new();
    CHECK_OK(cop_packet_new(&packet, 101, "%as %ad", strings, 3, numbers, 3));
    CHECK_OK(channel_send(ends[0], packet, 0, -1));
    cop_packet_free(packet);
    len = recv(channel_fd(ends[1]), words, sizeof(words), 0);
    CU_ASSERT_FATAL(len > 0 && len % 8 == 0 && len < (ssize_t)sizeof(words));
    ends_free();
    for (size_t i = 0; i < 3 * (size_t)len / 8; i++) {
        const uint64_t others[] = {words[i / 3] + 1, words[i / 3] + 100000,
                                   UINT64_MAX};
        struct cop_packet *got = NULL;
        int32_t number;
        int r;

        memcpy(sent, words, sizeof(words));
        sent[i / 3] = others[i % 3];
        ends_new();
        CU_ASSERT_EQUAL(send(channel_fd(ends[0]), sent, (size_t)len, 0), len);
        r = channel_receive(ends[1], &got, &number, 0);
        CU_ASSERT(r == 0 || r == -EBADMSG || r == -EINVAL ||
                  (r == -EAGAIN && i < 3));
        /* the count and the length of the first value */
        if (i / 3 == 3 || (i / 3 == 4 && i % 3 > 0))
            CU_ASSERT_EQUAL(r, -EBADMSG);
        cop_packet_free(got);
        ends_free();
    }
}

int main(void)
{
    return check_run("channel");
}
