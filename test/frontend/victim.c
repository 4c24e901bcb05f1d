/* victim.c - the front-end of test_kill: works until something is lost.
 *
 *   victim launch|traffic|sync|shutdown SHAPE BACK-END
 *
 * Launches, says so with a line, and then sends and receives (with "sync", or
 * syncs) until an event tells of a loss; "launch" and "shutdown" end it at
 * once. Prints what went wrong. Every call has a time-out of PATIENCE_MS:
 * exit status 0 for an orderly end, 3 for an error that was told, 4 where a
 * loss was not told in time. */
#include <coppice/coppice.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/frontend/member.h"
#include "test/patience.h"

#define STEP_MS 50

enum {
    TOLD = 3,
    UNTOLD = 4
};

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Whether an event has told of a loss. */
static bool is_lost(struct cop_network *network)
{
    struct cop_event event = COP_EVENT_INIT;

    while (cop_network_event(network, &event, 0) == 0)
        if (event.type == COP_EVENT_NODE_LOST ||
            event.type == COP_EVENT_BACKEND_LOST ||
            event.type == COP_EVENT_ENDED)
            return true;
    return false;
}

/* One question to all, or one sync. */
static void work(struct cop_stream *stream, bool syncs)
{
    struct cop_packet *answer = NULL;

    cop_stream_send(stream, TAG_ECHO, "%d", 1);
    if (syncs)
        cop_stream_sync(stream, STEP_MS, NULL);
    if (cop_stream_receive(stream, &answer, STEP_MS) == 0)
        cop_packet_free(answer);
}

static int work_until_lost(struct cop_network *network, bool syncs)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    uint64_t deadline_ms = now_ms() + PATIENCE_MS;
    struct cop_stream *stream;
    struct cop_error error;

    options.up_filter = "sum";
    if (cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error) < 0) {
        printf("open: %s\n", error.text);
        return TOLD;
    }
    cop_stream_set_send_timeout(stream, STEP_MS);
    while (!is_lost(network)) {
        if (now_ms() > deadline_ms)
            return UNTOLD;
        work(stream, syncs);
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct cop_error error;
    int status = EXIT_SUCCESS;

    if (argc != 4)
        return EXIT_FAILURE;
    launch.topology_shape = argv[2];
    launch.backend_argv = &argv[3];
    be_patient(&launch);
    if (cop_network_launch(&network, &launch, &error) < 0) {
        printf("launch: %s\n", error.text);
        return *error.text ? TOLD : EXIT_FAILURE;
    }
    printf("launched\n");
    fflush(stdout);
    if (strcmp(argv[1], "traffic") == 0 || strcmp(argv[1], "sync") == 0)
        status = work_until_lost(network, strcmp(argv[1], "sync") == 0);
    if (cop_network_shutdown(network, PATIENCE_MS) < 0 &&
        status == EXIT_SUCCESS)
        printf("shutdown: not all ended by themselves\n");
    cop_network_free(network);
    return status;
}
