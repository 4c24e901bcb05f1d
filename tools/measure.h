/* measure.h - times and numbers as people write and read them. */
#pragma once

#include <stdint.h>

/* Bytes of the longest text below, with its zero byte. */
#define MEASURE_LEN 24

/* Write milliseconds as 4.2s, 3m04s, 2h05m or 3d04h; COP_TIME_UNKNOWN as "-".
 * Returns `out`. */
const char *measure_age(char out[MEASURE_LEN], uint32_t ms);

/* Write microseconds as "84 us", "1.24 ms", "310 ms" or "1.2 s";
 * COP_TIME_UNKNOWN as "-". Returns `out`. */
const char *measure_trip(char out[MEASURE_LEN], uint32_t us);

/* Read a time such as 5 or 0.5 (seconds), 30s, 250ms, 5m, 2h or 1d, as
 * milliseconds from 1 to `max_ms`. Returns 0 or -EINVAL. */
int measure_time(const char *text, uint32_t max_ms, uint32_t *ms);

/* Read a whole number from `min` to `max`. Returns 0 or -EINVAL. */
int measure_number(const char *text,
                   uint32_t min,
                   uint32_t max,
                   uint32_t *number);
