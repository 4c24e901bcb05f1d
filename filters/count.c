/* count.c - how many back-ends are in a wave, as "%ud".
 *
 * Each back-end that answers counts, even with an empty packet. */
#include "filters/numeric.h"

static int count_filter(void *state, struct cop_filter_call *call)
{
    struct cop_packet *packet;
    int r;

    (void)state;
    if (!cop_filter_is_upward(call) || cop_filter_packet_count(call) == 0)
        return numeric_pass_on(call);
    r = cop_packet_new(&packet, cop_packet_tag(cop_filter_packet(call, 0)),
                       "%ud", cop_filter_contributors(call));
    if (r < 0)
        return r;
    return cop_filter_emit(call, packet);
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "count",
    .summary = "number of back-ends in a wave",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_STATELESS | COP_ONE_TO_ONE,
    .filter = count_filter,
};

COP_FILTER_EXPORT(filter);
