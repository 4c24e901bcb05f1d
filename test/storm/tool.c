/* tool.c - the front-end of the storm:
 * tool SEED FOLDER SHAPE MEMBER WEATHER
 *
 * It launches the tree and uses several streams, with a thread for each. The
 * harm comes from outside. Standard output informs the driver:
 *
 *     TIME ready                    tree and streams are usable
 *     TIME event TYPE RANK PARENT LOST_PARENT STREAM TEXT
 *     TIME bad TEXT                 a promise was broken
 *     TIME settled NUMBERS COMMANDS SYNCS LOSSY PARTS TOTALS WAVES ANSWERS
 *                  PARTIAL
 *     TIME ended RESULT TEXT        of the shutdown, and of its event
 *     TIME bye                      everything has been freed
 *
 * Standard input has "finish", which ends the work, and then "end". */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/storm/parts.h"

#define SYNC_MS     60000 /* no sync may take longer */
#define SHUTDOWN_MS 30000
#define BURST_MAX   4
#define KEEP_MIN                                                               \
    98304 /* more than a back-end sends in two epochs, or two back-ends
             deadlock: each blocked in the middle of an epoch, of different
             streams */
#define REST_MS   60
#define ORPHAN_MS 15000
#define END_MS    90000 /* longer than it takes to give a node up */

struct flow {
    pthread_t thread;
    uint64_t seed;
    struct cop_stream *stream;
    struct ledger ledger;
    bool is_unasked;
    uint32_t syncs;
    uint32_t lossy;
};

static struct cop_network *network;
static struct flow flows[FLOWS];
static enum weather weather;
static atomic_bool has_joined[RANKS_MAX]; /* an event has said so */
static atomic_bool finishes;
static atomic_uint running;
static atomic_uint incomplete; /* whole waves and totals */
static atomic_uint bad_count;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void bad(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say_va(const char *what, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void say_va(const char *what, const char *format, va_list args)
{
    char line[2048];

    vsnprintf(line, sizeof(line), format, args);
    printf("%" PRIu64 " %s%s\n", now_ms(), what, line);
    fflush(stdout);
}

static void say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say_va("", format, args);
    va_end(args);
}

static void bad(const char *format, ...)
{
    va_list args;

    bad_count++;
    va_start(args, format);
    say_va("bad ", format, args);
    va_end(args);
}

static void flow_drain(struct flow *flow, int timeout_ms)
{
    struct cop_packet *packet;

    while (cop_stream_receive(flow->stream, &packet, timeout_ms) == 0) {
        ledger_packet(&flow->ledger, packet);
        cop_packet_free(packet);
        timeout_ms = 0;
    }
}

static const enum cop_guarantee guarantees[KINDS] = {
    [KIND_SET] = COP_GUARANTEE_COMPENSATION,
    [KIND_PEAKS] = COP_GUARANTEE_COMPENSATION,
    [KIND_SUM] = COP_GUARANTEE_NONE,
    [KIND_QUESTION] = COP_GUARANTEE_NONE,
    [KIND_EXACT] = COP_GUARANTEE_WAVES,
    [KIND_PIECES] = COP_GUARANTEE_WAVES,
    [KIND_TOTAL] = COP_GUARANTEE_TOTAL};

/* Check the total of a stream of totals, if it is exact. */
static void flow_total(struct flow *flow)
{
    struct cop_packet *total = NULL;
    int r = cop_stream_state(flow->stream, &total, SYNC_MS);

    if (r == 0 || r == -ENODATA)
        parts_total(&flow->ledger, total);
    else if (r < 0)
        bad("%s: state: %s", flow->ledger.name, strerror(-r));
    cop_packet_free(total);
}

/* Sync, receive what is waiting, and compare. Returns whether all is right. */
static bool flow_sync(struct flow *flow)
{
    struct ledger *ledger = &flow->ledger;
    struct cop_error error = {""};
    int r = cop_stream_sync(flow->stream, SYNC_MS, &error);

    ledger_note_left(ledger);
    flow_drain(flow, 0);
    flow->syncs++;
    flow->lossy += r == 1;
    if (r < 0)
        bad("%s: sync: %s, %s", ledger->name, strerror(-r), error.text);
    else if (r == 1 && (guarantees[ledger->kind] || weather == CALM))
        bad("%s: sync returned 1", ledger->name);
    if (r >= 0)
        ledger_synced(ledger, r == 1);
    if (r >= 0 && ledger->kind == KIND_TOTAL)
        flow_total(flow);
    return r >= 0;
}

/* Receive the answers to all questions, as the README does. Returns whether all
 * is right. */
static bool flow_answers(struct flow *flow)
{
    struct ledger *ledger = &flow->ledger;
    struct cop_packet *packet = NULL;
    int r = 0;

    while (r == 0 && ledger->answers < ledger->number) {
        r = cop_stream_receive(flow->stream, &packet, SYNC_MS);
        if (r == 0)
            ledger_packet(ledger, packet);
        else
            bad("%s: answer %u of %u: %s", ledger->name, ledger->answers + 1,
                ledger->number, strerror(-r));
        cop_packet_free(packet);
        packet = NULL;
    }
    return r == 0;
}

/* Send some commands, and sync; behind questions, perhaps receive the answers
 * instead. Returns whether all is right. */
static bool flow_ask(struct flow *flow, uint32_t flags)
{
    struct ledger *ledger = &flow->ledger;
    uint32_t count = 1 + draw(&flow->seed, BURST_MAX), items, number;
    int r = 0;

    for (uint32_t rank = 0; rank < RANKS_MAX; rank++)
        ledger->parts[rank].is_member = ledger->grows && has_joined[rank];
    flags |= flow->is_unasked ? FLAG_UNASKED : 0;
    while (r == 0 && count-- > 0) {
        items = 1 + draw(&flow->seed, ITEMS_MAX);
        number = ledger_command(ledger, items);
        r = cop_stream_send(flow->stream, TAG_COMMAND, COMMAND_FORMAT,
                            ledger->flow, (unsigned)ledger->kind, number, items,
                            flags);
    }
    if (r < 0) {
        bad("%s: send: %s", ledger->name, strerror(-r));
        return false;
    }
    if (ledger->kind == KIND_QUESTION && !(flags & FLAG_STOP) &&
        draw(&flow->seed, 4))
        return flow_answers(flow);
    return flow_sync(flow);
}

/* Sync until every packet of whole waves and totals has arrived, also
 * those of late joiners and of a leaving back-end, for which a sync need not
 * wait. */
static void flow_complete(struct flow *flow)
{
    uint64_t end_ms = now_ms() + END_MS;
    bool is_complete = false;

    while (incomplete > 0 && bad_count == 0 && flow_sync(flow)) {
        if (!is_complete && parts_are_all(&flow->ledger, NULL)) {
            is_complete = true;
            incomplete--;
        }
        if (!is_complete && now_ms() > end_ms)
            parts_are_all(&flow->ledger, bad);
        flow_drain(flow, 1 + (int)draw(&flow->seed, REST_MS));
    }
}

static void flow_end(struct flow *flow)
{
    struct cop_packet *state = NULL;
    int r = 0;

    if (flow->ledger.kind >= KIND_EXACT) {
        flow_complete(flow);
        return;
    }
    if (guarantees[flow->ledger.kind]) {
        r = cop_stream_state(flow->stream, &state, SYNC_MS);
        if (r < 0)
            bad("%s: state: %s", flow->ledger.name, strerror(-r));
    }
    if (r == 0)
        ledger_end(&flow->ledger, state);
    cop_packet_free(state);
}

static void *flow_run(void *arg)
{
    struct flow *flow = arg;
    bool is_well = true;

    while (is_well && !finishes) {
        is_well = flow_ask(flow, 0);
        if (flow->ledger.kind == KIND_TOTAL)
            flow_total(flow);
        flow_drain(flow, (int)draw(&flow->seed, REST_MS));
    }
    is_well = is_well && flow_ask(flow, FLAG_STOP);
    if (is_well)
        flow_end(flow);
    running--;
    return NULL;
}

/* Half of the members, if `is_half`, else all. */
static struct cop_communicator *choose_members(struct flow *flow, bool is_half)
{
    const struct cop_communicator *all = cop_network_everyone(network);
    struct ledger *ledger = &flow->ledger;
    struct cop_communicator *some = NULL;

    for (size_t i = 0; i < cop_communicator_size(all); i++) {
        uint32_t rank = cop_communicator_rank(all, i);

        if (rank >= ledger->first_joiner)
            ledger->first_joiner = rank + 1;
        if (!is_half || i == 0 || draw(&flow->seed, 2))
            ledger->members[ledger->member_count++] = rank;
    }
    if (is_half && cop_communicator_new(&some, network, ledger->members,
                                        ledger->member_count) < 0)
        errx(1, "no communicator");
    return some;
}

/* Open flow `i`. The first four flows have another guarantee each. */
static void flow_open(uint32_t i, uint64_t seed, const char *folder)
{
    static const enum kind kinds[][2] = {{KIND_QUESTION, KIND_QUESTION},
                                         {KIND_SET, KIND_PEAKS},
                                         {KIND_EXACT, KIND_PIECES},
                                         {KIND_TOTAL, KIND_TOTAL}};
    static const char *const names[KINDS] = {
        "set", "peaks", "sum", "question", "exact", "pieces", "total"};
    static const char *const filters[KINDS] = {
        "int_union", "peaks", "sum", "sum", "sum", NULL, "sum"};
    static const char *const modes[] = {"wait-for-all", "do-not-wait",
                                        "time-out"};
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct flow *flow = &flows[i];
    struct ledger *ledger = &flow->ledger;
    struct cop_communicator *some;
    struct cop_error error = {""};
    bool is_half;
    int r;

    flow->seed = mix(seed ^ ((uint64_t)i << 32));
    ledger->folder = folder;
    ledger->bad = bad;
    ledger->flow = i;
    ledger->kind = i < sizeof(kinds) / sizeof(*kinds)
                       ? kinds[i][draw(&flow->seed, 2)]
                       : (enum kind)draw(&flow->seed, KINDS);
    options.guarantee = guarantees[ledger->kind];
    options.up_filter = filters[ledger->kind];
    if (ledger->kind == KIND_QUESTION && draw(&flow->seed, 2))
        options.up_filter = "max";
    else if (options.guarantee == COP_GUARANTEE_WAVES)
        options.keep = draw(&flow->seed, 2) ? KEEP_MIN : 0;
    else if (ledger->kind != KIND_QUESTION)
        options.sync = draw(&flow->seed, 3);
    options.wave_timeout_ms =
        options.sync == COP_TIME_OUT ? 5 + draw(&flow->seed, 46) : 0;
    flow->is_unasked = ledger->kind != KIND_QUESTION && draw(&flow->seed, 2);
    is_half = i >= 3 && draw(&flow->seed, 3) == 0;
    options.grow = !is_half;
    ledger->grows = options.grow;
    some = choose_members(flow, is_half);
    snprintf(ledger->name, sizeof(ledger->name), "flow %u (%s, %s%s, %u)", i,
             names[ledger->kind], modes[options.sync],
             flow->is_unasked ? ", unsolicited" : "", ledger->member_count);
    r = cop_stream_open(&flow->stream, network,
                        some ? some : cop_network_everyone(network), &options,
                        &error);
    cop_communicator_free(some);
    if (r < 0)
        errx(1, "%s: open: %s", ledger->name, error.text);
    say("open %u %s", cop_stream_id(flow->stream), ledger->name);
    if (cop_stream_guarantee(flow->stream, NULL) != guarantees[ledger->kind])
        bad("%s: cop_stream_guarantee() is wrong", ledger->name);
    incomplete += ledger->kind >= KIND_EXACT;
}

static void launch(char **argv)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_error error = {""};
    char session[512];
    char *member[] = {argv[4], argv[1], argv[2], NULL};

    snprintf(session, sizeof(session), "%s/session", argv[2]);
    launch.topology_shape = argv[3];
    launch.backend_argv = member;
    launch.session_path = session;
    /* A sync waits for a back-end that has ended, or left, with its parent until
     * the back-end is given up. */
    launch.times.orphan_timeout_ms = ORPHAN_MS;
    if (cop_network_launch(&network, &launch, &error) < 0)
        errx(1, "launch: %s", error.text);
}

/* The number of open descriptors of this process. */
static unsigned descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;

    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

/* Print each event, until standard input has `word`. If `word` is NULL: until
 * no flow runs. */
static void watch(const char *word)
{
    struct cop_event event = COP_EVENT_INIT;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char line[32];
    int r;

    while (word || running > 0) {
        r = cop_network_event(network, &event, 20);
        if (r == 0)
            say("event %d %u %u %u %u %s", (int)event.type, event.rank,
                event.parent, event.lost_parent, event.stream_id, event.text);
        else if (r != -EAGAIN)
            usleep(20000);
        if (r == 0 && event.type == COP_EVENT_BACKEND_JOINED &&
            event.rank < RANKS_MAX)
            has_joined[event.rank] = true;
        if (r != 0 && word && poll(&input, 1, 0) > 0) {
            if (!fgets(line, sizeof(line), stdin))
                exit(1);
            if (strncmp(line, word, strlen(word)) == 0)
                return;
        }
    }
}

static void report(void)
{
    uint64_t numbers = 0, commands = 0, parts = 0, waves = 0;
    uint32_t syncs = 0, lossy = 0, totals = 0, answers = 0, partial = 0;

    for (uint32_t i = 0; i < FLOWS; i++) {
        const struct ledger *ledger = &flows[i].ledger;

        for (uint32_t rank = 0; rank < RANKS_MAX; rank++)
            parts += ledger->parts[rank].count;
        totals += ledger->totals;
        numbers += ledger->numbers;
        commands += (uint64_t)ledger->number * ledger->member_count;
        syncs += flows[i].syncs;
        lossy += flows[i].lossy;
        waves += ledger->waves;
        answers += ledger->answers;
        partial += ledger->partial;
    }
    say("settled %" PRIu64 " %" PRIu64 " %u %u %" PRIu64 " %u %" PRIu64
        " %u %u",
        numbers, commands, syncs, lossy, parts, totals, waves, answers,
        partial);
}

int main(int argc, char **argv)
{
    unsigned before = descriptors(), after;
    struct cop_event event = COP_EVENT_INIT;
    int r;

    if (argc < 6)
        errx(2, "usage: tool SEED FOLDER SHAPE MEMBER WEATHER");
    weather = (enum weather)atoi(argv[5]);
    launch(argv);
    for (uint32_t i = 0; i < FLOWS; i++)
        flow_open(i, strtoull(argv[1], NULL, 10), argv[2]);
    running = FLOWS;
    for (uint32_t i = 0; i < FLOWS; i++)
        if (pthread_create(&flows[i].thread, NULL, flow_run, &flows[i]))
            errx(1, "no thread");
    say("ready");
    watch("finish");
    finishes = true;
    watch(NULL);
    for (uint32_t i = 0; i < FLOWS; i++)
        pthread_join(flows[i].thread, NULL);
    report();
    watch("end");
    r = cop_network_shutdown(network, SHUTDOWN_MS);
    while (cop_network_event(network, &event, 0) == 0)
        if (event.type == COP_EVENT_ENDED)
            say("ended %d %s", r, event.text);
    cop_network_free(network);
    for (uint32_t i = 0; i < FLOWS; i++)
        ledger_fini(&flows[i].ledger);
    after = descriptors();
    if (after != before)
        bad("%u descriptors before the launch, %u after the end", before,
            after);
    say("bye");
    return bad_count > 0;
}
