/* far_tree.c - a tool whose tree is started on other hosts, by ssh or by one
 * command.
 *
 *   far_tree [skip|poison] LAUNCHER TREE BACK-END [COMMAND [ARGUMENT...]]
 *   far_tree                                              a back-end
 *
 * The front-end launches the topology TREE, sums the back-ends' ranks, shuts
 * down, and prints the sum and the number of contributors. With "skip" the
 * launch skips dead hosts, and the missing nodes are printed. With "poison" a
 * filter crashes a commnode first, and the event is printed. If FAR_TREE_STAYS
 * is set, it reports events until the end of its input. */
#include <coppice/coppice.h>

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/frontend/poison.h"
#include "test/patience.h"

enum {
    TAG_ASK = COP_TAG_FIRST, /* down: "" */
    TAG_RANK,                /* up: "%ud", the back-end's rank */
    TAG_POISON,              /* down: ""; up: "%d", which crashes a commnode */
};

static int run_backend(void)
{
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *packet;
    struct cop_error error;

    if (cop_network_join(&network, NULL, &error) < 0)
        errx(1, "%s", error.text);
    while (cop_network_receive(network, &stream, &packet, COP_FOREVER) == 0) {
        if (cop_packet_tag(packet) == TAG_ASK)
            cop_stream_send(stream, TAG_RANK, "%ud", cop_network_rank(network));
        if (cop_packet_tag(packet) == TAG_POISON)
            cop_stream_send(stream, TAG_POISON, "%d", POISON + POISON_FAULT);
        cop_packet_free(packet);
    }
    cop_network_free(network);
    return 0;
}

static void sum_ranks(struct cop_network *network)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_stream *stream;
    struct cop_packet *answer;
    struct cop_error error;
    unsigned sum;
    int r;

    options.up_filter = "sum";
    if (cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error) < 0)
        errx(1, "%s", error.text);
    r = cop_stream_send(stream, TAG_ASK, "");
    if (r < 0)
        errx(1, "send: %s", strerror(-r));
    r = cop_stream_receive(stream, &answer, PATIENCE_MS);
    if (r < 0)
        errx(1, "receive: %s", strerror(-r));
    r = cop_packet_unpack(answer, "%ud", &sum);
    if (r < 0)
        errx(1, "unpack: %s", strerror(-r));
    printf("sum %u of %u\n", sum, cop_packet_contributors(answer));
    cop_packet_free(answer);
}

/* Report events of losses until standard input ends. */
static void stay(struct cop_network *network)
{
    struct cop_event event = COP_EVENT_INIT;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

    while (poll(&input, 1, 0) == 0) {
        if (cop_network_event(network, &event, 20) != 0)
            continue;
        printf("event %d rank %u: %s\n", event.type, event.rank, event.text);
        fflush(stdout);
    }
}

/* Crash the filter of the common parent of the first two back-ends. */
static void crash_commnode(struct cop_network *network)
{
    const struct cop_communicator *everyone = cop_network_everyone(network);
    uint32_t ranks[] = {cop_communicator_rank(everyone, 0),
                        cop_communicator_rank(everyone, 1)};
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_event event = COP_EVENT_INIT;
    struct cop_communicator *two;
    struct cop_stream *stream;
    struct cop_packet *packet;
    struct cop_error error;

    options.up_filter = "poison";
    if (cop_communicator_new(&two, network, ranks, 2) < 0)
        errx(1, "no communicator");
    if (cop_stream_open(&stream, network, two, &options, &error) < 0)
        errx(1, "%s", error.text);
    cop_communicator_free(two);
    if (cop_stream_send(stream, TAG_POISON, "") < 0 ||
        cop_stream_receive(stream, &packet, PATIENCE_MS) != -EIO)
        errx(1, "the stream did not fail");
    while (event.type != COP_EVENT_STREAM_FAILED)
        if (cop_network_event(network, &event, PATIENCE_MS) < 0)
            errx(1, "no event");
    printf("%s\n", event.text);
}

/* The number in the environment variable `name`; 0 if it is not set. */
static uint32_t read_ms(const char *name)
{
    const char *text = getenv(name);

    return text ? (uint32_t)atoi(text) : 0;
}

int main(int argc, char **argv)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct cop_absentee who = COP_ABSENTEE_INIT;
    struct cop_error error;
    bool skips, poisons;
    int r;

    if (argc == 1)
        return run_backend();
    skips = strcmp(argv[1], "skip") == 0;
    poisons = strcmp(argv[1], "poison") == 0;
    if (skips)
        launch.missing = COP_MISSING_SKIP;
    argc -= skips || poisons;
    argv += skips || poisons;
    if (argc < 4)
        errx(2, "usage: far_tree [skip|poison] LAUNCHER TREE BACK-END "
                "[COMMAND...]");
    launch.launcher = argv[1];
    launch.topology_text = argv[2];
    launch.backend_argv = (char *[]){argv[3], NULL};
    if (argc > 4 && strcmp(argv[1], "ssh") == 0)
        launch.ssh_argv = argv + 4;
    else if (argc > 4)
        launch.start_argv = argv + 4;
    launch.networks = getenv("FAR_TREE_NETWORKS");
    launch.ports = getenv("FAR_TREE_PORTS");
    launch.times.start_timeout_ms = read_ms("FAR_TREE_START_MS");
    launch.times.failure_timeout_ms = read_ms("FAR_TREE_FAILURE_MS");
    launch.times.launch_timeout_ms = read_ms("FAR_TREE_LAUNCH_MS");
    be_patient(&launch);
    if (cop_network_launch(&network, &launch, &error) < 0)
        errx(1, "%s", error.text);
    for (size_t i = 0; cop_network_missing(network, i, &who) == 0; i++)
        printf("missing %u on %s: %s\n", who.rank, who.host, who.reason);
    if (poisons)
        crash_commnode(network);
    sum_ranks(network);
    if (getenv("FAR_TREE_STAYS")) {
        fflush(stdout);
        stay(network);
    }
    /* A hanging host is given up only when the test takes it down. */
    r = cop_network_shutdown(network, 5 * PATIENCE_MS);
    if (r < 0)
        errx(1, "shutdown: %s", strerror(-r));
    cop_network_free(network);
    return 0;
}
