/* names.h - names of addresses in modules.
 *
 * While a process is stopped its addresses become frames of a module and an
 * offset, which are the same in every process of one program and on every host.
 * One daemon that has seen a module names all its frames later, at once. */
#pragma once

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stat/tree/frame.h"
#include "stat/tree/role.h"
#include "stat/walk/modules.h"

struct names; /* modules seen, and names by module and offset; opaque */

/* Make an empty collection. Returns 0 or -ENOMEM. */
int names_new(struct names **out);

/* Make a collection that opens unseen modules from the files of this host, if
 * these are the same files. Returns 0 or -ENOMEM. */
int names_new_from_files(struct names **out);

/* From now on open unseen modules so. */
void names_open_files(struct names *names);

/* Free `names`, and all frames it has given. NULL is fine. */
void names_free(struct names *names);

/* Make a frame without a name of the address `pc` in the process of `modules`.
 * Its module, a build-id and a path, lives as long as `names`, which can name
 * the frame even after the process has ended. Returns 0 or -ENOMEM. */
int names_place(struct names *names,
                struct modules *modules,
                Dwarf_Addr pc,
                struct frame *out);

/* Find the demangled name of a frame without one: several frames, outermost
 * first, where functions are inlined there. Their `module` is the text of their
 * role. Lines are given for the program and its libraries, not for the C
 * library. The frames and their strings live as long as `names`. Returns 0,
 * -ENOENT if `names` has not seen the module, or -ENOMEM. */
int names_of(struct names *names,
             const char *module,
             uint64_t offset,
             const struct frame **frames,
             size_t *count);

/* Write why frames of `module` have no names, or no lines, as source_obstacle(). */
void names_obstacle(char *text,
                    size_t size,
                    const struct names *names,
                    const char *module);

/* A module in the one session for all processes that have mapped it, and its
 * `start` there; NULL if it was not seen. Borrowed. */
Dwfl_Module *names_module(const struct names *names,
                          const char *module,
                          Dwarf_Addr *start);

/* Whether a thread whose innermost frame, without a name, is `frame` may be in a
 * system call, or about to repeat it: the instruction before it, or there, is
 * one. True if that is not known. */
bool names_may_call(const struct names *names, const struct frame *frame);

/* The linker's symbol at an address of `module`, and its role: found faster than
 * its name, but not cached. `*symbol` is NULL if there is none; borrowed. */
enum role names_role(const struct names *names,
                     const char *module,
                     uint64_t offset,
                     const char **symbol);
