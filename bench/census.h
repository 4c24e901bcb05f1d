/* census.h - a network whose back-ends send numbers at a rate on one stream,
 * and whose front-end checks each answer.
 *
 * The n-th number of a back-end is integers_draw() of its rank and n, so it is
 * known what the sum of each wave and the union of all have to be. No back-end
 * runs ahead of the front-end by more than CENSUS_AHEAD packets: a tree that
 * cannot carry the rate carries what it can, with little that waits in it.
 *
 * Functions return 0 or a negative errno, and have then said why on stderr. */
#pragma once

#include <stdbool.h>

#include "bench/integers.h"
#include "bench/mode.h"

#define CENSUS_AHEAD 256

struct census {
    enum mode mode;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_stream *control; /* do_not_wait, no filter */
    struct integers *seen;      /* recoverable: the union so far */
    uint32_t *ranks;            /* of the back-ends */
    uint32_t member_count;
    uint32_t limit; /* so many packets may each back-end have sent by now */
    uint32_t right; /* answers: waves; of a cumulative stream, totals */
    uint32_t wrong; /* waves in which a member is missing, or counts twice */
    uint64_t sent;  /* packets of all back-ends; known after census_check() */
    uint64_t sum;   /* of all waves */
    bool stopping;  /* members stop after unequal numbers of packets */
    uint32_t wave;  /* up to here everything is in some right answer */
};

/* Launch the tree, of which exactly one of `shape` and `text`, a topology
 * file's, is given. With `session_path`, nodes may be broken through that
 * session file. Every back-end sends `rate` packets a second from now on. */
int census_start(struct census **out,
                 enum mode mode,
                 const char *shape,
                 const char *text,
                 const char *session_path,
                 uint32_t rate);

/* Take the next answer, waiting up to `timeout_ms`: the next wave, or, of a
 * cumulative stream, the total if it has grown and is exact.
 *
 * `*right`: it has each member's packets, each once. Returns 0; or, without a
 * message, -EAGAIN if there is none, or -EIO if the stream has failed. */
int census_take(struct census *census, int timeout_ms, bool *right);

/* Stop the back-ends, sync, and compare the stream's result with everything
 * sent, if the mode promises equality; -EBADMSG if they differ. */
int census_check(struct census *census);

/* End the network and free `census`. NULL is fine. */
void census_end(struct census *census);
