/* query.h - runs a command and returns its output. */
#pragma once

#include <coppice/error.h>

/* Run a command, found by PATH, until it ends.
 *
 * out  its standard output; the caller frees it
 *
 * Returns its exit status, if not 0 with a sentence that quotes its standard
 * error; -ENOENT if there is no such command; or another negative errno with a
 * sentence. */
int query_run(char **out, char *const *argv, struct cop_error *error);
