/* source.h - where in the source an address is, as debug information says. */
#pragma once

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stddef.h>

/* A function that is at an address, and the place in it. Strings live as long
 * as the module. */
struct source {
    const char *name;    /* NULL: not known */
    const char *linkage; /* as the linker would see it, in C++; else NULL */
    const char *file;    /* NULL: not known */
    int line;            /* 0: not known */
};

/* Find the functions at `pc`, a process's address: innermost first, each of
 * them inlined in the next, the last a function of its own. At most `max`, of
 * which the last is always that one. Returns how many, 0 if there is no debug
 * information for `pc`. */
size_t source_find(struct source *out,
                   size_t max,
                   Dwfl_Module *dwfl_module,
                   Dwarf_Addr pc);

/* Scopes in each other that are looked at; a program has far fewer. */
#define SOURCE_SCOPES_MAX 128

/* Find the functions and blocks around `pc`, innermost first. `*bias` becomes
 * what a process's addresses are above those of the debug information. Returns
 * how many, 0 if there is no debug information for `pc`. */
size_t source_scopes(Dwarf_Die scopes[static SOURCE_SCOPES_MAX],
                     Dwarf_Addr *bias,
                     Dwfl_Module *dwfl_module,
                     Dwarf_Addr pc);
