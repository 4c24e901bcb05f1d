/* role.h - what a function belongs to: the program, or a runtime. */
#pragma once

#include <stdbool.h>

/* Each role, and the `module` of frames with names that have it. */
#define ROLES(X)                                                                 \
    /* the program, or a library that is none of these */                        \
    X(ROLE_PROGRAM, "")                                                          \
    X(ROLE_MPI, "mpi")                                                           \
    /* a function that has the name of a call of MPI, outside MPI */             \
    X(ROLE_WRAPPER, "mpi wrapper")                                               \
    X(ROLE_SHMEM, "shmem")                                                       \
    /* NCCL, gloo, UCC; torch.distributed, Horovod */                            \
    X(ROLE_COLLECTIVE, "collective")                                             \
    /* UCX, libfabric, verbs, gRPC */                                            \
    X(ROLE_TRANSPORT, "transport")                                               \
    /* PyTorch: its threads are its own, but its calls run the program's code */ \
    X(ROLE_FRAMEWORK, "framework")                                               \
    /* the runtime of Go, whose goroutines are not shown */                      \
    X(ROLE_GO, "go")                                                             \
    /* a call of threads in the C library, such as pthread_join() */             \
    X(ROLE_THREADS, "threads")                                                   \
    /* a function of OpenMP that spins for a lock or a barrier */                \
    X(ROLE_SPIN, "openmp spin")                                                  \
    X(ROLE_OPENMP, "openmp")                                                     \
    /* what the C library runs before main() and before a thread's function */   \
    X(ROLE_START, "start")                                                       \
    /* the C library and the kernel */                                           \
    X(ROLE_SYSTEM, "system")                                                     \
    /* the library of the language */                                            \
    X(ROLE_LIBRARY, "library")                                                   \
    /* Python's own library, and packages installed beside it */                 \
    X(ROLE_PYTHON, "python")

#define ROLE_VALUE(role, text) role,
enum role {
    ROLES(ROLE_VALUE) ROLE_COUNT
};
#undef ROLE_VALUE

/* The `module` of frames with this role; valid for ever. */
const char *role_text(enum role role);

/* The role with this text; ROLE_PROGRAM if there is none, as for the module of
 * a frame without a name. */
enum role role_of(const char *text);

/* Whether functions with this role are called by programs to wait for others:
 * all below such a call is one place. */
bool role_is_call(enum role role);

/* Whether such a call polls on its own account: threads inside wake up though
 * nothing has happened. */
bool role_polls(enum role role);

/* Whether a thread whose function has this role was started by a runtime for
 * itself, such as the progress threads of Open MPI and UCX. */
bool role_is_own(enum role role);
