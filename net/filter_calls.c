/* filter_calls.c - the filter calls of a node. */
#include "net/filter_calls.h"

#include <assert.h>

/* How long new calls are started in one turn, and how many calls of quick
 * filters run between two reads of the clock. */
#define TURN_MS     10
#define QUICK_CALLS 64

void filter_calls_init(struct filter_calls *calls,
                       struct helm *helm,
                       const struct driver_ops *ops,
                       void *ops_arg,
                       filter_calls_answered_fn *answered,
                       void *arg)
{
    *calls = (struct filter_calls){
        .helm = helm,
        .ops = ops,
        .ops_arg = ops_arg,
        .answered = answered,
        .arg = arg,
    };
}

void filter_calls_fini(struct filter_calls *calls)
{
    ranks_fini(&calls->slow);
}

int filter_calls_be_slow(struct filter_calls *calls, uint32_t stream)
{
    return ranks_add(&calls->slow, stream, stream);
}

static void unload_now(struct filter_calls *calls, uint32_t stream)
{
    struct ranks gone = {0};

    if (ranks_has(&calls->slow, stream) &&
        ranks_add(&gone, stream, stream) == 0)
        ranks_subtract(&calls->slow, &gone);
    ranks_fini(&gone);
    calls->ops->unload(calls->ops_arg, stream);
}

void filter_calls_unload(struct filter_calls *calls, uint32_t stream)
{
    if (calls->out && calls->out->stream == stream)
        calls->unload = true;
    else
        unload_now(calls, stream);
}

void filter_calls_put(struct filter_calls *calls, const struct node_call *call)
{
    assert(!calls->out);
    calls->out = call;
}

void filter_calls_end(struct filter_calls *calls)
{
    calls->ended = true;
}

/* Run the pending call, with the lock released. */
static void run_unlocked(struct filter_calls *calls, bool at_helm)
{
    const struct node_call *call = calls->out;
    uint32_t stream = call->stream;
    bool slow = ranks_has(&calls->slow, stream);
    bool unload;
    struct event answer = {.type = EVENT_FILTERED, .stream = stream};

    calls->running = true;
    if (at_helm)
        helm_yield(calls->helm, slow);
    else
        helm_unlock(calls->helm);
    calls->ops->filter(calls->ops_arg, call, &answer);
    if (at_helm)
        helm_resume(calls->helm);
    else
        helm_relock(calls->helm);
    if (slow)
        helm_clock(calls->helm);
    calls->running = false;
    calls->out = NULL;
    unload = calls->unload;
    calls->unload = false;
    calls->answered(calls->arg, &answer);
    if (unload)
        unload_now(calls, stream);
}

/* Whether a call is pending and not running. */
static bool filter_calls_waits(const struct filter_calls *calls)
{
    return calls->out && !calls->running && !calls->ended;
}

bool filter_calls_run(struct filter_calls *calls, bool at_helm)
{
    uint64_t until_ms = helm_now_ms(calls->helm) + TURN_MS;
    uint32_t count = 0;

    while (filter_calls_waits(calls) && helm_now_ms(calls->helm) < until_ms) {
        run_unlocked(calls, at_helm);
        if (++count % QUICK_CALLS == 0)
            helm_clock(calls->helm);
    }
    return filter_calls_waits(calls);
}
