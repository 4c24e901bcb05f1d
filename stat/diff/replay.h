/* replay.h - the looks that --follow --record kept, once more. */
#pragma once

#include <coppice/error.h>

#include "stat/show/render.h"
#include "stat/write/output.h"

/* Print the looks of the file `path` on standard output, each below a line with
 * its time and number; write the files that `outputs` names of the last one.
 * Returns 0, or a negative errno with a sentence. */
int replay_run(const char *path,
               const struct outputs *outputs,
               const struct render_options *options,
               struct cop_error *error);
