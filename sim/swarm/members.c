/* members.c - the packets that the back-ends of a world send. */
#include "sim/swarm/members.h"

#include <stdlib.h>

#include "sim/swarm/wholeness.h"
#include "wire/packet.h"

#define TRAFFIC_FILLED 1000 /* fillers in a united array */

/* The sum of all answers must fit 32 bits. */
#define TRAFFIC_SUM_RANKS 1024

/* Unrequested values are at least this. If values are summed, they are below
 * TRAFFIC_ANSWERS instead, and answers are not. */
#define TRAFFIC_UNASKED (INT32_C(1) << 28)
#define TRAFFIC_TIMES   64

const char traffic_ballast[TRAFFIC_BIG];

int members_read(const struct frame *frame, uint32_t *number, uint32_t *count)
{
    struct cop_packet *packet;
    const char *bytes;
    uint32_t len;
    int r;

    r = packet_open(&packet, frame->payload);
    if (r < 0)
        return r;
    r = cop_packet_unpack(packet, "%ud %ud %ac", number, count, &bytes, &len);
    cop_packet_free(packet);
    return r;
}

/* The ballast of a packet on a stream of whole waves. */
static uint32_t exact_weight(const struct traffic_stream *stream)
{
    if (stream->big)
        return stream->model.filter == MODEL_CONCAT ? 0 : TRAFFIC_BIG;
    return stream->large ? TRAFFIC_LARGE : 0;
}

/* A packet with only its value, in the form that the filter takes. */
static struct payload *pack_small(const struct traffic_stream *stream,
                                  int32_t value)
{
    struct payload *payload = NULL;
    int32_t values[2] = {value, value % 50};
    int r;

    if (stream->model.filter == MODEL_UNION)
        r = packet_pack(&payload, "%ad", values, UINT32_C(2));
    else if (stream->large && stream->model.filter == MODEL_CONCAT)
        r = packet_pack(&payload, "%d %ac", value, traffic_ballast,
                        UINT32_C(0));
    else
        r = packet_pack(&payload, "%d", value);
    return r < 0 ? NULL : payload;
}

static struct payload *pack_answer(struct traffic_stream *stream,
                                   uint32_t rank,
                                   int32_t value)
{
    struct payload *payload = NULL;
    int32_t values[2 + TRAFFIC_FILLED] = {value, value % 50};
    uint32_t count = 2;
    int r;

    if (stream->exact || stream->waves_only)
        return answers_pack(&stream->answers, rank, stream->serials[rank]++,
                            stream->exact ? exact_weight(stream) : 0);
    for (; stream->large && count < 2 + TRAFFIC_FILLED; count++)
        values[count] = model_filler((uint32_t)value * TRAFFIC_FILLED + count);
    if (stream->model.filter == MODEL_UNION)
        r = packet_pack(&payload, "%ad", values, count);
    else if (stream->large && stream->model.filter == MODEL_CONCAT)
        r = packet_pack(&payload, "%d %ac", value, traffic_ballast,
                        (uint32_t)TRAFFIC_LARGE);
    else if (stream->big && stream->model.filter == MODEL_NONE)
        r = packet_pack(&payload, "%d %ac", value, traffic_ballast,
                        (uint32_t)TRAFFIC_BIG);
    else
        return pack_small(stream, value);
    return r < 0 ? NULL : payload;
}

/* Have a member of a stream of totals send its next item, if any is left. */
static void post_item(struct sim *sim,
                      uint32_t index,
                      struct traffic_stream *stream)
{
    struct payload *item = ledger_post(&stream->ledger, sim_rank(sim, index));

    if (item)
        sim_post(sim, index, stream->id, 100, item);
}

/* Send answers. Each value is sent only once, unless values are summed. */
void traffic_answer(struct traffic *traffic,
                    struct sim *sim,
                    uint32_t index,
                    uint32_t id,
                    const struct frame *frame)
{
    struct traffic_stream *stream = traffic_stream(traffic, id);
    uint32_t rank = sim_rank(sim, index);
    uint32_t own = rank;
    uint32_t number = 0;
    uint32_t count = 0;

    if (!stream)
        return;
    if (members_read(frame, &number, &count) < 0)
        sim_fail(sim, "%u took a packet that nobody sent", rank);
    if (stream->uneven)
        count = (count + rank) % 4;
    if (stream->model.filter == MODEL_SUM)
        own %= TRAFFIC_SUM_RANKS;
    for (uint32_t i = 0; i < count && i < TRAFFIC_ANSWERS; i++) {
        uint32_t value = (own * TRAFFIC_PACKETS + number) * TRAFFIC_ANSWERS + i;

        if (traffic_is_total(stream))
            post_item(sim, index, stream);
        else
            sim_post(sim, index, id, 100,
                     pack_answer(stream, rank, (int32_t)value));
    }
    if (stream->exact && count > 0)
        stream->due[rank] = stream->serials[rank];
}

/* Nodes in the order of the tree's text, joiners last, so that the trace of a
 * seed stays unchanged. */
static uint32_t node_at(const struct sim *sim, uint32_t place)
{
    const struct tree *tree = sim_tree(sim);

    if (place < tree->count)
        return tree->nodes[place].rank;
    return tree_next_rank(tree) + place - (uint32_t)tree->count;
}

/* Whether a send would block the application, perhaps for ever: its waves wait
 * for members that send nothing. */
static bool would_wait(const struct traffic_stream *stream,
                       const struct sim *sim,
                       uint32_t index)
{
    return stream->model.sync == COP_WAIT_FOR_ALL &&
           !node_has_room(sim_node(sim, index), stream->id, TRAFFIC_MOST);
}

/* Have each chosen member that is not waiting for credit send once more. */
static void chatter(struct sim *sim, void *arg)
{
    struct traffic_stream *stream = arg;

    if (stream->times == 0 || stream->closing || stream->closed ||
        stream->epoch >= MODEL_EPOCHS)
        return;
    stream->times--;
    for (uint32_t k = 1; node_at(sim, k) < sim_count(sim); k++) {
        uint32_t i = node_at(sim, k);
        uint32_t rank = sim_rank(sim, i);
        int32_t value =
            TRAFFIC_UNASKED + (int32_t)(rank * TRAFFIC_TIMES + stream->times);

        if (!sim_is_alive(sim, i) || sim_is_frozen(sim, i) ||
            sim_role(sim, i) != NODE_BACKEND || rank == RANK_NONE ||
            !ranks_has(stream->chatterers, rank) || sim_unsent(sim, i) > 0 ||
            exact_is_full(stream, sim, i) || would_wait(stream, sim, i))
            continue;
        if (stream->model.filter == MODEL_SUM)
            value = (int32_t)(stream->times % TRAFFIC_ANSWERS);
        if (traffic_is_total(stream))
            post_item(sim, i, stream);
        else
            sim_post(sim, i, stream->id, 100,
                     stream->exact || stream->waves_only
                         ? pack_answer(stream, rank, value)
                         : pack_small(stream, value));
    }
    sim_at(sim, sim_now_ms(sim) + stream->every_ms, chatter, stream);
}

bool traffic_chatter(struct traffic *traffic,
                     struct sim *sim,
                     const struct schedule_step *step)
{
    struct traffic_stream *stream = traffic_named(traffic, step);

    if (!stream || stream->every_ms > 0)
        return false;
    stream->every_ms = step->numbers[1] ? step->numbers[1] : 1;
    stream->times =
        step->numbers[2] < TRAFFIC_TIMES ? step->numbers[2] : TRAFFIC_TIMES;
    stream->chatterers = &step->members;
    sim_at(sim, sim_now_ms(sim) + stream->every_ms, chatter, stream);
    return true;
}

void traffic_hush(struct traffic *traffic)
{
    for (uint32_t i = 0; i < traffic->count; i++)
        traffic->streams[i].times = 0;
}

/* Whether no answer has this value. */
static bool is_unasked(int32_t value)
{
    return value >= TRAFFIC_UNASKED || value < TRAFFIC_ANSWERS;
}

/* The number of the sync that must cover what back-end `index` sends now. For
 * an answer, the question gives it. */
static uint32_t epoch_now(const struct traffic_stream *stream,
                          const struct sim *sim,
                          uint32_t index)
{
    uint32_t now = node_epoch(sim_node(sim, index), stream->id);
    uint32_t epoch = 0;

    while (epoch < stream->epoch && epoch < MODEL_EPOCHS &&
           stream->begun[epoch] <= now)
        epoch++;
    return epoch;
}

/* The wave of the packet that back-end `index` has just sent. */
static uint64_t wave_sent(struct traffic_stream *stream,
                          struct sim *sim,
                          uint32_t index)
{
    uint32_t rank = sim_rank(sim, index);
    uint32_t epoch = node_epoch(sim_node(sim, index), stream->id);

    if (stream->begins[rank] == 0)
        stream->begins[rank] = 1 + epoch;
    if (stream->wave_epochs[rank] != epoch)
        stream->wave_counts[rank] = 0;
    stream->wave_epochs[rank] = epoch;
    return ((uint64_t)epoch << PACKET_WAVE_BITS) + ++stream->wave_counts[rank];
}

/* Record a packet of a stream of whole waves or one of waves only. */
static void answer_sent(struct traffic_stream *stream,
                        struct sim *sim,
                        uint32_t index,
                        const struct frame *frame)
{
    uint32_t rank = sim_rank(sim, index);
    uint64_t wave = wave_sent(stream, sim, index);
    bool joined = !ranks_has(&stream->members, rank);
    const char *wrong =
        answers_send(&stream->answers, wave, frame,
                     joined && stream->begins[rank] ==
                                   1 + (uint32_t)(wave >> PACKET_WAVE_BITS));

    if (wrong)
        sim_fail(sim, "stream %u: %s", stream->id, wrong);
}

/* Record a back-end's packet with the wave that it must be in. */
void traffic_sent(struct traffic *traffic,
                  struct sim *sim,
                  uint32_t index,
                  uint32_t id,
                  const struct frame *frame)
{
    struct traffic_stream *stream = traffic_stream(traffic, id);
    uint32_t rank = sim_rank(sim, index);
    struct cop_packet *packet;
    struct cop_value value;
    uint32_t epoch, sent, answers;

    if (index == 0 && stream && members_read(frame, &sent, &answers) == 0) {
        stream->given = sent;
        stream->is_given[sent] = true;
        stream->sent_in[sent] = node_epoch(sim_node(sim, 0), id);
    }
    if (index > 0 && stream)
        ranks_add(&stream->senders, rank, rank);
    if (index > 0 && stream && traffic_is_total(stream)) {
        ledger_give(&stream->ledger, rank, frame,
                    epoch_now(stream, sim, index));
        return;
    }
    if (index > 0 && stream && (stream->exact || stream->waves_only)) {
        answer_sent(stream, sim, index, frame);
        return;
    }
    if (index == 0 || !stream || packet_open(&packet, frame->payload) < 0)
        return;
    if (cop_packet_value(packet, 0, &value) == 0) {
        const int32_t *values = value.data;
        uint32_t number =
            (uint32_t)values[0] / TRAFFIC_ANSWERS % TRAFFIC_PACKETS;

        epoch = is_unasked(values[0]) ? epoch_now(stream, sim, index)
                                      : stream->epoch_of[number];
        if (stream->answered_epoch[rank] != epoch)
            stream->answered[rank] = 0;
        stream->answered_epoch[rank] = epoch;
        stream->answered[rank]++;
        for (uint64_t i = 0; i < value.count && i < 2; i++)
            model_send(&stream->model, rank,
                       ((uint64_t)epoch << PACKET_WAVE_BITS) +
                           stream->answered[rank],
                       node_epoch(sim_node(sim, index), id), values[i]);
    }
    cop_packet_free(packet);
}
