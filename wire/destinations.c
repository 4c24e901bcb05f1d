/* destinations.c - the back-ends that a packet is for. */
#include "wire/destinations.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "wire/limits.h"

#define NUMBER_LEN sizeof(uint32_t)
#define PAIR_LEN   (2 * NUMBER_LEN)

static void put32(unsigned char *at, uint32_t value)
{
    value = htobe32(value);
    memcpy(at, &value, sizeof(value));
}

static uint32_t get32(const unsigned char *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return be32toh(value);
}

static uint32_t pair_count(const struct payload *payload)
{
    return get32(payload->bytes + payload->len - NUMBER_LEN);
}

/* Bytes of the destinations. */
static size_t tail_len(const struct payload *payload)
{
    return pair_count(payload) * PAIR_LEN + NUMBER_LEN;
}

static struct ranks_run pair_at(const struct payload *payload, uint32_t index)
{
    const unsigned char *at =
        payload->bytes + payload->len - tail_len(payload) + index * PAIR_LEN;

    return (struct ranks_run){get32(at), get32(at + NUMBER_LEN)};
}

static size_t len_of(const struct payload *payload)
{
    return payload ? payload->len : 0;
}

int destinations_add(struct payload **out,
                     const struct payload *packet,
                     const struct ranks *to)
{
    size_t len = len_of(packet);
    struct payload *payload;
    unsigned char *at;
    int r;

    r = payload_new(&payload, len + to->count * PAIR_LEN + NUMBER_LEN);
    if (r < 0)
        return r;
    if (len > 0)
        memcpy(payload->bytes, packet->bytes, len);
    at = payload->bytes + len;
    for (size_t i = 0; i < to->count; i++, at += PAIR_LEN) {
        put32(at, to->runs[i].first);
        put32(at + NUMBER_LEN, to->runs[i].last);
    }
    put32(at, (uint32_t)to->count);
    *out = payload;
    return 0;
}

bool destinations_are_there(const struct payload *payload)
{
    struct ranks_run run, before = {0};
    uint32_t count;

    if (len_of(payload) < NUMBER_LEN)
        return false;
    count = pair_count(payload);
    if (count == 0 || count > (payload->len - NUMBER_LEN) / PAIR_LEN)
        return false;
    for (uint32_t i = 0; i < count; i++, before = run) {
        run = pair_at(payload, i);
        if (run.last < run.first || run.last >= LIMIT_NODES ||
            (i > 0 && run.first <= before.last))
            return false;
    }
    return true;
}

bool destinations_meet(const struct payload *payload, const struct ranks *set)
{
    uint32_t count = pair_count(payload);

    for (uint32_t i = 0; i < count; i++) {
        struct ranks_run run = pair_at(payload, i);

        if (ranks_meet(set, &(struct ranks){.runs = &run, .count = 1}))
            return true;
    }
    return false;
}

int destinations_cut(struct payload **out, const struct payload *payload)
{
    size_t len = payload->len - tail_len(payload);
    struct payload *packet = NULL;
    int r;

    if (len > 0) {
        r = payload_new(&packet, len);
        if (r < 0)
            return r;
        memcpy(packet->bytes, payload->bytes, len);
    }
    *out = packet;
    return 0;
}

int destinations_move(struct payload **out,
                      const struct payload *packet,
                      const struct payload *from)
{
    size_t len = len_of(packet), tail = tail_len(from);
    struct payload *payload;
    int r;

    r = payload_new(&payload, len + tail);
    if (r < 0)
        return r;
    if (len > 0)
        memcpy(payload->bytes, packet->bytes, len);
    memcpy(payload->bytes + len, from->bytes + from->len - tail, tail);
    *out = payload;
    return 0;
}
