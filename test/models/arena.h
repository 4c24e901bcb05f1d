/* arena.h - memory whose whole contents can be kept and put back.
 *
 * A search must return to a state and continue from there in another way. The
 * machines of protocol/ have no function that copies them, and need none: all
 * their allocations lie in one piece of memory at one address, so its bytes are
 * the state. The program is linked with --wrap for malloc() and its like;
 * otherwise it has the library's own object files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of the arena at one moment; zero to begin with. */
struct arena_image {
    unsigned char *bytes;
    size_t len;
    size_t room;
};

/* Make the arena empty, and allocate in it from now on, until arena_use(false).
 * Ends the program if memory is short. */
void arena_begin(void);

/* Choose whether allocations from now on lie in the arena. */
void arena_use(bool use);

/* Copy the bytes of the arena to `image`, whose storage is reused. */
void arena_keep(struct arena_image *image);

/* Restore the bytes of the arena at arena_keep(). */
void arena_put_back(const struct arena_image *image);

/* The digest of everything that can be reached from `root`, the beginning of a
 * block: the bytes of the blocks, and how they point to each other, wherever
 * they lie. States with one digest behave alike; the converse need not hold. */
uint64_t arena_digest(const void *root);
