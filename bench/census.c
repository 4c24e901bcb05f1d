/* census.c - a network whose back-ends send numbers at a rate on one stream. */
#include "bench/census.h"

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_tags.h"
#include "bench/duel.h"
#include "bench/start.h"

/* To stop, and to have all that was sent. */
#define STOP_MS     120000
#define SHUTDOWN_MS 30000

/* The limit of packets is raised by this much at a time. */
#define STEP 32

static int complain(int r, const char *what)
{
    if (r < 0)
        warnx("coppice: %s: %s", what, strerror(-r));
    return r;
}

static int open_control(struct census *census)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_error error;
    int r;

    options.sync = COP_DO_NOT_WAIT;
    r = cop_stream_open(&census->control, census->network,
                        cop_network_everyone(census->network), &options,
                        &error);
    if (r < 0)
        warnx("coppice: %s", error.text);
    return r;
}

static int list_members(struct census *census)
{
    const struct cop_communicator *all = cop_network_everyone(census->network);

    census->member_count = (uint32_t)cop_communicator_size(all);
    census->ranks = calloc(census->member_count, sizeof(*census->ranks));
    if (!census->ranks)
        return -ENOMEM;
    for (uint32_t i = 0; i < census->member_count; i++)
        census->ranks[i] = cop_communicator_rank(all, i);
    return 0;
}

/* Let every back-end send `rate` packets a second. */
static int set_pace(struct census *census, uint32_t rate)
{
    int32_t tag = census->mode == MODE_RECOVERABLE ? BENCH_FEED : BENCH_COUNT;

    return complain(
        cop_stream_send(census->stream, tag, "%ud %ud", rate, census->limit),
        "a rate");
}

int census_start(struct census **out,
                 enum mode mode,
                 const char *shape,
                 const char *text,
                 const char *session_path,
                 uint32_t rate)
{
    struct census *census = calloc(1, sizeof(*census));
    int r;

    if (!census)
        return -ENOMEM;
    census->mode = mode;
    census->limit = CENSUS_AHEAD;
    r = integers_new(&census->seen);
    if (r == 0)
        r = start_network(&census->network, "bench_be", shape, text,
                          session_path);
    if (r == 0)
        r = list_members(census);
    if (r == 0)
        r = open_control(census);
    if (r == 0)
        r = mode_open(mode, census->network, &census->stream);
    if (r == 0)
        r = set_pace(census, rate);
    if (r < 0) {
        census_end(census);
        return r;
    }
    *out = census;
    return 0;
}

/* The sum of the numbers that the members send in wave `wave` >= 1. */
static uint64_t truth_of(const struct census *census, uint32_t wave)
{
    uint64_t truth = 0;

    for (uint32_t i = 0; i < census->member_count; i++)
        truth += (uint64_t)integers_draw(census->ranks[i], wave - 1);
    return truth;
}

/* After wave `wave`, let the back-ends send more, some packets at a time. */
static int raise_limit(struct census *census, uint32_t wave)
{
    if (wave + CENSUS_AHEAD - STEP < census->limit)
        return 0;
    census->limit = wave + CENSUS_AHEAD;
    return complain(
        cop_stream_send(census->control, BENCH_LIMIT, "%ud", census->limit),
        "a higher limit");
}

/* Record a right answer: it contains everything up to `wave`. */
static void reach(struct census *census, uint32_t wave)
{
    census->right++;
    if (wave > census->wave)
        census->wave = wave;
}

/* Take in a packet. Returns 1 if it is the complete wave `wave` of all members;
 * 0 if not; or a negative errno. */
static int read_wave(struct census *census,
                     const struct cop_packet *packet,
                     uint32_t wave)
{
    bool all = cop_packet_contributors(packet) == census->member_count;
    const int32_t *numbers;
    uint64_t value, one;
    uint32_t count;
    int r;

    if (census->mode == MODE_RECOVERABLE) {
        r = cop_packet_unpack(packet, "%ad", &numbers, &count);
        if (r == 0)
            r = integers_add(census->seen, numbers, count);
        return r < 0 ? r : all;
    }
    r = cop_packet_unpack(packet, "%uld %uld", &value, &one);
    if (r == 0)
        census->sum += value;
    if (r < 0 || !all)
        return r;
    return value == truth_of(census, wave);
}

static int look_at_wave(struct census *census,
                        const struct cop_packet *packet,
                        bool *right)
{
    uint32_t wave = (uint32_t)cop_packet_wave(packet);
    int r = read_wave(census, packet, wave);

    if (r < 0)
        return complain(r, "an answer");
    if (cop_packet_is_compensation(packet) || cop_packet_is_late(packet))
        return 0; /* belongs to earlier waves */
    *right = r > 0;
    if (*right)
        reach(census, wave);
    else
        census->wrong++;
    if (*right || census->mode != MODE_EXACT || census->stopping)
        return raise_limit(census, wave);
    warnx("coppice: wave %u of the exact stream is wrong", wave);
    return -EBADMSG;
}

static int take_wave(struct census *census, int timeout_ms, bool *right)
{
    struct cop_packet *packet;
    int r = cop_stream_receive(census->stream, &packet, timeout_ms);

    if (r < 0)
        return r == -EAGAIN || r == -EIO ? r : complain(r, "receive");
    r = look_at_wave(census, packet, right);
    cop_packet_free(packet);
    return r;
}

/* Read the stream's state: a value, and the number of packets in it. Returns as
 * cop_stream_state(). */
static int read_state(struct census *census, uint64_t *value, uint64_t *packets)
{
    struct cop_packet *packet = NULL;
    int exact = cop_stream_state(census->stream, &packet, STOP_MS);
    int r = 0;

    *value = 0;
    *packets = 0;
    if (exact == -ENODATA)
        return 0;
    if (exact >= 0 && packet)
        r = cop_packet_unpack(packet, "%uld %uld", value, packets);
    cop_packet_free(packet);
    return r < 0 ? r : exact;
}

static int take_total(struct census *census, int timeout_ms, bool *right)
{
    struct cop_packet *none;
    uint64_t value, packets;
    uint32_t wave;
    int r = read_state(census, &value, &packets);

    if (r < 0)
        return r == -EIO ? r : complain(r, "a total");
    wave = (uint32_t)(packets / census->member_count);
    *right = r == 0 && wave > census->wave;
    if (*right) {
        reach(census, wave);
        return raise_limit(census, wave);
    }
    r = cop_stream_receive(census->stream, &none, timeout_ms); /* to wait */
    return r == 0 ? -EBADMSG : r;
}

int census_take(struct census *census, int timeout_ms, bool *right)
{
    *right = false;
    return census->mode == MODE_CUMULATIVE
               ? take_total(census, timeout_ms, right)
               : take_wave(census, timeout_ms, right);
}

/* One back-end says how much it has sent. */
static int take_count(struct census *census,
                      const struct cop_packet *packet,
                      struct integers *wanted,
                      uint64_t *total)
{
    uint32_t rank, count;
    int r = cop_packet_unpack(packet, "%ud %ud", &rank, &count);

    for (uint32_t i = 0; r == 0 && i < count; i++) {
        int32_t number = integers_draw(rank, i);

        *total += (uint64_t)number;
        r = integers_add(wanted, &number, 1);
    }
    if (r == 0)
        census->sent += count;
    return r;
}

/* Stop the back-ends, and find out what they have sent. */
static int stop_members(struct census *census,
                        struct integers *wanted,
                        uint64_t *total)
{
    double end_s = duel_now_s() + STOP_MS / 1e3;
    uint32_t stopped = 0;
    bool right;
    int r = cop_stream_send(census->control, BENCH_STOP, "%d", 0);

    while (r == 0 && stopped < census->member_count) {
        struct cop_packet *packet;

        while (census->mode != MODE_CUMULATIVE &&
               (r = census_take(census, 0, &right)) == 0)
            continue; /* no back-end must wait for credit */
        if (r < 0 && r != -EAGAIN)
            break;
        r = cop_stream_receive(census->control, &packet, 10);
        if (r == -EAGAIN && duel_now_s() < end_s) {
            r = 0;
            continue;
        }
        if (r < 0)
            break;
        r = take_count(census, packet, wanted, total);
        cop_packet_free(packet);
        stopped++;
    }
    return complain(r, "to stop the back-ends");
}

/* Compare the stream's result with everything sent. */
static int compare(struct census *census,
                   const struct integers *wanted,
                   uint64_t total)
{
    uint64_t value, packets;
    size_t missing, foreign;
    bool right;
    int r = 0;

    while (census->mode != MODE_CUMULATIVE && r == 0)
        r = census_take(census, 0, &right);
    switch (census->mode) {
    case MODE_NONE:
    case MODE_COUNT:
        return 0;
    case MODE_EXACT:
        return r == -EAGAIN && census->sum == total ? 0 : -EBADMSG;
    case MODE_RECOVERABLE:
        missing = integers_missing(census->seen, wanted);
        foreign = integers_missing(wanted, census->seen);
        if (missing + foreign > 0)
            warnx("coppice: of %zu integers %zu have not come; %zu have that "
                  "nobody sent",
                  integers_count(wanted), missing, foreign);
        return r == -EAGAIN && missing + foreign == 0 ? 0 : -EBADMSG;
    case MODE_CUMULATIVE:
        r = read_state(census, &value, &packets);
        return r == 0 && value == total ? 0 : -EBADMSG;
    }
    return -EINVAL;
}

int census_check(struct census *census)
{
    struct cop_error error = {.text = ""};
    struct integers *wanted = NULL;
    uint64_t total = 0;
    int r = integers_new(&wanted);

    census->stopping = true;
    if (r == 0)
        r = stop_members(census, wanted, &total);
    if (r < 0)
        goto out;
    r = cop_stream_sync(census->stream, STOP_MS, &error);
    if (r < 0 || (r > 0 && census->mode != MODE_NONE)) {
        warnx("coppice: sync of the %s stream: %s", mode_name(census->mode),
              r > 0 ? "something was lost" : error.text);
        r = r < 0 ? r : -EBADMSG;
        goto out;
    }
    r = compare(census, wanted, total);
    if (r < 0)
        warnx("coppice: the %s stream has not come to what was sent",
              mode_name(census->mode));
out:
    integers_free(wanted);
    return r;
}

void census_end(struct census *census)
{
    if (!census)
        return;
    if (census->network)
        complain(cop_network_shutdown(census->network, SHUTDOWN_MS),
                 "shutdown");
    cop_network_free(census->network);
    integers_free(census->seen);
    free(census->ranks);
    free(census);
}
