/* member.h - the packets between the tests and their back-end,
 * test/frontend/member: the requests and their answers. */
#pragma once

#include <coppice/coppice.h>

enum {
    TAG_ECHO = COP_TAG_FIRST, /* "%d": answered with the same number */
    TAG_RANK,                 /* "": "%d", its rank */
    TAG_PID,                  /* "": "%d", its process number */
    TAG_MANY,   /* "%d": it sends 1 as often as its rank modulo this */
    TAG_TEXT,   /* "": "%s", a text, which a filter that adds cannot take */
    TAG_LEAVE,  /* "": it leaves the network, and exits */
    TAG_BYTES,  /* "%d": an array of this many bytes */
    TAG_FEED,   /* "%d %d": a count of "%ad" packets and their rate per second;
                  each has one number, unique by member_number() */
    TAG_STUCK,  /* "": it never receives again, and does not exit */
    TAG_SUM,    /* "%ac", "%Auc": "%ud", the sum of the bytes */
    TAG_TOTAL,  /* "": "%d", the number of requests obeyed, without TAG_TOTAL */
    TAG_CLOSE,  /* "": it closes its end of the stream */
    TAG_WAKES,  /* "": "%d", how often its poll() has returned */
    TAG_HEAP,   /* "": "%d", the bytes that it has allocated with malloc() */
    TAG_FORK,   /* "": "%d", 0 if all calls in a forked child return -EPERM */
    TAG_BARE,   /* "%d": it closes all descriptors except the standard ones; if
                   1, a thread of Coppice is the first to notice. Exits with 0
                   if its network ends and its new files are unchanged */
    TAG_SHOUT,  /* "": it writes 1 MiB to standard error, then sends "%d", 1 */
    TAG_HASHES, /* "%d": this many hashes, "%uld", see member_hash() */
    TAG_GO,     /* "": it leaves by cop_network_leave(), and exits */
    TAG_QUIT,   /* "": the same, but it begins while the process that started
                   it is stopped, and continues when it has killed that one */
    TAG_END,    /* "%s": it begins to leave, then calls cop_network_shutdown().
                   It writes both results to this FIFO */
    TAG_FILL,   /* "%d count, %d len, %d ms": it sends up to count packets
                   "%auld" of len values, the first by member_hash(); it stops
                   when a send has no room for ms */
    TAG_KEPT,   /* "": "%auld": the number of packets sent for TAG_FILL, and of
                   these the packets and the bytes that are not final */
    TAG_CODES,  /* "%d": "%ad", the results of receive, send, flush and settle
                   on the stream of that number, once receive returns one */
    TAG_SAY,    /* "%ac": it writes these bytes to the socket of its parent */
    TAG_VIEW,   /* "": "%d", the number of the view that it knows */
    TAG_SPOUT,  /* "": it settles, then sends "%d", 1, until the stream ends */
};

/* In place of a rank, for the filter "dawdle": every node is slow. */
#define DAWDLE_EVERYWHERE UINT32_MAX

/* The number with this `index` that back-end `rank` sends. */
static inline int32_t member_number(uint32_t rank, int index)
{
    return (int32_t)rank * 100000 + index;
}

/* The value with this `index` that back-end `rank` sends for TAG_HASHES. Sums
 * of different sets of values differ. */
static inline uint64_t member_hash(uint32_t rank, uint32_t index)
{
    uint64_t x = ((uint64_t)rank << 32 | index) + UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}
