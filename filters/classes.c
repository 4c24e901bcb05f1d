/* classes.c - equal packets become one, with the ranks that sent it.
 *
 * "%d %s" of each back-end gives "%ad %as %aud %aud": the values of each class,
 * how many members it has, and the ranks of the members, class by class. An
 * array gives two arrays: the elements, class by class, and how many each class
 * has. The class with most members is first; among others of one size, the one
 * with the lower values. Packets between nodes are the same with a head
 * "%auc": a mark, and whether each value is an array. */
#include "filters/classes.h"
#include "filters/rows.h"

/* One class of an input. */
struct class
{
    const struct classes_input *input;
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
    struct classes_input *inputs;
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

/* Read one more input. */
static int next_input(struct merging *merging,
                      const struct cop_packet *packet,
                      uint32_t rank)
{
    return classes_input(
        merging->call, &merging->inputs[merging->input_count++], packet, rank);
}

/* Check that all inputs have the same types. */
static int match_inputs(const struct merging *merging)
{
    const struct classes_input *first = &merging->inputs[0];

    for (size_t i = 1; i < merging->input_count; i++) {
        const struct classes_input *input = &merging->inputs[i];
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
                               const struct classes_column *column,
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
        const struct classes_column *own = &x->input->columns[v];
        const struct classes_column *other = &y->input->columns[v];
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
        const struct classes_input *input = &merging->inputs[i];
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
    const struct classes_column *first = &merging->inputs[0].columns[v];
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
        const struct classes_column *column = &class->input->columns[v];
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
    head = add_array(merging, COP_UCHAR, CLASSES_MARK + (uint64_t)columns);
    if (!head)
        return -ENOMEM;
    memcpy(head, classes_mark, CLASSES_MARK);
    for (int v = 0; v < columns; v++)
        head[CLASSES_MARK + (size_t)v] = merging->inputs[0].columns[v].is_array;
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
        r = next_input(&merging, cop_filter_packet(call, i),
                       cop_filter_inlet(call, i));
    if (r == 0)
        r = make_output(&merging, &packet,
                        cop_packet_tag(cop_filter_packet(call, 0)),
                        cop_filter_is_root(call));
    merging_end(&merging);
    return r < 0 ? r : cop_filter_emit(call, packet);
}

/* ---- the join form ---- */

/* Packets wait until they are as large as the total: to merge each of n
 * different ones at once would take n * n steps. */
#define WAITING_BYTES 4096

struct waiting {
    struct cop_packet *packet;
    uint32_t rank;
};

struct state {
    struct classes_input pattern; /* the types of all packets, and one packet */
    struct cop_packet *total;     /* NULL: nothing was merged yet */
    struct waiting *waiting;
    size_t waiting_count;
    size_t waiting_max;
    size_t waiting_bytes;
    bool is_final; /* to be packed for the application */
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

static void free_waiting(struct state *state)
{
    for (size_t i = 0; i < state->waiting_count; i++)
        cop_packet_free(state->waiting[i].packet);
    state->waiting_count = 0;
    state->waiting_bytes = 0;
}

static void classes_free(void *arg)
{
    struct state *state = arg;

    if (!state)
        return;
    free_waiting(state);
    free(state->waiting);
    cop_packet_free(state->total);
    free(state);
}

/* Merge the total and what waits, at least one packet, into one packet. */
static int merge_waiting(const struct state *state,
                         struct cop_packet **out,
                         bool is_final)
{
    struct merging merging;
    const struct cop_packet *last = state->total;
    int r = merging_begin(&merging, NULL, state->waiting_count + 1);

    if (r == 0 && state->total)
        r = next_input(&merging, state->total, state->pattern.rank);
    for (size_t i = 0; r == 0 && i < state->waiting_count; i++) {
        last = state->waiting[i].packet;
        r = next_input(&merging, last, state->waiting[i].rank);
    }
    if (r == 0)
        r = make_output(&merging, out, cop_packet_tag(last), is_final);
    merging_end(&merging);
    return r;
}

/* Read a packet, and check that it has the types of all others. */
static int check_types(struct state *state,
                       const struct cop_packet *packet,
                       uint32_t rank,
                       struct cop_filter_call *call)
{
    struct merging merging;
    int r = merging_begin(&merging, call, 2);

    if (r == 0 && state->pattern.packet)
        merging.inputs[merging.input_count++] = state->pattern;
    if (r == 0)
        r = next_input(&merging, packet, rank);
    if (r == 0)
        r = match_inputs(&merging);
    if (r == 0 && !state->pattern.packet) {
        state->pattern = merging.inputs[0];
        for (int v = 0; v < state->pattern.column_count; v++)
            state->pattern.columns[v].starts = NULL;
    }
    merging_end(&merging);
    return r;
}

static int classes_join(void *arg,
                        const struct cop_packet *packet,
                        struct cop_filter_call *call)
{
    struct state *state = arg;
    struct cop_packet *total;
    uint32_t rank = cop_packet_origin(packet);
    int r;

    if (rank == UINT32_MAX)
        rank = cop_filter_rank(call);
    if (state->waiting_count == state->waiting_max) {
        size_t max = 2 * state->waiting_max + 8;
        void *waiting = realloc(state->waiting, max * sizeof(*state->waiting));

        if (!waiting)
            return -ENOMEM;
        state->waiting = waiting;
        state->waiting_max = max;
    }
    r = check_types(state, packet, rank, call);
    if (r < 0)
        return r;
    state->waiting[state->waiting_count++] =
        (struct waiting){cop_packet_ref(packet), rank};
    state->waiting_bytes += cop_packet_size(packet);
    if (state->waiting_bytes < WAITING_BYTES ||
        (state->total && state->waiting_bytes < cop_packet_size(state->total)))
        return 0;
    r = merge_waiting(state, &total, false);
    if (r < 0)
        return r;
    free_waiting(state);
    cop_packet_free(state->total);
    state->total = total;
    state->pattern.packet = total;
    return 0;
}

static int classes_pack(const void *arg, struct cop_packet **out)
{
    const struct state *state = arg;

    if (!state->pattern.packet)
        return 0;
    if (!state->is_final && state->waiting_count == 0) {
        *out = cop_packet_ref(state->total);
        return 0;
    }
    return merge_waiting(state, out, state->is_final);
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
