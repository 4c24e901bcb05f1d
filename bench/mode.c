/* mode.c - the ways in which a stream may handle a failure. */
#include "bench/mode.h"

#include <err.h>

const char *mode_name(enum mode mode)
{
    static const char *const names[] = {
        [MODE_NONE] = "none",
        [MODE_RECOVERABLE] = "recoverable",
        [MODE_CUMULATIVE] = "cumulative",
        [MODE_EXACT] = "exact",
    };

    return names[mode];
}

int mode_open(enum mode mode,
              struct cop_network *network,
              struct cop_stream **out)
{
    static const enum cop_guarantee guarantees[] = {
        [MODE_NONE] = COP_GUARANTEE_NONE,
        [MODE_RECOVERABLE] = COP_GUARANTEE_COMPENSATION,
        [MODE_CUMULATIVE] = COP_GUARANTEE_TOTAL,
        [MODE_EXACT] = COP_GUARANTEE_WAVES,
    };
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_error error;
    int r;

    options.up_filter = mode == MODE_RECOVERABLE ? "int_union" : "sum";
    options.guarantee = guarantees[mode];
    r = cop_stream_open(out, network, cop_network_everyone(network), &options,
                        &error);
    if (r < 0)
        warnx("coppice: %s stream: %s", mode_name(mode), error.text);
    return r;
}
