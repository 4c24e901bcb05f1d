/* dawdle.c - an upstream filter for tests: adds up the "%d" of a wave, and
 * takes its time. Parameters "%ud %ud": the rank of the node whose calls are
 * slow, DAWDLE_EVERYWHERE for all, and how many milliseconds each takes. */
#include <coppice/filter.h>
#include <time.h>

#include "test/frontend/dawdle.h"

static void dawdle(const struct cop_filter_call *call)
{
    const struct cop_packet *parameters = cop_filter_parameters(call);
    struct timespec pause;
    uint32_t rank, ms;

    if (!parameters || cop_packet_unpack(parameters, "%ud %ud", &rank, &ms) < 0)
        return;
    if (rank != DAWDLE_EVERYWHERE && rank != cop_filter_rank(call))
        return;
    pause = (struct timespec){ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&pause, NULL);
}

static int run(void *state, struct cop_filter_call *call)
{
    size_t count = cop_filter_packet_count(call);
    struct cop_packet *packet;
    int sum = 0, number;
    size_t i;
    int r;

    (void)state;
    dawdle(call);
    for (i = 0; i < count; i++) {
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
