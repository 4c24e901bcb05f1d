/* feeding.c - a network whose back-ends send random integers at a rate. */
#include "bench/feeding.h"

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_tags.h"
#include "bench/start.h"

/* To stop, and to have all that was sent. */
#define STOP_MS     120000
#define SHUTDOWN_MS 30000

/* The limit of what may be sent is raised by so much at a time. */
#define FEEDING_STEP 32

static int open_stream(struct feeding *feeding,
                       struct cop_stream **stream,
                       enum cop_sync sync,
                       const char *filter)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_error error;
    int r;

    options.sync = sync;
    options.up_filter = filter;
    r = cop_stream_open(stream, feeding->network,
                        cop_network_everyone(feeding->network), &options,
                        &error);
    if (r < 0)
        warnx("coppice: %s", error.text);
    return r;
}

int feeding_pace(struct feeding *feeding, uint32_t rate)
{
    int r = cop_stream_send(feeding->stream, BENCH_FEED, "%ud %ud", rate,
                            feeding->limit);

    if (r < 0)
        warnx("coppice: a rate of %u: %s", rate, strerror(-r));
    return r;
}

int feeding_start(struct feeding **out,
                  const char *shape,
                  const char *text,
                  uint32_t rate)
{
    struct feeding *feeding = calloc(1, sizeof(*feeding));
    int r;

    if (!feeding)
        return -ENOMEM;
    r = integers_new(&feeding->seen);
    if (r == 0)
        r = start_network(&feeding->network, "bench_be", shape, text, NULL);
    if (r == 0)
        r = open_stream(feeding, &feeding->stream, COP_WAIT_FOR_ALL,
                        "int_union");
    if (r == 0)
        r = open_stream(feeding, &feeding->control, COP_DO_NOT_WAIT, NULL);
    if (r < 0)
        goto out;
    feeding->members =
        (uint32_t)cop_communicator_size(cop_network_everyone(feeding->network));
    feeding->limit = FEEDING_AHEAD;
    r = feeding_pace(feeding, rate);
    if (r < 0)
        goto out;
    *out = feeding;
    feeding = NULL; /* now the caller's */
out:
    feeding_end(feeding);
    return r;
}

/* A wave has come. Some at a time, the back-ends may send as many more. */
static int raise_limit(struct feeding *feeding, uint64_t wave)
{
    if (wave + FEEDING_AHEAD - FEEDING_STEP < feeding->limit)
        return 0;
    feeding->limit = (uint32_t)wave + FEEDING_AHEAD;
    return cop_stream_send(feeding->stream, BENCH_LIMIT, "%ud", feeding->limit);
}

static int add_integers(struct feeding *feeding,
                        const struct cop_packet *packet)
{
    const int32_t *numbers;
    uint32_t count;
    int r = cop_packet_unpack(packet, "%ad", &numbers, &count);

    if (r == 0)
        r = integers_add(feeding->seen, numbers, count);
    if (r == 0 && !cop_packet_is_compensation(packet))
        r = raise_limit(feeding, cop_packet_wave(packet));
    if (r < 0)
        warnx("coppice: a packet of the union: %s", strerror(-r));
    return r;
}

int feeding_take(struct feeding *feeding, int timeout_ms, bool *compensation)
{
    struct cop_packet *packet;
    int r = cop_stream_receive(feeding->stream, &packet, timeout_ms);

    if (r < 0) {
        if (r != -EAGAIN)
            warnx("coppice: receive: %s", strerror(-r));
        return r;
    }
    *compensation = cop_packet_is_compensation(packet);
    r = add_integers(feeding, packet);
    cop_packet_free(packet);
    return r;
}

/* One back-end says how much it has sent: these numbers are wanted. */
static int take_count(struct feeding *feeding,
                      const struct cop_packet *packet,
                      struct integers *wanted)
{
    uint32_t rank;
    uint32_t count;
    int r = cop_packet_unpack(packet, "%ud %ud", &rank, &count);

    for (uint32_t i = 0; r == 0 && i < count; i++) {
        int32_t number = integers_draw(rank, i);

        r = integers_add(wanted, &number, 1);
    }
    if (r == 0)
        feeding->sent += count;
    return r;
}

/* Have the back-ends stop and say how much they have sent. */
static int stop_backends(struct feeding *feeding, struct integers *wanted)
{
    struct cop_stream *stream;
    struct cop_packet *packet;
    uint32_t counted = 0;
    int r = cop_stream_send(feeding->control, BENCH_STOP, "%d", 0);

    while (r == 0 && counted < feeding->members) {
        r = cop_network_receive(feeding->network, &stream, &packet, STOP_MS);
        if (r < 0)
            break;
        if (stream == feeding->control)
            r = take_count(feeding, packet, wanted);
        else
            r = add_integers(feeding, packet);
        counted += stream == feeding->control;
        cop_packet_free(packet);
    }
    if (r < 0)
        warnx("coppice: %u of %u back-ends have stopped: %s", counted,
              feeding->members, strerror(-r));
    return r;
}

static int compare(const struct feeding *feeding, const struct integers *wanted)
{
    size_t missing = integers_missing(feeding->seen, wanted);
    size_t foreign = integers_missing(wanted, feeding->seen);

    if (missing == 0 && foreign == 0)
        return 0;
    warnx("coppice: of %zu integers %zu have not come; %zu have that nobody "
          "sent",
          integers_count(wanted), missing, foreign);
    return -EBADMSG;
}

int feeding_check(struct feeding *feeding)
{
    struct integers *wanted = NULL;
    struct cop_error error = {.text = ""};
    bool compensation;
    int r;

    r = integers_new(&wanted);
    if (r < 0)
        return r;
    r = stop_backends(feeding, wanted);
    if (r < 0)
        goto out;
    r = cop_stream_sync(feeding->stream, STOP_MS, &error);
    if (r != 0) {
        warnx("coppice: sync: %s: %s", r > 0 ? "lossy" : strerror(-r),
              error.text);
        r = r > 0 ? -EBADMSG : r;
        goto out;
    }
    while (r == 0)
        r = feeding_take(feeding, 0, &compensation);
    r = r == -EAGAIN ? compare(feeding, wanted) : r;
out:
    integers_free(wanted);
    return r;
}

void feeding_end(struct feeding *feeding)
{
    int r;

    if (!feeding)
        return;
    if (feeding->network) {
        r = cop_network_shutdown(feeding->network, SHUTDOWN_MS);
        if (r < 0)
            warnx("coppice: shutdown: %s", strerror(-r));
    }
    cop_network_free(feeding->network);
    integers_free(feeding->seen);
    free(feeding);
}
