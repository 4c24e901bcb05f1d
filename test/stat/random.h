/* random.h - seeded random stacks, sets and trees for the tests of stat/. */
#pragma once

#include <stdint.h>

#include "test/stat/trees.h"

/* The next number below `end` of the sequence that `*seed`, not 0, begins. */
static inline uint32_t random_below(uint64_t *seed, uint32_t end)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (uint32_t)(*seed >> 33) % end;
}

/* A tree of up to `most` stacks of tasks below `tasks`. It has few functions,
 * so that random trees share many nodes. */
static inline struct tree *random_tree(uint64_t *seed,
                                       uint32_t most,
                                       uint32_t tasks)
{
    static const char *const functions[] = {"main", "a", "b",
                                            "c",    "d", "MPI_Wait"};
    static const char *const files[] = {"", "x.c", "y.c"};
    struct traces *traces;
    struct tree *tree = NULL;
    uint32_t count = random_below(seed, most + 1);
    uint32_t samples = 1 + random_below(seed, 3);

    CHECK_OK(traces_new(&traces));
    while (samples-- > 0) {
        for (uint32_t i = 0; i < count; i++) {
            struct frame frames[6];
            uint32_t depth = 1 + random_below(seed, 6);

            for (uint32_t k = 0; k < depth; k++)
                frames[k] = (struct frame){
                    functions[random_below(seed, 6)],
                    files[random_below(seed, 3)],
                    random_below(seed, 2),
                    random_below(seed, 4) ? "" : "1f /bin/ring",
                    random_below(seed, 8) ? 0 : 64,
                    false,
                };
            if (random_below(seed, 12) == 0) {
                frames[0] = FRAME_NOT_WALKED(functions[random_below(seed, 6)]);
                depth = 1;
            }
            CHECK_OK(traces_add_thread(
                traces, random_below(seed, tasks),
                random_below(seed, 2) ? 0 : 100 + (pid_t)random_below(seed, 4),
                frames, depth,
                &(struct evidence){.decisive = depth,
                                   .polled = random_below(seed, 4) == 0,
                                   .weight = WEIGHT_NATIVE}));
        }
        tree = with_sample(tree, traces, random_below(seed, 1000));
    }
    traces_free(traces);
    return tree;
}
