/* traffic.c - the streams of one world. */
#include "sim/swarm/traffic.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"
#include "sim/swarm/members.h"
#include "sim/swarm/wholeness.h"
#include "wire/limits.h"
#include "wire/packet.h"

/* How long FAIL may take to reach all nodes: a tree has at most 12 levels, a
 * link delays by at most 23 ms, and a node that crashes stops 43 ms before. */
#define TRAFFIC_FAIL_MS 400

/* The most redos that one wave may begin; there are more failures than that. */
#define TRAFFIC_REDOS 200

struct traffic_stream *traffic_stream(struct traffic *traffic, uint32_t id)
{
    for (uint32_t i = 0; i < traffic->count; i++)
        if (traffic->streams[i].id == id)
            return &traffic->streams[i];
    return NULL;
}

struct traffic_stream *traffic_named(struct traffic *traffic,
                                     const struct schedule_step *step)
{
    for (uint32_t i = 0; i < traffic->count; i++)
        if (traffic->streams[i].number == step->numbers[0] &&
            !traffic->streams[i].closing && !traffic->streams[i].closed)
            return &traffic->streams[i];
    return NULL;
}

/* The bytes that one of `children` may send before it needs credit (PROTOCOL
 * 3.4). */
static uint64_t window_of(const struct traffic *traffic, uint64_t children)
{
    uint64_t window = traffic->budget ? traffic->budget : LIMIT_STREAM_BUDGET;

    window /= children ? children : 1;
    if (window > LIMIT_WINDOW_MAX)
        return LIMIT_WINDOW_MAX;
    return window < LIMIT_WINDOW_MIN ? LIMIT_WINDOW_MIN : window;
}

enum traffic_kind traffic_kind(const struct traffic_stream *stream)
{
    if (stream->exact)
        return TRAFFIC_WHOLE;
    if (traffic_is_total(stream))
        return TRAFFIC_TOTAL;
    return stream->model.filter == MODEL_MAX ||
                   stream->model.filter == MODEL_UNION
               ? TRAFFIC_RECOVERABLE
               : TRAFFIC_PLAIN;
}

bool traffic_is_total(const struct traffic_stream *stream)
{
    return stream->model.filter == MODEL_TOTAL;
}

/* ---- the front-end's side ---- */

static void make_room(struct traffic_stream *stream, uint32_t count)
{
    uint32_t **lists[] = {
        &stream->first,          &stream->last,        &stream->answered,
        &stream->answered_epoch, &stream->told_closed, &stream->serials,
        &stream->begins,         &stream->wave_epochs, &stream->wave_counts,
        &stream->entered,        &stream->due};

    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        *lists[i] = memory_new(count * sizeof(**lists[i]));
}

/* A stream is to be opened with a downstream filter, and with answers of which
 * its filter makes more than a small window holds; as an exact one, as one of
 * waves only, or with a node that refuses its parameters. */
static bool prepare_stream(struct traffic *traffic,
                           const struct schedule_step *step)
{
    uint32_t number = step->numbers[0];

    if (number > TRAFFIC_STREAMS)
        return false;
    if (step->verb == SCHEDULE_WITH) {
        traffic->down[number] = step->numbers[1];
        traffic->large[number] = step->numbers[2];
    } else if (step->verb == SCHEDULE_ANSWERS) {
        traffic->is_waves_only[number] = true;
    } else if (step->verb == SCHEDULE_REFUSE) {
        traffic->refuses[number] = true;
        traffic->refusers[number] = step->numbers[1];
    } else {
        traffic->is_exact[number] = true;
        traffic->keeps[number] = step->numbers[1];
    }
    return true;
}

static bool open_stream(struct traffic *traffic,
                        struct sim *sim,
                        const struct schedule_step *step)
{
    struct traffic_stream *stream = &traffic->streams[traffic->count];
    const uint32_t *numbers = step->numbers;
    const struct ranks *all = node_backends(sim_node(sim, 0));
    char up[32];
    char none[] = "";
    char down[] = "count"; /* passes packets down unchanged */
    bool listed = numbers[0] <= TRAFFIC_STREAMS;
    struct stream_definition definition = {
        .up_filter = up,
        .up_filter_frontend = none,
        .up_filter_backend = none,
        .down_filter = listed && traffic->down[numbers[0]] ? down : none,
        .wave_timeout_ms = numbers[3],
    };
    int r;

    if (traffic->count == TRAFFIC_STREAMS || numbers[1] >= MODEL_FILTERS ||
        numbers[2] > COP_TIME_OUT || ranks_size(all) == 0)
        return false;
    *stream = (struct traffic_stream){
        .number = numbers[0],
        .uneven = numbers[4],
        .big = numbers[5],
        .large = listed && traffic->large[numbers[0]],
        .grow = numbers[6],
        .refuses = listed && traffic->refuses[numbers[0]],
        .refuser = listed ? traffic->refusers[numbers[0]] : 0,
        .model = {.filter = (enum model_filter)numbers[1],
                  .sync = (enum cop_sync)numbers[2]},
    };
    if (listed && traffic->is_exact[numbers[0]] &&
        stream->model.sync == COP_WAIT_FOR_ALL) {
        stream->exact = true;
        stream->keep = traffic->keeps[numbers[0]];
        stream->least_window = window_of(traffic, sim_count(sim));
        definition.kind = STREAM_WAVES;
        definition.keep = stream->keep;
        definition.redo_limit = TRAFFIC_REDOS;
    }
    if (listed && traffic->is_waves_only[numbers[0]] && !stream->exact &&
        stream->model.sync == COP_WAIT_FOR_ALL &&
        (stream->model.filter == MODEL_SUM ||
         stream->model.filter == MODEL_CONCAT)) {
        stream->waves_only = true;
        definition.waves_only = true;
    }
    stream->answers.exact = stream->exact;
    stream->answers.room =
        stream->model.filter == MODEL_SUM ? traffic->rank_count : 0;
    make_room(stream, traffic->rank_count);
    ledger_init(&stream->ledger, traffic->rank_count);
    ranks_copy(&stream->members, all);
    if (ranks_meet(&step->members, all))
        ranks_intersect(&stream->members, &step->members);
    snprintf(up, sizeof(up), "%s",
             model_filter_name(
                 traffic_is_total(stream) ? MODEL_SUM : stream->model.filter));
    if (traffic_is_total(stream))
        definition.kind = STREAM_TOTAL;
    definition.sync = stream->model.sync;
    definition.grow = stream->grow;
    definition.members = stream->members;
    traffic->count++;
    r = sim_open(sim, &definition, &stream->id);
    if (r < 0)
        sim_fail(sim, "open: %s", strerror(-r));
    return r == 0;
}

static struct payload *pack_down(const struct traffic_stream *stream,
                                 uint32_t number,
                                 uint32_t answers)
{
    struct payload *payload = NULL;

    packet_pack(&payload, "%ud %ud %ac", number, answers, traffic_ballast,
                (uint32_t)(stream->big ? TRAFFIC_BIG : 0));
    return payload;
}

static bool send_down(struct traffic_stream *stream,
                      struct sim *sim,
                      uint32_t answers)
{
    if (stream->sent_down + 1 >= TRAFFIC_PACKETS)
        return false;
    stream->sent_down++;
    stream->epoch_of[stream->sent_down] = stream->epoch;
    sim_post(sim, 0, stream->id, 100,
             pack_down(stream, stream->sent_down, answers));
    return true;
}

/* Send a packet for those of the step's members that are members now. */
static bool send_to(struct traffic_stream *stream,
                    struct sim *sim,
                    const struct schedule_step *step)
{
    const struct ranks *now = node_members(sim_node(sim, 0), stream->id);
    uint32_t number = stream->sent_down + 1, rank = RANK_NONE;
    struct ranks to = {0};
    uint32_t *list;
    size_t count = 0;
    int r = -ENODEV;

    if (number >= TRAFFIC_PACKETS || sim_unsent(sim, 0) > 0 || !now ||
        stream->model.sync == COP_WAIT_FOR_ALL)
        return false;
    ranks_copy(&to, now);
    ranks_intersect(&to, &step->members);
    list = memory_new((ranks_size(&to) + 1) * sizeof(*list));
    while ((rank = ranks_after(&to, rank)) != RANK_NONE)
        list[count++] = rank;
    stream->epoch_of[number] = stream->epoch;
    if (count > 0)
        r = sim_send_to(sim, stream->id, list, count,
                        pack_down(stream, number, step->numbers[1]));
    free(list);
    if (r < 0) {
        ranks_fini(&to);
        return false;
    }
    stream->sent_down = number;
    stream->to[number] = to;
    return true;
}

bool traffic_take(struct traffic *traffic,
                  struct sim *sim,
                  const struct schedule_step *step)
{
    struct traffic_stream *stream;
    uint32_t number = step->numbers[1];

    if (step->verb == SCHEDULE_WITH || step->verb == SCHEDULE_EXACT ||
        step->verb == SCHEDULE_ANSWERS || step->verb == SCHEDULE_REFUSE)
        return prepare_stream(traffic, step);
    if (step->verb == SCHEDULE_OPEN)
        return open_stream(traffic, sim, step);
    stream = traffic_named(traffic, step);
    if (!stream)
        return false;
    if (step->verb == SCHEDULE_SEND)
        return send_down(stream, sim, number);
    if (step->verb == SCHEDULE_SEND_TO)
        return send_to(stream, sim, step);
    if (step->verb == SCHEDULE_PARAMETERS)
        return sim_parameters(sim, stream->id, "%d", (int)number) == 0;
    if (step->verb == SCHEDULE_POISON) {
        stream->poison[number != 0] = true;
        return true;
    }
    if (sim_unsent(sim, 0) > 0)
        return false;
    stream->closing = true;
    return sim_close(sim, 0, stream->id) == 0;
}

bool traffic_is_open(const struct traffic *traffic)
{
    for (uint32_t i = 0; i < traffic->count; i++)
        if (!traffic->streams[i].opened && !traffic->streams[i].closing)
            return false;
    return true;
}

/* ---- received packets ---- */

/* Find the living members of `stream`, as the world knows them, without those
 * that leave and take nothing more. */
static void find_living(const struct sim *sim,
                        const struct traffic_stream *stream,
                        struct ranks *out)
{
    const struct ranks *now = node_members(sim_node(sim, 0), stream->id);

    for (uint32_t i = 1; i < sim_count(sim); i++) {
        uint32_t rank = sim_rank(sim, i);

        if (sim_is_alive(sim, i) && !sim_is_leaving(sim, i) && now &&
            ranks_has(now, rank))
            ranks_add(out, rank, rank);
    }
}

static bool is_for(const struct traffic_stream *stream,
                   uint32_t number,
                   uint32_t rank)
{
    return stream->is_given[number] && (stream->to[number].count == 0 ||
                                        ranks_has(&stream->to[number], rank));
}

/* The last packet up to `upto` that is for `rank`; 0: none. */
static uint32_t last_for(const struct traffic_stream *stream,
                         uint32_t upto,
                         uint32_t rank)
{
    while (upto > 0 && !is_for(stream, upto, rank))
        upto--;
    return upto;
}

/* Check that each living member that was one when the sync began, joiners too,
 * has taken all packets, and that its answers have come. */
static void check_answers(const struct traffic *traffic,
                          struct sim *sim,
                          const struct traffic_stream *stream,
                          const struct ranks *living)
{
    uint32_t rank = RANK_NONE;

    while ((rank = ranks_after(living, rank)) != RANK_NONE) {
        uint32_t last = last_for(stream, stream->sent_down, rank);

        if (!ranks_has(&stream->promised, rank))
            continue;
        if (stream->last[rank] != last && last > stream->entered[rank])
            sim_fail(sim, "%u lives and has taken %u of %u on stream %u", rank,
                     stream->last[rank], last, stream->id);
        else if (stream->due[rank] > 0 && !ranks_has(&traffic->leavers, rank) &&
                 !answers_has(&stream->answers, rank, stream->due[rank] - 1))
            sim_fail(sim, "%u lives, and a sync of stream %u lacks its answer",
                     rank, stream->id);
    }
}

static void check_stream(const struct traffic *traffic,
                         struct sim *sim,
                         struct traffic_stream *stream)
{
    bool recovers = node_is_recoverable(sim_node(sim, 0), stream->id);
    struct ranks living = {0};
    char *text;

    if (traffic_is_total(stream)) {
        stream->ledger.due = stream->epoch;
        return; /* checked when a total arrives */
    }
    stream->checked = true;
    if (stream->closed || stream->closing)
        return;
    stream->model.epochs = stream->epoch;
    find_living(sim, stream, &living);
    check_answers(traffic, sim, stream, &living);
    if (stream->exact || stream->waves_only) {
        const char *wrong = answers_check(
            &stream->answers, &living,
            (uint64_t)stream->begun[stream->epoch - 1] << PACKET_WAVE_BITS,
            stream->model.lossy[stream->epoch - 1]);

        text = wrong ? memory_text(wrong) : NULL;
    } else if (traffic->exact && stream->model.filter != MODEL_UNION)
        text = model_check_all(&stream->model);
    else
        text = model_check_living(&stream->model, &living,
                                  recovers ? NULL : traffic->torn);
    if (text)
        sim_fail(sim, "stream %u (filter '%s', sync %d): %s", stream->id,
                 model_filter_name(stream->model.filter), stream->model.sync,
                 text);
    free(text);
    ranks_fini(&living);
}

/* Check that a member gets every packet for it, and no other, once, in order, and
 * in the epoch in which it was sent: so that its answer is in one wave with those of the others. */
static void take_down(struct sim *sim,
                      struct traffic_stream *stream,
                      uint32_t index,
                      const struct frame *frame)
{
    const struct node *node = sim_node(sim, index);
    uint32_t epoch = node_epoch(node, stream->id), filtering;
    uint32_t rank = sim_rank(sim, index);
    uint64_t since_ms;
    uint32_t number = 0;
    uint32_t count, before;

    if (members_read(frame, &number, &count) < 0)
        return; /* its receiver reports it */
    before = number > 0 ? last_for(stream, number - 1, rank) : 0;
    if (!is_for(stream, number, rank))
        sim_fail(sim, "%u took packet %u of stream %u, for others", rank,
                 number, stream->id);
    if (stream->first[rank] == 0) {
        stream->first[rank] = number;
        if (before > 0 && (!stream->grow || before > stream->entered[rank]))
            sim_fail(sim, "%u took packet %u of stream %u first", rank, number,
                     stream->id);
    } else if (number <= stream->last[rank] || before != stream->last[rank]) {
        sim_fail(sim, "%u took packet %u of stream %u after %u", rank, number,
                 stream->id, stream->last[rank]);
    }
    stream->last[rank] = number;
    if (epoch < stream->sent_in[number] && !stream->closed &&
        !stream->closing && !node_is_filtering(node, &filtering, &since_ms))
        sim_fail(sim, "%u takes packet %u of stream %u in epoch %u, not %u",
                 rank, number, stream->id, epoch, stream->sent_in[number]);
}

/* PROTOCOL 10.6a: whether a sync that returned 1 gave the packet up. */
static bool is_given_up(const struct traffic_stream *stream,
                        const struct frame *frame)
{
    return stream->left == 0 && frame->wave > 0 &&
           frame->wave >> PACKET_WAVE_BITS < stream->given_up;
}

/* The front-end has taken a packet of a stream of whole waves, or the answer to
 * a question (PROTOCOL 4.3b). */
static void take_answer(const struct traffic *traffic,
                        struct sim *sim,
                        struct traffic_stream *stream,
                        const struct frame *frame)
{
    const char *wrong = answers_take(&stream->answers, frame);

    if (wrong)
        sim_fail(sim, "stream %u: %s", stream->id, wrong);
    if (traffic->calm && !stream->closing && (frame->flags & FRAME_EMPTY))
        sim_fail(sim, "stream %u has lost a wave", stream->id);
}

void traffic_taken(struct traffic *traffic,
                   struct sim *sim,
                   uint32_t index,
                   uint32_t id,
                   const struct frame *frame)
{
    struct traffic_stream *stream = traffic_stream(traffic, id);

    /* A member that changes its parent may be in a timed set by both. */
    if (stream && index == 0 && stream->model.sync == COP_TIME_OUT &&
        traffic->torn->count == 0 &&
        frame->contributors > ranks_size(&stream->senders))
        sim_fail(sim, "stream %u: a packet has more contributors than members",
                 id);
    if (!stream)
        sim_fail(sim, "a packet of stream %u, which is not open", id);
    else if (index > 0)
        take_down(sim, stream, index, frame);
    else if (traffic_is_total(stream))
        sim_fail(sim, "stream %u is cumulative, and a packet came", id);
    else if (is_given_up(stream, frame))
        sim_fail(sim, "stream %u: a packet came behind the sync that covers it",
                 id);
    else if (stream->exact || stream->waves_only)
        take_answer(traffic, sim, stream, frame);
    else if (model_take(&stream->model, frame) < 0)
        sim_fail(sim, "the front-end took what no filter makes");
    if (stream && index == 0 && stream->left > 0 && --stream->left == 0)
        check_stream(traffic, sim, stream);
}

/* ---- totals ---- */

/* A total has arrived. If the machine calls it exact, it must be right. If it
 * was requested after the last sync, this checks that sync. */
static void take_total(struct sim *sim,
                       struct traffic_stream *stream,
                       const struct action *tell)
{
    struct ledger *ledger = &stream->ledger;
    char *text;

    ledger->asked = false;
    if (tell->code != 0)
        return;
    text = ledger_check(ledger, &tell->frame);
    if (text)
        sim_fail(sim, "stream %u: a total is vouched for, and %s", stream->id,
                 text);
    free(text);
    stream->checked |= stream->synced && ledger->asked_due == stream->epoch;
}

/* Request totals repeatedly: one at a time, in turn, because the front-end's
 * filter calls may take longer than the time between two requests. */
static void ask_totals(struct traffic *traffic, struct sim *sim)
{
    for (uint32_t i = 0; i < traffic->count; i++)
        if (traffic->streams[i].ledger.asked && !traffic->streams[i].closing &&
            !traffic->streams[i].closed)
            return;
    for (uint32_t k = 0; k < traffic->count && !sim_is_frozen(sim, 0); k++) {
        uint32_t turn = ++traffic->turn % traffic->count;
        struct traffic_stream *stream = &traffic->streams[turn];

        if (!traffic_is_total(stream) || !stream->opened || stream->closing ||
            stream->closed || stream->ledger.asked)
            continue;
        ledger_ask(&stream->ledger, sim_now_ms(sim));
        if (sim_ask_state(sim, stream->id) == 0)
            return;
        stream->ledger.asked = false;
    }
}

/* ---- news ---- */

static void told_synced(const struct traffic *traffic,
                        struct sim *sim,
                        struct traffic_stream *stream,
                        int code)
{
    const struct ranks *losers = node_losers(sim_node(sim, 0), stream->id);

    stream->synced = true;
    stream->left = sim_waiting_on(sim, 0, stream->id);
    if (code != 0 && stream->exact)
        sim_fail(sim, "sync of %u is %d, and it is exact", stream->id, code);
    if (code == 1 && node_is_recoverable(sim_node(sim, 0), stream->id))
        sim_fail(sim, "sync of %u is lossy, and it recovers", stream->id);
    if (stream->epoch > 0 && stream->epoch <= MODEL_EPOCHS) {
        stream->model.lossy[stream->epoch - 1] = code != 0;
        if (code == 1) {
            stream->given_up = stream->begun[stream->epoch - 1];
            stream->model.given_up[stream->epoch - 1] =
                node_epoch(sim_node(sim, 0), stream->id);
        }
    }
    if (code != 0 && traffic->calm)
        sim_fail(sim, "sync of %u is %d", stream->id, code);
    if (code == 1 && !ranks_cover(&stream->losers, losers))
        sim_fail(sim, "sync of %u is lossy, and names the wrong nodes",
                 stream->id);
    if (stream->left == 0)
        check_stream(traffic, sim, stream);
}

/* Whether `tell` says what the node that refuses the stream has said. */
static bool is_refusal(const struct traffic_stream *stream,
                       const struct action *tell)
{
    if (!stream || !stream->has_refused || !tell->text)
        return false;
    return traffic_is_total(stream) || /* its parents have no total (17.10) */
           (tell->rank == stream->refuser && strstr(tell->text, "it refuses"));
}

/* Whether node `rank` is on the way from the front-end to a member. */
static bool takes_part(const struct sim *sim,
                       const struct traffic_stream *stream,
                       uint32_t rank)
{
    uint32_t wanted = sim_find(sim, rank), member = RANK_NONE;

    while ((member = ranks_after(&stream->members, member)) != RANK_NONE)
        for (uint32_t i = sim_find(sim, member); i != SIM_NONE;
             i = sim_parent(sim, i))
            if (i == wanted)
                return true;
    return false;
}

/* As cop_stream_open() does with a stream that does not open. */
static void close_refused(struct sim *sim, void *arg)
{
    struct traffic_stream *stream = arg;

    stream->closing = true;
    sim_close(sim, 0, stream->id);
}

static void told_opened(const struct traffic *traffic,
                        struct sim *sim,
                        struct traffic_stream *stream,
                        const struct action *tell)
{
    stream->opened = true;
    stream->closed |= tell->code < 0;
    if (tell->code == -ELIBBAD && is_refusal(stream, tell)) {
        sim_at(sim, sim_now_ms(sim), close_refused, stream);
        return;
    }
    if (tell->code == 0 && stream->has_refused && traffic->calm &&
        takes_part(sim, stream, stream->refuser))
        sim_fail(sim, "stream %u opens, and %u has refused it", stream->id,
                 stream->refuser);
    /* PROTOCOL 3.1a: no opening waits for a lost member. An OPEN queued after a
     * long packet on a slow link may be late. */
    if (tell->code < 0 &&
        (tell->code == -ETIMEDOUT ? !traffic->may_open_late && !stream->closing
                                  : traffic->calm))
        sim_fail(sim, "stream %u does not open: %s", stream->id,
                 tell->text ? tell->text : "");
}

/* PROTOCOL 11.5: the stream counts as closed. */
static void told_failed(const struct traffic *traffic,
                        struct sim *sim,
                        struct traffic_stream *stream,
                        const struct action *tell)
{
    bool is_broken = traffic_is_total(stream) && stream->has_refused;

    if (!is_broken /* PROTOCOL 17.10 */ &&
        !ranks_has(traffic->hung, tell->rank) &&
        !ranks_has(&traffic->crashed, tell->rank))
        sim_fail(sim, "stream %u failed because of %u: %s", stream->id,
                 tell->rank, tell->text);
    stream->failed = true;
    stream->failed_ms = sim_now_ms(sim);
    stream->closing = stream->closed = true;
    stream->synced = stream->checked = true;
    stream->left = 0;
    stream->given_up = 0; /* what came before waits to be taken */
}

/* The stream that `tell` is about. If no member has to answer, a stream is open
 * before sim_open() has returned its number. */
static struct traffic_stream *find_told(struct traffic *traffic,
                                        const struct action *tell)
{
    struct traffic_stream *stream = traffic_stream(traffic, tell->stream);

    if (stream || tell->tell != TELL_OPENED)
        return stream;
    stream = traffic_stream(traffic, 0);
    if (stream)
        stream->id = tell->stream;
    return stream;
}

/* Back-end `rank` says that it has left, and that everything was accepted. */
static void told_left(struct traffic *traffic, struct sim *sim, uint32_t rank)
{
    for (uint32_t i = 0; i < traffic->count; i++) {
        struct traffic_stream *stream = &traffic->streams[i];
        const char *wrong =
            traffic_is_total(stream) && !stream->closing && !stream->closed
                ? ledger_part(&stream->ledger, rank)
                : NULL;

        if (wrong)
            sim_fail(sim, "stream %u: %u has left, and %s", stream->id, rank,
                     wrong);
        if (stream->exact)
            answers_part(&stream->answers, rank);
    }
}

void traffic_told(struct traffic *traffic,
                  struct sim *sim,
                  uint32_t index,
                  const struct action *tell)
{
    struct traffic_stream *stream = find_told(traffic, tell);
    uint32_t rank = sim_rank(sim, index);

    if (tell->tell == TELL_NODE_ADOPTED || tell->tell == TELL_BACKEND_LOST ||
        tell->tell == TELL_BACKEND_JOINED)
        traffic->causes++;
    if (tell->tell == TELL_ENDED && tell->code == 1 && rank != RANK_NONE)
        told_left(traffic, sim, rank);
    for (uint32_t i = 0; i < traffic->count && index == 0; i++)
        if (tell->tell == TELL_BACKEND_LOST)
            answers_lose(&traffic->streams[i].answers, tell->rank);
    if (tell->tell == TELL_FILTER_ERROR && !is_refusal(stream, tell) &&
        !ranks_has(traffic->hung, tell->rank) &&
        !ranks_has(&traffic->crashed, tell->rank))
        sim_fail(sim, "a filter failed: %s", tell->text);
    for (uint32_t i = 0;
         index == 0 && tell->tell == TELL_BACKEND_LOST && i < traffic->count;
         i++)
        ledger_lose(&traffic->streams[i].ledger, tell->rank, tell->text,
                    sim_now_ms(sim));
    for (uint32_t i = 0; i < traffic->count && index == 0; i++)
        if (tell->tell == TELL_BACKEND_JOINED)
            traffic->streams[i].entered[tell->rank] = traffic->streams[i].given;
    if (!stream)
        return;
    if (tell->tell == TELL_STATE && index == 0)
        take_total(sim, stream, tell);
    if (tell->tell == TELL_CLOSED && index > 0) {
        if (stream->told_closed[rank]++ > 0)
            sim_fail(sim, "%u was told twice that stream %u is closed", rank,
                     stream->id);
        if (!stream->closing)
            sim_fail(sim, "%u was told that stream %u is closed", rank,
                     stream->id);
    }
    if (tell->tell == TELL_LOSSY) { /* the orphan, or its parent (18.8) */
        ranks_add(&stream->losers, rank, rank);
        ranks_add(&stream->losers, tell->rank, tell->rank);
    }
    if (index > 0)
        return;
    if (tell->tell == TELL_OPENED)
        told_opened(traffic, sim, stream, tell);
    if (tell->tell == TELL_REDO)
        exact_told_redo(traffic, stream, sim);
    if (tell->tell == TELL_SYNCED)
        told_synced(traffic, sim, stream, tell->code);
    if (tell->tell == TELL_CLOSED)
        stream->closed = true;
    if (tell->tell == TELL_STREAM_FAILED)
        told_failed(traffic, sim, stream, tell);
}

/* ---- filters that refuse or crash ---- */

bool traffic_is_refused(struct traffic *traffic,
                        struct sim *sim,
                        uint32_t index,
                        const struct node_call *call)
{
    struct traffic_stream *stream = traffic_stream(traffic, call->stream);

    /* the number of a stream that opens within sim_open() is not known yet */
    if (!stream)
        stream = traffic_stream(traffic, 0);
    if (!stream || !stream->refuses || sim_rank(sim, index) != stream->refuser)
        return false;
    stream->has_refused = true;
    return true;
}

void traffic_cure(struct traffic *traffic)
{
    for (uint32_t i = 0; i < traffic->count; i++)
        memset(traffic->streams[i].poison, 0,
               sizeof(traffic->streams[i].poison));
}

bool traffic_is_poison(struct traffic *traffic,
                       struct sim *sim,
                       uint32_t index,
                       const struct node_call *call)
{
    struct traffic_stream *stream = traffic_stream(traffic, call->stream);
    uint32_t rank = sim_rank(sim, index);

    if (!stream || !stream->poison[!call->upward])
        return false;
    /* FAIL takes some hops, and some time on each link. */
    if (traffic->only_poison && stream->failed &&
        sim_now_ms(sim) > stream->failed_ms + TRAFFIC_FAIL_MS)
        sim_fail(sim, "%u crashes of stream %u, which failed at %" PRIu64 " ms",
                 rank, stream->id, stream->failed_ms);
    stream->has_crashed = true;
    ranks_add(&traffic->crashed, rank, rank);
    return true;
}

void traffic_check_poison(const struct traffic *traffic, struct sim *sim)
{
    for (uint32_t i = 0; traffic->only_poison && i < traffic->count; i++)
        if (traffic->streams[i].has_crashed && !traffic->streams[i].closing)
            sim_fail(sim, "stream %u has crashed a node, and did not fail",
                     traffic->streams[i].id);
}

/* ---- closing ---- */

bool traffic_is_told(const struct traffic *traffic, const struct sim *sim)
{
    for (uint32_t k = 0; k < traffic->count; k++) {
        const struct traffic_stream *stream = &traffic->streams[k];

        for (uint32_t i = 1; stream->closing && i < sim_count(sim); i++) {
            uint32_t rank = sim_rank(sim, i);

            if (sim_is_alive(sim, i) && rank != RANK_NONE &&
                ranks_has(&stream->members, rank) &&
                ranks_has(node_backends(sim_node(sim, 0)), rank) &&
                stream->told_closed[rank] == 0)
                return false;
        }
    }
    return true;
}

/* ---- syncs ---- */

static bool has_no_member(const struct sim *sim,
                          const struct traffic_stream *stream)
{
    const struct ranks *members = node_members(sim_node(sim, 0), stream->id);

    return members && members->count == 0;
}

void traffic_sync(struct traffic *traffic, struct sim *sim)
{
    for (uint32_t i = 0; i < traffic->count; i++) {
        struct traffic_stream *stream = &traffic->streams[i];
        uint32_t epoch = stream->epoch;
        int r;

        stream->synced = stream->closed || stream->closing;
        stream->checked = stream->synced;
        if (stream->synced)
            continue;
        stream->epoch++;
        ranks_copy(&stream->promised,
                   node_members(sim_node(sim, 0), stream->id));
        traffic->causes++;
        if (epoch < MODEL_EPOCHS)
            stream->begun[epoch] = 1 + node_epoch(sim_node(sim, 0), stream->id);
        r = sim_sync(sim, stream->id, NULL);
        /* PROTOCOL 10.1b: refused without a member, and only then */
        if (r < 0 && (r != -ENODEV || !has_no_member(sim, stream)))
            sim_fail(sim, "sync: %s", strerror(-r));
        if (r == 0 && has_no_member(sim, stream))
            sim_fail(sim, "stream %u has no member and syncs", stream->id);
        stream->refused = r < 0;
        if (r < 0)
            stream->epoch--;
    }
}

/* A sync waits for a stream without members until the stream is drained:
 * everything that the members had sent has then arrived. If the sync was
 * refused, it waits no longer once a back-end has joined the stream. */
static bool is_over(const struct sim *sim, const struct traffic_stream *stream)
{
    return node_is_drained(sim_node(sim, 0), stream->id) ||
           (stream->refused && !has_no_member(sim, stream));
}

bool traffic_is_synced(const struct traffic *traffic, const struct sim *sim)
{
    for (uint32_t i = 0; i < traffic->count; i++) {
        const struct traffic_stream *stream = &traffic->streams[i];

        if (!stream->synced && !is_over(sim, stream))
            return false;
    }
    return true;
}

bool traffic_is_checked(const struct traffic *traffic, const struct sim *sim)
{
    for (uint32_t i = 0; i < traffic->count; i++) {
        const struct traffic_stream *stream = &traffic->streams[i];

        if (!stream->checked && !is_over(sim, stream))
            return false;
    }
    return true;
}

bool traffic_is_lossy(const struct traffic *traffic)
{
    for (uint32_t i = 0; i < traffic->count; i++) {
        const struct traffic_stream *stream = &traffic->streams[i];

        if (!stream->closed && !stream->closing && stream->synced &&
            stream->epoch > 0 && stream->epoch <= MODEL_EPOCHS &&
            stream->model.lossy[stream->epoch - 1])
            return true;
    }
    return false;
}

/* The most bytes of one wave that is not filtered: a packet of each member, for
 * which a node holds no credit (PROTOCOL 3.4). */
static uint64_t wave_of(const struct sim *sim,
                        const struct traffic_stream *stream)
{
    if (stream->model.filter != MODEL_NONE ||
        stream->model.sync != COP_WAIT_FOR_ALL)
        return 0;
    return (uint64_t)sim_count(sim) *
           (stream->big || stream->large ? TRAFFIC_MOST : TRAFFIC_SMALL);
}

/* The most bytes that a node may hold: what it has made for its parent, or
 * keeps for its children, and what each neighbour may have sent it, on time and
 * late, plus one packet of each, and a wave in the queue to the parent and one
 * from the children. Packets stay when their link ends. */
static uint64_t most_of(const struct traffic *traffic,
                        const struct sim *sim,
                        uint32_t index,
                        const struct traffic_stream *stream)
{
    const struct traffic_links *links = &traffic->links[index];
    uint64_t window = window_of(traffic, sim_child_count(sim, index));
    uint64_t most = TRAFFIC_MOST;

    if (stream->large) /* everything that all may have sent, in one */
        most += (uint64_t)traffic->rank_count * TRAFFIC_ANSWERS * TRAFFIC_LARGE;
    return 2 * LIMIT_UNSTABLE + 2 * links->ever * (window + most) +
           (2 + links->ever - links->now) * wave_of(sim, stream);
}

/* Count the new links of each node since the last check. */
static void count_links(struct traffic *traffic, const struct sim *sim)
{
    uint32_t count = sim_count(sim);

    if (count > traffic->links_count) {
        traffic->links =
            reallocarray(traffic->links, count, sizeof(*traffic->links));
        memset(traffic->links + traffic->links_count, 0,
               (count - traffic->links_count) * sizeof(*traffic->links));
        traffic->links_count = count;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct traffic_links *links = &traffic->links[i];
        uint32_t now = sim_link_count(sim, i);

        links->ever += now > links->now ? now - links->now : 0;
        links->now = now;
    }
}

/* PROTOCOL 9.4: an open stream is recoverable all the time if its filter is. */
static void look_at_guarantee(const struct traffic_stream *stream,
                              struct sim *sim)
{
    bool recovers = stream->model.filter == MODEL_UNION && !stream->exact;

    if (stream->opened && !stream->closing && !stream->closed &&
        !stream->has_refused &&
        node_kind(sim_node(sim, 0), stream->id) != STREAM_TOTAL &&
        node_is_recoverable(sim_node(sim, 0), stream->id) != recovers)
        sim_fail(sim, "stream %u is%s recoverable now", stream->id,
                 recovers ? " not" : "");
}

void traffic_look(struct traffic *traffic, struct sim *sim)
{
    ask_totals(traffic, sim);
    count_links(traffic, sim);
    for (uint32_t k = 0; k < traffic->count; k++)
        look_at_guarantee(&traffic->streams[k], sim);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        for (uint32_t k = 0; k < traffic->count && sim_is_alive(sim, i); k++)
            exact_look(&traffic->streams[k], sim, i, TRAFFIC_MOST);
    for (uint32_t i = 0; i < sim_count(sim); i++)
        for (uint32_t k = 0; k < traffic->count && sim_is_alive(sim, i); k++)
            if (node_held_bytes(sim_node(sim, i), traffic->streams[k].id) >
                most_of(traffic, sim, i, &traffic->streams[k]))
                sim_fail(sim, "%u holds more than its credit on stream %u",
                         sim_rank(sim, i), traffic->streams[k].id);
}

bool traffic_has_totals(const struct traffic *traffic)
{
    for (uint32_t i = 0; i < traffic->count; i++)
        if (traffic_is_total(&traffic->streams[i]))
            return true;
    return false;
}

void traffic_fini(struct traffic *traffic)
{
    ranks_fini(&traffic->crashed);
    ranks_fini(&traffic->leavers);
    free(traffic->links);
    for (uint32_t i = 0; i < traffic->count; i++) {
        struct traffic_stream *stream = &traffic->streams[i];

        model_fini(&stream->model);
        ledger_fini(&stream->ledger);
        answers_fini(&stream->answers);
        free(stream->serials);
        free(stream->begins);
        free(stream->wave_epochs);
        free(stream->wave_counts);
        free(stream->entered);
        free(stream->due);
        ranks_fini(&stream->promised);
        ranks_fini(&stream->losers);
        ranks_fini(&stream->members);
        ranks_fini(&stream->senders);
        for (uint32_t number = 0; number <= TRAFFIC_PACKETS; number++)
            ranks_fini(&stream->to[number]);
        free(stream->first);
        free(stream->last);
        free(stream->answered);
        free(stream->answered_epoch);
        free(stream->told_closed);
    }
    traffic->count = 0;
}
