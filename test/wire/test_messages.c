/* test_messages.c - every message is read as it was written. */
#include "wire/messages.h"

#include <errno.h>

#include "test/check.h"

#define SEEDS 20

static uint64_t roll(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 32 | *seed << 32;
}

/* Each member has a different value; a bounded one its minimum or maximum. */
#define FILL(type, member, field) in.member = (type)roll(&seed);
#define FILL_BOUNDED(type, member, field, least, most)                         \
    in.member = roll(&seed) & 1 ? (most) : (least);
#define MAKE(name, number, members)                                            \
    static struct msg_##name make_##name(uint64_t seed)                        \
    {                                                                          \
        struct msg_##name in;                                                  \
                                                                               \
        members return in;                                                     \
    }
MESSAGES(MAKE, FILL, FILL_BOUNDED)

/* Check the members that were read; values beyond a bound are refused. */
#define SAME(type, member, field) CU_ASSERT(out.member == in.member);
#define SAME_BOUNDED(type, member, field, least, most)                         \
    SAME(type, member, field)                                                  \
    bad = frame;                                                               \
    bad.field = (__typeof__(bad.field))((uint64_t)(most) + 1);                 \
    CHECK_IS(decode(&bad, &out), -EPROTO);                                     \
    bad.field = (least);                                                       \
    bad.field--;                                                               \
    CHECK_IS(decode(&bad, &out), -EPROTO);
#define TRIP(name, number, members)                                            \
    TEST(name##_is_read_as_written)                                            \
    {                                                                          \
        int (*decode)(const struct frame *, struct msg_##name *) =             \
            msg_##name##_decode;                                               \
        uint64_t seed;                                                         \
                                                                               \
        for (seed = 0; seed < SEEDS; seed++) {                                 \
            struct msg_##name in = make_##name(seed), out;                     \
            struct frame frame = msg_##name##_encode(&in), bad;                \
                                                                               \
            (void)bad;                                                         \
            CU_ASSERT_EQUAL(frame.type, (number));                             \
            CHECK_OK(decode(&frame, &out));                                    \
            members                                                            \
        }                                                                      \
    }
MESSAGES(TRIP, SAME, SAME_BOUNDED)
