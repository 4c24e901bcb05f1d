/* runtime.h - which nodes of a tree of names are a runtime's, not the
 * program's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stat/tree/role.h"
#include "stat/tree/tree.h"

/* What `node` belongs to. A wrapper of MPI has the role of MPI if it has called
 * MPI, in any stack; else it belongs to the program. */
enum role runtime_role(const struct tree *tree, uint32_t node);

/* Whether `node` is a call with which a program waits for others: of MPI, of
 * threads, or of another runtime. */
bool runtime_is_call(const struct tree *tree, uint32_t node);

/* Whether what `node` is in began neither in the program nor in a runtime: it
 * is a note, such as a thread's name, or belongs to the language's library, such
 * as the functions with which std::thread begins. */
bool runtime_is_before(const struct tree *tree, uint32_t node);

/* Whether threads of an OpenMP runtime begin in `node`: they wait for work, or
 * run a region of the program. */
bool runtime_is_pool(const struct tree *tree, uint32_t node);

/* Whether `node`, below such a function, belongs to the runtime too. */
bool runtime_is_in_pool(const struct tree *tree, uint32_t node);

/* Whether `node`, with nothing above it but nodes for which runtime_is_before()
 * holds, belongs to threads that a runtime has started for itself, and in which
 * it has called nothing whose source is known. */
bool runtime_is_own(const struct tree *tree, uint32_t node);

/* Whether `node` is a function of Python's library, written in Python. */
bool runtime_is_python_library(const struct tree *tree, uint32_t node);

/* Whether `node` is a function written in Python. */
bool runtime_is_python(const struct tree *tree, uint32_t node);

/* Whether `node` is a function of the library of its language. The program's
 * own functions are above or below it. */
bool runtime_is_library(const struct tree *tree, uint32_t node);

/* Find the node that each node counts as one place with: for those below a
 * runtime's call, the call, unless the call has called a function of the program
 * again, such as the operator of a reduction. `places` has room for all nodes. */
void runtime_places(uint32_t *places, const struct tree *tree);
