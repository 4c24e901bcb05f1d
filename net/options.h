/* options.h - the options of a tool for the launch of its network. */
#pragma once

#include <coppice/coppice.h>

#include "net/launcher.h"
#include "net/ports.h"

struct topology;

/* The launcher that the options name; NULL with a sentence in `error`, which
 * may be NULL, if it is unknown. */
const struct launcher *options_launcher(const struct cop_launch *launch,
                                        struct cop_error *error);

/* Check the options, except the times. Returns 0, or -EINVAL with a sentence.
 */
int options_check(const struct cop_launch *launch,
                  const struct topology *topology,
                  struct cop_error *error);

/* The ports on which the nodes of `launch`, which was checked, listen. */
void options_ports(struct ports *out, const struct cop_launch *launch);

/* Read the hosts `launch->spares` into words that end in NULL, for words_free().
 * Without a launcher all nodes run on this machine. Returns 0, or -EINVAL, -E2BIG
 * or -ENOMEM with a sentence. */
int options_spares(char ***out,
                   const struct cop_launch *launch,
                   struct cop_error *error);
