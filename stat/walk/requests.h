/* requests.h - what MPI requests wait for, such as those of MPI_Waitall().
 *
 * MPI libraries do not describe their requests. Those of Open MPI (4.1, layer
 * ob1) and the receives of MPICH (4.0, over UCX) are known. A request counts
 * only if the memory that it points to shows that it is one. */
#pragma once

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Most requests of one call that are examined. */
#define REQUESTS_MAX 64

/* A request that is not complete. */
struct request {
    bool receives; /* false: it sends */
    bool world;    /* in MPI_COMM_WORLD; else its ranks have other numbers */
    int32_t peer;  /* -1: any */
    int32_t tag;   /* -1: any */
};

/* Find what a call waits for.
 *
 * out      becomes the first request that is known and not complete
 * pid      the process; it may run, so that what is read may be inconsistent
 * callee   where the MPI function begins
 * address  of the array of `count` requests
 *
 * Returns how many of them may not be complete; 0 if none of them is known. */
uint32_t requests_find(struct request *out,
                       Dwfl *dwfl,
                       pid_t pid,
                       Dwarf_Addr callee,
                       uint64_t address,
                       uint32_t count);

/* Whether `communicator` is the MPI_COMM_WORLD of Open MPI. */
bool requests_is_open_world(Dwfl *dwfl, uint64_t communicator);
