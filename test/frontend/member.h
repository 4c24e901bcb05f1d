/* member.h - the packets between the tests and their back-end,
 * test/frontend/member: what is sent down, and what is answered. */
#pragma once

#include <coppice/coppice.h>

enum {
    TAG_ECHO = COP_TAG_FIRST, /* "%d": the same number comes back */
    TAG_RANK,                 /* "": "%d", its rank */
    TAG_PID,                  /* "": "%d", its process number */
    TAG_MANY,   /* "%d": as many times 1 as its rank modulo the number */
    TAG_TEXT,   /* "": "%s", a text: no number for a filter that adds */
    TAG_LEAVE,  /* "": leaves the network, and ends */
    TAG_BYTES,  /* "%d": an array of so many bytes */
    TAG_FEED,   /* "%d %d": a count of "%ad" packets and their rate per second;
                  each has one number, unique by member_number() */
    TAG_STUCK,  /* "": never calls receive again, and does not end */
    TAG_SUM,    /* "%ac", "%Auc": "%ud", the sum of the bytes */
    TAG_TOTAL,  /* "": "%d", how many packets it has obeyed, without these */
    TAG_CLOSE,  /* "": it closes its end of the stream */
    TAG_WAKES,  /* "": "%d", how often its poll() has returned */
    TAG_HEAP,   /* "": "%d", the bytes that it has from malloc() */
    TAG_FORK,   /* "": "%d", 0 if all calls in a forked child are -EPERM */
    TAG_BARE,   /* "%d": it closes all descriptors but the standard ones; 1: a
                  thread of Coppice is the first to see it; ends with 0 if the
                  network ends for it, and its new files are as they were */
    TAG_SHOUT,  /* "": it writes 1 MiB to standard error, then sends "%d", 1 */
    TAG_HASHES, /* "%d": its next so many "%uld", see member_hash() */
    TAG_GO,     /* "": it leaves by cop_network_leave(), and ends */
    TAG_FILL,   /* "%d %d %d": it sends at most so many packets "%auld" of so
                  many numbers, the first from member_hash(), until a send has
                  found no room for so many ms */
    TAG_KEPT,   /* "": "%auld": how many packets it has sent for TAG_FILL, and
                  how many packets and bytes of these are not final */
    TAG_SPOUT,  /* "": it settles, then only sends "%d", 1, to the stream's end
                */
};

/* For the filter "dawdle", in place of a rank: every node is slow. */
#define DAWDLE_EVERYWHERE UINT32_MAX

/* The number that back-end `rank` sends as its `index`-th. */
static inline int32_t member_number(uint32_t rank, int index)
{
    return (int32_t)rank * 100000 + index;
}

/* The value that back-end `rank` sends for TAG_HASHES as its `index`-th: sums
 * of different sets of them differ. */
static inline uint64_t member_hash(uint32_t rank, uint32_t index)
{
    uint64_t x = ((uint64_t)rank << 32 | index) + UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}
