/* request.c - the requests of the application. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"

static int open_stream(struct node *node, const struct event *event)
{
    struct control control = {.type = CONTROL_OPEN};
    struct stream *stream;

    if (node->role != NODE_FRONTEND)
        return -EPERM;
    if (!node->launched || node->closing)
        return -ENOTCONN;
    if (node->stream_count >= LIMIT_STREAMS)
        return -EMFILE;
    if (kind_of(event->definition)->syncs_by_wave &&
        event->definition->sync != COP_WAIT_FOR_ALL)
        return -EINVAL;
    if (definition_copy(&control.definition, event->definition) < 0)
        return -ENOMEM;
    if (control.definition.keep == 0)
        control.definition.keep = LIMIT_KEEP;
    if (ranks_intersect(&control.definition.members, &node->backends) < 0) {
        definition_fini(&control.definition);
        return -ENOMEM;
    }
    control.definition.id = node->next_stream++;
    node->out->result = control.definition.id;
    zero_send(node, &control);
    stream = node_stream(node, control.definition.id);
    if (stream) {
        stream->definition.redo_limit = event->definition->redo_limit;
        stream->definition.waves_only = event->definition->waves_only;
        stream->root->opening = true;
        stream->root->open_deadline_ms =
            node->now_ms + node->times.open_timeout_ms;
        settle_update(node, stream);
    }
    definition_fini(&control.definition);
    return 0;
}

void request_expire(struct node *node, struct stream *stream)
{
    struct ranks left = {0}, claimed = {0};
    char names[256], text[LIMIT_TEXT];

    settle_claimed(node, stream, &claimed);
    if (ranks_copy(&left, &stream->definition.members) < 0 ||
        ranks_subtract(&left, &claimed) < 0)
        node->failed = true;
    node_name_ranks(node, &left, names, sizeof(names));
    if (!stream->loaded)
        snprintf(text, sizeof(text),
                 "`init` of a filter here, at the front-end, or a filter call "
                 "before it, has not returned within open_timeout (%u ms)",
                 node->times.open_timeout_ms);
    else
        snprintf(text, sizeof(text),
                 "members did not answer within open_timeout (%u ms): %s (%llu "
                 "in all)",
                 node->times.open_timeout_ms, names,
                 (unsigned long long)ranks_size(&left));
    stream->root->opening = false;
    node_tell(node, TELL_OPENED, 0, stream->definition.id, text)->code =
        -ETIMEDOUT;
    ranks_fini(&left);
    ranks_fini(&claimed);
}

/* CLOSE and PARAMETERS take effect after the last packet sent so far. */
static int control_stream(struct node *node,
                          const struct event *event,
                          enum control_type type)
{
    struct stream *stream = node_stream(node, event->stream);
    struct control control = {
        .type = type,
        .stream = event->stream,
        .parameters = event->frame.payload,
    };

    if (node->role != NODE_FRONTEND)
        return -EPERM;
    if (!stream || event->stream == 0 || stream->closing)
        return -ENOENT;
    control.after = stream->down.last;
    zero_send(node, &control);
    return 0;
}

static int request_send(struct node *node, const struct event *event)
{
    struct stream *stream = node_stream(node, event->stream);
    struct frame frame = event->frame;
    int r;

    if (!stream || event->stream == 0)
        r = -ENOENT;
    else if (node->role == NODE_COMMNODE)
        r = -EPERM; /* a commnode has no application */
    else if (node->closing || node->leaving)
        r = -ENOTCONN;
    else if (event->to && node->role == NODE_FRONTEND)
        r = skip_send_to(node, stream, &frame, event->to, event->to_count);
    else if (event->to)
        r = -EPERM;
    else if (node->role == NODE_FRONTEND)
        r = downward_send(node, stream, &frame);
    else
        r = upward_send(node, stream, &frame);
    frame_fini(&frame);
    return r;
}

static int request_sync(struct node *node, const struct event *event)
{
    struct stream *stream = node_stream(node, event->stream);

    if (node->role != NODE_FRONTEND)
        return -EPERM;
    if (!stream || event->stream == 0 || stream->closing)
        return -ENOENT;
    if (node->closing)
        return -ENOTCONN;
    if (stream->definition.members.count == 0)
        return -ENODEV;
    if (!stream->loaded) /* not known yet whether it is replayable */
        return -EAGAIN;
    if (!stream_is_replayable(stream))
        return -EOPNOTSUPP;
    node->out->result = stream->root->sync;
    if (stream->root->sync > 0 && !node_can_send(node, event->stream))
        return -EAGAIN; /* a second sync needs room (3.5) */
    if (stream->kind->sync_asked)
        stream->kind->sync_asked(stream);
    node->out->result = stream->down.last + 1;
    downward_sync(node, stream);
    upward_run(node, stream);
    return 0;
}

static int request_settle(struct node *node, const struct event *event)
{
    struct stream *stream = node_stream(node, event->stream);

    if (!stream)
        return -ENOENT;
    stream->app.settle_at = node->takes;
    settle_try(node, stream);
    return 0;
}

/* The application calls receive: it has processed what it took before. */
static int request_receive(struct node *node, const struct event *event)
{
    if (event->stream != 0)
        return request_settle(node, event);
    node->receive_at = node->takes;
    for (size_t i = 0; node->markers > 0 && i < node->stream_count; i++)
        settle_try(node, node->streams[i]);
    return 0;
}

static int request_taken(struct node *node, const struct event *event)
{
    struct stream *stream = node_stream(node, event->stream);
    size_t len = frame_len(&event->frame);

    if (!stream)
        return 0; /* closed, and the application takes what was left */
    deliver_taken(node, stream, len);
    if (node->role == NODE_BACKEND) {
        downward_taken(node, stream, len);
        return 0;
    }
    upward_run(node, stream);
    return 0;
}

/* Back-end: leave the network (11.6). Asked again: at once. */
static void request_leave(struct node *node)
{
    if (node->leaving) {
        launch_end(node, "this back-end has left, before the front-end had "
                         "accepted everything");
        return;
    }
    node->leaving = true;
    for (size_t i = 1; i < node->stream_count; i++) {
        downward_drop(node, node->streams[i]);
        settle_try(node, node->streams[i]);
    }
    farewell_begin(node);
}

static int request_shutdown(struct node *node)
{
    if (node->role == NODE_COMMNODE)
        return -EPERM;
    if (node->role == NODE_BACKEND) {
        request_leave(node);
        return 0;
    }
    if (!node->launched) {
        launch_end(node, "the launch was given up");
        return 0;
    }
    if (node->closing) {
        launch_end(node, "the front-end has ended the network");
        return 0;
    }
    for (size_t i = 0; i < node->stream_count; i++)
        if (node->streams[i]->kind->beat) /* a leaver must know what is final */
            node->streams[i]->kind->beat(node, node->streams[i]);
    suspect_astray(node);
    zero_send(node, &(struct control){.type = CONTROL_SHUTDOWN});
    return 0;
}

static int request_detach(struct node *node)
{
    if (node->role != NODE_FRONTEND || node->survive_ms == 0)
        return -EPERM;
    if (!node->launched || node->ending)
        return -ENOTCONN;
    launch_detach(node);
    return 0;
}

static int request_ending(struct node *node)
{
    if (node->role != NODE_FRONTEND)
        return -EPERM;
    if (node->launched && !node->ending)
        suspect_end(node);
    return 0;
}

static int request_state(struct node *node, uint32_t id)
{
    struct stream *stream = node_stream(node, id);

    if (node->role != NODE_FRONTEND)
        return -EPERM;
    if (!stream || id == 0 || stream->closing)
        return -ENOENT;
    if (!stream->loaded)
        return -EAGAIN;
    if (!stream->filters.recoverable)
        return -EOPNOTSUPP;
    upward_ask_state(node, stream);
    node->out->result = stream->root->state_asked;
    return 0;
}

int request_step(struct node *node, const struct event *event)
{
    switch (event->type) {
    case EVENT_OPEN:
        return open_stream(node, event);
    case EVENT_CLOSE:
        return control_stream(node, event, CONTROL_CLOSE);
    case EVENT_SEND:
        return request_send(node, event);
    case EVENT_RECEIVE:
        return request_receive(node, event);
    case EVENT_TAKEN:
        return request_taken(node, event);
    case EVENT_SETTLE:
        return request_settle(node, event);
    case EVENT_PARAMETERS: {
        struct frame frame = event->frame;
        int r = control_stream(node, event, CONTROL_PARAMETERS);

        frame_fini(&frame);
        return r;
    }
    case EVENT_STATE:
        return request_state(node, event->stream);
    case EVENT_SYNC:
        return request_sync(node, event);
    case EVENT_ENDING:
        return request_ending(node);
    case EVENT_SHUTDOWN:
        return request_shutdown(node);
    case EVENT_DETACH:
        return request_detach(node);
    case EVENT_MOVE:
        if (node->role == NODE_COMMNODE)
            move_begin(node, event->parent, 0);
        return node->role == NODE_COMMNODE
                   ? 0
                   : plan_begin(node, event->rank, event->parent);
    case EVENT_DRAIN:
        return drain_begin(node, event->text);
    case EVENT_RECORD:
    case EVENT_START:
    case EVENT_LINK_UP:
    case EVENT_LINK_DOWN:
    case EVENT_UNREACHABLE:
    case EVENT_FRAME:
    case EVENT_BYTES:
    case EVENT_TICK:
    case EVENT_CLOCK:
    case EVENT_CHILD_BEGUN:
    case EVENT_CHILD_GONE:
    case EVENT_AGENT_GONE:
    case EVENT_LOADED:
    case EVENT_FILTERED:
        break;
    }
    return -EINVAL;
}
