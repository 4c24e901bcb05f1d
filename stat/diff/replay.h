/* replay.h - shows the looks recorded by --follow --record. */
#pragma once

#include <coppice/error.h>

#include "stat/show/render.h"
#include "stat/write/output.h"

/* Print the looks in the file `path` on standard output, each below a line with
 * its time and number. Write the files in `outputs` from the last one. Returns
 * 0, or a negative errno with a sentence. */
int replay_run(const char *path,
               const struct outputs *outputs,
               const struct render_options *options,
               struct cop_error *error);
