/* model.c - what should arrive on one stream. */
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

/* Fillers are as large as this, values are not. */
#define MODEL_FILLER (INT32_C(1) << 29)

int32_t model_filler(uint32_t number)
{
    return MODEL_FILLER + (int32_t)(number % MODEL_FILLER);
}

const char *model_filter_name(enum model_filter filter)
{
    return names[filter];
}

void model_send(struct model *model,
                uint32_t rank,
                uint64_t sequence,
                int32_t value)
{
    struct model_sent *sent;

    memory_grow(&model->sent, &model->sent_room, model->sent_count,
                sizeof(*sent));
    sent = &model->sent[model->sent_count++];
    *sent = (struct model_sent){rank, sequence, value};
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
        struct model_taken *taken;

        if (((const int32_t *)value.data)[i] >= MODEL_FILLER)
            continue;
        memory_grow(&model->taken, &model->taken_room, model->taken_count,
                    sizeof(*taken));
        taken = &model->taken[model->taken_count++];
        taken->sequence = frame->wave;
        taken->value = ((const int32_t *)value.data)[i];
        taken->contributors = i == 0 ? frame->contributors : 0;
    }
    cop_packet_free(packet);
    return r;
}

/* ---- order ---- */

static int by_number(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int sent_by_wave(const void *left, const void *right)
{
    const struct model_sent *a = left;
    const struct model_sent *b = right;

    return a->sequence != b->sequence
               ? by_number(a->sequence, b->sequence)
               : (a->value > b->value) - (a->value < b->value);
}

static int sent_by_value(const void *left, const void *right)
{
    const struct model_sent *a = left;
    const struct model_sent *b = right;

    return (a->value > b->value) - (a->value < b->value);
}

static int taken_by_wave(const void *left, const void *right)
{
    const struct model_taken *a = left;
    const struct model_taken *b = right;

    return a->sequence != b->sequence
               ? by_number(a->sequence, b->sequence)
               : (a->value > b->value) - (a->value < b->value);
}

static int taken_by_value(const void *left, const void *right)
{
    const struct model_taken *a = left;
    const struct model_taken *b = right;

    return (a->value > b->value) - (a->value < b->value);
}

static uint64_t epoch_of(uint64_t sequence)
{
    return sequence >> PACKET_WAVE_BITS;
}

static int sent_by_epoch(const void *left, const void *right)
{
    const struct model_sent *a = left;
    const struct model_sent *b = right;
    uint64_t a_epoch = epoch_of(a->sequence), b_epoch = epoch_of(b->sequence);

    return a_epoch != b_epoch ? by_number(a_epoch, b_epoch)
                              : sent_by_value(left, right);
}

static int taken_by_epoch(const void *left, const void *right)
{
    const struct model_taken *a = left;
    const struct model_taken *b = right;
    uint64_t a_epoch = epoch_of(a->sequence), b_epoch = epoch_of(b->sequence);

    return a_epoch != b_epoch ? by_number(a_epoch, b_epoch)
                              : taken_by_value(left, right);
}

typedef int (*model_order)(const void *left, const void *right);

static void sort_all(struct model *model, model_order sent, model_order taken)
{
    if (model->sent_count > 1)
        qsort(model->sent, model->sent_count, sizeof(*model->sent), sent);
    if (model->taken_count > 1)
        qsort(model->taken, model->taken_count, sizeof(*model->taken), taken);
}

/* Whether a sync has covered what has that number. */
static bool is_synced(const struct model *model, uint64_t sequence)
{
    return epoch_of(sequence) < model->epochs;
}

/* ---- checking ---- */

/* Whether one packet goes up for a whole wave, with one value. */
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

/* One value for each wave. */
static char *check_reduced_waves(struct model *model)
{
    size_t i = 0;
    size_t k = 0;

    while (i < model->sent_count && is_synced(model, model->sent[i].sequence)) {
        uint64_t sequence = model->sent[i].sequence;
        int64_t expected = 0;
        uint32_t count = 0;

        for (; i < model->sent_count && model->sent[i].sequence == sequence;
             i++, count++)
            expected = reduce(model->filter, expected, model->sent[i].value);
        if (k == model->taken_count || model->taken[k].sequence != sequence)
            return memory_format("wave %" PRIx64
                                 " of %u back-ends has not come",
                                 sequence, count);
        if (model->taken[k].value != expected ||
            model->taken[k].contributors != count)
            return memory_format(
                "wave %" PRIx64 " is %d of %u back-ends, not %" PRId64 " of %u",
                sequence, model->taken[k].value, model->taken[k].contributors,
                expected, count);
        k++;
    }
    if (k < model->taken_count && is_synced(model, model->taken[k].sequence))
        return memory_format("wave %" PRIx64 " has come, and nobody sent it",
                             model->taken[k].sequence);
    return NULL;
}

/* Every value, in its epoch, and in its wave if waves are aligned. */
static char *check_values(struct model *model, bool by_wave)
{
    size_t i = 0;

    for (; i < model->sent_count && is_synced(model, model->sent[i].sequence);
         i++) {
        const struct model_sent *sent = &model->sent[i];
        const struct model_taken *taken = &model->taken[i];

        if (i >= model->taken_count || taken->value != sent->value ||
            epoch_of(taken->sequence) != epoch_of(sent->sequence) ||
            (by_wave && taken->sequence != sent->sequence))
            return memory_format("%d, sent by %u in wave %" PRIx64
                                 ", is not what was taken",
                                 sent->value, sent->rank, sent->sequence);
    }
    if (i < model->taken_count && is_synced(model, model->taken[i].sequence))
        return memory_format("%d was taken in wave %" PRIx64
                             ", and was not sent, or more often",
                             model->taken[i].value, model->taken[i].sequence);
    return NULL;
}

/* All values of each epoch together, and all contributors: what a node passes
 * on under one number is of one epoch (PROTOCOL 4.6). */
static char *check_totals(struct model *model)
{
    size_t i = 0;
    size_t k = 0;

    for (uint64_t epoch = 0; epoch < model->epochs; epoch++) {
        size_t first = i;
        int64_t sent = 0;
        int64_t taken = 0;
        uint64_t contributors = 0;

        for (; i < model->sent_count &&
               epoch_of(model->sent[i].sequence) == epoch;
             i++)
            sent = reduce(model->filter, sent, model->sent[i].value);
        for (; k < model->taken_count &&
               epoch_of(model->taken[k].sequence) == epoch;
             k++) {
            /* Counts add up, as sums do. */
            taken =
                reduce(model->filter == MODEL_COUNT ? MODEL_SUM : model->filter,
                       taken, model->taken[k].value);
            contributors += model->taken[k].contributors;
        }
        if (sent != taken || contributors != i - first)
            return memory_format("all together of epoch %" PRIu64 " is %" PRId64
                                 " of %" PRIu64 " packets, not %" PRId64
                                 " of %zu",
                                 epoch, taken, contributors, sent, i - first);
    }
    return NULL;
}

/* The sets are the same; both lists are sorted by value. */
static char *check_union(struct model *model)
{
    size_t k = 0;

    for (size_t i = 0; i < model->sent_count; i++) {
        if (!is_synced(model, model->sent[i].sequence))
            continue;
        while (k < model->taken_count &&
               model->taken[k].value < model->sent[i].value)
            k++;
        if (k == model->taken_count ||
            model->taken[k].value != model->sent[i].value)
            return memory_format("%d, sent by %u, is not in the union",
                                 model->sent[i].value, model->sent[i].rank);
    }
    return NULL;
}

char *model_check_all(struct model *model)
{
    bool aligned = model->sync == COP_WAIT_FOR_ALL;

    if (model->filter == MODEL_UNION) {
        sort_all(model, sent_by_value, taken_by_value);
        return check_union(model);
    }
    if (aligned)
        sort_all(model, sent_by_wave, taken_by_wave);
    else
        sort_all(model, sent_by_epoch, taken_by_epoch);
    if (!is_reduced(model))
        return check_values(model, aligned);
    return aligned ? check_reduced_waves(model) : check_totals(model);
}

/* Whether this must be in what was taken. */
static bool is_due(const struct model *model,
                   const struct model_sent *sent,
                   const struct ranks *living,
                   const struct ranks *torn)
{
    uint64_t epoch = epoch_of(sent->sequence);

    if (!ranks_has(living, sent->rank) || epoch >= model->epochs)
        return false;
    return !torn || !ranks_has(torn, sent->rank) || epoch >= MODEL_EPOCHS ||
           !model->lossy[epoch];
}

/* What was reduced lies between what is due and what all sent. */
static char *check_between(const struct model *model,
                           const struct ranks *living,
                           const struct ranks *torn)
{
    uint64_t least = 0;
    uint64_t contributors = 0;
    int64_t least_sum = 0;
    int64_t most_sum = 0;
    int64_t sum = 0;

    for (size_t i = 0; i < model->sent_count; i++) {
        bool due = is_due(model, &model->sent[i], living, torn);

        least += due;
        least_sum += due ? model->sent[i].value : 0;
        most_sum += model->sent[i].value;
    }
    for (size_t i = 0; i < model->taken_count; i++) {
        contributors += model->taken[i].contributors;
        sum += model->taken[i].value;
    }
    if (contributors < least || contributors > model->sent_count)
        return memory_format(
            "%" PRIu64 " packets are in what was taken, not %" PRIu64 " to %zu",
            contributors, least, model->sent_count);
    if (model->filter == MODEL_COUNT && sum != (int64_t)contributors)
        return memory_format("the count is %" PRId64 " of %" PRIu64 " packets",
                             sum, contributors);
    if (model->filter == MODEL_SUM && (sum < least_sum || sum > most_sum))
        return memory_format("the sum is %" PRId64 ", not %" PRId64
                             " to %" PRId64,
                             sum, least_sum, most_sum);
    return NULL;
}

/* Where every value goes up as it is, a contributor is a value. */
static char *check_contributors(const struct model *model)
{
    uint64_t contributors = 0;

    for (size_t i = 0; i < model->taken_count; i++)
        contributors += model->taken[i].contributors;
    if (model->filter != MODEL_UNION && contributors != model->taken_count)
        return memory_format("%" PRIu64 " packets are in %zu values",
                             contributors, model->taken_count);
    if (contributors > model->sent_count)
        return memory_format("%" PRIu64
                             " packets are in what was taken, of %zu",
                             contributors, model->sent_count);
    return NULL;
}

char *model_check_living(struct model *model,
                         const struct ranks *living,
                         const struct ranks *torn)
{
    size_t k = 0;

    if (is_reduced(model))
        return check_between(model, living, torn);
    sort_all(model, sent_by_value, taken_by_value);
    for (size_t i = 0; i < model->sent_count; i++) {
        const struct model_sent *sent = &model->sent[i];

        if (k < model->taken_count && model->taken[k].value < sent->value)
            return memory_format(
                "%d was taken, and was not sent, or more often",
                model->taken[k].value);
        if (k < model->taken_count && model->taken[k].value == sent->value) {
            /* A union may hold a value that several have sent. */
            if (model->filter != MODEL_UNION || i + 1 == model->sent_count ||
                sent[1].value != sent->value)
                k++;
            continue;
        }
        if (is_due(model, sent, living, torn))
            return memory_format("%d, sent by %u in wave %" PRIx64
                                 ", which lives, was not taken",
                                 sent->value, sent->rank, sent->sequence);
    }
    if (k < model->taken_count)
        return memory_format("%d was taken, and was not sent, or more often",
                             model->taken[k].value);
    return check_contributors(model);
}

void model_fini(struct model *model)
{
    free(model->sent);
    free(model->taken);
    *model = (struct model){0};
}
