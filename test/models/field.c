/* field.c - machines and wires: performs the moves. */
#include "test/models/field.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/check.h"
#include "test/models/arena.h"
#include "wire/packet.h"

/* Timers expire only by moves of the search: a silence time-out is longer than
 * any attempt, an orphan never gives up, and no heartbeats are sent. */
#define BEAT_MS    UINT32_C(10000000)
#define SILENCE_MS UINT32_C(20000000)
#define PROBE_MS   UINT32_C(25000000)
#define ORPHAN_MS  UINT32_C(3000000000)

struct peer *field_peer(const struct field *field,
                        const struct field_wire *wire,
                        uint32_t end)
{
    const struct node *node = field->nodes[wire->node[end]].machine;

    if (!wire->used || !wire->open[end] || !node ||
        wire->link[end] >= node->link_count)
        return NULL;
    return node->links[wire->link[end]];
}

static void queue_empty(struct field_queue *queue)
{
    while (queue->count > 0)
        frame_fini(&queue->frames[--queue->count]);
}

/* Close one end; once both ends are closed, free the wire. */
static void end_close(struct field_wire *wire, uint32_t end)
{
    wire->open[end] = false;
    wire->ended = true;
    queue_empty(&wire->in[end]);
    if (!wire->open[!end])
        *wire = (struct field_wire){0};
}

struct field_wire *field_find(struct field *field,
                              uint32_t index,
                              uint32_t link,
                              uint32_t *end)
{
    for (uint32_t i = 0; i < FIELD_WIRES; i++) {
        struct field_wire *wire = &field->wires[i];

        for (*end = 0; wire->used && *end < 2; ++*end)
            if (wire->open[*end] && wire->node[*end] == index &&
                wire->link[*end] == link)
                return wire;
    }
    return NULL;
}

/* Change a sent frame as if the rule `without` did not exist. */
static void mutate(const struct field *field,
                   const struct frame *cause,
                   struct frame *frame)
{
    bool asked = cause && cause->type == FRAME_PROBE;

    if (frame->type != FRAME_PROBED || frame->tag == 1)
        return;
    if (field->bounds.without == FIELD_NO_FAIL ||
        (field->bounds.without == FIELD_NO_LOSS && !asked))
        frame->tag = 1;
}

static void push_frame(struct field *field,
                       struct field_queue *queue,
                       const struct frame *frame)
{
    if (queue->count == FIELD_QUEUE) {
        field->wrong = "more frames wait than there is room for";
        return;
    }
    queue->frames[queue->count++] = *frame;
}

/* Without probes, answer a candidate at once. Returns whether that was done. */
static bool is_answered(struct field *field,
                        struct field_wire *wire,
                        uint32_t end,
                        const struct frame *frame,
                        const struct frame *cause)
{
    struct frame answer = {
        .type = FRAME_PROBED,
        .tag = 1,
        .origin = frame->origin,
        .count = frame->count,
        .sequence = 1,
    };

    if (field->bounds.without != FIELD_NO_PROBE || frame->type != FRAME_PROBE ||
        !cause || cause->type != FRAME_ADOPT)
        return false;
    push_frame(field, &wire->in[end], &answer);
    return true;
}

static void send_frame(struct field *field,
                       uint32_t index,
                       struct action *action,
                       const struct frame *cause)
{
    struct frame frame = action->frame;
    struct field_wire *wire;
    uint32_t end;

    wire = field_find(field, index, action->link, &end);
    if (!wire) {
        field->wrong = "a frame is sent on a link that is closed";
        return;
    }
    mutate(field, cause, &frame);
    if (field->bounds.without == FIELD_NO_CHECK && frame.type == FRAME_DATA &&
        index < field->bounds.internal_count && frame.flags & FRAME_LAST)
        frame.check = field_waves_check(field);
    field_judge_frame(field, wire, end, &frame, cause);
    if (wire->ended || field->nodes[wire->node[!end]].inert ||
        (field->bounds.without == FIELD_DEAF && frame.type == FRAME_ADOPTED &&
         frame.tag == ADOPTION_OK) ||
        (field->bounds.without == FIELD_NO_REDO &&
         frame.type == FRAME_CONTROL && frame.tag == CONTROL_REDO) ||
        is_answered(field, wire, end, &frame, cause))
        return;
    if (frame.type == FRAME_ADOPT) {
        wire->height = (uint32_t)frame.sequence;
        wire->incarnation = frame.count;
        wire->last_resort = frame.tag == ADOPTION_LAST_RESORT;
    }
    push_frame(field, &wire->in[!end], &frame);
    if (!field->wrong)
        action->frame.payload = NULL;
}

static void close_link(struct field *field, uint32_t index, uint32_t link)
{
    uint32_t end;
    struct field_wire *wire = field_find(field, index, link, &end);

    if (!wire)
        field->wrong = "a link is closed twice";
    else
        end_close(wire, end);
}

static void act_on(struct field *field,
                   uint32_t index,
                   struct action *action,
                   const struct frame *cause)
{
    struct field_node *node = &field->nodes[index];

    switch (action->type) {
    case ACTION_SEND:
        send_frame(field, index, action, cause);
        return;
    case ACTION_CLOSE:
        close_link(field, index, action->link);
        return;
    case ACTION_DIAL:
        node->dialling = true;
        node->target = action->rank;
        node->attempts++;
        return;
    case ACTION_EXIT:
        field->wrong = "a node ends, and nobody asked it to";
        return;
    case ACTION_LOAD:
        node->loading = action->definition->id;
        return;
    case ACTION_FILTER:
        field->wrong = "a filter is called, and there is none";
        return;
    case ACTION_DELIVER:
        field_waves_take(field, action);
        return;
    case ACTION_TELL:
        field_waves_tell(field, action);
        return;
    case ACTION_CLOCK:
    case ACTION_RECORD:
    case ACTION_KNOCK:
    case ACTION_STOP:
    case ACTION_REPLACE:
    case ACTION_KILL:
    case ACTION_INJECT:
    case ACTION_SPAWN:
    case ACTION_RANK:
    case ACTION_UNLOAD:
        return;
    }
}

void field_step(struct field *field, uint32_t index, struct event *event)
{
    struct field_node *node = &field->nodes[index];
    struct frame cause = frame_ref(&event->frame);
    bool is_frame = event->type == EVENT_FRAME;
    const struct peer *parent = node->machine->parent;
    uint32_t link = parent ? parent->link : 0;
    struct actions actions = {0};
    char text[NODE_CHECK_TEXT];

    event->now_ms = node->clock_ms;
    if (node_step(node->machine, event, &actions) < 0)
        field->wrong = "a step fails";
    else if (!node_check(node->machine, text))
        field->wrong = "a node's state does not hold, see node_check()";
    field->switched =
        parent && node->machine->parent && node->machine->parent->link != link;
    for (size_t i = 0; i < actions.count; i++)
        act_on(field, index, &actions.list[i], is_frame ? &cause : NULL);
    field->switched = false;
    actions_fini(&actions);
    frame_fini(&cause);
    if (node->loading) {
        const struct stream_filters none = {.down_one_to_one = true};
        struct event loaded = {
            .type = EVENT_LOADED,
            .stream = node->loading,
            .filters = &none,
        };

        node->loading = 0;
        field_step(field, index, &loaded);
    }
}

static uint32_t free_link(struct field *field, uint32_t index)
{
    uint32_t link = 0, end;

    while (field_find(field, index, link, &end))
        link++;
    return link;
}

/* Both ends of a link have authenticated. */
static void join_ends(struct field *field, uint32_t below, uint32_t above)
{
    uint32_t ends[2] = {below, above};
    struct field_wire *wire = NULL;
    uint32_t life = field->nodes[below].machine->incarnation;

    for (uint32_t i = 0; i < FIELD_WIRES && !wire; i++)
        if (!field->wires[i].used)
            wire = &field->wires[i];
    if (!wire) {
        field->wrong = "more connections than there is room for";
        return;
    }
    wire->used = true;
    for (uint32_t end = 0; end < 2; end++) {
        wire->node[end] = ends[end];
        wire->link[end] = free_link(field, ends[end]);
        wire->open[end] = true;
    }
    for (uint32_t end = 2; end-- > 0 && wire->used && wire->open[end];) {
        struct event event = {
            .type = EVENT_LINK_UP,
            .link = wire->link[end],
            .rank = ends[!end],
            .role = field->nodes[ends[!end]].machine->role,
            .incarnation = end == 1 ? life : 0,
            .is_parent = end == 0,
        };

        field_step(field, ends[end], &event);
    }
}

/* ---- events that leave no choice ---- */

/* Whether the frame is a heartbeat with an orphan's attempt (PROTOCOL 6.1c). A
 * link's first heartbeat names a window, a regular one a version. */
static bool is_attempt(const struct frame *frame)
{
    return frame->type == FRAME_HEARTBEAT && frame->sequence == 0 &&
           frame->count < LIMIT_WINDOW_MIN;
}

/* Whether the time at which the frame arrives matters to a stream of whole
 * waves. */
static bool is_of_stream(const struct field *field, const struct frame *frame)
{
    switch (frame->type) {
    case FRAME_DATA:
    case FRAME_RESUME:
    case FRAME_CLAIM:
    case FRAME_FINAL:
    case FRAME_SKIP:
    case FRAME_EXPEL:
        return frame->stream == field->stream;
    case FRAME_CONTROL:
    case FRAME_SNAPSHOT:
        return true;
    default:
        return false;
    }
}

bool field_is_aside(const struct field *field, const struct frame *frame)
{
    static const bool is[UINT8_MAX + 1] = {
        [FRAME_DATA] = true,      [FRAME_MARKER] = true,
        [FRAME_CONTROL] = true,   [FRAME_SNAPSHOT] = true,
        [FRAME_RESUME] = true,    [FRAME_CLAIM] = true,
        [FRAME_STABLE] = true,    [FRAME_CREDIT] = true,
        [FRAME_FEED] = true,      [FRAME_COMPENSATION] = true,
        [FRAME_FAULT] = true,     [FRAME_HEARTBEAT] = true,
        [FRAME_RECOVERED] = true, [FRAME_EXPEL] = true,
    };

    if (field->bounds.waves > 0)
        return !is_of_stream(field, frame);
    return is[frame->type] && !is_attempt(frame);
}

/* Whether a record is no news to `node` and does not accuse it. It will never
 * be news (6.3), so the time at which it arrives does not matter. */
static bool is_old(const struct node *node, const struct frame *frame)
{
    const uint32_t *ranks, *incarnations, *parents;
    uint32_t count = 0, unused;
    struct cop_packet *packet = NULL;
    struct table_record known;
    const char *text;
    bool old = frame->type == FRAME_RECORD;

    if (!old || packet_open(&packet, frame->payload) < 0)
        return false;
    if (cop_packet_unpack(packet, "%aud %aud %aud %s", &ranks, &count,
                          &incarnations, &unused, &parents, &unused, &text) < 0)
        old = false;
    for (uint32_t i = 0; old && i < count; i++) {
        bool failed = parents[i] == TABLE_FAILED;

        if (ranks[i] == node->rank && failed)
            old = false; /* the node may refute it */
        else if (table_latest(node->heal.table, ranks[i], &known) < 0)
            old = false;
        else if (incarnations[i] != known.incarnation)
            old = incarnations[i] < known.incarnation;
        else
            old = !failed || known.parent == TABLE_FAILED;
    }
    cop_packet_free(packet);
    return old;
}

bool field_accuses(const struct frame *frame, uint32_t rank)
{
    const uint32_t *ranks, *incarnations, *parents;
    struct cop_packet *packet = NULL;
    uint32_t count = 0, unused;
    bool accused = false;
    const char *text;

    if (frame->type != FRAME_RECORD || packet_open(&packet, frame->payload) < 0)
        return false;
    if (cop_packet_unpack(packet, "%aud %aud %aud %s", &ranks, &count,
                          &incarnations, &unused, &parents, &unused,
                          &text) == 0)
        for (uint32_t i = 0; i < count; i++)
            accused |= ranks[i] == rank && parents[i] == TABLE_FAILED;
    cop_packet_free(packet);
    return accused;
}

/* Whether a record goes to a node that is never asked, and asks only the
 * front-end: in a star, any commnode. */
static bool is_idle(const struct field *field,
                    uint32_t index,
                    const struct frame *frame)
{
    return field->flat && index > 0 && frame->type == FRAME_RECORD &&
           !field_accuses(frame, index);
}

bool field_can_take(const struct field *field,
                    const struct field_wire *wire,
                    uint32_t end)
{
    const struct field_node *node = &field->nodes[wire->node[end]];

    return wire->used && wire->open[end] && node->machine && !node->inert &&
           !node->stopped;
}

/* Whether a mover handles the frame as if it did not move: 18.2 is missing. */
static bool is_blind(const struct field *field,
                     const struct node *node,
                     const struct frame *frame)
{
    enum field_rule without = field->bounds.without;

    return move_is_under_way(node) &&
           ((frame->type == FRAME_ADOPT &&
             (without == FIELD_PASSES || without == FIELD_ADOPTS)) ||
            (frame->type == FRAME_PROBE && without == FIELD_PASSES));
}

static void deliver(struct field *field, struct field_wire *wire, uint32_t end)
{
    struct field_queue *queue = &wire->in[end];
    struct node *node = field->nodes[wire->node[end]].machine;
    enum orphan_phase phase = node->heal.orphan.phase;
    bool blind = is_blind(field, node, &queue->frames[0]);
    struct event event = {
        .type = EVENT_FRAME,
        .link = wire->link[end],
        .frame = queue->frames[0],
    };

    queue->count--;
    memmove(queue->frames, queue->frames + 1,
            queue->count * sizeof(queue->frames[0]));
    memset(&queue->frames[queue->count], 0, sizeof(queue->frames[0]));
    if (blind)
        node->heal.orphan.phase = ORPHAN_NOT;
    field_step(field, wire->node[end], &event);
    if (blind)
        node->heal.orphan.phase = phase;
}

static void go_down(struct field *field, struct field_wire *wire, uint32_t end)
{
    uint32_t index = wire->node[end];
    struct event event = {
        .type = EVENT_LINK_DOWN,
        .link = wire->link[end],
        .text = "reset",
    };

    end_close(wire, end);
    field_step(field, index, &event);
}

/* Whether a node has no other events until this frame arrives: a back-end with
 * one link that will not end. Events elsewhere lead to the same states before
 * and after it. */
static bool is_alone(const struct field *field, uint32_t wire, uint32_t end)
{
    const struct field_wire *on = &field->wires[wire];
    const struct field_node *node = &field->nodes[on->node[end]];

    if (field->bounds.waves == 0 || field->faults < field->bounds.faults ||
        end == 1 || on->ended || node->machine->role != NODE_BACKEND ||
        node->sent < field->bounds.waves || !node->machine->parent ||
        node->machine->parent->link != on->link[0] ||
        field->nodes[on->node[1]].stopped)
        return false;
    for (uint32_t i = 0; i < FIELD_WIRES; i++)
        if (i != wire && field->wires[i].used &&
            field->wires[i].node[0] == on->node[0] && field->wires[i].open[0])
            return false;
    return true;
}

/* Whether the first frame to that end may arrive without a choice. */
static bool is_free(const struct field *field,
                    const struct field_need *need,
                    uint32_t wire,
                    uint32_t end)
{
    const struct field_wire *on = &field->wires[wire];
    const struct frame *frame = &on->in[end].frames[0];

    return field_can_take(field, on, end) && on->in[end].count > 0 &&
           (field_is_aside(field, frame) || is_alone(field, wire, end) ||
            is_idle(field, on->node[end], frame) ||
            field_is_needless(field, need, wire, end, frame) ||
            is_old(field->nodes[on->node[end]].machine, frame));
}

static void tell_gone(struct field *field, uint32_t index)
{
    struct event event = {
        .type = EVENT_CHILD_GONE,
        .rank = index,
        .text = "it was killed",
    };

    field->nodes[index].gone_due = false;
    field_step(field, field->nodes[index].parent, &event);
}

/* Perform all events that leave no choice. */
static void run_aside(struct field *field)
{
    struct field_need need;
    bool again = true;

    field_need(field, &need);
    for (uint32_t i = 0; i < field->node_count; i++)
        if (field_is_needless_end(field, &need, i))
            tell_gone(field, i);
    while (again && !field->wrong) {
        again = false;
        for (uint32_t i = 0; i < 2 * FIELD_WIRES; i++) {
            struct field_wire *wire = &field->wires[i / 2];

            while (is_free(field, &need, i / 2, i % 2)) {
                deliver(field, wire, i % 2);
                again = true;
            }
            if (i % 2 == 1 && field_is_needless_link(field, &need, i / 2)) {
                go_down(field, wire, 1);
                again = true;
            }
        }
    }
}

/* ---- launch ---- */

static bool is_lowest(const struct field_bounds *bounds, uint32_t index)
{
    for (uint32_t i = 1; i < bounds->internal_count; i++)
        if (bounds->parents[i] == index)
            return false;
    return true;
}

/* Add a back-end below each internal node without commnodes as children, or
 * below every internal node. */
static void plant_backends(struct field *field)
{
    const struct field_bounds *bounds = &field->bounds;

    for (uint32_t i = 0; i < bounds->internal_count; i++)
        field->nodes[field->node_count++].parent = bounds->parents[i];
    for (uint32_t i = 0; i < bounds->internal_count; i++)
        if (is_lowest(bounds, i) || (bounds->bushy && i > 0))
            field->nodes[field->node_count++].parent = i;
    if (bounds->twins)
        field->nodes[field->node_count++].parent = bounds->internal_count - 1;
}

static void make_machine(struct field *field, uint32_t index)
{
    const struct field_bounds *bounds = &field->bounds;
    struct node_child children[FIELD_NODES];
    struct node_config config = {
        .role = NODE_COMMNODE,
        .rank = index,
        .host = "h",
        .address = "a",
        .children = children,
        .next_rank = field->node_count,
        .times = {.heartbeat_ms = BEAT_MS,
                  .failure_timeout_ms = SILENCE_MS,
                  .connect_timeout_ms = 1,
                  .probe_timeout_ms = PROBE_MS,
                  .orphan_timeout_ms = ORPHAN_MS},
    };

    if (index == 0)
        config.role = NODE_FRONTEND;
    else if (index >= bounds->internal_count)
        config.role = NODE_BACKEND;
    for (uint32_t at = index; at > 0; at = field->nodes[at].parent)
        config.depth++;
    for (uint32_t i = 1; i < field->node_count; i++)
        if (field->nodes[i].parent == index)
            children[config.child_count++] = (struct node_child){
                .rank = i,
                .host = "h",
                .role =
                    i < bounds->internal_count ? NODE_COMMNODE : NODE_BACKEND,
            };
    if (node_new(&field->nodes[index].machine, &config) < 0)
        field->wrong = "a node cannot be made";
}

/* Let all frames arrive, and those sent in response. */
static void deliver_all(struct field *field)
{
    bool again = true;

    while (again && !field->wrong) {
        again = false;
        for (uint32_t i = 0; i < 2 * FIELD_WIRES; i++)
            while (field_can_take(field, &field->wires[i / 2], i % 2) &&
                   field->wires[i / 2].in[i % 2].count > 0) {
                deliver(field, &field->wires[i / 2], i % 2);
                again = true;
            }
    }
}

struct field *field_new(const struct field_bounds *bounds)
{
    struct field *field;

    arena_begin();
    field = calloc(1, sizeof(*field));
    field->bounds = *bounds;
    field->bounds.without = FIELD_ALL_RULES;
    field->flat =
        bounds->late && !bounds->any && !bounds->leaves && bounds->moves == 0;
    for (uint32_t i = 1; i < bounds->internal_count; i++)
        field->flat &= bounds->parents[i] == 0;
    plant_backends(field);
    for (uint32_t i = 0; i < field->node_count; i++)
        make_machine(field, i);
    for (uint32_t i = 0; i < field->node_count && !field->wrong; i++)
        field_step(field, i, &(struct event){.type = EVENT_START});
    for (uint32_t i = 1; i < field->node_count && !field->wrong; i++)
        join_ends(field, i, field->nodes[i].parent);
    deliver_all(field);
    for (uint32_t i = 0; i < field->node_count; i++) {
        struct field_node *node = &field->nodes[i];

        node->inert = i >= bounds->internal_count && !bounds->leaves;
        if (!node->machine->launched)
            field->wrong = "the launch is not complete";
        node->machine->next_beat_ms = UINT64_MAX;
        if (bounds->any)
            node->machine->heal.height_limit = LIMIT_NODES;
    }
    if (bounds->waves > 0) {
        field_waves_open(field);
        deliver_all(field);
    }
    field->bounds.without = bounds->without;
    return field;
}

/* ---- moves ---- */

static void crash_node(struct field *field, uint32_t index)
{
    struct field_node *node = &field->nodes[index];

    node_free(node->machine);
    node->machine = NULL;
    node->dialling = false;
    node->stopped = false;
    node->gone_due = field->nodes[node->parent].machine != NULL;
    for (uint32_t i = 0; i < FIELD_WIRES; i++) {
        struct field_wire *wire = &field->wires[i];

        for (uint32_t end = 0; wire->used && end < 2; end++) {
            if (!wire->open[end] || wire->node[end] != index)
                continue;
            if (field->nodes[wire->node[!end]].inert)
                wire->open[!end] = false;
            wire->cut = true;
            end_close(wire, end);
        }
    }
    for (uint32_t i = 0; i < field->node_count; i++)
        if (field->nodes[i].parent == index && i > 0)
            field->nodes[i].gone_due = false; /* its starter is dead */
}

static void tick_node(struct field *field, uint32_t index)
{
    field_step(field, index, &(struct event){.type = EVENT_TICK});
}

/* Let `index` receive a heartbeat on all links except `but`. */
static void hear_others(struct field *field,
                        uint32_t index,
                        const struct field_wire *but)
{
    for (uint32_t i = 0; i < 2 * FIELD_WIRES; i++) {
        struct field_wire *wire = &field->wires[i / 2];
        const struct peer *peer = field_peer(field, wire, i % 2);
        struct event event = {
            .type = EVENT_FRAME,
            .link = wire->link[i % 2],
            .frame = {.type = FRAME_HEARTBEAT},
        };

        if (peer && peer->life.state != LINK_UP)
            event.frame.count = 1; /* a link's first heartbeat names a window */
        if (wire->used && wire != but && wire->open[i % 2] &&
            wire->node[i % 2] == index)
            field_step(field, index, &event);
    }
}

/* Let only this link of the node be silent: the others receive heartbeats, and
 * the node's own clock does not jump. Its other timers wait: their expiry
 * before this is another schedule. */
static void be_silent(struct field *field,
                      struct field_wire *wire,
                      uint32_t end)
{
    uint32_t index = wire->node[end];
    struct field_node *node = &field->nodes[index];

    node->machine->heal.orphan.deadline_ms = node->clock_ms + PROBE_MS;
    for (uint32_t i = 0; i < 3; i++) {
        hear_others(field, index, wire);
        tick_node(field, index);
        node->clock_ms += i < 2 ? SILENCE_MS / 2 : 0;
    }
    if (wire->used && wire->open[end] && wire->node[end] == index)
        field->wrong = "a silent link is kept";
}

/* Let only the orphan's timer expire: no link is silent in that time. */
static void expire(struct field *field, uint32_t index)
{
    struct field_node *node = &field->nodes[index];
    uint64_t due_ms = orphan_deadline_ms(node->machine);

    if (due_ms > node->clock_ms)
        node->clock_ms = due_ms;
    hear_others(field, index, NULL);
    tick_node(field, index);
}

/* If any candidate may be asked, aim the dial of `index` at `target`. */
static void aim_dial(struct field *field, uint32_t index, uint32_t target)
{
    field->nodes[index].dialling = false;
    field->nodes[index].target = target;
    field->nodes[index].machine->heal.orphan.target = target;
}

/* Make a fault; `victim` is a node, or a wire. */
static void make_fault(struct field *field,
                       enum field_kind kind,
                       uint32_t victim)
{
    field->faults++;
    if (kind == FIELD_CRASH) {
        crash_node(field, victim);
    } else if (kind == FIELD_STOP) {
        field->nodes[victim].stopped = true;
    } else {
        field->wires[victim].ended = true;
        field->wires[victim].cut = true;
    }
}

static void resume(struct field *field, uint32_t index)
{
    field->nodes[index].stopped = false;
    field->nodes[index].clock_ms += SILENCE_MS;
}

static void happen(struct field *field, const struct field_move *move)
{
    struct field_wire *wire = &field->wires[move->wire];
    struct event event = {.rank = move->other, .text = "it was killed"};

    if (move->fault != FIELD_DELIVER)
        make_fault(field, move->fault, move->victim);
    switch (move->kind) {
    case FIELD_DELIVER:
        deliver(field, wire, move->node);
        break;
    case FIELD_DOWN:
        go_down(field, wire, move->node);
        break;
    case FIELD_CONNECT:
        aim_dial(field, move->node, move->other);
        join_ends(field, move->node, move->other);
        break;
    case FIELD_REFUSED:
        aim_dial(field, move->node, move->other);
        event.type = EVENT_UNREACHABLE;
        event.refused = true;
        field_step(field, move->node, &event);
        break;
    case FIELD_EXPIRE:
        expire(field, move->node);
        break;
    case FIELD_SILENCE:
        event.rank = wire->node[!move->node];
        be_silent(field, wire, move->node);
        if (move->resume)
            resume(field, event.rank);
        break;
    case FIELD_GONE:
        tell_gone(field, move->other);
        break;
    case FIELD_RESUME:
        resume(field, move->node);
        break;
    case FIELD_SEND:
        field_waves_send(field, move->node);
        break;
    case FIELD_PLAN:
        field->moves++;
        event.type = EVENT_MOVE;
        event.parent = move->other;
        field_step(field, move->node, &event);
        break;
    case FIELD_CRASH:
    case FIELD_STOP:
        make_fault(field, move->kind, move->node);
        break;
    case FIELD_BREAK:
        make_fault(field, move->kind, move->wire);
        break;
    }
}

void field_move(struct field *field, const struct field_move *move)
{
    field->answer = 0;
    happen(field, move);
    run_aside(field);
    if (!field->wrong)
        field_judge_tree(field);
}
