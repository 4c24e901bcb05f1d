/* ports.h - the ports on which a node may listen.
 *
 * A network may have a range of ports (`cop_launch.ports`). A node tries them
 * in an order that follows from its rank. So a process that knows the host and
 * the rank of a node, and nothing else, finds the node (PROTOCOL 12.5). */
#pragma once

#include <stdint.h>

/* A range of ports. `count` 0: any port, chosen by the system. */
struct ports {
    uint32_t low;
    uint32_t count;
};

/* The range of a network that agents assemble, unless the tool names another
 * one. It is below the ports that Linux uses for outgoing connections. */
#define PORTS_ASSEMBLED_LOW   20000
#define PORTS_ASSEMBLED_COUNT 12000

/* How many ports a node tries in a network that agents assemble. */
#define PORTS_ASSEMBLED_TRIES 8

/* Read "LOW-HIGH". Returns 0, or -EINVAL if it is no range in 1-65535. */
int ports_read(struct ports *out, const char *text);

/* The port that node `rank` tries as number `nth`, counted from 0. The range
 * must not be empty. */
uint16_t ports_nth(const struct ports *ports, uint32_t rank, uint32_t nth);
