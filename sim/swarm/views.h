/* views.h - checks views (PROTOCOL 21) from outside. */
#pragma once

#include "sim/sim.h"

/* Whether the front-end of the world of `seed` sends views. */
static inline bool views_enabled(uint64_t seed)
{
    return seed % 2 == 0;
}

/* The front-end says that a view is stable: check that it is the one after
 * `*last`, and that every back-end that lives and is in has it. */
void views_told(struct sim *sim, const struct action *tell, uint64_t *last);

/* What is not as it must be at rest, as a text to be freed; NULL: nothing. */
char *views_lack(const struct sim *sim);
