/* arena.h - memory whose whole contents can be kept and put back.
 *
 * A search needs to go back to a state and on from there another way. The
 * machines of protocol/ have no function that copies one; they need none: all
 * that they allocate lies in one piece of memory at one address, so that its
 * bytes are the state. The program is linked with --wrap for malloc() and its
 * like, and so are the very objects that the library is made of. */
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

/* Make the arena empty; what is allocated from now on lies in it, until
 * arena_use(false). Ends the program without memory. */
void arena_begin(void);

/* Whether what is allocated from now on lies in the arena. */
void arena_use(bool use);

/* Keep the bytes of the arena in `image`, which is used again. */
void arena_keep(struct arena_image *image);

/* Make the arena what it was at arena_keep(). */
void arena_put_back(const struct arena_image *image);

/* A number for all that can be reached from `root`, the beginning of a block:
 * the bytes of the blocks, and how they point to each other, wherever they lie.
 * So states of one number can do the same; some that can have two numbers. */
uint64_t arena_digest(const void *root);
