/* node.c - the machine: creation, events and time. */
#include "protocol/node.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"
/* ---- making one ---- */

/* A time that was not given is the default. */
static void default_time(uint32_t *time_ms, uint32_t default_ms)
{
    if (*time_ms == 0)
        *time_ms = default_ms;
}

static void default_times(struct cop_times *times)
{
    default_time(&times->heartbeat_ms, LIMIT_HEARTBEAT_MS);
    default_time(&times->failure_timeout_ms, LIMIT_FAILURE_TIMEOUT_MS);
    default_time(&times->connect_timeout_ms, LIMIT_CONNECT_TIMEOUT_MS);
    default_time(&times->probe_timeout_ms, LIMIT_PROBE_TIMEOUT_MS);
    default_time(&times->handshake_timeout_ms, LIMIT_HANDSHAKE_TIMEOUT_MS);
    default_time(&times->orphan_timeout_ms, LIMIT_ORPHAN_TIMEOUT_MS);
    default_time(&times->open_timeout_ms, LIMIT_OPEN_TIMEOUT_MS);
    default_time(&times->launch_timeout_ms, LIMIT_LAUNCH_TIMEOUT_MS);
    default_time(&times->start_timeout_ms, LIMIT_START_TIMEOUT_MS);
    default_time(&times->filter_timeout_ms, LIMIT_FILTER_TIMEOUT_MS);
}

int node_new(struct node **out, const struct node_config *config)
{
    struct node *node;
    struct stream *zero;

    if ((config->role == NODE_BACKEND && config->child_count > 0) ||
        (config->role == NODE_FRONTEND) != (config->rank == 0) ||
        config->child_count > LIMIT_CHILDREN ||
        (config->role == NODE_FRONTEND && config->child_count == 0 &&
         !config->attach && !config->resumes) ||
        !resume_is_possible(config))
        return -EINVAL;
    node = calloc(1, sizeof(*node));
    if (!node)
        return -ENOMEM;
    node->role = config->role;
    node->rank = config->rank;
    node->depth = config->depth;
    node->next_rank = config->next_rank;
    node->first_joiner = config->next_rank;
    node->next_stream = 1;
    node->attached = config->rank == RANK_NONE;
    node->filter.deadline_ms = UINT64_MAX;
    node->views.number = node->views.stable = 1;
    node->views.enabled = config->views;
    node->heal.replacing.limit = config->replace;
    node->heal.shape.kept = config->keep_shape;
    node->heal.replacing.spares = config->spares;
    node->heal.replacing.spare_count = config->spare_count;
    node->place = config->place;
    node->times = config->times;
    node->heal.algorithm = config->algorithm;
    node->survive_ms = config->survive_ms;
    node->resuming.resumes = config->resumes;
    node->budget = config->budget ? config->budget : LIMIT_STREAM_BUDGET;
    default_times(&node->times);
    node->address = strdup(config->address ? config->address : "");
    zero = node_add_stream(node, &(struct stream_definition){0});
    if (!node->address || !zero || launch_init(node, config) < 0 ||
        status_init(node, config) < 0) {
        node_free(node);
        return -ENOMEM;
    }
    zero->loaded = true;
    zero->active = true;
    *out = node;
    return 0;
}

void node_free(struct node *node)
{
    if (!node)
        return;
    for (size_t i = 0; i < node->filter.what.input_count; i++)
        frame_fini(&node->filter.what.inputs[i]);
    for (size_t i = 0; i < node->stream_count; i++)
        node_free_stream(node->streams[i]);
    for (size_t i = 0; i < node->peer_count; i++)
        node_free_peer(node->peers[i]);
    free(node->streams);
    free(node->peers);
    free(node->links);
    launch_fini(node);
    join_fini(node);
    free(node->address);
    cover_fini(node);
    for (size_t i = 0; i < node->heal.end_count; i++)
        frame_fini(&node->heal.ends[i].frame);
    free(node->heal.ends);
    free(node->heal.doubts);
    adoption_fini(node);
    farewell_free(node->farewell);
    orphan_fini(node);
    recovery_fini(node);
    suspect_fini(node);
    free(node->heal.replacing.list);
    drain_fini(node);
    free(node->heal.shape.list);
    free(node->heal.shape.leaves);
    status_fini(node);
    free(node->heal.fan_outs);
    table_free(node->heal.table);
    roster_fini(&node->roster);
    payload_free(node->table);
    ranks_fini(&node->backends);
    payload_free(node->filter.parameters);
    payload_free(node->filter.to);
    node_free_spare(node);
    ranks_fini(&node->lost);
    ranks_fini(&node->astray);
    view_fini(node);
    frame_fini(&node->resuming.farewell);
    free(node);
}

/* ---- filters ---- */

const struct payload *node_call_parameters(struct node *node,
                                           const struct stream *stream,
                                           uint64_t number)
{
    payload_free(node->filter.parameters);
    node->filter.parameters = payload_ref(downward_parameters(stream, number));
    return node->filter.parameters;
}

void node_init_filters(struct node *node, struct stream *stream)
{
    if (!stream->initing)
        return;
    if (node->filter.is_out) {
        stream->queued = true;
        return;
    }
    stream->initing = false;
    node_begin_call(node);
    node->filter.what = (struct node_call){
        .stream = stream->definition.id,
        .child_count = node_child_count(node),
        .init = true,
        .parameters = node_call_parameters(node, stream, 0),
    };
    node_act(node, ACTION_FILTER)->call = &node->filter.what;
}

/* The filters can be called; `text`: they cannot, and why. */
static void filters_ready(struct node *node,
                          struct stream *stream,
                          const char *text)
{
    uint32_t id = stream->definition.id;

    stream->loaded = true;
    if (text) {
        stream->filters = (struct stream_filters){
            .recoverable = stream->kind->slots == CALL_JOIN,
        };
        stream->initing = false;
        stream->error = strndup(text, LIMIT_TEXT);
        if (!stream->error)
            node->failed = true;
    }
    if (resume_ends_stream(node, stream))
        return;
    settle_update(node, stream);
    downward_run(node, stream);
    stream = node_stream(node, id);
    if (stream) {
        upward_run(node, stream);
        settle_try(node, stream);
    }
}

static int filters_loaded(struct node *node, const struct event *event)
{
    struct stream *stream = node_stream(node, event->stream);

    if (!stream || node->ended)
        return -ENOENT;
    if (event->filters && !event->text) {
        stream->filters = *event->filters;
        stream->filters.recoverable &= stream->kind->has_states;
        stream->initing = stream->filters.inits;
    }
    if (stream->initing)
        node_init_filters(node, stream);
    else
        filters_ready(node, stream, event->text);
    return 0;
}

void node_filters_inited(struct node *node,
                         struct stream *stream,
                         const char *text)
{
    if (!stream->loaded)
        filters_ready(node, stream, text);
    else if (text) /* the old parameters stay */
        upward_fault(node, FAULT_FILTER, stream->definition.id, text);
}

static void each_due(struct node *node,
                     enum due what,
                     void (*handle)(struct node *node, struct stream *stream))
{
    for (size_t i = node->stream_count; i-- > 0;) {
        struct stream *stream = node->streams[i];

        if (!(stream->due & what))
            continue;
        stream->due &= (uint8_t)~what;
        handle(node, stream); /* which may free it */
    }
}

static void filter_call_ended(struct node *node, const struct event *event)
{
    uint32_t id = node->filter.what.stream;
    struct stream *stream;

    if (node->filter.is_out && !node->ended) {
        node->filter.is_out = false;
        node->filter.deadline_ms = UINT64_MAX;
        failure_call_ended(node, id);
        stream = node_stream(node, id);
        if (node->filter.what.init) {
            if (stream && !node->filter.expired)
                node_filters_inited(node, stream, event->text);
        } else if (node->filter.what.upward)
            upward_filtered(node, event);
        else
            downward_filtered(node, event);
    }
    for (size_t i = 0; i < event->up_count; i++)
        frame_fini(&event->up[i]);
    for (size_t i = 0; i < event->down_count; i++)
        frame_fini(&event->down[i]);
    if (node->ended)
        return;
    /* First, as openings wait for it, and this stream may always have calls. */
    for (size_t i = 0; i < node->stream_count && !node->filter.is_out; i++)
        node_init_filters(node, node->streams[i]);
    /* Totals that wait for the call go before waves, which always may come. */
    each_due(node, DUE_TOTAL, totals_pack);
    stream = node_stream(node, id);
    if (stream) {
        downward_run(node, stream);
        stream = node_stream(node, id);
    }
    if (stream) {
        upward_run(node, stream);
        downward_pending(node, stream);
    }
    upward_run_queued(node);
}

/* ---- time ---- */

/* A node with links is stepped at least once per heartbeat. If it was not, the
 * node was stopped for `since_ms`: no peer was silent in that time (6.2). */
static void forgive_stall(struct node *node, uint64_t since_ms)
{
    bool is_linked = false;

    if (!node->started || since_ms < 2 * (uint64_t)node->times.heartbeat_ms)
        return;
    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        if (!node->peers[slot])
            continue;
        link_forgive(&node->peers[slot]->life, since_ms, node->now_ms);
        is_linked = true;
    }
    node->silence_ms = node->now_ms;
    if (is_linked && node->filter.deadline_ms != UINT64_MAX)
        node->filter.deadline_ms += since_ms;
}

static void lose_silent(struct node *node, struct peer *peer)
{
    struct action *close;
    char text[80];

    snprintf(text, sizeof(text), "nothing was heard for %u ms (%s)",
             node_patience_ms(node),
             node_patience_ms(node) == node->times.failure_timeout_ms
                 ? "failure_timeout"
                 : "start_timeout");
    node_send_bare(node, peer, FRAME_SILENCE);
    close = node_act(node, ACTION_CLOSE);
    close->link = peer->link;
    close->code = -ETIMEDOUT;
    node_lose(node, peer, text, true);
}

/* Each heartbeat postpones `silence_ms`, so that a node whose links are not
 * silent is never woken for it. */
static void check_silence(struct node *node)
{
    uint64_t next = UINT64_MAX;

    if (node->now_ms < node->silence_ms && node->now_ms < node->next_beat_ms)
        return;
    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        struct peer *peer = node->peers[slot];
        uint64_t due;

        if (!peer)
            continue;
        if (link_is_silent(&peer->life, node->now_ms)) {
            lose_silent(node, peer);
            if (node->ended)
                return;
            continue;
        }
        due = peer->life.heard_ms + peer->life.silence_ms;
        if (due < next)
            next = due;
    }
    node->silence_ms = next;
}

/* Front-end: begin the next move, if one is due. */
static void begin_move(struct node *node)
{
    if (!drain_beat(node))
        shape_beat(node);
}

static void node_beat(struct node *node)
{
    if (node->now_ms < node->next_beat_ms)
        return;
    node->next_beat_ms = node->now_ms + node->times.heartbeat_ms;
    settle_beat(node);
    farewell_beat(node);
    fan_out_beat(node);
    heartbeat_beat(node);
    view_beat(node);
    plan_beat(node);
    begin_move(node);
}

static void check_streams(struct node *node)
{
    for (size_t i = 0; i < node->stream_count; i++) {
        struct stream *stream = node->streams[i];

        if (node->now_ms >= upward_deadline_ms(node, stream))
            upward_run(node, stream);
        if (stream->root && stream->root->opening &&
            node->now_ms >= stream->root->open_deadline_ms)
            request_expire(node, stream);
    }
}

static void node_tick(struct node *node)
{
    if (node->ended)
        return;
    launch_tick(node);
    check_silence(node);
    if (!node->ended)
        orphan_tick(node);
    if (!node->ended && node->filter.is_out &&
        node->now_ms >= node->filter.deadline_ms)
        upward_expire(node);
    if (node->ended)
        return;
    cover_tick(node);
    suspect_tick(node);
    replace_tick(node);
    plan_tick(node);
    record_tick(node);
    check_streams(node);
    status_tick(node);
    node_beat(node);
}

static uint64_t node_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t node_deadline_ms(const struct node *node)
{
    uint64_t deadline;
    bool linked = false;

    if (node->ended || !node->started)
        return UINT64_MAX;
    for (uint32_t slot = 0; slot < node->peer_count && !linked; slot++)
        linked = node->peers[slot] != NULL;
    deadline = launch_deadline_ms(node);
    if (linked)
        deadline = node_least(deadline,
                              node_least(node->next_beat_ms, node->silence_ms));
    if (node->recovering != RECOVERY_NOT || move_is_under_way(node) ||
        node->heal.orphan.left)
        deadline = node_least(deadline, orphan_deadline_ms(node));
    if (node->status.open || node->status.observer_count > 0)
        deadline = node_least(deadline, status_deadline_ms(node));
    if (node->uncovered_count > 0 || node->ended_count > 0)
        deadline = node_least(deadline, cover_deadline_ms(node));
    if (node->heal.suspicion.count > 0)
        deadline = node_least(deadline, suspect_deadline_ms(node));
    if (node->heal.replacing.count > 0)
        deadline = node_least(deadline, replace_deadline_ms(node));
    if (node->heal.plan.number > 0)
        deadline = node_least(deadline, node->heal.plan.until_ms);
    if (node->doubt_count > 0)
        deadline = node_least(deadline, record_deadline_ms(node));
    if (node->filter.is_out)
        deadline = node_least(deadline, node->filter.deadline_ms);
    for (size_t i = 0; i < node->stream_count; i++) {
        const struct stream *stream = node->streams[i];

        deadline = node_least(deadline, upward_deadline_ms(node, stream));
        if (stream->root && stream->root->opening)
            deadline = node_least(deadline, stream->root->open_deadline_ms);
    }
    return deadline;
}

/* ---- events ---- */

static void link_down(struct node *node, const struct event *event)
{
    struct peer *peer =
        event->link < node->link_count ? node->links[event->link] : NULL;

    if (observer_link_down(node, event))
        return;
    if (peer && peer->life.state != LINK_CLOSED)
        node_lose(node, peer,
                  event->text ? event->text : "the connection ended",
                  event->silent);
}

/* A child that this node started has exited: its end is certain (11.1). */
static void child_gone(struct node *node, const struct event *event)
{
    if (node->ended || node->closing)
        return;
    if (replace_gone(node, event->rank, event->text))
        return;
    if (node->launched)
        record_gone(node, event->rank, event->text);
    else
        launch_child_gone(node, event->rank, event->text);
}

/* A node that an agent started has exited (12.5). Packets of a back-end may be
 * in flight: wait until its parent has noticed the end, too. */
static void agent_gone(struct node *node, const struct event *event)
{
    if (node->ended || node->closing)
        return;
    if (!node->launched)
        launch_agent_gone(node, event->rank, event->text);
    else if (ranks_has(&node->backends, event->rank))
        cover_ended(node, event->rank, event->text);
    else
        record_gone(node, event->rank, event->text);
}

static void clock_read(struct node *node)
{
    recovery_clock(node);
    view_clock(node);
}

/* The application asks a node that has ended. */
static int refuse_ended(const struct event *event)
{
    struct frame frame = event->frame;

    if (event->type == EVENT_SEND || event->type == EVENT_PARAMETERS)
        frame_fini(&frame);
    return -ENOTCONN;
}

static int dispatch_event(struct node *node, const struct event *event)
{
    switch (event->type) {
    case EVENT_RECORD:
        return resume_take(node, &event->frame);
    case EVENT_START:
        return resume_start(node);
    case EVENT_LINK_UP:
        if (!observer_link_up(node, event))
            intake_link_up(node, event);
        return 0;
    case EVENT_LINK_DOWN:
        link_down(node, event);
        return 0;
    case EVENT_FRAME:
        if (node->status.observer_count == 0 || !observer_frame(node, event))
            intake_frame(node, event);
        return 0;
    case EVENT_BYTES:
        intake_bytes(node, event);
        return 0;
    case EVENT_TICK:
        node_tick(node);
        return 0;
    case EVENT_CLOCK:
        clock_read(node);
        return 0;
    case EVENT_UNREACHABLE:
        if (node->role == NODE_FRONTEND)
            suspect_answered(node, event->rank, event->refused);
        else if (!node->ended)
            orphan_unreachable(node, event->rank, event->refused);
        return 0;
    case EVENT_CHILD_BEGUN:
        missing_begun(node, event->rank);
        return 0;
    case EVENT_CHILD_GONE:
        child_gone(node, event);
        return 0;
    case EVENT_AGENT_GONE:
        agent_gone(node, event);
        return 0;
    case EVENT_LOADED:
        return filters_loaded(node, event);
    case EVENT_FILTERED:
        filter_call_ended(node, event);
        return 0;
    case EVENT_OPEN:
    case EVENT_CLOSE:
    case EVENT_SEND:
    case EVENT_RECEIVE:
    case EVENT_TAKEN:
    case EVENT_SETTLE:
    case EVENT_PARAMETERS:
    case EVENT_STATE:
    case EVENT_SYNC:
    case EVENT_ENDING:
    case EVENT_SHUTDOWN:
    case EVENT_DETACH:
    case EVENT_MOVE:
    case EVENT_DRAIN:
        break;
    }
    return node->ended ? refuse_ended(event) : request_step(node, event);
}

/* Do what is due, the lowest bit first, until nothing is. */
static void do_due(struct node *node)
{
    while (node->due != 0 && !node->ended && !node->failed) {
        enum due what = (enum due)(node->due & -node->due);

        node->due &= (uint16_t)~what;
        switch (what) {
        case DUE_FAILURE:
            each_due(node, what, accept_end_hopeless);
            break;
        case DUE_REDO:
            each_due(node, what, accept_redo);
            break;
        case DUE_MARKER:
            each_due(node, what, settle_joiners);
            break;
        case DUE_TOTAL:
            each_due(node, what, totals_pack);
            break;
        case DUE_RECOVERY:
            recovery_check(node);
            break;
        case DUE_END:
            launch_try_end(node);
            break;
        case DUE_SUSPICION:
            suspect_update(node);
            break;
        case DUE_VIEW:
            view_update(node);
            break;
        case DUE_PROBES:
            adoption_reparented(node);
            break;
        case DUE_SHAPE:
            begin_move(node);
            break;
        }
    }
}

int node_step(struct node *node, const struct event *event, struct actions *out)
{
    uint64_t since = event->now_ms - node->now_ms;
    int r;

    assert(event->now_ms >= node->now_ms);
    node->out = out;
    node->now_ms = event->now_ms;
    node->now_us = event->now_us ? event->now_us : event->now_ms * 1000;
    forgive_stall(node, since);
    r = dispatch_event(node, event);
    if (node->heal.probe_count > 0)
        adoption_go_on(node);
    if (node->heal.orphan.phase == ORPHAN_SWITCH && !node->ended)
        move_go_on(node);
    if (node->recovering != RECOVERY_NOT)
        node->due |= DUE_RECOVERY;
    if (node->leaving || drain_is_leaving(node))
        node->due |= DUE_END;
    if (node->due != 0 && node->started)
        do_due(node);
    out->exact = node->recovering != RECOVERY_NOT || node->views.sent_count > 0;
    node->out = NULL;
    if (node->failed) {
        out->failed = true;
        return -ENOMEM;
    }
    return r;
}
