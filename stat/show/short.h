/* short.h - long names of functions, made short for pictures. */
#pragma once

/* Names up to so many columns stay as they are. */
#define SHORT_COLUMNS 40

/* `function` as a picture shows it: a longer name of C++ or Rust is without the
 * type that it returns and without the arguments of its templates, and if it is
 * still too long without the types of its parameters:
 *
 *     std::_Function_handler<…>::_M_invoke(…)
 *
 * The caller frees it; NULL without memory. */
char *short_name(const char *function);
