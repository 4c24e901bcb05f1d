/* lanes.h - the packets that wait for the waves of one stream, by link: what
 * wave.c and tally.c have in common.
 *
 * A lane has the packets of one child's link, oldest first. Lanes are in order
 * of the children's ranks; of one rank the older is first (PROTOCOL 4.3a). When
 * its link has ended, a lane stays until its packets are used. Of the last wave
 * in a lane, packets may be missing: those that have come are its parts.
 *
 *      rank 10, link 1      [7 last][8][8 last][9]       9: a part
 *      rank 11, no link     [7 last]
 *      rank 11, link 2      [8 last]
 *      rank 12, link 0      [7 last][8 last] */
#pragma once

#include "protocol/stream/wave.h"
#include "wire/fifo.h"

struct lane {
    struct fifo fifo;
    struct wave_number level; /* every wave up to here is answered */
    uint32_t rank;
    uint32_t link;       /* WAVE_NO_LINK: it has ended */
    bool expected;       /* waves wait for it: lanes_expect() */
    bool counts;         /* the child has said from which wave on it counts */
    uint32_t parts;      /* packets of the last wave, if it is incomplete ... */
    uint64_t part_bytes; /* ... and their bytes */
    uint32_t lent;       /* packets at the head whose credit was taken early */
    /* wave.c */
    uint64_t from;  /* it counts from the wave after this */
    uint64_t ended; /* the last wave that it has named in the epoch before */
    /* tally.c */
    uint64_t owed; /* bytes whose credit is due */
};

/* All zero: no lanes. */
struct lanes {
    struct lane **list; /* in order */
    uint32_t count;
    uint32_t ended;      /* lanes whose link has ended */
    uint32_t expected;   /* lanes that waves wait for */
    struct lane **links; /* by link; NULL: no lane */
    uint32_t link_count;
    struct lane *blocker; /* nothing is released before it answers; or NULL */
    uint64_t bytes;       /* of all packets, without OVER (16.10) */
    struct wave_set set;  /* that is released */
    size_t room;          /* of its arrays */
};

/* Free all lanes and their packets. */
void lanes_fini(struct lanes *lanes);

/* The lane of `link`, or NULL. */
static inline struct lane *lanes_find(const struct lanes *lanes, uint32_t link)
{
    return link < lanes->link_count ? lanes->links[link] : NULL;
}

/* Make the lane of `link`, which has none. NULL: out of memory. */
struct lane *lanes_add(struct lanes *lanes, uint32_t link, uint32_t rank);

/* The lane of `link`, made if there is none. NULL: out of memory. */
static inline struct lane *lanes_at(struct lanes *lanes,
                                    uint32_t link,
                                    uint32_t rank)
{
    struct lane *lane = lanes_find(lanes, link);

    return lane ? lane : lanes_add(lanes, link, rank);
}

/* Set whether waves wait for the lane. */
void lanes_expect(struct lanes *lanes, struct lane *lane, bool expected);

/* The child has answered: it blocks no more. */
static inline void lanes_unblock(struct lanes *lanes, const struct lane *lane)
{
    if (lanes->blocker == lane)
        lanes->blocker = NULL;
}

/* The link has ended, or its child has no members any more: another lane may
 * get the number `link`. */
void lanes_unlink(struct lanes *lanes, uint32_t link);

/* Free the lanes without a link whose packets are used. */
void lanes_sweep(struct lanes *lanes);

/* The blocker, if there is one; else an expected lane that has not answered a
 * wave after `over`, or, if all have, that with the lowest level. NULL: none is
 * expected. */
struct lane *lanes_slowest(const struct lanes *lanes, struct wave_number over);

/* Add a packet, whose payload reference is taken, also on error. `credit`:
 * bytes to be returned for it. Returns 0 or -ENOMEM. */
int lanes_put(struct lanes *lanes,
              struct lane *lane,
              struct frame *frame,
              uint32_t credit);

/* Drop the oldest packet, which must exist, or the parts. Returns the credit
 * that is due for them. */
uint32_t lanes_drop(struct lanes *lanes, struct lane *lane);
uint64_t lanes_drop_parts(struct lanes *lanes, struct lane *lane);

/* Begin an empty set in `lanes->set`. */
void lanes_begin(struct lanes *lanes);

/* Move the oldest packet to the set; an empty one is dropped. Returns 0 or
 * -ENOMEM. */
int lanes_move(struct lanes *lanes, struct lane *lane);

/* Whether the lane has a whole wave. */
static inline bool lane_is_whole(const struct lane *lane)
{
    return lane->fifo.count > lane->parts;
}

/* The newest packet, which must exist. */
static inline struct queued *lane_newest(const struct lane *lane)
{
    return fifo_at(&lane->fifo, lane->fifo.count - 1);
}

/* Take the credit of the next wave's packets but for its last one. Returned
 * while they wait, it lets a wave be larger than the window (3.4). `all`: the
 * credit of all that waits. */
uint64_t lane_lend(struct lane *lane, bool all);

/* The credit due for the lane, whether it waits or not. NULL: 0. */
uint64_t lane_credit(const struct lane *lane);
