/* stays.h - for how long the threads of one task have been where they are. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stat/table.h"
#include "stat/walk/evidence.h"

/* The threads of a task whose decisive frames are the same. Public to read. */
struct stay {
    UT_hash_handle hh;
    uint64_t hash;   /* of these frames */
    uint32_t before; /* how many threads, in the last complete sample */
    uint32_t now;    /* ... in the present one, so far */
    uint32_t still;  /* for how many samples none has come, or moved */
    enum weight weight;
    bool ran; /* since the last complete sample */
    bool polled;
    bool polls; /* at any time during the stay */
};

/* All zero is empty. */
struct stays {
    struct stay *table;
};

/* Free what `stays` holds. */
void stays_fini(struct stays *stays);

/* Add a thread of the present sample, with the hash of its decisive frames.
 * Returns 0 or -ENOMEM. */
int stays_add(struct stays *stays,
              uint64_t hash,
              const struct evidence *evidence);

/* End the sample. Returns whether any of the threads that count has moved, come
 * or left. */
bool stays_end_sample(struct stays *stays);

/* The stay with this hash; NULL: there is none. Borrowed. */
const struct stay *stays_find(const struct stays *stays, uint64_t hash);
