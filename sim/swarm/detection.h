/* detection.h - checks the detection of silence (PROTOCOL 6.1, 6.2).
 *
 * Promises: a running node closes a link failure_timeout after the last byte
 * arrived, even if it reads this byte later. No link is closed for silence
 * before failure_timeout, nor if its other end was neither dead nor stopped nor
 * cut off. Until the launch is complete, the limit of a start replaces
 * failure_timeout (PROTOCOL 12.2b). */
#pragma once

#include "sim/sim.h"
#include "sim/swarm/tally.h"

/* Node `index` is about to close its link with that number for silence: count
 * this, and fail the world if the silence was too short, or if the other end
 * was able to send all the time. */
void detection_accused(struct sim *sim,
                       uint32_t index,
                       uint32_t link,
                       struct tally *tally);

/* Fail the world if a link should have been closed by now. */
void detection_look(struct sim *sim);
