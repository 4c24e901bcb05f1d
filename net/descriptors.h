/* descriptors.h - how many descriptors a node may need (PROTOCOL 12.4). */
#pragma once

#include "net/bootstrap.h"

/* Raise the limit of descriptors for our children and, as far as allowed, for
 * all nodes below us, which we may adopt later.
 *
 * Returns 0, or -EMFILE with a sentence if our children do not fit. */
int descriptors_check(const struct bootstrap *bootstrap,
                      struct cop_error *error);
