/* network.c - one tree, as seen from this node. */
#include "api/network.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "api/announce.h"
#include "api/astray.h"
#include "wire/packet.h"

/* ---- time ---- */

uint64_t network_deadline_ms(int timeout_ms)
{
    if (timeout_ms < 0)
        return UINT64_MAX;
    return timeout_ms ? driver_now_ms() + (uint64_t)timeout_ms : 0;
}

int network_left_ms(uint64_t deadline_ms)
{
    uint64_t now_ms;

    if (deadline_ms == UINT64_MAX)
        return COP_FOREVER;
    if (deadline_ms == 0)
        return 0;
    now_ms = driver_now_ms();
    if (deadline_ms <= now_ms)
        return 0;
    return deadline_ms - now_ms > INT_MAX ? INT_MAX
                                          : (int)(deadline_ms - now_ms);
}

/* ---- the descriptors ---- */

void network_signal(struct cop_network *network)
{
    if (network->readiness.fd >= 0)
        readiness_set(&network->readiness, network->inbox.first ||
                                               news_calls(&network->news) ||
                                               network->ended);
}

static void stepped(void *arg)
{
    network_signal_streams(arg);
}

/* A receive returns -ENODEV as soon as the last packets of the last members are
 * through, of which nothing tells. So look after each step, as long as a stream
 * has no member. */
void network_signal_streams(struct cop_network *network)
{
    const struct node *node = driver_node(network->driver);
    const struct stream_poll *poll;
    bool is_deserted = false;

    DL_FOREACH (network->polls, poll) {
        stream_signal(poll->stream);
        is_deserted |= node_is_deserted(node, poll->stream->id);
    }
    network->ops.stepped = is_deserted ? stepped : NULL;
}

/* The application has closed the descriptors, which may be others by now. */
static void forget_descriptors(struct cop_network *network)
{
    struct stream_poll *poll;

    network->readiness = READINESS_INIT;
    DL_FOREACH (network->polls, poll)
        poll->readiness = READINESS_INIT;
}

/* ---- callbacks of the driver ---- */

static int network_load(void *arg,
                        const struct stream_definition *definition,
                        struct stream_filters *filters,
                        bool *slow,
                        char *text,
                        size_t text_len)
{
    struct cop_network *network = arg;
    const struct node *machine = driver_node(network->driver);
    struct loader_node node = {
        .role = network->role,
        .rank = node_rank(machine),
        .depth = node_depth(machine),
    };
    int r;

    r = filtering_load(network->filtering, definition, &node,
                       network->filter_path, filters, slow, text, text_len);
    if (r < 0)
        return r;
    if (!stream_make(network, definition->id)) {
        snprintf(text, text_len, "out of memory");
        return -ENOMEM;
    }
    if (network->role == NODE_BACKEND) {
        news_add(&network->news,
                 &(struct cop_event){
                     .type = COP_EVENT_STREAM_OPENED,
                     .rank = node.rank,
                     .stream_id = definition->id,
                 },
                 NULL);
        network_signal(network);
    }
    return 0;
}

static void unload(void *arg, uint32_t stream)
{
    filtering_unload(((struct cop_network *)arg)->filtering, stream);
}

static void filter(void *arg,
                   const struct node_call *call,
                   struct event *answer)
{
    filtering_call(((struct cop_network *)arg)->filtering, call, answer);
}

static void deliver(void *arg, uint32_t id, struct frame *frame)
{
    struct cop_network *network = arg;
    struct cop_stream *stream = stream_find(network, id);

    if (!stream) /* closed while the packet was in flight */
        frame_fini(frame);
    else if (inbox_add(stream_inbox(stream), &stream->first, stream, frame) < 0)
        network->out_of_memory = true;
    else if (!stream->untaken)
        stream->untaken = stream->first->stream_prev; /* the last one */
    if (stream && stream->poll)
        stream_signal(stream);
    else
        network_signal(network);
}

static void opened(struct cop_network *network, const struct action *news)
{
    struct cop_stream *stream = stream_find(network, news->stream);

    /* If the filters could not be loaded here, there is no stream yet. */
    if (!stream)
        stream = stream_make(network, news->stream);
    if (!stream)
        return;
    stream->root->opened = true;
    stream->root->open_code = news->code;
    stream->root->open_rank = news->rank;
    stream->root->open_text = news->text ? strdup(news->text) : NULL;
}

/* Name the links with which packets of the stream may have been lost. */
static void tell_lossy(struct cop_network *network,
                       const struct cop_stream *stream,
                       uint32_t withheld)
{
    struct cop_event event = {
        .type = COP_EVENT_STREAM_LOSSY,
        .stream_id = stream->id,
        .withheld = withheld,
    };
    char text[sizeof(event.text)];

    links_write(&network->lost, stream->root->links,
                node_losers(driver_node(network->driver), stream->id), text,
                sizeof(text));
    if (!*text)
        snprintf(text, sizeof(text), "no link: %s",
                 withheld > 0 ? "packets came after their wave"
                              : "nothing of a wave has come");
    news_add(&network->news, &event, text);
}

static void synced(struct cop_network *network, const struct action *news)
{
    struct cop_stream *stream = stream_find(network, news->stream);

    if (!stream)
        return;
    if (news->sequence > stream->root->synced)
        stream->root->synced = news->sequence;
    if (news->code == 1) {
        stream->root->losses++;
        tell_lossy(network, stream, news->rank);
    }
    stream->root->links = links_place(&network->lost);
}

static void stated(struct cop_network *network, const struct action *news)
{
    struct cop_stream *stream = stream_find(network, news->stream);

    if (!stream)
        return;
    frame_fini(&stream->root->state);
    stream->root->state = frame_ref(&news->frame);
    stream->root->state_code = news->code;
    stream->root->state_number = news->sequence;
}

static void closed(struct cop_network *network, uint32_t id, bool failed)
{
    struct cop_stream *stream = stream_find(network, id);

    if (!stream)
        return;
    stream_enter(stream);
    stream->closed = true;
    stream->failed = failed;
    stream_leave(stream);
}

static void network_end(struct cop_network *network, const char *text)
{
    if (text && *text && !network->ended)
        snprintf(network->text, sizeof(network->text), "%s", text);
    network->ended = true;
}

static void network_tell(void *arg, const struct action *news)
{
    struct cop_network *network = arg;

    switch (news->tell) {
    case TELL_LAUNCHED:
        network->launched = true;
        break;
    case TELL_LAUNCH_FAILED:
        network->launch_failed = true;
        network->launch_code = news->code;
        snprintf(network->text, sizeof(network->text), "%s",
                 news->text ? news->text : "");
        break;
    case TELL_OPENED:
        opened(network, news);
        break;
    case TELL_SYNCED:
        synced(network, news);
        break;
    case TELL_STATE:
        stated(network, news);
        break;
    case TELL_CLOSED:
    case TELL_STREAM_FAILED:
        closed(network, news->stream, news->tell == TELL_STREAM_FAILED);
        break;
    case TELL_ENDED:
        network->left = news->code == 1;
        network_end(network, news->text);
        astray_name(network);
        break;
    case TELL_NODE_ADOPTED:
    case TELL_NODE_MOVED:
    case TELL_NODE_SUSPECTED:
    case TELL_NODE_BACK:
    case TELL_NODE_LOST:
    case TELL_NODE_LEFT:
    case TELL_NODE_JOINED:
        session_refresh(&network->session, driver_bootstrap(network->driver),
                        driver_node(network->driver));
        break;
    case TELL_LOSSY:
    case TELL_BACKEND_LOST:
    case TELL_BACKEND_JOINED:
    case TELL_FILTER_ERROR:
    case TELL_NODE_REFUSED:
    case TELL_REDO:
    case TELL_VIEW:
    case TELL_REPLACE_FAILED:
    case TELL_MOVE_FAILED:
    case TELL_DRAINED:
    case TELL_DRAIN_FAILED:
    case TELL_JOURNAL_FAILED:
        break;
    }
    announce(network, news);
    network_signal(network);
    if (network->polls)
        network_signal_streams(network);
}

static void exit_node(void *arg, const char *text)
{
    struct cop_event event = {.type = COP_EVENT_ENDED};
    struct cop_network *network = arg;

    if (!network->ended) /* the machine has not reported the end */
        news_add(&network->news, &event, text);
    network_end(network, text);
    if (driver_error(network->driver) == -EBADF)
        forget_descriptors(network);
    network_signal(network);
    if (network->polls)
        network_signal_streams(network);
}

static void log_line(void *arg, const char *id, const char *text)
{
    struct cop_network *network = arg;

    fprintf(stderr, "coppice[%ld]: %s: %s %s\n", (long)getpid(),
            network->role == NODE_FRONTEND ? "front-end" : "back-end", id,
            text);
}

static const struct driver_ops ops = {
    .load = network_load,
    .unload = unload,
    .filter = filter,
    .deliver = deliver,
    .tell = network_tell,
    .exit = exit_node,
    .log = log_line,
};

/* ---- the network ---- */

int network_new(struct cop_network **out,
                struct bootstrap *bootstrap,
                struct cop_error *error)
{
    const char *log = getenv("COPPICE_LOG");
    struct cop_network *network = calloc(1, sizeof(*network));
    int r = -ENOMEM;

    if (!network)
        goto out;
    network->readiness = READINESS_INIT;
    network->role = bootstrap->role;
    network->ops = ops;
    if (!log || !*log)
        network->ops.log = NULL; /* so that no line is formatted */
    network->filter_path = strdup(bootstrap->filter_path);
    if (!network->filter_path || filtering_new(&network->filtering) < 0)
        goto out;
    r = driver_new(&network->driver, bootstrap, &network->ops, network, error);
    if (r < 0)
        goto out;
    bootstrap = NULL; /* owned by the driver now */
    *out = network;
    network = NULL;
out:
    if (r == -ENOMEM)
        cop_error_set(error, r, "out of memory");
    bootstrap_free(bootstrap);
    network_free(network);
    return r;
}

void network_free(struct cop_network *network)
{
    struct cop_stream *stream, *next;

    if (!network)
        return;
    driver_free(network->driver);
    HASH_ITER (hh, network->streams, stream, next)
        stream_free(stream);
    inbox_fini(&network->inbox);
    inbox_fini(&network->apart);
    inbox_fini(&network->waste);
    news_fini(&network->news);
    links_fini(&network->lost);
    session_forget(&network->session);
    filtering_free(network->filtering);
    readiness_close(&network->readiness);
    free(network->everyone);
    free(network->filter_path);
    free(network);
}

/* Take a packet out of its inbox, and return its credit. Returns whether
 * driver_catch_up() must follow. */
static bool note_taken(struct cop_network *network,
                       struct delivery *delivery,
                       struct frame *frame)
{
    struct cop_stream *stream = delivery->stream;
    struct event event = {.type = EVENT_TAKEN, .stream = stream->id};
    bool is_taken = delivery->taken;

    if (stream->untaken == delivery)
        stream->untaken = delivery->stream_next;
    inbox_remove(stream_inbox(stream), &stream->first, delivery, frame);
    network->untold = true;
    stream->untold = true;
    if (stream->poll)
        stream_signal(stream);
    else
        network_signal(network);
    if (is_taken || network->ended)
        return false;
    event.frame = *frame;
    driver_note(network->driver, &event, NULL);
    return true;
}

void network_take(struct cop_network *network,
                  struct delivery *delivery,
                  struct frame *frame)
{
    if (note_taken(network, delivery, frame))
        driver_catch_up(network->driver);
}

/* Drop the packets that arrived on released streams. */
static void drop_waste(struct cop_network *network)
{
    bool is_behind = false;
    struct frame frame;

    while (network->waste.first) {
        is_behind |= note_taken(network, network->waste.first, &frame);
        frame_fini(&frame);
    }
    if (is_behind)
        driver_catch_up(network->driver);
}

int network_enter(struct cop_network *network)
{
    int r;

    r = driver_lock(network->driver);
    if (r == 0)
        drop_waste(network);
    return r;
}

void network_leave(struct cop_network *network)
{
    driver_unlock(network->driver);
}

struct waiting {
    struct cop_network *network;
    driver_done_fn *done;
    void *arg;
};

static bool is_done_or_waste(void *arg)
{
    const struct waiting *waiting = arg;

    return waiting->network->waste.first || waiting->done(waiting->arg);
}

int network_wait(struct cop_network *network,
                 driver_done_fn *done,
                 void *arg,
                 uint64_t deadline_ms)
{
    struct waiting waiting = {.network = network, .done = done, .arg = arg};
    int r;

    do {
        r = driver_wait(network->driver, is_done_or_waste, &waiting,
                        network_left_ms(deadline_ms));
        drop_waste(network);
    } while (r == 0 && !done(arg));
    return r;
}

/* ---- the public part ---- */

uint32_t cop_network_rank(const struct cop_network *network)
{
    struct cop_network *locked = (struct cop_network *)network;
    uint32_t rank;

    if (network->role == NODE_FRONTEND || driver_lock(locked->driver) < 0)
        return 0;
    rank = node_rank(driver_node(locked->driver));
    driver_unlock(locked->driver);
    return rank;
}

int cop_network_fd(const struct cop_network *network)
{
    struct cop_network *locked = (struct cop_network *)network;
    int r;

    r = network_enter(locked);
    if (r < 0)
        return r;
    r = readiness_open(&locked->readiness);
    if (r >= 0)
        driver_attended(locked->driver);
    network_signal(locked);
    network_leave(locked);
    return r;
}

struct cop_stream *cop_network_stream(struct cop_network *network, uint32_t id)
{
    struct cop_stream *stream;

    if (network_enter(network) < 0)
        return NULL;
    stream = stream_find(network, id);
    if (stream && stream->released)
        stream = NULL;
    if (stream)
        stream->given = true;
    network_leave(network);
    return stream;
}

static bool has_news(void *arg)
{
    return ((struct cop_network *)arg)->news.first != NULL;
}

int cop_network_event(struct cop_network *network,
                      struct cop_event *event,
                      int timeout_ms)
{
    int r;

    r = network_enter(network);
    if (r < 0)
        return r;
    r = news_take(&network->news, event);
    if (r == -EAGAIN) {
        network_wait(network, has_news, network,
                     network_deadline_ms(timeout_ms));
        r = news_take(&network->news, event);
    }
    if (r == -EAGAIN && network->ended)
        r = -ENOTCONN;
    network_signal(network);
    network_leave(network);
    return r;
}
