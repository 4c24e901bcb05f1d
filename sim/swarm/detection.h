/* detection.h - whether silence is found, and only silence (PROTOCOL 6.1, 6.2).
 *
 * Promises: a link is closed failure_timeout after the last byte came, also if
 * that is read later, by a node that runs; none is closed for silence before
 * failure_timeout, nor when its other end was neither dead nor stopped nor cut
 * off. Until the launch is complete the same with a start's limit instead of
 * failure_timeout (PROTOCOL 12.2b). */
#pragma once

#include "sim/sim.h"
#include "sim/swarm/tally.h"

/* Node `index` is about to close its link of that number for silence: count
 * it, and fail the world if that is a false accusation. */
void detection_accused(struct sim *sim,
                       uint32_t index,
                       uint32_t link,
                       struct tally *tally);

/* Fail the world if some link should have been closed by now. */
void detection_look(struct sim *sim);
