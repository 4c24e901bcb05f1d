/* fields_input.c - see fields.h. */
#include "filters/fields.h"
#include "filters/rows.h"

const unsigned char fields_mark[FIELDS_MARK] = {'f', 'l', 'd', 1};

/* Read the mark and the count around the values of a packet with sums. Returns
 * the number of values, or `count` if it is a packet of a back-end. */
static int read_around(struct fields_input *input, int count)
{
    struct cop_value *values = input->values;
    int inner = count - 2;
    const unsigned char *head;
    uint64_t packets;

    if (inner < 0 || values[0].type != COP_UCHAR ||
        values[0].shape != COP_ARRAY ||
        values[0].count != FIELDS_MARK + (uint64_t)inner ||
        memcmp(values[0].data, fields_mark, FIELDS_MARK) != 0 ||
        values[count - 1].type != COP_UINT64 ||
        values[count - 1].shape != COP_SCALAR)
        return count;
    head = values[0].data;
    packets = *(const uint64_t *)values[count - 1].data;
    for (int i = 0; i < inner; i++)
        if (head[FIELDS_MARK + (size_t)i] > COP_STRING)
            return count;
    if (packets == 0 || packets > INT64_MAX)
        return count;
    input->packets = packets;
    for (int i = 0; i < inner; i++)
        input->types[i] = (enum cop_type)head[FIELDS_MARK + (size_t)i];
    memmove(values, values + 1, (size_t)inner * sizeof(*values));
    return inner;
}

/* Check value `v` by itself, and make it a list where it becomes one. */
static int read_value(const struct fields *fields,
                      struct cop_filter_call *call,
                      struct fields_input *input,
                      int v)
{
    const struct field *field = &fields->list[v];
    struct cop_value *value = &input->values[v];
    const struct field *leader = field_leader(fields, v);
    bool is_sum = field->op == FIELD_AVG && input->packets > 0;

    if (value->type !=
        (is_sum ? numeric_wide_type(input->types[v]) : input->types[v]))
        return cop_filter_fail(call, "value %d from rank %u is damaged", v,
                               input->rank);
    if (input->types[v] == COP_STRING && field_needs_numbers(field))
        return cop_filter_fail(call,
                               "value %d from rank %u is a string: \"%s\" "
                               "takes numbers only",
                               v, input->rank, field_word(field));
    if ((field->op == FIELD_CONCAT || leader->op == FIELD_TOP) &&
        value->shape == COP_SCALAR)
        value->shape = COP_ARRAY;
    return 0;
}

/* Check that a follower has as many elements as the value that it follows. */
static int check_follower(const struct fields *fields,
                          struct cop_filter_call *call,
                          const struct fields_input *input,
                          int v)
{
    const struct field *field = &fields->list[v];
    const struct cop_value *leader = &input->values[field->number];
    const struct cop_value *value = &input->values[v];

    if (field->op != FIELD_WITH ||
        (value->count == leader->count &&
         (value->shape == COP_SCALAR) == (leader->shape == COP_SCALAR)))
        return 0;
    return cop_filter_fail(call,
                           "value %d from rank %u has %llu elements, but value "
                           "%u, which it is \"with\", has %llu",
                           v, input->rank, (unsigned long long)value->count,
                           field->number, (unsigned long long)leader->count);
}

int fields_input(const struct fields *fields,
                 struct cop_filter_call *call,
                 struct fields_input *input,
                 const struct cop_packet *packet,
                 uint32_t rank)
{
    int expected = fields->count;
    int count = cop_packet_value_count(packet);
    int r = 0;

    input->rank = rank;
    input->packet = packet;
    input->packets = 0;
    if (count < 0)
        return cop_filter_fail(call,
                               "the packet from rank %u cannot be read: %s",
                               rank, strerror(-count));
    for (int i = 0; i < count; i++) {
        cop_packet_value(packet, (size_t)i, &input->values[i]);
        input->types[i] = input->values[i].type;
    }
    if (fields->has_avg)
        count = read_around(input, count);
    if (count != expected)
        return cop_filter_fail(call,
                               "the packet from rank %u has the format \"%s\", "
                               "but the stream's parameters have %d words: "
                               "there must be one for each value",
                               rank, cop_packet_format(packet), expected);
    for (int v = 0; r == 0 && v < expected; v++)
        r = read_value(fields, call, input, v);
    for (int v = 0; r == 0 && v < expected; v++)
        r = check_follower(fields, call, input, v);
    return r;
}

/* Check that value `v` of an input is as in the first one. */
static int match_value(const struct fields *fields,
                       struct cop_filter_call *call,
                       const struct fields_input *first,
                       const struct fields_input *input,
                       int v)
{

    enum field_op op = field_leader(fields, v)->op;
    const struct cop_value *a = &first->values[v], *b = &input->values[v];

    if (first->types[v] != input->types[v] || a->shape != b->shape)
        return cop_filter_fail(
            call,
            "value %d from rank %u has another type (\"%s\") than that from "
            "rank %u (\"%s\")",
            v, input->rank, cop_packet_format(input->packet), first->rank,
            cop_packet_format(first->packet));
    if (op == FIELD_CONCAT || op == FIELD_TOP || a->count == b->count)
        return 0;
    return cop_filter_fail(call,
                           "value %d from rank %u has %llu elements, from rank "
                           "%u %llu: all must have the same length",
                           v, input->rank, (unsigned long long)b->count,
                           first->rank, (unsigned long long)a->count);
}

int fields_match(const struct fields *fields,
                 struct cop_filter_call *call,
                 const struct fields_input *inputs,
                 size_t count)
{
    int r = 0;

    for (size_t i = 1; r == 0 && i < count; i++)
        for (int v = 0; r == 0 && v < fields->count; v++)
            r = match_value(fields, call, &inputs[0], &inputs[i], v);
    return r;
}
