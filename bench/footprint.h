/* footprint.h - the cost of a process, as /proc shows it. */
#pragma once

#include <sys/types.h>

#include "bench/sample.h"

enum footprint_what {
    FOOTPRINT_PRIVATE_KIB, /* memory that it does not share */
    FOOTPRINT_THREADS,
    FOOTPRINT_DESCRIPTORS,
    FOOTPRINT_WAKE_UPS, /* of all its threads, so far: they waited */
    FOOTPRINT_CPU_US,   /* so far; 0 if the kernel does not report it */
    FOOTPRINT_COUNT,    /* how many there are */
};

/* Measure every process below `root`, without `root`: processes with children
 * go into `inner`, others into `leaf`, FOOTPRINT_COUNT samples each. A process
 * that ends during the call is left out.
 *
 * Returns how many there were, or -ENOMEM or an error from /proc. */
int footprint_below(pid_t root, struct sample *inner, struct sample *leaf);

/* Processor time of `root` and of all processes below it that live now, in
 * microseconds; 0 if the kernel does not report it. */
double footprint_cpu_us(pid_t root);
