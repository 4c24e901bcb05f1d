/* avg.c - the average over back-ends, right in any tree.
 *
 * An average of averages is wrong where fan-outs differ. So this filter sends
 * up sums and the number of back-ends, and the front-end divides. Its packets
 * are |mark and original types "%auc"|a sum for each value|count "%uld"|. Any
 * other packet is from one back-end. Integers are summed in 64 bits and divided
 * towards zero.
 *
 * The join form gives the average over all packets that were sent. */
#include "filters/numeric_total.h"

/* The highest number of values in a packet that can be averaged. */
#define AVG_VALUES (COP_VALUES_MAX - 2)

static const unsigned char mark[] = {'a', 'v', 'g', 1};

/* Sums over the packets of a wave, or over all that were joined. */
struct sums {
    int value_count; /* -1: nothing was added yet */
    enum cop_type types[AVG_VALUES];
    struct cop_value values[AVG_VALUES]; /* of union numeric_wide */
    uint64_t backends;
    int32_t tag;  /* join form: of the packet that was joined last */
    bool divides; /* join form: to be packed for the application */
};

static void sums_fini(struct sums *sums)
{
    for (int i = 0; i < sums->value_count; i++)
        free((void *)sums->values[i].data);
}

/* A packet as read: values, original types, how many back-ends are in it. */
struct reading {
    struct cop_value *values; /* without the mark and the count around them */
    int count;
    enum cop_type types[AVG_VALUES];
    uint64_t backends;
};

/* Read a packet of sums_pack(); false if it is another one, or damaged. */
static bool read_sums(struct reading *out,
                      struct cop_value values[COP_VALUES_MAX],
                      int count)
{
    const unsigned char *head;

    if (count < 2 || values[0].type != COP_UCHAR ||
        values[0].shape != COP_ARRAY ||
        values[0].count != sizeof(mark) + (uint64_t)count - 2 ||
        memcmp(values[0].data, mark, sizeof(mark)) != 0 ||
        values[count - 1].type != COP_UINT64 ||
        values[count - 1].shape != COP_SCALAR)
        return false;
    head = values[0].data;
    out->values = values + 1;
    out->count = count - 2;
    out->backends = *(const uint64_t *)values[count - 1].data;
    for (uint64_t i = 0; i < (uint64_t)out->count; i++) {
        out->types[i] = (enum cop_type)head[sizeof(mark) + i];
        if (out->types[i] >= COP_STRING ||
            out->values[i].type != numeric_wide_type(out->types[i]))
            return false;
    }
    return out->backends > 0 && out->backends <= INT64_MAX;
}

/* Read the packet of one back-end. */
static void read_numbers(struct reading *out,
                         struct cop_value values[COP_VALUES_MAX],
                         int count)
{
    *out = (struct reading){.values = values, .count = count, .backends = 1};
    for (int i = 0; i < count; i++)
        out->types[i] = values[i].type;
}

static int read_packet(struct cop_filter_call *call,
                       size_t index,
                       struct cop_value values[COP_VALUES_MAX],
                       struct reading *out)
{
    int count = numeric_read(call, index, values);

    if (count < 0)
        return count;
    if (read_sums(out, values, count))
        return 0;
    if (count > AVG_VALUES)
        return cop_filter_fail(call,
                               "the packet from rank %u has %d values: at most "
                               "%d can be averaged",
                               cop_filter_inlet(call, index), count,
                               AVG_VALUES);
    read_numbers(out, values, count);
    return 0;
}

/* Begin with zeros for as many values as `reading` has. */
static int sums_begin(struct sums *sums, const struct reading *reading)
{
    uint64_t count;
    void *data;

    sums->value_count = 0;
    for (int i = 0; i < reading->count; i++) {
        count = reading->values[i].count;
        data = calloc(count ? count : 1, sizeof(union numeric_wide));
        if (!data)
            return -ENOMEM;
        sums->types[i] = reading->types[i];
        sums->values[i] = (struct cop_value){
            .type = numeric_wide_type(reading->types[i]),
            .shape = reading->values[i].shape,
            .count = count,
            .data = data,
        };
        sums->value_count++;
    }
    return 0;
}

static bool is_same_format(const struct sums *sums,
                           const struct reading *reading)
{
    for (int i = 0; i < sums->value_count && i < reading->count; i++)
        if (sums->types[i] != reading->types[i] ||
            sums->values[i].shape != reading->values[i].shape ||
            sums->values[i].count != reading->values[i].count)
            return false;
    return sums->value_count == reading->count;
}

/* Add `reading`, or, if `dry`, only see whether all sums fit. Returns whether they
 * do; if not, some may have been added. */
static bool sums_add(struct sums *sums, const struct reading *reading, bool dry)
{
    if (reading->backends > INT64_MAX - sums->backends)
        return false; /* sums are divided by it */
    for (int v = 0; v < sums->value_count; v++) {
        const struct cop_value *value = &reading->values[v];
        union numeric_wide *data = (union numeric_wide *)sums->values[v].data;

        for (uint64_t i = 0; i < value->count; i++) {
            union numeric_wide sum = data[i];

            if (!numeric_add(sums->values[v].type, &sum,
                             numeric_element(value->type, value->data, i)))
                return false;
            if (!dry)
                data[i] = sum;
        }
    }
    if (!dry)
        sums->backends += reading->backends;
    return true;
}

static int sums_take(struct sums *sums,
                     struct cop_filter_call *call,
                     size_t index)
{
    struct cop_value values[COP_VALUES_MAX];
    struct reading reading = {.count = 0};
    int r;

    r = read_packet(call, index, values, &reading);
    if (r < 0)
        return r;
    if (sums->value_count < 0) {
        r = sums_begin(sums, &reading);
        if (r < 0)
            return r;
    }
    if (!is_same_format(sums, &reading))
        return cop_filter_fail(call,
                               "the values of the packet from rank %u differ "
                               "from those of rank %u: all must have the same "
                               "format and lengths",
                               cop_filter_inlet(call, index),
                               cop_filter_inlet(call, 0));
    if (!sums_add(sums, &reading, false))
        return cop_filter_fail(call,
                               "the sum with the packet from rank %u does not "
                               "fit in 64 bits",
                               cop_filter_inlet(call, index));
    return 0;
}

/* Make a packet of the mark and types, the sums, and the count. */
static int sums_pack(const struct sums *sums,
                     int32_t tag,
                     struct cop_packet **out)
{
    unsigned char head[sizeof(mark) + AVG_VALUES];
    struct cop_value values[COP_VALUES_MAX];
    int count = sums->value_count;

    memcpy(head, mark, sizeof(mark));
    for (int i = 0; i < count; i++) {
        head[sizeof(mark) + (size_t)i] = (unsigned char)sums->types[i];
        values[i + 1] = sums->values[i];
    }
    values[0] = (struct cop_value){COP_UCHAR, COP_ARRAY,
                                   sizeof(mark) + (uint64_t)count, head};
    values[count + 1] =
        (struct cop_value){COP_UINT64, COP_SCALAR, 1, &sums->backends};
    return cop_packet_new_values(out, tag, values, (size_t)count + 2);
}

/* Divide the sums in place, and give them their original types. */
static int sums_divide(struct sums *sums, int32_t tag, struct cop_packet **out)
{
    for (int v = 0; v < sums->value_count; v++) {
        union numeric_wide *data = (union numeric_wide *)sums->values[v].data;
        enum cop_type wide = sums->values[v].type;

        /* No original type is wider, so no sum is overwritten unread. */
        for (uint64_t i = 0; i < sums->values[v].count; i++)
            numeric_write(sums->types[v], data, i,
                          numeric_divide(wide, data[i], sums->backends));
        sums->values[v].type = sums->types[v];
    }
    return cop_packet_new_values(out, tag, sums->values,
                                 (size_t)sums->value_count);
}

static int avg_filter(void *state, struct cop_filter_call *call)
{
    struct sums sums = {.value_count = -1};
    struct cop_packet *packet;
    int32_t tag;
    int r = 0;

    (void)state;
    if (!cop_filter_is_upward(call) || cop_filter_packet_count(call) == 0)
        return numeric_pass_on(call);
    tag = cop_packet_tag(cop_filter_packet(call, 0));
    for (size_t i = 0; i < cop_filter_packet_count(call) && r >= 0; i++)
        r = sums_take(&sums, call, i);
    if (r < 0)
        goto out;
    if (cop_filter_is_root(call))
        r = sums_divide(&sums, tag, &packet);
    else
        r = sums_pack(&sums, tag, &packet);
    if (r < 0)
        goto out;
    r = cop_filter_emit(call, packet);
out:
    sums_fini(&sums);
    return r;
}

/* ---- the join form ---- */

static int avg_init(void **state, struct cop_filter_call *call)
{
    struct sums *sums = calloc(1, sizeof(*sums));

    if (!sums)
        return -ENOMEM;
    sums->value_count = -1;
    sums->divides = cop_filter_is_root(call);
    *state = sums;
    return 0;
}

static void avg_free(void *state)
{
    if (state)
        sums_fini(state);
    free(state);
}

static int avg_read(const struct cop_packet *packet,
                    struct cop_filter_call *call,
                    struct cop_value values[COP_VALUES_MAX],
                    struct reading *out)
{
    int count = numeric_total_read(packet, call, values);

    if (count < 0)
        return count;
    if (!cop_filter_is_leaf(call) && read_sums(out, values, count))
        return 0;
    if (count > AVG_VALUES)
        return cop_filter_fail(call,
                               "a packet has %d values: at most %d can be "
                               "averaged",
                               count, AVG_VALUES);
    read_numbers(out, values, count);
    return 0;
}

static int avg_join(void *state,
                    const struct cop_packet *packet,
                    struct cop_filter_call *call)
{
    struct cop_value values[COP_VALUES_MAX];
    struct reading reading = {.count = 0};
    struct sums *sums = state;
    int r;

    r = avg_read(packet, call, values, &reading);
    if (r < 0)
        return r;
    if (sums->value_count < 0) {
        r = sums_begin(sums, &reading);
        if (r < 0) {
            sums_fini(sums);
            sums->value_count = -1;
            return r;
        }
    }
    if (!is_same_format(sums, &reading))
        return cop_filter_fail(call,
                               "the values of a packet (\"%s\") differ from "
                               "the total so far: all must have the same "
                               "format and lengths",
                               cop_packet_format(packet));
    if (!sums_add(sums, &reading, true))
        return cop_filter_fail(call, "the sum of all packets does not fit in "
                                     "64 bits");
    sums_add(sums, &reading, false);
    sums->tag = cop_packet_tag(packet);
    return 0;
}

/* Divide a copy: the sums stay unchanged. */
static int pack_average(const struct sums *sums, struct cop_packet **out)
{
    struct numeric_room room = {.len = 0};
    struct sums copy = *sums;
    int r = numeric_make_room(&room, sums->values, sums->value_count);

    if (r < 0)
        return r;
    numeric_copy(copy.values, sums->values, sums->value_count, room.bytes);
    r = sums_divide(&copy, sums->tag, out);
    free(room.bytes);
    return r;
}

static int avg_pack(const void *state, struct cop_packet **out)
{
    const struct sums *sums = state;

    if (sums->value_count < 0)
        return 0;
    return sums->divides ? pack_average(sums, out)
                         : sums_pack(sums, sums->tag, out);
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "avg",
    .summary = "average over back-ends, of arrays by element",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_STATELESS | COP_ONE_TO_ONE,
    .init = avg_init,
    .free = avg_free,
    .filter = avg_filter,
    .join = avg_join,
    .pack = avg_pack,
};

COP_FILTER_EXPORT(filter);
