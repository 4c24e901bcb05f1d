/* filter_calls.h - the filter calls of a node: one at a time, for a part of
 * each turn (PROTOCOL 5.1). All functions are called with the helm's lock held. */
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
    const struct driver_ops *ops; /* which filter and unload */
    void *ops_arg;
    filter_calls_answered_fn *answered;
    void *arg;
    const struct node_call *out; /* to be run, or running; NULL: none */
    bool running;
    bool ended;
    bool unload;       /* the filters of that call's stream, after the call */
    struct ranks slow; /* the streams whose filters may take long */
};

/* No call is out yet. Everything is kept. */
void filter_calls_init(struct filter_calls *calls,
                       struct helm *helm,
                       const struct driver_ops *ops,
                       void *ops_arg,
                       filter_calls_answered_fn *answered,
                       void *arg);

/* Free what it holds; zeroed storage is fine. */
void filter_calls_fini(struct filter_calls *calls);

/* The filters of `stream` may take long. Returns 0 or -ENOMEM. */
int filter_calls_be_slow(struct filter_calls *calls, uint32_t stream);

/* Unload the filters of `stream`: now, or after the call that is out. */
void filter_calls_unload(struct filter_calls *calls, uint32_t stream);

/* `call` is to be run; kept until its answer. No other one is out. */
void filter_calls_put(struct filter_calls *calls, const struct node_call *call);

/* No call begins any more. */
void filter_calls_end(struct filter_calls *calls);

/* Run calls until none waits, or until 10 ms are over. `at_helm`: we are in the
 * helm's work(), so that the helm may be taken from us meanwhile. Returns
 * whether a call still waits for a thread to run it. */
bool filter_calls_run(struct filter_calls *calls, bool at_helm);
