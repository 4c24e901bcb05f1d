/* random.h - a small seeded generator: xoshiro256**, seeded by splitmix64.
 *
 * The C library's rand() differs between systems; a seed must not. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct random {
    uint64_t state[4];
};

/* Start the sequence of `seed`; any seed will do. */
void random_seed(struct random *random, uint64_t seed);

/* The next 64 bits. */
uint64_t random_next(struct random *random);

/* A number from `low` to `high`, both included; `low` is at most `high`. */
uint64_t random_between(struct random *random, uint64_t low, uint64_t high);

/* Returns true with a probability of `percent`. */
bool random_chance(struct random *random, unsigned percent);
