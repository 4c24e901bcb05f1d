/* messages.c - which field of a frame's header carries which value, by type. */
#include "wire/messages.h"

#include <assert.h>
#include <errno.h>

/* Whether a value of a header is in its range; a negative one never is. */
static bool is_within(uint64_t value, uint64_t least, uint64_t most)
{
    return least <= value && value <= most;
}

#define PUT(type, member, field)              frame.field = msg->member;
#define PUT_BOUNDED(type, member, field, ...) PUT(type, member, field)
#define ENCODE(name, number, members)                                          \
    struct frame msg_##name##_encode(const struct msg_##name *msg)             \
    {                                                                          \
        struct frame frame = {.type = (number)};                               \
                                                                               \
        members return frame;                                                  \
    }
MESSAGES(ENCODE, PUT, PUT_BOUNDED)

#define GET(type, member, field) msg.member = (type)frame->field;
#define GET_BOUNDED(type, member, field, least, most)                          \
    if (!is_within((uint64_t)frame->field, (least), (most)))                   \
        return -EPROTO;                                                        \
    GET(type, member, field)
#define DECODE(name, number, members)                                          \
    int msg_##name##_decode(const struct frame *frame, struct msg_##name *out) \
    {                                                                          \
        struct msg_##name msg;                                                 \
                                                                               \
        assert(frame->type == (number));                                       \
        members *out = msg;                                                    \
        return 0;                                                              \
    }
MESSAGES(DECODE, GET, GET_BOUNDED)
