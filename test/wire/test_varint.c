/* test_varint.c - numbers of few bytes are read; other forms are refused. */
#include "wire/varint.h"

#include <errno.h>

#include "test/check.h"

/* A number is read as it was written, from the same number of bytes. */
TEST(a_number_comes_back)
{
    const uint64_t edges[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX};
    unsigned char bytes[VARINT_MAX + 1];

    for (unsigned i = 0; i < 64 + sizeof(edges) / sizeof(*edges); i++) {
        uint64_t value = i < 64 ? UINT64_MAX >> i : edges[i - 64];
        const unsigned char *at = bytes;
        unsigned len = varint_write(bytes, value);
        uint64_t back;

        CU_ASSERT(len >= 1 && len <= VARINT_MAX);
        CHECK_OK(varint_read(&at, bytes + len, &back));
        CU_ASSERT_EQUAL(back, value);
        CU_ASSERT_PTR_EQUAL(at, bytes + len);
        at = bytes;
        CHECK_IS(varint_read(&at, bytes + len - 1, &back), -EBADMSG);
        CU_ASSERT_PTR_EQUAL(at, bytes);
    }
}

/* Small numbers of both signs take one byte. */
TEST(signs_are_folded)
{
    const int64_t values[] = {0, -1, 1, -63, 63, INT64_MIN, INT64_MAX};

    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        CU_ASSERT_EQUAL(varint_unfold(varint_fold(values[i])), values[i]);
    CU_ASSERT_EQUAL(varint_fold(-63), 125);
}

/* A form that is too long, or not the shortest, is refused. */
TEST(other_forms_are_refused)
{
    static const unsigned char long_zero[] = {0x80, 0};
    static const unsigned char too_long[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                             0xff, 0xff, 0xff, 0xff, 1};
    static const unsigned char too_large[] = {0xff, 0xff, 0xff, 0xff, 0xff,
                                              0xff, 0xff, 0xff, 0xff, 2};
    const unsigned char *at = long_zero;
    uint64_t value = 7;

    CHECK_IS(varint_read(&at, at + sizeof(long_zero), &value), -EBADMSG);
    at = too_long;
    CHECK_IS(varint_read(&at, at + sizeof(too_long), &value), -EBADMSG);
    at = too_large;
    CHECK_IS(varint_read(&at, at + sizeof(too_large), &value), -EBADMSG);
    CU_ASSERT_EQUAL(value, 7);
}
