/* feeding.h - a network of real processes whose back-ends send numbers while
 * it is hurt: the integer union of the dissertation.
 *
 * Each back-end sends `count` numbers of its own at a rate; in the end the set
 * at the front-end must be the union of all that was sent. It knows nothing of
 * CUnit: what is wrong is printed, and told by the result. */
#ifndef TEST_PROCESS_FEEDING_H
#define TEST_PROCESS_FEEDING_H

#include <coppice/coppice.h>
#include <stdbool.h>
#include <stdio.h>

#include "test/patience.h"

/* Long enough for a loaded machine; nothing waits for it in vain. */
#define FEEDING_PATIENCE_MS PATIENCE_MS

/* Commnodes whose events are kept by rank. */
#define FEEDING_NODES_MAX 256

struct feeding {
    struct cop_network *network;
    struct cop_stream *stream;
    size_t members;         /* at the beginning */
    uint32_t *ranks;        /* theirs, ascending */
    int count;              /* numbers from each */
    size_t packets;         /* that came */
    size_t seen;            /* different numbers that came */
    unsigned char *is_seen; /* by member, then by index */
    bool *is_lost;          /* members of which an event has told that */
    size_t suspected;       /* events */
    size_t lost;            /* commnodes */
    size_t adopted;         /* commnodes; those that are back, too */
    size_t moved;           /* back-ends that were adopted */
    size_t members_lost;
    bool was_lost[FEEDING_NODES_MAX]; /* by rank: commnodes, by events */
    bool was_adopted[FEEDING_NODES_MAX];
    bool is_suspected[FEEDING_NODES_MAX]; /* by rank: all nodes */
    bool wrong; /* a number, a measurement or an event that cannot be came */
    FILE *log;  /* events go here too; NULL: nowhere */
};

/* Launch as `launch` says, with test/frontend/member as its back-end where it
 * names none, open a stream with int_union to everyone, and have each back-end
 * send `count` numbers, `rate` in a second. Times that `launch` leaves open are
 * patient. Returns 0, or a negative errno with a sentence printed, and then
 * nothing is to be freed. */
int feeding_begin(struct feeding *feeding,
                  struct cop_launch launch,
                  int count,
                  int rate);

/* The two halves of it: launch, with the times of `launch`; and begin a set of
 * numbers on a new stream, closing the one before. */
int feeding_launch(struct feeding *feeding, struct cop_launch launch);
int feeding_feed(struct feeding *feeding, int count, int rate);

/* Take what has come, and events, waiting for the first packet up to
 * `timeout_ms`. */
void feeding_take(struct feeding *feeding, int timeout_ms);

/* Wait until `count` packets more have come. Returns whether they did. */
bool feeding_await(struct feeding *feeding, size_t count);

/* Wait until so many deaths, and adoptions of commnodes, were told in all.
 * Returns whether they were. */
bool feeding_await_events(struct feeding *feeding, size_t lost, size_t adopted);

/* Wait until so many suspicions were told in all. Returns whether they were. */
bool feeding_await_suspicions(struct feeding *feeding, size_t suspected);

/* Wait until so many back-ends have said, in all, that they were adopted. */
bool feeding_await_moves(struct feeding *feeding, size_t moved);

/* Wait until everybody has sent all. Is the set what it should be? Members that
 * were lost may have sent less. Prints what is not. */
bool feeding_is_whole(struct feeding *feeding);

/* feeding_is_whole(), no member lost; then end the network. Returns whether
 * both were as they should be. */
bool feeding_end(struct feeding *feeding);

/* Free all, after a shutdown of 10 s if there was none. */
void feeding_fini(struct feeding *feeding);

/* Milliseconds of the monotonic clock. */
uint64_t feeding_now_ms(void);

#endif
