/* observe.c - observers: each asks a node one question. */
#include "sim/world.h"

void world_observe(struct sim *sim,
                   struct world_node *node,
                   struct event *event)
{
    if (event->type == EVENT_LINK_UP && node->question.type != 0) {
        world_write(sim, node, event->link, &node->question);
    } else if (event->type == EVENT_FRAME) {
        frame_fini(&node->reply);
        node->reply = event->frame;
        node->replies++;
    } else if (event->type == EVENT_LINK_DOWN) {
        node->over = true;
    }
}

const struct frame *sim_answer(const struct sim *sim, uint32_t index)
{
    const struct world_node *node = sim->nodes[index];

    return node->replies > 0 ? &node->reply : NULL;
}

bool sim_is_over(const struct sim *sim, uint32_t index)
{
    return sim->nodes[index]->over;
}
