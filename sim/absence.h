/* absence.h - a launch in which some nodes do not start, and must be skipped
 * (PROTOCOL 12.2, COP_MISSING_SKIP). */
#ifndef SIM_ABSENCE_H
#define SIM_ABSENCE_H

#include "sim/sim.h"

/* Choose, by `seed`, who cannot be started, and whose start hangs; before time
 * passes. Some are left out of one world in two. */
void absence_draw(struct sim *sim, uint64_t seed);

/* The launch is over. Fail unless exactly these are missing, or, if others may
 * have died meanwhile, these at least; `launched`: it did not fail. */
void absence_check(struct sim *sim, bool launched, bool others);

#endif
