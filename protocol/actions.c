/* actions.c - what a step of the machine tells the driver to do. */
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"

void actions_clear(struct actions *actions)
{
    for (size_t i = 0; i < actions->count; i++) {
        struct action *action = &actions->list[i];

        frame_fini(&action->frame);
        if (action->type == ACTION_SEND)
            continue; /* it owns nothing else */
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

void node_free_spare(struct node *node)
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
            node_free_spare(node);
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
