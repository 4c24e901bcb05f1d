/* closure.h - libraries that only a runtime needs, and that belong to it:
 * libevent below Open MPI, if the program does not use it as well. */
#pragma once

#include <elfutils/libdwfl.h>

#include "stat/tree/role.h"

struct closure; /* the libraries of one session; opaque */

/* Find them among the modules of `dwfl`, the session of a process. Returns 0 or
 * -ENOMEM. */
int closure_new(struct closure **out, Dwfl *dwfl);

/* Free `closure`. NULL is fine. */
void closure_free(struct closure *closure);

/* The role of the runtime that needs `module`, of that session; ROLE_PROGRAM if
 * anything else needs it, too, or nothing does. */
enum role closure_role(const struct closure *closure,
                       const Dwfl_Module *module);
