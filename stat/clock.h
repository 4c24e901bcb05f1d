/* clock.h - the time, for all of stat/. */
#pragma once

#include <stdint.h>

/* CLOCK_MONOTONIC. A test that defines these two has a clock of its own. */
uint64_t clock_now_ns(void);
uint64_t clock_now_ms(void);
