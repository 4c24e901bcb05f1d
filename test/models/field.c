/* field.c - machines and wires: what happens when a move is made. */
#include "test/models/field.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/packet.h"
#include "test/models/arena.h"

/* Timers run out when the search says so, never before: silence lasts longer
 * than any attempt takes, an orphan never gives up. */
#define BEAT_MS    UINT32_C(10000000)
#define SILENCE_MS UINT32_C(20000000)
#define PROBE_MS   UINT32_C(25000000)
#define ORPHAN_MS  UINT32_C(3000000000)

/* More rounds than a tree of FIELD_NODES can need to be whole again. */
#define SETTLE_ROUNDS 400

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

/* That end is gone; with both, so is the wire. */
static void end_close(struct field_wire *wire, uint32_t end)
{
    wire->open[end] = false;
    wire->ended = true;
    queue_empty(&wire->in[end]);
    if (!wire->open[!end])
        *wire = (struct field_wire){0};
}

/* Who has this link, and at which end. */
static struct field_wire *find(struct field *field,
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

/* What a rule that is taken away makes of a frame that is sent. */
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

static void send(struct field *field,
                 uint32_t index,
                 struct action *action,
                 const struct frame *cause)
{
    struct frame frame = action->frame;
    struct field_queue *queue;
    struct field_wire *wire;
    uint32_t end;

    wire = find(field, index, action->link, &end);
    if (!wire) {
        field->wrong = "a frame is sent on a link that is closed";
        return;
    }
    mutate(field, cause, &frame);
    field_judge_frame(field, wire, end, &frame, cause);
    if (wire->ended || field->nodes[wire->node[!end]].inert ||
        (field->bounds.without == FIELD_DEAF && frame.type == FRAME_ADOPTED &&
         frame.tag == ADOPTION_OK))
        return;
    if (frame.type == FRAME_ADOPT) {
        wire->height = (uint32_t)frame.sequence;
        wire->incarnation = frame.count;
        wire->last_resort = frame.tag == ADOPTION_LAST_RESORT;
    }
    queue = &wire->in[!end];
    if (queue->count == FIELD_QUEUE) {
        field->wrong = "more frames wait than there is room for";
        return;
    }
    action->frame.payload = NULL;
    queue->frames[queue->count++] = frame;
}

static void close_link(struct field *field, uint32_t index, uint32_t link)
{
    uint32_t end;
    struct field_wire *wire = find(field, index, link, &end);

    if (!wire)
        field->wrong = "a link is closed twice";
    else
        end_close(wire, end);
}

static void act(struct field *field,
                uint32_t index,
                struct action *action,
                const struct frame *cause)
{
    struct field_node *node = &field->nodes[index];

    switch (action->type) {
    case ACTION_SEND:
        send(field, index, action, cause);
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
    case ACTION_FILTER:
        field->wrong = "a filter is called, and there is none";
        return;
    case ACTION_CLOCK:
    case ACTION_STOP:
    case ACTION_INJECT:
    case ACTION_SPAWN:
    case ACTION_RANK:
    case ACTION_UNLOAD:
    case ACTION_DELIVER:
    case ACTION_TELL:
        return;
    }
}

/* Step one machine, and do what it asks for. A frame of the event is taken. */
static void step(struct field *field, uint32_t index, struct event *event)
{
    struct field_node *node = &field->nodes[index];
    struct frame cause = frame_ref(&event->frame);
    bool is_frame = event->type == EVENT_FRAME;
    bool attached = node->machine->parent != NULL;
    struct actions actions = {0};

    event->now_ms = node->clock_ms;
    if (node_step(node->machine, event, &actions) < 0)
        field->wrong = "a step fails";
    for (size_t i = 0; i < actions.count; i++)
        act(field, index, &actions.list[i], is_frame ? &cause : NULL);
    actions_fini(&actions);
    frame_fini(&cause);
    if (field->bounds.without == FIELD_ANEW && !attached &&
        node->machine->parent && node->machine->launched) {
        node->machine->incarnation = 0;
        node->taken = 0;
    }
}

static uint32_t free_link(struct field *field, uint32_t index)
{
    uint32_t link = 0, end;

    while (find(field, index, link, &end))
        link++;
    return link;
}

/* Both ends have proved each other. */
static void join(struct field *field, uint32_t below, uint32_t above)
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

        step(field, ends[end], &event);
    }
}

/* ---- what can be done without choice ---- */

bool field_is_aside(const struct frame *frame)
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

    return is[frame->type];
}

/* Whether a record is no news to `node` and does not accuse it. What is no
 * news will never be any (6.3), so that it does not matter when it comes. */
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
            old = false; /* it may refute */
        else if (table_latest(node->table, ranks[i], &known) < 0)
            old = false;
        else if (incarnations[i] != known.incarnation)
            old = incarnations[i] < known.incarnation;
        else
            old = !failed || known.parent == TABLE_FAILED;
    }
    cop_packet_free(packet);
    return old;
}

static bool can_take(const struct field *field,
                     const struct field_wire *wire,
                     uint32_t end)
{
    const struct field_node *node = &field->nodes[wire->node[end]];

    return wire->used && wire->open[end] && node->machine && !node->inert &&
           !node->stopped;
}

static void deliver(struct field *field, struct field_wire *wire, uint32_t end)
{
    struct field_queue *queue = &wire->in[end];
    struct event event = {
        .type = EVENT_FRAME,
        .link = wire->link[end],
        .frame = queue->frames[0],
    };

    queue->count--;
    memmove(queue->frames, queue->frames + 1,
            queue->count * sizeof(queue->frames[0]));
    memset(&queue->frames[queue->count], 0, sizeof(queue->frames[0]));
    step(field, wire->node[end], &event);
}

/* Let arrive what is next somewhere and needs no choice. */
static void run_aside(struct field *field)
{
    bool again = true;

    while (again && !field->wrong) {
        again = false;
        for (uint32_t i = 0; i < 2 * FIELD_WIRES; i++) {
            struct field_wire *wire = &field->wires[i / 2];
            uint32_t end = i % 2;

            while (can_take(field, wire, end) && wire->in[end].count > 0 &&
                   (field_is_aside(&wire->in[end].frames[0]) ||
                    is_old(field->nodes[wire->node[end]].machine,
                           &wire->in[end].frames[0]))) {
                deliver(field, wire, end);
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

/* Add back-ends: one below each internal node that has no commnode below it,
 * or below every one. */
static void plant(struct field *field)
{
    const struct field_bounds *bounds = &field->bounds;

    for (uint32_t i = 0; i < bounds->internal_count; i++)
        field->nodes[field->node_count++].parent = bounds->parents[i];
    for (uint32_t i = 0; i < bounds->internal_count; i++)
        if (is_lowest(bounds, i) || (bounds->bushy && i > 0))
            field->nodes[field->node_count++].parent = i;
}

static void make(struct field *field, uint32_t index)
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

struct field *field_new(const struct field_bounds *bounds)
{
    struct field *field;
    bool again = true;

    arena_begin();
    field = calloc(1, sizeof(*field));
    field->bounds = *bounds;
    field->bounds.without = FIELD_ALL_RULES;
    plant(field);
    for (uint32_t i = 0; i < field->node_count; i++)
        make(field, i);
    for (uint32_t i = 0; i < field->node_count && !field->wrong; i++)
        step(field, i, &(struct event){.type = EVENT_START});
    for (uint32_t i = 1; i < field->node_count && !field->wrong; i++)
        join(field, i, field->nodes[i].parent);
    while (again && !field->wrong) {
        again = false;
        for (uint32_t i = 0; i < 2 * FIELD_WIRES; i++)
            while (can_take(field, &field->wires[i / 2], i % 2) &&
                   field->wires[i / 2].in[i % 2].count > 0) {
                deliver(field, &field->wires[i / 2], i % 2);
                again = true;
            }
    }
    for (uint32_t i = 0; i < field->node_count; i++) {
        struct field_node *node = &field->nodes[i];

        node->inert = i >= bounds->internal_count && !bounds->leaves;
        if (!node->machine->launched)
            field->wrong = "the launch is not complete";
        if (bounds->any)
            node->machine->height_limit = LIMIT_NODES;
    }
    field->bounds.without = bounds->without;
    return field;
}

/* ---- moves ---- */

static void crash(struct field *field, uint32_t index)
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
            field->nodes[i].gone_due = false; /* nobody to report it to */
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
    step(field, index, &event);
}

static void tick(struct field *field, uint32_t index)
{
    step(field, index, &(struct event){.type = EVENT_TICK});
}

/* Something is heard on all links of `index` but one. */
static void hear(struct field *field,
                 uint32_t index,
                 const struct field_wire *but)
{
    for (uint32_t i = 0; i < 2 * FIELD_WIRES; i++) {
        struct field_wire *wire = &field->wires[i / 2];
        struct event event = {
            .type = EVENT_FRAME,
            .link = wire->link[i % 2],
            .frame = {.type = FRAME_HEARTBEAT, .count = 1},
        };

        if (wire->used && wire != but && wire->open[i % 2] &&
            wire->node[i % 2] == index)
            step(field, index, &event);
    }
}

/* All other links are heard in time, so that only this one is silent, and
 * the node's own clock did not stand still. Its other timers wait: whether
 * they run out before is another schedule. */
static void be_silent(struct field *field,
                      struct field_wire *wire,
                      uint32_t end)
{
    uint32_t index = wire->node[end];
    struct field_node *node = &field->nodes[index];

    node->machine->orphan.deadline_ms = node->clock_ms + PROBE_MS;
    for (uint32_t i = 0; i < 3; i++) {
        hear(field, index, wire);
        tick(field, index);
        node->clock_ms += i < 2 ? SILENCE_MS / 2 : 0;
    }
    if (wire->used && wire->open[end] && wire->node[end] == index)
        field->wrong = "a silent link is kept";
}

/* Only this timer runs out: no link is silent meanwhile. */
static void expire(struct field *field, uint32_t index)
{
    struct field_node *node = &field->nodes[index];
    uint64_t due_ms = orphan_deadline_ms(node->machine);

    if (due_ms > node->clock_ms)
        node->clock_ms = due_ms;
    hear(field, index, NULL);
    tick(field, index);
}

/* The dial of `index`, where any candidate may be asked: of that one. */
static void aim(struct field *field, uint32_t index, uint32_t target)
{
    field->nodes[index].dialling = false;
    field->nodes[index].target = target;
    field->nodes[index].machine->orphan.target = target;
}

static void happen(struct field *field, const struct field_move *move)
{
    struct field_wire *wire = &field->wires[move->wire];
    struct event event = {.rank = move->other, .text = "it was killed"};

    switch (move->kind) {
    case FIELD_DELIVER:
        deliver(field, wire, move->node);
        break;
    case FIELD_DOWN:
        go_down(field, wire, move->node);
        break;
    case FIELD_CONNECT:
        aim(field, move->node, move->other);
        join(field, move->node, move->other);
        break;
    case FIELD_REFUSED:
        aim(field, move->node, move->other);
        event.type = EVENT_UNREACHABLE;
        event.refused = true;
        step(field, move->node, &event);
        break;
    case FIELD_EXPIRE:
        expire(field, move->node);
        break;
    case FIELD_SILENCE:
        be_silent(field, wire, move->node);
        break;
    case FIELD_GONE:
        field->nodes[move->other].gone_due = false;
        event.type = EVENT_CHILD_GONE;
        step(field, move->node, &event);
        break;
    case FIELD_RESUME:
        field->nodes[move->node].stopped = false;
        field->nodes[move->node].clock_ms += SILENCE_MS;
        break;
    case FIELD_CRASH:
        crash(field, move->node);
        break;
    case FIELD_BREAK:
        wire->ended = true;
        wire->cut = true;
        break;
    case FIELD_STOP:
        field->nodes[move->node].stopped = true;
        break;
    }
    field->faults += move->kind >= FIELD_CRASH;
}

void field_move(struct field *field, const struct field_move *move)
{
    field->answer = 0;
    happen(field, move);
    run_aside(field);
    if (!field->wrong)
        field_judge_tree(field);
}

static struct field_move *add(struct field_move *moves,
                              uint32_t *count,
                              enum field_kind kind)
{
    struct field_move *move = &moves[(*count)++];

    if (*count > FIELD_MOVES)
        abort();
    *move = (struct field_move){.kind = kind};
    return move;
}

static void list_wires(const struct field *field,
                       struct field_move *moves,
                       uint32_t *count)
{
    for (uint32_t i = 0; i < 2 * FIELD_WIRES; i++) {
        const struct field_wire *wire = &field->wires[i / 2];
        uint32_t end = i % 2;
        enum field_kind kinds[3];
        uint32_t n = 0;

        if (!can_take(field, wire, end))
            continue;
        if (wire->in[end].count > 0)
            kinds[n++] = FIELD_DELIVER;
        if (wire->ended &&
            (wire->cut || !field->bounds.orderly || wire->in[end].count == 0))
            kinds[n++] = FIELD_DOWN;
        else if (field->nodes[wire->node[!end]].stopped)
            kinds[n++] = FIELD_SILENCE;
        while (n-- > 0) {
            struct field_move *move = add(moves, count, kinds[n]);

            move->wire = i / 2;
            move->node = end;
        }
    }
}

/* The dial of `index` may come to something, or not. */
static void list_dial(const struct field *field,
                      uint32_t index,
                      struct field_move *moves,
                      uint32_t *count)
{
    const struct field_node *node = &field->nodes[index];
    bool any = field->bounds.any && !field->settling;

    for (uint32_t i = 0; i < field->bounds.internal_count; i++) {
        const struct field_node *other = &field->nodes[i];
        struct field_move *move;

        if (i == index || (!any && i != node->target) || other->stopped)
            continue;
        move =
            add(moves, count, other->machine ? FIELD_CONNECT : FIELD_REFUSED);
        move->node = index;
        move->other = i;
    }
}

static void list_nodes(const struct field *field,
                       struct field_move *moves,
                       uint32_t *count)
{
    for (uint32_t i = 0; i < field->node_count; i++) {
        const struct field_node *node = &field->nodes[i];
        const struct field_node *parent = &field->nodes[node->parent];
        bool held = !field->settling && node->attempts > field->bounds.attempts;

        if (node->stopped)
            add(moves, count, FIELD_RESUME)->node = i;
        if (!node->machine && node->gone_due && parent->machine &&
            !parent->stopped) {
            struct field_move *move = add(moves, count, FIELD_GONE);

            move->node = node->parent;
            move->other = i;
        }
        if (!node->machine || node->inert || node->stopped || held)
            continue;
        if (node->dialling)
            list_dial(field, i, moves, count);
        if (node->machine->orphan.phase != ORPHAN_NOT)
            add(moves, count, FIELD_EXPIRE)->node = i;
    }
}

static void list_faults(const struct field *field,
                        struct field_move *moves,
                        uint32_t *count)
{
    for (uint32_t i = 0; i < field->node_count; i++) {
        const struct field_node *node = &field->nodes[i];

        if (!node->machine || node->inert)
            continue;
        if (i > 0)
            add(moves, count, FIELD_CRASH)->node = i;
        if (!node->stopped)
            add(moves, count, FIELD_STOP)->node = i;
    }
    for (uint32_t i = 0; i < FIELD_WIRES; i++) {
        const struct field_wire *wire = &field->wires[i];

        if (wire->used && !wire->ended && !field->nodes[wire->node[0]].inert)
            add(moves, count, FIELD_BREAK)->wire = i;
    }
}

uint32_t field_moves(const struct field *field,
                     struct field_move *moves,
                     uint32_t *faults_at)
{
    uint32_t count = 0;

    list_wires(field, moves, &count);
    list_nodes(field, moves, &count);
    *faults_at = count;
    if (!field->settling && field->faults < field->bounds.faults)
        list_faults(field, moves, &count);
    return count;
}

/* ---- liveness ---- */

/* The first move that is not a timer; else the first timer. */
static const struct field_move *patient(const struct field_move *moves,
                                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (moves[i].kind != FIELD_EXPIRE)
            return &moves[i];
    return count > 0 ? &moves[0] : NULL;
}

const char *field_settle(struct field *field)
{
    struct field_move moves[FIELD_MOVES];
    uint32_t faults_at, rounds;

    field->settling = true;
    for (rounds = 0; rounds < SETTLE_ROUNDS && !field->wrong; rounds++) {
        uint32_t count = field_moves(field, moves, &faults_at);
        const struct field_move *move = patient(moves, count);

        if (!move)
            break;
        field_move(field, move);
    }
    if (field->wrong)
        return field->wrong;
    if (rounds == SETTLE_ROUNDS)
        return "an orphan is not adopted, and nothing fails any more";
    for (uint32_t i = 1; i < field->node_count; i++) {
        const struct field_node *node = &field->nodes[i];
        uint32_t end = 0;
        const struct field_wire *wire;

        if (!node->machine || node->inert)
            continue;
        wire = node->machine->parent
                   ? find(field, i, node->machine->parent->link, &end)
                   : NULL;
        if (!wire || wire->ended || !field_peer(field, wire, 1) ||
            !field_peer(field, wire, 1)->ready)
            return "a live node is not attached, and nothing is left to do";
    }
    return NULL;
}
