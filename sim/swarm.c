/* swarm.c - random trees, traffic and faults. */
#include "sim/swarm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/limits.h"
#include "protocol/packet.h"
#include "sim/absence.h"
#include "sim/healing.h"
#include "sim/memory.h"
#include "sim/model.h"
#include "sim/sim.h"

#define SWARM_STREAMS 4
#define SWARM_NODES   HEALING_NODES
#define SWARM_PACKETS 64 /* downwards, per stream */
#define SWARM_ANSWERS 16 /* upwards, per packet */
#define SWARM_WAIT_MS UINT64_C(300000)
#define SWARM_LOOK_MS 50     /* between looks at what nodes hold */
#define SWARM_BIG     100000 /* bytes of ballast in a big packet */
#define SWARM_SKIPS   6      /* one seed in so many skips who does not start */

struct swarm_stream {
    uint32_t id;
    bool opened;
    bool synced;
    bool closed;
    bool grow;
    bool uneven; /* members answer with unequal numbers of packets */
    bool big;
    struct ranks members;
    struct model model;
    uint32_t epoch;
    uint32_t sent_down;
    uint32_t epoch_of[SWARM_PACKETS + 1];
    uint32_t first[SWARM_NODES];    /* number of the first packet taken */
    uint32_t last[SWARM_NODES];     /* and of the last */
    uint32_t answered[SWARM_NODES]; /* packets sent in this epoch */
    uint32_t answered_epoch[SWARM_NODES];
};

struct swarm {
    struct sim *sim;
    struct random *random;
    bool deaths;
    bool spare; /* only commnodes die */
    bool joins;
    bool skips; /* who does not start is skipped */
    bool launched;
    bool launch_failed;
    bool ended;
    bool over; /* no more looks */
    uint64_t thaw_ms[SWARM_NODES];
    uint32_t slow; /* the node whose filters are slow until quick_ms */
    uint64_t quick_ms;
    struct healing healing;
    uint32_t stream_count;
    struct swarm_stream streams[SWARM_STREAMS];
};

static struct swarm_stream *stream_of(struct swarm *swarm, uint32_t id)
{
    for (uint32_t i = 0; i < swarm->stream_count; i++)
        if (swarm->streams[i].id == id)
            return &swarm->streams[i];
    return NULL;
}

/* ---- the back-ends ---- */

static struct payload *pack_answer(const struct swarm_stream *stream,
                                   int32_t value)
{
    static const char ballast[SWARM_BIG];
    struct payload *payload = NULL;
    int32_t both[2] = {value, value % 50};
    int r;

    if (stream->model.filter == MODEL_UNION)
        r = packet_pack(&payload, "%ad", both, (uint32_t)2);
    else if (stream->big)
        r = packet_pack(&payload, "%d %ac", value, ballast,
                        (uint32_t)SWARM_BIG);
    else
        r = packet_pack(&payload, "%d", value);
    return r < 0 ? NULL : payload;
}

/* What a back-end answers to packet `number`: each value only once. */
static void answer(struct sim *sim,
                   uint32_t index,
                   uint32_t id,
                   const struct frame *frame,
                   void *arg)
{
    struct swarm *swarm = arg;
    struct swarm_stream *stream = stream_of(swarm, id);
    uint32_t rank = sim_rank(sim, index);
    struct cop_packet *packet;
    uint32_t number = 0;
    uint32_t count = 0;

    if (!stream || packet_open(&packet, frame->payload) < 0)
        return;
    if (cop_packet_unpack(packet, "%ud %ud", &number, &count) < 0)
        sim_fail(sim, "%u took a packet that nobody sent", rank);
    cop_packet_free(packet);
    if (stream->uneven)
        count = (count + rank) % 4;
    for (uint32_t i = 0; i < count && i < SWARM_ANSWERS; i++) {
        uint32_t value = (rank * SWARM_PACKETS + number) * SWARM_ANSWERS + i;

        sim_post(sim, index, id, 100, pack_answer(stream, (int32_t)value));
    }
}

/* ---- watching ---- */

/* A back-end's packet is written down with the wave that it must be in. */
static void watch_sent(struct sim *sim,
                       uint32_t index,
                       uint32_t id,
                       const struct frame *frame,
                       void *arg)
{
    struct swarm *swarm = arg;
    struct swarm_stream *stream = stream_of(swarm, id);
    uint32_t rank = sim_rank(sim, index);
    struct cop_packet *packet;
    struct cop_value value;
    uint32_t epoch;

    if (index == 0 || !stream || packet_open(&packet, frame->payload) < 0)
        return;
    if (cop_packet_value(packet, 0, &value) == 0) {
        const int32_t *values = value.data;
        uint32_t number = (uint32_t)values[0] / SWARM_ANSWERS % SWARM_PACKETS;

        epoch = stream->epoch_of[number];
        if (stream->answered_epoch[rank] != epoch)
            stream->answered[rank] = 0;
        stream->answered_epoch[rank] = epoch;
        stream->answered[rank]++;
        for (uint64_t i = 0; i < value.count; i++)
            model_send(&stream->model, rank,
                       ((uint64_t)epoch << PACKET_WAVE_BITS) +
                           stream->answered[rank],
                       values[i]);
    }
    cop_packet_free(packet);
}

/* A member gets every packet once, in order. */
static void take_down(struct sim *sim,
                      struct swarm_stream *stream,
                      uint32_t rank,
                      const struct frame *frame)
{
    struct cop_packet *packet;
    uint32_t number = 0;
    uint32_t count;

    if (packet_open(&packet, frame->payload) < 0)
        return;
    cop_packet_unpack(packet, "%ud %ud", &number, &count);
    cop_packet_free(packet);
    if (stream->first[rank] == 0)
        stream->first[rank] = number;
    else if (number != stream->last[rank] + 1)
        sim_fail(sim, "%u took packet %u of stream %u after %u", rank, number,
                 stream->id, stream->last[rank]);
    if (stream->first[rank] != 1 && !stream->grow)
        sim_fail(sim, "%u took packet %u of stream %u first", rank, number,
                 stream->id);
    stream->last[rank] = number;
}

static void watch_taken(struct sim *sim,
                        uint32_t index,
                        uint32_t id,
                        const struct frame *frame,
                        void *arg)
{
    struct swarm *swarm = arg;
    struct swarm_stream *stream = stream_of(swarm, id);

    if (!stream) {
        sim_fail(sim, "a packet of stream %u, which is not open", id);
        return;
    }
    if (index > 0)
        take_down(sim, stream, sim_rank(sim, index), frame);
    else if (model_take(&stream->model, frame) < 0)
        sim_fail(sim, "the front-end took what no filter makes");
}

static void watch_told(struct sim *sim,
                       uint32_t index,
                       const struct action *tell,
                       void *arg)
{
    struct swarm *swarm = arg;
    struct swarm_stream *stream = stream_of(swarm, tell->stream);

    if (!swarm->over)
        healing_told(&swarm->healing, sim, index, tell);
    if (index != 0)
        return;
    if (tell->tell == TELL_LAUNCHED)
        swarm->launched = true;
    if (tell->tell == TELL_LAUNCH_FAILED)
        swarm->launch_failed = true;
    if (tell->tell == TELL_ENDED)
        swarm->ended = true;
    if (tell->tell == TELL_FILTER_ERROR)
        sim_fail(sim, "a filter failed: %s", tell->text);
    if (tell->tell == TELL_OPENED && stream) {
        stream->opened = true;
        stream->closed = tell->code < 0;
        if (tell->code < 0 && !swarm->deaths)
            sim_fail(sim, "stream %u does not open: %s", tell->stream,
                     tell->text ? tell->text : "");
    }
    if (tell->tell == TELL_SYNCED && stream) {
        stream->synced = true;
        if (tell->code == 1 &&
            node_is_recoverable(sim_node(sim, 0), stream->id))
            sim_fail(sim, "sync of %u is lossy, and it recovers", stream->id);
        if (stream->epoch > 0 && stream->epoch <= MODEL_EPOCHS)
            stream->model.lossy[stream->epoch - 1] = tell->code != 0;
        if (tell->code != 0 && !swarm->deaths)
            sim_fail(sim, "sync of %u is %d", tell->stream, tell->code);
    }
}

static void watch_parted(struct sim *sim, uint32_t index, void *arg)
{
    struct swarm *swarm = arg;

    healing_parted(&swarm->healing, sim, index);
}

/* Queues stay within credit (PROTOCOL 3.4, 3.5): above what the children and
 * the parent may have sent, one packet of each in excess. */
static void look(struct sim *sim, void *arg)
{
    struct swarm *swarm = arg;
    const uint64_t most =
        LIMIT_STREAM_BUDGET + 2 * LIMIT_UNSTABLE + 32 * SWARM_BIG;

    if (swarm->over)
        return;
    for (uint32_t i = 0; i < sim_count(sim); i++)
        for (uint32_t k = 0; k < swarm->stream_count; k++)
            if (sim_is_alive(sim, i) &&
                node_held_bytes(sim_node(sim, i), swarm->streams[k].id) > most)
                sim_fail(sim, "%u holds more than its credit on stream %u",
                         sim_rank(sim, i), swarm->streams[k].id);
    sim_at(sim, sim_now_ms(sim) + SWARM_LOOK_MS, look, swarm);
}

/* ---- drawing ---- */

static uint64_t draw(struct swarm *swarm, uint64_t low, uint64_t high)
{
    return random_between(swarm->random, low, high);
}

static bool chance(struct swarm *swarm, unsigned percent)
{
    return random_chance(swarm->random, percent);
}

static void draw_config(struct random *random, struct sim_config *config)
{
    config->delay_min_ms = (uint32_t)random_between(random, 0, 3);
    config->delay_max_ms =
        config->delay_min_ms + (uint32_t)random_between(random, 1, 20);
    config->fragment_percent = (unsigned)random_between(random, 0, 80);
    config->start_max_ms = (uint32_t)random_between(random, 1, 40);
}

/* Applications and filters, some of them slow. */
static void draw_apps(struct swarm *swarm)
{
    struct sim *sim = swarm->sim;

    for (uint32_t i = 0; i < sim_count(sim); i++) {
        struct sim_app app = {.arg = swarm};

        if (i == 0)
            app.two_threads = true;
        else
            app.taken = answer;
        if (chance(swarm, 30))
            app.take_ms = (uint32_t)draw(swarm, 1, 20);
        if (i > 0 && chance(swarm, 3))
            app.take_ms = (uint32_t)draw(swarm, 50, 400);
        sim_set_app(sim, i, &app);
        if (chance(swarm, 10))
            sim_set_filter_ms(sim, i, (uint32_t)draw(swarm, 1, 20));
    }
}

static void draw_members(struct swarm *swarm, struct swarm_stream *stream)
{
    const struct ranks *all = node_backends(sim_node(swarm->sim, 0));

    ranks_fini(&stream->members);
    if (chance(swarm, 50))
        for (uint64_t i = 0; i < ranks_size(all); i++)
            if (chance(swarm, 60))
                ranks_add(&stream->members, ranks_at(all, i), ranks_at(all, i));
    if (stream->members.count == 0)
        ranks_copy(&stream->members, all);
}

static int open_stream(struct swarm *swarm, struct swarm_stream *stream)
{
    char up[32];
    char none[] = "";
    struct stream_definition definition = {
        .up_filter = up,
        .up_filter_frontend = none,
        .up_filter_backend = none,
        .down_filter = none,
    };
    int r;

    stream->model.filter = (enum model_filter)draw(swarm, 0, MODEL_UNION);
    stream->model.sync =
        (enum cop_sync)(chance(swarm, 60) ? 0 : draw(swarm, 0, 2));
    stream->uneven = chance(swarm, 30);
    stream->big = stream->model.filter == MODEL_NONE && chance(swarm, 15);
    stream->grow = swarm->joins && chance(swarm, 70);
    draw_members(swarm, stream);
    snprintf(up, sizeof(up), "%s", model_filter_name(stream->model.filter));
    definition.sync = stream->model.sync;
    definition.wave_timeout_ms = (uint32_t)draw(swarm, 1, 50);
    definition.grow = stream->grow;
    definition.members = stream->members;
    r = sim_open(swarm->sim, &definition, &stream->id);
    if (r < 0)
        sim_fail(swarm->sim, "open: %s", strerror(-r));
    return r;
}

static void send_down(struct swarm *swarm, struct swarm_stream *stream)
{
    uint32_t number = stream->sent_down + 1;
    struct payload *payload = NULL;

    if (number >= SWARM_PACKETS)
        return;
    packet_pack(&payload, "%ud %ud", number,
                (uint32_t)draw(swarm, 0, stream->big ? 8 : 4));
    stream->sent_down = number;
    stream->epoch_of[number] = stream->epoch;
    sim_post(swarm->sim, 0, stream->id, 100, payload);
}

static void quicken(struct sim *sim, void *arg)
{
    const struct swarm *swarm = arg;

    sim_set_filter_ms(sim, swarm->slow, 0);
}

/* Nodes that stop for a while, not long enough to be taken for dead, and
 * filters that are slow, some longer than a node may be silent. */
static void draw_stall(struct swarm *swarm, uint32_t index)
{
    uint64_t now_ms = sim_now_ms(swarm->sim);

    if (chance(swarm, 10) &&
        now_ms >= swarm->thaw_ms[index] + 2 * LIMIT_FAILURE_TIMEOUT_MS) {
        uint64_t for_ms = draw(swarm, 1, LIMIT_FAILURE_TIMEOUT_MS / 2);

        sim_freeze(swarm->sim, index, for_ms);
        swarm->thaw_ms[index] = now_ms + for_ms;
    }
    if (chance(swarm, 2) && now_ms >= swarm->quick_ms) {
        swarm->slow = index;
        swarm->quick_ms = now_ms + draw(swarm, 1, 10000);
        sim_set_filter_ms(swarm->sim, index, (uint32_t)draw(swarm, 1, 5000));
        sim_at(swarm->sim, swarm->quick_ms, quicken, swarm);
    }
}

/* Something that anybody may meet, without anybody dying. */
static void draw_nuisance(struct swarm *swarm)
{
    uint32_t index = (uint32_t)draw(swarm, 0, sim_count(swarm->sim) - 1);

    draw_stall(swarm, index);
    if (swarm->joins && chance(swarm, 20) &&
        sim_count(swarm->sim) < SWARM_NODES) {
        if (!sim_is_alive(swarm->sim, index) ||
            sim_role(swarm->sim, index) == NODE_BACKEND)
            index = 0;
        index = sim_attach(swarm->sim, index);
        sim_set_app(swarm->sim, index,
                    &(struct sim_app){.taken = answer, .arg = swarm});
        if (swarm->deaths && !swarm->spare && chance(swarm, 30))
            sim_crash_at(swarm->sim, index,
                         sim_now_ms(swarm->sim) + draw(swarm, 0, 60));
    }
}

/* The link to its parent breaks, or swallows what is sent one way. */
static void cut_off(struct swarm *swarm, uint32_t index)
{
    struct sim *sim = swarm->sim;
    uint32_t parent = sim_parent(sim, index);

    if (parent == SIM_NONE)
        return;
    switch (draw(swarm, 0, 2)) {
    case 0:
        sim_cut(sim, index, parent);
        break;
    case 1:
        sim_mute(sim, index, parent);
        break;
    case 2:
        sim_mute(sim, parent, index);
        break;
    }
}

/* It dies within `most_ms`, if it may. */
static void kill_soon(struct swarm *swarm, uint32_t index, uint64_t most_ms)
{
    struct sim *sim = swarm->sim;

    if (index == 0 || index == SIM_NONE ||
        (swarm->spare && sim_role(sim, index) == NODE_BACKEND))
        return;
    sim_crash_at(sim, index, sim_now_ms(sim) + draw(swarm, 0, most_ms));
}

/* Somebody, and those who are near. */
static void kill_some(struct swarm *swarm, uint32_t index)
{
    struct sim *sim = swarm->sim;
    uint32_t parent = sim_parent(sim, index);

    switch (draw(swarm, 0, 4)) {
    case 0: /* a parent, its child: the adopter too, if it is late enough */
        kill_soon(swarm, parent, 40);
        break;
    case 1: /* a sibling */
        for (uint32_t i = 1; i < sim_count(sim); i++)
            if (i != index && sim_parent(sim, i) == parent &&
                sim_is_alive(sim, i) && chance(swarm, 50))
                kill_soon(swarm, i, 5);
        break;
    case 2: /* every commnode, one after another */
        for (uint32_t i = 1; chance(swarm, 20) && i < sim_count(sim); i++)
            if (sim_role(sim, i) == NODE_COMMNODE)
                kill_soon(swarm, i, 5000);
        break;
    default:
        break;
    }
    kill_soon(swarm, index, 200);
}

static void draw_death(struct swarm *swarm)
{
    struct sim *sim = swarm->sim;
    uint32_t index = (uint32_t)draw(swarm, 1, sim_count(sim) - 1);

    if (!swarm->deaths || !sim_is_alive(sim, index))
        return;
    if (chance(swarm, 20)) {
        kill_some(swarm, index);
    } else if (chance(swarm, 5) && !swarm->spare &&
               sim_role(sim, index) == NODE_BACKEND) {
        swarm->healing.left[index] = true;
        sim_shutdown(sim, index);
    } else if (chance(swarm, 5)) {
        cut_off(swarm, index);
    } else if (chance(swarm, 2)) {
        sim_freeze(sim, index, draw(swarm, 1, 4) * LIMIT_FAILURE_TIMEOUT_MS);
    }
}

/* ---- one seed ---- */

static bool is_launched(struct sim *sim, void *arg)
{
    const struct swarm *swarm = arg;

    (void)sim;
    return swarm->launched || swarm->launch_failed;
}

static bool is_open(struct sim *sim, void *arg)
{
    const struct swarm *swarm = arg;

    (void)sim;
    for (uint32_t i = 0; i < swarm->stream_count; i++)
        if (!swarm->streams[i].opened)
            return false;
    return true;
}

static bool is_sent(struct sim *sim, void *arg)
{
    (void)arg;
    return sim_unsent(sim, 0) == 0;
}

static bool is_synced(struct sim *sim, void *arg)
{
    const struct swarm *swarm = arg;

    (void)sim;
    for (uint32_t i = 0; i < swarm->stream_count; i++)
        if (!swarm->streams[i].synced)
            return false;
    return true;
}

/* What was in by the sync has been taken too. */
static bool is_taken(struct sim *sim, void *arg)
{
    (void)arg;
    return sim_waiting(sim, 0) == 0;
}

static bool is_whole(struct sim *sim, void *arg)
{
    const struct swarm *swarm = arg;
    char *lack = healing_lack(&swarm->healing, sim);

    free(lack);
    return !lack;
}

static bool is_ended(struct sim *sim, void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < sim_count(sim); i++)
        if (sim_is_alive(sim, i))
            return false;
    return true;
}

/* Wait for it. Returns 0, or -EIO with the failure noted. */
static int wait_for(struct swarm *swarm,
                    bool (*done)(struct sim *sim, void *arg),
                    const char *what)
{
    int r = sim_run_while_not(swarm->sim, SWARM_WAIT_MS, done, swarm);

    if (r == -ETIMEDOUT)
        sim_fail(swarm->sim, "it sticks: %s", what);
    return r < 0 ? -EIO : 0;
}

/* The living members of `stream`, as the world knows. */
static void find_living(struct swarm *swarm,
                        const struct swarm_stream *stream,
                        struct ranks *out)
{
    const struct ranks *now = node_members(sim_node(swarm->sim, 0), stream->id);

    for (uint32_t i = 1; i < sim_count(swarm->sim); i++) {
        uint32_t rank = sim_rank(swarm->sim, i);

        if (sim_is_alive(swarm->sim, i) && now && ranks_has(now, rank))
            ranks_add(out, rank, rank);
    }
}

static void check_stream(struct swarm *swarm, struct swarm_stream *stream)
{
    struct ranks living = {0};
    char *text;

    find_living(swarm, stream, &living);
    for (uint64_t i = 0; i < ranks_size(&living); i++) {
        uint32_t rank = ranks_at(&living, i);

        if (stream->last[rank] != stream->sent_down &&
            ranks_has(&stream->members, rank))
            sim_fail(swarm->sim, "%u lives and has taken %u of %u on stream %u",
                     rank, stream->last[rank], stream->sent_down, stream->id);
    }
    text = swarm->deaths || swarm->joins
               ? model_check_living(
                     &stream->model, &living,
                     node_is_recoverable(sim_node(swarm->sim, 0), stream->id)
                         ? NULL
                         : &swarm->healing.torn)
               : model_check_all(&stream->model);
    if (text)
        sim_fail(swarm->sim, "stream %u (filter '%s', sync %d): %s", stream->id,
                 model_filter_name(stream->model.filter), stream->model.sync,
                 text);
    free(text);
    ranks_fini(&living);
}

/* Sync all streams and hold the result against the model. */
static int sync_all(struct swarm *swarm)
{
    int r;

    r = wait_for(swarm, is_sent, "sending");
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < swarm->stream_count; i++) {
        swarm->streams[i].synced = swarm->streams[i].closed;
        if (swarm->streams[i].closed)
            continue;
        r = sim_sync(swarm->sim, swarm->streams[i].id, NULL);
        if (r < 0)
            sim_fail(swarm->sim, "sync: %s", strerror(-r));
        swarm->streams[i].epoch++;
    }
    r = wait_for(swarm, is_synced, "sync");
    if (r < 0)
        return r;
    r = wait_for(swarm, is_taken, "taking");
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < swarm->stream_count; i++)
        if (!swarm->streams[i].closed)
            check_stream(swarm, &swarm->streams[i]);
    return sim_failure(swarm->sim) ? -EIO : 0;
}

/* All who live are in one tree again, and it is as it should be. */
static int heal(struct swarm *swarm)
{
    char *lack;
    int r;

    if (!swarm->deaths)
        return 0;
    r = sim_run_while_not(swarm->sim, SWARM_WAIT_MS, is_whole, swarm);
    if (r == -ETIMEDOUT) {
        lack = healing_lack(&swarm->healing, swarm->sim);
        sim_fail(swarm->sim, "it does not heal: %s", lack ? lack : "?");
        free(lack);
    }
    if (r == 0)
        healing_check(&swarm->healing, swarm->sim);
    return sim_failure(swarm->sim) ? -EIO : 0;
}

static int work(struct swarm *swarm)
{
    uint64_t rounds = draw(swarm, 1, 3);

    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t steps = draw(swarm, 1, 20);

        for (uint64_t step = 0; step < steps; step++) {
            send_down(swarm,
                      &swarm->streams[draw(swarm, 0, swarm->stream_count - 1)]);
            if (chance(swarm, 10))
                sim_parameters(
                    swarm->sim,
                    swarm->streams[draw(swarm, 0, swarm->stream_count - 1)].id,
                    "%d", (int)step);
            draw_nuisance(swarm);
            draw_death(swarm);
            if (sim_run_until(swarm->sim,
                              sim_now_ms(swarm->sim) + draw(swarm, 0, 60)) < 0)
                return -EIO;
        }
        if (round + 1 == rounds || chance(swarm, 70))
            if (sync_all(swarm) < 0)
                return -EIO;
    }
    return heal(swarm);
}

static int open_all(struct swarm *swarm)
{
    uint32_t count = (uint32_t)draw(swarm, 1, SWARM_STREAMS);

    while (swarm->stream_count < count) {
        if (open_stream(swarm, &swarm->streams[swarm->stream_count]) < 0)
            return -EIO;
        swarm->stream_count++;
    }
    if (chance(swarm, 50))
        return 0; /* packets right behind the opening */
    return wait_for(swarm, is_open, "opening");
}

static int finish(struct swarm *swarm)
{
    swarm->over = true;
    for (uint32_t i = 0; i < swarm->stream_count; i++)
        if (chance(swarm, 30))
            sim_close(swarm->sim, 0, swarm->streams[i].id);
    if (chance(swarm, 20))
        sim_crash(swarm->sim, 0);
    else
        sim_shutdown(swarm->sim, 0);
    return wait_for(swarm, is_ended, "ending");
}

static void run(struct swarm *swarm)
{
    struct sim_watch watch = {
        .taken = watch_taken,
        .sent = watch_sent,
        .told = watch_told,
        .parted = watch_parted,
        .arg = swarm,
    };

    sim_watch(swarm->sim, &watch);
    swarm->random = sim_random(swarm->sim);
    swarm->deaths = chance(swarm, 45);
    swarm->spare = swarm->deaths && chance(swarm, 40);
    swarm->joins = chance(swarm, 20);
    if (swarm->deaths && !swarm->spare && chance(swarm, 10))
        sim_crash_at(swarm->sim,
                     (uint32_t)draw(swarm, 1, sim_count(swarm->sim) - 1),
                     draw(swarm, 0, 150));
    draw_apps(swarm);
    if (wait_for(swarm, is_launched, "launch") < 0)
        return;
    if (swarm->skips)
        absence_check(swarm->sim, swarm->launched, swarm->deaths);
    else if (swarm->launch_failed && !swarm->deaths)
        sim_fail(swarm->sim, "the launch failed");
    look(swarm->sim, swarm);
    if (swarm->launched && (open_all(swarm) < 0 || work(swarm) < 0))
        return;
    finish(swarm);
}

int swarm_run(uint64_t seed,
              const struct swarm_options *options,
              struct swarm_result *out)
{
    struct sim_config config = {.seed = seed};
    struct swarm *swarm = memory_new(sizeof(*swarm));
    struct random random;
    struct tree tree;
    int r;

    *out = (struct swarm_result){0};
    random_seed(&random, ~seed);
    draw_config(&random, &config);
    config.trace = options->trace ? SIM_TRACE_ALL : 0;
    if (options->tree) {
        out->tree = memory_text(options->tree);
    } else {
        tree_draw(&tree, &random, random_chance(&random, 20) ? 31 : 15);
        out->tree = tree_text(&tree);
        tree_fini(&tree);
    }
    swarm->skips = seed % SWARM_SKIPS == 0;
    if (swarm->skips)
        config.missing = COP_MISSING_SKIP;
    r = sim_new(&swarm->sim, out->tree, &config);
    if (r == 0) {
        if (swarm->skips)
            absence_draw(swarm->sim, seed);
        run(swarm);
        out->virtual_ms = sim_now_ms(swarm->sim);
        if (sim_failure(swarm->sim))
            out->failure = memory_text(sim_failure(swarm->sim));
        if (options->trace)
            out->trace = memory_text(sim_trace_text(swarm->sim));
    } else {
        out->failure = memory_text(strerror(-r));
    }
    sim_free(swarm->sim);
    for (uint32_t i = 0; i < SWARM_STREAMS; i++) {
        model_fini(&swarm->streams[i].model);
        ranks_fini(&swarm->streams[i].members);
    }
    healing_fini(&swarm->healing);
    free(swarm);
    return out->failure ? -EIO : 0;
}

void swarm_result_fini(struct swarm_result *result)
{
    free(result->tree);
    free(result->failure);
    free(result->trace);
    *result = (struct swarm_result){0};
}
