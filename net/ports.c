/* ports.c - the ports on which a node may listen. */
#include "net/ports.h"

#include <errno.h>
#include <stdio.h>

int ports_read(struct ports *out, const char *text)
{
    unsigned int low, high;
    int end = 0;

    if (sscanf(text, "%5u-%5u%n", &low, &high, &end) != 2 || text[end] ||
        low == 0 || low > high || high > UINT16_MAX)
        return -EINVAL;
    out->low = low;
    out->count = high - low + 1;
    return 0;
}

/* Neighbouring ranks start at neighbouring ports, so nodes on the same host
 * rarely try the same port. */
uint16_t ports_nth(const struct ports *ports, uint32_t rank, uint32_t nth)
{
    return (uint16_t)(ports->low + ((uint64_t)rank + nth) % ports->count);
}
