/* min.c - the least of numbers, and of arrays element by element. */
#include "filters/numeric.h"

static int run(void *state, struct cop_filter_call *call)
{
    (void)state;
    return numeric_filter(NUMERIC_MIN, call);
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "min",
    .summary = "least of numbers, and of arrays by element",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_IDEMPOTENT | COP_STATELESS |
            COP_IDENTITY | COP_ONE_TO_ONE,
    .filter = run,
};

COP_FILTER_EXPORT(filter);
