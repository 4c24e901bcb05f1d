/* world.h - a made-up network of daemons, and a clock that moves only while
 * something waits for the network: gather.c and daemons.c run on it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coppice/coppice.h>

/* A value for `frozen_ms`: at the first request to the daemons. */
#define WORLD_ASKED UINT64_MAX

/* One network. A test fills in the first part before the launch. */
struct world {
    uint32_t daemons;   /* back-ends: the ranks from 1 on */
    uint32_t frozen;    /* the rank of a daemon that freezes; 0: none does */
    uint64_t frozen_ms; /* when it freezes */
    uint64_t held_ms;   /* samples taken after the freeze arrive this long after
                           it, or when they are taken if that is later */
    uint64_t lost_ms;   /* time from the freeze to the loss; 0: this and held_ms
                           come from the times of the launch */
    uint64_t moves_ms;  /* until then task 0 moves in each sample */
    uint64_t slow_ms; /* a sample takes so long, if longer than the interval */
    uint64_t ends_ms; /* when the network ends; 0: never */
    bool hurried;     /* the next sample always arrives after 1 ms */

    bool is_busy; /* the frozen daemon answers, but takes no more samples */
    bool is_mute; /* no daemon answers questions for names */

    uint64_t now_ms;
    struct cop_times times; /* of the launch */
    unsigned received;      /* samples */
    unsigned stops;         /* requests to stop */
    unsigned questions;     /* for names, or for processes */
    int longest_ms;         /* the longest single wait for a sample */
};

extern struct world world;

/* Begin with `daemons` daemons of which none freezes; free the previous world.
 */
void world_begin(uint32_t daemons);
void world_end(void);
