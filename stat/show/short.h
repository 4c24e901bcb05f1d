/* short.h - shortens long names of functions for pictures. */
#pragma once

/* Names of at most this many columns are not shortened. */
#define SHORT_COLUMNS 40

/* `function` as a picture shows it. A long name of C++ or Rust loses its return
 * type and the arguments of its templates, and if it is still too long, the
 * types of its parameters:
 *
 *     std::_Function_handler<…>::_M_invoke(…)
 *
 * The caller frees it; NULL without memory. */
char *short_name(const char *function);
