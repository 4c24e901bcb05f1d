/* max.c - the greatest of numbers, and of arrays element by element. */
#include "filters/numeric.h"

static int max_filter(void *state, struct cop_filter_call *call)
{
    return numeric_filter(NUMERIC_MAX, state, call);
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "max",
    .summary = "greatest of numbers, and of arrays by element",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_IDEMPOTENT | COP_STATELESS |
            COP_IDENTITY | COP_ONE_TO_ONE,
    .init = numeric_init,
    .free = numeric_free,
    .filter = max_filter,
};

COP_FILTER_EXPORT(filter);
