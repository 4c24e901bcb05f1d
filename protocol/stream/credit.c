/* credit.c - how much may be sent on one stream over one link. */
#include "protocol/stream/credit.h"

#include <errno.h>

void credit_grant(struct credit *credit, uint32_t window)
{
    credit->window = window;
}

bool credit_allows(const struct credit *credit, size_t len)
{
    uint64_t half = credit->window / 2;

    if (credit->window == 0)
        return false;
    return credit->used + (len < half ? len : half) <= credit->window;
}

void credit_spend(struct credit *credit, size_t len)
{
    credit->used += len;
}

int credit_return(struct credit *credit, uint64_t len)
{
    if (len > credit->used)
        return -EPROTO;
    credit->used -= len;
    return 0;
}

int debit_take(struct debit *debit, uint32_t window, size_t len)
{
    uint64_t half = window / 2;

    debit->window = window;
    if (debit->taken + (len < half ? len : half) > window)
        return -EPROTO;
    debit->taken += len;
    return 0;
}

uint32_t debit_consume(struct debit *debit, size_t len)
{
    uint64_t owed = debit->owed + len;
    uint32_t back;

    if (owed < debit->window / 2) {
        debit->owed = owed;
        return 0;
    }
    back = owed > UINT32_MAX ? UINT32_MAX : (uint32_t)owed;
    debit->owed = owed - back;
    debit->taken -= back < debit->taken ? back : debit->taken;
    return back;
}
