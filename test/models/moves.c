/* moves.c - the possible moves, and the fair schedule at the end. */
#include <stdlib.h>

#include "test/models/field.h"

/* More rounds than a tree of FIELD_NODES can need to become whole. */
#define SETTLE_ROUNDS 400

static struct field_move *add_move(struct field_move *moves,
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

        if (!field_can_take(field, wire, end))
            continue;
        if (wire->in[end].count > 0)
            kinds[n++] = FIELD_DELIVER;
        if (wire->ended &&
            (wire->cut || !field->bounds.orderly || wire->in[end].count == 0))
            kinds[n++] = FIELD_DOWN;
        else if (field->nodes[wire->node[!end]].stopped)
            kinds[n++] = FIELD_SILENCE;
        while (n-- > 0) {
            struct field_move *move = add_move(moves, count, kinds[n]);

            move->wire = i / 2;
            move->node = end;
        }
    }
}

/* List the results of the dial of `index`. */
static void list_dial(const struct field *field,
                      uint32_t index,
                      struct field_move *moves,
                      uint32_t *count)
{
    const struct field_node *node = &field->nodes[index];
    bool any = field->bounds.any && !field->settling &&
               !move_is_under_way(node->machine);

    for (uint32_t i = 0; i < field->bounds.internal_count; i++) {
        const struct field_node *other = &field->nodes[i];
        struct field_move *move;

        if (i == index || (!any && i != node->target) || other->stopped)
            continue;
        move = add_move(moves, count,
                        other->machine ? FIELD_CONNECT : FIELD_REFUSED);
        move->node = index;
        move->other = i;
    }
}

/* Whether a timer of an orphan may expire: at any time; if a stream of whole
 * waves is searched, only if the attempt can have no other result. */
static bool may_expire(const struct field *field, uint32_t index)
{
    const struct field_node *node = &field->nodes[index];
    enum orphan_phase phase = node->machine->heal.orphan.phase;

    if (field->bounds.waves == 0 || field->settling)
        return phase != ORPHAN_NOT;
    return phase == ORPHAN_PAUSE;
}

static void list_nodes(const struct field *field,
                       struct field_move *moves,
                       uint32_t *count)
{
    for (uint32_t i = 0; i < field->node_count; i++) {
        const struct field_node *node = &field->nodes[i];
        const struct field_node *parent = &field->nodes[node->parent];
        bool held = !field->settling && field_is_held(field, i);

        if (node->stopped && (field->settling || !field->bounds.late))
            add_move(moves, count, FIELD_RESUME)->node = i;
        if (!node->machine && node->gone_due && parent->machine &&
            !parent->stopped) {
            struct field_move *move = add_move(moves, count, FIELD_GONE);

            move->node = node->parent;
            move->other = i;
        }
        if (!node->machine || node->inert || node->stopped || held)
            continue;
        if (node->dialling)
            list_dial(field, i, moves, count);
        if (may_expire(field, i))
            add_move(moves, count, FIELD_EXPIRE)->node = i;
        if (field_waves_can_send(field, i))
            add_move(moves, count, FIELD_SEND)->node = i;
    }
}

/* List the moves that can be planned now. */
static void list_plans(const struct field *field,
                       struct field_move *moves,
                       uint32_t *count)
{
    bool one = false;

    for (uint32_t i = 1; i < field->bounds.internal_count; i++)
        one |= field->nodes[i].machine &&
               move_is_under_way(field->nodes[i].machine);
    if (field->settling || field->moves >= field->bounds.moves ||
        (one && !field->bounds.overlap))
        return;
    for (uint32_t i = 1; i < field->bounds.internal_count; i++) {
        const struct field_node *node = &field->nodes[i];

        if (!node->machine || !node->machine->parent || node->stopped ||
            node->machine->heal.orphan.phase != ORPHAN_NOT ||
            field_dials_left(field, i) == 0)
            continue;
        for (uint32_t to = 0; to < field->bounds.internal_count; to++) {
            struct field_move *move;

            if (to == i || to == node->machine->parent->rank)
                continue;
            move = add_move(moves, count, FIELD_PLAN);
            move->node = i;
            move->other = to;
        }
    }
}

static bool may_stop(const struct field *field)
{
    return field->bounds.stops || field->bounds.waves == 0;
}

/* A back-end with waves does not crash, as it would have to be given up. */
static bool may_crash(const struct field *field, uint32_t index)
{
    return index < field->bounds.internal_count ||
           (field->bounds.leaves && field->bounds.waves == 0);
}

static void list_faults(const struct field *field,
                        struct field_move *moves,
                        uint32_t *count)
{
    for (uint32_t i = 0; i < field->node_count; i++) {
        const struct field_node *node = &field->nodes[i];

        if (!node->machine || node->inert)
            continue;
        if (i > 0 && may_crash(field, i))
            add_move(moves, count, FIELD_CRASH)->node = i;
        if (!node->stopped && may_stop(field))
            add_move(moves, count, FIELD_STOP)->node = i;
    }
    for (uint32_t i = 0; i < FIELD_WIRES; i++) {
        const struct field_wire *wire = &field->wires[i];

        if (wire->used && !wire->ended && !field->nodes[wire->node[0]].inert)
            add_move(moves, count, FIELD_BREAK)->wire = i;
    }
}

/* ---- faults that come when they are noticed (search.md) ---- */

/* Whether the node at that end can find the other node silent, if that is
 * stopped: it cannot find the link down before. */
static bool may_be_silent(const struct field *field,
                          const struct field_wire *wire,
                          uint32_t end)
{
    return field_can_take(field, wire, end) &&
           !(wire->ended &&
             (wire->cut || !field->bounds.orderly || wire->in[end].count == 0));
}

/* Whether any node except the one on `but` can still find `index` silent. */
static bool has_hearer(const struct field *field,
                       uint32_t index,
                       const struct field_wire *but)
{
    for (uint32_t i = 0; i < 2 * FIELD_WIRES; i++) {
        const struct field_wire *wire = &field->wires[i / 2];
        uint32_t end = i % 2;

        if (wire != but && wire->used && wire->node[!end] == index &&
            wire->open[end] && field->nodes[wire->node[end]].machine &&
            !field->nodes[wire->node[end]].inert)
            return true;
    }
    return false;
}

/* Each SILENCE in the list from `from` on may be its node's last, after which
 * the node continues. It must be the last if no other node can notice. */
static void list_resumes(const struct field *field,
                         struct field_move *moves,
                         uint32_t from,
                         uint32_t *count)
{
    uint32_t end = *count;

    for (uint32_t i = from; i < end; i++) {
        const struct field_wire *wire = &field->wires[moves[i].wire];

        if (moves[i].kind != FIELD_SILENCE)
            continue;
        if (has_hearer(field, wire->node[!moves[i].node], wire)) {
            struct field_move *move = add_move(moves, count, FIELD_SILENCE);

            *move = moves[i];
            move->resume = true;
        } else {
            moves[i].resume = true;
        }
    }
}

static void list_late_crash(const struct field *field,
                            uint32_t index,
                            struct field_move *moves,
                            uint32_t *count)
{
    const struct field_node *node = &field->nodes[index];
    const struct field_node *parent = &field->nodes[node->parent];
    uint32_t begin = *count;

    for (uint32_t i = 0; i < 2 * FIELD_WIRES; i++) {
        const struct field_wire *wire = &field->wires[i / 2];
        uint32_t end = i % 2;

        if (!field_can_take(field, wire, end) || !wire->open[!end] ||
            wire->node[!end] != index)
            continue;
        add_move(moves, count, FIELD_DOWN)->wire = i / 2;
        moves[*count - 1].node = end;
    }
    if (parent->machine && !parent->stopped) {
        add_move(moves, count, FIELD_GONE)->node = node->parent;
        moves[*count - 1].other = index;
    }
    for (uint32_t i = 0; i < field->node_count; i++) {
        const struct field_node *other = &field->nodes[i];

        if (i == index || !other->machine || other->stopped || other->inert ||
            !other->dialling || field_is_held(field, i) ||
            (other->target != index &&
             (!field->bounds.any || move_is_under_way(other->machine))))
            continue;
        add_move(moves, count, FIELD_REFUSED)->node = i;
        moves[*count - 1].other = index;
    }
    if (*count == begin) { /* no node notices, at least not now */
        add_move(moves, count, FIELD_CRASH)->node = index;
        return;
    }
    for (uint32_t i = begin; i < *count; i++) {
        moves[i].fault = FIELD_CRASH;
        moves[i].victim = index;
    }
}

/* List each fault together with the first event by which a node notices it. */
static void list_late(const struct field *field,
                      struct field_move *moves,
                      uint32_t *count)
{
    for (uint32_t i = 1; i < field->node_count; i++)
        if (field->nodes[i].machine && may_crash(field, i))
            list_late_crash(field, i, moves, count);
    for (uint32_t i = 0; i < 2 * FIELD_WIRES; i++) {
        const struct field_wire *wire = &field->wires[i / 2];
        uint32_t end = i % 2, other = wire->node[!end];
        struct field_move *move;

        if (!field_can_take(field, wire, end) || field->nodes[other].inert)
            continue;
        if (!wire->ended ||
            (field->bounds.orderly && !wire->cut && wire->in[end].count > 0)) {
            move = add_move(moves, count, FIELD_DOWN);
            move->wire = i / 2;
            move->node = end;
            move->fault = FIELD_BREAK;
            move->victim = i / 2;
        }
        if (may_stop(field) && may_be_silent(field, wire, end) &&
            field->nodes[other].machine && !field->nodes[other].stopped) {
            uint32_t from = *count;

            move = add_move(moves, count, FIELD_SILENCE);
            move->wire = i / 2;
            move->node = end;
            move->fault = FIELD_STOP;
            move->victim = other;
            list_resumes(field, moves, from, count);
        }
    }
}

bool field_is_calm(const struct field *field)
{
    if (!field->bounds.late || field->faults < field->bounds.faults ||
        field->moves < field->bounds.moves || field->bounds.waves > 0)
        return false;
    for (uint32_t i = 0; i < field->node_count; i++) {
        const struct field_node *node = &field->nodes[i];

        if (!node->machine
                ? node->gone_due && field->nodes[node->parent].machine
                : !node->inert &&
                      (node->stopped || node->dialling ||
                       node->machine->heal.orphan.phase != ORPHAN_NOT))
            return false;
    }
    for (uint32_t i = 0; i < 2 * FIELD_WIRES; i++) {
        const struct field_wire *wire = &field->wires[i / 2];
        const struct field_queue *queue = &wire->in[i % 2];

        if (!field_can_take(field, wire, i % 2))
            continue;
        if (wire->ended)
            return false;
        for (uint32_t k = 0; k < queue->count; k++)
            if (!field_is_aside(field, &queue->frames[k]) &&
                (queue->frames[k].type != FRAME_RECORD ||
                 field->bounds.needed) &&
                queue->frames[k].type != FRAME_FAN_OUT)
                return false;
    }
    return true;
}

uint32_t field_moves(const struct field *field,
                     struct field_move *moves,
                     uint32_t *faults_at)
{
    uint32_t count = 0;

    list_wires(field, moves, &count);
    if (field->bounds.late && !field->settling)
        list_resumes(field, moves, 0, &count);
    list_nodes(field, moves, &count);
    *faults_at = count;
    list_plans(field, moves, &count);
    if (field->settling || field->faults >= field->bounds.faults)
        return count;
    if (field->bounds.late)
        list_late(field, moves, &count);
    else
        list_faults(field, moves, &count);
    return count;
}

/* ---- at the end ---- */

/* Whether the front-end's table has the node below its parent. */
static bool is_known(const struct field *field, uint32_t index)
{
    const struct table *table = field->nodes[0].machine->heal.table;
    struct table_entry entry;

    return index >= field->bounds.internal_count ||
           (table_entry(table, index, &entry) == 0 && !entry.failed &&
            entry.parent == field->nodes[index].machine->parent->rank);
}

/* Whether the front-end's table has a path for a dead node. A doubt (6.1a) lasts
 * longer than a search waits. */
static bool is_believed(const struct field *field, uint32_t index)
{
    for (uint32_t i = 0; i < field->node_count; i++)
        if (field->nodes[i].machine && field->nodes[i].machine->doubt_count > 0)
            return false;
    return index < field->bounds.internal_count &&
           !field->nodes[index].machine &&
           table_depth(field->nodes[0].machine->heal.table, index) !=
               TABLE_NO_PATH;
}

/* Whether a node has a child whose parent is another one. */
static bool has_stray(const struct field *field)
{
    for (uint32_t i = 0; i < FIELD_WIRES; i++) {
        const struct field_wire *wire = &field->wires[i];
        const struct peer *below = field_peer(field, wire, 0);
        const struct peer *above = field_peer(field, wire, 1);

        if (!field->nodes[wire->node[0]].inert && above && above->ready &&
            (!below || field->nodes[wire->node[0]].machine->parent != below))
            return true;
    }
    return false;
}

/* The first move that is no timer; if there is none, the first timer. */
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

        if (is_believed(field, i))
            return "a node is dead, and the front-end does not know";
        if (!node->machine || node->inert)
            continue;
        wire = node->machine->parent
                   ? field_find(field, i, node->machine->parent->link, &end)
                   : NULL;
        if (!wire || wire->ended || !field_peer(field, wire, 1) ||
            !field_peer(field, wire, 1)->ready)
            return "a live node is not attached, and nothing is left to do";
        if (!is_known(field, i))
            return "the front-end does not know where a node is";
    }
    if (has_stray(field))
        return "a node has a child that has another parent";
    return field_waves_settled(field);
}
