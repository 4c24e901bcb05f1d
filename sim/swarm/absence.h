/* absence.h - a launch in which some nodes do not start, and must be skipped
 * (PROTOCOL 12.2, COP_MISSING_SKIP). */
#pragma once

#include "sim/sim.h"

/* The launch is over. Fail unless exactly these are missing, or, if others may
 * have died meanwhile, these at least; `launched`: it did not fail. */
void absence_check(struct sim *sim, bool launched, bool others);
