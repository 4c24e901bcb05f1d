/* feeder.c - a front-end for scripts that break its network: the integer union
 * over a tree.
 *
 *   feeder [skip SESSION] TREE COUNT RATE HEARTBEAT FAILURE ORPHAN NETWORKS
 *          SSH [ARGUMENT...]
 *
 * With "skip" the launch skips dead hosts, prints the missing nodes, and writes
 * a session file. TREE is the text of a topology; COUNT and RATE are those of
 * feeding.h; the next three are times in ms; NETWORKS is that of cop_launch. It
 * prints a line for each event, "launched", "sending" once numbers arrive, and,
 * after SIGUSR1, "whole" or "not whole". The exit status is 0 if whole. */
#include <err.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "test/process/feeding.h"

#define ARGUMENTS 8 /* those before SSH */

static volatile sig_atomic_t asked;

static void ask(int number)
{
    (void)number;
    asked = 1;
}

static void print_missing(struct cop_network *network)
{
    struct cop_absentee who = COP_ABSENTEE_INIT;

    for (size_t i = 0; cop_network_missing(network, i, &who) == 0; i++)
        printf("missing %u on %s: %s\n", who.rank, who.host, who.reason);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = ask};
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct feeding feeding;

    if (argc > 2 && strcmp(argv[1], "skip") == 0) {
        launch.missing = COP_MISSING_SKIP;
        launch.session_path = argv[2];
        argc -= 2;
        argv += 2;
    }
    if (argc <= ARGUMENTS)
        errx(2, "usage: feeder [skip SESSION] TREE COUNT RATE HEARTBEAT "
                "FAILURE ORPHAN "
                "NETWORKS SSH [ARGUMENT...]");
    setvbuf(stdout, NULL, _IOLBF, 0);
    sigaction(SIGUSR1, &action, NULL);
    launch.topology_text = argv[1];
    launch.times.heartbeat_ms = (uint32_t)atoi(argv[4]);
    launch.times.failure_timeout_ms = (uint32_t)atoi(argv[5]);
    launch.times.orphan_timeout_ms = (uint32_t)atoi(argv[6]);
    launch.networks = argv[7];
    be_patient(&launch);
    launch.launcher = "ssh";
    launch.ssh_argv = argv + ARGUMENTS;
    if (feeding_launch(&feeding, launch) < 0)
        return EXIT_FAILURE;
    feeding.log = stdout;
    print_missing(feeding.network);
    printf("launched\n");
    if (feeding_feed(&feeding, atoi(argv[2]), atoi(argv[3])) < 0 ||
        !feeding_await(&feeding, 2))
        return EXIT_FAILURE;
    printf("sending\n");
    while (!asked)
        feeding_take(&feeding, 50);
    if (!feeding_end(&feeding)) {
        printf("not whole\n");
        return EXIT_FAILURE;
    }
    printf("whole\n");
    return EXIT_SUCCESS;
}
