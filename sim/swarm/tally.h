/* tally.h - counts of what happened in worlds. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "sim/swarm/schedule.h"
#include "sim/swarm/traffic.h"

/* Tags of ADOPTED, a candidate's answer. */
#define TALLY_ANSWERS 8

/* Caller's storage; all zero to begin. */
struct tally {
    uint64_t seeds;
    uint64_t failed;
    uint64_t virtual_ms;
    uint64_t nodes;
    uint64_t frames;
    uint64_t kinds[TRAFFIC_KINDS];       /* seeds with such streams */
    uint64_t steps[SCHEDULE_VERB_COUNT]; /* those that took effect */
    uint64_t adoptions;
    uint64_t moves; /* that have succeeded */
    uint64_t answers[TALLY_ANSWERS];
    uint64_t rises;       /* trees that overlapping adoptions made higher */
    uint64_t accusations; /* links that were closed for silence */
    uint64_t slowest_ms;  /* the longest silence before one of those */
};

/* Add the numbers of `one` to `sum`. */
void tally_add(struct tally *sum, const struct tally *one);

/* Print them: a few lines. */
void tally_print(const struct tally *tally, FILE *file);
