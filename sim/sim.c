/* sim.c - the simulated world: its events in order, and its faults. */
#include "sim/sim.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"
#include "sim/world.h"
#include "topology/topology.h"

/* ---- making it ---- */

/* Add a placeholder for a rank that no node of the tree has. */
static struct world_node *add_gap(struct sim *sim)
{
    struct world_node *node = memory_new(sizeof(*node));

    memory_grow(&sim->nodes, &sim->room, sim->count, sizeof(*sim->nodes));
    node->index = (uint32_t)sim->count;
    node->parent = SIM_NONE;
    node->rank = RANK_NONE;
    node->role = NODE_OBSERVER;
    node->tick_ms = UINT64_MAX;
    node->busy_tick_ms = UINT64_MAX;
    sim->nodes[sim->count++] = node;
    return node;
}

static void add_tree(struct sim *sim)
{
    while (sim->count < tree_next_rank(&sim->tree))
        add_gap(sim);
    for (size_t i = 0; i < sim->tree.count; i++) {
        const struct tree_node *from = &sim->tree.nodes[i];
        struct world_node *node = sim->nodes[from->rank];

        node->shape = from;
        node->rank = from->rank;
        node->depth = from->depth;
        node->parent = i > 0 ? sim->tree.nodes[from->parent].rank : SIM_NONE;
        node->role = i == 0                  ? NODE_FRONTEND
                     : from->child_count > 0 ? NODE_COMMNODE
                                             : NODE_BACKEND;
    }
}

/* Give the nodes of the tree hosts. If their ranks go level by level, make the
 * topology that the front-end knows. */
static void make_hosts(struct sim *sim)
{
    char *text = NULL;
    size_t len;
    FILE *file = open_memstream(&text, &len);
    uint32_t before = 0;

    if (!file)
        return;
    fprintf(file, "coppice-tree 1 %zu\n", sim->tree.count);
    for (size_t i = 0; i < sim->count; i++) {
        struct world_node *node = sim->nodes[i];

        if (!node->shape)
            continue;
        snprintf(node->host, sizeof(node->host), "h%u",
                 node->rank % sim->config.hosts);
        fprintf(file, "%u %zu %u %s\n", node->rank - before,
                node->shape->child_count, node->rank, node->host);
        before = node->rank;
    }
    fclose(file);
    if (topology_decode(&sim->topology, text, len) < 0)
        sim->topology = NULL;
    for (uint32_t i = 1; sim->topology && i < sim->tree.count; i++) {
        uint32_t parent =
            topology_rank(sim->topology, topology_parent(sim->topology, i));

        if (sim->nodes[topology_rank(sim->topology, i)]->parent == parent)
            continue;
        topology_free(sim->topology);
        sim->topology = NULL;
    }
    for (size_t i = 0; !sim->topology && i < sim->count; i++)
        sim->nodes[i]->host[0] = 0;
    free(text);
}

int sim_new(struct sim **out, const char *text, const struct sim_config *config)
{
    struct sim *sim = memory_new(sizeof(*sim));
    int r;

    sim->config = *config;
    if (sim->config.delay_max_ms == 0)
        sim->config.delay_min_ms = sim->config.delay_max_ms = 1;
    if (sim->config.start_max_ms == 0)
        sim->config.start_max_ms = 1;
    if (!sim->config.filter_path)
        sim->config.filter_path = getenv("COPPICE_FILTER_PATH");
    random_seed(&sim->random, config->seed);
    r = tree_read(&sim->tree, text);
    if (r < 0) {
        free(sim);
        return r;
    }
    add_tree(sim);
    if (sim->config.hosts > 0)
        make_hosts(sim);
    world_start(sim, sim->nodes[0]);
    *out = sim;
    return 0;
}

void sim_free(struct sim *sim)
{
    if (!sim)
        return;
    sim->watch = (struct sim_watch){0};
    for (size_t i = 0; i < sim->count; i++) {
        struct world_node *node = sim->nodes[i];

        node->parent = SIM_NONE;
        if (node->state == WORLD_ALIVE)
            world_stop(sim, node, WORLD_CRASHED);
        world_queue_fini(&node->arrived);
        world_queue_fini(&node->unsent);
        frame_fini(&node->question);
        frame_fini(&node->reply);
        actions_fini(&node->actions);
        free(node->ends);
        free(node->stopped);
    }
    for (size_t i = 0; i < sim->count; i++)
        free(sim->nodes[i]);
    free(sim->nodes);
    sim_forget_records(sim, 0);
    free(sim->records);
    agenda_fini(&sim->agenda);
    tree_fini(&sim->tree);
    topology_free(sim->topology);
    free(sim->trace);
    free(sim->failure);
    free(sim);
}

/* ---- events ---- */

static void tick_node(struct sim *sim, struct world_node *node)
{
    struct event event = {.type = EVENT_TICK};

    node->tick_ms = UINT64_MAX;
    world_read_all(sim, node);
    if (node->state == WORLD_ALIVE)
        world_step(sim, node, &event, NULL);
}

static void report_gone(struct sim *sim, struct world_node *node, uint32_t rank)
{
    const struct world_node *child = sim->nodes[sim_find(sim, rank)];
    struct event event = {
        .type = sim->config.agents ? EVENT_AGENT_GONE : EVENT_CHILD_GONE,
        .rank = rank,
    };

    event.text = child->missing   ? child->missing
                 : child->stopped ? child->stopped
                                  : "has exited";
    sim_note(sim, SIM_TRACE_LIFE, "%d child %u is gone: %s", (int)node->rank,
             rank, event.text);
    world_step(sim, node, &event, NULL);
}

/* Complete a dial: the other node answers, or refuses if it does not listen. */
static void reach_dialled(struct sim *sim,
                          struct world_node *node,
                          const struct agenda_entry *entry)
{
    uint32_t rank = (uint32_t)entry->number;
    struct event event = {
        .type = EVENT_UNREACHABLE,
        .rank = rank,
        .refused = true,
    };
    uint32_t index = sim_find(sim, rank);
    const struct world_node *other =
        index == SIM_NONE ? NULL : sim->nodes[index];
    struct agenda_entry again = *entry;

    if (entry->link != node->dials || (other && other->vanished))
        return; /* given up; or the host has vanished */
    again.at_ms = node->apart_ms;
    if (other && other->apart_ms > again.at_ms)
        again.at_ms = other->apart_ms;
    if (again.at_ms > sim->now_ms) {
        agenda_add(&sim->agenda, again);
        return;
    }
    if (index != SIM_NONE && sim->nodes[index]->state == WORLD_ALIVE &&
        sim->nodes[index]->role != NODE_BACKEND) {
        event.refused = false;
        if (entry->type == AGENDA_KNOCK)
            world_step(sim, node, &event, NULL);
        else
            world_connect(sim, node, sim->nodes[index], false);
        return;
    }
    sim_note(sim, SIM_TRACE_LIFE, "%d cannot reach %u", (int)node->rank, rank);
    world_step(sim, node, &event, NULL);
}

static void start_process(struct sim *sim,
                          struct world_node *node,
                          uint32_t parent)
{
    if (node->state != WORLD_ABSENT) {
        world_gone(sim, sim->nodes[parent], node->rank, 1);
        return;
    }
    if (parent == SIM_NONE || sim->nodes[parent]->state != WORLD_ALIVE) {
        node->state = WORLD_EXITED; /* no parent to connect to */
        return;
    }
    world_start(sim, node);
    if (node->state == WORLD_ALIVE)
        world_connect(sim, node, sim->nodes[parent], true);
}

/* Start a node at another node's request, unless the request was withdrawn. If
 * an earlier process of the node still runs, wait for its end. */
static void start_child(struct sim *sim,
                        struct world_node *node,
                        const struct agenda_entry *entry)
{
    struct agenda_entry again = *entry;
    uint32_t parent = (uint32_t)entry->number;

    if (!node->starting || node->starter != parent ||
        node->start_life != entry->link || node->hangs)
        return;
    if (node->state == WORLD_ALIVE) {
        again.at_ms = sim->now_ms + 1;
        agenda_add(&sim->agenda, again);
        return;
    }
    node->starting = false;
    if (node->missing || (node->state != WORLD_ABSENT && node->births == 0)) {
        world_gone(sim, sim->nodes[parent], node->rank, 0);
        return;
    }
    if (node->births > 0) {
        node->state = WORLD_ABSENT;
        node->frozen_ms = 0;
        node->in_receive = false;
    }
    if (sim->config.missing == COP_MISSING_SKIP &&
        sim->nodes[parent]->state != WORLD_ALIVE)
        return; /* another node may start it */
    node->parent = parent;
    node->parent_life = sim->nodes[parent]->births;
    node->depth = sim->nodes[parent]->depth + 1;
    start_process(sim, node, parent);
}

static void happen(struct sim *sim, const struct agenda_entry *entry)
{
    struct world_node *node = sim->nodes[entry->node];
    struct world_end *end = world_end_at(node, entry->link);
    bool here = end && end->life == entry->number;

    switch (entry->type) {
    case AGENDA_TICK:
        if (node->state == WORLD_ALIVE && entry->number == node->tick_ms)
            tick_node(sim, node);
        return;
    case AGENDA_BYTES:
        if (here)
            world_read(sim, node, entry->link);
        return;
    case AGENDA_UP:
        if (here)
            world_up(sim, node, entry->link);
        return;
    case AGENDA_START:
        start_child(sim, node, entry);
        return;
    case AGENDA_DIAL:
    case AGENDA_KNOCK:
        if (node->state == WORLD_ALIVE)
            reach_dialled(sim, node, entry);
        return;
    case AGENDA_GONE:
        if (node->state == WORLD_ALIVE && node->births == entry->link)
            report_gone(sim, node, (uint32_t)entry->number);
        return;
    case AGENDA_FILTER:
        if (node->state == WORLD_ALIVE && node->births == entry->link)
            world_filtered(sim, node);
        return;
    case AGENDA_APP:
        if (node->state == WORLD_ALIVE && node->births == entry->link)
            world_app_done(sim, node);
        return;
    case AGENDA_SCRIPT:
        entry->fn(sim, entry->arg);
        return;
    }
}

/* Take and run one entry of the agenda. Returns 0 or -EIO. */
static int take_entry(struct sim *sim)
{
    struct agenda_entry entry;

    if (!agenda_take(&sim->agenda, &entry))
        return 0;
    sim->now_ms = entry.at_ms;
    if (entry.type != AGENDA_SCRIPT &&
        sim->nodes[entry.node]->frozen_ms > sim->now_ms) {
        entry.at_ms = sim->nodes[entry.node]->frozen_ms;
        agenda_delay(&sim->agenda, entry);
        return 0;
    }
    happen(sim, &entry);
    return sim->failure ? -EIO : 0;
}

int sim_run_until(struct sim *sim, uint64_t until_ms)
{
    while (!sim->failure && agenda_next_ms(&sim->agenda) <= until_ms)
        take_entry(sim);
    if (sim->failure)
        return -EIO;
    if (until_ms > sim->now_ms)
        sim->now_ms = until_ms;
    return 0;
}

int sim_run_while_not(struct sim *sim,
                      uint64_t limit_ms,
                      bool (*done)(struct sim *sim, void *arg),
                      void *arg)
{
    uint64_t until_ms = sim->now_ms + limit_ms;

    while (!done(sim, arg)) {
        if (sim->failure)
            return -EIO;
        if (agenda_next_ms(&sim->agenda) > until_ms) {
            sim->now_ms = until_ms;
            return -ETIMEDOUT;
        }
        take_entry(sim);
    }
    return sim->failure ? -EIO : 0;
}

/* ---- queries ---- */

uint64_t sim_now_ms(const struct sim *sim)
{
    return sim->now_ms;
}

const struct tree *sim_tree(const struct sim *sim)
{
    return &sim->tree;
}

const char *sim_failure(const struct sim *sim)
{
    return sim->failure;
}

void sim_fail(struct sim *sim, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    sim_note(sim, SIM_TRACE_ALL, "FAILURE: %s", text);
    if (!sim->failure)
        sim->failure = memory_text(text);
}

void sim_watch(struct sim *sim, const struct sim_watch *watch)
{
    sim->watch = *watch;
}

uint32_t sim_count(const struct sim *sim)
{
    return (uint32_t)sim->count;
}

uint32_t sim_find(const struct sim *sim, uint32_t rank)
{
    if (rank < sim->count && sim->nodes[rank]->rank == rank)
        return rank;
    for (size_t i = 0; i < sim->count; i++)
        if (sim->nodes[i]->rank == rank)
            return (uint32_t)i;
    return SIM_NONE;
}

uint32_t sim_rank(const struct sim *sim, uint32_t index)
{
    return sim->nodes[index]->rank;
}

enum node_role sim_role(const struct sim *sim, uint32_t index)
{
    return sim->nodes[index]->role;
}

bool sim_is_alive(const struct sim *sim, uint32_t index)
{
    return sim->nodes[index]->state == WORLD_ALIVE;
}

bool sim_has_exited(const struct sim *sim, uint32_t index)
{
    return sim->nodes[index]->state == WORLD_EXITED;
}

const struct node *sim_node(const struct sim *sim, uint32_t index)
{
    return sim->nodes[index]->machine;
}

uint32_t sim_parent(const struct sim *sim, uint32_t index)
{
    const struct world_node *node = sim->nodes[index];
    uint32_t link =
        node->machine ? node_parent_link(node->machine) : UINT32_MAX;

    if (link < node->end_count && node->ends[link])
        return node->ends[link]->peer;
    for (size_t i = 0; i < node->end_count; i++)
        if (node->ends[i] && node->ends[i]->upward)
            return node->ends[i]->peer;
    return SIM_NONE;
}

uint32_t sim_child_count(const struct sim *sim, uint32_t index)
{
    const struct tree_node *shape = sim->nodes[index]->shape;

    return shape ? (uint32_t)shape->child_count : 0;
}

uint32_t sim_link_count(const struct sim *sim, uint32_t index)
{
    const struct world_node *node = sim->nodes[index];
    uint32_t count = 0;

    for (size_t i = 0; i < node->end_count; i++)
        count += node->ends[i] != NULL;
    return count;
}

bool sim_is_frozen(const struct sim *sim, uint32_t index)
{
    return sim->nodes[index]->frozen_ms > sim->now_ms;
}

bool sim_is_leaving(const struct sim *sim, uint32_t index)
{
    return sim->nodes[index]->leaving;
}

size_t sim_waiting(const struct sim *sim, uint32_t index)
{
    const struct world_queue *queue = &sim->nodes[index]->arrived;

    return queue->end - queue->start;
}

size_t sim_waiting_on(const struct sim *sim, uint32_t index, uint32_t stream)
{
    const struct world_queue *queue = &sim->nodes[index]->arrived;
    size_t count = 0;

    for (size_t i = queue->start; i < queue->end; i++)
        count += queue->list[i].stream == stream;
    return count;
}

const char *sim_host(const struct sim *sim, uint32_t index)
{
    return sim->nodes[index]->host;
}

size_t sim_unsent(const struct sim *sim, uint32_t index)
{
    const struct world_queue *queue = &sim->nodes[index]->unsent;

    return queue->end - queue->start;
}

void sim_set_app(struct sim *sim, uint32_t index, const struct sim_app *app)
{
    sim->nodes[index]->app = *app;
    world_app(sim, sim->nodes[index]);
}

void sim_set_filter_ms(struct sim *sim, uint32_t index, uint32_t filter_ms)
{
    sim->nodes[index]->filter_ms = filter_ms;
}

struct world_node *world_add(struct sim *sim, enum node_role role)
{
    struct world_node *node = add_gap(sim);

    node->role = role;
    return node;
}

static uint32_t join_as(struct sim *sim, enum node_role role, uint32_t parent)
{
    struct world_node *node = world_add(sim, role);

    node->depth = sim->nodes[parent]->depth + 1;
    if (sim->config.hosts > 0)
        snprintf(node->host, sizeof(node->host), "h%u",
                 node->index % sim->config.hosts);
    start_process(sim, node, parent);
    return node->index;
}

uint32_t sim_attach(struct sim *sim, uint32_t parent)
{
    return join_as(sim, NODE_BACKEND, parent);
}

uint32_t sim_join(struct sim *sim, uint32_t parent)
{
    return join_as(sim, NODE_COMMNODE, parent);
}

uint32_t sim_observe(struct sim *sim, uint32_t to, struct frame *question)
{
    struct world_node *node = add_gap(sim);

    node->state = WORLD_ALIVE;
    node->question = *question;
    world_connect(sim, node, sim->nodes[to], false);
    return node->index;
}

void sim_at(struct sim *sim,
            uint64_t at_ms,
            void (*fn)(struct sim *sim, void *arg),
            void *arg)
{
    struct agenda_entry entry = {
        .at_ms = at_ms > sim->now_ms ? at_ms : sim->now_ms,
        .type = AGENDA_SCRIPT,
        .fn = fn,
        .arg = arg,
    };

    agenda_add(&sim->agenda, entry);
}
