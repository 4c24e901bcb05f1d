/* bench_be.c - the back-end of all benchmarks: the tag of a packet selects the
 * job. It sends as a tool would, and never flushes explicitly. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/bench_tags.h"
#include "bench/integers.h"
#include "bench/start.h"

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

/* Packets sent at a rate. */
struct feed {
    struct cop_stream *stream; /* NULL: nothing */
    int32_t tag;               /* their kind: BENCH_FEED or BENCH_COUNT */
    uint32_t rank;
    uint32_t count;  /* sent so far */
    uint32_t limit;  /* may be sent so far */
    int64_t step_ns; /* time between two packets */
    int64_t due_ns;
};

static int send_ints(struct cop_stream *stream, uint32_t count)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < count; i++)
        r = cop_stream_send(stream, BENCH_INTS, "%d",
                            (int32_t)(i & BENCH_INT_MASK));
    return r;
}

static int send_range(struct cop_stream *stream,
                      const struct cop_packet *packet)
{
    uint32_t first, count;
    int r = cop_packet_unpack(packet, "%ud %ud", &first, &count);

    for (uint32_t i = 0; r == 0 && i < count; i++) {
        int32_t number = (int32_t)(first + i);

        r = cop_stream_send(stream, BENCH_RANGE, "%ad", &number, UINT32_C(1));
    }
    return r;
}

static int send_arrays(struct cop_stream *stream, uint32_t count)
{
    double *array = malloc(BENCH_ARRAY_COUNT * sizeof(*array));
    int r = array ? 0 : -ENOMEM;

    for (uint32_t k = 0; array && k < BENCH_ARRAY_COUNT; k++)
        array[k] = 1;
    for (uint32_t i = 0; r == 0 && i < count; i++) {
        array[0] = i;
        r = cop_stream_send(stream, BENCH_ARRAYS, "%alf", array,
                            BENCH_ARRAY_COUNT);
    }
    free(array);
    return r;
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Back-ends of real tools do not send in step: each starts at a different
 * time. */
static int begin_feed(struct feed *feed,
                      struct cop_stream *stream,
                      const struct cop_packet *packet)
{
    uint32_t rate;
    int r = cop_packet_unpack(packet, "%ud %ud", &rate, &feed->limit);

    if (r < 0)
        return r;
    if (rate == 0 || rate > NS_PER_S)
        return -EINVAL;
    feed->stream = stream;
    feed->tag = cop_packet_tag(packet);
    feed->step_ns = NS_PER_S / rate;
    feed->due_ns = now_ns() + integers_draw(feed->rank, 0) % feed->step_ns;
    return 0;
}

/* How long until the next packet is due. */
static int idle_ms(const struct feed *feed)
{
    int64_t left_ns = feed->due_ns - now_ns();

    if (!feed->stream || feed->count >= feed->limit)
        return COP_FOREVER;
    return left_ns <= 0 ? 0 : (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS);
}

static int feed_one(const struct feed *feed)
{
    int32_t number = integers_draw(feed->rank, feed->count);

    if (feed->tag == BENCH_COUNT)
        return cop_stream_send(feed->stream, BENCH_COUNT, "%uld %uld",
                               (uint64_t)number, UINT64_C(1));
    return cop_stream_send(feed->stream, BENCH_FEED, "%ad", &number,
                           UINT32_C(1));
}

/* Send the packets that are due. If the network has delayed them for more than
 * a second, skip them. */
static int feed_due(struct feed *feed)
{
    int64_t now = now_ns();
    int r = 0;

    if (feed->due_ns < now - NS_PER_S)
        feed->due_ns = now;
    while (r == 0 && feed->due_ns <= now && feed->count < feed->limit) {
        r = feed_one(feed);
        feed->count += r == 0;
        feed->due_ns += feed->step_ns;
    }
    return r;
}

static int answer(struct feed *feed,
                  struct cop_stream *stream,
                  const struct cop_packet *packet)
{
    int32_t token;
    uint32_t count;
    int r;

    switch (cop_packet_tag(packet)) {
    case BENCH_PING:
        r = cop_packet_unpack(packet, "%d", &token);
        return r < 0 ? r : cop_stream_send(stream, BENCH_PING, "%d", 1);
    case BENCH_INTS:
        r = cop_packet_unpack(packet, "%ud", &count);
        return r < 0 ? r : send_ints(stream, count);
    case BENCH_ARRAYS:
        r = cop_packet_unpack(packet, "%ud", &count);
        return r < 0 ? r : send_arrays(stream, count);
    case BENCH_RANGE:
        return send_range(stream, packet);
    case BENCH_FEED:
    case BENCH_COUNT:
        return begin_feed(feed, stream, packet);
    case BENCH_LEAVE:
        return -ENOTCONN; /* the end, as for serve_network() */
    case BENCH_LIMIT:
        return cop_packet_unpack(packet, "%ud", &feed->limit);
    case BENCH_STOP:
        feed->stream = NULL;
        return cop_stream_send(stream, BENCH_STOP, "%ud %ud", feed->rank,
                               feed->count);
    }
    return -EPROTO;
}

/* Serve until the network ends. */
static int serve_network(struct cop_network *network)
{
    struct feed feed = {.rank = cop_network_rank(network)};
    struct cop_stream *stream;
    struct cop_packet *packet;
    int r;

    for (;;) {
        r = cop_network_receive(network, &stream, &packet, idle_ms(&feed));
        if (r == 0) {
            r = answer(&feed, stream, packet);
            cop_packet_free(packet);
        } else if (r == -EAGAIN) {
            r = feed_due(&feed);
        }
        if (r < 0)
            return r;
    }
}

int main(void)
{
    return start_back_end(serve_network);
}
