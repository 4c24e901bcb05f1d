/* model.c - the expected packets of one stream. */
#include "sim/swarm/model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "sim/memory.h"
#include "wire/packet.h"

static const char *const names[] = {
    [MODEL_NONE] = "",         [MODEL_SUM] = "sum",
    [MODEL_MAX] = "max",       [MODEL_COUNT] = "count",
    [MODEL_CONCAT] = "concat", [MODEL_UNION] = "int_union",
    [MODEL_TOTAL] = "total",
};

/* Fillers are at least this, and values are less. */
#define MODEL_FILLER (INT32_C(1) << 29)

int32_t model_filler(uint32_t number)
{
    return MODEL_FILLER + (int32_t)(number % MODEL_FILLER);
}

const char *model_filter_name(enum model_filter filter)
{
    return names[filter];
}

static void add_value(struct model_values *values, struct model_value value)
{
    memory_grow(&values->list, &values->room, values->count, sizeof(value));
    values->list[values->count++] = value;
}

void model_send(struct model *model,
                uint32_t rank,
                uint64_t sequence,
                uint32_t sent_in,
                int32_t value)
{
    add_value(&model->sent, (struct model_value){
                                .sequence = sequence,
                                .value = value,
                                .rank = rank,
                                .sent_in = sent_in,
                            });
}

int model_take(struct model *model, const struct frame *frame)
{
    struct cop_packet *packet;
    struct cop_value value;
    int r;

    r = packet_open(&packet, frame->payload);
    if (r < 0)
        return r;
    r = cop_packet_value(packet, 0, &value);
    if (r == 0 && value.type != COP_INT32 && value.type != COP_UINT32)
        r = -EBADMSG;
    for (uint64_t i = 0; r == 0 && i < value.count; i++) {
        int32_t number = ((const int32_t *)value.data)[i];

        if (number < MODEL_FILLER)
            add_value(&model->taken,
                      (struct model_value){
                          .sequence = frame->wave,
                          .value = number,
                          .contributors = i == 0 ? frame->contributors : 0,
                      });
    }
    cop_packet_free(packet);
    return r;
}

/* ---- order ---- */

static uint64_t epoch_of(uint64_t sequence)
{
    return sequence >> PACKET_WAVE_BITS;
}

static int by_value(const void *left, const void *right)
{
    const struct model_value *a = left;
    const struct model_value *b = right;

    return (a->value > b->value) - (a->value < b->value);
}

static int by_wave(const void *left, const void *right)
{
    const struct model_value *a = left;
    const struct model_value *b = right;

    return a->sequence != b->sequence ? (a->sequence > b->sequence ? 1 : -1)
                                      : by_value(left, right);
}

static int by_epoch(const void *left, const void *right)
{
    uint64_t a = epoch_of(((const struct model_value *)left)->sequence);
    uint64_t b = epoch_of(((const struct model_value *)right)->sequence);

    return a != b ? (a > b ? 1 : -1) : by_value(left, right);
}

static void sort_values(struct model_values *values,
                        int (*order)(const void *left, const void *right))
{
    if (values->count > 1)
        qsort(values->list, values->count, sizeof(*values->list), order);
}

static void sort_all(struct model *model,
                     int (*order)(const void *left, const void *right))
{
    sort_values(&model->sent, order);
    sort_values(&model->taken, order);
}

/* Whether a sync has covered the epoch of `sequence`. */
static bool is_synced(const struct model *model, uint64_t sequence)
{
    return epoch_of(sequence) < model->epochs;
}

/* ---- checking ---- */

/* Whether the filter makes one packet with one value of each wave. */
static bool is_reduced(const struct model *model)
{
    return model->filter == MODEL_SUM || model->filter == MODEL_MAX ||
           model->filter == MODEL_COUNT;
}

static int64_t reduce(enum model_filter filter, int64_t so_far, int32_t value)
{
    switch (filter) {
    case MODEL_SUM:
        return so_far + value;
    case MODEL_MAX:
        return value > so_far ? value : so_far;
    case MODEL_COUNT:
        return so_far + 1;
    case MODEL_NONE:
    case MODEL_CONCAT:
    case MODEL_UNION:
    case MODEL_TOTAL:
        break;
    }
    return 0;
}

/* Check that each wave has one value, the right one. */
static char *check_reduced_waves(struct model *model)
{
    size_t i = 0;
    size_t k = 0;

    while (i < model->sent.count &&
           is_synced(model, model->sent.list[i].sequence)) {
        uint64_t sequence = model->sent.list[i].sequence;
        int64_t expected = 0;
        uint32_t count = 0;

        for (;
             i < model->sent.count && model->sent.list[i].sequence == sequence;
             i++, count++)
            expected =
                reduce(model->filter, expected, model->sent.list[i].value);
        if (k == model->taken.count ||
            model->taken.list[k].sequence != sequence)
            return memory_format("wave %" PRIx64
                                 " of %u back-ends has not come",
                                 sequence, count);
        if (model->taken.list[k].value != expected ||
            model->taken.list[k].contributors != count)
            return memory_format(
                "wave %" PRIx64 " is %d of %u back-ends, not %" PRId64 " of %u",
                sequence, model->taken.list[k].value,
                model->taken.list[k].contributors, expected, count);
        k++;
    }
    if (k < model->taken.count &&
        is_synced(model, model->taken.list[k].sequence))
        return memory_format("wave %" PRIx64 " has come, and nobody sent it",
                             model->taken.list[k].sequence);
    return NULL;
}

/* Check that every value is in its epoch, and, if aligned, in its wave. */
static char *check_values(struct model *model, bool by_wave)
{
    size_t i = 0;

    for (; i < model->sent.count &&
           is_synced(model, model->sent.list[i].sequence);
         i++) {
        const struct model_value *sent = &model->sent.list[i];
        const struct model_value *taken = &model->taken.list[i];

        if (i >= model->taken.count || taken->value != sent->value ||
            epoch_of(taken->sequence) != epoch_of(sent->sequence) ||
            (by_wave && taken->sequence != sent->sequence))
            return memory_format("%d, sent by %u in wave %" PRIx64
                                 ", is not what was taken",
                                 sent->value, sent->rank, sent->sequence);
    }
    if (i < model->taken.count &&
        is_synced(model, model->taken.list[i].sequence))
        return memory_format(
            "%d was taken in wave %" PRIx64 ", and was not sent, or more often",
            model->taken.list[i].value, model->taken.list[i].sequence);
    return NULL;
}

/* Check the values of each epoch together, and their contributors: a node never
 * mixes epochs under one number (PROTOCOL 4.6). */
static char *check_totals(struct model *model)
{
    size_t i = 0;
    size_t k = 0;

    for (uint64_t epoch = 0; epoch < model->epochs; epoch++) {
        size_t first = i;
        int64_t sent = 0;
        int64_t taken = 0;
        uint64_t contributors = 0;

        for (; i < model->sent.count &&
               epoch_of(model->sent.list[i].sequence) == epoch;
             i++)
            sent = reduce(model->filter, sent, model->sent.list[i].value);
        for (; k < model->taken.count &&
               epoch_of(model->taken.list[k].sequence) == epoch;
             k++) {
            /* Counts add up, as sums do. */
            taken =
                reduce(model->filter == MODEL_COUNT ? MODEL_SUM : model->filter,
                       taken, model->taken.list[k].value);
            contributors += model->taken.list[k].contributors;
        }
        if (sent != taken || contributors != i - first)
            return memory_format("all together of epoch %" PRIu64 " is %" PRId64
                                 " of %" PRIu64 " packets, not %" PRId64
                                 " of %zu",
                                 epoch, taken, contributors, sent, i - first);
    }
    return NULL;
}

char *model_check_all(struct model *model)
{
    bool aligned = model->sync == COP_WAIT_FOR_ALL;

    sort_all(model, aligned ? by_wave : by_epoch);
    if (!is_reduced(model))
        return check_values(model, aligned);
    return aligned ? check_reduced_waves(model) : check_totals(model);
}

/* Whether this value must be among the values taken. */
static bool is_due(const struct model *model,
                   const struct model_value *sent,
                   const struct ranks *living,
                   const struct ranks *torn)
{
    uint64_t epoch = epoch_of(sent->sequence);

    if (!ranks_has(living, sent->rank) || epoch >= model->epochs)
        return false;
    return !torn || !ranks_has(torn, sent->rank) || epoch >= MODEL_EPOCHS ||
           !(model->lossy[epoch] ||
             (epoch > 0 && sent->sent_in < model->given_up[epoch - 1]));
}

/* Check that the result is between that of values due and of all values. */
static char *check_between(const struct model *model,
                           const struct ranks *living,
                           const struct ranks *torn)
{
    uint64_t least = 0;
    uint64_t contributors = 0;
    int64_t least_sum = 0;
    int64_t most_sum = 0;
    int64_t sum = 0;

    for (size_t i = 0; i < model->sent.count; i++) {
        bool due = is_due(model, &model->sent.list[i], living, torn);

        least += due;
        least_sum += due ? model->sent.list[i].value : 0;
        most_sum += model->sent.list[i].value;
    }
    for (size_t i = 0; i < model->taken.count; i++) {
        contributors += model->taken.list[i].contributors;
        sum += model->taken.list[i].value;
    }
    if (contributors < least || contributors > model->sent.count)
        return memory_format(
            "%" PRIu64 " packets are in what was taken, not %" PRIu64 " to %zu",
            contributors, least, model->sent.count);
    if (model->filter == MODEL_COUNT && sum != (int64_t)contributors)
        return memory_format("the count is %" PRId64 " of %" PRIu64 " packets",
                             sum, contributors);
    if (model->filter == MODEL_SUM && (sum < least_sum || sum > most_sum))
        return memory_format("the sum is %" PRId64 ", not %" PRId64
                             " to %" PRId64,
                             sum, least_sum, most_sum);
    return NULL;
}

/* If every value goes up unchanged, contributors must equal values. */
static char *check_contributors(const struct model *model)
{
    uint64_t contributors = 0;

    for (size_t i = 0; i < model->taken.count; i++)
        contributors += model->taken.list[i].contributors;
    if (model->filter != MODEL_UNION && contributors != model->taken.count)
        return memory_format("%" PRIu64 " packets are in %zu values",
                             contributors, model->taken.count);
    if (contributors > model->sent.count)
        return memory_format("%" PRIu64
                             " packets are in what was taken, of %zu",
                             contributors, model->sent.count);
    return NULL;
}

char *model_check_living(struct model *model,
                         const struct ranks *living,
                         const struct ranks *torn)
{
    size_t k = 0;

    if (is_reduced(model))
        return check_between(model, living, torn);
    sort_all(model, by_value);
    for (size_t i = 0; i < model->sent.count; i++) {
        const struct model_value *sent = &model->sent.list[i];

        if (k < model->taken.count && model->taken.list[k].value < sent->value)
            return memory_format(
                "%d was taken, and was not sent, or more often",
                model->taken.list[k].value);
        if (k < model->taken.count &&
            model->taken.list[k].value == sent->value) {
            /* A union may hold a value that several have sent. */
            if (model->filter != MODEL_UNION || i + 1 == model->sent.count ||
                sent[1].value != sent->value)
                k++;
            continue;
        }
        if (is_due(model, sent, living, torn))
            return memory_format("%d, sent by %u in wave %" PRIx64
                                 ", which lives, was not taken",
                                 sent->value, sent->rank, sent->sequence);
    }
    if (k < model->taken.count)
        return memory_format("%d was taken, and was not sent, or more often",
                             model->taken.list[k].value);
    return check_contributors(model);
}

void model_fini(struct model *model)
{
    free(model->sent.list);
    free(model->taken.list);
    *model = (struct model){0};
}
