/* older.c - a filter for tests: stands in for another version of the built-in
 * filter OLDER. It declares no law, and has neither state nor `join`. */
#include <coppice/filter.h>

#ifndef OLDER
#define OLDER "sum"
#endif

static int run(void *state, struct cop_filter_call *call)
{
    int r = 0;

    (void)state;
    for (size_t i = 0; i < cop_filter_packet_count(call) && r == 0; i++)
        r = cop_filter_emit(call, cop_packet_ref(cop_filter_packet(call, i)));
    return r;
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = OLDER,
    .summary = "another version of " OLDER,
    .filter = run,
};
COP_FILTER_EXPORT(filter);
