/* cores.h - the merged stacks of processes from their core files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <coppice/error.h>

#include "stat/gather/gather.h"
#include "stat/gather/naming.h"
#include "stat/job/targets.h"
#include "stat/tree/tree.h"

/* Read the core files `paths`, each as a task, in this process, without
 * daemons. A file that cannot be read is a task that was not walked.
 *
 * targets  empty; gets the pids of the processes
 * say      gets a line for each process: its pid, program and file
 *
 * Returns 0, or a negative errno with a sentence in `error`. */
int cores_tree(struct tree **out,
               struct targets *targets,
               char *const *paths,
               size_t count,
               enum naming_detail detail,
               bool full,
               gather_say_fn say,
               struct cop_error *error);
