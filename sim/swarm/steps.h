/* steps.h - take the steps of a schedule, and wait for their results. */
#pragma once

#include "sim/swarm/play.h"

/* Have the application of a node take one packet every `take_ms`, or, if that
 * is 0, each packet at once. */
void steps_set_app(struct swarm *swarm, uint32_t index, uint32_t take_ms);

/* Take all steps, let the tree heal, send once more, and end the network. An
 * error becomes the failure of the simulation. */
void steps_take_all(struct swarm *swarm);
