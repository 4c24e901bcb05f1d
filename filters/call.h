/* call.h - one call of a filter; private to the loader. */
#pragma once

#include "filters/loader.h"

struct cop_filter_call {
    const struct node_call *call;
    const struct loader_node *node;
    const struct loader *loader;
    const struct cop_filter *filter;
    size_t packet_count; /* 0 while a state is made */
    bool is_partial;     /* what is made is not for the application */
    struct loader_output *output;
};

/* Make a new state of the call's filter. There is no wave in `init`: it is shown
 * no packets, and the caller drops what it emits. */
int call_new_state(void **state, struct cop_filter_call *call);

/* Say why the call fails, unless that was said before: the first reason counts.
 * Returns `code`, a negative errno. */
int call_fail(struct cop_filter_call *call, int code);

/* What `function` of the call's filter has returned, as a code: one above 0,
 * which no function may return, is -EINVAL. Says which function failed, unless a
 * reason was given before. */
int call_result(struct cop_filter_call *call, const char *function, int result);
