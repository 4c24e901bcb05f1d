/* members.h - the packets that the back-ends of a world send. */
#pragma once

#include "sim/swarm/traffic.h"

/* Bytes of ballast in a big packet, and in packets to be joined; the most bytes
 * of a packet without ballast, and of any that is not joined. */
#define TRAFFIC_BIG   100000
#define TRAFFIC_LARGE 20000
#define TRAFFIC_SMALL 200
#define TRAFFIC_MOST  (TRAFFIC_BIG + TRAFFIC_SMALL)

/* All zero. */
extern const char traffic_ballast[TRAFFIC_BIG];

/* Read the number of a packet from the front-end, and how many answers it
 * requests. Returns 0, or an error if it is no packet of the front-end. */
int members_read(const struct frame *frame, uint32_t *number, uint32_t *count);
