/* guarantee.h - choose the kind of stream that keeps a guarantee. */
#pragma once

#include <coppice/coppice.h>

#include "protocol/node.h"

/* Set `definition->kind` so that the stream keeps `guarantee`, in the cheapest
 * way that the rest of `definition` and the laws of its filters allow. The
 * filters are looked up in `directories`, opened, and closed again. `survives`: the
 * network outlives its front-end (PROTOCOL 23).
 *
 * Returns 0, or with a sentence in `error`: -EINVAL if there is no such way, or
 * `definition` has options of another way; -ELIBBAD if a filter cannot be
 * loaded here; or -ENOMEM. */
int guarantee_choose(struct stream_definition *definition,
                     enum cop_guarantee guarantee,
                     bool survives,
                     const char *directories,
                     struct cop_error *error);
