/* bench_tags.h - the requests of a benchmark's front-end to its back-ends. */
#pragma once

#include <coppice/coppice.h>

enum bench_tag {
    BENCH_PING = COP_TAG_FIRST, /* "%d": answered by "%d" 1 */
    BENCH_INTS,                 /* "%ud" count: "%d" from 0 to count - 1, of
                                   which the low BENCH_INT_MASK bits count */
    BENCH_ARRAYS,               /* "%ud" count: "%alf", 1 MiB each; the first
                                   element is its number, the others are 1 */
    BENCH_FEED,                 /* "%ud %ud" rate, limit: `rate` times a second
                                   "%ad" of one integer, as in bench/integers.h;
                                   at most `limit` in all so far */
    BENCH_COUNT,                /* the same of "%uld %uld": an integer, and 1 */
    BENCH_RANGE,                /* "%ud %ud" first, count: "%ad" of one integer
                                   each, from `first` on */
    BENCH_LIMIT,                /* "%ud" limit: how many may be fed so far */
    BENCH_LEAVE,                /* "": leave the network, and exit */
    BENCH_STOP,                 /* stop feeding; answer "%ud %ud": rank, and how
                                   many were fed */
};

/* Keeps a sum over a tree of 32,768 leaves within an int. */
#define BENCH_INT_MASK UINT32_C(0xffff)

/* Elements of one array: 1 MiB. */
#define BENCH_ARRAY_COUNT ((UINT32_C(1) << 20) / (uint32_t)sizeof(double))
