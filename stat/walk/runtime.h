/* runtime.h - which frames are a runtime's, not the program's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stat/tree/tree.h"

/* Whether `function` is one with which a program calls MPI or threads: it
 * begins with mpi_ or pmpi_, in any case (so also in Fortran), or with
 * pthread_, or runtime_is_spinning() holds. Leading underscores, as in the C
 * library, are ignored. An address without a name in a library of MPI counts
 * too, such as "libmpich.so.12+0x1234". */
bool runtime_is_call(const char *function);

/* Whether `function` waits for an OpenMP lock or barrier in a program built by
 * clang, such as __kmpc_set_lock: threads spin there. */
bool runtime_is_spinning(const char *function);

/* Whether `function` is such a call of MPI. */
bool runtime_is_mpi(const char *function);

/* Whether a thread whose outermost frame is `function` belongs to a runtime,
 * such as the progress threads of Open MPI and UCX. `function` has a name that
 * such a library gives its functions, or is an address without a name in such a
 * library, "libpmix.so.2+0x1234". */
bool runtime_is_thread(const char *function);

/* Whether threads of an OpenMP runtime begin in `function`: they wait for work,
 * or run a region of the program. */
bool runtime_is_pool(const char *function);

/* Whether `node`, below such a function, belongs to the runtime too: it is no
 * region of the program, and has no source. */
bool runtime_is_in_pool(const struct tree *tree, uint32_t node);

/* Whether `node`, with nothing but notes such as a thread's name above it,
 * belongs to threads that a runtime has started for itself. */
bool runtime_is_own(const struct tree *tree, uint32_t node);

/* Whether `function` belongs to the library of its language, such as
 * std::function<void ()>::operator(), even if a template of the program made
 * it. The program's own functions are above or below it. */
bool runtime_is_library(const char *function);

/* Whether `node` is a function of Python's library, written in Python. */
bool runtime_is_python_library(const struct tree *tree, uint32_t node);

/* Whether `node` is a function of either kind of library. */
bool runtime_is_library_at(const struct tree *tree, uint32_t node);

/* The first node after those that count as one place with `node`: after its
 * whole subtree if it is a runtime's call, else the next node. A loop from 0
 * over these visits no node inside a runtime. */
uint32_t runtime_behind(const struct tree *tree, uint32_t node);
