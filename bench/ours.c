/* ours.c - Coppice's side of the benchmarks, through the public API. */
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_tags.h"
#include "bench/side.h"
#include "bench/start.h"

/* A receive that takes this long means that the network is stuck. */
#define STUCK_MS    60000
#define SHUTDOWN_MS 30000

struct ours {
    struct cop_network *network;
    struct cop_stream *sum;   /* wait_for_all, sum */
    struct cop_stream *plain; /* do_not_wait, no filter */
    uint32_t leaves;
    enum side_load load;
};

/* Print what failed, and the events of the network. */
static int complain(struct ours *ours, int r, const char *what)
{
    struct cop_event event = COP_EVENT_INIT;

    warnx("coppice: %s: %s", what, strerror(-r));
    while (cop_network_event(ours->network, &event, 0) == 0)
        warnx("coppice: rank %u: %s", event.rank, event.text);
    return r;
}

static void ours_end(void *tree)
{
    struct ours *ours = tree;
    int r;

    if (!ours)
        return;
    if (ours->network) {
        r = cop_network_shutdown(ours->network, SHUTDOWN_MS);
        if (r < 0)
            complain(ours, r, "shutdown");
    }
    cop_network_free(ours->network);
    free(ours);
}

static int ours_start(void **tree, const struct shape *shape)
{
    struct ours *ours = calloc(1, sizeof(*ours));
    size_t members;
    int r;

    if (!ours)
        return -ENOMEM;
    ours->leaves = shape_leaves(shape);
    r = start_network(&ours->network, "bench_be", shape->text, NULL, NULL);
    if (r < 0)
        goto out;
    members = cop_communicator_size(cop_network_everyone(ours->network));
    if (members != ours->leaves) {
        warnx("coppice: %zu of %u back-ends are there", members, ours->leaves);
        r = -EPROTO;
        goto out;
    }
    *tree = ours;
    ours = NULL; /* now the caller's */
out:
    ours_end(ours);
    return r;
}

static int open_stream(struct ours *ours,
                       struct cop_stream **stream,
                       bool with_sum)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_error error;
    int r;

    if (*stream)
        return 0;
    options.sync = with_sum ? COP_WAIT_FOR_ALL : COP_DO_NOT_WAIT;
    options.up_filter = with_sum ? "sum" : NULL;
    r = cop_stream_open(stream, ours->network,
                        cop_network_everyone(ours->network), &options, &error);
    if (r < 0)
        warnx("coppice: %s", error.text);
    return r;
}

static int ours_prepare_ping(void *tree)
{
    struct ours *ours = tree;

    return open_stream(ours, &ours->sum, true);
}

static int ours_prepare_stream(void *tree, enum side_load load)
{
    struct ours *ours = tree;

    ours->load = load;
    return load == SIDE_ARRAYS ? open_stream(ours, &ours->plain, false)
                               : open_stream(ours, &ours->sum, true);
}

/* Receive one int and compare it. */
static int expect_int(struct ours *ours, uint32_t expected)
{
    struct cop_packet *packet;
    int32_t value;
    int r;

    r = cop_stream_receive(ours->sum, &packet, STUCK_MS);
    if (r < 0)
        return r;
    r = cop_packet_unpack(packet, "%d", &value);
    if (r == 0 && ((uint32_t)value != expected ||
                   cop_packet_contributors(packet) != ours->leaves)) {
        warnx("coppice: %d from %u back-ends, not %u from %u", value,
              cop_packet_contributors(packet), expected, ours->leaves);
        r = -EBADMSG;
    }
    cop_packet_free(packet);
    return r;
}

/* Receive one array and check its first and last element. */
static int expect_array(struct cop_stream *stream, double first, double last)
{
    struct cop_packet *packet;
    const double *array;
    uint32_t count;
    int r;

    r = cop_stream_receive(stream, &packet, STUCK_MS);
    if (r < 0)
        return r;
    r = cop_packet_unpack(packet, "%alf", &array, &count);
    if (r == 0 && (count != BENCH_ARRAY_COUNT || array[count - 1] != last ||
                   (first >= 0 && array[0] != first)))
        r = -EBADMSG;
    cop_packet_free(packet);
    return r;
}

static int ours_ping(void *tree)
{
    struct ours *ours = tree;
    int r;

    r = cop_stream_send(ours->sum, BENCH_PING, "%d", 1);
    if (r == 0)
        r = expect_int(ours, ours->leaves);
    return r < 0 ? complain(ours, r, "round trip") : 0;
}

static int take_stream(struct ours *ours, uint32_t count)
{
    uint32_t leaves = ours->leaves;
    int r = 0;

    switch (ours->load) {
    case SIDE_INTS:
        for (uint32_t i = 0; r == 0 && i < count; i++)
            r = expect_int(ours, (i & BENCH_INT_MASK) * leaves);
        return r;
    case SIDE_SUM:
        for (uint32_t i = 0; r == 0 && i < count; i++)
            r = expect_array(ours->sum, (double)i * leaves, leaves);
        return r;
    case SIDE_ARRAYS: /* they arrive in any order */
        for (uint64_t i = 0; r == 0 && i < (uint64_t)count * leaves; i++)
            r = expect_array(ours->plain, -1, 1);
        return r;
    }
    return -EINVAL;
}

static int ours_stream(void *tree, uint32_t count)
{
    struct ours *ours = tree;
    bool ints = ours->load == SIDE_INTS;
    struct cop_stream *stream =
        ours->load == SIDE_ARRAYS ? ours->plain : ours->sum;
    int r;

    r = cop_stream_send(stream, ints ? BENCH_INTS : BENCH_ARRAYS, "%ud", count);
    if (r == 0)
        r = take_stream(ours, count);
    return r < 0 ? complain(ours, r, "stream") : 0;
}

const struct side ours_side = {
    .name = "coppice",
    .start = ours_start,
    .prepare_ping = ours_prepare_ping,
    .prepare_stream = ours_prepare_stream,
    .ping = ours_ping,
    .stream = ours_stream,
    .end = ours_end,
};
