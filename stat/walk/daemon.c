/* daemon.c - coppice-statd: the back-end of coppice-stat, one per host. It hands
 * on what it is asked to a worker in a process of its own, and the answers. If the
 * worker is lost, another one continues. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coppice/coppice.h>

#include "stat/list.h"
#include "stat/request.h"
#include "stat/walk/aside.h"
#include "stat/walk/worker.h"

/* The part, as 1/n, of the time for a sample after which a worker is stuck. */
#define STUCK_PART 4

/* Something that the worker was asked, and has not answered. */
struct asked {
    struct cop_packet *packet;
    struct cop_stream *stream;
};

struct daemon {
    uint32_t rank;
    struct aside *aside;
    struct cop_packet *sampling; /* the request of the samples; NULL: none */
    struct cop_stream *stream;   /* of that request */
    uint32_t samples;            /* sent so far */
    uint32_t samples_wanted;
    struct asked *asked; /* first of all */
    size_t asked_count;
};

/* Note how `packet` changes the sampling. */
static void note_sampling(struct daemon *daemon,
                          struct cop_stream *stream,
                          const struct cop_packet *packet)
{
    int32_t tag = cop_packet_tag(packet);
    struct request request;

    if (tag != STAT_TAG_REQUEST && tag != STAT_TAG_STOP)
        return;
    cop_packet_free(daemon->sampling);
    daemon->sampling = NULL;
    /* The worker reports what is wrong with a request. */
    if (tag == STAT_TAG_STOP || request_unpack(&request, packet) < 0)
        return;
    aside_limit(daemon->aside, request.sample_ms / STUCK_PART);
    daemon->sampling = cop_packet_ref(packet);
    daemon->stream = stream;
    daemon->samples = 0;
    daemon->samples_wanted = request.samples;
}

/* Ask the worker what `packet`, which is taken, asks. */
static int ask(struct daemon *daemon,
               struct cop_stream *stream,
               struct cop_packet *packet)
{
    int r =
        list_grow(&daemon->asked, daemon->asked_count, sizeof(*daemon->asked));

    if (r < 0) {
        cop_packet_free(packet);
        return r;
    }
    daemon->asked[daemon->asked_count++] = (struct asked){packet, stream};
    note_sampling(daemon, stream, packet);
    return aside_send(daemon->aside, packet, 0);
}

/* The worker has answered the first question. */
static void end_answer(struct daemon *daemon)
{
    if (daemon->asked_count == 0)
        return;
    cop_packet_free(daemon->asked[0].packet);
    memmove(daemon->asked, daemon->asked + 1,
            --daemon->asked_count * sizeof(*daemon->asked));
}

/* Send a packet of the worker on its stream. */
static int hand_on(struct daemon *daemon, const struct cop_packet *packet)
{
    struct cop_stream *stream =
        daemon->asked_count > 0 ? daemon->asked[0].stream : NULL;

    if (cop_packet_tag(packet) != STAT_TAG_TREE)
        return stream ? cop_stream_send_packet(stream, packet) : 0;
    if (!daemon->sampling) /* it was stopped meanwhile */
        return 0;
    stream = daemon->stream;
    if (++daemon->samples == daemon->samples_wanted) {
        cop_packet_free(daemon->sampling);
        daemon->sampling = NULL;
    }
    return cop_stream_send_packet(stream, packet);
}

/* Hand on all that the worker has answered. Returns 0, -EPIPE if it is lost, or
 * what one of its answers ended with. */
static int take_answers(struct daemon *daemon, int *status)
{
    struct cop_packet *packet;
    int32_t number;
    int r = 0;

    while (r == 0) {
        r = aside_receive(daemon->aside, &packet, &number);
        if (r == 0 && packet) {
            int sent = hand_on(daemon, packet);

            if (sent < 0)
                *status = EXIT_FAILURE;
            cop_packet_free(packet);
        } else if (r == 0) {
            end_answer(daemon);
            if (number < 0)
                *status = EXIT_FAILURE;
            /* The front-end notices that this daemon has ended. */
            if (number == -EINVAL || number == -EBADMSG)
                r = number;
        }
    }
    return r == -EAGAIN ? aside_check(daemon->aside) : r;
}

/* Ask a new worker for the samples that are still to come, unless their request
 * is among those that were not answered. Returns 0 or -ENOMEM. */
static int ask_samples_again(struct daemon *daemon)
{
    for (size_t i = 0; i < daemon->asked_count; i++)
        if (daemon->asked[i].packet == daemon->sampling)
            return 0;
    if (!daemon->sampling)
        return 0;
    if (list_grow(&daemon->asked, daemon->asked_count, sizeof(*daemon->asked)) <
        0)
        return -ENOMEM;
    memmove(daemon->asked + 1, daemon->asked,
            daemon->asked_count++ * sizeof(*daemon->asked));
    daemon->asked[0] =
        (struct asked){cop_packet_ref(daemon->sampling), daemon->stream};
    return 0;
}

/* Start another worker, and ask it again. Returns 0 or a negative errno, after a
 * message. */
static int restart(struct daemon *daemon)
{
    int r = -EPIPE;

    while (r == -EPIPE) {
        r = aside_restart(daemon->aside);
        if (r == 0)
            r = ask_samples_again(daemon);
        if (r == 0)
            r = aside_send(daemon->aside, NULL, (int32_t)daemon->rank);
        for (size_t i = 0; r == 0 && i < daemon->asked_count; i++) {
            const struct cop_packet *packet = daemon->asked[i].packet;

            r = aside_send(daemon->aside, packet,
                           packet == daemon->sampling ? (int32_t)daemon->samples
                                                      : 0);
        }
    }
    if (r < 0)
        fprintf(stderr, "coppice-statd: rank %u: its worker was lost%s%s\n",
                daemon->rank, r == -ECHILD ? "" : ": ",
                r == -ECHILD ? "" : strerror(-r));
    return r;
}

/* Ask the worker what has arrived, unless it has not answered yet: to receive
 * again tells a sync of the stream that the packet before was dealt with. Returns
 * 0, -EPIPE if the worker is lost, or another negative errno: -ENOTCONN if the
 * network has ended. */
static int take_question(struct daemon *daemon, struct cop_network *network)
{
    struct cop_packet *packet;
    struct cop_stream *stream;
    int r;

    if (daemon->asked_count > 0)
        return 0;
    r = cop_network_receive(network, &stream, &packet, 0);
    if (r == 0)
        r = ask(daemon, stream, packet);
    return r == -EAGAIN ? 0 : r;
}

/* Serve until the network ends. Returns the exit status. */
static int serve_network(struct daemon *daemon, struct cop_network *network)
{
    int status = EXIT_SUCCESS;
    int r = aside_send(daemon->aside, NULL, (int32_t)daemon->rank);

    while (r == 0 || r == -EPIPE) {
        bool waits = daemon->asked_count > 0;
        struct pollfd ready[2] = {
            {waits ? -1 : cop_network_fd(network), POLLIN, 0},
            {aside_fd(daemon->aside), POLLIN, 0}};

        if (r == 0)
            poll(ready, 2, waits || daemon->sampling ? ASIDE_LOOK_MS : -1);
        if (r == 0)
            r = take_answers(daemon, &status);
        if (r == 0)
            r = take_question(daemon, network);
        if (r == -EPIPE) {
            r = restart(daemon);
            if (r < 0)
                return EXIT_FAILURE;
        }
    }
    return r == -ENOTCONN ? status : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct cop_join join = COP_JOIN_INIT;
    struct daemon daemon = {0};
    struct cop_network *network = NULL;
    struct cop_error error;
    int status = EXIT_FAILURE;
    int r;

    (void)argv;
    if (argc > 1) {
        fprintf(stderr, "coppice-statd: is started by coppice-stat, without "
                        "arguments\n");
        return 2;
    }
    /* Many daemons that download symbols would overload the server. */
    unsetenv("DEBUGINFOD_URLS");
    /* Before the rest, so that the worker shares no descriptors or threads. */
    r = aside_new(&daemon.aside, worker_run, NULL);
    if (r < 0) {
        fprintf(stderr, "coppice-statd: cannot start its worker: %s\n",
                strerror(-r));
        return EXIT_FAILURE;
    }
    r = cop_network_join(&network, &join, &error);
    if (r < 0) {
        fprintf(stderr, "coppice-statd: %s\n", error.text);
    } else {
        daemon.rank = cop_network_rank(network);
        status = serve_network(&daemon, network);
    }
    aside_free(daemon.aside);
    cop_packet_free(daemon.sampling);
    while (daemon.asked_count > 0)
        end_answer(&daemon);
    free(daemon.asked);
    if (r == 0)
        cop_network_free(network);
    return status;
}
