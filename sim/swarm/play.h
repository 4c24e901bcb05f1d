/* play.h - the state of playing a schedule; swarm.c owns it. */
#pragma once

#include "sim/sim.h"
#include "sim/swarm/healing.h"
#include "sim/swarm/swarm.h"
#include "sim/swarm/traffic.h"

/* filter_timeout in a schedule with a hanging filter call: longer than any
 * other filter call of a schedule. */
#define SWARM_FILTER_TIMEOUT_MS 6000
#define SWARM_JOINERS           64

struct swarm_fault; /* a future fault: faults.c */

struct swarm {
    struct sim *sim;
    const struct schedule *schedule;
    struct healing healing;
    struct traffic traffic;
    struct tally *tally;
    uint32_t helper_count; /* commnodes that join */
    uint32_t joiner_count; /* back-ends */
    uint32_t joined_count; /* of these, how many were reported */
    struct swarm_fault *faults;
    uint32_t fault_count;
    uint64_t *traps;   /* by index: 1 + ms until its candidate dies; 0: none */
    uint32_t room;     /* indices are lower */
    struct ranks hung; /* nodes whose filter calls hang, or did */
    struct ranks refused; /* nodes reported as refused */
    bool only_lies;       /* no report of a refusal can get lost */
    uint64_t calm_ms;     /* the effects of all faults end by then */
    uint32_t slow;        /* the node whose filters are slow until quick_ms */
    uint64_t quick_ms;
    bool faulty;
    bool deadly; /* a node may be killed during the launch */
    bool skips;  /* nodes that do not start are skipped */
    bool launched;
    bool launch_failed;
    bool over;     /* no more checks */
    uint64_t view; /* the last one that was reported to be stable */
    bool crash;
};
