/* traffic.h - what the processes of a benchmark send each other, as the kernel
 * counts it. */
#pragma once

#include <stdint.h>

struct traffic {
    uint64_t packets; /* of IP; on the loopback of up to 64 KiB */
    uint64_t bytes;   /* with the headers of IP and TCP */
};

/* Give this process and what it starts a network of its own, so that only they
 * are counted. Call this before threads begin. Where that is not permitted,
 * traffic_read() returns -EPERM. */
void traffic_isolate(void);

/* What was sent until now. Returns 0, -EPERM, or -EBADMSG if the kernel's
 * tables have no such counters. */
int traffic_read(struct traffic *out);

/* Read a table of the form of /proc/net/netstat: lines in pairs, the names and
 * the values, each beginning with `group`. Returns 0 with the value of `name`,
 * or -EBADMSG. */
int traffic_parse(const char *text,
                  const char *group,
                  const char *name,
                  uint64_t *out);
