/* count.c - how many back-ends are in a wave, as "%ud"; or, as a total, how
 * many packets they have sent, as "%uld".
 *
 * Each back-end that answers counts, even with an empty packet. */
#include "filters/numeric.h"

struct tally {
    uint64_t packets;
    int32_t tag; /* of the packet that was joined last */
};

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

static int count_init(void **state, struct cop_filter_call *call)
{
    (void)call;
    *state = calloc(1, sizeof(struct tally));
    return *state ? 0 : -ENOMEM;
}

/* A back-end gets the application's packets; other nodes get totals. */
static int count_join(void *state,
                      const struct cop_packet *packet,
                      struct cop_filter_call *call)
{
    struct tally *tally = state;
    uint64_t more = 1;

    if (!cop_filter_is_leaf(call) &&
        cop_packet_unpack(packet, "%uld", &more) < 0)
        return cop_filter_fail(call,
                               "a total has the format \"%s\": it must be "
                               "\"%%uld\"",
                               cop_packet_format(packet));
    tally->packets += more;
    tally->tag = cop_packet_tag(packet);
    return 0;
}

static int count_pack(const void *state, struct cop_packet **out)
{
    const struct tally *tally = state;

    if (tally->packets == 0)
        return 0;
    return cop_packet_new(out, tally->tag, "%uld", tally->packets);
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "count",
    .summary = "number of back-ends in a wave",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_STATELESS | COP_ONE_TO_ONE,
    .init = count_init,
    .free = free,
    .filter = count_filter,
    .join = count_join,
    .pack = count_pack,
};

COP_FILTER_EXPORT(filter);
