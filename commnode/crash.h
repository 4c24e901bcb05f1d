/* crash.h - a commnode reports a crash in a filter call (PROTOCOL 11.5). */
#pragma once

#include "net/driver.h"

/* From now on report crashes in filter calls of `driver`, which is kept; or, if
 * NULL, report none. Only one driver at a time. */
void crash_watch(struct driver *driver);

/* Prepare this thread for filter calls. */
void crash_prepare(void);
