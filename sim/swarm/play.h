/* play.h - what playing a schedule needs; swarm.c owns it. */
#pragma once

#include "sim/sim.h"
#include "sim/swarm/healing.h"
#include "sim/swarm/swarm.h"
#include "sim/swarm/traffic.h"

/* What filter_timeout is where a filter call hangs: longer than any other call
 * of a schedule. */
#define SWARM_FILTER_TIMEOUT_MS 6000
#define SWARM_JOINERS           64

struct swarm_fault; /* one that is to come: faults.c */

struct swarm {
    struct sim *sim;
    const struct schedule *schedule;
    struct healing healing;
    struct traffic traffic;
    struct tally *tally;
    uint32_t joiner_count;
    struct swarm_fault *faults;
    uint32_t fault_count;
    uint64_t *traps;   /* by index: 1 + ms until its candidate dies; 0: none */
    uint32_t room;     /* indices are lower */
    struct ranks hung; /* their filter calls hang, or did */
    struct ranks refused; /* the front-end was told so, and why */
    bool only_lies;       /* no report of a refusal gets lost */
    uint64_t calm_ms;     /* faults have had their effect by then */
    uint32_t slow;        /* the node whose filters are slow until quick_ms */
    uint64_t quick_ms;
    bool faulty;
    bool deadly; /* a node may be killed in the middle of the launch */
    bool skips;  /* a node that does not start is skipped */
    bool launched;
    bool launch_failed;
    bool over; /* no more looks */
    bool crash;
};
