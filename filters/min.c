/* min.c - the least of numbers, and of arrays element by element. */
#include "filters/numeric.h"

static int min_filter(void *state, struct cop_filter_call *call)
{
    return numeric_filter(NUMERIC_MIN, state, call);
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "min",
    .summary = "least of numbers, and of arrays by element",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_IDEMPOTENT | COP_STATELESS |
            COP_IDENTITY | COP_ONE_TO_ONE,
    .init = numeric_init,
    .free = numeric_free,
    .filter = min_filter,
};

COP_FILTER_EXPORT(filter);
