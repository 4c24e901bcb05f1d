/* plugin.h - a filter's shared object: found by name, opened, checked. */
#pragma once

#include <coppice/filter.h>

struct plugin; /* opaque */

/* Open the first NAME.so in `directories`, separated by colons.
 *
 * A file that is opened twice is loaded once, and stays loaded until its last
 * plugin is closed.
 *
 * Returns 0, or with a sentence in `error` that names the path searched, the
 * message of the dynamic linker, and the remedy:
 *   -EINVAL   `name` is empty or too long, or has a '/'
 *   -ENOENT   none of the directories has it
 *   -ENOEXEC  it is cut short, cannot be opened, or is not a filter of this ABI
 *   -ENOMEM   out of memory */
int plugin_open(struct plugin **out,
                const char *directories,
                const char *name,
                struct cop_error *error);

/* Close `plugin`. NULL is fine. */
void plugin_close(struct plugin *plugin);

/* The filter that it exports. Valid until it is closed. */
const struct cop_filter *plugin_filter(const struct plugin *plugin);

/* Whether a plain stream calls the `join` of `filter`; else its `filter`. */
bool plugin_joins(const struct cop_filter *filter);

/* Why a stream of totals cannot have `filter`: a sentence that begins with
 * "it"; NULL if it can. */
const char *plugin_why_not_total(const struct cop_filter *filter);

/* Why a stream with `filter` upwards is not recoverable (PROTOCOL 9.4): a
 * sentence that begins with "it"; NULL if it is. */
const char *plugin_why_not_recoverable(const struct cop_filter *filter);
