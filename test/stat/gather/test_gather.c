/* test_gather.c - who follows a job is asked in time, whatever comes: with a
 * tree of daemons that is made up here. */
#include <errno.h>
#include <time.h>

#include "stat/gather/gather.h"
#include "stat/gather/shortfall.h"
#include "stat/request.h"
#include "stat/tree/tree_pack.h"
#include "stat/walk/traces.h"
#include "test/check.h"

/* For so long packets come without a pause, at most. */
#define ENDLESS_S 60

/* What the daemons send, and what happened meanwhile. */
static struct {
    struct cop_packet *sample;
    const char *script; /* P: a packet, -: a pause, L: the daemon is lost; with
                           its end the network's; NULL: packets, and never a
                           pause */
    time_t end_s;       /* of it all */
    unsigned received;
    unsigned stopped; /* packets that say so */
    bool losing;      /* of which an event is to tell */
    bool lost;
} tree_of_daemons;

/* What the viewer is told. */
struct seen {
    unsigned looks;
    unsigned idles;
    unsigned ends;
    bool slow;          /* it took so long that more was shown */
    unsigned idles_max; /* then it wants to end; 0: after the first look */
};

/* What is in place of the tree; nobody looks inside of these. */
static char daemons_place, network_place, everyone_place, stream_place;

int daemons_launch(struct daemons **out,
                   const struct targets *targets,
                   const struct daemons_options *options,
                   uint32_t timeout_ms,
                   struct cop_error *error)
{
    (void)targets;
    (void)options;
    (void)timeout_ms;
    (void)error;
    *out = (struct daemons *)&daemons_place;
    return 0;
}

void daemons_free(struct daemons *daemons, int timeout_ms)
{
    (void)daemons;
    (void)timeout_ms;
}

struct cop_network *daemons_network(const struct daemons *daemons)
{
    (void)daemons;
    return (struct cop_network *)&network_place;
}

uint32_t daemons_silence_ms(uint32_t timeout_ms)
{
    return timeout_ms;
}

uint32_t daemons_of_host(const struct daemons *daemons, uint32_t host)
{
    (void)daemons;
    return host + 1;
}

const char *daemons_reason(const struct daemons *daemons, uint32_t host)
{
    (void)daemons;
    (void)host;
    return "";
}

int daemons_note_loss(struct daemons *daemons, uint32_t rank, const char *why)
{
    (void)daemons;
    CU_ASSERT_EQUAL(rank, 1);
    CU_ASSERT_STRING_EQUAL(why, "killed");
    tree_of_daemons.lost = true;
    return 0;
}

const char *daemons_loss(const struct daemons *daemons, uint32_t rank)
{
    (void)daemons;
    (void)rank;
    return tree_of_daemons.lost ? "killed" : NULL;
}

bool daemons_any_loss(const struct daemons *daemons)
{
    (void)daemons;
    return tree_of_daemons.lost;
}

uint32_t daemons_of_task(const struct daemons *daemons, uint32_t task)
{
    (void)daemons;
    (void)task;
    return 1;
}

int shortfall_find(struct tree **tree,
                   struct tasks **silent,
                   struct shortfall_wanted *wanted,
                   void (*say)(const char *line))
{
    (void)tree;
    (void)wanted;
    (void)say;
    *silent = NULL;
    return 0;
}

const struct cop_communicator *cop_network_everyone(struct cop_network *network)
{
    (void)network;
    return (const struct cop_communicator *)&everyone_place;
}

int cop_network_event(struct cop_network *network,
                      struct cop_event *event,
                      int timeout_ms)
{
    (void)network;
    (void)timeout_ms;
    if (!tree_of_daemons.losing)
        return -EAGAIN;
    tree_of_daemons.losing = false;
    *event = (struct cop_event){
        .type = COP_EVENT_BACKEND_LOST, .rank = 1, .text = "killed"};
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

int cop_stream_open(struct cop_stream **out,
                    struct cop_network *network,
                    const struct cop_communicator *communicator,
                    const struct cop_stream_options *options,
                    struct cop_error *error)
{
    (void)network;
    (void)communicator;
    (void)options;
    (void)error;
    *out = (struct cop_stream *)&stream_place;
    return 0;
}

void cop_stream_set_send_timeout(struct cop_stream *stream, int timeout_ms)
{
    (void)stream;
    (void)timeout_ms;
}

int cop_stream_send(struct cop_stream *stream,
                    int32_t tag,
                    const char *format,
                    ...)
{
    (void)stream;
    (void)format;
    tree_of_daemons.stopped += tag == STAT_TAG_STOP;
    return 0;
}

int cop_stream_send_packet(struct cop_stream *stream,
                           const struct cop_packet *packet)
{
    (void)stream;
    CU_ASSERT_EQUAL(cop_packet_tag(packet), STAT_TAG_REQUEST);
    return 0;
}

int cop_stream_sync(struct cop_stream *stream,
                    int timeout_ms,
                    struct cop_error *error)
{
    (void)stream;
    (void)timeout_ms;
    (void)error;
    return 0;
}

int cop_stream_receive(struct cop_stream *stream,
                       struct cop_packet **packet,
                       int timeout_ms)
{
    char what = 'P';

    (void)stream;
    CU_ASSERT(timeout_ms <= GATHER_IDLE_MS);
    if (tree_of_daemons.script)
        what = *tree_of_daemons.script++;
    tree_of_daemons.losing = what == 'L';
    if (what == '-' || what == 'L')
        return -EAGAIN;
    if (what != 'P' || time(NULL) > tree_of_daemons.end_s)
        return -ENOTCONN;
    *packet = cop_packet_ref(tree_of_daemons.sample);
    tree_of_daemons.received++;
    return 0;
}

static int look(void *arg, const struct tree *tree, const char *late)
{
    struct seen *seen = arg;

    CU_ASSERT_EQUAL(tree->end_count, 1);
    CU_ASSERT_STRING_EQUAL(
        late, tree_of_daemons.lost ? "node 1 was lost: killed" : "");
    seen->looks++;
    return 0;
}

static int idle(void *arg)
{
    struct seen *seen = arg;

    return ++seen->idles == seen->idles_max ||
           (seen->idles_max == 0 && seen->looks > 0);
}

static void end(void *arg)
{
    struct seen *seen = arg;

    seen->ends++;
}

static uint64_t clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Follow a job of one task, as `script` says, until the viewer was idle
 * `idles_max` times. Returns what it saw. */
static struct seen follow(const char *script,
                          unsigned idles_max,
                          struct cop_error *late)
{
    struct seen seen = {.idles_max = idles_max};
    struct gather_viewer viewer = {look, idle, end, &seen};
    struct gather_options options = {
        .timeout_ms = 1000, .interval_ms = 1, .viewer = &viewer};
    struct frame frame = {"main", "", 0, "", 0};
    struct targets targets = {0};
    struct tree *tree = NULL;
    struct traces *traces;
    struct cop_error error;
    uint64_t begin;
    uint32_t host;

    CHECK_OK(targets_host(&targets, "", &host, NULL));
    CHECK_OK(targets_add(&targets, host, 1));
    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, &frame, 1));
    CHECK_OK(traces_sample(&tree, traces, 0));
    CHECK_OK(tree_pack(&tree_of_daemons.sample, STAT_TAG_TREE, tree));
    traces_free(traces);
    tree_free(tree);
    tree_of_daemons.script = script;
    tree_of_daemons.end_s = time(NULL) + ENDLESS_S;
    tree_of_daemons.received = 0;
    tree_of_daemons.stopped = 0;
    tree_of_daemons.losing = false;
    tree_of_daemons.lost = false;
    begin = clock_ms();
    CHECK_OK(gather_tree(&tree, &targets, &options, late, &error));
    seen.slow = clock_ms() - begin >= 1000;
    CU_ASSERT_EQUAL(seen.ends, 1);
    tree_free(tree);
    cop_packet_free(tree_of_daemons.sample);
    targets_fini(&targets);
    return seen;
}

/* Samples that come without a pause do not keep it from asking for keys: each
 * is followed by a question. */
TEST(each_packet_lets_keys_be_heard)
{
    struct cop_error late;
    struct seen seen = follow(NULL, 3, &late);

    CU_ASSERT_EQUAL(seen.idles, 3);
    CU_ASSERT_EQUAL(tree_of_daemons.received, 3);
    CU_ASSERT_EQUAL(tree_of_daemons.stopped, 1);
    CU_ASSERT_STRING_EQUAL(late.text, "");
}

/* Nor from being shown, now and then. */
TEST(something_is_shown)
{
    struct cop_error late;
    struct seen seen = follow(NULL, 0, &late);

    CU_ASSERT_EQUAL(seen.looks, 1);
    CU_ASSERT(tree_of_daemons.received > 1);
    CU_ASSERT_EQUAL(tree_of_daemons.stopped, 1);
}

/* What came at once is one picture; where nothing came there is none, but a
 * question. */
TEST(each_pause_shows_what_came)
{
    struct cop_error late;
    struct seen seen = follow("PPP-----PP-", 10, &late);

    CU_ASSERT_EQUAL(tree_of_daemons.received, 5);
    CU_ASSERT(seen.looks == 1 || seen.slow);
    CU_ASSERT_EQUAL(seen.idles, 10);
    seen = follow("PPP--PP-", 8, &late);
    CU_ASSERT(seen.looks == 2 || seen.slow);
    CU_ASSERT_EQUAL(tree_of_daemons.stopped, 1);
}

/* A tree that has ended ends it, which is told. */
TEST(the_end_is_told)
{
    struct cop_error late;
    struct seen seen = follow("P-", 100, &late);

    CU_ASSERT_EQUAL(seen.looks, 1);
    CU_ASSERT_EQUAL(tree_of_daemons.stopped, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(late.text, "following has ended: "));
}

/* So does the loss of the last daemon, which is shown; nobody waits for more.
 */
TEST(the_loss_of_all_is_told)
{
    struct cop_error late;
    struct seen seen = follow("P--L-----", 100, &late);

    CU_ASSERT_EQUAL(seen.looks, 2);
    CU_ASSERT_EQUAL(seen.idles, 3);
    CU_ASSERT_STRING_EQUAL(late.text, "node 1 was lost: killed");
}

int main(void)
{
    return check_run("gather");
}
