/* absence.h - launches in which some nodes do not start, and must be skipped
 * (PROTOCOL 12.2, COP_MISSING_SKIP). */
#pragma once

#include "sim/sim.h"

/* After the launch: fail unless exactly these nodes are missing, or at least
 * these if others may have died. `launched`: the launch succeeded. */
void absence_check(struct sim *sim, bool launched, bool others);
