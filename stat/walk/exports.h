/* exports.h - the symbols that a module defines for others, and the libraries
 * that it needs. */
#pragma once

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdbool.h>

/* The tables of a module. Borrowed from its session. */
struct exports {
    Elf_Data *symbols;
    Elf_Data *names;
    Elf_Data *hashes;
    Elf_Data *dynamic;
    const char *soname;      /* NULL: none */
    bool is_dynamic_program; /* it names the dynamic linker */
    bool is_program;         /* as its head or its flags say */
    bool is_whole;           /* the tables could be read */
    bool is_go;              /* it has a section of Go's linker */
};

/* Find the tables of `module`. */
void exports_find(struct exports *out, Dwfl_Module *module);

/* Whether the module exports `name`. */
bool exports_has(const struct exports *exports, const char *name);

/* The name of the next library that the module needs, from entry number `*i` of
 * its dynamic section on; `*i` advances. NULL: no more. */
const char *exports_needed(const struct exports *exports, int *i);
