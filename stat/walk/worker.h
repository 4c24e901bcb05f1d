/* worker.h - looks at the processes of one host, for its daemon.
 *
 * It walks the processes of a request, and answers with one tree per sample;
 * names addresses; and finds processes. It may get stuck (aside.h). */
#pragma once

#include <stdbool.h>

#include "stat/walk/channel.h"

/* Serve the daemon at the other end of `channel` until that is closed.
 *
 * The daemon sends its rank, without a packet, and then packets of request.h; the
 * number with a STAT_TAG_REQUEST is that of the samples that were taken before.
 * The worker sends packets with the number 0, and after each answer, without a
 * packet, 0 or the negative errno that it ended with.
 *
 * restarted  another worker was lost: the first sample continues its last one,
 *            and names are looked up in files that this one has not seen */
void worker_run(struct channel *channel, bool restarted, void *arg);
