/* harm.h - the harm done to the nodes of a round, and its times: drawn from the
 * seed, so that a round can be repeated. */
#pragma once

#include "test/storm/tree.h"

#define BLOWS_MAX 256

enum blow_kind {
    BLOW_KILL,
    BLOW_STOP,
    BLOW_CONTINUE,
    BLOW_RESET,
    BLOW_JOIN,
    BLOW_LEAVE
};

struct blow {
    uint32_t at_ms; /* since the work began */
    enum blow_kind kind;
    uint32_t rank;
    uint32_t choice; /* of a reset: selects the connection */
};

struct schedule {
    struct blow blows[BLOWS_MAX]; /* in order of time */
    size_t count;
    uint32_t length_ms;
};

/* Draw the blows of a round in the given weather. */
void schedule_draw(struct schedule *schedule,
                   uint64_t seed,
                   enum weather weather,
                   const struct tree *tree);

/* Carry out a blow other than BLOW_JOIN in the round of `folder`. Returns
 * whether that was possible. */
bool blow_strike(const struct blow *blow,
                 struct tree *tree,
                 const char *folder);
