/* plugin.h - a filter's shared object: found by name, opened, checked. */
#ifndef FILTERS_PLUGIN_H
#define FILTERS_PLUGIN_H

#include <coppice/filter.h>

struct plugin; /* opaque */

/* Find NAME.so in `directories`, separated by colons, and open the first.
 *
 * The same file opened twice is one library, and stays as long as one plugin
 * of it does: dlopen() counts.
 *
 * Returns 0, or with a sentence in `error` that says what was searched, what
 * the dynamic linker said and what to do:
 *   -EINVAL   `name` is no name: empty, too long, or with a '/'
 *   -ENOENT   none of the directories has it
 *   -ENOEXEC  it cannot be opened, or is no filter of this ABI
 *   -ENOMEM   out of memory */
int plugin_open(struct plugin **out,
                const char *directories,
                const char *name,
                struct cop_error *error);

/* Close `plugin`. NULL is fine. */
void plugin_close(struct plugin *plugin);

/* What it exports. Valid until it is closed. */
const struct cop_filter *plugin_filter(const struct plugin *plugin);

/* Whether `filter` joins, else it filters waves. */
bool plugin_joins(const struct cop_filter *filter);

/* Whether a stream with `filter` upwards is recoverable (PROTOCOL 9.4). If
 * not, `reason`, which may be NULL, is a sentence that begins with "it". */
bool plugin_is_recoverable(const struct cop_filter *filter,
                           const char **reason);

#endif
