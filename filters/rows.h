/* rows.h - what the filters for values of any type share: comparing them, and
 * naming them in errors. */
#pragma once

#include "filters/numeric.h"

#include <stdio.h>

/* Longest text of a value in an error. */
#define ROWS_TEXT_SIZE 64

/* Bytes of one element of `type`, also of a string. */
static inline size_t rows_len(enum cop_type type)
{
    return type == COP_STRING ? sizeof(const char *) : numeric_len(type);
}

/* Element `i` of an array of strings. */
static inline const char *rows_string(const void *data, uint64_t i)
{
    return ((const char *const *)data)[i];
}

/* Compare element `i` of `a` with element `k` of `b`, of one `type`: negative,
 * 0 or positive. NaN is equal to NaN, and less than every number. */
static inline int rows_compare(
    enum cop_type type, const void *a, uint64_t i, const void *b, uint64_t k)
{
    union numeric_wide x, y;

    if (type == COP_STRING)
        return strcmp(rows_string(a, i), rows_string(b, k));
    x = numeric_element(type, a, i);
    y = numeric_element(type, b, k);
    if (numeric_wide_type(type) == COP_INT64)
        return (x.i > y.i) - (x.i < y.i);
    if (numeric_wide_type(type) == COP_UINT64)
        return (x.u > y.u) - (x.u < y.u);
    if (x.f != x.f || y.f != y.f)
        return (x.f == x.f) - (y.f == y.f);
    return (x.f > y.f) - (x.f < y.f);
}

/* Write element `i` of an array of `type` for people; long strings are cut. */
static inline const char *rows_text(char text[static ROWS_TEXT_SIZE],
                                    enum cop_type type,
                                    const void *data,
                                    uint64_t i)
{
    union numeric_wide number = numeric_element(type, data, i);

    if (type == COP_STRING)
        snprintf(text, ROWS_TEXT_SIZE, "\"%.40s\"", rows_string(data, i));
    else if (numeric_wide_type(type) == COP_INT64)
        snprintf(text, ROWS_TEXT_SIZE, "%lld", (long long)number.i);
    else if (numeric_wide_type(type) == COP_UINT64)
        snprintf(text, ROWS_TEXT_SIZE, "%llu", (unsigned long long)number.u);
    else
        snprintf(text, ROWS_TEXT_SIZE, "%g", number.f);
    return text;
}
