/* scale.c - the cost of a large tree. */
#include "sim/scale.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "sim/memory.h"
#include "sim/sim.h"
#include "wire/limits.h"
#include "wire/packet.h"

/* The limit in virtual time for each part. */
#define SCALE_WAIT_MS UINT64_C(600000)

/* The time after a part in which the rest of its frames is sent: claims and
 * fan-outs wait for a heartbeat. */
#define SCALE_REST_MS (3 * LIMIT_HEARTBEAT_MS)

/* Idle time, in heartbeats. */
#define SCALE_BEATS 10

/* Frames that a node has written or read. */
struct cost {
    uint64_t frames;
    uint64_t bytes;
};

struct scale {
    struct sim *sim;
    FILE *out;
    struct cost *costs; /* by index, since the part began; no heartbeats */
    struct cost *beats; /* of heartbeats only */
    uint32_t node_count;
    uint32_t backend_count;
    uint32_t stream;
    uint64_t part_ms;      /* virtual time at which the part began */
    struct timespec began; /* the same in real time */
    uint32_t launched;     /* nodes that were told TELL_LAUNCHED */
    uint32_t orphans;      /* of this part */
    uint32_t adopted;      /* how many of them the front-end reported adopted */
    bool opened;
    bool synced;
    bool answered;
    int32_t answer; /* the sum of all back-ends' answers */
    uint32_t observer;
};

/* ---- watching ---- */

static void count_at(struct cost *costs,
                     const struct scale *scale,
                     uint32_t index,
                     size_t len)
{
    if (index >= scale->node_count) /* an observer */
        return;
    costs[index].frames++;
    costs[index].bytes += len;
}

static void watch_wrote(struct sim *sim,
                        uint32_t index,
                        uint32_t peer,
                        const struct frame *frame,
                        size_t len,
                        void *arg)
{
    struct scale *scale = arg;
    struct cost *costs =
        frame->type == FRAME_HEARTBEAT ? scale->beats : scale->costs;

    (void)sim;
    count_at(costs, scale, index, len);
    count_at(costs, scale, peer, len);
}

static void watch_told(struct sim *sim,
                       uint32_t index,
                       const struct action *tell,
                       void *arg)
{
    struct scale *scale = arg;

    (void)sim;
    scale->launched += tell->tell == TELL_LAUNCHED;
    if (index > 0)
        return;
    scale->adopted += tell->tell == TELL_NODE_ADOPTED;
    scale->opened |= tell->tell == TELL_OPENED && tell->code == 0;
    scale->synced |= tell->tell == TELL_SYNCED && tell->code == 0;
}

/* A back-end answers 1; the front-end takes the sum. */
static void take_packet(struct sim *sim,
                        uint32_t index,
                        uint32_t stream,
                        const struct frame *frame,
                        void *arg)
{
    struct scale *scale = arg;
    struct payload *payload = NULL;
    struct cop_packet *packet = NULL;

    if (index > 0) {
        if (packet_pack(&payload, "%d", 1) == 0)
            sim_post(sim, index, stream, 1, payload);
        return;
    }
    if (packet_open(&packet, frame->payload) == 0)
        scale->answered = cop_packet_unpack(packet, "%d", &scale->answer) == 0;
    cop_packet_free(packet);
}

/* ---- lines ---- */

static void begin_part(struct scale *scale)
{
    memset(scale->costs, 0, scale->node_count * sizeof(*scale->costs));
    memset(scale->beats, 0, scale->node_count * sizeof(*scale->beats));
    scale->part_ms = sim_now_ms(scale->sim);
    scale->adopted = 0;
    clock_gettime(CLOCK_MONOTONIC, &scale->began);
}

/* The costs of the node of that role with the most bytes. */
static struct cost most_of(const struct scale *scale,
                           const struct cost *costs,
                           enum node_role role)
{
    struct cost most = {0};

    for (uint32_t i = 0; i < scale->node_count; i++)
        if (sim_role(scale->sim, i) == role && costs[i].bytes > most.bytes)
            most = costs[i];
    return most;
}

/* The sum over all nodes. Each frame was counted at both ends. */
static struct cost sum_of(const struct scale *scale, const struct cost *costs)
{
    struct cost sum = {0};

    for (uint32_t i = 0; i < scale->node_count; i++) {
        sum.frames += costs[i].frames;
        sum.bytes += costs[i].bytes;
    }
    sum.frames /= 2;
    sum.bytes /= 2;
    return sum;
}

static void print_cost(FILE *out, struct cost cost, unsigned times)
{
    fprintf(out, " %9" PRIu64 " %11" PRIu64, cost.frames / times,
            cost.bytes / times);
}

/* Print a line of `costs`, the costs of `times` equal parts. */
static void print_part(const struct scale *scale,
                       const char *name,
                       const struct cost *costs,
                       uint64_t part_ms,
                       unsigned times)
{
    struct timespec now;
    struct rusage usage;

    clock_gettime(CLOCK_MONOTONIC, &now);
    getrusage(RUSAGE_SELF, &usage);
    fprintf(scale->out, "%-14s %7" PRIu64, name, part_ms);
    print_cost(scale->out, costs[0], times);
    print_cost(scale->out, most_of(scale, costs, NODE_COMMNODE), times);
    print_cost(scale->out, most_of(scale, costs, NODE_BACKEND), times);
    print_cost(scale->out, sum_of(scale, costs), times);
    fprintf(scale->out, " %7.1f %6ld\n",
            (double)(now.tv_sec - scale->began.tv_sec) +
                (double)(now.tv_nsec - scale->began.tv_nsec) / 1e9,
            usage.ru_maxrss / 1024);
    fflush(scale->out);
}

static void print_head(const struct scale *scale, uint32_t internal_count)
{
    fprintf(scale->out,
            "%u nodes: %u back-ends, %u commnodes; messages and bytes, sent "
            "and received\n"
            "%-14s %7s %21s %21s %21s %21s %7s %6s\n",
            scale->node_count, scale->backend_count, internal_count - 1, "part",
            "ms", "front-end", "commnode, at most", "back-end, at most",
            "all links", "seconds", "MB");
}

/* Run until `done`, which ends the part. Print its line. */
static int finish_part(struct scale *scale,
                       const char *name,
                       bool (*done)(struct sim *sim, void *arg))
{
    int r = sim_run_while_not(scale->sim, SCALE_WAIT_MS, done, scale);
    uint64_t part_ms = sim_now_ms(scale->sim) - scale->part_ms;

    if (r == 0)
        r = sim_run_until(scale->sim, sim_now_ms(scale->sim) + SCALE_REST_MS);
    if (r == 0) {
        print_part(scale, name, scale->costs, part_ms, 1);
        return 0;
    }
    fprintf(scale->out, "%s: %s\n", name,
            r == -EIO ? sim_failure(scale->sim) : "is not over in time");
    return -EIO;
}

/* ---- the parts ---- */

static bool is_launched(struct sim *sim, void *arg)
{
    const struct scale *scale = arg;

    (void)sim;
    return scale->launched == scale->node_count;
}

static bool is_opened(struct sim *sim, void *arg)
{
    (void)sim;
    return ((const struct scale *)arg)->opened;
}

static bool is_answered(struct sim *sim, void *arg)
{
    const struct scale *scale = arg;

    (void)sim;
    return scale->answered && scale->answer == (int32_t)scale->backend_count;
}

static bool is_synced(struct sim *sim, void *arg)
{
    (void)sim;
    return ((const struct scale *)arg)->synced;
}

/* Whether the front-end has reported every orphan adopted. */
static bool is_healed(struct sim *sim, void *arg)
{
    const struct scale *scale = arg;

    (void)sim;
    return scale->adopted == scale->orphans;
}

static bool has_commnodes(const struct scale *scale, uint32_t index)
{
    for (uint32_t i = 0; i < scale->node_count; i++)
        if (sim_role(scale->sim, i) == NODE_COMMNODE &&
            sim_parent(scale->sim, i) == index)
            return true;
    return false;
}

static bool has_status(struct sim *sim, void *arg)
{
    return sim_answer(sim, ((const struct scale *)arg)->observer) != NULL;
}

static int run_launch(struct scale *scale)
{
    begin_part(scale);
    return finish_part(scale, "launch", is_launched);
}

static int run_open(struct scale *scale)
{
    struct stream_definition definition = {.up_filter = (char[]){"sum"}};
    int r = 0;

    begin_part(scale);
    for (uint32_t i = 0; r == 0 && i < scale->node_count; i++)
        if (sim_role(scale->sim, i) == NODE_BACKEND)
            r = ranks_add(&definition.members, i, i);
    if (r == 0)
        r = sim_open(scale->sim, &definition, &scale->stream);
    ranks_fini(&definition.members);
    return r < 0 ? r : finish_part(scale, "open", is_opened);
}

static int run_packet(struct scale *scale, const char *name)
{
    int r;

    begin_part(scale);
    scale->answered = false;
    r = sim_send(scale->sim, 0, scale->stream, 1, "%d", 1);
    return r < 0 ? r : finish_part(scale, name, is_answered);
}

static int run_sync(struct scale *scale)
{
    int r;

    begin_part(scale);
    r = sim_sync(scale->sim, scale->stream, NULL);
    return r < 0 ? r : finish_part(scale, "sync", is_synced);
}

/* Measure idle time: the heartbeats of one interval. */
static int run_idle(struct scale *scale)
{
    int r;

    begin_part(scale);
    r = sim_run_until(scale->sim, scale->part_ms + (uint64_t)SCALE_BEATS *
                                                       LIMIT_HEARTBEAT_MS);
    if (r == 0)
        print_part(scale, "heartbeat", scale->beats, LIMIT_HEARTBEAT_MS,
                   SCALE_BEATS);
    return r;
}

/* Kill commnode `victim`, and wait until its orphans have found parents. */
static int run_failure(struct scale *scale, const char *name, uint32_t victim)
{
    begin_part(scale);
    scale->orphans = 0;
    for (uint32_t i = 0; i < scale->node_count; i++)
        scale->orphans += sim_parent(scale->sim, i) == victim;
    sim_crash(scale->sim, victim);
    return finish_part(scale, name, is_healed);
}

/* Kill the parent of the last back-end, then a child of the front-end that has
 * commnodes below it, if there is one. */
static int run_failures(struct scale *scale)
{
    uint32_t last = scale->node_count - 1, top = 1;
    int r;

    while (sim_role(scale->sim, last) != NODE_BACKEND)
        last--;
    r = run_failure(scale, "failure, low", sim_parent(scale->sim, last));
    while (top < scale->node_count &&
           (sim_parent(scale->sim, top) != 0 || !has_commnodes(scale, top)))
        top++;
    if (r == 0 && top < scale->node_count)
        r = run_failure(scale, "failure, high", top);
    return r;
}

static int run_status(struct scale *scale)
{
    struct frame question = {.type = FRAME_STATUS, .count = LIMIT_STATUS_MS};

    begin_part(scale);
    scale->observer = sim_observe(scale->sim, 0, &question);
    return finish_part(scale, "status", has_status);
}

static int run_parts(struct scale *scale)
{
    int r = run_launch(scale);

    if (r == 0)
        r = run_open(scale);
    if (r == 0)
        r = run_packet(scale, "packet, answer");
    if (r == 0)
        r = run_sync(scale);
    if (r == 0)
        r = run_idle(scale);
    if (r == 0)
        r = run_failures(scale);
    if (r == 0)
        r = run_packet(scale, "packet, healed");
    if (r == 0)
        r = run_status(scale);
    if (r < 0 && r != -EIO)
        fprintf(scale->out, "scale: %s\n", strerror(-r));
    return r < 0 ? -EIO : 0;
}

/* Count the nodes, and allocate their costs. Returns 0, or -EINVAL if there is
 * no commnode. */
static int scale_init(struct scale *scale)
{
    uint32_t internal_count = 0;

    scale->node_count = sim_count(scale->sim);
    scale->costs = memory_new(scale->node_count * sizeof(*scale->costs));
    scale->beats = memory_new(scale->node_count * sizeof(*scale->beats));
    for (uint32_t i = 0; i < scale->node_count; i++) {
        scale->backend_count += sim_role(scale->sim, i) == NODE_BACKEND;
        internal_count += sim_role(scale->sim, i) <= NODE_COMMNODE;
        sim_set_app(scale->sim, i,
                    &(struct sim_app){.taken = take_packet, .arg = scale});
    }
    if (internal_count < 2 || scale->backend_count == 0)
        return -EINVAL;
    print_head(scale, internal_count);
    return 0;
}

int scale_run(const char *text, FILE *out)
{
    struct sim_config config = {.seed = 1, .own_addresses = true};
    struct scale scale = {.out = out};
    int r;

    r = sim_new(&scale.sim, text, &config);
    if (r < 0)
        return r;
    sim_watch(scale.sim, &(struct sim_watch){
                             .told = watch_told,
                             .wrote = watch_wrote,
                             .arg = &scale,
                         });
    r = scale_init(&scale);
    if (r == 0)
        r = run_parts(&scale);
    sim_free(scale.sim);
    free(scale.costs);
    free(scale.beats);
    return r;
}
