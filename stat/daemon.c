/* daemon.c - coppice-statd: the back-end of coppice-stat, one per host. It
 * walks the processes that it is told to, and answers with one tree. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <coppice/coppice.h>

#include "stat/request.h"
#include "stat/traces.h"
#include "stat/tree_pack.h"
#include "stat/walk.h"

/* What is going on for one request. */
struct gathering {
    struct traces *traces;
    uint32_t task;
    uint32_t sample;
};

static int take_stack(void *arg,
                      pid_t tid,
                      const struct frame *frames,
                      size_t count)
{
    struct gathering *gathering = arg;

    (void)tid;
    return traces_add(gathering->traces, gathering->task, gathering->sample,
                      frames, count);
}

/* Put a task that could not be walked where it can be seen, with the reason
 * that `text` gives. */
static int take_failure(struct gathering *gathering, const char *text)
{
    const char *reason = strstr(text, ": "); /* behind "pid N" */
    char function[sizeof(struct cop_error) + sizeof(FRAME_NOT_WALKED) + 1];
    struct frame frame = {function, "", 0};

    snprintf(function, sizeof(function), FRAME_NOT_WALKED "%s]",
             reason ? reason + 2 : text);
    return traces_add(gathering->traces, gathering->task, gathering->sample,
                      &frame, 1);
}

/* Walk one task. What the task's state forbids is part of the answer. */
static int walk_task(struct gathering *gathering,
                     struct walker *walker,
                     int32_t pid,
                     uint32_t stop_ms,
                     uint64_t *stop_ns)
{
    struct cop_error error = {""};
    uint64_t ns = 0;
    int r;

    r = walk_process(walker, pid, stop_ms, &ns, take_stack, gathering, &error);
    if (ns > *stop_ns)
        *stop_ns = ns;
    if (r == -ENOMEM)
        return r;
    if (r < 0)
        return take_failure(gathering,
                            error.text[0] ? error.text : strerror(-r));
    return 0;
}

/* Walk our tasks of `request` once: the sample that `gathering` is at. */
static int take_sample(struct gathering *gathering,
                       struct walker *walker,
                       const struct request *request,
                       uint32_t rank,
                       uint64_t *stop_ns)
{
    char boot[REQUEST_BOOT_SIZE];
    int r = 0;

    request_boot(boot);
    for (gathering->task = 0; r == 0 && gathering->task < request->task_count;
         gathering->task++) {
        if (request->daemons[gathering->task] != rank)
            continue;
        if (strcmp(boot, request->boot) != 0)
            r = take_failure(gathering,
                             "its daemon runs on another host: use a "
                             "topology whose leaves are on this host");
        else
            r = walk_task(gathering, walker, request->pids[gathering->task],
                          request->stop_ms, stop_ns);
    }
    return r;
}

/* Send the tree of all samples so far. So each packet covers the earlier
 * ones, and their join is the last of them. */
static int send_tree(struct cop_stream *stream,
                     const struct traces *traces,
                     uint64_t stop_ns)
{
    struct cop_packet *packet = NULL;
    struct tree *tree = NULL;
    int r;

    r = traces_tree(&tree, traces, stop_ns);
    if (r == 0)
        r = tree_pack(&packet, STAT_TAG_TREE, tree);
    if (r == 0)
        r = cop_stream_send_packet(stream, packet);
    cop_packet_free(packet);
    tree_free(tree);
    return r;
}

/* Take all samples of `request`, and send what was seen after each. */
static int gather(struct cop_stream *stream,
                  const struct request *request,
                  uint32_t rank)
{
    struct timespec interval = {request->interval_ms / 1000,
                                request->interval_ms % 1000 * 1000000L};
    struct gathering gathering = {NULL, 0, 0};
    struct walker *walker = NULL;
    uint64_t stop_ns = 0;
    int r;

    r = traces_new(&gathering.traces);
    if (r == 0)
        r = walker_new(&walker);
    for (; r == 0 && gathering.sample < request->samples; gathering.sample++) {
        if (gathering.sample > 0)
            nanosleep(&interval, NULL);
        r = take_sample(&gathering, walker, request, rank, &stop_ns);
        if (r == 0)
            r = send_tree(stream, gathering.traces, stop_ns);
    }
    walker_free(walker);
    traces_free(gathering.traces);
    return r;
}

/* Answer one packet. Returns 0 or a negative errno, after saying why. */
static int answer(struct cop_stream *stream,
                  const struct cop_packet *packet,
                  uint32_t rank)
{
    struct request request;
    int r;

    r = request_unpack(&request, packet);
    if (r < 0) {
        fprintf(stderr,
                "coppice-statd: rank %u: not a request of this "
                "version of coppice-stat\n",
                rank);
        return r;
    }
    r = gather(stream, &request, rank);
    if (r < 0)
        fprintf(stderr, "coppice-statd: rank %u: %s\n", rank, strerror(-r));
    return r;
}

int main(int argc, char **argv)
{
    struct cop_join join = COP_JOIN_INIT;
    struct cop_network *network;
    struct cop_packet *packet;
    struct cop_stream *stream;
    struct cop_error error;
    int status = EXIT_SUCCESS;
    int r;

    (void)argv;
    if (argc > 1) {
        fprintf(stderr, "coppice-statd: is started by coppice-stat, without "
                        "arguments\n");
        return 2;
    }
    /* Looking for symbols must not become a storm of downloads. */
    unsetenv("DEBUGINFOD_URLS");
    r = cop_network_join(&network, &join, &error);
    if (r < 0) {
        fprintf(stderr, "coppice-statd: %s\n", error.text);
        return EXIT_FAILURE;
    }
    while ((r = cop_network_receive(network, &stream, &packet, COP_FOREVER)) ==
           0) {
        if (cop_packet_tag(packet) == STAT_TAG_REQUEST &&
            answer(stream, packet, cop_network_rank(network)) < 0)
            status = EXIT_FAILURE;
        cop_packet_free(packet);
    }
    cop_network_free(network);
    return status;
}
