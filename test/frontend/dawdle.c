/* dawdle.c - an upstream filter for tests: a slow sum of the "%d" of a wave.
 * Parameters "%ud %ud": the rank of the node whose calls are slow
 * (DAWDLE_EVERYWHERE: all nodes), and the duration of each slow call in ms.
 *
 * If $DAWDLE_FOLDER is set, a slow call makes the folder `begun` there, and
 * returns early when a folder `end` exists there. */
#include <coppice/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "test/frontend/member.h"

/* Sleep for `ms`, at most 20. */
static void nap(uint32_t ms)
{
    struct timespec pause = {.tv_nsec = (long)(ms < 20 ? ms : 20) * 1000000};

    nanosleep(&pause, NULL);
}

static void dawdle(const struct cop_filter_call *call)
{
    const struct cop_packet *parameters = cop_filter_parameters(call);
    const char *folder = getenv("DAWDLE_FOLDER");
    char path[4096];
    uint32_t rank, ms;

    if (!parameters || cop_packet_unpack(parameters, "%ud %ud", &rank, &ms) < 0)
        return;
    if (rank != DAWDLE_EVERYWHERE && rank != cop_filter_rank(call))
        return;
    snprintf(path, sizeof(path), "%s/begun", folder ? folder : "");
    if (folder)
        mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/end", folder ? folder : "");
    for (; ms > 0 && !(folder && access(path, F_OK) == 0);
         ms -= ms < 20 ? ms : 20)
        nap(ms);
}

static int run(void *state, struct cop_filter_call *call)
{
    size_t count = cop_filter_packet_count(call);
    struct cop_packet *packet;
    int sum = 0, number;
    int r;

    (void)state;
    dawdle(call);
    for (size_t i = 0; i < count; i++) {
        r = cop_packet_unpack(cop_filter_packet(call, i), "%d", &number);
        if (r < 0)
            return cop_filter_fail(call, "no number");
        sum += number;
    }
    r = cop_packet_new(&packet, cop_packet_tag(cop_filter_packet(call, 0)),
                       "%d", sum);
    return r < 0 ? r : cop_filter_emit(call, packet);
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "dawdle",
    .summary = "a sum that takes its time",
    .laws = COP_STATELESS | COP_IDENTITY,
    .filter = run,
};

COP_FILTER_EXPORT(filter);
