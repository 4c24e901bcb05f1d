/* history.h - recoveries as an observer reads them (PROTOCOL 15.7). */
#pragma once

#include <coppice/status.h>

#include "wire/frame.h"

/* Read a REPORTS frame from the network.
 *
 * list   filled with up to `room` recoveries; `*count` says how many
 * next   the number of the recovery after the last in `list`
 *
 * Returns 0, -EBADMSG or -ENOMEM; `list` is untouched on error. */
int history_decode(const struct frame *frame,
                   struct cop_recovered *list,
                   size_t room,
                   size_t *count,
                   uint64_t *next);
