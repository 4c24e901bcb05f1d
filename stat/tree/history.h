/* history.h - which tasks moved between the last samples. */
#pragma once

#include <stdint.h>

#include "stat/tree/tree.h"

/* How many samples are kept. */
#define HISTORY_MAX 20

/* All zero is empty. */
struct history {
    struct tasks *moved[HISTORY_MAX]; /* tasks that moved, by sample; a ring */
    uint32_t count;                   /* of all samples noted so far */
    uint32_t sample;                  /* number of the last sample */
};

/* Free what `history` holds. */
void history_fini(struct history *history);

/* If `tree` has a new sample, note which tasks have moved since the sample that
 * was noted before. The first sample only gets its number noted. Returns 0 or
 * -ENOMEM. */
int history_note(struct history *history, const struct tree *tree);

/* In how many of the kept samples any of `tasks` has moved; `*of` becomes the
 * number of kept samples. Returns the number or -ENOMEM. */
int history_times(const struct history *history,
                  struct tasks *tasks,
                  uint32_t *of);
