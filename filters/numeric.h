/* numeric.h - what the filters for numbers share: numbers of every type, alone
 * or in arrays, combined value by value and element by element. */
#pragma once

#include <coppice/filter.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Memory for the result of a wave, reused so that a stream of large arrays does
 * not allocate in each wave. */
struct numeric_room {
    unsigned char *bytes;
    size_t len;
};

enum numeric_op {
    NUMERIC_SUM, /* integers wrap around, so that any grouping agrees */
    NUMERIC_MIN, /* any number wins against NaN */
    NUMERIC_MAX,
};

/* A number of any type, in 64 bits. */
union numeric_wide {
    int64_t i;
    uint64_t u;
    double f;
};

/* Which of them holds `type`: COP_INT64, COP_UINT64 or COP_DOUBLE. */
static inline enum cop_type numeric_wide_type(enum cop_type type)
{
    switch (type) {
    case COP_CHAR:
    case COP_INT16:
    case COP_INT32:
    case COP_INT64:
        return COP_INT64;
    case COP_UCHAR:
    case COP_UINT16:
    case COP_UINT32:
    case COP_UINT64:
        return COP_UINT64;
    case COP_FLOAT:
    case COP_DOUBLE:
    case COP_STRING:
        break;
    }
    return COP_DOUBLE;
}

/* Number `i` of an array of `type`. */
static inline union numeric_wide numeric_element(enum cop_type type,
                                                 const void *data,
                                                 uint64_t i)
{
    switch (type) {
    case COP_CHAR:
        return (union numeric_wide){.i = ((const signed char *)data)[i]};
    case COP_UCHAR:
        return (union numeric_wide){.u = ((const unsigned char *)data)[i]};
    case COP_INT16:
        return (union numeric_wide){.i = ((const int16_t *)data)[i]};
    case COP_UINT16:
        return (union numeric_wide){.u = ((const uint16_t *)data)[i]};
    case COP_INT32:
        return (union numeric_wide){.i = ((const int32_t *)data)[i]};
    case COP_UINT32:
        return (union numeric_wide){.u = ((const uint32_t *)data)[i]};
    case COP_INT64:
        return (union numeric_wide){.i = ((const int64_t *)data)[i]};
    case COP_UINT64:
        return (union numeric_wide){.u = ((const uint64_t *)data)[i]};
    case COP_FLOAT:
        return (union numeric_wide){.f = ((const float *)data)[i]};
    case COP_DOUBLE:
        return (union numeric_wide){.f = ((const double *)data)[i]};
    case COP_STRING:
        break;
    }
    return (union numeric_wide){.u = 0};
}

/* Write number `i` of an array of `type`. */
static inline void numeric_write(enum cop_type type,
                                 void *data,
                                 uint64_t i,
                                 union numeric_wide from)
{
    switch (type) {
    case COP_CHAR:
        ((signed char *)data)[i] = (signed char)from.i;
        break;
    case COP_UCHAR:
        ((unsigned char *)data)[i] = (unsigned char)from.u;
        break;
    case COP_INT16:
        ((int16_t *)data)[i] = (int16_t)from.i;
        break;
    case COP_UINT16:
        ((uint16_t *)data)[i] = (uint16_t)from.u;
        break;
    case COP_INT32:
        ((int32_t *)data)[i] = (int32_t)from.i;
        break;
    case COP_UINT32:
        ((uint32_t *)data)[i] = (uint32_t)from.u;
        break;
    case COP_FLOAT:
        ((float *)data)[i] = (float)from.f;
        break;
    case COP_INT64:
    case COP_UINT64:
    case COP_DOUBLE:
        ((union numeric_wide *)data)[i] = from;
        break;
    case COP_STRING:
        break;
    }
}

/* Add `more` to `sum`, both of `wide` type; false if the sum does not fit. */
static inline bool numeric_add(enum cop_type wide,
                               union numeric_wide *sum,
                               union numeric_wide more)
{
    if (wide == COP_INT64)
        return !__builtin_add_overflow(sum->i, more.i, &sum->i);
    if (wide == COP_UINT64)
        return !__builtin_add_overflow(sum->u, more.u, &sum->u);
    sum->f += more.f;
    return true;
}

/* Divide a sum; integers towards zero. */
static inline union numeric_wide numeric_divide(enum cop_type wide,
                                                union numeric_wide sum,
                                                uint64_t by)
{
    if (wide == COP_INT64)
        sum.i /= (int64_t)by;
    else if (wide == COP_UINT64)
        sum.u /= by;
    else
        sum.f /= (double)by;
    return sum;
}

/* Bytes of one element of `type`; 0 for a string. */
static inline size_t numeric_len(enum cop_type type)
{
    switch (type) {
    case COP_CHAR:
    case COP_UCHAR:
        return 1;
    case COP_INT16:
    case COP_UINT16:
        return 2;
    case COP_INT32:
    case COP_UINT32:
    case COP_FLOAT:
        return 4;
    case COP_INT64:
    case COP_UINT64:
    case COP_DOUBLE:
        return 8;
    case COP_STRING:
        return 0;
    }
    return 0;
}

/* Combine `count` elements: each element of `into` becomes CHOOSE, an
 * expression of its old value `a` and the element `b` of `from`. */
#define NUMERIC_LOOP(T, CHOOSE)                                                \
    do {                                                                       \
        T *restrict to = into;                                                 \
        const T *restrict other = from;                                        \
        for (uint64_t i = 0; i < count; i++) {                                 \
            T a = to[i];                                                       \
            T b = other[i];                                                    \
            to[i] = (T)(CHOOSE);                                               \
        }                                                                      \
    } while (0)

/* The case of a switch over `type`. */
#define NUMERIC_CASE(TYPE, T, CHOOSE)                                          \
    case TYPE:                                                                 \
        NUMERIC_LOOP(T, CHOOSE);                                               \
        break

static inline void numeric_sum(enum cop_type type,
                               void *into,
                               const void *from,
                               uint64_t count)
{
    switch (type) {
    case COP_CHAR:
        NUMERIC_CASE(COP_UCHAR, uint8_t, a + b);
    case COP_INT16:
        NUMERIC_CASE(COP_UINT16, uint16_t, a + b);
    case COP_INT32:
        NUMERIC_CASE(COP_UINT32, uint32_t, a + b);
    case COP_INT64:
        NUMERIC_CASE(COP_UINT64, uint64_t, a + b);
        NUMERIC_CASE(COP_FLOAT, float, a + b);
        NUMERIC_CASE(COP_DOUBLE, double, a + b);
    case COP_STRING:
        break;
    }
}

/* One extreme for all types; BETTER compares `b` with `a`. */
#define NUMERIC_EXTREME(BETTER)                                                \
    switch (type) {                                                            \
        NUMERIC_CASE(COP_CHAR, signed char, b BETTER a ? b : a);               \
        NUMERIC_CASE(COP_UCHAR, unsigned char, b BETTER a ? b : a);            \
        NUMERIC_CASE(COP_INT16, int16_t, b BETTER a ? b : a);                  \
        NUMERIC_CASE(COP_UINT16, uint16_t, b BETTER a ? b : a);                \
        NUMERIC_CASE(COP_INT32, int32_t, b BETTER a ? b : a);                  \
        NUMERIC_CASE(COP_UINT32, uint32_t, b BETTER a ? b : a);                \
        NUMERIC_CASE(COP_INT64, int64_t, b BETTER a ? b : a);                  \
        NUMERIC_CASE(COP_UINT64, uint64_t, b BETTER a ? b : a);                \
        NUMERIC_CASE(COP_FLOAT, float, b BETTER a || a != a ? b : a);          \
        NUMERIC_CASE(COP_DOUBLE, double, b BETTER a || a != a ? b : a);        \
    case COP_STRING:                                                           \
        break;                                                                 \
    }

/* Combine `count` elements of `from` with those of `into`. */
static inline void numeric_combine(enum numeric_op op,
                                   enum cop_type type,
                                   void *into,
                                   const void *from,
                                   uint64_t count)
{
    switch (op) {
    case NUMERIC_SUM:
        numeric_sum(type, into, from, count);
        break;
    case NUMERIC_MIN:
        NUMERIC_EXTREME(<)
        break;
    case NUMERIC_MAX:
        NUMERIC_EXTREME(>)
        break;
    }
}

/* Emit all packets of the call as they are. */
static inline int numeric_pass_on(struct cop_filter_call *call)
{
    size_t i;
    int r;

    for (i = 0; i < cop_filter_packet_count(call); i++) {
        r = cop_filter_emit(call, cop_packet_ref(cop_filter_packet(call, i)));
        if (r < 0)
            return r;
    }
    return 0;
}

/* Read the values of packet `index`, which must be numbers. Returns their
 * count, or what cop_filter_fail() returned. */
static inline int numeric_read(struct cop_filter_call *call,
                               size_t index,
                               struct cop_value values[COP_VALUES_MAX])
{
    const struct cop_packet *packet = cop_filter_packet(call, index);
    int count = cop_packet_value_count(packet);
    int i;

    if (count < 0)
        return cop_filter_fail(call,
                               "the packet from rank %u cannot be read: %s",
                               cop_filter_inlet(call, index), strerror(-count));
    for (i = 0; i < count; i++) {
        cop_packet_value(packet, (size_t)i, &values[i]);
        if (values[i].type == COP_STRING)
            return cop_filter_fail(call,
                                   "the packet from rank %u has the format "
                                   "\"%s\": this filter takes numbers only",
                                   cop_filter_inlet(call, index),
                                   cop_packet_format(packet));
    }
    return count;
}

/* Check that the values of packet `index` have the same count, types and
 * lengths as those of the first. Returns 0 or what cop_filter_fail()
 * returned. */
static inline int numeric_match(struct cop_filter_call *call,
                                size_t index,
                                const struct cop_value *values,
                                int count,
                                const struct cop_value *first,
                                int first_count)
{
    int i;

    for (i = 0; i < count && i < first_count; i++)
        if (values[i].type != first[i].type ||
            values[i].shape != first[i].shape)
            break;
    if (i < count || i < first_count)
        return cop_filter_fail(
            call,
            "the packet from rank %u has the format "
            "\"%s\", that from rank %u \"%s\": all must "
            "have the same",
            cop_filter_inlet(call, index),
            cop_packet_format(cop_filter_packet(call, index)),
            cop_filter_inlet(call, 0),
            cop_packet_format(cop_filter_packet(call, 0)));
    for (i = 0; i < count; i++)
        if (values[i].count != first[i].count)
            return cop_filter_fail(call,
                                   "value %d from rank %u has %llu elements, "
                                   "from rank %u %llu: all must have the same "
                                   "length",
                                   i + 1, cop_filter_inlet(call, index),
                                   (unsigned long long)values[i].count,
                                   cop_filter_inlet(call, 0),
                                   (unsigned long long)first[i].count);
    return 0;
}

/* Copy `values` to `room`, aligned to 8 bytes; `out` refers to the copies. */
static inline void numeric_copy(struct cop_value *out,
                                const struct cop_value *values,
                                int count,
                                unsigned char *room)
{
    size_t len;
    int i;

    for (i = 0; i < count; i++) {
        len = numeric_len(values[i].type) * values[i].count;
        out[i] = values[i];
        out[i].data = room;
        if (len > 0)
            memcpy(room, values[i].data, len);
        room += (len + 7) & ~(size_t)7;
    }
}

/* Combine all further packets of the wave into `out`, the copies of the first
 * packet's values. Returns 0 or what cop_filter_fail() returned. */
static inline int numeric_fold(enum numeric_op op,
                               struct cop_filter_call *call,
                               const struct cop_value *out,
                               int out_count)
{
    struct cop_value values[COP_VALUES_MAX];
    size_t packet;
    int count;
    int i;
    int r;

    for (packet = 1; packet < cop_filter_packet_count(call); packet++) {
        count = numeric_read(call, packet, values);
        if (count < 0)
            return count;
        r = numeric_match(call, packet, values, count, out, out_count);
        if (r < 0)
            return r;
        for (i = 0; i < count; i++)
            numeric_combine(op, values[i].type, (void *)out[i].data,
                            values[i].data, values[i].count);
    }
    return 0;
}

/* Make room for copies of `values`. Returns 0 or -ENOMEM. */
static inline int numeric_make_room(struct numeric_room *room,
                                    const struct cop_value *values,
                                    int count)
{
    size_t len = 8;
    void *bytes;
    int i;

    for (i = 0; i < count; i++)
        len += (numeric_len(values[i].type) * values[i].count + 7) & ~(size_t)7;
    if (len <= room->len)
        return 0;
    bytes = malloc(len);
    if (!bytes)
        return -ENOMEM;
    free(room->bytes);
    room->bytes = bytes;
    room->len = len;
    return 0;
}

/* A whole filter: all packets of a wave become one. Downwards, packets are
 * passed on as they are. */
static inline int numeric_filter(enum numeric_op op,
                                 struct numeric_room *room,
                                 struct cop_filter_call *call)
{
    struct cop_value first[COP_VALUES_MAX];
    struct cop_value out[COP_VALUES_MAX];
    struct cop_packet *packet;
    int count;
    int r;

    if (!cop_filter_is_upward(call) || cop_filter_packet_count(call) == 0)
        return numeric_pass_on(call);
    count = numeric_read(call, 0, first);
    if (count < 0)
        return count;
    r = numeric_make_room(room, first, count);
    if (r < 0)
        return r;
    numeric_copy(out, first, count, room->bytes);
    r = numeric_fold(op, call, out, count);
    if (r < 0)
        return r;
    r = cop_packet_new_values(&packet,
                              cop_packet_tag(cop_filter_packet(call, 0)), out,
                              (size_t)count);
    if (r < 0)
        return r;
    return cop_filter_emit(call, packet);
}
