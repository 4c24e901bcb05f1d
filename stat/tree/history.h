/* history.h - which tasks moved between the last samples. */
#pragma once

#include <stdint.h>

#include "stat/tree/tree.h"

/* Of so many samples it is known. */
#define HISTORY_MAX 20

/* A zeroed one knows nothing. */
struct history {
    struct tasks *moved[HISTORY_MAX]; /* a ring */
    uint32_t count;                   /* of all that were put there */
    uint32_t sample;                  /* the last one */
};

/* Free what `history` holds. */
void history_fini(struct history *history);

/* Note which tasks have moved up to the last sample of `tree`, if it has a new
 * one. Returns 0 or -ENOMEM. */
int history_note(struct history *history, const struct tree *tree);

/* In how many of the last samples any of `tasks` has moved; `*of` becomes how
 * many samples that are. Returns the number or -ENOMEM. */
int history_times(const struct history *history,
                  struct tasks *tasks,
                  uint32_t *of);
