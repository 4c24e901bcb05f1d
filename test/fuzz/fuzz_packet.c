/* fuzz_packet.c - an arbitrary payload is refused, or its values can be read
 * and packed again, and are then the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Read every byte of `value`. Returns a sum, so that each read counts. */
static uint64_t look(const struct cop_value *value)
{
    static const unsigned char lens[] = {
        [COP_CHAR] = 1,  [COP_UCHAR] = 1,  [COP_INT16] = 2, [COP_UINT16] = 2,
        [COP_INT32] = 4, [COP_UINT32] = 4, [COP_INT64] = 8, [COP_UINT64] = 8,
        [COP_FLOAT] = 4, [COP_DOUBLE] = 8,
    };
    const char *const *strings = value->data;
    const unsigned char *bytes = value->data;
    uint64_t sum = 0;

    if (value->type == COP_STRING)
        for (uint64_t i = 0; i < value->count; i++)
            sum += strlen(strings[i]);
    else
        for (uint64_t i = 0; i < value->count * lens[value->type]; i++)
            sum += bytes[i];
    return sum;
}

/* Pack the values again; the packet must be readable, with the same format. */
static void pack_again(const struct cop_packet *packet,
                       const struct cop_value *values,
                       size_t count)
{
    struct cop_packet *again;

    if (cop_packet_new_values(&again, 0, values, count) < 0)
        abort();
    if (cop_packet_value_count(again) != (int)count ||
        strcmp(cop_packet_format(again), cop_packet_format(packet)) != 0)
        abort();
    cop_packet_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct cop_value values[COP_VALUES_MAX];
    struct cop_packet *packet;
    struct payload *payload;
    uint64_t sum = 0;
    int count;

    if (payload_new(&payload, len) < 0)
        return 0;
    if (len > 0)
        memcpy(payload->bytes, data, len);
    if (packet_open(&packet, payload) < 0)
        abort();
    payload_free(payload);
    count = cop_packet_value_count(packet);
    for (int i = 0; i < count; i++) {
        if (cop_packet_value(packet, (size_t)i, &values[i]) < 0)
            abort();
        sum += look(&values[i]);
    }
    if (count >= 0 && sum != UINT64_MAX)
        pack_again(packet, values, (size_t)count);
    cop_packet_free(packet);
    return 0;
}
