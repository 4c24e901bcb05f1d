/* classes.c - equal packets become one, with the ranks that sent it.
 *
 * "%d %s" of each back-end gives "%ad %as %aud %aud": the values of each class,
 * how many members it has, and the ranks of the members, class by class. An
 * array gives two arrays: the elements, class by class, and how many each class
 * has. The class with most members is first; among others of one size, the one
 * with the lower values. Packets between nodes are the same with a head
 * "%auc": a mark, and whether each value is an array. */
#include "filters/rows.h"

static const unsigned char mark[] = {'c', 'l', 's', 1};

/* Values of a packet besides those of the classes: head, sizes, ranks. */
#define OTHERS 3

/* One value of all classes of an input. */
struct column {
    enum cop_type type;
    bool is_array;
    const void *data;
    uint64_t *starts; /* of each class, and the end; NULL: one element each */
};

/* A packet as read. */
struct input {
    uint32_t rank; /* that it came from */
    const struct cop_packet *packet;
    struct column columns[COP_VALUES_MAX];
    int column_count;
    uint32_t class_count;
    const uint32_t *sizes;
    const uint32_t *ranks;
};

/* One class of an input. */
struct class
{
    const struct input *input;
    uint64_t index;
    const uint32_t *ranks;
    uint32_t size;
};

/* Equal classes of all inputs. */
struct merged {
    const struct class *first;
    uint64_t size;  /* members */
    uint64_t place; /* of the ranks in the list of all ranks */
};

struct merging {
    struct cop_filter_call *call;
    struct input *inputs;
    size_t input_count;
    struct class *classes;
    size_t class_count;
    struct merged *merged;
    size_t merged_count;
    uint32_t *ranks;
    uint64_t rank_count;
    /* the output: a column for each value, and lengths for arrays */
    struct cop_value values[COP_VALUES_MAX];
    int value_count;
};

/* ---- reading ---- */

static int fail_damaged(const struct merging *merging,
                        const struct input *input)
{
    return cop_filter_fail(merging->call,
                           "the classes from rank %u (\"%s\") are damaged",
                           input->rank, cop_packet_format(input->packet));
}

/* Read the packet of a back-end: one class of one member. */
static int read_own(const struct merging *merging,
                    struct input *input,
                    const struct cop_value *values,
                    int count)
{
    int needed = OTHERS;

    input->column_count = count;
    input->class_count = 1;
    input->sizes = NULL;
    input->ranks = &input->rank;
    for (int i = 0; i < count; i++) {
        struct column *column = &input->columns[i];

        *column = (struct column){.type = values[i].type,
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
        return cop_filter_fail(merging->call,
                               "the packet from rank %u has the format \"%s\": "
                               "that are too many values; an array counts "
                               "twice, and at most %d are possible",
                               input->rank, cop_packet_format(input->packet),
                               COP_VALUES_MAX - OTHERS);
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
static int read_lengths(const struct merging *merging,
                        const struct input *input,
                        struct column *column,
                        const struct cop_value *value)
{
    const uint32_t *lengths = read_list(value + 1, input->class_count);
    uint64_t sum = 0;

    if (!lengths)
        return fail_damaged(merging, input);
    column->starts =
        calloc((size_t)input->class_count + 1, sizeof(*column->starts));
    if (!column->starts)
        return -ENOMEM;
    for (uint32_t i = 0; i < input->class_count; i++) {
        sum += lengths[i];
        column->starts[i + 1] = sum;
    }
    return sum == value->count ? 0 : fail_damaged(merging, input);
}

/* Read a packet of classes: behind its head, the columns, sizes and ranks. */
static int read_classes(const struct merging *merging,
                        struct input *input,
                        const struct cop_value *values,
                        int count)
{
    const unsigned char *arrays =
        (const unsigned char *)values[0].data + sizeof(mark);
    uint64_t members = 0;
    int at = 1, r = 0;

    if (count < OTHERS ||
        values[0].count > sizeof(mark) + COP_VALUES_MAX - OTHERS ||
        values[count - 2].count > UINT32_MAX)
        return fail_damaged(merging, input);
    input->column_count = (int)(values[0].count - sizeof(mark));
    input->class_count = (uint32_t)values[count - 2].count;
    input->sizes = read_list(&values[count - 2], input->class_count);
    input->ranks = read_list(&values[count - 1], values[count - 1].count);
    if (!input->sizes || !input->ranks)
        return fail_damaged(merging, input);
    for (uint32_t i = 0; i < input->class_count; i++) {
        members += input->sizes[i];
        if (input->sizes[i] == 0)
            return fail_damaged(merging, input);
    }
    if (members != values[count - 1].count)
        return fail_damaged(merging, input);
    for (int i = 0; r == 0 && i < input->column_count; i++) {
        struct column *column = &input->columns[i];

        if (at + (arrays[i] ? 2 : 1) > count - 2)
            return fail_damaged(merging, input);
        *column = (struct column){.type = values[at].type,
                                  .is_array = arrays[i] != 0,
                                  .data = values[at].data};
        if (values[at].shape != COP_ARRAY ||
            (!column->is_array && values[at].count != input->class_count))
            return fail_damaged(merging, input);
        if (column->is_array)
            r = read_lengths(merging, input, column, &values[at]);
        at += column->is_array ? 2 : 1;
    }
    return r == 0 && at != count - 2 ? fail_damaged(merging, input) : r;
}

static bool has_head(const struct cop_value *values, int count)
{
    return count > 0 && values[0].type == COP_UCHAR &&
           values[0].shape == COP_ARRAY && values[0].count >= sizeof(mark) &&
           memcmp(values[0].data, mark, sizeof(mark)) == 0;
}

/* Read one more input. */
static int read_input(struct merging *merging,
                      const struct cop_packet *packet,
                      uint32_t rank)
{
    struct input *input = &merging->inputs[merging->input_count++];
    struct cop_value values[COP_VALUES_MAX];
    int count = cop_packet_value_count(packet);

    input->rank = rank;
    input->packet = packet;
    if (count < 0)
        return cop_filter_fail(merging->call,
                               "the packet from rank %u cannot be read: %s",
                               rank, strerror(-count));
    for (int i = 0; i < count; i++)
        cop_packet_value(packet, (size_t)i, &values[i]);
    return has_head(values, count) ? read_classes(merging, input, values, count)
                                   : read_own(merging, input, values, count);
}

/* Check that all inputs have the same types. */
static int match_inputs(const struct merging *merging)
{
    const struct input *first = &merging->inputs[0];

    for (size_t i = 1; i < merging->input_count; i++) {
        const struct input *input = &merging->inputs[i];
        int v = 0;

        while (v < first->column_count && v < input->column_count &&
               first->columns[v].type == input->columns[v].type &&
               first->columns[v].is_array == input->columns[v].is_array)
            v++;
        if (v < first->column_count || v < input->column_count)
            return cop_filter_fail(
                merging->call,
                "value %d from rank %u (\"%s\") is missing "
                "or has another type than that from rank "
                "%u (\"%s\")",
                v, input->rank, cop_packet_format(input->packet), first->rank,
                cop_packet_format(first->packet));
    }
    return 0;
}

/* ---- merging ---- */

/* The elements of a class in a column: from `*start`. Returns how many. */
static uint64_t class_elements(const struct class *class,
                               const struct column *column,
                               uint64_t *start)
{
    *start = column->starts ? column->starts[class->index] : class->index;
    return column->starts ? column->starts[class->index + 1] - *start : 1;
}

/* Compare the values of two classes. */
static int compare_classes(const void *a, const void *b)
{
    const struct class *x = a, *y = b;
    int order = 0;

    for (int v = 0; order == 0 && v < x->input->column_count; v++) {
        const struct column *own = &x->input->columns[v];
        const struct column *other = &y->input->columns[v];
        uint64_t i, k;
        uint64_t len = class_elements(x, own, &i);
        uint64_t other_len = class_elements(y, other, &k);

        for (uint64_t e = 0; order == 0 && e < len && e < other_len; e++)
            order =
                rows_compare(own->type, own->data, i + e, other->data, k + e);
        if (order == 0)
            order = (len > other_len) - (len < other_len);
    }
    return order;
}

static int compare_ranks(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Greatest first; the classes of one size keep the order of their values. */
static int compare_sizes(const void *a, const void *b)
{
    const struct merged *x = a, *y = b;

    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return (x->first > y->first) - (x->first < y->first);
}

/* List the classes of all inputs, by their values. */
static int list_classes(struct merging *merging)
{
    size_t count = 0;

    for (size_t i = 0; i < merging->input_count; i++)
        count += merging->inputs[i].class_count;
    merging->classes = calloc(count + 1, sizeof(*merging->classes));
    merging->merged = calloc(count + 1, sizeof(*merging->merged));
    if (!merging->classes || !merging->merged)
        return -ENOMEM;
    for (size_t i = 0; i < merging->input_count; i++) {
        const struct input *input = &merging->inputs[i];
        const uint32_t *ranks = input->ranks;

        for (uint32_t k = 0; k < input->class_count; k++) {
            uint32_t size = input->sizes ? input->sizes[k] : 1;

            merging->classes[merging->class_count++] =
                (struct class){input, k, ranks, size};
            merging->rank_count += size;
            ranks += size;
        }
    }
    qsort(merging->classes, count, sizeof(*merging->classes), compare_classes);
    return 0;
}

/* Make one class of equal ones, with the ranks of all, each once. */
static int merge_classes(struct merging *merging)
{
    uint64_t used = 0;

    merging->ranks =
        calloc((size_t)merging->rank_count + 1, sizeof(*merging->ranks));
    if (!merging->ranks)
        return -ENOMEM;
    for (size_t i = 0; i < merging->class_count;) {
        const struct class *first = &merging->classes[i];
        uint32_t *ranks = merging->ranks + used;
        uint64_t count = 0, kept = 1;
        size_t from = i;

        for (; i < merging->class_count &&
               compare_classes(first, &merging->classes[i]) == 0;
             i++) {
            memcpy(ranks + count, merging->classes[i].ranks,
                   merging->classes[i].size * sizeof(*ranks));
            count += merging->classes[i].size;
        }
        if (i > from + 1)
            qsort(ranks, count, sizeof(*ranks), compare_ranks);
        for (uint64_t k = 1; k < count; k++)
            if (ranks[k] != ranks[kept - 1])
                ranks[kept++] = ranks[k];
        merging->merged[merging->merged_count++] =
            (struct merged){first, kept, used};
        used += kept;
    }
    merging->rank_count = used;
    qsort(merging->merged, merging->merged_count, sizeof(*merging->merged),
          compare_sizes);
    return 0;
}

/* ---- the output ---- */

/* Append an array of `count` elements to the output. Returns its memory, NULL
 * if there is none. */
static void *add_array(struct merging *merging,
                       enum cop_type type,
                       uint64_t count)
{
    void *data = calloc((size_t)count + 1, rows_len(type));

    if (data)
        merging->values[merging->value_count++] =
            (struct cop_value){type, COP_ARRAY, count, data};
    return data;
}

/* Append one value of all classes, and the lengths if it is an array. */
static int add_column(struct merging *merging, int v)
{
    const struct column *first = &merging->inputs[0].columns[v];
    size_t len = rows_len(first->type);
    uint32_t *lengths = NULL;
    uint64_t total = 0, start;
    char *at;

    for (size_t i = 0; i < merging->merged_count; i++) {
        const struct class *class = merging->merged[i].first;

        total += class_elements(class, &class->input->columns[v], &start);
    }
    if (total > COP_PACKET_MAX)
        return -EMSGSIZE;
    at = add_array(merging, first->type, total);
    if (at && first->is_array)
        lengths = add_array(merging, COP_UINT32, merging->merged_count);
    if (!at || (first->is_array && !lengths))
        return -ENOMEM;
    for (size_t i = 0; i < merging->merged_count; i++) {
        const struct class *class = merging->merged[i].first;
        const struct column *column = &class->input->columns[v];
        uint64_t count = class_elements(class, column, &start);

        if (count > 0)
            memcpy(at, (const char *)column->data + start * len, count * len);
        at += count * len;
        if (lengths)
            lengths[i] = (uint32_t)count;
    }
    return 0;
}

/* Append how many members each class has, and their ranks. */
static int add_members(struct merging *merging)
{
    uint32_t *sizes = add_array(merging, COP_UINT32, merging->merged_count);
    uint32_t *ranks =
        sizes ? add_array(merging, COP_UINT32, merging->rank_count) : NULL;

    if (!ranks)
        return -ENOMEM;
    for (size_t i = 0; i < merging->merged_count; i++) {
        const struct merged *merged = &merging->merged[i];

        sizes[i] = (uint32_t)merged->size;
        memcpy(ranks, merging->ranks + merged->place,
               merged->size * sizeof(*ranks));
        ranks += merged->size;
    }
    return 0;
}

/* Merge the inputs, which have been read, to one packet; for the application if
 * `is_final`. */
static int make_output(struct merging *merging,
                       struct cop_packet **out,
                       int32_t tag,
                       bool is_final)
{
    int r = match_inputs(merging);
    int columns = merging->inputs[0].column_count;
    unsigned char *head;

    if (r < 0)
        return r;
    head = add_array(merging, COP_UCHAR, sizeof(mark) + (uint64_t)columns);
    if (!head)
        return -ENOMEM;
    memcpy(head, mark, sizeof(mark));
    for (int v = 0; v < columns; v++)
        head[sizeof(mark) + (size_t)v] = merging->inputs[0].columns[v].is_array;
    r = list_classes(merging);
    if (r == 0)
        r = merge_classes(merging);
    for (int v = 0; r == 0 && v < columns; v++)
        r = add_column(merging, v);
    if (r == 0)
        r = add_members(merging);
    return r < 0 ? r
                 : cop_packet_new_values(
                       out, tag, merging->values + (is_final ? 1 : 0),
                       (size_t)merging->value_count - (is_final ? 1 : 0));
}

/* Begin with room for `count` inputs. Returns 0 or -ENOMEM. */
static int merging_begin(struct merging *merging,
                         struct cop_filter_call *call,
                         size_t count)
{
    *merging = (struct merging){.call = call};
    merging->inputs = calloc(count, sizeof(*merging->inputs));
    return merging->inputs ? 0 : -ENOMEM;
}

static void merging_end(struct merging *merging)
{
    for (size_t i = 0; i < merging->input_count; i++)
        for (int v = 0; v < merging->inputs[i].column_count; v++)
            free(merging->inputs[i].columns[v].starts);
    for (int i = 0; i < merging->value_count; i++)
        free((void *)merging->values[i].data);
    free(merging->inputs);
    free(merging->classes);
    free(merging->merged);
    free(merging->ranks);
}

static int classes_filter(void *state, struct cop_filter_call *call)
{
    size_t count = cop_filter_packet_count(call);
    struct cop_packet *packet;
    struct merging merging;
    int r;

    (void)state;
    if (!cop_filter_is_upward(call) || count == 0)
        return numeric_pass_on(call);
    r = merging_begin(&merging, call, count);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = read_input(&merging, cop_filter_packet(call, i),
                       cop_filter_inlet(call, i));
    if (r == 0)
        r = make_output(&merging, &packet,
                        cop_packet_tag(cop_filter_packet(call, 0)),
                        cop_filter_is_root(call));
    merging_end(&merging);
    return r < 0 ? r : cop_filter_emit(call, packet);
}

/* ---- the join form ---- */

struct state {
    struct cop_packet *total; /* NULL: nothing was joined yet */
    bool is_final;            /* to be packed for the application */
};

static int classes_init(void **out, struct cop_filter_call *call)
{
    struct state *state = calloc(1, sizeof(*state));

    if (!state)
        return -ENOMEM;
    state->is_final = cop_filter_is_root(call);
    *out = state;
    return 0;
}

static void classes_free(void *arg)
{
    struct state *state = arg;

    if (state)
        cop_packet_free(state->total);
    free(state);
}

static int classes_join(void *arg,
                        const struct cop_packet *packet,
                        struct cop_filter_call *call)
{
    struct state *state = arg;
    struct cop_packet *total;
    struct merging merging;
    uint32_t rank = cop_packet_origin(packet);
    int r = merging_begin(&merging, call, 2);

    if (rank == UINT32_MAX)
        rank = cop_filter_rank(call);
    if (r == 0 && state->total)
        r = read_input(&merging, state->total, cop_filter_rank(call));
    if (r == 0)
        r = read_input(&merging, packet, rank);
    if (r == 0)
        r = make_output(&merging, &total, cop_packet_tag(packet), false);
    merging_end(&merging);
    if (r < 0)
        return r;
    cop_packet_free(state->total);
    state->total = total;
    return 0;
}

/* For the application, without the head. */
static int classes_pack(const void *arg, struct cop_packet **out)
{
    const struct state *state = arg;
    struct cop_value values[COP_VALUES_MAX];
    int count;

    if (!state->total)
        return 0;
    if (!state->is_final) {
        *out = cop_packet_ref(state->total);
        return 0;
    }
    count = cop_packet_value_count(state->total);
    for (int i = 0; i < count; i++)
        cop_packet_value(state->total, (size_t)i, &values[i]);
    return cop_packet_new_values(out, cop_packet_tag(state->total), values + 1,
                                 (size_t)count - 1);
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "classes",
    .summary = "equal packets become one, with the ranks that sent it",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_STATELESS | COP_ONE_TO_ONE,
    .init = classes_init,
    .free = classes_free,
    .filter = classes_filter,
    .join = classes_join,
    .pack = classes_pack,
};

COP_FILTER_EXPORT(filter);
