/* step.c - step the machine of one node of the simulated world, and carry out
 * its actions. */
#include "protocol/check.h"
#include "sim/world.h"

#include <coppice/status.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"

/* A machine that wants this many ticks in one millisecond spins. */
#define STEP_TICKS_MAX 1000

/* Bytes of an address, with its end. */
#define ADDRESS_ROOM 32

static void plan_tick(struct sim *sim, struct world_node *node)
{
    uint64_t at_ms = node_deadline_ms(node->machine);
    struct agenda_entry entry = {.type = AGENDA_TICK, .node = node->index};

    if (at_ms < sim->now_ms)
        at_ms = sim->now_ms;
    if (at_ms >= node->tick_ms)
        return;
    if (at_ms == sim->now_ms && node->busy_tick_ms == sim->now_ms &&
        ++node->busy_ticks > STEP_TICKS_MAX) {
        sim_fail(sim, "%u wants tick after tick", node->rank);
        return;
    }
    if (node->busy_tick_ms != sim->now_ms) {
        node->busy_tick_ms = sim->now_ms;
        node->busy_ticks = 0;
    }
    node->tick_ms = entry.at_ms = entry.number = at_ms;
    agenda_add(&sim->agenda, entry);
}

/* Whether `node` may start `child`: its own child; or, if missing nodes are
 * skipped, any node below it that it is not starting already. */
static bool may_spawn(const struct sim *sim,
                      const struct world_node *node,
                      const struct world_node *child)
{
    const struct tree_node *above = child->shape;

    if (sim->config.missing != COP_MISSING_SKIP)
        return child->parent == node->index && child->state != WORLD_ALIVE;
    do
        above = &sim->tree.nodes[above->parent];
    while (above->rank != node->rank && above->rank != 0);
    return above->rank == node->rank &&
           !(child->starting && child->starter == node->index &&
             child->start_life == node->births);
}

/* Start a child once its earlier process, if any, has ended. */
static void spawn_child(struct sim *sim, struct world_node *node, uint32_t rank)
{
    uint32_t index = sim_find(sim, rank);
    uint64_t at_ms = sim->now_ms;
    struct agenda_entry entry = {.type = AGENDA_START, .node = index};
    struct world_node *child;

    at_ms += random_between(&sim->random, 1, sim->config.start_max_ms);
    if (index == SIM_NONE || !sim->nodes[index]->shape ||
        !may_spawn(sim, node, sim->nodes[index])) {
        sim_fail(sim, "%u starts %u, which is not its own", node->rank, rank);
        return;
    }
    child = sim->nodes[index];
    free(child->stopped);
    child->stopped = NULL;
    entry.at_ms = at_ms;
    entry.number = node->index;
    entry.link = node->births;
    child->starting = true;
    child->starter = node->index;
    child->start_life = node->births;
    agenda_add(&sim->agenda, entry);
}

/* Give up a child that `node` has started. */
/* Plan the start of a commnode that joins, in the place of another one. */
static void replace_child(struct sim *sim,
                          struct world_node *node,
                          const struct action *action)
{
    struct agenda_entry entry = {.type = AGENDA_START};
    struct world_node *joiner;

    sim_note(sim, SIM_TRACE_LIFE, "%d replaces %u on %s", (int)node->rank,
             action->rank, action->text ? action->text : "its own host");
    if (sim->replaced < sim->config.replace_failures)
        world_gone(sim, node, action->rank, 1);
    if (sim->replaced++ <
        sim->config.replace_failures + sim->config.replace_hangs)
        return;
    joiner = world_add(sim, NODE_COMMNODE);
    joiner->place = action->rank;
    snprintf(joiner->host, sizeof(joiner->host), "%s",
             action->text ? action->text : sim->nodes[action->rank]->host);
    joiner->starting = true;
    joiner->starter = node->index;
    joiner->start_life = node->births;
    entry.at_ms =
        sim->now_ms + random_between(&sim->random, 1, sim->config.start_max_ms);
    entry.node = joiner->index;
    entry.number = node->index;
    entry.link = node->births;
    agenda_add(&sim->agenda, entry);
}

static void stop_child(struct sim *sim,
                       struct world_node *node,
                       const struct action *action)
{
    struct world_node *child = sim->nodes[sim_find(sim, action->rank)];

    sim_note(sim, SIM_TRACE_LIFE, "%d stops %u: %s", (int)node->rank,
             action->rank, action->text);
    free(child->stopped);
    child->stopped = memory_text(action->text);
    child->starting = false;
    if (child->state == WORLD_ALIVE && child->parent == node->index)
        world_stop(sim, child, WORLD_CRASHED); /* and reports the end */
    else
        world_gone(sim, node, action->rank, 1);
}

/* Kill `rank` if `node` has started it. */
static void kill_child(struct sim *sim, struct world_node *node, uint32_t rank)
{
    uint32_t index = sim_find(sim, rank);

    if (index != SIM_NONE && !sim->config.agents &&
        sim->nodes[index]->parent == node->index &&
        sim->nodes[index]->state == WORLD_ALIVE)
        sim_crash_at(sim, index, sim->now_ms);
}

static void report_begun(struct sim *sim,
                         struct world_node *node,
                         uint32_t rank)
{
    struct event event = {.type = EVENT_CHILD_BEGUN, .rank = rank};

    world_step(sim, node, &event, NULL);
}

static void load_filters(struct sim *sim,
                         struct world_node *node,
                         const struct stream_definition *definition)
{
    struct stream_filters filters = {0};
    struct event event = {
        .type = EVENT_LOADED,
        .stream = definition->id,
        .filters = &filters,
    };
    char *text = filtering_load(node->filters, definition, &filters);

    event.text = text;
    sim_note(sim, SIM_TRACE_FILTER, "%d loaded stream %u: %s", (int)node->rank,
             definition->id, text ? text : "ok");
    world_step(sim, node, &event, NULL);
    free(text);
}

/* Plan the dial of `rank`, or a knock there. */
static void plan_dial(struct sim *sim,
                      struct world_node *node,
                      enum agenda_type type,
                      uint32_t rank)
{
    struct agenda_entry entry = {
        .at_ms = sim->now_ms + world_delay_ms(sim),
        .type = type,
        .node = node->index,
        .link = ++node->dials,
        .number = rank,
    };

    agenda_add(&sim->agenda, entry);
}

static void dial_node(struct sim *sim, struct world_node *node, uint32_t rank)
{
    sim_note(sim, SIM_TRACE_LIFE, "%d dials %u", (int)node->rank, rank);
    plan_dial(sim, node, AGENDA_DIAL, rank);
    if (sim->watch.dialled)
        sim->watch.dialled(sim, node->index, rank, sim->watch.arg);
}

static void call_filter(struct sim *sim,
                        struct world_node *node,
                        const struct node_call *what)
{
    struct agenda_entry entry = {
        .at_ms = sim->now_ms + node->filter_ms,
        .type = AGENDA_FILTER,
        .node = node->index,
        .link = node->births,
    };

    if (node->calling) {
        sim_fail(sim, "%u has two filter calls out", node->rank);
        return;
    }
    node->calling = true;
    if (sim->config.poison && sim_role(sim, node->index) == NODE_COMMNODE &&
        sim->config.poison(sim, node->index, what, sim->config.filter_arg)) {
        world_crash_in_call(sim, node);
        return;
    }
    node->answer_stream = what->stream;
    if (sim->config.refuse &&
        sim->config.refuse(sim, node->index, what, sim->config.filter_arg)) {
        loader_output_clear(&node->answer);
        strcpy(node->answer.text, "it refuses these parameters");
    } else {
        filtering_call(node->filters, what, &node->answer);
    }
    world_trace_call(sim, node, what);
    if (node->filter_ms == 0)
        world_filtered(sim, node);
    else
        agenda_add(&sim->agenda, entry);
}

void world_filtered(struct sim *sim, struct world_node *node)
{
    struct loader_output answer = node->answer;
    struct event event = {
        .type = EVENT_FILTERED,
        .stream = node->answer_stream,
        .text = *answer.text ? answer.text : NULL,
        .up = answer.up,
        .up_count = answer.up_count,
        .down = answer.down,
        .down_count = answer.down_count,
    };

    /* The next call may begin within this step and needs its own storage. */
    node->answer = (struct loader_output){0};
    node->calling = false;
    world_step(sim, node, &event, NULL);
    answer.up_count = answer.down_count = 0; /* taken */
    loader_output_fini(&answer);
}

static void deliver(struct sim *sim,
                    struct world_node *node,
                    struct action *action)
{
    world_trace_packet(sim, SIM_TRACE_DELIVER, node, "deliver", action->stream,
                       &action->frame);
    world_queue_add(&node->arrived, action->stream, &action->frame);
    action->frame.payload = NULL;
}

static void tell_app(struct sim *sim,
                     struct world_node *node,
                     const struct action *action)
{
    world_trace_tell(sim, node, action);
    if (action->tell == TELL_LAUNCHED)
        node->launched_ms = sim->now_ms;
    if (sim->watch.told)
        sim->watch.told(sim, node->index, action, sim->watch.arg);
}

/* Inject a fault into the node, as a process's shell would. */
static void inject(struct sim *sim,
                   struct world_node *node,
                   const struct action *action)
{
    struct world_end *parent = world_end_at(node, action->link);

    sim_note(sim, SIM_TRACE_LIFE, "%d breaks: %d", (int)node->rank,
             action->code);
    if (action->code == COP_INJECT_KILL)
        sim_crash_at(sim, node->index, sim->now_ms);
    else if (action->code == COP_INJECT_FREEZE)
        sim_freeze(sim, node->index, action->sequence);
    else if (parent)
        sim_cut(sim, node->index, parent->peer);
}

/* Correct machines never break the protocol. If one accuses another of that,
 * one of them is wrong. */
static void close_link(struct sim *sim,
                       struct world_node *node,
                       const struct action *action)
{
    const struct world_end *end = world_end_at(node, action->link);

    sim_note(sim, SIM_TRACE_LIFE, "%d closes link %u%s", (int)node->rank,
             action->link,
             action->code == -ETIMEDOUT ? ": silence"
             : action->code == -EPROTO  ? ": it broke the protocol"
                                        : "");
    if (action->code == -ETIMEDOUT && sim->watch.accused)
        sim->watch.accused(sim, node->index, action->link, sim->watch.arg);
    if (action->code == -EPROTO && end && sim->nodes[end->peer]->lie)
        sim->nodes[end->peer]->caught = true;
    else if (action->code == -EPROTO && end && !sim->meddled)
        sim_fail(sim, "%d cuts %d off, as it broke the protocol",
                 (int)node->rank, (int)sim->nodes[end->peer]->rank);
    world_let_go(sim, node, action->link, false, "end of file");
}

/* Keep a record of the front-end. */
static void keep_record(struct sim *sim, struct action *action)
{
    memory_grow(&sim->records, &sim->record_room, sim->record_count,
                sizeof(*sim->records));
    sim->records[sim->record_count++] = action->frame;
    action->frame.payload = NULL;
}

/* Carry out an action that needs no answer; others wait, to keep the order. */
static void act_on(struct sim *sim,
                   struct world_node *node,
                   struct action *action)
{
    switch (action->type) {
    case ACTION_SPAWN:
        spawn_child(sim, node, action->rank);
        return;
    case ACTION_REPLACE:
        replace_child(sim, node, action);
        return;
    case ACTION_STOP:
        stop_child(sim, node, action);
        return;
    case ACTION_KILL:
        kill_child(sim, node, action->rank);
        return;
    case ACTION_SEND:
        world_write(sim, node, action->link, &action->frame);
        return;
    case ACTION_CLOSE:
        close_link(sim, node, action);
        return;
    case ACTION_DIAL:
        dial_node(sim, node, action->rank);
        return;
    case ACTION_KNOCK:
        plan_dial(sim, node, AGENDA_KNOCK, action->rank);
        return;
    case ACTION_RECORD:
        keep_record(sim, action);
        return;
    case ACTION_RANK:
        node->rank = action->rank;
        return;
    case ACTION_UNLOAD:
        filtering_unload(node->filters, action->stream);
        return;
    case ACTION_DELIVER:
        deliver(sim, node, action);
        return;
    case ACTION_TELL:
        tell_app(sim, node, action);
        return;
    case ACTION_INJECT:
        inject(sim, node, action);
        return;
    case ACTION_CLOCK:
    case ACTION_LOAD:
    case ACTION_FILTER:
    case ACTION_EXIT:
        return;
    }
}

/* What to do with an action. */
static enum sim_tampering tamper(struct sim *sim,
                                 const struct world_node *node,
                                 struct action *action)
{
    if (!sim->config.tamper)
        return SIM_KEEP;
    return sim->config.tamper(sim, node->index, action, sim->config.tamper_arg);
}

static void act_tampered(struct sim *sim,
                         struct world_node *node,
                         struct action *action)
{
    enum sim_tampering how = tamper(sim, node, action);
    struct action again = *action;

    again.frame = frame_ref(&action->frame);
    if (how != SIM_DROP)
        act_on(sim, node, action);
    if (how == SIM_TWICE)
        act_on(sim, node, &again);
    frame_fini(&again.frame);
}

static void call_tampered(struct sim *sim,
                          struct world_node *node,
                          struct action *action)
{
    const struct node_call *what = action->call;

    if (tamper(sim, node, action) == SIM_TWICE)
        call_filter(sim, node, what);
    if (node->state == WORLD_ALIVE)
        call_filter(sim, node, what);
}

static void act_all(struct sim *sim,
                    struct world_node *node,
                    struct actions *actions)
{
    const char *exit_text = NULL;

    for (size_t i = 0; i < actions->count; i++)
        act_tampered(sim, node, &actions->list[i]);
    for (size_t i = 0; i < actions->count; i++) {
        struct action *action = &actions->list[i];

        if (node->state != WORLD_ALIVE)
            break;
        if (action->type == ACTION_CLOCK)
            world_step(sim, node, &(struct event){.type = EVENT_CLOCK}, NULL);
        if (action->type == ACTION_SPAWN)
            report_begun(sim, node, action->rank);
        if (action->type == ACTION_LOAD)
            load_filters(sim, node, action->definition);
        if (action->type == ACTION_FILTER)
            call_tampered(sim, node, action);
        if (action->type == ACTION_EXIT)
            exit_text = action->text ? action->text : "";
    }
    if (exit_text && node->state == WORLD_ALIVE) {
        sim_note(sim, SIM_TRACE_LIFE, "%d exits: %s", (int)node->rank,
                 exit_text);
        world_stop(sim, node, WORLD_EXITED);
    }
}

static void give_back(struct event *event)
{
    frame_fini(&event->frame);
    for (size_t i = 0; i < event->up_count; i++)
        frame_fini(&event->up[i]);
    for (size_t i = 0; i < event->down_count; i++)
        frame_fini(&event->down[i]);
}

int world_step(struct sim *sim,
               struct world_node *node,
               struct event *event,
               uint64_t *result)
{
    struct actions actions = node->actions;
    char text[NODE_CHECK_TEXT];
    bool no_memory;
    int r;

    if (node->state != WORLD_ALIVE) {
        if (event->type != EVENT_TAKEN)
            give_back(event);
        return -ENOTCONN;
    }
    if (node->role == NODE_OBSERVER) {
        world_observe(sim, node, event);
        return 0;
    }
    /* A step within this one uses its own storage. */
    node->actions = (struct actions){0};
    event->now_ms = sim->now_ms;
    actions.failed = false;
    if (sim->config.stepping)
        sim->config.stepping(true);
    r = node_step(node->machine, event, &actions);
    if (sim->config.stepping)
        sim->config.stepping(false);
    if (result && r == 0)
        *result = actions.result;
    if (!node_check(node->machine, text))
        sim_fail(sim, "%d: %s", (int)node->rank, text);
    no_memory = actions.failed || r == -ENOMEM;
    sim->meddled |= no_memory; /* the step is half done */
    if (no_memory && !sim->config.stepping)
        sim_fail(sim, "%u is out of memory", node->rank);
    act_all(sim, node, &actions);
    actions_clear(&actions);
    actions_fini(&node->actions);
    node->actions = actions;
    if (no_memory && node->state == WORLD_ALIVE) {
        sim_note(sim, SIM_TRACE_LIFE, "%d has no memory", (int)node->rank);
        world_stop(sim, node, WORLD_CRASHED);
    }
    if (node->state != WORLD_ALIVE) {
        actions_fini(&node->actions);
        return r;
    }
    plan_tick(sim, node);
    world_app(sim, node);
    return r;
}

/* Write where `node` listens: its own host in a private network, and a port. */
static void write_address(const struct world_node *node,
                          char text[ADDRESS_ROOM])
{
    uint32_t number = node->rank;

    snprintf(text, ADDRESS_ROOM, "10.%u.%u.%u %u", number >> 16 & 255,
             number >> 8 & 255, number & 255,
             32768 + number * UINT32_C(2654435761) % 28232);
}

/* Make the node's machine. Returns false after a failure. */
static bool make_machine(struct sim *sim, struct world_node *node)
{
    char address[ADDRESS_ROOM] = "127.0.0.1 1";
    struct node_config config = {
        .role = node->role,
        .rank = node->rank,
        .depth = node->depth,
        .host = *node->host ? node->host : "sim",
        .address = node->role == NODE_BACKEND ? "" : address,
        .next_rank = sim->config.next_rank ? sim->config.next_rank
                                           : tree_next_rank(&sim->tree),
        .allow_injection = sim->config.allow_injection,
        .allow_administration = sim->config.allow_administration,
        .views = sim->config.views && node->role == NODE_FRONTEND,
        .replace = node->role == NODE_FRONTEND ? sim->config.replace : 0,
        .keep_shape = node->role == NODE_FRONTEND && sim->config.keep_shape,
        .spares = sim->config.spares,
        .tree = node->role == NODE_FRONTEND ? sim->topology : NULL,
        .place = node->place,
        .missing = sim->config.missing,
        .times = sim->config.times,
        .algorithm = sim->config.algorithm,
        .budget = sim->config.budget,
        .survive_ms = sim->config.survive_ms,
        .resumes = node->role == NODE_FRONTEND && node->births > 0,
    };
    struct node_child *below = NULL;
    int r;

    while (config.spares && config.spares[config.spare_count])
        config.spare_count++;
    if (sim->config.own_addresses)
        write_address(node, address);
    if (node->shape && !config.resumes) {
        config.children = node->shape->children;
        config.child_count = node->shape->child_count;
    }
    if (config.child_count > 0) {
        below =
            tree_below(&sim->tree, (uint32_t)(node->shape - sim->tree.nodes),
                       &config.below_count, &config.height);
        config.below = below;
    }
    r = node_new(&node->machine, &config);
    free(below);
    if (r < 0) {
        sim_fail(sim, "node_new of %u: %s", node->rank, strerror(-r));
        return false;
    }
    node->filters = filtering_new(sim->config.filter_path, node->role,
                                  node->rank, node->depth);
    node->state = WORLD_ALIVE;
    node->births++;
    node->tick_ms = UINT64_MAX;
    sim_note(sim, SIM_TRACE_LIFE, "%d starts", (int)node->rank);
    return true;
}

void world_start(struct sim *sim, struct world_node *node)
{
    if (make_machine(sim, node))
        world_step(sim, node, &(struct event){.type = EVENT_START}, NULL);
}

int world_resume(struct sim *sim, struct world_node *node)
{
    size_t count = sim->record_count;
    int r = 0;

    if (!make_machine(sim, node))
        return -EINVAL;
    for (size_t i = 0; r == 0 && i < count; i++) {
        struct event event = {.type = EVENT_RECORD,
                              .frame = frame_ref(&sim->records[i])};

        r = world_step(sim, node, &event, NULL);
    }
    if (r == 0)
        r = world_step(sim, node, &(struct event){.type = EVENT_START}, NULL);
    if (r < 0 && node->state == WORLD_ALIVE)
        world_stop(sim, node, WORLD_CRASHED);
    return r;
}

void world_gone(struct sim *sim,
                const struct world_node *node,
                uint32_t rank,
                uint64_t delay_ms)
{
    struct agenda_entry entry = {
        .type = AGENDA_GONE,
        .node = node->index,
        .link = node->births,
        .number = rank,
    };

    if (sim->config.agents) {
        entry.node = 0;
        entry.link = sim->nodes[0]->births;
        delay_ms = 0;
    }
    entry.at_ms = sim->now_ms + delay_ms;
    agenda_add(&sim->agenda, entry);
}

void world_stop(struct sim *sim,
                struct world_node *node,
                enum world_state state)
{
    uint64_t delay_ms = world_delay_ms(sim);
    bool cut = state == WORLD_CRASHED;
    struct world_packet packet;

    node->state = state;
    for (uint32_t i = 0; i < node->end_count; i++)
        if (node->ends[i])
            world_let_go(sim, node, i, cut, cut ? "reset" : "end of file");
    /* The application may still take what its node had delivered. */
    while (world_queue_take(&node->arrived, &packet)) {
        if (!cut && !node->app.by_hand && !node->leaving && sim->watch.taken)
            sim->watch.taken(sim, node->index, packet.stream, &packet.frame,
                             sim->watch.arg);
        frame_fini(&packet.frame);
    }
    node_free(node->machine);
    node->machine = NULL;
    filtering_free(node->filters);
    node->filters = NULL;
    loader_output_fini(&node->answer);
    node->calling = false;
    if (node->parent != SIM_NONE && !node->vanished &&
        sim->nodes[node->parent]->births == node->parent_life)
        world_gone(sim, sim->nodes[node->parent],
                   node->place > 0 ? node->place : node->rank, delay_ms);
    while (world_queue_take(&node->unsent, &packet))
        frame_fini(&packet.frame);
    if (node->busy)
        frame_fini(&node->in_hand.frame);
    node->busy = false;
}
