/* provider.h - what a module provides: MPI, OpenMP, the C library, or nothing.
 *
 * A module is known by what it exports. No part of a function's name decides
 * anything on its own. */
#pragma once

#include <elfutils/libdwfl.h>
#include <stdbool.h>

#include "stat/tree/role.h"

struct provider {
    enum role role;  /* of all its functions; ROLE_PROGRAM: they differ */
    bool is_program; /* it can be started */
    bool is_static;  /* a program that contains its C library */
    bool is_go;      /* Go's compiler has made it */
};

/* Find what `module` provides. */
void provider_find(struct provider *out, Dwfl_Module *module);

/* The role of a function of `module`, whose provider is `provider`.
 *
 * dwfl    a session of a process that has mapped it
 * symbol  the function's symbol; NULL: it has none */
enum role provider_role(const struct provider *provider,
                        Dwfl *dwfl,
                        Dwfl_Module *module,
                        const char *symbol);

/* Whether `path`, a source file, belongs to the library of a language: code of
 * such a file may be in any module. A relative path is relative to `folder`;
 * NULL: not known. */
bool provider_is_library(const char *path, const char *folder);
