/* traffic.h - the packets between the processes of a benchmark, as the kernel
 * counts them. */
#pragma once

#include <stdint.h>

struct traffic {
    uint64_t packets; /* IP packets; on loopback up to 64 KiB each */
    uint64_t bytes;   /* including the headers of IP and TCP */
};

/* Give this process and those below it their own network, so that only they are
 * counted. Call this before threads are started. If it is not permitted,
 * traffic_read() returns -EPERM. */
void traffic_isolate(void);

/* Read the counters. Returns 0, -EPERM, or -EBADMSG if the kernel's tables lack
 * them. */
int traffic_read(struct traffic *out);

/* Read a table in the format of /proc/net/netstat: pairs of lines, names and
 * values, each beginning with `group`. Returns 0 with the value of `name`, or
 * -EBADMSG. */
int traffic_parse(const char *text,
                  const char *group,
                  const char *name,
                  uint64_t *out);
