/* calls.c - the filter calls of a node. */
#include "net/calls.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* Calls that follow one another take so much of a turn, and the one that is
 * running when that is over. Of calls that never take long so many share one
 * look at the clock. */
#define TURN_MS     10
#define QUICK_CALLS 64

/* ---- lists of streams ---- */

static bool calls_have(const struct calls_streams *streams, uint32_t stream)
{
    size_t i;

    for (i = 0; i < streams->count; i++)
        if (streams->list[i] == stream)
            return true;
    return false;
}

static void calls_drop(struct calls_streams *streams, uint32_t stream)
{
    size_t i;

    for (i = 0; i < streams->count; i++)
        if (streams->list[i] == stream) {
            streams->list[i] = streams->list[--streams->count];
            return;
        }
}

static int calls_add(struct calls_streams *streams, uint32_t stream)
{
    uint32_t *grown =
        realloc(streams->list, (streams->count + 1) * sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    grown[streams->count++] = stream;
    streams->list = grown;
    return 0;
}

/* ---- calls ---- */

void calls_init(struct calls *calls,
                struct helm *helm,
                const struct driver_ops *ops,
                void *ops_arg,
                calls_answered_fn *answered,
                void *arg)
{
    *calls = (struct calls){
        .helm = helm,
        .ops = ops,
        .ops_arg = ops_arg,
        .answered = answered,
        .arg = arg,
    };
}

void calls_fini(struct calls *calls)
{
    free(calls->slow.list);
    free(calls->unload.list);
}

int calls_be_slow(struct calls *calls, uint32_t stream)
{
    return calls_add(&calls->slow, stream);
}

static void unload_now(struct calls *calls, uint32_t stream)
{
    calls_drop(&calls->slow, stream);
    calls->ops->unload(calls->ops_arg, stream);
}

void calls_unload(struct calls *calls, uint32_t stream)
{
    if (calls->out && calls->out->stream == stream &&
        calls_add(&calls->unload, stream) == 0)
        return;
    unload_now(calls, stream);
}

void calls_put(struct calls *calls, const struct node_call *call)
{
    assert(!calls->out);
    calls->out = call;
}

void calls_end(struct calls *calls)
{
    calls->ended = true;
}

/* Run the call that is out, with the lock released. */
static void run_unlocked(struct calls *calls, bool at_helm)
{
    const struct node_call *call = calls->out;
    bool slow = calls_have(&calls->slow, call->stream);
    struct event answer = {.type = EVENT_FILTERED, .stream = call->stream};

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
    calls->answered(calls->arg, &answer);
    while (calls->unload.count > 0)
        unload_now(calls, calls->unload.list[--calls->unload.count]);
}

/* Whether a call waits for a thread that runs it. */
static bool calls_waits(const struct calls *calls)
{
    return calls->out && !calls->running && !calls->ended;
}

bool calls_run(struct calls *calls, bool at_helm)
{
    uint64_t until_ms = helm_now_ms(calls->helm) + TURN_MS;
    uint32_t count = 0;

    while (calls_waits(calls) && helm_now_ms(calls->helm) < until_ms) {
        run_unlocked(calls, at_helm);
        if (++count % QUICK_CALLS == 0)
            helm_clock(calls->helm);
    }
    return calls_waits(calls);
}
