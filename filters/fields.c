/* fields.c - a reduction for each value of the packet.
 *
 * The stream's parameters are "%as", a word for each value: "sum", "min",
 * "max", "avg", "same", "concat", "top:K", "with:I" (fields_words.c). A packet
 * of any node is read in the same way, so that the filter may be left out in
 * some of them: a number is a list of one for "concat" and "top". */
#include "filters/fields.h"
#include "filters/rows.h"

#include <math.h>

struct state {
    struct fields fields;
    struct numeric_room room;    /* for the values of an output */
    struct fields_input *inputs; /* memory for those of a wave */
    size_t inputs_max;
    struct cop_value out[COP_VALUES_MAX];
    struct cop_packet *total; /* join form: of all packets; NULL: of none */
    bool is_final;            /* join form: to be packed for the application */
};

/* One element of a value of an input. */
struct pick {
    uint32_t input;
    uint64_t element;
};

/* One call: its inputs, and one output value for each value. */
struct call {
    struct state *state;
    struct cop_filter_call *call;
    struct fields_input *inputs;
    size_t count;
    struct cop_value *out;
    unsigned char *room; /* what is free of the state's room */
};

static int fields_init(void **out, struct cop_filter_call *call)
{
    struct state *state = calloc(1, sizeof(*state));
    int r;

    if (!state)
        return -ENOMEM;
    r = fields_read(&state->fields, call);
    if (r < 0) {
        free(state);
        return r;
    }
    state->is_final = cop_filter_is_root(call);
    *out = state;
    return 0;
}

static void fields_free(void *arg)
{
    struct state *state = arg;

    if (!state)
        return;
    cop_packet_free(state->total);
    free(state->room.bytes);
    free(state->inputs);
    free(state);
}

/* ---- the output ---- */

/* The number of elements of the output of value `v`. */
static uint64_t output_count(const struct call *call, int v)
{
    const struct fields *fields = &call->state->fields;
    const struct field *leader = field_leader(fields, v);
    uint64_t count = 0;

    if (leader->op != FIELD_CONCAT && leader->op != FIELD_TOP)
        return call->inputs[0].values[v].count;
    for (size_t i = 0; i < call->count; i++)
        count += call->inputs[i].values[v].count;
    return leader->op == FIELD_TOP && count > leader->number ? leader->number
                                                             : count;
}

static size_t padded(size_t len)
{
    return (len + 7) & ~(size_t)7;
}

/* Give each value of the output its place. */
static int make_room(struct call *call)
{
    struct numeric_room *room = &call->state->room;
    const struct fields *fields = &call->state->fields;
    size_t len = 8;

    for (int v = 0; v < fields->count; v++) {
        struct cop_value *out = &call->out[v];

        *out = call->inputs[0].values[v];
        out->count = output_count(call, v);
        if (fields->list[v].op == FIELD_AVG)
            out->type = numeric_wide_type(out->type);
        if (out->count > COP_PACKET_MAX)
            return -EMSGSIZE;
        len += padded(out->count * rows_len(out->type));
        if (len > 2 * (size_t)COP_PACKET_MAX)
            return -EMSGSIZE;
    }
    if (len > room->len) {
        void *bytes = malloc(len);

        if (!bytes)
            return -ENOMEM;
        free(room->bytes);
        *room = (struct numeric_room){bytes, len};
    }
    call->room = room->bytes;
    for (int v = 0; v < fields->count; v++) {
        call->out[v].data = call->room;
        call->room += padded(call->out[v].count * rows_len(call->out[v].type));
    }
    return 0;
}

/* Whether element `a` of value `v` wins against `b`: the better value, then the
 * lower values with it, so that the winner is the same in every tree. */
static bool wins(const struct call *call, int v, struct pick a, struct pick b)
{
    const struct fields *fields = &call->state->fields;
    const struct cop_value *x = &call->inputs[a.input].values[v];
    const struct cop_value *y = &call->inputs[b.input].values[v];
    int order = rows_compare(x->type, x->data, a.element, y->data, b.element);

    if (order != 0 && fields->list[v].op == FIELD_MIN && x->type >= COP_FLOAT) {
        /* NaN loses against any number. */
        bool x_nan = isnan(numeric_element(x->type, x->data, a.element).f);
        bool y_nan = isnan(numeric_element(y->type, y->data, b.element).f);

        return x_nan == y_nan ? order < 0 : y_nan;
    }
    if (order != 0)
        return fields->list[v].op == FIELD_MIN ? order < 0 : order > 0;
    for (int w = 0; order == 0 && w < fields->count; w++) {
        if (fields->list[w].op != FIELD_WITH ||
            fields->list[w].number != (uint32_t)v)
            continue;
        x = &call->inputs[a.input].values[w];
        y = &call->inputs[b.input].values[w];
        order = rows_compare(x->type, x->data, a.element, y->data, b.element);
    }
    return order < 0;
}

/* Copy the picked elements of value `v` and of those with it to the output. */
static void take_picks(struct call *call, int v, const struct pick *picks)
{
    const struct fields *fields = &call->state->fields;

    for (int w = 0; w < fields->count; w++) {
        struct cop_value *out = &call->out[w];
        size_t len = rows_len(out->type);

        if (w != v && (fields->list[w].op != FIELD_WITH ||
                       fields->list[w].number != (uint32_t)v))
            continue;
        for (uint64_t i = 0; i < out->count; i++)
            memcpy((char *)out->data + i * len,
                   (const char *)call->inputs[picks[i].input].values[w].data +
                       picks[i].element * len,
                   len);
    }
}

/* The least or the greatest, with what follows it, element by element. */
static int pick_extremes(struct call *call, int v)
{
    uint64_t count = call->out[v].count;
    struct pick *picks = calloc(count + 1, sizeof(*picks));

    if (!picks)
        return -ENOMEM;
    for (uint64_t e = 0; e < count; e++) {
        picks[e] = (struct pick){0, e};
        for (size_t i = 1; i < call->count; i++) {
            struct pick other = {(uint32_t)i, e};

            if (wins(call, v, other, picks[e]))
                picks[e] = other;
        }
    }
    take_picks(call, v, picks);
    free(picks);
    return 0;
}

/* Move the element at `at` of a heap, whose first element is the one that loses
 * against all others, down to its place. */
static void sift(const struct call *call,
                 int v,
                 struct pick *heap,
                 uint64_t count,
                 uint64_t at)
{
    for (uint64_t child; (child = 2 * at + 1) < count; at = child) {
        struct pick moved = heap[at];

        if (child + 1 < count && wins(call, v, heap[child], heap[child + 1]))
            child++;
        if (!wins(call, v, moved, heap[child]))
            return;
        heap[at] = heap[child];
        heap[child] = moved;
    }
}

/* The greatest elements, in descending order. */
static int pick_top(struct call *call, int v)
{
    uint64_t room = call->out[v].count, count = 0;
    struct pick *heap = calloc(room + 1, sizeof(*heap));

    if (!heap)
        return -ENOMEM;
    for (size_t i = 0; i < call->count; i++)
        for (uint64_t e = 0; e < call->inputs[i].values[v].count; e++) {
            struct pick pick = {(uint32_t)i, e};

            if (count < room) {
                heap[count++] = pick;
                for (uint64_t at = room / 2; count == room && at-- > 0;)
                    sift(call, v, heap, room, at);
            } else if (wins(call, v, pick, heap[0])) {
                heap[0] = pick;
                sift(call, v, heap, room, 0);
            }
        }
    while (count > 1) {
        struct pick last = heap[0];

        heap[0] = heap[--count];
        heap[count] = last;
        sift(call, v, heap, count, 0);
    }
    take_picks(call, v, heap);
    free(heap);
    return 0;
}

/* Sums, or extremes that nothing follows: as the filters of these names do. */
static int combine(struct call *call, int v, enum numeric_op op)
{
    struct cop_value *out = &call->out[v];

    if (out->count > 0)
        memcpy((void *)out->data, call->inputs[0].values[v].data,
               out->count * rows_len(out->type));
    for (size_t i = 1; i < call->count; i++)
        numeric_combine(op, out->type, (void *)out->data,
                        call->inputs[i].values[v].data, out->count);
    return 0;
}

/* The sums for an average, in 64 bits. */
static int add_wide(struct call *call, int v)
{
    struct cop_value *out = &call->out[v];
    union numeric_wide *sums = (union numeric_wide *)out->data;

    if (out->count > 0)
        memset(sums, 0, out->count * sizeof(*sums));
    for (size_t i = 0; i < call->count; i++) {
        const struct cop_value *value = &call->inputs[i].values[v];

        for (uint64_t e = 0; e < out->count; e++)
            if (!numeric_add(out->type, &sums[e],
                             numeric_element(value->type, value->data, e)))
                return cop_filter_fail(call->call,
                                       "the sum of value %d with that from "
                                       "rank %u does not fit in 64 bits",
                                       v, call->inputs[i].rank);
    }
    return 0;
}

/* A value that must be equal in all. */
static int check_same(struct call *call, int v)
{
    char text[ROWS_TEXT_SIZE], other[ROWS_TEXT_SIZE];
    const struct fields_input *first = &call->inputs[0];
    const struct cop_value *value = &first->values[v];

    for (size_t i = 1; i < call->count; i++) {
        const struct fields_input *input = &call->inputs[i];
        const void *data = input->values[v].data;

        for (uint64_t e = 0; e < value->count; e++)
            if (rows_compare(value->type, value->data, e, data, e) != 0)
                return cop_filter_fail(
                    call->call,
                    "value %d must be the same in all back-ends: from rank %u "
                    "it is %s, from rank %u %s",
                    v, first->rank,
                    rows_text(text, value->type, value->data, e), input->rank,
                    rows_text(other, value->type, data, e));
    }
    call->out[v].data = value->data;
    return 0;
}

/* All elements, in the order of the inputs. */
static int concatenate(struct call *call, int v)
{
    char *at = (char *)call->out[v].data;
    size_t len = rows_len(call->out[v].type);

    for (size_t i = 0; i < call->count; i++) {
        const struct cop_value *value = &call->inputs[i].values[v];

        if (value->count > 0)
            memcpy(at, value->data, value->count * len);
        at += value->count * len;
    }
    return 0;
}

static int reduce(struct call *call, int v)
{
    const struct field *field = &call->state->fields.list[v];

    switch (field->op) {
    case FIELD_SUM:
        return combine(call, v, NUMERIC_SUM);
    case FIELD_MIN:
        return field->is_followed ? pick_extremes(call, v)
                                  : combine(call, v, NUMERIC_MIN);
    case FIELD_MAX:
        return field->is_followed ? pick_extremes(call, v)
                                  : combine(call, v, NUMERIC_MAX);
    case FIELD_AVG:
        return add_wide(call, v);
    case FIELD_SAME:
        return check_same(call, v);
    case FIELD_CONCAT:
        return concatenate(call, v);
    case FIELD_TOP:
        return pick_top(call, v);
    case FIELD_WITH:
        break; /* the value that it follows takes it along */
    }
    return 0;
}

/* Divide the sums of averages in place. */
static void divide(struct call *call, uint64_t packets)
{
    for (int v = 0; v < call->state->fields.count; v++) {
        struct cop_value *out = &call->out[v];
        union numeric_wide *sums = (union numeric_wide *)out->data;

        if (call->state->fields.list[v].op != FIELD_AVG)
            continue;
        /* No original type is wider, so no sum is overwritten unread. */
        for (uint64_t e = 0; e < out->count; e++)
            numeric_write(call->inputs[0].types[v], sums, e,
                          numeric_divide(out->type, sums[e], packets));
        out->type = call->inputs[0].types[v];
    }
}

/* Make the packet of an output with sums for averages. */
static int pack_sums(const struct call *call,
                     struct cop_packet **out,
                     int32_t tag,
                     uint64_t packets)
{
    size_t count = (size_t)call->state->fields.count;
    unsigned char head[FIELDS_MARK + FIELDS_AVG_MAX];
    struct cop_value values[COP_VALUES_MAX];

    memcpy(head, fields_mark, FIELDS_MARK);
    for (size_t i = 0; i < count; i++) {
        head[FIELDS_MARK + i] = (unsigned char)call->inputs[0].types[i];
        values[i + 1] = call->out[i];
    }
    values[0] =
        (struct cop_value){COP_UCHAR, COP_ARRAY, FIELDS_MARK + count, head};
    values[count + 1] = (struct cop_value){COP_UINT64, COP_SCALAR, 1, &packets};
    return cop_packet_new_values(out, tag, values, count + 2);
}

/* Reduce the inputs, which have been read, to one packet. */
static int make_output(struct call *call,
                       struct cop_packet **out,
                       int32_t tag,
                       bool is_final)
{
    const struct fields *fields = &call->state->fields;
    uint64_t packets = 0;
    int r = fields_match(&call->state->fields, call->call, call->inputs,
                         call->count);

    if (r == 0)
        r = make_room(call);
    for (int v = 0; r == 0 && v < fields->count; v++)
        r = reduce(call, v);
    for (size_t i = 0; r == 0 && i < call->count; i++) {
        const struct fields_input *input = &call->inputs[i];
        uint64_t more = input->packets ? input->packets : 1;

        if (more > INT64_MAX - packets)
            return cop_filter_fail(call->call,
                                   "there are too many packets for an average");
        packets += more;
    }
    if (r < 0)
        return r;
    if (fields->has_avg && !is_final)
        return pack_sums(call, out, tag, packets);
    divide(call, packets);
    return cop_packet_new_values(out, tag, call->out, (size_t)fields->count);
}

/* Make room for `count` inputs. Returns 0 or -ENOMEM. */
static int make_inputs(struct state *state, size_t count)
{
    if (count <= state->inputs_max)
        return 0;
    free(state->inputs);
    state->inputs = calloc(count, sizeof(*state->inputs));
    state->inputs_max = state->inputs ? count : 0;
    return state->inputs ? 0 : -ENOMEM;
}

static int fields_filter(void *arg, struct cop_filter_call *filter_call)
{
    struct state *state = arg;
    struct call call = {.state = state,
                        .call = filter_call,
                        .out = state->out,
                        .count = cop_filter_packet_count(filter_call)};
    struct cop_packet *packet;
    int r;

    if (!cop_filter_is_upward(filter_call) || call.count == 0)
        return numeric_pass_on(filter_call);
    r = make_inputs(state, call.count);
    call.inputs = state->inputs;
    for (size_t i = 0; r == 0 && i < call.count; i++)
        r = fields_input(&call.state->fields, call.call, &call.inputs[i],
                         cop_filter_packet(filter_call, i),
                         cop_filter_inlet(filter_call, i));
    if (r == 0)
        r = make_output(&call, &packet,
                        cop_packet_tag(cop_filter_packet(filter_call, 0)),
                        cop_filter_is_root(filter_call));
    return r < 0 ? r : cop_filter_emit(filter_call, packet);
}

/* ---- the join form ---- */

static int fields_join(void *arg,
                       const struct cop_packet *packet,
                       struct cop_filter_call *filter_call)
{
    struct state *state = arg;
    struct call call = {.state = state, .call = filter_call, .out = state->out};
    struct cop_packet *total;
    uint32_t rank = cop_packet_origin(packet);
    int r = make_inputs(state, 2);

    call.inputs = state->inputs;
    if (rank == UINT32_MAX)
        rank = cop_filter_rank(filter_call);
    if (r == 0 && state->total)
        r = fields_input(&call.state->fields, call.call,
                         &call.inputs[call.count++], state->total,
                         cop_filter_rank(filter_call));
    if (r == 0)
        r = fields_input(&call.state->fields, call.call,
                         &call.inputs[call.count++], packet, rank);
    if (r == 0)
        r = make_output(&call, &total, cop_packet_tag(packet), false);
    if (r < 0)
        return r;
    cop_packet_free(state->total);
    state->total = total;
    return 0;
}

static int fields_pack(const void *arg, struct cop_packet **out)
{
    struct state state = *(const struct state *)arg;
    struct fields_input input;
    struct call call = {
        .state = &state, .inputs = &input, .count = 1, .out = state.out};
    int r;

    if (!state.total)
        return 0;
    if (!state.is_final || !state.fields.has_avg) {
        *out = cop_packet_ref(state.total);
        return 0;
    }
    /* In room of its own: the state stays as it is. */
    state.room = (struct numeric_room){.len = 0};
    r = fields_input(&call.state->fields, call.call, &input, state.total, 0);
    if (r == 0)
        r = make_output(&call, out, cop_packet_tag(state.total), true);
    free(state.room.bytes);
    return r;
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "fields",
    .summary = "a reduction for each value: sum, min, max, avg, same, ...",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_STATELESS | COP_ONE_TO_ONE,
    .init = fields_init,
    .free = fields_free,
    .filter = fields_filter,
    .join = fields_join,
    .pack = fields_pack,
};

COP_FILTER_EXPORT(filter);
