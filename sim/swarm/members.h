/* members.h - what the back-ends of a world send, and how it is packed. */
#pragma once

#include "sim/swarm/traffic.h"

#define TRAFFIC_BIG   100000              /* bytes of ballast in a big packet */
#define TRAFFIC_MOST  (TRAFFIC_BIG + 200) /* what such a packet weighs */
#define TRAFFIC_LARGE 20000 /* bytes of ballast in what is put together */

/* Zeros. */
extern const char traffic_ballast[TRAFFIC_BIG];

/* The number of a packet from the front-end, and how many answers it wants.
 * Returns 0, or an error: nobody sent that. */
int members_read(const struct frame *frame, uint32_t *number, uint32_t *count);
