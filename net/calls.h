/* calls.h - the filter calls of a node: one at a time, for a part of each turn
 * (PROTOCOL 5.1). All functions are called with the helm's lock held. */
#ifndef NET_CALLS_H
#define NET_CALLS_H

#include "net/driver.h"
#include "net/helm.h"
#include "protocol/node.h"

/* A call has ended: take the answer, with the lock held. May put the next
 * call. */
typedef void calls_answered_fn(void *arg, struct event *answer);

/* A list of stream numbers. */
struct calls_streams {
    uint32_t *list;
    size_t count;
};

struct calls {
    struct helm *helm;
    const struct driver_ops *ops; /* which filter and unload */
    void *ops_arg;
    calls_answered_fn *answered;
    void *arg;
    const struct node_call *out; /* to be run, or running; NULL: none */
    bool running;
    bool ended;
    struct calls_streams slow;   /* whose filters may take long */
    struct calls_streams unload; /* to be unloaded after the call */
};

/* No call is out yet. Everything is kept. */
void calls_init(struct calls *calls,
                struct helm *helm,
                const struct driver_ops *ops,
                void *ops_arg,
                calls_answered_fn *answered,
                void *arg);

/* Free what it holds; zeroed storage is fine. */
void calls_fini(struct calls *calls);

/* The filters of `stream` may take long. Returns 0 or -ENOMEM. */
int calls_be_slow(struct calls *calls, uint32_t stream);

/* Unload the filters of `stream`: now, or after the call that is out. */
void calls_unload(struct calls *calls, uint32_t stream);

/* `call` is to be run; kept until its answer. No other one is out. */
void calls_put(struct calls *calls, const struct node_call *call);

/* No call begins any more. */
void calls_end(struct calls *calls);

/* Run calls until none waits, or until 10 ms are over. `at_helm`: we are in the
 * helm's work(), so that the helm may be taken from us meanwhile. Returns
 * whether a call still waits for a thread to run it. */
bool calls_run(struct calls *calls, bool at_helm);

#endif
