/* steps.h - the steps of a schedule are taken, and what they lead to awaited. */
#pragma once

#include "sim/swarm/play.h"

/* The application of a node, which takes a packet every `take_ms`, or as they
 * come if that is 0. */
void steps_set_app(struct swarm *swarm, uint32_t index, uint32_t take_ms);

/* Take all steps, let the tree heal, send once more, and end it. What is wrong
 * is the failure of the simulation. */
void steps_take_all(struct swarm *swarm);
