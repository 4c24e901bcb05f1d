/* world.h - a made-up network of daemons, and a clock that moves only while
 * something waits for the network: gather.c and daemons.c run on it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coppice/coppice.h>

/* In place of a time: when the daemons are asked something. */
#define WORLD_ASKED UINT64_MAX

/* One network. A test fills in the first part before the launch. */
struct world {
    uint32_t daemons;   /* back-ends: the ranks from 1 on */
    uint32_t frozen;    /* the rank of a daemon that freezes; 0: none does */
    uint64_t frozen_ms; /* when it freezes */
    uint64_t held_ms;   /* the samples of all others are late by so much then */
    uint64_t lost_ms;   /* so much later it is lost; 0 for both: as the times of
                           the launch have it */
    uint64_t moves_ms;  /* until then task 0 moves in each sample */
    uint64_t ends_ms;   /* then the network ends; 0: it does not */
    bool hurried;       /* a sample always waits; each takes 1 ms to take */

    bool is_busy; /* the frozen daemon answers, but takes no more samples */
    bool is_mute; /* no daemon answers when it is asked for names */

    uint64_t now_ms;
    struct cop_times times; /* of the launch */
    unsigned received;      /* samples */
    unsigned stops;         /* requests to stop */
    unsigned questions;     /* for names, or for processes */
    int longest_ms;         /* that was waited for a sample at a time */
};

extern struct world world;

/* Begin with `daemons` daemons of which none freezes; what went before is
 * freed. */
void world_begin(uint32_t daemons);
void world_end(void);
