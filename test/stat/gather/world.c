/* world.c - see world.h. */
#include "test/stat/gather/world.h"

#include <coppice/status.h>
#include <errno.h>

#include "stat/clock.h"
#include "stat/request.h"
#include "stat/tree/role.h"
#include "stat/tree/tree.h"
#include "stat/walk/traces.h"
#include "test/check.h"

#define MODULE "b1d0 /usr/bin/ring"

#define DAEMONS_MAX 16
#define WORLD_TASKS 64
#define ANSWERS_MAX 64

/* More calls than any look needs: a look with more does not end. */
#define CALLS_MAX 100000

/* The default time after which an orphan gives up. */
#define ORPHAN_MS 60000

struct world world;

static struct {
    struct traces *traces[DAEMONS_MAX + 1]; /* by rank */
    uint32_t ranks[WORLD_TASKS];            /* of the daemons, by task */
    int32_t pids[WORLD_TASKS];
    uint32_t tasks, samples, interval_ms;
    uint64_t asked_ms;
    uint32_t next; /* the number of the next sample */
    struct cop_packet *answers[ANSWERS_MAX];
    uint32_t answer_count, answers_taken;
    uint64_t wave; /* of the last packet received */
    bool is_suspected, is_lost;
    unsigned calls; /* of cop_stream_receive() */
} state;

/* Only their addresses matter. */
static char network_place, everyone_place, samples_place, answers_place;

#define SAMPLES ((struct cop_stream *)&samples_place)
#define ANSWERS ((struct cop_stream *)&answers_place)

void world_begin(uint32_t daemons)
{
    world_end();
    world = (struct world){.daemons = daemons, .now_ms = 1000};
}

void world_end(void)
{
    for (uint32_t i = 0; i <= DAEMONS_MAX; i++)
        traces_free(state.traces[i]);
    while (state.answers_taken < state.answer_count)
        cop_packet_free(state.answers[state.answers_taken++]);
    memset(&state, 0, sizeof(state));
}

uint64_t clock_now_ms(void)
{
    return world.now_ms;
}

uint64_t clock_now_ns(void)
{
    return world.now_ms * 1000000;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool is_frozen(uint32_t rank, uint64_t at_ms)
{
    return rank != 0 && rank == world.frozen && at_ms >= world.frozen_ms;
}

/* The time at which the frozen daemon is lost. */
static uint64_t lost_at_ms(void)
{
    return world.frozen == 0 || world.frozen_ms == WORLD_ASKED
               ? UINT64_MAX
               : world.frozen_ms + world.lost_ms;
}

/* Whether no daemon is left at `at_ms`. */
static bool is_empty(uint64_t at_ms)
{
    return world.daemons == 1 && at_ms >= lost_at_ms();
}

/* Wait until `due_ms`, at most `timeout_ms`. Returns whether `due_ms` came. */
static bool wait_until(uint64_t due_ms, uint64_t timeout_ms)
{
    bool comes = due_ms <= world.now_ms + timeout_ms;

    world.now_ms =
        later(world.now_ms, comes ? due_ms : world.now_ms + timeout_ms);
    return comes;
}

int cop_network_launch(struct cop_network **out,
                       const struct cop_launch *launch,
                       struct cop_error *error)
{
    uint32_t silence_ms = launch->times.failure_timeout_ms;
    uint32_t orphan_ms = launch->times.orphan_timeout_ms;

    (void)error;
    world.times = launch->times;
    /* Its neighbours detect the loss, then its parent; an orphan may search. */
    if (world.lost_ms == 0) {
        world.held_ms = 2 * (uint64_t)silence_ms;
        world.lost_ms =
            3 * (uint64_t)silence_ms + (orphan_ms ? orphan_ms : ORPHAN_MS);
    }
    *out = (struct cop_network *)&network_place;
    return 0;
}

int cop_network_missing(struct cop_network *network,
                        size_t i,
                        struct cop_absentee *absentee)
{
    (void)network;
    (void)i;
    (void)absentee;
    return -ENOENT;
}

const struct cop_communicator *cop_network_everyone(struct cop_network *network)
{
    (void)network;
    return (const struct cop_communicator *)&everyone_place;
}

size_t cop_communicator_size(const struct cop_communicator *communicator)
{
    (void)communicator;
    return world.daemons;
}

uint32_t cop_communicator_rank(const struct cop_communicator *communicator,
                               size_t i)
{
    (void)communicator;
    return (uint32_t)i + 1;
}

int cop_network_shutdown(struct cop_network *network, int timeout_ms)
{
    (void)network;
    (void)timeout_ms;
    return 0;
}

void cop_network_free(struct cop_network *network)
{
    (void)network;
}

int cop_network_event(struct cop_network *network,
                      struct cop_event *event,
                      int timeout_ms)
{
    (void)network;
    CU_ASSERT_EQUAL(timeout_ms, 0);
    if (world.now_ms >= lost_at_ms() && !state.is_lost) {
        state.is_lost = true;
        event->type = COP_EVENT_BACKEND_LOST;
    } else if (lost_at_ms() != UINT64_MAX && !state.is_suspected &&
               world.now_ms >= world.frozen_ms + world.held_ms) {
        state.is_suspected = true;
        event->type = COP_EVENT_NODE_SUSPECTED;
    } else {
        return -EAGAIN;
    }
    event->rank = world.frozen;
    snprintf(event->text, sizeof(event->text), "%u (h%u) %s", event->rank,
             event->rank,
             state.is_lost ? "is no longer a member: nobody has reached it"
                           : "may be lost: nobody has reached it");
    return 0;
}

int cop_network_node(struct cop_network *network,
                     uint32_t rank,
                     struct cop_status_node *node)
{
    (void)network;
    node->rank = rank;
    node->reason = rank == world.frozen ? "nobody has reached it" : "";
    return 0;
}

/* A daemon that freezes before it has opened the stream delays the opening
 * until the daemon is lost. */
int cop_stream_open(struct cop_stream **out,
                    struct cop_network *network,
                    const struct cop_communicator *communicator,
                    const struct cop_stream_options *options,
                    struct cop_error *error)
{
    (void)network;
    (void)communicator;
    if (is_frozen(world.frozen, world.now_ms) &&
        !wait_until(lost_at_ms(), world.times.open_timeout_ms))
        return cop_error_set(error, -ETIMEDOUT, "the stream is not open");
    *out = options->up_filter ? SAMPLES : ANSWERS;
    return 0;
}

void cop_stream_set_send_timeout(struct cop_stream *stream, int timeout_ms)
{
    (void)stream;
    (void)timeout_ms;
}

static void take_request(const struct cop_packet *packet)
{
    struct request request;

    CHECK_OK(request_unpack(&request, packet));
    CU_ASSERT_FATAL(request.task_count <= WORLD_TASKS);
    CU_ASSERT_FATAL(world.daemons <= DAEMONS_MAX);
    state.tasks = request.task_count;
    state.samples = request.samples;
    state.interval_ms = request.interval_ms > world.slow_ms
                            ? request.interval_ms
                            : (uint32_t)world.slow_ms;
    state.asked_ms = world.now_ms;
    state.next = 1;
    for (uint32_t i = 0; i < request.task_count; i++) {
        state.ranks[i] = request.daemons[i];
        state.pids[i] = request.pids[i];
    }
    for (uint32_t i = 1; i <= world.daemons; i++) {
        CHECK_OK(traces_new(&state.traces[i]));
        if (request.samples == REQUEST_FOLLOW)
            traces_forget(state.traces[i]);
    }
}

static void push_answer(struct cop_packet *packet)
{
    CU_ASSERT_FATAL(state.answer_count < ANSWERS_MAX);
    state.answers[state.answer_count++] = packet;
}

/* Each daemon but the frozen one finds one process for each name, and none for
 * pids. */
static void answer_find(const struct cop_packet *packet)
{
    struct find find;

    CHECK_OK(find_unpack(&find, packet));
    for (uint32_t i = 0; i < find.count; i++) {
        struct targets targets = {.count = 0};
        struct cop_packet *answer;

        if (is_frozen(find.daemons[i], world.now_ms))
            continue;
        if (strcmp(find.jobs[i], TARGETS_PIDS) != 0)
            CHECK_OK(targets_add(&targets, 0, 100 + (pid_t)i, NULL));
        CHECK_OK(found_pack(&answer, i, &targets));
        targets_fini(&targets);
        push_answer(answer);
    }
}

/* Address N is called "place_N". */
static void answer_names(const struct cop_packet *packet)
{
    struct question question;
    uint32_t i;

    CHECK_OK(question_unpack(&question, packet));
    if (world.is_mute)
        return;
    for (i = 0; i < question.address_count; i++) {
        char name[32];
        uint32_t one = 1, line = 0, role = ROLE_PROGRAM;
        const char *function = name, *file = "";
        struct answer answer = {.number = question.number,
                                .count = 1,
                                .addresses = &i,
                                .counts = &one,
                                .frame_count = 1,
                                .functions = &function,
                                .files = &file,
                                .lines = &line,
                                .roles = &role};
        struct cop_packet *packed;

        if (is_frozen(question.daemons[question.modules[i]], world.now_ms))
            continue;
        snprintf(name, sizeof(name), "place_%u", (unsigned)question.offsets[i]);
        CHECK_OK(answer_pack(&packed, &answer));
        push_answer(packed);
    }
}

int cop_stream_send_packet(struct cop_stream *stream,
                           const struct cop_packet *packet)
{
    int32_t tag = cop_packet_tag(packet);

    if (world.frozen_ms == WORLD_ASKED)
        world.frozen_ms = world.now_ms;
    if (tag == STAT_TAG_REQUEST) {
        CU_ASSERT_PTR_EQUAL(stream, SAMPLES);
        take_request(packet);
        return 0;
    }
    CU_ASSERT_PTR_EQUAL(stream, ANSWERS);
    world.questions++;
    if (tag == STAT_TAG_FIND)
        answer_find(packet);
    else
        answer_names(packet);
    return 0;
}

int cop_stream_send(struct cop_stream *stream,
                    int32_t tag,
                    const char *format,
                    ...)
{
    (void)format;
    CU_ASSERT_PTR_EQUAL(stream, SAMPLES);
    CU_ASSERT_EQUAL(tag, STAT_TAG_STOP);
    world.stops++;
    state.samples = 0;
    return 0;
}

/* The time at which sample `number` is taken. */
static uint64_t taken_ms(uint32_t number)
{
    return state.asked_ms + (uint64_t)(number - 1) * state.interval_ms;
}

/* The time at which the next sample arrives; UINT64_MAX: never. */
static uint64_t due_ms(void)
{
    uint64_t taken = taken_ms(state.next);

    if (state.next > state.samples ||
        (world.daemons == 1 && is_frozen(1, taken)))
        return UINT64_MAX;
    if (world.hurried)
        return world.now_ms + 1;
    return is_frozen(world.frozen, taken)
               ? later(taken, world.frozen_ms + world.held_ms)
               : taken;
}

/* The tree that one daemon sends for the next sample. Pids 2 and 3 are at
 * different places, as in the hung ring. */
static struct tree *sample_of(uint32_t rank)
{
    struct tree *tree;

    for (uint32_t task = 0; task < state.tasks; task++) {
        bool moves = task == 0 && taken_ms(state.next) < world.moves_ms;
        uint32_t place = (uint32_t)state.pids[task] - 1;
        struct frame frame = {
            "",
            "",
            0,
            MODULE,
            moves ? 30 + state.next % 8 : place <= 2 ? place : 0,
            false};

        if (state.ranks[task] == rank)
            CHECK_OK(traces_add(state.traces[rank], task, &frame, 1));
    }
    CHECK_OK(traces_sample(&tree, state.traces[rank], 0));
    return tree;
}

/* The next sample, merged. */
static struct cop_packet *pack_sample(void)
{
    struct tree *trees[DAEMONS_MAX], *tree;
    struct cop_packet *packet;
    uint32_t rank, count = 0, i;

    for (rank = 1; rank <= world.daemons; rank++)
        if (!is_frozen(rank, taken_ms(state.next)))
            trees[count++] = sample_of(rank);
    CHECK_OK(tree_join_all(&tree, trees, count));
    CHECK_OK(tree_pack(&packet, STAT_TAG_TREE, tree));
    for (i = 0; i < count; i++)
        tree_free(trees[i]);
    tree_free(tree);
    return packet;
}

/* Wait until `due`. Returns as cop_stream_receive(). */
static int wait_for(uint64_t due, int timeout_ms)
{
    uint64_t stops = is_empty(lost_at_ms()) ? lost_at_ms() : UINT64_MAX;

    if (world.ends_ms > 0 && world.ends_ms < stops)
        stops = world.ends_ms;
    if (wait_until(due < stops ? due : stops, (uint64_t)timeout_ms) &&
        due >= stops)
        return stops == world.ends_ms ? -ENOTCONN : -ENODEV;
    return world.now_ms >= due ? 0 : -EAGAIN;
}

int cop_stream_receive(struct cop_stream *stream,
                       struct cop_packet **packet,
                       int timeout_ms)
{
    bool answers = stream == ANSWERS;
    int r;

    CU_ASSERT_FATAL(++state.calls < CALLS_MAX);
    if (!answers && timeout_ms > world.longest_ms)
        world.longest_ms = timeout_ms;
    if (!answers && world.hurried && state.next <= state.samples)
        timeout_ms = 1;
    r = wait_for(!answers                                   ? due_ms()
                 : state.answers_taken < state.answer_count ? world.now_ms
                                                            : UINT64_MAX,
                 timeout_ms);
    if (r < 0)
        return r;
    if (answers) {
        *packet = state.answers[state.answers_taken++];
        return 0;
    }
    *packet = pack_sample();
    state.wave = state.next++;
    world.received++;
    return 0;
}

uint64_t cop_packet_wave(const struct cop_packet *packet)
{
    (void)packet;
    return state.wave;
}

/* Returns when each live daemon has sent the first sample. */
int cop_stream_sync(struct cop_stream *stream,
                    int timeout_ms,
                    struct cop_error *error)
{
    uint64_t due = world.now_ms;

    CU_ASSERT_PTR_EQUAL(stream, SAMPLES);
    if (is_frozen(world.frozen, due) && !world.is_busy)
        due = lost_at_ms();
    if (!wait_until(due, (uint64_t)timeout_ms))
        return cop_error_set(error, -ETIMEDOUT, "not settled in time");
    return is_empty(world.now_ms) ? -ENODEV : 0;
}
