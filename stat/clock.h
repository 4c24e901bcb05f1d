/* clock.h - the time, for all of stat/. */
#pragma once

#include <stdint.h>

/* CLOCK_MONOTONIC. A test may define these two to replace the clock. */
uint64_t clock_now_ns(void);
uint64_t clock_now_ms(void);
