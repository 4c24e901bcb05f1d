/* query.h - a command that answers a question. */
#pragma once

#include <coppice/error.h>

/* Run a command, found by PATH, until it ends.
 *
 * out  what it has printed; the caller frees it
 *
 * Returns its exit status, of which others than 0 come with a sentence that
 * quotes its standard error; -ENOENT if there is no such command; or another
 * negative errno with a sentence. */
int query_run(char **out, char *const *argv, struct cop_error *error);
