/* test_destinations.c - the back-ends that a packet is for. */
#include "wire/destinations.h"

#include "test/check.h"
#include "wire/limits.h"

static struct payload *bytes_of(const char *bytes, size_t len)
{
    struct payload *payload;

    CHECK_OK(payload_new(&payload, len));
    memcpy(payload->bytes, bytes, len);
    return payload;
}

/* "packet" for 3 to 5, and 9. */
static struct payload *for_some(void)
{
    struct payload *packet = bytes_of("packet", 6), *whole = NULL;
    struct ranks to = {0};

    CHECK_OK(ranks_add(&to, 3, 5));
    CHECK_OK(ranks_add(&to, 9, 9));
    CHECK_OK(destinations_add(&whole, packet, &to));
    payload_free(packet);
    ranks_fini(&to);
    return whole;
}

static bool meets(const struct payload *whole, uint32_t first, uint32_t last)
{
    struct ranks_run run = {first, last};

    return destinations_meet(whole, &(struct ranks){.runs = &run, .count = 1});
}

static bool is(const struct payload *packet, const char *text)
{
    return packet && packet->len == strlen(text) &&
           memcmp(packet->bytes, text, packet->len) == 0;
}

/* What was added is found, and the packet is as it was. */
TEST(what_was_added_is_there)
{
    struct payload *whole = for_some(), *packet = NULL;

    CU_ASSERT(destinations_are_there(whole));
    CU_ASSERT(meets(whole, 3, 3));
    CU_ASSERT(meets(whole, 0, 3));
    CU_ASSERT(meets(whole, 5, 8));
    CU_ASSERT(meets(whole, 9, 20));
    CU_ASSERT(!meets(whole, 0, 2));
    CU_ASSERT(!meets(whole, 6, 8));
    CU_ASSERT(!meets(whole, 10, LIMIT_NODES - 1));
    CU_ASSERT(!destinations_meet(whole, &(struct ranks){0}));
    CHECK_OK(destinations_cut(&packet, whole));
    CU_ASSERT(is(packet, "packet"));
    payload_free(packet);
    payload_free(whole);
}

/* A packet may have no values. */
TEST(a_packet_without_values)
{
    struct payload *whole = NULL, *moved = NULL, *packet = NULL;
    struct ranks to = {0};

    CHECK_OK(ranks_add(&to, LIMIT_NODES - 1, LIMIT_NODES - 1));
    CHECK_OK(destinations_add(&whole, NULL, &to));
    CU_ASSERT(destinations_are_there(whole));
    CHECK_OK(destinations_cut(&packet, whole));
    CU_ASSERT_PTR_NULL(packet);
    CHECK_OK(destinations_move(&moved, NULL, whole));
    CU_ASSERT(moved->len == whole->len);
    CU_ASSERT(meets(moved, LIMIT_NODES - 1, LIMIT_NODES - 1));
    payload_free(moved);
    payload_free(whole);
    ranks_fini(&to);
}

/* The output of a filter gets the destinations of its input. */
TEST(another_packet_for_the_same)
{
    struct payload *whole = for_some(), *moved = NULL, *packet = NULL;
    struct payload *output = bytes_of("a longer packet", 15);

    CHECK_OK(destinations_move(&moved, output, whole));
    CU_ASSERT(destinations_are_there(moved));
    CU_ASSERT(meets(moved, 4, 4) && meets(moved, 9, 9) && !meets(moved, 6, 8));
    CHECK_OK(destinations_cut(&packet, moved));
    CU_ASSERT(is(packet, "a longer packet"));
    payload_free(packet);
    payload_free(moved);
    payload_free(output);
    payload_free(whole);
}

/* Bytes of the network: `count` and the pairs before it. */
static bool are_there(size_t pairs, uint32_t count, const uint32_t *numbers)
{
    char bytes[64];
    size_t len = 0;
    struct payload *payload;
    bool there;

    for (size_t i = 0; i <= 2 * pairs; i++) {
        uint32_t number = i < 2 * pairs ? numbers[i] : count;

        for (int shift = 24; shift >= 0; shift -= 8)
            bytes[len++] = (char)(number >> shift);
    }
    payload = bytes_of(bytes, len);
    there = destinations_are_there(payload);
    payload_free(payload);
    return there;
}

#define ARE(pairs, count, ...)                                                 \
    are_there(pairs, count, (const uint32_t[]){__VA_ARGS__})

TEST(bytes_that_are_no_destinations)
{
    CU_ASSERT(!destinations_are_there(NULL));
    CU_ASSERT(ARE(1, 1, 7, 7));
    CU_ASSERT(ARE(2, 2, 7, 8, 9, 9));
    CU_ASSERT(ARE(2, 1, 9, 9, 7, 8)); /* the first pair is of the packet */
    CU_ASSERT(!ARE(1, 0, 7, 7));
    CU_ASSERT(!ARE(0, 1, 0));
    CU_ASSERT(!ARE(1, 2, 7, 7));
    CU_ASSERT(!ARE(1, UINT32_MAX, 7, 7));
    CU_ASSERT(!ARE(1, UINT32_C(1) << 29, 7, 7)); /* times 8 is 2^32 */
    CU_ASSERT(!ARE(1, 1, 8, 7));
    CU_ASSERT(!ARE(1, 1, 7, LIMIT_NODES));
    CU_ASSERT(!ARE(1, 1, 7, UINT32_MAX));
    CU_ASSERT(!ARE(2, 2, 7, 8, 8, 9));
    CU_ASSERT(!ARE(2, 2, 9, 9, 7, 8));
}

/* Each length that is too short, and each byte changed: no read behind the end
 * (under the sanitizers), and what is accepted can be cut and moved. */
TEST(hostile_bytes)
{
    struct payload *whole = for_some();

    for (size_t len = 0; len <= whole->len; len++)
        for (unsigned value = 0; value < 256; value += 5) {
            struct payload *bad = bytes_of((char *)whole->bytes, len);
            struct payload *packet = NULL, *moved = NULL;

            if (len > 0)
                bad->bytes[(value * 7) % len] = (unsigned char)value;
            if (destinations_are_there(bad)) {
                meets(bad, 0, LIMIT_NODES - 1);
                CHECK_OK(destinations_cut(&packet, bad));
                CHECK_OK(destinations_move(&moved, packet, bad));
                CU_ASSERT(destinations_are_there(moved));
                CU_ASSERT_EQUAL(moved->len, bad->len);
            }
            payload_free(moved);
            payload_free(packet);
            payload_free(bad);
        }
    payload_free(whole);
}
