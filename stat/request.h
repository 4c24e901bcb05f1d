/* request.h - what coppice-stat asks its daemons. */
#ifndef STAT_REQUEST_H
#define STAT_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include <coppice/coppice.h>

/* Packets on the stream: one of the first down, trees up. */
#define STAT_TAG_REQUEST COP_TAG_FIRST
#define STAT_TAG_TREE    (COP_TAG_FIRST + 1)

/* Most samples of one request. */
#define REQUEST_SAMPLES_MAX 10000

/* Longest time between two of them. */
#define REQUEST_INTERVAL_MAX_MS 3600000

/* Bytes of a boot's name, with its end. */
#define REQUEST_BOOT_SIZE 64

/* The same for all daemons: task i has pid pids[i], and is for the daemon
 * whose rank is daemons[i]. */
struct request {
    const char *boot;     /* of the kernel on which the pids are */
    uint32_t samples;     /* at least 1 */
    uint32_t interval_ms; /* from one sample to the next */
    uint32_t stop_ms;     /* how long to wait for a thread to stop */
    uint32_t task_count;
    const uint32_t *daemons;
    const int32_t *pids;
};

/* Pack `request`. Returns 0, -EMSGSIZE or -ENOMEM. */
int request_pack(struct cop_packet **out, const struct request *request);

/* Read `packet`; what `request` then points to is the packet's.
 * Returns 0, -EINVAL if it is no request, -EBADMSG if its values are not
 * sensible, or -ENOMEM. */
int request_unpack(struct request *request, const struct cop_packet *packet);

/* Write the name of this boot of this host's kernel; "" if there is none. */
void request_boot(char text[REQUEST_BOOT_SIZE]);

#endif
