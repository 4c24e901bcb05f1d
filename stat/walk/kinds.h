/* kinds.h - the roles of functions, by address. */
#pragma once

#include "stat/tree/frame.h"
#include "stat/tree/role.h"
#include "stat/walk/names.h"

struct kinds; /* the roles found so far; opaque */

/* Make an empty collection. Returns 0 or -ENOMEM. */
int kinds_new(struct kinds **out);

/* Free `kinds`. NULL is fine. */
void kinds_free(struct kinds *kinds);

/* Find the role of the function of `frame`, a frame without a name yet, a note,
 * which has ROLE_START, or a Python frame.
 *
 * symbol  becomes its symbol, which lives as long as `kinds`; "" if it has none
 *
 * Returns 0 or -ENOMEM. */
int kinds_find(enum role *out,
               const char **symbol,
               struct kinds *kinds,
               const struct names *names,
               const struct frame *frame);
