/* slots.h - the filter states of one stream of totals at one node, by key. */
#pragma once

#include "filters/call.h"

struct slot; /* opaque */

/* Caller's storage; all zero is empty. */
struct slots {
    struct slot *list;
    size_t count;
    size_t room;
    size_t next; /* where the next search begins */
};

/* Free all states; `filter` made them. */
void slots_fini(struct slots *slots, const struct cop_filter *filter);

/* Run a call of CALL_JOIN or CALL_PACK. Its packets are one for each input;
 * those of FRAME_EMPTY are NULL. A packet that cannot be joined is left out.
 * Returns 0 or the first error. */
int slots_call(struct slots *slots, struct cop_filter_call *call);
