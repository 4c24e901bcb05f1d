/* test_total.c - the message of a total (PROTOCOL 17.4). */
#include "protocol/stream/total.h"

#include <errno.h>
#include <string.h>

#include "test/check.h"
#include "wire/limits.h"

/* Encode a TOTAL of `payload`, with all other fields, as a frame. */
static int encode(struct payload *payload, struct frame *frame)
{
    struct total total = {.tag = 7, .level = 9, .payload = payload};
    int r;

    CHECK_OK(ranks_add(&total.set, 3, 5));
    r = total_encode(&total, 2, 1, frame);
    total.payload = NULL;
    total_fini(&total);
    return r;
}

/* A TOTAL is read as it was written. */
TEST(a_total_is_read)
{
    struct payload *payload;
    struct total total = {0};
    struct frame frame;

    CHECK_OK(payload_new(&payload, 300));
    memset(payload->bytes, 'x', 300);
    CHECK_OK(encode(payload, &frame));
    CHECK_OK(total_decode(&frame, &total));
    CU_ASSERT_EQUAL(total.level, 9);
    CU_ASSERT_EQUAL(total.tag, 7);
    CU_ASSERT_EQUAL(ranks_size(&total.set), 3);
    CU_ASSERT_TRUE(total.payload && total.payload->len == 300 &&
                   memcmp(total.payload->bytes, payload->bytes, 300) == 0);
    total_fini(&total);
    frame_fini(&frame);
    payload_free(payload);
}

/* A payload that just fits into a frame is too large together with its set: it
 * is refused before any byte of it is read. */
TEST(a_total_larger_than_a_frame_is_refused)
{
    struct payload *payload;
    struct frame frame = {0};

    CHECK_OK(payload_new(&payload, 8));
    payload->len = LIMIT_FRAME; /* more than it has */
    CHECK_IS(encode(payload, &frame), -EMSGSIZE);
    CU_ASSERT_PTR_NULL(frame.payload);
    payload->len = 8;
    payload_free(payload);
}
