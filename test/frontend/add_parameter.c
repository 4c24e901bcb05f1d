/* add_parameter.c - a downstream filter for tests: adds its parameter to a
 * "%d". The result shows which parameters the packet met on its way. */
#include <coppice/filter.h>

static int run(void *state, struct cop_filter_call *call)
{
    const struct cop_packet *parameters = cop_filter_parameters(call);
    const struct cop_packet *packet = cop_filter_packet(call, 0);
    struct cop_packet *sum;
    int number, parameter = 0;
    int r;

    (void)state;
    r = cop_packet_unpack(packet, "%d", &number);
    if (r == 0 && parameters)
        r = cop_packet_unpack(parameters, "%d", &parameter);
    if (r < 0)
        return cop_filter_fail(call, "no number");
    r = cop_packet_new(&sum, cop_packet_tag(packet), "%d", number + parameter);
    return r < 0 ? r : cop_filter_emit(call, sum);
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "add_parameter",
    .summary = "a number and the parameter of each node",
    .laws = COP_STATELESS | COP_ONE_TO_ONE,
    .filter = run,
};

COP_FILTER_EXPORT(filter);
