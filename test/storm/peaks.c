/* peaks.c - a user's filter: the greatest value of each key, written as a wave
 * filter with a state. Values that are not new are not sent on. */
#include <errno.h>
#include <stdlib.h>

#include <coppice/filter.h>

#include "test/storm/round.h"

struct peaks {
    int64_t value[KEYS]; /* 0: none */
};

static int peaks_init(void **state, struct cop_filter_call *call)
{
    (void)call;
    *state = calloc(1, sizeof(struct peaks));
    return *state ? 0 : -ENOMEM;
}

/* Make a packet of the keys for which `is_wanted`; NULL if there is none. */
static int peaks_pack(const struct peaks *peaks,
                      const bool *is_wanted,
                      struct cop_packet **out)
{
    uint32_t keys[KEYS], count = 0, key;
    int64_t values[KEYS];

    for (key = 0; key < KEYS; key++)
        if (is_wanted ? is_wanted[key] : peaks->value[key] > 0) {
            values[count] = peaks->value[key];
            keys[count++] = key;
        }
    *out = NULL;
    return count == 0 ? 0
                      : cop_packet_new(out, 0, "%aud %ald", keys, count, values,
                                       count);
}

static int peaks_filter(void *state, struct cop_filter_call *call)
{
    struct peaks *peaks = state;
    bool is_news[KEYS] = {false};
    struct cop_packet *packet;
    int r;

    for (size_t i = 0; i < cop_filter_packet_count(call); i++) {
        const uint32_t *keys;
        const int64_t *values;
        uint32_t key_count, count;

        if (cop_packet_unpack(cop_filter_packet(call, i), "%aud %ald", &keys,
                              &key_count, &values, &count) < 0 ||
            key_count != count)
            return cop_filter_fail(call, "rank %u sent no keys and values",
                                   cop_filter_inlet(call, i));
        for (uint32_t k = 0; k < count; k++)
            if (keys[k] < KEYS && values[k] > peaks->value[keys[k]]) {
                peaks->value[keys[k]] = values[k];
                is_news[keys[k]] = true;
            }
    }
    r = peaks_pack(peaks, is_news, &packet);
    return r < 0 || !packet ? r : cop_filter_emit(call, packet);
}

static int peaks_state(void *state, struct cop_packet **out)
{
    return peaks_pack(state, NULL, out);
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "peaks",
    .summary = "the greatest value of each key",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_IDEMPOTENT,
    .init = peaks_init,
    .free = free,
    .filter = peaks_filter,
    .get_state = peaks_state,
};

COP_FILTER_EXPORT(filter);
