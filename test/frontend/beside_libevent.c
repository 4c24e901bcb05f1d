/* beside_libevent.c - a front-end that waits in a libevent loop for the answers
 * of its back-ends. */
#include <coppice/coppice.h>
#include <err.h>
#include <event2/event.h>
#include <stdio.h>

#include "test/frontend/member.h"
#include "test/patience.h"

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    *(short *)arg = what;
}

int main(int argc, char **argv)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct event_base *base = event_base_new();
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *packet;
    struct cop_error error;
    struct event *readable;
    short what = 0;

    if (argc != 2 || !base)
        errx(2, "usage: beside_libevent BACK-END");
    launch.topology_shape = "2x2";
    launch.backend_argv = (char *[]){argv[1], NULL};
    be_patient(&launch);
    if (cop_network_launch(&network, &launch, &error) < 0)
        errx(1, "%s", error.text);
    options.up_filter = "sum";
    if (cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error) < 0)
        errx(1, "%s", error.text);
    readable =
        event_new(base, cop_network_fd(network), EV_READ, on_readable, &what);
    if (!readable || event_add(readable, &patience) != 0)
        errx(1, "event_add() fails");
    cop_stream_send(stream, TAG_ECHO, "%d", 1);
    if (event_base_dispatch(base) < 0 || what != EV_READ)
        errx(1, "libevent saw no answer (%d)", what);
    if (cop_stream_receive(stream, &packet, 0) < 0)
        errx(1, "no packet");
    printf("%u back-ends\n", cop_packet_contributors(packet));
    cop_packet_free(packet);
    event_free(readable);
    event_base_free(base);
    cop_network_free(network);
    return 0;
}
