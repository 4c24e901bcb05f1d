/* source.h - the place of an address in the source, from debug information. */
#pragma once

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stddef.h>

/* A function at an address, and the place in it. Strings live as long as the
 * module. */
struct source {
    const char *name;    /* NULL: not known */
    const char *linkage; /* the linker's name, in C++; else NULL */
    const char *file;    /* NULL: not known */
    const char *folder;  /* where it was compiled, for a relative `file`; NULL:
                            not known */
    int line;            /* 0: not known */
};

/* Find the functions at `pc`, an address of the process, innermost first: each
 * is inlined in the next, the last is not inlined. Fills at most `max`, always
 * with that one as the last. Returns how many, 0 if there is no debug
 * information for `pc`. */
size_t source_find(struct source *out,
                   size_t max,
                   Dwfl_Module *dwfl_module,
                   Dwarf_Addr pc);

/* Write why a module has no names, or no lines, though its file may have them; ""
 * if there is no such reason. */
void source_obstacle(char *text, size_t size, Dwfl_Module *dwfl_module);

/* Most nested scopes that are examined; a program has far fewer. */
#define SOURCE_SCOPES_MAX 128

/* Find the functions and blocks around `pc`, innermost first. `*bias` becomes a
 * process's address minus that in the debug information. Returns how many, 0 if
 * there is no debug information for `pc`. */
size_t source_scopes(Dwarf_Die scopes[static SOURCE_SCOPES_MAX],
                     Dwarf_Addr *bias,
                     Dwfl_Module *dwfl_module,
                     Dwarf_Addr pc);
