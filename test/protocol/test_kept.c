/* test_kept.c - the packets of a stream of whole waves that a back-end keeps.
 * */
#include "protocol/stream/kept.h"

#include <stdlib.h>
#include <string.h>

#include "test/check.h"

#define PACKETS 5000

/* Lengths around the limit up to which payloads are copied. */
static const uint32_t lens[] = {0, 1, 7, 40, 255, 256, 257, 3000, 100000};

#define LENS (sizeof(lens) / sizeof(lens[0]))

static struct payload *make_payload(uint32_t len, uint32_t seed)
{
    struct payload *payload;

    if (len == 0)
        return NULL;
    if (payload_new(&payload, len) < 0)
        abort();
    for (uint32_t i = 0; i < len; i++)
        payload->bytes[i] = (unsigned char)(seed + i);
    return payload;
}

static struct frame make_frame(uint32_t n)
{
    return (struct frame){
        .type = FRAME_DATA,
        .flags = FRAME_WAVES | (n % 3 ? FRAME_LAST : 0),
        .tag = (int32_t)n - 100,
        .contributors = n % 2,
        .wave = n,
        .payload = make_payload(lens[n % LENS], n),
    };
}

static void push(struct kept *kept, uint32_t n)
{
    struct frame frame = make_frame(n);

    CHECK_OK(kept_push(kept, &frame));
    frame_fini(&frame);
}

/* Check that packet `n` is unchanged. */
static void check_packet(const struct kept_packet *packet, uint32_t n)
{
    struct frame was = make_frame(n);
    struct payload *payload;

    CHECK_OK(kept_payload(packet, &payload));
    CU_ASSERT_EQUAL(packet->wave, n);
    CU_ASSERT_EQUAL(packet->flags, was.flags);
    CU_ASSERT_EQUAL(packet->tag, was.tag);
    CU_ASSERT_EQUAL(packet->contributors, was.contributors);
    CU_ASSERT_EQUAL(packet->len, lens[n % LENS]);
    if (was.payload)
        CU_ASSERT_TRUE(
            payload->len == was.payload->len &&
            memcmp(payload->bytes, was.payload->bytes, payload->len) == 0);
    payload_free(payload);
    frame_fini(&was);
}

/* Check that the packets from `first` on are kept, up to but without `end`. */
static void check_all(const struct kept *kept, uint32_t first, uint32_t end)
{
    struct kept_place place = {0};
    const struct kept_packet *packet;
    uint64_t bytes = 0;
    uint32_t n = first;

    while ((packet = kept_next(kept, &place))) {
        bytes += FRAME_HEAD_MAX + lens[n % LENS];
        check_packet(packet, n++);
    }
    CU_ASSERT_EQUAL(n, end);
    CU_ASSERT_EQUAL(kept_now(kept).count, end - first);
    CU_ASSERT_EQUAL(kept_now(kept).bytes, bytes);
}

/* Packets of all sizes are read in order as others are added and removed. */
TEST(packets_come_again)
{
    struct kept kept = {0};
    uint32_t first = 0;

    check_all(&kept, 0, 0);
    for (uint32_t n = 0; n < PACKETS; n++) {
        push(&kept, n);
        if (n % 500 == 499)
            check_all(&kept, first, n + 1);
        /* alternate growth and shrinking; at times remove all */
        for (uint32_t i = n / 1000 % 2 * 2; i > 0 && first <= n; i--) {
            kept_pop(&kept);
            first++;
        }
    }
    check_all(&kept, first, PACKETS);
    while (first < PACKETS) {
        kept_pop(&kept);
        first++;
    }
    check_all(&kept, first, PACKETS);
    push(&kept, 0);
    check_all(&kept, 0, 1);
    kept_fini(&kept);
    check_all(&kept, 0, 0);
}

/* Most final packets are removed at once, and no others; a large payload, which
 * must be freed, is left to kept_pop(). */
TEST(many_go_at_once)
{
    struct kept kept = {0};
    struct frame frame = {.flags = FRAME_WAVES | FRAME_LAST,
                          .payload = make_payload(40, 1)};
    const struct kept_packet *first;

    for (uint32_t n = 1; n <= PACKETS; n++) {
        frame.wave = n;
        CHECK_OK(kept_push(&kept, &frame));
    }
    for (uint64_t wave = 0; wave <= PACKETS / 2; wave++) {
        kept_forget(&kept, wave);
        first = kept_next(&kept, &(struct kept_place){0});
        CU_ASSERT_FATAL(first != NULL);
        CU_ASSERT(first->wave <= wave + 1);
    }
    CU_ASSERT(first->wave > PACKETS / 4);
    CU_ASSERT_EQUAL(kept_now(&kept).count, PACKETS + 1 - first->wave);
    CU_ASSERT_EQUAL(kept_now(&kept).bytes,
                    kept_now(&kept).count * (FRAME_HEAD_MAX + 40));
    frame_fini(&frame);
    frame.payload = make_payload(100000, 1);
    CHECK_OK(kept_push(&kept, &frame));
    kept_forget(&kept, UINT64_MAX);
    CU_ASSERT_EQUAL(frame.payload->refs, 2);
    CU_ASSERT(kept_now(&kept).count > 0);
    while (kept_now(&kept).count > 0)
        kept_pop(&kept);
    CU_ASSERT_EQUAL(frame.payload->refs, 1);
    CU_ASSERT_EQUAL(kept_now(&kept).bytes, 0);
    frame_fini(&frame);
    kept_fini(&kept);
}

/* A small payload is copied; a large one is referenced once. */
TEST(large_payloads_are_shared)
{
    struct kept kept = {0};
    struct frame small = {.payload = make_payload(40, 1)};
    struct frame large = {.payload = make_payload(100000, 1)};

    CHECK_OK(kept_push(&kept, &small));
    CHECK_OK(kept_push(&kept, &large));
    CU_ASSERT_EQUAL(small.payload->refs, 1);
    CU_ASSERT_EQUAL(large.payload->refs, 2);
    kept_pop(&kept);
    kept_pop(&kept);
    CU_ASSERT_EQUAL(large.payload->refs, 1);
    CHECK_OK(kept_push(&kept, &large));
    kept_fini(&kept);
    CU_ASSERT_EQUAL(large.payload->refs, 1);
    frame_fini(&small);
    frame_fini(&large);
}

/* OVER and large payloads are not dropped with their block. */
TEST(some_do_not_go_at_once)
{
    struct frame small = {.payload = make_payload(40, 1)};
    struct frame kinds[] = {{.flags = FRAME_EMPTY | FRAME_LAST | FRAME_OVER},
                            {.payload = make_payload(100000, 1)}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct kept kept = {0};

        CHECK_OK(kept_push(&kept, &kinds[i]));
        for (uint32_t n = 0; n < PACKETS; n++)
            CHECK_OK(kept_push(&kept, &small));
        kept_forget(&kept, UINT64_MAX);
        CU_ASSERT_EQUAL(kept_now(&kept).count, PACKETS + 1);
        CU_ASSERT_EQUAL(kept_now(&kept).overs, i == 0 ? 1 : 0);
        kept_fini(&kept);
        frame_fini(&kinds[i]);
    }
    frame_fini(&small);
}

/* OVER has a number, and does not count as a packet. */
TEST(over_counts_nothing)
{
    struct kept kept = {0};
    struct frame over = {.flags = FRAME_EMPTY | FRAME_LAST | FRAME_OVER};

    CHECK_OK(kept_push(&kept, &over));
    CU_ASSERT_EQUAL(kept_now(&kept).count, 1);
    CU_ASSERT_EQUAL(kept_now(&kept).overs, 1);
    CU_ASSERT_EQUAL(kept_now(&kept).bytes, 0);
    kept_pop(&kept);
    CU_ASSERT_EQUAL(kept_now(&kept).count, 0);
    CU_ASSERT_EQUAL(kept_now(&kept).overs, 0);
    kept_fini(&kept);
}
