/* footprint.h - what a process costs while it stands there. */
#pragma once

#include <sys/types.h>

#include "bench/sample.h"

enum footprint_what {
    FOOTPRINT_PRIVATE_KIB, /* memory that it shares with nobody */
    FOOTPRINT_THREADS,
    FOOTPRINT_DESCRIPTORS,
    FOOTPRINT_COUNT, /* how many there are */
};

/* Look at every process below `root`, itself excluded: at those that have
 * children (`inner`) and those that have none (`leaf`), into FOOTPRINT_COUNT
 * samples each. A process that ends meanwhile is left out.
 *
 * Returns how many there were, or -ENOMEM or an error from /proc. */
int footprint_below(pid_t root, struct sample *inner, struct sample *leaf);

/* Processor time of `root` and of all processes below it that live now, in
 * microseconds. 0 where the kernel does not say it. */
double footprint_cpu_us(pid_t root);
