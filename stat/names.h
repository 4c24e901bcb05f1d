/* names.h - the modules of a process, and a memory for names of addresses. */
#ifndef STAT_NAMES_H
#define STAT_NAMES_H

#include <elfutils/libdwfl.h>
#include <sys/types.h>

#include "stat/frame.h"

struct names;   /* names by build-id and offset; opaque */
struct modules; /* what one process has mapped; opaque */

/* Make an empty memory. Returns 0 or -ENOMEM. */
int names_new(struct names **out);

/* Free `names`, and all frames it has given. NULL is fine. */
void names_free(struct names *names);

/* Look at what `pid` has mapped, finding the files through /proc/PID/exe and
 * /proc/PID/root, so that deleted programs and containers work; and read what
 * unwinding needs. Returns 0, -ESRCH, -EPERM, -ENOMEM or -EIO. */
int modules_new(struct modules **out, pid_t pid);

/* Free `modules`. NULL is fine. */
void modules_free(struct modules *modules);

/* The session of libdwfl; borrowed. */
Dwfl *modules_dwfl(const struct modules *modules);

/* The name of the address `pc` in that process. Lines are given for the
 * program and its libraries, not for the C library. The frame and its strings
 * live as long as `names`. Returns 0 or -ENOMEM. */
int names_look_up(struct names *names,
                  const struct modules *modules,
                  Dwarf_Addr pc,
                  const struct frame **out);

#endif
