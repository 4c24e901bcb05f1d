/* faults.h - the faults of a schedule, now or later. */
#pragma once

#include "sim/swarm/play.h"

/* The index of a node that a schedule names; SIM_NONE if there is none. */
uint32_t faults_node(const struct swarm *swarm, uint32_t number);

/* A fault lasts for `for_ms`: returns when it ends. The world is not calm
 * before. */
uint64_t faults_lasts_until(struct swarm *swarm, uint32_t for_ms);

/* Plan the fault of this step, now or later. */
void faults_plan(struct swarm *swarm, const struct schedule_step *step);

/* Make filters slow for a while; some calls exceed the limit of silence.
 * Returns whether it has an effect. */
bool faults_slow_down(struct swarm *swarm, const struct schedule_step *step);

/* From now on filter calls of a commnode hang. Returns whether they do. */
bool faults_hang(struct swarm *swarm, const struct schedule_step *step);
