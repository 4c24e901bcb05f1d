/* numeric_total.h - the join form of the filters for numbers: the state
 * combines any number of packets of one format, value by value and element by
 * element. Streams of totals use it; all others use the wave form. */
#pragma once

#include "filters/numeric.h"

/* The state of one filter, in either form. */
struct numeric_total {
    struct numeric_room wave; /* used by the wave form */
    struct numeric_room kept; /* the memory of `values` */
    char *format;             /* of the first packet; NULL: there was none */
    int32_t tag;              /* of the packet that was joined last */
    struct cop_value values[COP_VALUES_MAX];
    int count;
};

/* The filter's `init` and `free`. */
static inline int numeric_total_init(void **state, struct cop_filter_call *call)
{
    (void)call;
    *state = calloc(1, sizeof(struct numeric_total));
    return *state ? 0 : -ENOMEM;
}

static inline void numeric_total_free(void *state)
{
    struct numeric_total *total = state;

    if (!total)
        return;
    free(total->wave.bytes);
    free(total->kept.bytes);
    free(total->format);
    free(total);
}

/* Read the values of `packet`, which must be numbers. Returns their count, or
 * what cop_filter_fail() returned. */
static inline int numeric_total_read(const struct cop_packet *packet,
                                     struct cop_filter_call *call,
                                     struct cop_value values[COP_VALUES_MAX])
{
    int count = cop_packet_value_count(packet);
    int i;

    if (count < 0)
        return cop_filter_fail(call, "a packet cannot be read: %s",
                               strerror(-count));
    for (i = 0; i < count; i++) {
        cop_packet_value(packet, (size_t)i, &values[i]);
        if (values[i].type == COP_STRING)
            return cop_filter_fail(call,
                                   "a packet has the format \"%s\": this "
                                   "filter takes numbers only",
                                   cop_packet_format(packet));
    }
    return count;
}

/* Start with copies of `values`. Returns 0 or -ENOMEM. */
static inline int numeric_total_begin(struct numeric_total *total,
                                      const struct cop_value *values,
                                      int count,
                                      const char *format)
{
    char *copy;

    if (numeric_make_room(&total->kept, values, count) < 0)
        return -ENOMEM;
    copy = strdup(format);
    if (!copy)
        return -ENOMEM;
    numeric_copy(total->values, values, count, total->kept.bytes);
    total->count = count;
    total->format = copy;
    return 0;
}

/* Check that `packet` has the format and lengths of the earlier packets.
 * Returns 0 or what cop_filter_fail() returned. */
static inline int numeric_total_match(const struct numeric_total *total,
                                      const struct cop_packet *packet,
                                      const struct cop_value *values,
                                      struct cop_filter_call *call)
{
    const char *format = cop_packet_format(packet);
    int i;

    if (strcmp(format, total->format) != 0)
        return cop_filter_fail(call,
                               "a packet has the format \"%s\", the total so "
                               "far \"%s\": all must have the same",
                               format, total->format);
    for (i = 0; i < total->count; i++)
        if (values[i].count != total->values[i].count)
            return cop_filter_fail(
                call,
                "value %d of a packet has %llu elements, that of the total so "
                "far %llu: all must have the same length",
                i + 1, (unsigned long long)values[i].count,
                (unsigned long long)total->values[i].count);
    return 0;
}

/* A filter's `join`. */
static inline int numeric_total_join(enum numeric_op op,
                                     struct numeric_total *total,
                                     const struct cop_packet *packet,
                                     struct cop_filter_call *call)
{
    struct cop_value values[COP_VALUES_MAX];
    int count = numeric_total_read(packet, call, values);
    int i;
    int r;

    if (count < 0)
        return count;
    if (!total->format) {
        r = numeric_total_begin(total, values, count,
                                cop_packet_format(packet));
        if (r < 0)
            return r;
    } else {
        r = numeric_total_match(total, packet, values, call);
        if (r < 0)
            return r;
        for (i = 0; i < count; i++)
            numeric_combine(op, values[i].type, (void *)total->values[i].data,
                            values[i].data, values[i].count);
    }
    total->tag = cop_packet_tag(packet);
    return 0;
}

/* The filter's `pack`. */
static inline int numeric_total_pack(const void *state, struct cop_packet **out)
{
    const struct numeric_total *total = state;

    if (!total->format)
        return 0;
    return cop_packet_new_values(out, total->tag, total->values,
                                 (size_t)total->count);
}

/* The functions of the filter `name` for `op`. */
#define NUMERIC_FILTER(name, op)                                               \
    static int name##_filter(void *state, struct cop_filter_call *call)        \
    {                                                                          \
        struct numeric_total *total = state;                                   \
                                                                               \
        return numeric_filter(op, &total->wave, call);                         \
    }                                                                          \
                                                                               \
    static int name##_join(void *state, const struct cop_packet *packet,       \
                           struct cop_filter_call *call)                       \
    {                                                                          \
        return numeric_total_join(op, state, packet, call);                    \
    }
