/* callsite.h - arguments of a call, computed from debug information.
 *
 * An optimiser keeps no copy of an argument that it has computed from the
 * calling function's own arguments. Debug information says how to compute it
 * again. */
#pragma once

#include <elfutils/libdwfl.h>

#include "stat/walk/x86.h"

/* A call that has not returned. */
struct callsite {
    Dwfl_Module *module; /* of the function that calls */
    Dwarf_Addr returns;  /* return address of the call, in that session */
    struct x86_value registers[X86_REGISTERS]; /* as in struct x86_call */
    struct x86_value frame; /* the stack pointer after that function returns */
    x86_read_fn read;       /* reads memory of the process */
    /* Finds argument `number` with which that function was called itself. */
    struct x86_value (*given)(void *arg, unsigned number);
    void *arg; /* the caller's, for `read` and `given` */
};

/* Find argument `number`, below X86_ARGUMENTS, of the call. Only the low 32
 * bits of the value are valid. It is not known if the call has no debug
 * information, the compiler is not gcc, or the value is lost. */
struct x86_value callsite_argument(const struct callsite *site,
                                   unsigned number);
