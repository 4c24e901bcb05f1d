/* crash.h - a commnode reports a crash in a filter call (PROTOCOL 11.5). */
#pragma once

#include "net/driver.h"

/* From now on report crashes in filter calls of `driver`, which is kept; or of
 * none any more: NULL. One driver at a time. */
void crash_watch(struct driver *driver);

/* This thread is about to make a filter call. */
void crash_prepare(void);
