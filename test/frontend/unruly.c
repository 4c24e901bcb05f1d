/* unruly.c - an upstream filter for tests: adds up the "%uld" of a wave.
 * Parameters "%d %ud": the number of packets that it emits (each 1, the last
 * the rest of the sum), and the rank of the node in which each call fails
 * (UINT32_MAX: none). The sum of the packets is the same at any depth. */
#include <coppice/filter.h>

static int run(void *state, struct cop_filter_call *call)
{
    const struct cop_packet *parameters = cop_filter_parameters(call);
    size_t count = cop_filter_packet_count(call);
    struct cop_packet *packet;
    uint64_t sum = 0, number;
    uint32_t failing = UINT32_MAX;
    int times = 1, r = 0;

    (void)state;
    if (parameters)
        cop_packet_unpack(parameters, "%d %ud", &times, &failing);
    if (failing == cop_filter_rank(call))
        return cop_filter_fail(call, "told to fail");
    for (size_t i = 0; i < count; i++) {
        if (cop_packet_unpack(cop_filter_packet(call, i), "%uld", &number) < 0)
            return cop_filter_fail(call, "no number");
        sum += number;
    }
    for (; r == 0 && times > 0; times--) {
        r = cop_packet_new(&packet, cop_packet_tag(cop_filter_packet(call, 0)),
                           "%uld", times == 1 ? sum : 1);
        sum--;
        if (r == 0)
            r = cop_filter_emit(call, packet);
    }
    return r;
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "unruly",
    .summary = "a sum in several packets, or never, or an error",
    .laws = COP_STATELESS,
    .filter = run,
};

COP_FILTER_EXPORT(filter);
