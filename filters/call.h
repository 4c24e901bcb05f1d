/* call.h - one call of a filter; private to the loader and its slots. */
#pragma once

#include "filters/loader.h"

struct cop_filter_call {
    const struct node_call *call;
    const struct loader_node *node;
    const struct cop_filter *filter;
    struct cop_packet *const *packets;
    size_t packet_count;                  /* 0 while a state is made */
    struct cop_packet *const *parameters; /* the loader's at any time */
    bool is_partial; /* its output is not for the application */
    struct loader_output *output;
};

/* Make a new state of the call's filter. `init` has no wave: it gets no
 * packets, and the caller drops what it emits. */
int call_new_state(void **state, struct cop_filter_call *call);

/* Record why the call fails; only the first reason is kept. Returns `code`, a
 * negative errno. */
int call_fail(struct cop_filter_call *call, int code);

/* Turn `result`, returned by `function` of the call's filter, into a code:
 * values above 0, which no function may return, become -EINVAL. Records which
 * function failed, unless a reason was recorded before. */
int call_result(struct cop_filter_call *call, const char *function, int result);
