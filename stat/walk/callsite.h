/* callsite.h - what debug information says that a call was given.
 *
 * An optimiser keeps no copy of an argument that it has computed from what the
 * calling function was given itself. Debug information says how to compute it
 * again. */
#pragma once

#include <elfutils/libdwfl.h>

#include "stat/walk/x86.h"

/* A call that has not returned. */
struct callsite {
    Dwfl_Module *module; /* of the function that calls */
    Dwarf_Addr returns;  /* where the call returns to, in that session */
    struct x86_value registers[X86_REGISTERS]; /* as in struct x86_call */
    struct x86_value frame; /* the stack pointer when that function returns */
    x86_read_fn read;       /* reads memory of the process */
    /* Finds argument `number` of the call of that function itself. */
    struct x86_value (*given)(void *arg, unsigned number);
    void *arg; /* the caller's, for `read` and `given` */
};

/* Find argument `number`, below X86_ARGUMENTS, of the call. Only the low 32 bits
 * of the value hold. Not known: there is no debug information for the call, the
 * compiler is not gcc, or the value is lost. */
struct x86_value callsite_argument(const struct callsite *site,
                                   unsigned number);
