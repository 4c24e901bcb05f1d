/* test_frame.c - frames are read the same however a link's bytes are cut. */
#include "wire/frame.h"

#include <errno.h>

#include "test/check.h"
#include "wire/limits.h"

#define FRAMES 40

/* One above the highest type; type numbers ascend. */
enum {
#define FRAME_NUMBER(name, number, text) name##_NUMBER = (number),
    FRAME_TYPES(FRAME_NUMBER)
#undef FRAME_NUMBER
    NO_TYPE,
};

/* A private generator: the same seed gives the same bytes everywhere. */
static uint32_t roll(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static struct frame make_frame(uint32_t *seed, size_t payload_len)
{
    struct frame frame = {
        .type = (uint8_t)(FRAME_DATA + roll(seed) % FRAME_END),
        .flags = (uint8_t)(roll(seed) % FRAME_WAVES),
        .stream = roll(seed) << 8 | 0x80,
        .tag = (int32_t)(roll(seed) << 8),
        .origin = roll(seed) * 255,
        .count = roll(seed) * 253,
        .sequence = (uint64_t)roll(seed) << 40 | roll(seed),
    };

    if (frame.type == FRAME_DATA) {
        frame.flags |= FRAME_WAVES;
        frame.check = (uint64_t)roll(seed) << 40 | roll(seed);
        frame.generation = roll(seed);
    }
    if (payload_len > 0) {
        CHECK_OK(payload_new(&frame.payload, payload_len));
        for (size_t i = 0; i < payload_len; i++)
            frame.payload->bytes[i] = (unsigned char)roll(seed);
    }
    return frame;
}

static bool same(const struct frame *a, const struct frame *b)
{
    if (a->type != b->type || a->flags != b->flags || a->stream != b->stream ||
        a->tag != b->tag || a->origin != b->origin || a->count != b->count ||
        a->sequence != b->sequence || a->check != b->check ||
        a->generation != b->generation || !a->payload != !b->payload)
        return false;
    return !a->payload ||
           (a->payload->len == b->payload->len &&
            memcmp(a->payload->bytes, b->payload->bytes, a->payload->len) == 0);
}

/* Append `frame`, encoded, to `bytes`. Returns its length. */
static size_t put(unsigned char *bytes, const struct frame *frame)
{
    size_t len = frame_encode(frame, bytes);

    if (frame->payload)
        memcpy(bytes + len, frame->payload->bytes, frame->payload->len);
    return frame_len(frame);
}

/* Every byte of the header is as in PROTOCOL 2.1. */
TEST(the_header_is_in_network_order)
{
    static const unsigned char expected[FRAME_HEADER_LEN] = {
        0, 0, 0, 3, 1, 5,  0,  0,  1,  2,  3,  4,  0xff, 0xff, 0xff, 0xfe,
        5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,   18,   19,   20,
    };
    unsigned char bytes[FRAME_HEAD_MAX];
    struct frame frame = {
        .type = FRAME_DATA,
        .flags = FRAME_LAST | FRAME_EMPTY,
        .stream = 0x01020304,
        .tag = -2,
        .origin = 0x05060708,
        .count = 0x090a0b0c,
        .sequence = UINT64_C(0x0d0e0f1011121314),
    };

    CHECK_OK(payload_new(&frame.payload, 3));
    CU_ASSERT_EQUAL(frame_encode(&frame, bytes), FRAME_HEADER_LEN);
    CU_ASSERT_EQUAL(memcmp(bytes, expected, sizeof(expected)), 0);
    CU_ASSERT_EQUAL(frame_len(&frame), FRAME_HEADER_LEN + 3);
    frame_fini(&frame);
    CU_ASSERT_PTR_NULL(frame.payload);
}

/* An exact packet's header ends with check and generation (PROTOCOL 16.2). */
TEST(exact_frames_have_sixteen_bytes_more)
{
    static const unsigned char expected[FRAME_WAVES_LEN] = {
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 0, 0,
    };
    unsigned char bytes[FRAME_HEAD_MAX];
    struct frame frame = {
        .type = FRAME_DATA,
        .flags = FRAME_WAVES | FRAME_LAST,
        .check = UINT64_C(0x0102030405060708),
        .generation = 0x090a0b0c,
    };

    CU_ASSERT_EQUAL(frame_encode(&frame, bytes), FRAME_HEAD_MAX);
    CU_ASSERT_EQUAL(
        memcmp(bytes + FRAME_HEADER_LEN, expected, sizeof(expected)), 0);
    CU_ASSERT_EQUAL(frame_len(&frame), FRAME_HEAD_MAX);
}

/* A part of a link's traffic: frames, and the same frames as bytes. */
struct stretch {
    struct frame frames[FRAMES];
    unsigned char *bytes;
    size_t len;
};

static void stretch_init(struct stretch *stretch, uint32_t seed)
{
    static const size_t lens[] = {0, 1, 7, 100, 4000, 16384, 70000};

    stretch->len = 0;
    stretch->bytes = malloc(FRAMES * (FRAME_HEAD_MAX + (size_t)70000));
    CU_ASSERT_PTR_NOT_NULL_FATAL(stretch->bytes);
    for (size_t i = 0; i < FRAMES; i++) {
        stretch->frames[i] = make_frame(&seed, lens[roll(&seed) % 7]);
        stretch->len += put(stretch->bytes + stretch->len, &stretch->frames[i]);
    }
}

static void stretch_fini(struct stretch *stretch)
{
    for (size_t i = 0; i < FRAMES; i++)
        frame_fini(&stretch->frames[i]);
    free(stretch->bytes);
}

/* Give `len` bytes to the reader; `*next` counts the complete frames. */
static void feed(struct frame_reader *reader,
                 const unsigned char *bytes,
                 size_t len,
                 const struct stretch *stretch,
                 size_t *next)
{
    struct frame frame;
    int r;

    while (len > 0) {
        r = frame_reader_take(reader, &bytes, &len, &frame);
        CHECK_OK(r);
        if (r == 0)
            break;
        CU_ASSERT_FATAL(*next < FRAMES);
        CU_ASSERT(same(&frame, &stretch->frames[*next]));
        ++*next;
        frame_fini(&frame);
    }
    CU_ASSERT_EQUAL(len, 0);
}

/* Single bytes give the same frames as all bytes at once. */
TEST(bytes_may_come_one_by_one)
{
    struct frame_reader reader;
    struct stretch stretch;
    size_t next = 0;

    stretch_init(&stretch, 1);
    frame_reader_init(&reader, LIMIT_FRAME);
    for (size_t i = 0; i < stretch.len; i++)
        feed(&reader, stretch.bytes + i, 1, &stretch, &next);
    CU_ASSERT_EQUAL(next, FRAMES);
    frame_reader_init(&reader, LIMIT_FRAME);
    next = 0;
    feed(&reader, stretch.bytes, stretch.len, &stretch, &next);
    CU_ASSERT_EQUAL(next, FRAMES);
    frame_reader_fini(&reader);
    stretch_fini(&stretch);
}

/* Put up to `most` bytes into the reader's payload, if it wants them. */
static size_t feed_directly(struct frame_reader *reader,
                            const unsigned char *bytes,
                            size_t most,
                            const struct stretch *stretch,
                            size_t *next)
{
    struct frame frame;
    size_t room = 0;
    unsigned char *space = frame_reader_space(reader, &room);
    int r;

    if (!space)
        return 0;
    if (room > most)
        room = most;
    memcpy(space, bytes, room);
    r = frame_reader_filled(reader, room, &frame);
    CHECK_OK(r);
    if (r == 1) {
        CU_ASSERT_FATAL(*next < FRAMES);
        CU_ASSERT(same(&frame, &stretch->frames[*next]));
        ++*next;
        frame_fini(&frame);
    }
    return room;
}

/* Pieces of any length give the same frames, with long payloads read in place
 * or not. */
TEST(bytes_may_come_in_any_pieces)
{
    struct frame_reader reader;
    struct stretch stretch;
    size_t next;
    size_t len;
    size_t at;

    for (uint32_t seed = 2; seed < 60; seed++) {
        uint32_t dice = seed;

        stretch_init(&stretch, seed);
        frame_reader_init(&reader, LIMIT_FRAME);
        for (at = 0, next = 0; at < stretch.len; at += len) {
            len = 1 + roll(&dice) % (1u << roll(&dice) % 18);
            if (len > stretch.len - at)
                len = stretch.len - at;
            if (roll(&dice) % 2) {
                size_t direct = feed_directly(&reader, stretch.bytes + at, len,
                                              &stretch, &next);

                if (direct > 0) {
                    len = direct;
                    continue;
                }
            }
            feed(&reader, stretch.bytes + at, len, &stretch, &next);
        }
        if (next != FRAMES)
            printf("\nseed %u: %zu frames\n", seed, next);
        CU_ASSERT_EQUAL(next, FRAMES);
        frame_reader_fini(&reader);
        stretch_fini(&stretch);
    }
}

/* Read one frame from a header whose byte `at` is changed to `to`. */
static int read_changed(size_t at, unsigned char to, uint32_t limit)
{
    unsigned char bytes[FRAME_HEAD_MAX];
    const unsigned char *next = bytes;
    struct frame frame = {.type = FRAME_HEARTBEAT};
    size_t len = frame_encode(&frame, bytes);
    struct frame_reader reader;
    int r;

    bytes[at] = to;
    frame_reader_init(&reader, limit);
    r = frame_reader_take(&reader, &next, &len, &frame);
    frame_reader_fini(&reader);
    return r;
}

/* Read a frame with FRAME_WAVES whose last reserved byte is `last`. */
static int read_exact(uint8_t type, unsigned char last)
{
    unsigned char bytes[FRAME_HEAD_MAX];
    const unsigned char *next = bytes;
    struct frame frame = {.type = type, .flags = FRAME_WAVES};
    size_t len = frame_encode(&frame, bytes);
    struct frame_reader reader;
    int r;

    bytes[len - 1] = last;
    frame_reader_init(&reader, LIMIT_FRAME);
    r = frame_reader_take(&reader, &next, &len, &frame);
    frame_reader_fini(&reader);
    return r;
}

/* Unknown types and reserved bits are an error. */
TEST(unknown_bits_are_refused)
{
    CHECK_IS(read_changed(4, FRAME_HEARTBEAT, LIMIT_FRAME), 1);
    CHECK_IS(read_changed(4, 0, LIMIT_FRAME), -EBADMSG);
    CHECK_IS(read_changed(4, NO_TYPE, LIMIT_FRAME), -EBADMSG);
    CHECK_IS(read_changed(4, 255, LIMIT_FRAME), -EBADMSG);
    CHECK_IS(read_changed(6, 1, LIMIT_FRAME), -EBADMSG);
    CHECK_IS(read_changed(7, 1, LIMIT_FRAME), -EBADMSG);
    CHECK_IS(read_exact(FRAME_DATA, 0), 1);
    CHECK_IS(read_exact(FRAME_DATA, 1), -EBADMSG);
    CHECK_IS(read_exact(FRAME_HEARTBEAT, 0), -EBADMSG);
}

/* PROTOCOL 2.1: nothing is allocated for a length above the limit. */
TEST(lengths_are_checked_before_anything_else)
{
    CHECK_IS(read_changed(0, 0x40, LIMIT_FRAME_UNPROVED), -EMSGSIZE);
    CHECK_IS(read_changed(0, 0xff, LIMIT_FRAME), -EMSGSIZE);
    CHECK_IS(read_changed(2, 0x40, LIMIT_FRAME_UNPROVED), 0);
    CHECK_IS(read_changed(2, 0x41, LIMIT_FRAME_UNPROVED), -EMSGSIZE);
    CHECK_IS(read_changed(3, 1, 0), -EMSGSIZE);
}

/* A reader that is freed within a frame leaks nothing. */
TEST(half_a_frame_is_freed)
{
    unsigned char bytes[FRAME_HEAD_MAX + 100];
    const unsigned char *at = bytes;
    struct frame_reader reader;
    struct frame frame;
    uint32_t seed = 5;
    size_t len = FRAME_HEADER_LEN + 50;

    frame = make_frame(&seed, 100);
    put(bytes, &frame);
    frame_fini(&frame);
    frame_reader_init(&reader, LIMIT_FRAME);
    CHECK_IS(frame_reader_take(&reader, &at, &len, &frame), 0);
    CU_ASSERT_EQUAL(len, 0);
    frame_reader_fini(&reader);
}

/* A reference keeps the payload after the first frame is freed. */
TEST(copies_share_the_payload)
{
    uint32_t seed = 9;
    struct frame frame = make_frame(&seed, 10);
    struct frame copy = frame_ref(&frame);

    CU_ASSERT_PTR_EQUAL(copy.payload, frame.payload);
    CU_ASSERT(same(&copy, &frame));
    frame_fini(&frame);
    CU_ASSERT_EQUAL(copy.payload->len, 10);
    frame_fini(&copy);
}

/* Every type has its own name. */
TEST(types_have_names)
{
    CU_ASSERT_STRING_EQUAL(frame_name(FRAME_DATA), "data");
    CU_ASSERT_STRING_EQUAL(frame_name(FRAME_END), "end");
    CU_ASSERT_STRING_EQUAL(frame_name(0), "unknown");
    CU_ASSERT_STRING_EQUAL(frame_name(NO_TYPE), "unknown");
    CU_ASSERT_STRING_EQUAL(frame_name(255), "unknown");
}

/* Write `frame` to a link, and read it. Returns its bytes on the link. */
static size_t pass_on(struct frame_writer *writer,
                      struct frame_reader *reader,
                      const struct frame *frame)
{
    unsigned char bytes[FRAME_HEAD_MAX];
    size_t len = frame_writer_encode(writer, frame, bytes), left = 1;
    struct frame out = {0};

    for (size_t i = 0; i < len; i++, left = 1) {
        const unsigned char *next = bytes + i;

        CU_ASSERT_EQUAL(frame_reader_rests(reader), i == 0);
        CHECK_IS(frame_reader_take(reader, &next, &left, &out), i + 1 == len);
        CU_ASSERT_EQUAL(left, 0);
    }
    CU_ASSERT(frame_reader_rests(reader));
    CU_ASSERT(same(&out, frame));
    return len;
}

/* PROTOCOL 6.1e: of equal heartbeats on a link only the first has a header,
 * even if other frames come between them. */
TEST(a_repeated_heartbeat_is_short)
{
    struct frame beat = {.type = FRAME_HEARTBEAT, .origin = 3, .sequence = 9};
    struct frame other = {.type = FRAME_CREDIT, .stream = 1, .count = 5};
    struct frame_writer writer = {{0}};
    struct frame_reader reader;

    frame_reader_init(&reader, LIMIT_FRAME);
    CU_ASSERT_EQUAL(pass_on(&writer, &reader, &beat), FRAME_HEADER_LEN);
    CU_ASSERT_EQUAL(pass_on(&writer, &reader, &beat), FRAME_REPEAT_LEN);
    CU_ASSERT_EQUAL(pass_on(&writer, &reader, &other), FRAME_HEADER_LEN);
    CU_ASSERT_EQUAL(pass_on(&writer, &reader, &other), FRAME_HEADER_LEN);
    CU_ASSERT_EQUAL(pass_on(&writer, &reader, &beat), FRAME_REPEAT_LEN);
    beat.sequence++;
    CU_ASSERT_EQUAL(pass_on(&writer, &reader, &beat), FRAME_HEADER_LEN);
    CU_ASSERT_EQUAL(pass_on(&writer, &reader, &beat), FRAME_REPEAT_LEN);
    frame_reader_fini(&reader);
}

/* Read `bytes`. Returns the reader's last result. */
static int read_bytes(const unsigned char *bytes, size_t len)
{
    struct frame_reader reader;
    struct frame frame;
    int r;

    frame_reader_init(&reader, LIMIT_FRAME);
    do {
        r = frame_reader_take(&reader, &bytes, &len, &frame);
        if (r == 1)
            frame_fini(&frame);
    } while (r == 1 && len > 0);
    frame_reader_fini(&reader);
    return r;
}

/* PROTOCOL 6.1e: only a heartbeat without a payload can be repeated. */
TEST(a_repetition_of_nothing_is_refused)
{
    unsigned char bytes[FRAME_HEAD_MAX + 8];
    struct frame beat = {.type = FRAME_HEARTBEAT};
    struct frame data = {.type = FRAME_DATA};
    size_t len;

    memset(bytes, 0xff, sizeof(bytes));
    CHECK_IS(read_bytes(bytes, FRAME_REPEAT_LEN), -EBADMSG);
    len = frame_encode(&data, bytes);
    memset(bytes + len, 0xff, FRAME_REPEAT_LEN);
    CHECK_IS(read_bytes(bytes, len + FRAME_REPEAT_LEN), -EBADMSG);
    CHECK_OK(payload_new(&beat.payload, 1));
    len = frame_encode(&beat, bytes);
    memset(bytes + len, 0xff, 1 + FRAME_REPEAT_LEN);
    CHECK_IS(read_bytes(bytes, len + 1 + FRAME_REPEAT_LEN), -EBADMSG);
    frame_fini(&beat);
    len = frame_encode(&beat, bytes);
    memset(bytes + len, 0xff, FRAME_REPEAT_LEN);
    CHECK_IS(read_bytes(bytes, len + FRAME_REPEAT_LEN), 1);
}
