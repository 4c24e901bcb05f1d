/* integers.c - random integers sent by back-ends, and their union. */
#include "bench/integers.h"

#include <errno.h>
#include <stdlib.h>

#define WORD_BITS 64
#define WORDS     (INTEGERS_RANGE / WORD_BITS)

struct integers {
    uint64_t *words; /* only words with numbers are ever touched */
    size_t count;
};

/* The finalizer of SplitMix64: every bit of the input changes half of the
 * output's. */
int32_t integers_draw(uint32_t rank, uint32_t index)
{
    uint64_t x = (uint64_t)rank << 32 | index;

    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return (int32_t)(x % INTEGERS_RANGE);
}

int integers_new(struct integers **out)
{
    struct integers *integers = calloc(1, sizeof(*integers));

    if (!integers)
        return -ENOMEM;
    integers->words = calloc(WORDS, sizeof(*integers->words));
    if (!integers->words) {
        free(integers);
        return -ENOMEM;
    }
    *out = integers;
    return 0;
}

void integers_free(struct integers *integers)
{
    if (!integers)
        return;
    free(integers->words);
    free(integers);
}

int integers_add(struct integers *integers,
                 const int32_t *numbers,
                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t number = (uint32_t)numbers[i];
        uint64_t bit = UINT64_C(1) << number % WORD_BITS;
        uint64_t *word;

        if (number >= INTEGERS_RANGE)
            return -EBADMSG;
        word = &integers->words[number / WORD_BITS];
        integers->count += !(*word & bit);
        *word |= bit;
    }
    return 0;
}

size_t integers_count(const struct integers *integers)
{
    return integers->count;
}

size_t integers_missing(const struct integers *integers,
                        const struct integers *wanted)
{
    size_t missing = 0;

    for (size_t i = 0; i < WORDS; i++) {
        uint64_t left = wanted->words[i] & ~integers->words[i];

        for (; left; left &= left - 1)
            missing++;
    }
    return missing;
}
