/* resume.c - take over the network of a front-end that has crashed. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "api/network.h"
#include "api/options.h"
#include "net/journal.h"
#include "net/session.h"

/* How long cop_network_resume() waits for the tree, unless it is told. */
#define RESUME_TIMEOUT_MS 10000

/* Whether all back-ends have a path again, and all streams are open or have
 * failed. */
static bool is_whole(void *arg)
{
    struct cop_network *network = arg;
    const struct node *node = driver_node(network->driver);
    const struct cop_stream *stream;
    struct ranks missing = {0};
    bool whole = node_unreached(node, node_backends(node), &missing) == 0 &&
                 missing.count == 0;

    ranks_fini(&missing);
    for (stream = network->streams; stream; stream = stream->hh.next)
        whole &= stream->root->opened || stream->closed;
    return whole || network->ended;
}

/* Take over, and wait for the tree. Entered. */
static int take_over(struct cop_network *network,
                     struct journal *journal,
                     const struct cop_resume *resume,
                     struct cop_error *error)
{
    uint32_t wait_ms =
        resume->timeout_ms > 0 ? resume->timeout_ms : RESUME_TIMEOUT_MS;
    const struct node *node = driver_node(network->driver);
    int r = driver_take_over(network->driver, journal, error);

    if (r < 0)
        return r;
    driver_catch_up(network->driver);
    network_wait(
        network, is_whole, network,
        network_deadline_ms(wait_ms > INT_MAX ? INT_MAX : (int)wait_ms));
    if (network->ended)
        return cop_error_set(error, -ENOTCONN, "the network has ended: %s",
                             network->text);
    if (!resume->session_path)
        return 0;
    r = session_write(resume->session_path, driver_bootstrap(network->driver),
                      node, error);
    if (r == 0)
        session_keep(&network->session, resume->session_path, node);
    return r;
}

int cop_network_resume(struct cop_network **out,
                       const struct cop_resume *given,
                       struct cop_error *error)
{
    struct cop_network *network = NULL;
    struct bootstrap *bootstrap = NULL;
    struct journal *journal = NULL;
    struct cop_resume resume;
    int r;

    r = options_read(&resume, sizeof(resume), given, sizeof(resume),
                     "COP_RESUME_INIT", error);
    if (r == 0 && !resume.journal_path)
        r = cop_error_set(error, -EINVAL, "no journal_path is given");
    if (r == 0)
        r = journal_open(&journal, &bootstrap, resume.journal_path, error);
    if (r < 0)
        return r;
    bootstrap->resumes = true;
    r = network_new(&network, bootstrap, error);
    if (r == 0)
        r = network_make_everyone(network, error);
    if (r == 0) {
        r = network_enter(network);
        if (r < 0)
            cop_error_set(error, r, "this process was forked meanwhile");
    }
    if (r < 0) {
        journal_free(journal);
        network_free(network);
        return r;
    }
    r = take_over(network, journal, &resume, error);
    if (r < 0)
        driver_detach(network->driver);
    network_leave(network);
    if (r < 0)
        network_free(network);
    else
        *out = network;
    return r;
}

int cop_network_detach(struct cop_network *network)
{
    int r = network_enter(network);

    if (r < 0)
        return r;
    driver_flush(network->driver);
    r = driver_detach(network->driver);
    network_leave(network);
    if (r == 0)
        network_free(network);
    return r;
}

struct cop_stream *cop_network_next_stream(struct cop_network *network,
                                           const struct cop_stream *previous)
{
    struct cop_stream *stream, *next = NULL;

    if (network->role != NODE_FRONTEND || network_enter(network) < 0)
        return NULL;
    for (stream = network->streams; stream; stream = stream->hh.next)
        if (stream->root->opened && stream->root->open_code == 0 &&
            !stream->closed && !stream->released &&
            (!previous || stream->id > previous->id) &&
            (!next || stream->id < next->id))
            next = stream;
    if (next)
        next->given = true;
    network_leave(network);
    return next;
}
