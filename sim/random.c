/* random.c - xoshiro256** of Blackman and Vigna. */
#include "sim/random.h"

static uint64_t rotate(uint64_t value, int bits)
{
    return (value << bits) | (value >> (64 - bits));
}

void random_seed(struct random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t mixed = seed += UINT64_C(0x9e3779b97f4a7c15);

        mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
        random->state[i] = mixed ^ (mixed >> 31);
    }
}

uint64_t random_next(struct random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t random_between(struct random *random, uint64_t low, uint64_t high)
{
    return low + random_next(random) % (high - low + 1);
}

bool random_chance(struct random *random, unsigned percent)
{
    return random_next(random) % 100 < percent;
}
