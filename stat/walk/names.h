/* names.h - what a process has mapped, and names of addresses in it.
 *
 * While a process is stopped its addresses become frames of a module and an
 * offset, which are the same in every process of one program and on every
 * host. One daemon that has seen a module names them later, all at once. */
#ifndef STAT_WALK_NAMES_H
#define STAT_WALK_NAMES_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <sys/types.h>

#include "stat/tree/frame.h"
#include "stat/walk/python.h"

struct names;   /* modules seen, and names by module and offset; opaque */
struct modules; /* what one process has mapped; opaque */

/* Make an empty memory. Returns 0 or -ENOMEM. */
int names_new(struct names **out);

/* Free `names`, and all frames it has given. NULL is fine. */
void names_free(struct names *names);

/* Look at what `pid` has mapped, finding the files through /proc/PID/exe,
 * /proc/PID/root and /proc/PID/map_files, so that deleted programs, containers
 * and those with another root work; and read what unwinding needs. Returns 0,
 * -ESRCH, -EPERM, -ENOMEM, or -EIO or -ENOEXEC if it cannot be read, as while
 * it becomes another program. */
int modules_new(struct modules **out, pid_t pid);

/* Whether the process is still the program that it was when `modules` were
 * looked at. */
bool modules_are_present(const struct modules *modules);

/* Look at what the process had mapped of which `path` is a core file, finding
 * the files by their paths and build-ids, and attach to its threads.
 * Returns 0, the error of opening it, -ENOEXEC if it is no core file or none
 * that can be read, or -ENOMEM. */
int modules_new_core(struct modules **out, const char *path);

/* Give `modules` back; names_place() may have kept them. NULL is fine. */
void modules_free(struct modules *modules);

/* Where the process has an interpreter of Python, if it has; borrowed. */
const struct python_place *modules_python(const struct modules *modules);

/* The session of libdwfl; borrowed. */
Dwfl *modules_dwfl(const struct modules *modules);

/* Make a frame without a name of the address `pc` in that process. Its module,
 * a build-id and a path, lives as long as `names`, which can name it from now
 * on, also when the process has gone. Returns 0 or -ENOMEM. */
int names_place(struct names *names,
                struct modules *modules,
                Dwarf_Addr pc,
                struct frame *out);

/* The name of a frame that has none, demangled: several frames, outermost
 * first, where functions are inlined there. Lines are given for the program
 * and its libraries, not for the C library. The frames and their strings live
 * as long as `names`. Returns 0, -ENOENT if `names` has not seen the module, or
 * -ENOMEM.
 */
int names_of(struct names *names,
             const char *module,
             uint64_t offset,
             const struct frame **frames,
             size_t *count);

#endif
