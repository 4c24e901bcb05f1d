/* member.c - the back-end of the storm: member SEED FOLDER [SESSION].
 *
 * It answers commands, and sends a bounded number of unsolicited packets after
 * each: more than the machine can take would fill the windows, and each sync
 * would wait minutes for them. It checks that each command of a stream arrives
 * once and in order. FOLDER/tally.RANK, a mapped file that survives the
 * process, has what was sent and what was wrong. After SIGTERM it leaves the
 * network. A late joiner may be slow to receive its first command. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/storm/round.h"

#define UNASKED_MS  40 /* the most between two unsolicited packets */
#define UNASKED_MAX 16 /* after one command */
#define LAZY_US     3000
#define JOIN_MS     20000
#define JOIN_US     1000000
#define LEAVE_MS    60000
#define HASTE_MS    100 /* a short time-out of a leave */
#define ALERT_MS    50  /* the most until it obeys SIGTERM */

struct flow {
    struct cop_stream *stream;
    enum kind kind;
    uint32_t unasked; /* unsolicited packets still to send */
    uint64_t due_ms;  /* the time to send the next one */
};

static struct tally *tally;
static struct flow flows[FLOWS];
static uint64_t seed;
static volatile sig_atomic_t is_told_to_leave;

static void wrong(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Note a violation; only the first is kept. */
static void wrong(const char *format, ...)
{
    va_list args;

    if (tally->wrong[0])
        return;
    va_start(args, format);
    vsnprintf(tally->wrong, sizeof(tally->wrong), format, args);
    va_end(args);
}

static void tally_open(const char *folder, uint32_t rank)
{
    char path[512];
    int fd;

    tally_path(path, sizeof(path), folder, rank);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(*tally)) < 0)
        err(1, "%s", path);
    tally =
        mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (tally == MAP_FAILED)
        err(1, "%s", path);
    close(fd);
    tally->rank = rank;
    tally->pid = getpid();
}

static int send_numbers(uint32_t flow,
                        bool is_unasked,
                        uint32_t from,
                        uint32_t to)
{
    int32_t numbers[ITEMS_MAX];

    for (uint32_t i = from; i < to; i++)
        numbers[i - from] = set_number(tally->rank, flow, is_unasked, i);
    return cop_stream_send(flows[flow].stream, TAG_ANSWER, "%ad", numbers,
                           to - from);
}

static int send_peaks(uint32_t flow, uint32_t number, uint32_t items)
{
    uint32_t keys[ITEMS_MAX], i;
    int64_t values[ITEMS_MAX];
    int64_t *peaks = tally->flows[flow].peaks;

    for (i = 0; i < items; i++) {
        values[i] = item_value(tally->rank, flow, number, i);
        keys[i] = (uint32_t)values[i] % KEYS;
        if (values[i] > peaks[keys[i]])
            peaks[keys[i]] = values[i];
    }
    return cop_stream_send(flows[flow].stream, TAG_ANSWER, "%aud %ald", keys,
                           items, values, items);
}

static int send_array(uint32_t flow, uint64_t value)
{
    uint64_t values[RANKS_MAX] = {0};

    values[tally->rank] = value;
    return cop_stream_send(flows[flow].stream, TAG_ANSWER, "%auld", values,
                           (uint32_t)RANKS_MAX);
}

static int send_part(uint32_t flow, uint32_t index)
{
    uint64_t value = part_value(tally->rank, flow, index);

    return flows[flow].kind == KIND_PIECES
               ? cop_stream_send(flows[flow].stream, TAG_ANSWER, "%ud %uld",
                                 tally->rank, value)
               : send_array(flow, value);
}

/* Send `count` packets on an exact or stream of totals. */
static int send_parts(uint32_t flow, uint32_t count)
{
    int r = 0;

    while (r == 0 && count-- > 0)
        r = send_part(flow, tally->flows[flow].sent++);
    return r;
}

static void answer(uint32_t flow, uint32_t number, uint32_t items)
{
    struct flow_tally *sent = &tally->flows[flow];
    uint32_t from = sent->answered;
    int r;

    sent->answered += items;
    if (flows[flow].kind == KIND_SET)
        r = send_numbers(flow, false, from, from + items);
    else if (flows[flow].kind == KIND_PEAKS)
        r = send_peaks(flow, number, items);
    else if (flows[flow].kind == KIND_SUM || flows[flow].kind == KIND_QUESTION)
        r = send_part(flow, number);
    else
        r = send_parts(flow, part_count(tally->rank, flow, number, items));
    sent->settled = sent->sent;
    memcpy(sent->settled_peaks, sent->peaks, sizeof(sent->peaks));
    if (r < 0 && r != -EPIPE && r != -ENOTCONN)
        wrong("flow %u: the answer to command %u: %s", flow, number,
              strerror(-r));
}

static void send_unasked(uint32_t flow)
{
    struct flow_tally *sent = &tally->flows[flow];
    uint32_t from = sent->unasked;
    int r;

    flows[flow].unasked--;
    sent->unasked++;
    if (flows[flow].kind == KIND_SET)
        r = send_numbers(flow, true, from, from + 1);
    else if (flows[flow].kind == KIND_PEAKS) /* numbers that no command has */
        r = send_peaks(flow, 0x80000000u + from, 1);
    else if (flows[flow].kind == KIND_SUM)
        r = send_array(flow, 0); /* adds nothing */
    else
        r = send_parts(flow, 1);
    if (r < 0 && r != -EPIPE && r != -ENOTCONN)
        wrong("flow %u: unsolicited packet %u: %s", flow, from, strerror(-r));
    flows[flow].due_ms = now_ms() + 1 + draw(&seed, UNASKED_MS);
}

/* Obey one command. */
static void obey(struct cop_stream *stream, const struct cop_packet *packet)
{
    uint32_t flow, kind, number, items, flags;
    struct flow_tally *got;

    if (cop_packet_unpack(packet, COMMAND_FORMAT, &flow, &kind, &number, &items,
                          &flags) < 0 ||
        flow >= FLOWS || kind >= KINDS || items > ITEMS_MAX) {
        wrong("a packet on stream %u is no command: \"%s\"",
              cop_stream_id(stream), cop_packet_format(packet));
        return;
    }
    got = &tally->flows[flow];
    if (got->first == 0)
        got->first = number;
    else if (number != got->last + 1)
        wrong("flow %u: command %u came behind command %u", flow, number,
              got->last);
    got->last = number;
    if (flows[flow].stream && flows[flow].stream != stream)
        wrong("flow %u has two streams", flow);
    flows[flow].stream = stream;
    flows[flow].kind = kind;
    if (draw(&seed, 8) == 0)
        usleep(draw(&seed, LAZY_US));
    answer(flow, number, items);
    flows[flow].unasked =
        (flags & FLAG_UNASKED) && !(flags & FLAG_STOP) ? UNASKED_MAX : 0;
}

/* Send the packets that are due. Returns the ms until the next is due. */
static int send_due(void)
{
    uint64_t next_ms = UINT64_MAX, at_ms = now_ms();

    for (uint32_t i = 0; i < FLOWS; i++) {
        if (flows[i].unasked > 0 && flows[i].due_ms <= at_ms)
            send_unasked(i);
        if (flows[i].unasked > 0 && flows[i].due_ms < next_ms)
            next_ms = flows[i].due_ms;
    }
    at_ms = now_ms();
    if (next_ms <= at_ms)
        return 0;
    return next_ms - at_ms < ALERT_MS ? (int)(next_ms - at_ms) : ALERT_MS;
}

static void on_term(int number)
{
    (void)number;
    is_told_to_leave = 1;
}

/* Leave the network after all packets have been accepted, by calls with short
 * or long time-outs; some back-ends do not wait longer than for the first. */
static void leave(struct cop_network *network)
{
    uint64_t end_ms = now_ms() + LEAVE_MS;
    struct cop_error error = {""};
    int r = -ETIMEDOUT, timeout_ms;

    tally->leaves = true;
    while (r == -ETIMEDOUT && now_ms() < end_ms && !tally->is_killed) {
        timeout_ms = draw(&seed, 3) ? (int)draw(&seed, HASTE_MS) : LEAVE_MS;
        r = cop_network_leave(network, timeout_ms, &error);
        tally->timeouts += r == -ETIMEDOUT;
        tally->is_killed =
            r == -ENOTCONN || (r == -ETIMEDOUT && draw(&seed, 16) == 0);
    }
    tally->has_left = r == 0;
    if (r < 0 && !tally->is_killed)
        wrong("leave: %s, %s", strerror(-r), error.text);
    if (r == -ETIMEDOUT)
        cop_network_shutdown(network, HASTE_MS);
}

/* Like cop_network_receive(), but wait in poll(). */
static int receive_by_poll(struct cop_network *network,
                           struct cop_stream **stream,
                           struct cop_packet **packet,
                           int timeout_ms)
{
    struct pollfd waited = {.events = POLLIN};
    struct cop_event event = COP_EVENT_INIT;
    int r = cop_network_receive(network, stream, packet, 0);

    if (r != -EAGAIN)
        return r;
    while (cop_network_event(network, &event, 0) == 0)
        ;
    waited.fd = cop_network_fd(network);
    poll(&waited, 1, timeout_ms);
    return cop_network_receive(network, stream, packet, 0);
}

int main(int argc, char **argv)
{
    uint64_t end_ms = now_ms() + JOIN_MS;
    struct cop_join join = COP_JOIN_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *packet;
    struct cop_error error;
    int r, timeout_ms;
    bool polls;

    if (argc < 3)
        errx(2, "usage: member SEED FOLDER [SESSION]");
    if (argc > 3)
        join.session_path = argv[3];
    do /* the node that a late joiner asks may be killed meanwhile */
        r = cop_network_join(&network, &join, &error);
    while (r < 0 && argc > 3 && now_ms() < end_ms);
    if (r < 0)
        errx(1, "%s", error.text);
    if (cop_network_rank(network) >= RANKS_MAX)
        errx(1, "rank %u is too high", cop_network_rank(network));
    signal(SIGTERM, on_term);
    tally_open(argv[2], cop_network_rank(network));
    seed = mix(strtoull(argv[1], NULL, 10) + tally->rank);
    polls = draw(&seed, 3) == 0;
    if (argc > 3 && draw(&seed, 2))
        usleep(draw(&seed, JOIN_US));
    do {
        timeout_ms = send_due();
        r = polls ? receive_by_poll(network, &stream, &packet, timeout_ms)
                  : cop_network_receive(network, &stream, &packet, timeout_ms);
        if (r == 0) {
            obey(stream, packet);
            cop_packet_free(packet);
        }
    } while ((r == 0 || r == -EAGAIN) && !is_told_to_leave);
    if (is_told_to_leave)
        leave(network);
    else if (r != -ENOTCONN)
        wrong("receive: %s", strerror(-r));
    cop_network_free(network);
    return 0;
}
