/* feeding.c - a network whose back-ends send numbers while nodes fail. */
#include "test/process/feeding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/frontend/member.h"

/* A sync that times out names the members it waits for, so wait long for it. */
#define SYNC_MS (2 * FEEDING_PATIENCE_MS)

uint64_t feeding_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int note_members(struct feeding *feeding)
{
    const struct cop_communicator *all = cop_network_everyone(feeding->network);

    feeding->members = cop_communicator_size(all);
    feeding->ranks = calloc(feeding->members + 1, sizeof(*feeding->ranks));
    feeding->is_lost = calloc(feeding->members + 1, sizeof(bool));
    if (!feeding->ranks || !feeding->is_lost)
        return -ENOMEM;
    for (size_t i = 0; i < feeding->members; i++)
        feeding->ranks[i] = cop_communicator_rank(all, i);
    return 0;
}

int feeding_launch(struct feeding *feeding, struct cop_launch launch)
{
    const char *build = getenv("BUILD");
    struct cop_error error = {""};
    char path[4096];
    char *argv[] = {path, NULL};
    int r;

    memset(feeding, 0, sizeof(*feeding));
    snprintf(path, sizeof(path), "%s/test/frontend/member",
             build ? build : ".");
    if (!launch.backend_argv)
        launch.backend_argv = argv;
    r = cop_network_launch(&feeding->network, &launch, &error);
    if (r < 0) {
        printf("\nlaunch: %s\n", error.text);
        return r;
    }
    r = note_members(feeding);
    if (r < 0)
        feeding_fini(feeding);
    return r;
}

int feeding_feed(struct feeding *feeding, int count, int rate)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_error error = {""};
    int r;

    cop_stream_close(feeding->stream);
    feeding->stream = NULL;
    free(feeding->is_seen);
    feeding->is_seen = calloc(feeding->members, (size_t)count);
    if (!feeding->is_seen)
        return -ENOMEM;
    feeding->count = count;
    feeding->packets = 0;
    feeding->seen = 0;
    options.up_filter = "int_union";
    options.guarantee = COP_GUARANTEE_COMPENSATION;
    r = cop_stream_open(&feeding->stream, feeding->network,
                        cop_network_everyone(feeding->network), &options,
                        &error);
    if (r < 0) {
        printf("\nopen: %s\n", error.text);
        return r;
    }
    return cop_stream_send(feeding->stream, TAG_FEED, "%d %d", count, rate);
}

int feeding_begin(struct feeding *feeding,
                  struct cop_launch launch,
                  int count,
                  int rate)
{
    int r;

    be_patient(&launch);
    r = feeding_launch(feeding, launch);
    if (r < 0)
        return r;
    r = feeding_feed(feeding, count, rate);
    if (r < 0)
        feeding_fini(feeding);
    return r;
}

/* The index of member `rank` in `ranks`, or `members`. */
static size_t place_of(const struct feeding *feeding, uint32_t rank)
{
    size_t i = 0;

    while (i < feeding->members && feeding->ranks[i] != rank)
        i++;
    return i;
}

static void take_number(struct feeding *feeding, int32_t number)
{
    uint32_t rank = (uint32_t)number / (uint32_t)member_number(1, 0);
    size_t place = place_of(feeding, rank);
    int index = number - member_number(rank, 0);
    unsigned char *seen;

    if (place == feeding->members || index >= feeding->count) {
        printf("\n%d was received, which no back-end sends\n", number);
        feeding->wrong = true;
        return;
    }
    seen = &feeding->is_seen[place * (size_t)feeding->count + (size_t)index];
    feeding->seen += !*seen;
    *seen = 1;
}

static void take_packet(struct feeding *feeding,
                        const struct cop_packet *packet)
{
    const int32_t *numbers;
    uint32_t count;

    feeding->packets++;
    if (cop_packet_unpack(packet, "%ad", &numbers, &count) < 0) {
        printf("\na packet is not \"%%ad\"\n");
        feeding->wrong = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        take_number(feeding, numbers[i]);
}

/* Whether the parts of a recovery's time add up to the whole. */
static bool is_sound(const struct cop_recovery *recovery)
{
    return recovery->attempts > 0 && recovery->connect_us > 0 &&
           recovery->choose_us + recovery->connect_us +
                   recovery->compensate_us + recovery->cleanup_us <=
               recovery->overall_us;
}

static void take_adoption(struct feeding *feeding,
                          const struct cop_event *event)
{
    bool is_member = place_of(feeding, event->rank) < feeding->members;

    feeding->adopted += !is_member;
    feeding->moved += is_member;
    if (event->rank < FEEDING_NODES_MAX)
        feeding->was_adopted[event->rank] = true;
    if (place_of(feeding, event->parent) < feeding->members ||
        !is_sound(&event->recovery)) {
        printf("\nrank %u cannot have been adopted like that\n", event->rank);
        feeding->wrong = true;
    }
}

/* Check that a node is suspected only once and not after it was lost, that a
 * returning node was suspected, and that a lost node has no further events. */
static void check_event(struct feeding *feeding, const struct cop_event *event)
{
    size_t place = place_of(feeding, event->rank);
    bool member = place < feeding->members, suspected;

    if (event->type > COP_EVENT_BACKEND_LOST ||
        event->rank >= FEEDING_NODES_MAX)
        return;
    suspected = feeding->is_suspected[event->rank];
    if ((event->type == COP_EVENT_NODE_SUSPECTED && suspected) ||
        (event->type == COP_EVENT_NODE_BACK && !suspected) ||
        (member ? feeding->is_lost[place] : feeding->was_lost[event->rank])) {
        printf("\nevent %d of rank %u cannot come now\n", (int)event->type,
               event->rank);
        feeding->wrong = true;
    }
    feeding->is_suspected[event->rank] =
        event->type == COP_EVENT_NODE_SUSPECTED;
}

/* Note that a suspected node has returned to its place. */
static void take_return(struct feeding *feeding, const struct cop_event *event)
{
    if (place_of(feeding, event->rank) < feeding->members)
        return;
    feeding->adopted++;
    if (event->rank < FEEDING_NODES_MAX)
        feeding->was_adopted[event->rank] = true;
}

static void take_event(struct feeding *feeding, const struct cop_event *event)
{
    const char *what = "";
    size_t place;

    check_event(feeding, event);
    if (event->type == COP_EVENT_NODE_SUSPECTED) {
        what = "suspected";
        feeding->suspected++;
    } else if (event->type == COP_EVENT_NODE_BACK) {
        what = "back";
        take_return(feeding, event);
    } else if (event->type == COP_EVENT_NODE_LOST) {
        what = "lost";
        feeding->lost++;
        if (event->rank < FEEDING_NODES_MAX)
            feeding->was_lost[event->rank] = true;
    } else if (event->type == COP_EVENT_NODE_ADOPTED) {
        what = "adopted";
        take_adoption(feeding, event);
    } else if (event->type == COP_EVENT_BACKEND_LOST) {
        what = "back-end lost";
        feeding->members_lost++;
        place = place_of(feeding, event->rank);
        if (place < feeding->members)
            feeding->is_lost[place] = true;
    }
    if (feeding->log && *what)
        fprintf(feeding->log, "%s %u %s\n", what, event->rank, event->text);
}

static void take_events(struct feeding *feeding)
{
    struct cop_event event = COP_EVENT_INIT;

    while (cop_network_event(feeding->network, &event, 0) == 0)
        take_event(feeding, &event);
}

void feeding_take(struct feeding *feeding, int timeout_ms)
{
    struct cop_packet *packet;

    while (cop_stream_receive(feeding->stream, &packet, timeout_ms) == 0) {
        take_packet(feeding, packet);
        cop_packet_free(packet);
        timeout_ms = 0;
    }
    take_events(feeding);
}

/* Receive until `*count` is at least `wanted`. */
static bool await_count(struct feeding *feeding,
                        const size_t *count,
                        size_t wanted,
                        const char *what)
{
    uint64_t deadline_ms = feeding_now_ms() + FEEDING_PATIENCE_MS;

    while (*count < wanted && feeding_now_ms() < deadline_ms)
        feeding_take(feeding, 20);
    if (*count < wanted)
        printf("\n%zu %s, not %zu\n", *count, what, wanted);
    return *count >= wanted;
}

bool feeding_await(struct feeding *feeding, size_t count)
{
    return await_count(feeding, &feeding->packets, feeding->packets + count,
                       "packets were received");
}

bool feeding_await_events(struct feeding *feeding, size_t lost, size_t adopted)
{
    return await_count(feeding, &feeding->lost, lost, "nodes were lost") &&
           await_count(feeding, &feeding->adopted, adopted,
                       "nodes were adopted");
}

bool feeding_await_suspicions(struct feeding *feeding, size_t suspected)
{
    return await_count(feeding, &feeding->suspected, suspected,
                       "nodes were suspected");
}

bool feeding_await_moves(struct feeding *feeding, size_t moved)
{
    return await_count(feeding, &feeding->moved, moved,
                       "back-ends were adopted");
}

bool feeding_await_adoption(struct feeding *feeding, size_t rank)
{
    uint64_t deadline_ms = feeding_now_ms() + FEEDING_PATIENCE_MS;

    while (!feeding->was_adopted[rank] && feeding_now_ms() < deadline_ms)
        feeding_take(feeding, 20);
    if (!feeding->was_adopted[rank])
        printf("\nrank %zu was not adopted\n", rank);
    return feeding->was_adopted[rank];
}

/* Whether the set has each number of every live member. */
static bool is_union(const struct feeding *feeding)
{
    bool whole = true;

    for (size_t i = 0; i < feeding->members; i++) {
        const unsigned char *seen =
            &feeding->is_seen[i * (size_t)feeding->count];
        int missing = 0;

        for (int k = 0; k < feeding->count; k++)
            missing += !seen[k];
        if (missing > 0 && !feeding->is_lost[i]) {
            printf("\n%d of %d numbers of rank %u are missing\n", missing,
                   feeding->count, feeding->ranks[i]);
            whole = false;
        }
    }
    return whole;
}

bool feeding_is_whole(struct feeding *feeding)
{
    struct cop_error error = {""};
    int r = cop_stream_sync(feeding->stream, SYNC_MS, &error);

    feeding_take(feeding, 0);
    if (r != 0)
        printf("\nsync: %d, %s\n", r, error.text);
    return is_union(feeding) && r == 0 && !feeding->wrong;
}

bool feeding_end(struct feeding *feeding)
{
    bool right = feeding_is_whole(feeding);
    int r;

    if (feeding->members_lost > 0) {
        printf("\n%zu members were lost\n", feeding->members_lost);
        right = false;
    }
    r = cop_network_shutdown(feeding->network, FEEDING_PATIENCE_MS);
    if (r < 0) {
        printf("\nshutdown: %s\n", strerror(-r));
        right = false;
    }
    feeding_fini(feeding);
    return right;
}

void feeding_fini(struct feeding *feeding)
{
    cop_network_free(feeding->network);
    free(feeding->ranks);
    free(feeding->is_lost);
    free(feeding->is_seen);
    feeding->network = NULL;
    feeding->stream = NULL;
    feeding->ranks = NULL;
    feeding->is_lost = NULL;
    feeding->is_seen = NULL;
}
