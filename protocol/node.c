/* node.c - the machine: events in, time, and what all its parts share. */
#include "protocol/node.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"

/* ---- actions ---- */

void actions_clear(struct actions *actions)
{
    for (size_t i = 0; i < actions->count; i++) {
        struct action *action = &actions->list[i];

        frame_fini(&action->frame);
        if (action->type == ACTION_SEND)
            continue; /* it has nothing else */
        free(action->text);
        free(action->adoption);
    }
    actions->count = 0;
}

void actions_fini(struct actions *actions)
{
    actions_clear(actions);
    free(actions->list);
    memset(actions, 0, sizeof(*actions));
}

/* Free the action that was written without memory. */
static void forget_spare(struct node *node)
{
    frame_fini(&node->spare.frame);
    free(node->spare.text);
    free(node->spare.adoption);
    memset(&node->spare, 0, sizeof(node->spare));
}

struct action *node_act(struct node *node, enum action_type type)
{
    struct actions *out = node->out;
    struct action *list = out->list;

    if (out->count == out->room) {
        size_t room = out->room ? out->room * 2 : 16;

        list = realloc(list, room * sizeof(*list));
        if (!list) {
            node->failed = true;
            forget_spare(node);
            node->spare = (struct action){.type = type};
            return &node->spare;
        }
        out->list = list;
        out->room = room;
    }
    list[out->count] = (struct action){.type = type};
    return &list[out->count++];
}

void node_send(struct node *node, struct peer *peer, struct frame frame)
{
    struct action *action;

    if (peer->life.state == LINK_CLOSED) {
        frame_fini(&frame);
        return;
    }
    link_sent(&peer->life, node->now_ms);
    action = node_act(node, ACTION_SEND);
    action->link = peer->link;
    action->frame = frame;
}

void node_send_bare(struct node *node, struct peer *peer, enum frame_type type)
{
    node_send(node, peer,
              (struct frame){.type = (uint8_t)type, .origin = node->rank});
}

struct action *node_tell(struct node *node,
                         enum tell_type tell,
                         uint32_t rank,
                         uint32_t stream,
                         const char *text)
{
    struct action *action = node_act(node, ACTION_TELL);

    action->tell = tell;
    action->rank = rank;
    action->stream = stream;
    if (text && action != &node->spare) {
        action->text = strdup(text);
        if (!action->text)
            node->failed = true;
    }
    return action;
}

/* ---- peers ---- */

uint32_t node_child_count(const struct node *node)
{
    uint32_t slot, count = 0;

    for (slot = 0; slot < node->peer_count; slot++)
        count += node_child(node, slot) != NULL;
    return count;
}

bool node_is_attached(const struct node *node, const struct peer *peer)
{
    return peer == node->parent || (!peer->is_parent && peer->ready);
}

uint32_t node_ready_count(const struct node *node)
{
    uint32_t slot, count = 0;

    for (slot = 0; slot < node->peer_count; slot++) {
        const struct peer *peer = node_child(node, slot);

        count += peer && peer->ready;
    }
    return count;
}

static void peer_free(struct peer *peer)
{
    if (!peer)
        return;
    ranks_fini(&peer->below);
    free(peer);
}

/* Make `*list` hold index `index`; what is new is NULL. */
static int node_grow(struct peer ***list, uint32_t *count, uint32_t index)
{
    uint32_t room = *count ? *count : 4;
    struct peer **grown;

    if (index < *count)
        return 0;
    while (room <= index)
        room *= 2;
    grown = realloc(*list, room * sizeof(struct peer *));
    if (!grown)
        return -ENOMEM;
    memset(grown + *count, 0, (room - *count) * sizeof(struct peer *));
    *list = grown;
    *count = room;
    return 0;
}

static uint32_t free_slot(const struct node *node)
{
    uint32_t slot = 0;

    while (slot < node->peer_count && node->peers[slot])
        slot++;
    return slot;
}

/* The window that we grant on each stream of a link (3.4). */
static uint32_t window_for(const struct node *node, bool is_parent)
{
    uint64_t children = node->planned_count, window;

    if (is_parent)
        children = 1;
    else if (children <= node_child_count(node))
        children = node_child_count(node) + 1;
    window = node->budget / children;
    if (window > LIMIT_WINDOW_MAX)
        return LIMIT_WINDOW_MAX;
    return window < LIMIT_WINDOW_MIN ? LIMIT_WINDOW_MIN : (uint32_t)window;
}

struct peer *node_add_peer(struct node *node, const struct event *event)
{
    uint32_t slot = free_slot(node);
    struct peer *peer;

    if (node_grow(&node->peers, &node->peer_count, slot) < 0 ||
        node_grow(&node->links, &node->link_count, event->link) < 0)
        return NULL;
    peer = calloc(1, sizeof(*peer));
    if (!peer)
        return NULL;
    peer->link = event->link;
    peer->slot = slot;
    peer->rank = event->rank;
    peer->incarnation = event->incarnation;
    peer->role = event->role;
    peer->is_parent = event->is_parent;
    peer->grant = window_for(node, event->is_parent);
    link_init(&peer->life, node->times.heartbeat_ms, node_patience_ms(node),
              node->now_ms);
    if (!node->silence_ms ||
        node->now_ms + node_patience_ms(node) < node->silence_ms)
        node->silence_ms = node->now_ms + node_patience_ms(node);
    node->peers[slot] = peer;
    node->links[event->link] = peer;
    return peer;
}

void node_remove_peer(struct node *node, struct peer *peer)
{
    node->peers[peer->slot] = NULL;
    if (node->links[peer->link] == peer)
        node->links[peer->link] = NULL;
    if (node->parent == peer)
        node->parent = NULL;
    peer_free(peer);
}

uint32_t node_patience_ms(const struct node *node)
{
    return node->launched || node->attached ? node->times.failure_timeout_ms
                                            : node->launching->patience_ms;
}

/* The link to the parent or to a candidate has ended. */
static void lose_parent(struct node *node,
                        struct peer *peer,
                        const char *text,
                        bool silent)
{
    uint32_t rank = peer->rank;
    uint32_t incarnation = peer->incarnation;
    bool lives = peer->gave_up;

    if (peer != node->parent) {
        orphan_link_down(node, peer);
        return;
    }
    node_remove_peer(node, peer);
    if (!node->launched || node->closing ||
        (node->leaving && !node->farewell && retain_is_done(node)) ||
        (node->attached && node->streams[0]->down.last == 0))
        launch_end(node, text); /* it cannot be adopted yet */
    else
        orphan_begin(node, rank, incarnation, lives, silent);
}

/* The link has ended: see to all that depended on it. */
static void node_lose(struct node *node,
                      struct peer *peer,
                      const char *text,
                      bool silent)
{
    bool ready = peer->ready;

    link_close(&peer->life);
    peer->ready = false;
    if (peer->is_parent) {
        lose_parent(node, peer, text, silent);
        return;
    }
    join_forget(node, peer);
    adoption_forget(node, peer);
    status_forget(node, peer);
    if (!node->launched && missing_is_skipped(node)) {
        missing_unlinked(node, peer, text);
    } else {
        if (ready)
            member_lost_child(node, peer, text);
        if (!node->launched)
            launch_child_gone(node, peer->rank, text);
    }
    node_remove_peer(node, peer);
    launch_try_end(node);
}

static void close_and_lose(struct node *node,
                           struct peer *peer,
                           int code,
                           const char *text)
{
    struct action *close;

    if (peer->life.state == LINK_CLOSED)
        return;
    close = node_act(node, ACTION_CLOSE);
    close->link = peer->link;
    close->code = code;
    node_lose(node, peer, text, false);
}

void node_drop(struct node *node, struct peer *peer, const char *text)
{
    close_and_lose(node, peer, 0, text);
}

void node_breach(struct node *node, struct peer *peer, const char *text)
{
    close_and_lose(node, peer, -EPROTO, text);
}

int node_refuse(struct node *node, const char *why)
{
    node->refusal = why;
    return -EPROTO;
}

/* ---- streams ---- */

struct stream *node_stream(const struct node *node, uint32_t id)
{
    size_t low = 0, high = node->stream_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct stream *stream = node->streams[middle];

        if (stream->definition.id == id)
            return stream;
        if (stream->definition.id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static void stream_free(struct stream *stream)
{
    if (!stream)
        return;
    for (uint32_t slot = 0; slot < stream->branch_count; slot++) {
        ranks_fini(&stream->branches[slot].members);
        claim_fini(&stream->branches[slot].claim);
        fifo_fini(&stream->branches[slot].aside);
        slot_free(stream->branches[slot].slot);
    }
    totals_free(stream->totals);
    for (size_t i = 0; i < stream->pending_count; i++)
        payload_free(stream->pending[i].parameters);
    free(stream->branches);
    free(stream->pending);
    free(stream->error);
    feed_fini(&stream->down.feed);
    fifo_fini(&stream->down.in);
    fifo_fini(&stream->up.out);
    fifo_fini(&stream->up.late_out);
    if (stream->root)
        ranks_fini(&stream->root->entering);
    free(stream->root);
    wave_free(stream->up.wave);
    exact_free(stream->exact);
    claim_fini(&stream->settle.sent);
    definition_fini(&stream->definition);
    free(stream);
}

struct stream *node_add_stream(struct node *node,
                               const struct stream_definition *definition)
{
    struct stream **list = realloc(node->streams, (node->stream_count + 1) *
                                                      sizeof(struct stream *));
    struct stream *stream = calloc(1, sizeof(*stream));
    enum cop_sync sync = definition->sync;

    if (list)
        node->streams = list;
    if (stream && node->role == NODE_FRONTEND)
        stream->root = calloc(1, sizeof(*stream->root));
    if (node->role == NODE_BACKEND)
        sync = COP_DO_NOT_WAIT; /* its own packets come one by one */
    if (!list || !stream || (node->role == NODE_FRONTEND && !stream->root) ||
        definition_copy(&stream->definition, definition) < 0 ||
        (definition->kind == STREAM_CUMULATIVE &&
         totals_new(&stream->totals) < 0) ||
        (definition->kind == STREAM_EXACT &&
         exact_new(&stream->exact, node) < 0) ||
        wave_new(&stream->up.wave, sync, definition->wave_timeout_ms) < 0) {
        stream_free(stream);
        node->failed = true;
        return NULL;
    }
    assert(node->stream_count == 0 ||
           list[node->stream_count - 1]->definition.id < definition->id);
    list[node->stream_count++] = stream;
    return stream;
}

void node_remove_stream(struct node *node, struct stream *stream)
{
    size_t i = 0;

    while (node->streams[i] != stream)
        i++;
    node_act(node, ACTION_UNLOAD)->stream = stream->definition.id;
    node->markers -= stream->app.marker.number != 0;
    node->stream_count--;
    memmove(node->streams + i, node->streams + i + 1,
            (node->stream_count - i) * sizeof(struct stream *));
    stream_free(stream);
}

struct branch *stream_branch(struct stream *stream, uint32_t slot)
{
    struct branch *list = stream->branches;
    uint32_t count = stream->branch_count ? stream->branch_count : 2;

    if (slot < stream->branch_count)
        return &list[slot];
    while (count <= slot)
        count *= 2;
    list = realloc(list, count * sizeof(*list));
    if (!list)
        return NULL;
    memset(list + stream->branch_count, 0,
           (count - stream->branch_count) * sizeof(*list));
    stream->branches = list;
    stream->branch_count = count;
    return &list[slot];
}

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
         !config->attach))
        return -EINVAL;
    node = calloc(1, sizeof(*node));
    if (!node)
        return -ENOMEM;
    node->role = config->role;
    node->rank = config->rank;
    node->depth = config->depth;
    node->next_rank = config->next_rank;
    node->next_stream = 1;
    node->attached = config->rank == RANK_NONE;
    node->filter.deadline_ms = UINT64_MAX;
    node->times = config->times;
    node->heal.algorithm = config->algorithm;
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
        stream_free(node->streams[i]);
    for (size_t i = 0; i < node->peer_count; i++)
        peer_free(node->peers[i]);
    free(node->streams);
    free(node->peers);
    free(node->links);
    launch_fini(node);
    free(node->joins.list);
    free(node->address);
    cover_fini(node);
    for (size_t i = 0; i < node->heal.end_count; i++)
        frame_fini(&node->heal.ends[i].frame);
    free(node->heal.ends);
    free(node->heal.doubts);
    free(node->heal.probes);
    farewell_free(node->farewell);
    orphan_fini(node);
    recovery_fini(node);
    suspect_fini(node);
    status_fini(node);
    free(node->heal.fan_outs);
    table_free(node->heal.table);
    roster_fini(&node->roster);
    payload_free(node->table);
    ranks_fini(&node->backends);
    payload_free(node->filter.parameters);
    forget_spare(node);
    ranks_fini(&node->lost);
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

static int filters_loaded(struct node *node, const struct event *event)
{
    struct stream *stream = node_stream(node, event->stream);

    if (!stream || node->ended)
        return -ENOENT;
    stream->loaded = true;
    if (event->text) {
        stream->error = strndup(event->text, LIMIT_TEXT);
        if (!stream->error)
            node->failed = true;
    } else if (event->filters) {
        stream->filters = *event->filters;
        stream->filters.recoverable &= stream->exact == NULL;
    }
    settle_update(node, stream);
    downward_run(node, stream);
    stream = node_stream(node, event->stream);
    if (stream) {
        upward_run(node, stream);
        settle_try(node, stream);
    }
    return 0;
}

static void filter_call_ended(struct node *node, const struct event *event)
{
    uint32_t id = node->filter.what.stream;
    struct stream *stream;

    if (node->filter.is_out && !node->ended) {
        node->filter.is_out = false;
        node->filter.deadline_ms = UINT64_MAX;
        failure_call_ended(node, id);
        if (node->filter.what.upward)
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
    launch_try_end(node);
}

/* ---- time ---- */

/* A node with links is stepped at least once per heartbeat. If it was not, it
 * was stopped itself for `since_ms`: no peer was silent in that time (6.2). */
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

/* Each heartbeat puts `silence_ms` off, so that a node whose links are not silent
 * is never woken for it. */
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

static void node_beat(struct node *node)
{
    if (node->now_ms < node->next_beat_ms)
        return;
    node->next_beat_ms = node->now_ms + node->times.heartbeat_ms;
    settle_beat(node);
    farewell_beat(node);
    fan_out_beat(node);
    heartbeat_beat(node);
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
    if (node->recovering != RECOVERY_NOT) /* an orphan is */
        deadline = node_least(deadline, orphan_deadline_ms(node));
    if (node->status.open || node->status.observer_count > 0)
        deadline = node_least(deadline, status_deadline_ms(node));
    if (node->uncovered_count > 0 || node->ended_count > 0)
        deadline = node_least(deadline, cover_deadline_ms(node));
    if (node->heal.suspicion.count > 0)
        deadline = node_least(deadline, suspect_deadline_ms(node));
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
    if (node->launched)
        record_gone(node, event->rank, event->text);
    else
        launch_child_gone(node, event->rank, event->text);
}

/* The same of a node that an agent started (12.5). What a back-end has sent may
 * be on its way: wait until its parent has seen the end, too. */
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

static int dispatch_event(struct node *node, const struct event *event)
{
    switch (event->type) {
    case EVENT_START:
        launch_start(node);
        return 0;
    case EVENT_LINK_UP:
        if (!observer_link_up(node, event))
            intake_link_up(node, event);
        return 0;
    case EVENT_LINK_DOWN:
        if (!observer_link_down(node, event))
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
        recovery_clock(node);
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
    case EVENT_SHUTDOWN:
        break;
    }
    if (node->ended) {
        struct frame frame = event->frame;

        if (event->type == EVENT_SEND || event->type == EVENT_PARAMETERS)
            frame_fini(&frame);
        return -ENOTCONN;
    }
    return request_step(node, event);
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
    if (node->recovering != RECOVERY_NOT)
        recovery_check(node);
    if (node->hopeless && !node->ended)
        accept_end_hopeless(node);
    if (node->heal.suspicion.stale)
        suspect_update(node);
    out->exact = node->recovering != RECOVERY_NOT;
    node->out = NULL;
    if (node->failed) {
        out->failed = true;
        return -ENOMEM;
    }
    return r;
}
