/* feeding.h - a network of real processes whose back-ends send numbers while
 * nodes fail: the integer union of the dissertation.
 *
 * Each back-end sends `count` numbers of its own at a given rate. In the end the
 * set at the front-end must be the union of all numbers sent. CUnit is not used:
 * errors are printed, and returned. */
#pragma once

#include <coppice/coppice.h>
#include <stdbool.h>
#include <stdio.h>

#include "test/patience.h"

/* Long enough for a loaded machine; a passing test never waits this long. */
#define FEEDING_PATIENCE_MS PATIENCE_MS

/* Commnodes whose events are kept by rank. */
#define FEEDING_NODES_MAX 256

struct feeding {
    struct cop_network *network;
    struct cop_stream *stream;
    size_t members;         /* at the beginning */
    uint32_t *ranks;        /* of the members, ascending */
    int count;              /* numbers from each */
    size_t packets;         /* received */
    size_t seen;            /* different numbers received */
    unsigned char *is_seen; /* by member, then by index */
    bool *is_lost;          /* by member: reported by an event */
    size_t suspected;       /* events */
    size_t lost;            /* commnodes */
    size_t adopted;         /* commnodes, including those that returned */
    size_t moved;           /* back-ends that were adopted */
    size_t members_lost;
    bool was_lost[FEEDING_NODES_MAX]; /* by rank: commnodes, by events */
    bool was_adopted[FEEDING_NODES_MAX];
    bool is_suspected[FEEDING_NODES_MAX]; /* by rank: all nodes */
    bool wrong; /* an impossible number, recovery or event was received */
    FILE *log;  /* events are written here too; or NULL */
};

/* Launch `launch` (its default back-end: test/frontend/member), open a stream
 * with int_union to all back-ends, and have each send `count` numbers, `rate`
 * per second. Times that `launch` does not set are long. Returns 0, or a
 * negative errno after printing why; then there is nothing to free. */
int feeding_begin(struct feeding *feeding,
                  struct cop_launch launch,
                  int count,
                  int rate);

/* The two halves of feeding_begin(): launch, with the times of `launch`; open a
 * new stream, close the previous one, and have back-ends send. */
int feeding_launch(struct feeding *feeding, struct cop_launch launch);
int feeding_feed(struct feeding *feeding, int count, int rate);

/* Receive all packets and events that have arrived, waiting up to `timeout_ms`
 * for the first packet. */
void feeding_take(struct feeding *feeding, int timeout_ms);

/* Wait for `count` more packets. Returns whether they were received. */
bool feeding_await(struct feeding *feeding, size_t count);

/* Wait until events have reported `lost` lost and `adopted` adopted commnodes
 * since the launch. Returns whether they have. */
bool feeding_await_events(struct feeding *feeding, size_t lost, size_t adopted);

/* Wait until events have reported `suspected` suspicions since the launch.
 * Returns whether they have. */
bool feeding_await_suspicions(struct feeding *feeding, size_t suspected);

/* Wait until events have reported `moved` adopted back-ends since the launch.
 * Returns whether they have. */
bool feeding_await_moves(struct feeding *feeding, size_t moved);

/* Wait until commnode `rank` is reported adopted, or back after a suspicion.
 * Returns whether it is. */
bool feeding_await_adoption(struct feeding *feeding, size_t rank);

/* Wait until every member has sent all of its numbers. Returns whether the set
 * is complete; lost members may have sent less. Prints what is missing. */
bool feeding_is_whole(struct feeding *feeding);

/* Check feeding_is_whole() and that no member is lost; then end the network.
 * Returns whether all of that succeeded. */
bool feeding_end(struct feeding *feeding);

/* Free everything; a network that was not shut down is shut down first. */
void feeding_fini(struct feeding *feeding);

/* Milliseconds of the monotonic clock. */
uint64_t feeding_now_ms(void);
