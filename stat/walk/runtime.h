/* runtime.h - which frames are a runtime's, not the program's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stat/tree/tree.h"

/* Whether `function` is where a program calls MPI or threads: it begins with
 * mpi_ or pmpi_, in whatever case (so Fortran's too), with pthread_, or as
 * runtime_is_spinning() has it. Underscores before, as the C library has them,
 * do not count. So is an address without a name in a library of MPI,
 * "libmpich.so.12+0x1234". */
bool runtime_is_call(const char *function);

/* Whether it waits for a lock of OpenMP or at a barrier in a program of clang,
 * such as __kmpc_set_lock: threads spin there. */
bool runtime_is_spinning(const char *function);

/* Whether it is such a call of MPI. */
bool runtime_is_mpi(const char *function);

/* Whether a thread whose outermost frame is `function` is one of the runtime's
 * own, such as the progress threads of Open MPI and UCX: a name that such a
 * library gives its functions, or an address without a name in such a
 * library, "libpmix.so.2+0x1234". */
bool runtime_is_thread(const char *function);

/* Whether `function` begins a thread of an OpenMP runtime: those wait for work,
 * or run a region of the program. */
bool runtime_is_pool(const char *function);

/* Whether `node`, below such a function, is the runtime's too: no region of the
 * program, and without a source. */
bool runtime_is_in_pool(const struct tree *tree, uint32_t node);

/* Whether `node`, at the top level but for notes such as a thread's name, is of
 * threads that the runtime has started for itself. */
bool runtime_is_own(const struct tree *tree, uint32_t node);

/* Whether `function` is of the library of its language, such as
 * std::function<void ()>::operator(), also if a program's templates have made
 * it. What the program itself does stands above or below it. */
bool runtime_is_library(const char *function);

/* Whether `node` has a function of Python's library, in Python. */
bool runtime_is_python_library(const struct tree *tree, uint32_t node);

/* Whether `node` has a function of either kind of library. */
bool runtime_is_library_at(const struct tree *tree, uint32_t node);

/* The first node behind what is to be taken as one place with `node`: behind
 * its whole subtree, if it is a runtime's call, else the node after it. Walk a
 * tree from 0 with it, and no node inside of a runtime is seen. */
uint32_t runtime_behind(const struct tree *tree, uint32_t node);
