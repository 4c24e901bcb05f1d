/* alone.c - one node without a network. */
#include "test/protocol/alone.h"

#include <errno.h>

#include "protocol/state.h"
#include "wire/packet.h"

void alone_init(struct alone *alone, const struct node_config *config)
{
    *alone = (struct alone){.now_ms = 1000};
    CHECK_OK(node_new(&alone->node, config));
    alone_step(alone, (struct event){.type = EVENT_START});
}

void alone_fini(struct alone *alone)
{
    actions_fini(&alone->actions);
    node_free(alone->node);
}

void alone_step(struct alone *alone, struct event event)
{
    actions_clear(&alone->actions);
    event.now_ms = alone->now_ms;
    CHECK_OK(node_step(alone->node, &event, &alone->actions));
}

void alone_take(struct alone *alone, uint32_t link, struct frame frame)
{
    alone_step(alone, (struct event){
                          .type = EVENT_FRAME, .link = link, .frame = frame});
}

void alone_link_up(struct alone *alone,
                   uint32_t link,
                   uint32_t rank,
                   enum node_role role,
                   uint32_t incarnation)
{
    alone_step(alone, (struct event){
                          .type = EVENT_LINK_UP,
                          .link = link,
                          .rank = rank,
                          .role = role,
                          .incarnation = incarnation,
                          .is_parent = role == NODE_FRONTEND,
                      });
    alone_take(alone, link,
               (struct frame){.type = FRAME_HEARTBEAT, .count = 65536});
}

void alone_link_down(struct alone *alone, uint32_t link)
{
    alone_step(alone, (struct event){.type = EVENT_LINK_DOWN,
                                     .link = link,
                                     .text = "it broke"});
}

void alone_take_roster(struct alone *alone,
                       uint32_t link,
                       struct roster *roster,
                       enum frame_type type)
{
    struct frame frame;

    CHECK_OK(roster_encode(roster, type, &frame));
    roster_fini(roster);
    if (type == FRAME_TABLE) /* the first rank for joiners */
        frame.sequence = alone->node->next_rank;
    alone_take(alone, link, frame);
}

void alone_take_adopt(struct alone *alone,
                      uint32_t link,
                      struct frame adopt,
                      uint32_t first,
                      uint32_t last)
{
    adopt.type = FRAME_ADOPT;
    CHECK_OK(packet_pack(&adopt.payload, "%aud", (uint32_t[]){first, last},
                         UINT32_C(2)));
    alone_take(alone, link, adopt);
}

const struct frame *alone_sent(const struct alone *alone,
                               uint32_t link,
                               enum frame_type type)
{
    for (size_t i = 0; i < alone->actions.count; i++) {
        const struct action *action = &alone->actions.list[i];

        if (action->type == ACTION_SEND && action->link == link &&
            action->frame.type == type)
            return &action->frame;
    }
    return NULL;
}

int alone_answered(const struct alone *alone, uint32_t link)
{
    const struct frame *frame = alone_sent(alone, link, FRAME_ADOPTED);

    return frame ? frame->tag : 0;
}

/* The action that closed `link`; NULL if there is none. */
static const struct action *find_close(const struct alone *alone, uint32_t link)
{
    for (size_t i = 0; i < alone->actions.count; i++)
        if (alone->actions.list[i].type == ACTION_CLOSE &&
            alone->actions.list[i].link == link)
            return &alone->actions.list[i];
    return NULL;
}

bool alone_closed(const struct alone *alone, uint32_t link)
{
    return find_close(alone, link) != NULL;
}

bool alone_refused(const struct alone *alone, uint32_t link)
{
    const struct action *close = find_close(alone, link);

    return close && close->code == -EPROTO;
}

size_t alone_count(const struct alone *alone,
                   enum action_type type,
                   unsigned what)
{
    size_t count = 0;

    for (size_t i = 0; i < alone->actions.count; i++) {
        const struct action *action = &alone->actions.list[i];

        count += action->type == type &&
                 (type == ACTION_SEND   ? action->frame.type == what
                  : type == ACTION_TELL ? action->tell == what
                                        : true);
    }
    return count;
}
