/* feeding.h - a network whose back-ends send random integers at a rate, and
 * whose front-end collects the union of them, as chapter 8 of the dissertation
 * measures failures.
 *
 * Functions return 0 or a negative errno, and have then said why on stderr. */
#pragma once

#include <coppice/coppice.h>
#include <stdint.h>

#include "bench/integers.h"

#define FEEDING_AHEAD 256

struct feeding {
    struct cop_network *network;
    struct cop_stream *stream;  /* wait_for_all, int_union */
    struct cop_stream *control; /* do_not_wait, no filter */
    struct integers *seen;
    uint32_t members; /* when it began */
    uint32_t limit;   /* so much may each back-end have sent by now */
    uint64_t sent;    /* by all back-ends; known at the end */
};

/* Launch the tree, of which exactly one of `shape` and `text`, a topology
 * file's, is given; let every back-end send `rate` packets a second, of one
 * integer each, from now on; but nobody runs ahead of the front-end by more
 * than FEEDING_AHEAD packets. So a tree that cannot carry the rate carries what
 * it can, with little that waits in it. */
int feeding_start(struct feeding **out,
                  const char *shape,
                  const char *text,
                  uint32_t rate);

/* Let them send `rate` packets a second from now on. */
int feeding_pace(struct feeding *feeding, uint32_t rate);

/* Take the next packet of the union into the set, waiting up to `timeout_ms`:
 * 0 if there was one, -EAGAIN (which is not said) if not. `*compensation`
 * tells whether it was one, which is no wave. */
int feeding_take(struct feeding *feeding, int timeout_ms, bool *compensation);

/* Stop the back-ends, take all that is left, and see whether the set is the
 * union of what they have sent: else -EBADMSG. */
int feeding_check(struct feeding *feeding);

/* End the network and free `feeding`. NULL is fine. */
void feeding_end(struct feeding *feeding);
