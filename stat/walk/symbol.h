/* symbol.h - the source's names of the linker's symbols. */
#pragma once

/* The name in the source of a symbol of C, C++, Rust or gfortran, without its
 * version and without what compilers add to copies and parts of a function.
 * The caller frees it; NULL without memory. */
char *symbol_name(const char *symbol);

/* The same, if debug information names the function `source` (NULL: it does
 * not). Fortran's symbols add to the name: "solve_" is solve, "inner.0" is
 * inner, and "MAIN__" is the program. */
char *symbol_name_with_source(const char *symbol, const char *source);
