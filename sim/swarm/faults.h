/* faults.h - what a schedule breaks, now or later. */
#pragma once

#include "sim/swarm/play.h"

/* The index of a node that a schedule names; SIM_NONE if it is not there. */
uint32_t faults_node(const struct swarm *swarm, uint32_t number);

/* Something lasts for so long: returns when it is over. Nothing counts as calm
 * before. */
uint64_t faults_lasts_until(struct swarm *swarm, uint32_t for_ms);

/* The fault of this step, now or in some time. */
void faults_plan(struct swarm *swarm, const struct schedule_step *step);

/* Filters that are slow for a while, some longer than a node may be silent.
 * Returns whether it has an effect. */
bool faults_slow_down(struct swarm *swarm, const struct schedule_step *step);

/* Filter calls of a commnode hang from now on. Returns whether they do. */
bool faults_hang(struct swarm *swarm, const struct schedule_step *step);
