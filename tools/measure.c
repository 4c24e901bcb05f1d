/* measure.c - times and numbers as people write and read them. */
#include "tools/measure.h"

#include <coppice/status.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *measure_age(char out[MEASURE_LEN], uint32_t ms)
{
    uint32_t s = ms / 1000;

    if (ms == COP_TIME_UNKNOWN)
        snprintf(out, MEASURE_LEN, "-");
    else if (s < 60)
        snprintf(out, MEASURE_LEN, "%u.%us", s, ms % 1000 / 100);
    else if (s < 3600)
        snprintf(out, MEASURE_LEN, "%um%02us", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, MEASURE_LEN, "%uh%02um", s / 3600, s % 3600 / 60);
    else
        snprintf(out, MEASURE_LEN, "%ud%02uh", s / 86400, s % 86400 / 3600);
    return out;
}

const char *measure_trip(char out[MEASURE_LEN], uint32_t us)
{
    if (us == COP_TIME_UNKNOWN)
        snprintf(out, MEASURE_LEN, "-");
    else if (us < 1000)
        snprintf(out, MEASURE_LEN, "%u us", us);
    else if (us < 10000)
        snprintf(out, MEASURE_LEN, "%.2f ms", us / 1e3);
    else if (us < 1000000)
        snprintf(out, MEASURE_LEN, "%.0f ms", us / 1e3);
    else
        snprintf(out, MEASURE_LEN, "%.1f s", us / 1e6);
    return out;
}

int measure_time(const char *text, uint32_t max_ms, uint32_t *ms)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {
        {"", 1e3},   {"s", 1e3},    {"ms", 1},
        {"m", 60e3}, {"h", 3600e3}, {"d", 86400e3},
    };
    size_t len = strspn(text, "0123456789.");
    double value;
    char *end;
    size_t i;

    if (len == 0)
        return -EINVAL;
    value = strtod(text, &end);
    for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (end == text + len && strcmp(end, units[i].name) == 0)
            break;
    if (i == sizeof(units) / sizeof(units[0]))
        return -EINVAL;
    value *= units[i].ms;
    if (!(value >= 1 && value <= max_ms))
        return -EINVAL;
    *ms = (uint32_t)value;
    return 0;
}

int measure_number(const char *text,
                   uint32_t min,
                   uint32_t max,
                   uint32_t *number)
{
    unsigned long value;
    char *end;

    if (strspn(text, "0123456789") == 0)
        return -EINVAL;
    errno = 0;
    value = strtoul(text, &end, 10);
    if (errno || *end != '\0' || value < min || value > max)
        return -EINVAL;
    *number = (uint32_t)value;
    return 0;
}
