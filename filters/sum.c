/* sum.c - the sum of numbers, and of arrays element by element. */
#include "filters/numeric_total.h"

NUMERIC_FILTER(sum, NUMERIC_SUM)

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "sum",
    .summary = "sum of numbers, and of arrays by element",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_STATELESS | COP_IDENTITY |
            COP_ONE_TO_ONE,
    .init = numeric_total_init,
    .free = numeric_total_free,
    .filter = sum_filter,
    .join = sum_join,
    .pack = numeric_total_pack,
};

COP_FILTER_EXPORT(filter);
