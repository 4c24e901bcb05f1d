/* affine.c - an upstream filter for tests: a times the sum of the "%d" of a
 * wave, plus b. Compiled once for each function that a test needs. */
#include <coppice/filter.h>

#ifndef AFFINE_NAME
#define AFFINE_NAME "plus_two"
#define AFFINE_A    1
#define AFFINE_B    2
#endif

static int run(void *state, struct cop_filter_call *call)
{
    size_t count = cop_filter_packet_count(call);
    struct cop_packet *packet;
    int sum = 0, number;
    int r;

    (void)state;
    for (size_t i = 0; i < count; i++) {
        r = cop_packet_unpack(cop_filter_packet(call, i), "%d", &number);
        if (r < 0)
            return cop_filter_fail(call, "no number");
        sum += number;
    }
    r = cop_packet_new(&packet, 0, "%d", AFFINE_A * sum + AFFINE_B);
    return r < 0 ? r : cop_filter_emit(call, packet);
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = AFFINE_NAME,
    .laws = COP_STATELESS,
    .filter = run,
};

COP_FILTER_EXPORT(filter);
