/* coppice/hosts.h - lists of hosts, as people write them: node[01-32,40],login
 *
 * coppice-topgen(1) and the `hosts` of a launch take the same lists. */
#ifndef COPPICE_HOSTS_H
#define COPPICE_HOSTS_H

#include <stddef.h>

#include <coppice/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cop_hosts; /* opaque */

/* ---- lists of hosts ----------------------------------------------------
 *
 * See also: coppice-topgen(1), cop_network_launch(3), cop_hosts_text(3) */

/* Read the list `text`: names, with numbers in brackets, and commas or white
 * space between them. Free it with cop_hosts_free().
 *
 * Returns 0, -EINVAL with a sentence in `error` if it is no list, -E2BIG with
 * a sentence if it has more than 2,097,152 hosts, or -ENOMEM. */
COP_API int cop_hosts_new(struct cop_hosts **out,
                          const char *text,
                          struct cop_error *error);

/* Free `hosts`. NULL is fine. */
COP_API void cop_hosts_free(struct cop_hosts *hosts);

/* How many hosts the list has: 1 or more; repeated names count each time. */
COP_API size_t cop_hosts_count(const struct cop_hosts *hosts);

/* Host `index`, in the order of the list; borrowed. NULL past the last. */
COP_API const char *cop_hosts_name(const struct cop_hosts *hosts, size_t index);

#ifdef __cplusplus
}
#endif

#endif
