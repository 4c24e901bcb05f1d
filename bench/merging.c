/* merging.c - merge a synthetic job once, in a tree of real processes. */
#include "bench/merging.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/duel.h"
#include "bench/start.h"

#define TIMEOUT_MS  120000
#define SHUTDOWN_MS 30000

/* Have the back-ends compute their parts of `keys`, and wait until all have. */
static int prepare_backends(struct cop_stream *stream,
                            const struct cop_communicator *backends,
                            const char *keys,
                            struct cop_error *error)
{
    uint32_t count = (uint32_t)cop_communicator_size(backends), i;
    uint32_t *ranks = calloc((size_t)count + 1, sizeof(*ranks));
    int r;

    if (!ranks)
        return -ENOMEM;
    for (i = 0; i < count; i++)
        ranks[i] = cop_communicator_rank(backends, i);
    r = cop_stream_send(stream, SYNTHETIC_TAG_PREPARE, "%s %aud", keys, ranks,
                        count);
    if (r == 0)
        r = cop_stream_sync(stream, TIMEOUT_MS, error);
    free(ranks);
    return r < 0 ? r : 0;
}

int merging_start(struct merging *merging, const char *shape, const char *keys)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    const struct cop_communicator *everyone;
    int r;

    *merging = (struct merging){.network = NULL};
    r = start_network(&merging->network, "synthetic_be", shape, NULL, NULL);
    if (r < 0) {
        merging->network = NULL;
        return r;
    }
    everyone = cop_network_everyone(merging->network);
    options.up_filter = "stat_merge";
    options.guarantee = COP_GUARANTEE_COMPENSATION;
    r = cop_stream_open(&merging->stream, merging->network, everyone, &options,
                        &merging->error);
    if (r == 0)
        r = prepare_backends(merging->stream, everyone, keys, &merging->error);
    return r;
}

int merging_run(struct merging *merging,
                const struct synthetic *job,
                struct sample *merge,
                struct sample *bytes)
{
    struct cop_packet *packet = NULL;
    struct tree *tree = NULL, *expected = NULL;
    uint32_t *numbers = NULL;
    double start;
    int r;

    r = synthetic_numbers(&numbers, job);
    start = duel_now_s();
    if (r == 0)
        r = cop_stream_send(merging->stream, SYNTHETIC_TAG_GO, "%ud",
                            UINT32_C(1));
    if (r == 0)
        r = cop_stream_receive(merging->stream, &packet, TIMEOUT_MS);
    if (r == 0)
        r = tree_unpack(&tree, packet);
    if (r == 0 && numbers)
        r = tree_renumber(tree, numbers, job->tasks);
    if (r == 0)
        r = sample_add(merge, (duel_now_s() - start) * 1e3);
    if (r == 0)
        r = sample_add(bytes, (double)cop_packet_size(packet));
    if (r == 0)
        r = synthetic_tree(&expected, job, SYNTHETIC_ALL);
    if (r == 0 && !tree_equal(tree, expected)) {
        r = -EBADE;
        snprintf(merging->error.text, sizeof(merging->error.text),
                 "the merged tree is wrong; it is of %u of %u daemons",
                 cop_packet_contributors(packet), job->daemons);
    }
    cop_packet_free(packet);
    tree_free(tree);
    tree_free(expected);
    free(numbers);
    return r;
}

void merging_end(struct merging *merging, int r)
{
    if (!merging->network)
        return;
    if (r < 0)
        warnx("merging a synthetic job: %s",
              merging->error.text[0] ? merging->error.text : strerror(-r));
    cop_network_shutdown(merging->network, SHUTDOWN_MS);
    cop_network_free(merging->network);
}
