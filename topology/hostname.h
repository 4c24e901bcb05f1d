/* hostname.h - which names are host names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a host name, without the zero byte. */
#define HOSTNAME_MAX 255

/* Whether `c` may stand in a host name: letters and digits of ASCII, '.', '-'
 * and '_', whatever the locale. */
bool hostname_has(char c);

/* Whether the `len` bytes at `name` are a host name: 1 to HOSTNAME_MAX such
 * characters, the first not '-', so that no program that is given the name as
 * an argument can take it for an option. */
bool hostname_valid(const char *name, size_t len);
