/* test_packet.c - packets unpack to the values that were packed, and no bytes
 * from a network do harm. */
#include "wire/packet.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <tpl.h>

#include "test/check.h"
#include "wire/ranks.h"

#define MUTATIONS 20000

/* The packet as a peer receives it: made from its bytes. */
static struct cop_packet *travel(struct cop_packet *packet)
{
    const struct frame *frame = packet_frame(packet);
    struct frame copy = *frame;
    struct cop_packet *other;

    copy.payload = NULL;
    if (frame->payload) {
        CHECK_OK(payload_new(&copy.payload, frame->payload->len));
        memcpy(copy.payload->bytes, frame->payload->bytes, frame->payload->len);
    }
    CHECK_OK(packet_from_frame(&other, &copy));
    CU_ASSERT_PTR_NULL(copy.payload);
    cop_packet_free(packet);
    return other;
}

/* Scalars of all eleven types, at both limits of their ranges. */
TEST(scalars_survive)
{
    struct cop_packet *packet;
    char c[2];
    unsigned char uc;
    int16_t hd[2];
    uint16_t uhd;
    int32_t d[2];
    uint32_t ud;
    int64_t ld[2];
    uint64_t uld;
    float f[2];
    double lf[3];
    const char *s[2];

    CHECK_OK(cop_packet_new(
        &packet, -5,
        "%c %c %uc %hd %hd %uhd %d %d %ud %ld %ld %uld %f %f %lf %lf %lf %s "
        "%s",
        CHAR_MIN, CHAR_MAX, UCHAR_MAX, INT16_MIN, INT16_MAX, UINT16_MAX,
        INT32_MIN, INT32_MAX, UINT32_MAX, INT64_MIN, INT64_MAX, UINT64_MAX,
        FLT_MAX, -FLT_TRUE_MIN, DBL_MAX, -DBL_TRUE_MIN, (double)NAN, "",
        "h\xc3\xa9llo"));
    packet = travel(packet);
    CHECK_OK(cop_packet_unpack(
        packet,
        "%c %c %uc %hd %hd %uhd %d %d %ud %ld %ld %uld %f %f %lf %lf %lf %s "
        "%s",
        &c[0], &c[1], &uc, &hd[0], &hd[1], &uhd, &d[0], &d[1], &ud, &ld[0],
        &ld[1], &uld, &f[0], &f[1], &lf[0], &lf[1], &lf[2], &s[0], &s[1]));
    CU_ASSERT(c[0] == CHAR_MIN && c[1] == CHAR_MAX && uc == UCHAR_MAX);
    CU_ASSERT(hd[0] == INT16_MIN && hd[1] == INT16_MAX && uhd == UINT16_MAX);
    CU_ASSERT(d[0] == INT32_MIN && d[1] == INT32_MAX && ud == UINT32_MAX);
    CU_ASSERT(ld[0] == INT64_MIN && ld[1] == INT64_MAX && uld == UINT64_MAX);
    CU_ASSERT(f[0] == FLT_MAX && f[1] == -FLT_TRUE_MIN);
    CU_ASSERT(lf[0] == DBL_MAX && lf[1] == -DBL_TRUE_MIN && isnan(lf[2]));
    CU_ASSERT_STRING_EQUAL(s[0], "");
    CU_ASSERT_STRING_EQUAL(s[1], "h\xc3\xa9llo");
    CU_ASSERT_EQUAL(cop_packet_tag(packet), -5);
    CU_ASSERT_EQUAL(cop_packet_value_count(packet), 19);
    cop_packet_free(packet);
}

/* Arrays, with counts of 32 and of 64 bits, are borrowed and aligned. */
TEST(arrays_survive)
{
    static const char chars[3] = {'a', 0, 'c'};
    static const int16_t shorts[2] = {-1, 300};
    static const uint64_t longs[2] = {1, UINT64_MAX};
    static const float floats[1] = {1.5f};
    static const double doubles[3] = {1, -2.5, INFINITY};
    static const char *const strings[4] = {"one", "", "three", ""};
    struct cop_packet *packet;
    const char *c;
    const int16_t *hd;
    const uint64_t *uld;
    const float *f;
    const double *lf;
    const char *const *s;
    uint32_t counts[5];
    uint64_t count64;

    CHECK_OK(cop_packet_new(&packet, 1, "%ac %ahd %Auld %af %alf %as", chars,
                            3u, shorts, 2u, longs, UINT64_C(2), floats, 1u,
                            doubles, 3u, strings, 4u));
    packet = travel(packet);
    CHECK_OK(cop_packet_unpack(packet, "%ac %ahd %Auld %af %alf %as", &c,
                               &counts[0], &hd, &counts[1], &uld, &count64, &f,
                               &counts[2], &lf, &counts[3], &s, &counts[4]));
    CU_ASSERT(counts[0] == 3 && memcmp(c, chars, sizeof(chars)) == 0);
    CU_ASSERT(counts[1] == 2 && memcmp(hd, shorts, sizeof(shorts)) == 0);
    CU_ASSERT(count64 == 2 && memcmp(uld, longs, sizeof(longs)) == 0);
    CU_ASSERT(counts[2] == 1 && memcmp(f, floats, sizeof(floats)) == 0);
    CU_ASSERT(counts[3] == 3 && memcmp(lf, doubles, sizeof(doubles)) == 0);
    CU_ASSERT_EQUAL(counts[4], 4);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_STRING_EQUAL(s[i], strings[i]);
    CU_ASSERT_EQUAL((uintptr_t)hd % sizeof(*hd), 0);
    CU_ASSERT_EQUAL((uintptr_t)uld % sizeof(*uld), 0);
    CU_ASSERT_EQUAL((uintptr_t)lf % sizeof(*lf), 0);
    cop_packet_free(packet);
}

/* Empty arrays are values too, alone and among others. */
TEST(arrays_may_be_empty)
{
    static const char *const items[] = {"c",  "uc",  "hd", "uhd", "d", "ud",
                                        "ld", "uld", "f",  "lf",  "s"};
    struct cop_packet *packet;
    const void *data;
    uint32_t count;
    uint64_t count64;
    char format[16];
    int d;

    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
        data = format;
        snprintf(format, sizeof(format), "%%a%s", items[i]);
        CHECK_OK(cop_packet_new(&packet, 0, format, NULL, 0u));
        packet = travel(packet);
        count = 77;
        CHECK_OK(cop_packet_unpack(packet, format, &data, &count));
        CU_ASSERT(count == 0 && !data);
        CU_ASSERT_STRING_EQUAL(cop_packet_format(packet), format);
        cop_packet_free(packet);
    }
    CHECK_OK(cop_packet_new(&packet, 0, "%Alf %d %as", &d, UINT64_C(0), 42,
                            NULL, 0u));
    packet = travel(packet);
    CHECK_OK(cop_packet_unpack(packet, "%Alf %d %as", &data, &count64, &d,
                               &data, &count));
    CU_ASSERT(count64 == 0 && d == 42 && count == 0);
    cop_packet_free(packet);
}

/* The layouts that were used last are kept. That of one empty array must not be
 * taken for that of two. */
TEST(a_layout_is_no_beginning_of_another)
{
    struct cop_packet *two, *one, *other;
    char format[] = "%d %d %d %d %d %d %d %d";
    const uint64_t *ulds;
    const uint32_t *uds;
    uint32_t counts[2];

    CHECK_OK(cop_packet_new(&two, 0, "%aud %auld", NULL, 0u, NULL, 0u));
    two = travel(two);
    for (size_t len = strlen(format); len > 0; len -= len > 2 ? 3 : 2) {
        format[len] = '\0'; /* as many others as are kept */
        CHECK_OK(cop_packet_new(&other, 0, format, 1, 2, 3, 4, 5, 6, 7, 8));
        cop_packet_free(other);
    }
    CHECK_OK(cop_packet_new(&one, 0, "%aud", NULL, 0u));
    CHECK_OK(cop_packet_unpack(two, "%aud %auld", &uds, &counts[0], &ulds,
                               &counts[1]));
    CU_ASSERT(counts[0] == 0 && counts[1] == 0);
    cop_packet_free(one);
    cop_packet_free(two);
}

/* A packet without values has no bytes. */
TEST(an_empty_format_takes_no_bytes)
{
    struct cop_packet *packet;
    struct cop_value value;

    CHECK_OK(cop_packet_new(&packet, 9, ""));
    CU_ASSERT_EQUAL(cop_packet_size(packet), 0);
    CU_ASSERT_PTR_NULL(packet_frame(packet)->payload);
    packet = travel(packet);
    CHECK_OK(cop_packet_unpack(packet, " "));
    CHECK_IS(cop_packet_unpack(packet, "%d", NULL), -EINVAL);
    CHECK_IS(cop_packet_value_count(packet), 0);
    CHECK_IS(cop_packet_value(packet, 0, &value), -ENOENT);
    CU_ASSERT_STRING_EQUAL(cop_packet_format(packet), "");
    CU_ASSERT_EQUAL(cop_packet_tag(packet), 9);
    cop_packet_free(packet);
}

/* Values that cannot be packed are refused, and no packet is made. */
TEST(bad_values_are_refused)
{
    static const char *const strings[2] = {"one", NULL};
    struct cop_packet *packet = NULL;
    struct cop_value values[COP_VALUES_MAX + 1];
    int32_t d = 1;

    CHECK_IS(cop_packet_new(&packet, 0, "%q", 1), -EINVAL);
    CHECK_IS(cop_packet_new(&packet, 0, "%s", (char *)NULL), -EINVAL);
    CHECK_IS(cop_packet_new(&packet, 0, "%as", strings, 2u), -EINVAL);
    CHECK_IS(cop_packet_new(&packet, 0, "%ad", NULL, 1u), -EINVAL);
    CHECK_IS(cop_packet_new(&packet, 0, "%Alf", &d, UINT64_MAX), -EMSGSIZE);
    CHECK_IS(cop_packet_new(&packet, 0, "%Alf", &d, UINT64_MAX / 8 + 2),
             -EMSGSIZE);
    CHECK_IS(cop_packet_new(&packet, 0, "%Ac", &d, (uint64_t)COP_PACKET_MAX),
             -EMSGSIZE);
    for (size_t i = 0; i <= COP_VALUES_MAX; i++)
        values[i] = (struct cop_value){COP_INT32, COP_SCALAR, 1, &d};
    CHECK_IS(cop_packet_new_values(&packet, 0, values, COP_VALUES_MAX + 1),
             -EMSGSIZE);
    values[0].type = (enum cop_type)99;
    CHECK_IS(cop_packet_new_values(&packet, 0, values, 1), -EINVAL);
    values[1].shape = (enum cop_shape)3;
    CHECK_IS(cop_packet_new_values(&packet, 0, values + 1, 1), -EINVAL);
    values[2].count = 2;
    CHECK_IS(cop_packet_new_values(&packet, 0, values + 2, 1), -EINVAL);
    CU_ASSERT_PTR_NULL(packet);
    CHECK_OK(cop_packet_new_values(&packet, 0, values + 3, 28));
    CU_ASSERT_EQUAL(cop_packet_value_count(packet), 28);
    cop_packet_free(packet);
}

/* PROTOCOL 2.2: another format gives -EINVAL, and no value is written. */
TEST(another_format_is_refused)
{
    static const char *const wrong[] = {
        "%ud %s", "%d",     "%d %s %d", "%s %d", "",
        "%d %as", "%ad %s", "%x",       "%f %s", "%d %ac",
    };
    struct cop_packet *packet;
    const char *s = NULL;
    int32_t d = 77;
    uint32_t count = 77;

    CHECK_OK(cop_packet_new(&packet, 0, "%d %s", 1, "one"));
    packet = travel(packet);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        CHECK_IS(cop_packet_unpack(packet, wrong[i], &d, &s, &count, &count),
                 -EINVAL);
    CU_ASSERT(d == 77 && !s && count == 77);
    CHECK_OK(cop_packet_unpack(packet, " %d  %s", &d, &s));
    CU_ASSERT(d == 1 && s);
    CU_ASSERT_STRING_EQUAL(cop_packet_format(packet), "%d %s");
    cop_packet_free(packet);
}

/* Values whose format is known only at run time: read from one packet and
 * packed into the next, they are unchanged. */
TEST(values_go_from_packet_to_packet)
{
    static const char *const strings[] = {"a", "bc"};
    static const int64_t longs[] = {1, 2, 3};
    struct cop_packet *packet;
    struct cop_packet *copy;
    struct cop_value values[5];

    CHECK_OK(cop_packet_new(&packet, 3, "%uc %Ald %as %f %s", 200, longs,
                            UINT64_C(3), strings, 2u, 0.5, "end"));
    for (size_t i = 0; i < 5; i++)
        CHECK_OK(cop_packet_value(packet, i, &values[i]));
    CHECK_IS(cop_packet_value(packet, 5, &values[0]), -ENOENT);
    CHECK_IS(cop_packet_value(packet, SIZE_MAX, &values[0]), -ENOENT);
    CU_ASSERT(values[1].type == COP_INT64 && values[1].shape == COP_ARRAY64);
    CU_ASSERT_EQUAL(values[1].count, 3);
    CHECK_OK(cop_packet_new_values(&copy, 3, values, 5));
    CU_ASSERT_EQUAL(cop_packet_size(copy), cop_packet_size(packet));
    CU_ASSERT_EQUAL(memcmp(packet_frame(copy)->payload->bytes,
                           packet_frame(packet)->payload->bytes,
                           cop_packet_size(packet)),
                    0);
    CU_ASSERT_STRING_EQUAL(cop_packet_format(copy), "%uc %Ald %as %f %s");
    cop_packet_free(packet);
    cop_packet_free(copy);
}

/* The packet's accessors return the fields of its frame. */
TEST(a_packet_tells_its_frame)
{
    struct frame frame = {
        .type = FRAME_DATA,
        .flags = FRAME_LATE,
        .tag = 7,
        .origin = 12,
        .count = 5,
        .sequence = UINT64_C(3) << PACKET_WAVE_BITS | 99,
    };
    struct cop_packet *packet;

    CHECK_OK(packet_from_frame(&packet, &frame));
    CU_ASSERT_EQUAL(cop_packet_tag(packet), 7);
    CU_ASSERT_EQUAL(cop_packet_origin(packet), 12);
    CU_ASSERT_EQUAL(cop_packet_contributors(packet), 5);
    CU_ASSERT_EQUAL(cop_packet_wave(packet), 99);
    CU_ASSERT_EQUAL(cop_packet_epoch(packet), 3);
    CU_ASSERT(cop_packet_is_late(packet));
    CU_ASSERT(!cop_packet_is_compensation(packet));
    CU_ASSERT_PTR_EQUAL(cop_packet_ref(packet), packet);
    cop_packet_free(packet);
    CU_ASSERT_EQUAL(cop_packet_tag(packet), 7);
    cop_packet_free(packet);
    cop_packet_free(NULL);
    CHECK_OK(cop_packet_new(&packet, 0, "%d", 1));
    CU_ASSERT_EQUAL(cop_packet_origin(packet), RANK_NONE);
    cop_packet_free(packet);
}

/* Payloads of control frames: packed and opened without a tag. */
TEST(payloads_are_packets_too)
{
    struct payload *payload;
    struct cop_packet *packet;
    const char *s;
    int32_t d;

    CHECK_OK(packet_pack(&payload, "%d %s", 5, "five"));
    CHECK_OK(packet_open(&packet, payload));
    payload_free(payload);
    CHECK_OK(cop_packet_unpack(packet, "%d %s", &d, &s));
    CU_ASSERT(d == 5 && strcmp(s, "five") == 0);
    cop_packet_free(packet);
    CHECK_OK(packet_pack(&payload, ""));
    CU_ASSERT_PTR_NULL(payload);
    CHECK_OK(packet_open(&packet, NULL));
    CHECK_OK(cop_packet_unpack(packet, ""));
    cop_packet_free(packet);
}

/* ---- the image ---- */

/* Every image is a tpl image: tpl loads it and finds the values. */
TEST(tpl_reads_our_images)
{
    static const double doubles[] = {1.25, -2};
    char signature[32];
    double f[2] = {0};
    int32_t i = 0;
    char text[4] = "";
    struct cop_packet *packet;
    const struct payload *payload;
    char *format;
    uint32_t count = 0;
    uint32_t *counts = NULL;
    tpl_node *node;

    CHECK_OK(cop_packet_new(&packet, 0, "%s %d %alf", "one", -7, doubles, 2u));
    payload = packet_frame(packet)->payload;
    format = tpl_peek(TPL_MEM | TPL_FXLENS, (void *)payload->bytes,
                      (size_t)payload->len, &count, &counts);
    CU_ASSERT_PTR_NOT_NULL_FATAL(format);
    CU_ASSERT_STRING_EQUAL(format, "c#f#i#c#");
    CU_ASSERT_EQUAL_FATAL(count, 4);
    CU_ASSERT_FATAL(counts[0] <= sizeof(signature));
    node = tpl_map(format, signature, (int)counts[0], f, 2, &i, 1, text, 4);
    CU_ASSERT_PTR_NOT_NULL_FATAL(node);
    CU_ASSERT_EQUAL(
        tpl_load(node, TPL_MEM, (void *)payload->bytes, (size_t)payload->len),
        0);
    CU_ASSERT(tpl_unpack(node, 0) > 0);
    CU_ASSERT(f[0] == 1.25 && f[1] == -2 && i == -7);
    CU_ASSERT_STRING_EQUAL(text, "one");
    tpl_free(node);
    free(format);
    free(counts);
    cop_packet_free(packet);
}

/* tpl itself writes the same image of these fields. */
TEST(tpl_writes_our_images)
{
    static const double doubles[] = {1.25, -2};
    static const struct {
        const char *ours;
        const char *tpls;
    } rows[] = {
        {"%alf %ld %d %hd %c", "c#f#I#i#j#c#"},
        {"%alf %uld %ud %uhd %uc", "c#f#U#u#v#c#"},
    };
    const size_t counts_at = 8 + strlen(rows[0].tpls) + 1;
    int64_t l = -3;
    int32_t i = -7;
    int16_t h = 9;
    char c = 'x';

    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
        unsigned char *image;
        char signature[16];
        uint32_t sign_len;
        struct payload *payload;
        size_t len = 0;
        tpl_node *node;

        CHECK_OK(packet_pack(&payload, rows[k].ours, doubles, 2u, l, i, h, c));
        memcpy(&sign_len, payload->bytes + counts_at, sizeof(sign_len));
        CU_ASSERT_FATAL(sign_len <= sizeof(signature));
        memcpy(signature, payload->bytes + counts_at + 6 * 4, sign_len);
        node = tpl_map((char *)rows[k].tpls, signature, (int)sign_len, doubles,
                       2, &l, 1, &i, 1, &h, 1, &c, 1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(node);
        CU_ASSERT_EQUAL(tpl_pack(node, 0), 0);
        CU_ASSERT_EQUAL_FATAL(tpl_dump(node, TPL_MEM, &image, &len), 0);
        CU_ASSERT_EQUAL_FATAL(len, payload->len);
        CU_ASSERT_EQUAL(memcmp(image, payload->bytes, len), 0);
        tpl_free(node);
        free(image);
        payload_free(payload);
    }
}

static size_t element_len(char letter)
{
    return letter == 'c'          ? 1
           : strchr("jv", letter) ? 2
           : strchr("iu", letter) ? 4
                                  : 8;
}

static void swap(unsigned char *at, size_t len)
{
    for (size_t i = 0; i < len / 2; i++) {
        unsigned char byte = at[i];

        at[i] = at[len - 1 - i];
        at[len - 1 - i] = byte;
    }
}

/* Turn an image into that of a machine with the other byte order. */
static void make_foreign(struct payload *payload)
{
    char *format = (char *)payload->bytes + 8;
    size_t fields = strlen(format) / 2;
    unsigned char *counts = payload->bytes + 8 + strlen(format) + 1;
    unsigned char *at = counts + 4 * fields;
    uint32_t count;

    payload->bytes[3] ^= 1;
    swap(payload->bytes + 4, 4);
    for (size_t i = 0; i < fields; i++) {
        size_t len = element_len(format[2 * i]);

        memcpy(&count, counts + 4 * i, 4);
        swap(counts + 4 * i, 4);
        for (uint32_t k = 0; k < count; k++, at += len)
            swap(at, len);
    }
    CU_ASSERT_PTR_EQUAL(at, payload->bytes + payload->len);
}

static const char *const many_strings[] = {"x", "", "yy"};
static const int16_t many_shorts[] = {1, -2, 3};

/* A packet with values of many types. */
static struct cop_packet *make_rich(void)
{
    struct cop_packet *packet;

    CHECK_OK(cop_packet_new(&packet, 0, "%d %s %ahd %lf %as %f %Auld %c",
                            -123456, "text", many_shorts, 3u, 6.25,
                            many_strings, 3u, 0.5, NULL, UINT64_C(0), 'q'));
    return packet;
}

static bool is_rich(const struct cop_packet *packet)
{
    const char *s;
    const int16_t *hd;
    const char *const *as;
    const uint64_t *uld;
    uint32_t counts[2];
    uint64_t count64;
    int32_t d;
    double lf;
    float f;
    char c;

    return cop_packet_unpack(packet, "%d %s %ahd %lf %as %f %Auld %c", &d, &s,
                             &hd, &counts[0], &lf, &as, &counts[1], &f, &uld,
                             &count64, &c) == 0 &&
           d == -123456 && strcmp(s, "text") == 0 && counts[0] == 3 &&
           memcmp(hd, many_shorts, sizeof(many_shorts)) == 0 && lf == 6.25 &&
           counts[1] == 3 && strcmp(as[0], "x") == 0 &&
           strcmp(as[1], "") == 0 && strcmp(as[2], "yy") == 0 && f == 0.5 &&
           count64 == 0 && c == 'q';
}

/* The sender's byte order is used; the receiver converts it. */
TEST(the_other_byte_order_is_read)
{
    struct cop_packet *packet = travel(make_rich());

    make_foreign(packet_frame(packet)->payload);
    CU_ASSERT(is_rich(packet));
    CU_ASSERT_STRING_EQUAL(cop_packet_format(packet),
                           "%d %s %ahd %lf %as %f %Auld %c");
    cop_packet_free(packet);
}

/* Read every value of `packet`. Returns 0 or the error. */
static int read_all(const struct cop_packet *packet)
{
    struct cop_value value;
    int count = cop_packet_value_count(packet);
    uint64_t sum = 0; /* so that every byte is read */

    if (count < 0) {
        CU_ASSERT_PTR_NULL(cop_packet_format(packet));
        return count;
    }
    CU_ASSERT(count <= COP_VALUES_MAX);
    CU_ASSERT_PTR_NOT_NULL(cop_packet_format(packet));
    for (int i = 0; i < count; i++) {
        CU_ASSERT_EQUAL_FATAL(cop_packet_value(packet, (size_t)i, &value), 0);
        if (value.shape == COP_SCALAR)
            CU_ASSERT_EQUAL(value.count, 1);
        for (uint64_t k = 0; k < value.count; k++) {
            if (value.type == COP_STRING)
                sum += strlen(((const char *const *)value.data)[k]);
            else
                sum += ((const unsigned char *)value.data)[k];
        }
    }
    return sum == UINT64_MAX;
}

static uint32_t roll(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* A copy of `payload` with some bytes changed, and sometimes cut. */
static struct payload *mutate(const struct payload *payload, uint32_t *seed)
{
    struct payload *copy;
    uint32_t len = payload->len;
    uint32_t changes = 1 + roll(seed) % 3;
    uint32_t head = len < 64 ? len : 64;

    if (roll(seed) % 8 == 0)
        len = roll(seed) % len;
    CHECK_OK(payload_new(&copy, len));
    memcpy(copy->bytes, payload->bytes, len);
    while (changes-- > 0 && len > 0) {
        uint32_t at = roll(seed) % (roll(seed) % 2 ? len : head) % len;

        if (roll(seed) % 2)
            copy->bytes[at] ^= (unsigned char)(1u << roll(seed) % 8);
        else
            copy->bytes[at] = (unsigned char)roll(seed);
    }
    return copy;
}

/* Thousands of damaged images: each is refused, or has readable values. Nothing
 * crashes, or reads out of bounds (under a sanitizer). */
TEST(damaged_images_do_no_harm)
{
    struct cop_packet *sources[2] = {travel(make_rich()), travel(make_rich())};
    struct cop_packet *packet;
    struct payload *payload;
    uint32_t refused = 0;
    int r;

    make_foreign(packet_frame(sources[1])->payload);
    for (uint32_t seed = 1; seed <= MUTATIONS; seed++) {
        uint32_t dice = seed;

        payload = mutate(packet_frame(sources[seed % 2])->payload, &dice);
        CHECK_OK(packet_open(&packet, payload));
        payload_free(payload);
        r = read_all(packet);
        if (r != 0 && r != -EBADMSG)
            printf("\nseed %u: %d\n", seed, r);
        CU_ASSERT(r == 0 || r == -EBADMSG);
        refused += r == -EBADMSG;
        cop_packet_free(packet);
    }
    CU_ASSERT(refused > MUTATIONS / 4);
    CU_ASSERT(refused < MUTATIONS);
    cop_packet_free(sources[0]);
    cop_packet_free(sources[1]);
}

/* Every shorter image is refused, wherever it is cut. */
TEST(cut_images_are_refused)
{
    struct cop_packet *whole = travel(make_rich());
    const struct payload *payload = packet_frame(whole)->payload;
    struct cop_packet *packet;
    struct payload *part;

    CU_ASSERT(is_rich(whole));
    for (uint32_t len = 0; len < payload->len; len++) {
        CHECK_OK(payload_new(&part, len));
        memcpy(part->bytes, payload->bytes, len);
        CHECK_OK(packet_open(&packet, part));
        payload_free(part);
        CHECK_IS(read_all(packet), -EBADMSG);
        CHECK_IS(cop_packet_unpack(packet, "%d", NULL), -EBADMSG);
        cop_packet_free(packet);
    }
    cop_packet_free(whole);
}

/* If an image's counts claim more than its bytes, nothing is allocated. */
TEST(absurd_counts_are_refused)
{
    static const uint32_t absurd[] = {0,          4,          0x7fffffff,
                                      0x80000000, 0xffffffff, 0x20000001};
    static const int32_t numbers[] = {1, 2, 3};
    struct cop_packet *packet;
    unsigned char *count_at;

    for (size_t i = 0; i < sizeof(absurd) / sizeof(absurd[0]); i++) {
        CHECK_OK(cop_packet_new(&packet, 0, "%ad", numbers, 3u));
        packet = travel(packet);
        count_at = packet_frame(packet)->payload->bytes + 8 + 5 + 4;
        CU_ASSERT_EQUAL(*count_at, 3);
        memcpy(count_at, &absurd[i], 4);
        CHECK_IS(read_all(packet), -EBADMSG);
        cop_packet_free(packet);
    }
}

/* More signatures than a thread keeps plans for: all still work. */
TEST(many_formats_take_turns)
{
    struct cop_packet *packets[32];
    char format[3 * 32 + 1];

    for (int round = 0; round < 3; round++) {
        format[0] = '\0';
        for (int i = 0; i < 32; i++) {
            strcat(format, i % 3 ? "%d " : "%c ");
            CHECK_OK(cop_packet_new(&packets[i], i, format, 1, 2, 3, 4, 5, 6, 7,
                                    8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
                                    19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
                                    30, 31, 32));
        }
        for (int i = 31; i >= 0; i--) {
            struct cop_value value;

            packets[i] = travel(packets[i]);
            CHECK_IS(cop_packet_value_count(packets[i]), i + 1);
            CHECK_OK(cop_packet_value(packets[i], (size_t)i, &value));
            CU_ASSERT_EQUAL(*(const unsigned char *)value.data, i + 1);
            cop_packet_free(packets[i]);
        }
    }
}

static void *unpack_once(void *arg)
{
    return is_rich(arg) ? arg : NULL;
}

/* Two threads may be the first to read a packet; both see its values. */
TEST(threads_read_the_same_packet)
{
    pthread_t threads[2];
    void *result;

    for (int round = 0; round < 200; round++) {
        struct cop_packet *packet = travel(make_rich());

        if (round % 2)
            make_foreign(packet_frame(packet)->payload);
        for (int i = 0; i < 2; i++)
            CU_ASSERT_EQUAL_FATAL(
                pthread_create(&threads[i], NULL, unpack_once, packet), 0);
        for (int i = 0; i < 2; i++) {
            pthread_join(threads[i], &result);
            CU_ASSERT_PTR_EQUAL(result, packet);
        }
        cop_packet_free(packet);
    }
}
