/* watched.c - a tool to be watched, and broken on purpose, while it works.
 *
 *     watched SHAPE SESSION-FILE BACK-END [HOSTS]
 *
 * It writes the session file for coppice-status and coppice-inject, and asks
 * its back-ends (int_max_be) every second, until it is told to end by SIGINT
 * or SIGTERM. A line says when it has begun, and when something happens. */
#include "int_max.h"

#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t told_to_end;

static void on_signal(int number)
{
    (void)number;
    told_to_end = 1;
}

static void launch(struct cop_network **network, char **argv)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_error error;
    char *backend[] = {argv[3], NULL};

    launch.topology_shape = argv[1];
    launch.session_path = argv[2];
    launch.allow_injection = true; /* whoever has the file may break it */
    launch.backend_argv = backend;
    launch.hosts = argv[4];
    launch.launcher = "local"; /* whatever the hosts are called */
    if (cop_network_launch(network, &launch, &error) < 0)
        errx(1, "%s", error.text);
}

static void say_what_happens(struct cop_network *network)
{
    struct cop_event event = COP_EVENT_INIT;

    while (cop_network_event(network, &event, 0) == 0)
        if (event.rank > 0)
            printf("%s\n", event.text);
}

int main(int argc, char **argv)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct sigaction action = {.sa_handler = on_signal};
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *answer;
    struct cop_error error;

    if (argc < 4 || argc > 5)
        errx(2, "usage: watched SHAPE SESSION-FILE BACK-END [HOSTS]");
    setvbuf(stdout, NULL, _IOLBF, 0);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    launch(&network, argv);
    options.up_filter = "max";
    if (cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error) < 0)
        errx(1, "%s", error.text);
    printf("ready: coppice-status %s\n", argv[2]);

    while (!told_to_end) {
        if (cop_stream_send(stream, TAG_GO, "%d", 1000) < 0)
            break;
        while (!told_to_end &&
               cop_stream_receive(stream, &answer, 1000 /* ms */) == 0)
            cop_packet_free(answer);
        say_what_happens(network);
    }
    remove(argv[2]);
    cop_network_free(network);
    return 0;
}
