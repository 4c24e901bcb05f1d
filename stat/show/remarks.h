/* remarks.h - warnings about what a tree does not show. */
#pragma once

#include "stat/gather/gather.h"
#include "stat/show/report.h"

/* Warn about stacks that were cut because of --max-stop, and about threads
 * whose place in the kernel is not known. Returns 0 or -ENOMEM. */
int remarks_find(const struct report *report, gather_say_fn say);
