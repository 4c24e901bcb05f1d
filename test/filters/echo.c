/* echo.c - a wave filter that emits the facts of its call, or fails on demand.
 *
 * The tag of the first packet chooses. The state counts the waves. */
#include "test/filters/echo.h"

#include <errno.h>
#include <stdlib.h>

#include <coppice/filter.h>

struct echo {
    int32_t wave_count;
};

static int echo_init(void **state, struct cop_filter_call *call)
{
    int32_t refuse = 0;

    if (cop_filter_parameters(call))
        cop_packet_unpack(cop_filter_parameters(call), "%d", &refuse);
    if (refuse == ECHO_REFUSE)
        return cop_filter_fail(call, "told not to begin");
    *state = calloc(1, sizeof(struct echo));
    return *state ? 0 : -ENOMEM;
}

static int emit_counts(struct cop_filter_call *call, int32_t wave_count)
{
    const struct cop_packet *parameters = cop_filter_parameters(call);
    struct cop_packet *packet;
    int32_t parameter = 0;
    uint32_t facts[8] = {
        cop_filter_rank(call),           cop_filter_depth(call),
        cop_filter_child_count(call),    cop_filter_contributors(call),
        (uint32_t)cop_filter_wave(call), cop_filter_is_root(call),
        cop_filter_is_leaf(call),        cop_filter_is_upward(call),
    };
    uint32_t inlets[2] = {
        cop_filter_inlet(call, 0),
        cop_filter_inlet(call, cop_filter_packet_count(call)),
    };
    int r;

    if (parameters)
        cop_packet_unpack(parameters, "%d", &parameter);
    r = cop_packet_new(&packet, ECHO_SHOW, "%aud %aud %d %d", facts, 8u, inlets,
                       2u, parameter, wave_count);
    return r < 0 ? r : cop_filter_emit(call, packet);
}

static int echo_run(void *state, struct cop_filter_call *call)
{
    const struct cop_packet *packet = cop_filter_packet(call, 0);
    struct echo *echo = state;
    int r;

    if (!packet)
        return 0;
    switch (cop_packet_tag(packet)) {
    case ECHO_SHOW:
        return emit_counts(call, ++echo->wave_count);
    case ECHO_FAIL:
        r = cop_filter_emit(call, cop_packet_ref(packet));
        if (r < 0)
            return r;
        cop_filter_fail(call, "told to fail, %d", 42);
        return cop_filter_fail(call, "again");
    case ECHO_ERROR:
        return -EIO;
    case ECHO_POSITIVE:
        r = cop_filter_emit(call, cop_packet_ref(packet));
        return r < 0 ? r : EIO;
    case ECHO_AGAINST:
        r = cop_filter_emit(call, cop_packet_ref(packet));
        if (r < 0)
            return r;
        return cop_filter_emit_against(call, cop_packet_ref(packet));
    default:
        return 0;
    }
}

static int echo_get_state(void *state, struct cop_packet **out)
{
    const struct echo *echo = state;

    return cop_packet_new(out, ECHO_SHOW, "%d", echo->wave_count);
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "echo",
    .laws = COP_IDEMPOTENT,
    .init = echo_init,
    .free = free,
    .filter = echo_run,
    .get_state = echo_get_state,
};

COP_FILTER_EXPORT(filter);
