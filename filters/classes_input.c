/* classes_input.c - see classes.h. */
#include "filters/classes.h"
#include "filters/rows.h"

const unsigned char classes_mark[CLASSES_MARK] = {'c', 'l', 's', 1};

static int fail_damaged(struct cop_filter_call *call,
                        const struct classes_input *input)
{
    return cop_filter_fail(call,
                           "the classes from rank %u (\"%s\") are damaged",
                           input->rank, cop_packet_format(input->packet));
}

/* Read the packet of a back-end: one class of one member. */
static int read_own(struct cop_filter_call *call,
                    struct classes_input *input,
                    const struct cop_value *values,
                    int count)
{
    int needed = CLASSES_OTHERS;

    input->column_count = count;
    input->class_count = 1;
    input->sizes = NULL;
    input->ranks = &input->rank;
    for (int i = 0; i < count; i++) {
        struct classes_column *column = &input->columns[i];

        *column =
            (struct classes_column){.type = values[i].type,
                                    .is_array = values[i].shape != COP_SCALAR,
                                    .data = values[i].data};
        needed += column->is_array ? 2 : 1;
        if (!column->is_array)
            continue;
        column->starts = calloc(2, sizeof(*column->starts));
        if (!column->starts)
            return -ENOMEM;
        column->starts[1] = values[i].count;
    }
    if (needed > COP_VALUES_MAX)
        return cop_filter_fail(call,
                               "the packet from rank %u has the format \"%s\": "
                               "that are too many values; an array counts "
                               "twice, and at most %d are possible",
                               input->rank, cop_packet_format(input->packet),
                               COP_VALUES_MAX - CLASSES_OTHERS);
    return 0;
}

/* A list of numbers, one for each class; NULL if `value` is none. */
static const uint32_t *read_list(const struct cop_value *value, uint64_t count)
{
    return value->type == COP_UINT32 && value->shape == COP_ARRAY &&
                   value->count == count
               ? value->data
               : NULL;
}

/* Read the column of an array, whose lengths are in the value behind it. */
static int read_lengths(struct cop_filter_call *call,
                        const struct classes_input *input,
                        struct classes_column *column,
                        const struct cop_value *value)
{
    const uint32_t *lengths = read_list(value + 1, input->class_count);
    uint64_t sum = 0;

    if (!lengths)
        return fail_damaged(call, input);
    column->starts =
        calloc((size_t)input->class_count + 1, sizeof(*column->starts));
    if (!column->starts)
        return -ENOMEM;
    for (uint32_t i = 0; i < input->class_count; i++) {
        sum += lengths[i];
        column->starts[i + 1] = sum;
    }
    return sum == value->count ? 0 : fail_damaged(call, input);
}

/* Read a packet of classes: behind its head, the columns, sizes and ranks. */
static int read_classes(struct cop_filter_call *call,
                        struct classes_input *input,
                        const struct cop_value *values,
                        int count)
{
    const unsigned char *arrays =
        (const unsigned char *)values[0].data + CLASSES_MARK;
    uint64_t members = 0;
    int at = 1, r = 0;

    if (count < CLASSES_OTHERS ||
        values[0].count > CLASSES_MARK + COP_VALUES_MAX - CLASSES_OTHERS ||
        values[count - 2].count > UINT32_MAX)
        return fail_damaged(call, input);
    input->column_count = (int)(values[0].count - CLASSES_MARK);
    input->class_count = (uint32_t)values[count - 2].count;
    input->sizes = read_list(&values[count - 2], input->class_count);
    input->ranks = read_list(&values[count - 1], values[count - 1].count);
    if (!input->sizes || !input->ranks)
        return fail_damaged(call, input);
    for (uint32_t i = 0; i < input->class_count; i++) {
        members += input->sizes[i];
        if (input->sizes[i] == 0)
            return fail_damaged(call, input);
    }
    if (members != values[count - 1].count)
        return fail_damaged(call, input);
    for (int i = 0; r == 0 && i < input->column_count; i++) {
        struct classes_column *column = &input->columns[i];

        if (at + (arrays[i] ? 2 : 1) > count - 2)
            return fail_damaged(call, input);
        *column = (struct classes_column){.type = values[at].type,
                                          .is_array = arrays[i] != 0,
                                          .data = values[at].data};
        if (values[at].shape != COP_ARRAY ||
            (!column->is_array && values[at].count != input->class_count))
            return fail_damaged(call, input);
        if (column->is_array)
            r = read_lengths(call, input, column, &values[at]);
        at += column->is_array ? 2 : 1;
    }
    return r == 0 && at != count - 2 ? fail_damaged(call, input) : r;
}

static bool has_head(const struct cop_value *values, int count)
{
    return count > 0 && values[0].type == COP_UCHAR &&
           values[0].shape == COP_ARRAY && values[0].count >= CLASSES_MARK &&
           memcmp(values[0].data, classes_mark, CLASSES_MARK) == 0;
}

int classes_input(struct cop_filter_call *call,
                  struct classes_input *input,
                  const struct cop_packet *packet,
                  uint32_t rank)
{
    struct cop_value values[COP_VALUES_MAX];
    int count = cop_packet_value_count(packet);

    input->rank = rank;
    input->packet = packet;
    if (count < 0)
        return cop_filter_fail(call,
                               "the packet from rank %u cannot be read: %s",
                               rank, strerror(-count));
    for (int i = 0; i < count; i++)
        cop_packet_value(packet, (size_t)i, &values[i]);
    return has_head(values, count) ? read_classes(call, input, values, count)
                                   : read_own(call, input, values, count);
}
