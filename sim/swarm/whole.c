/* whole.c - the expected packets of an exact stream. */
#include "sim/swarm/whole.h"

#include <stdlib.h>

#include "sim/memory.h"
#include "sim/random.h"

uint64_t whole_value(uint32_t rank, uint32_t serial)
{
    struct random random;

    random_seed(&random, (uint64_t)rank << 32 | serial);
    return random_next(&random);
}

static uint64_t last_wave(const struct whole *whole)
{
    return whole->wave_count > 0 ? whole->waves[whole->wave_count - 1] : 0;
}

const char *whole_send(struct whole *whole,
                       uint32_t rank,
                       uint64_t wave,
                       uint64_t value)
{
    memory_grow(&whole->sent, &whole->sent_room, whole->sent_count,
                sizeof(*whole->sent));
    whole->sent[whole->sent_count++] = (struct whole_sent){rank, wave, value};
    for (size_t i = 0; i < whole->gone_count; i++)
        if (whole->gone[i] == rank)
            return NULL;
    return wave <= last_wave(whole) ? "a wave was taken before a member sent it"
                                    : NULL;
}

/* Check the last wave, which is complete, against the values sent. */
static const char *check_last(struct whole *whole)
{
    uint64_t wave = last_wave(whole), want = 0;

    if (whole->wave_count == 0)
        return NULL;
    for (size_t i = 0; i < whole->sent_count; i++)
        if (whole->sent[i].wave == wave)
            want += whole->sent[i].value;
    for (size_t k = 0;; k++) {
        if (k >= whole->settled && want == whole->sum) {
            whole->settled = k;
            return NULL;
        }
        if (k == whole->gone_count)
            return "a wave is not what was sent in it";
        for (size_t i = 0; i < whole->sent_count; i++)
            if (whole->sent[i].wave == wave &&
                whole->sent[i].rank == whole->gone[k])
                want -= whole->sent[i].value;
    }
}

const char *whole_take(struct whole *whole, uint64_t wave, uint64_t sum)
{
    const char *wrong = NULL;

    if (whole->wave_count > 0 && wave < last_wave(whole))
        return "a wave came after a later one";
    if (whole->wave_count == 0 || wave > last_wave(whole)) {
        wrong = check_last(whole);
        memory_grow(&whole->waves, &whole->wave_room, whole->wave_count,
                    sizeof(*whole->waves));
        whole->waves[whole->wave_count++] = wave;
        whole->sum = 0;
    }
    whole->sum += sum;
    return wrong;
}

void whole_lose(struct whole *whole, uint32_t rank)
{
    if (ranks_has(&whole->parted, rank))
        return;
    memory_grow(&whole->gone, &whole->gone_room, whole->gone_count,
                sizeof(*whole->gone));
    whole->gone[whole->gone_count++] = rank;
}

void whole_part(struct whole *whole, uint32_t rank)
{
    size_t kept = 0, settled = whole->settled;

    ranks_add(&whole->parted, rank, rank);
    for (size_t i = 0; i < whole->gone_count; i++) {
        if (whole->gone[i] == rank)
            whole->settled -= i < settled;
        else
            whole->gone[kept++] = whole->gone[i];
    }
    whole->gone_count = kept;
}

static bool was_taken(const struct whole *whole, uint64_t wave)
{
    for (size_t i = 0; i < whole->wave_count; i++)
        if (whole->waves[i] == wave)
            return true;
    return false;
}

bool whole_has(const struct whole *whole, uint32_t rank, uint32_t serial)
{
    uint64_t value = whole_value(rank, serial);

    for (size_t i = whole->sent_count; i-- > 0;)
        if (whole->sent[i].rank == rank && whole->sent[i].value == value)
            return was_taken(whole, whole->sent[i].wave);
    return false;
}

const char *whole_check(struct whole *whole,
                        const struct ranks *living,
                        uint64_t upto)
{
    for (size_t i = 0; i < whole->sent_count; i++)
        if (whole->sent[i].wave < upto &&
            (ranks_has(living, whole->sent[i].rank) ||
             ranks_has(&whole->parted, whole->sent[i].rank)) &&
            !was_taken(whole, whole->sent[i].wave))
            return "a wave is missing behind the sync that covers it";
    return check_last(whole);
}

void whole_fini(struct whole *whole)
{
    free(whole->sent);
    free(whole->waves);
    free(whole->gone);
    ranks_fini(&whole->parted);
    *whole = (struct whole){0};
}
