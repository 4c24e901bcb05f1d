/* collective.h - calls in which all ranks of a communicator take part. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the plain name of a call. */
#define COLLECTIVE_SIZE 64

/* Whether `function`, the name of a call of MPI, OpenSHMEM, or a library of
 * collective calls such as torch.distributed, is a collective one. If so, `name`
 * becomes its plain name, which is the same in C, Fortran and C++: "bcast" for
 * "PMPI_Bcast" and "mpi_bcast_". */
bool collective_find(char name[static COLLECTIVE_SIZE], const char *function);
