/* concat.c - numbers and strings become arrays, arrays become longer ones.
 *
 * Value by value: "%d %as" becomes "%ad %as". The order is that of the inlets
 * in the wave, by rank, so the values of one subtree stay together. */
#include "filters/rows.h"

/* The number of values in packet `index`. Fails if the packet cannot be read,
 * or has not `expected` values (negative: any number). */
static int value_count(struct cop_filter_call *call, size_t index, int expected)
{
    const struct cop_packet *packet = cop_filter_packet(call, index);
    int count = cop_packet_value_count(packet);

    if (count < 0)
        return cop_filter_fail(call,
                               "the packet from rank %u cannot be read: %s",
                               cop_filter_inlet(call, index), strerror(-count));
    if (expected >= 0 && count != expected)
        return cop_filter_fail(call,
                               "the packet from rank %u has %d values, that "
                               "from rank %u has %d: all must have the same "
                               "number",
                               cop_filter_inlet(call, index), count,
                               cop_filter_inlet(call, 0), expected);
    return count;
}

/* Set type, shape and length of the array of value `v` of all packets. */
static int measure_value(struct cop_filter_call *call,
                         size_t v,
                         struct cop_value *out)
{
    struct cop_value value;
    int r;

    for (size_t i = 0; i < cop_filter_packet_count(call); i++) {
        r = cop_packet_value(cop_filter_packet(call, i), v, &value);
        if (r < 0)
            return r;
        if (i == 0)
            *out = (struct cop_value){.type = value.type, .shape = COP_ARRAY};
        if (value.type != out->type)
            return cop_filter_fail(
                call,
                "value %zu has another type in the packet from rank %u "
                "(\"%s\") than in that from rank %u (\"%s\")",
                v + 1, cop_filter_inlet(call, i),
                cop_packet_format(cop_filter_packet(call, i)),
                cop_filter_inlet(call, 0),
                cop_packet_format(cop_filter_packet(call, 0)));
        if (value.shape == COP_ARRAY64)
            out->shape = COP_ARRAY64;
        out->count += value.count;
    }
    return 0;
}

/* Copy value `v` of all packets into new memory, one after the other. */
static int gather_value(struct cop_filter_call *call,
                        size_t v,
                        struct cop_value *out)
{
    size_t len = rows_len(out->type);
    struct cop_value value;
    unsigned char *at;
    int r;

    if (out->count == 0)
        return 0;
    if (out->count > COP_PACKET_MAX)
        return -EMSGSIZE;
    at = malloc(out->count * len);
    if (!at)
        return -ENOMEM;
    out->data = at;
    for (size_t i = 0; i < cop_filter_packet_count(call); i++) {
        r = cop_packet_value(cop_filter_packet(call, i), v, &value);
        if (r < 0)
            return r;
        if (value.count > 0)
            memcpy(at, value.data, value.count * len);
        at += value.count * len;
    }
    return 0;
}

static int concatenate(struct cop_filter_call *call,
                       struct cop_value *values,
                       int *count)
{
    int r;

    for (size_t i = 0; i < cop_filter_packet_count(call); i++) {
        r = value_count(call, i, i == 0 ? -1 : *count);
        if (r < 0)
            return r;
        *count = r;
    }
    for (size_t i = 0; i < (size_t)*count; i++) {
        r = measure_value(call, i, &values[i]);
        if (r < 0)
            return r;
        r = gather_value(call, i, &values[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

static int concat_filter(void *state, struct cop_filter_call *call)
{
    struct cop_value values[COP_VALUES_MAX] = {{.data = NULL}};
    struct cop_packet *packet;
    int count = 0;
    int i;
    int r;

    (void)state;
    if (!cop_filter_is_upward(call) || cop_filter_packet_count(call) == 0)
        return numeric_pass_on(call);
    r = concatenate(call, values, &count);
    if (r < 0)
        goto out;
    r = cop_packet_new_values(&packet,
                              cop_packet_tag(cop_filter_packet(call, 0)),
                              values, (size_t)count);
    if (r < 0)
        goto out;
    r = cop_filter_emit(call, packet);
out:
    for (i = 0; i < COP_VALUES_MAX; i++)
        free((void *)values[i].data);
    return r;
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "concat",
    .summary = "all values, one behind the other, as arrays",
    .laws = COP_ASSOCIATIVE | COP_STATELESS | COP_ONE_TO_ONE,
    .filter = concat_filter,
};

COP_FILTER_EXPORT(filter);
