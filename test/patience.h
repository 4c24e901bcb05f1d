/* patience.h - time for a machine that is slow, or busy with other things.
 *
 * What must come is waited for so long; what takes longer is as good as never.
 * A test of a time-out sets that one itself. */
#pragma once

#include <coppice/coppice.h>

#define PATIENCE_MS 60000

/* Nobody of this network is given up for being slow: the times that `launch`
 * leaves open are long ones. Who waits for one of them, where the end of a link
 * tells as much, is seen to. */
static inline void be_patient(struct cop_launch *launch)
{
    struct cop_times *times = &launch->times;

    if (times->failure_timeout_ms == 0)
        times->failure_timeout_ms = PATIENCE_MS;
    if (times->handshake_timeout_ms == 0)
        times->handshake_timeout_ms = PATIENCE_MS;
    if (times->open_timeout_ms == 0)
        times->open_timeout_ms = PATIENCE_MS;
    if (times->start_timeout_ms == 0)
        times->start_timeout_ms = PATIENCE_MS;
    if (times->launch_timeout_ms == 0)
        times->launch_timeout_ms = 5 * PATIENCE_MS;
}
