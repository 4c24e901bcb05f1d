/* filter_calls.h - the filter calls of a node: one at a time, for a part of
 * each turn (PROTOCOL 5.1). All functions need the helm's lock. */
#pragma once

#include "net/driver.h"
#include "net/helm.h"
#include "protocol/node.h"
#include "wire/ranks.h"

/* A call has ended: take the answer, with the lock held. May put the next
 * call. */
typedef void filter_calls_answered_fn(void *arg, struct event *answer);

struct filter_calls {
    struct helm *helm;
    const struct driver_ops *ops; /* for `filter` and `unload` */
    void *ops_arg;
    filter_calls_answered_fn *answered;
    void *arg;
    const struct node_call *out; /* pending, or running; NULL: none */
    bool running;
    bool ended;
    bool unload;       /* unload that call's stream after the call */
    struct ranks slow; /* streams whose filters may take long */
};

/* Initialise without a pending call. Everything is kept. */
void filter_calls_init(struct filter_calls *calls,
                       struct helm *helm,
                       const struct driver_ops *ops,
                       void *ops_arg,
                       filter_calls_answered_fn *answered,
                       void *arg);

/* Free the contents; zeroed storage is fine. */
void filter_calls_fini(struct filter_calls *calls);

/* Mark the filters of `stream` as possibly slow. Returns 0 or -ENOMEM. */
int filter_calls_be_slow(struct filter_calls *calls, uint32_t stream);

/* Unload the filters of `stream`: now, or after its pending call. */
void filter_calls_unload(struct filter_calls *calls, uint32_t stream);

/* Queue `call`; kept until its answer. There must be no pending call. */
void filter_calls_put(struct filter_calls *calls, const struct node_call *call);

/* Start no more calls. */
void filter_calls_end(struct filter_calls *calls);

/* Run calls until none is pending, or for 10 ms. `at_helm`: the caller is in
 * the helm's work(), so another thread may take the helm during a call. Returns
 * whether a call is still pending. */
bool filter_calls_run(struct filter_calls *calls, bool at_helm);
