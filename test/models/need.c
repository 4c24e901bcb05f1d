/* need.c - which of the nodes' knowledge of each other can still matter.
 *
 * After all faults, most nodes have their final parent, and never look for
 * another one. Their knowledge of others, and records in flight to them, then
 * change nothing except three bits per record (search.md). */
#include "test/models/field.h"

#include "wire/packet.h"

/* The bits of a record that matter to every node. */
#define BIT_LAG     1u /* its parent does not know this incarnation yet */
#define BIT_ACCUSED 2u /* it lives, and has to refute the record */
#define BIT_FRESH   4u /* a child that loses the node will accuse it rightly */

/* The peer that `node` has asked to be its parent; NULL if there is none. */
static const struct peer *candidate(const struct node *node)
{
    for (uint32_t slot = 0; slot < node->peer_count; slot++)
        if (node->peers[slot] && node->peers[slot]->is_parent)
            return node->peers[slot];
    return NULL;
}

/* The wire from `index` up to that peer; NULL if it is closed. */
static const struct field_wire *wire_of(const struct field *field,
                                        uint32_t index,
                                        const struct peer *peer)
{
    for (uint32_t i = 0; i < FIELD_WIRES && peer; i++) {
        const struct field_wire *wire = &field->wires[i];

        if (wire->used && wire->node[0] == index && wire->open[0] &&
            wire->link[0] == peer->link)
            return wire;
    }
    return NULL;
}

/* Whether an OK for the orphan at the lower end is in flight on `wire`. */
static bool brings_ok(const struct field_wire *wire)
{
    const struct field_queue *queue = &wire->in[0];

    for (uint32_t i = 0; i < queue->count; i++)
        if (queue->frames[i].type == FRAME_ADOPTED &&
            queue->frames[i].tag == ADOPTION_OK)
            return true;
    return false;
}

static bool has_commnodes(const struct field *field, const struct node *node)
{
    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        const struct peer *peer = node->peers[slot];

        if (peer && !peer->is_parent && peer->ready &&
            !field->nodes[peer->rank].inert)
            return true;
    }
    return false;
}

uint32_t field_dials_left(const struct field *field, uint32_t index)
{
    const struct field_node *node = &field->nodes[index];

    return node->attempts < field->bounds.attempts
               ? field->bounds.attempts - node->attempts
               : 0;
}

bool field_is_held(const struct field *field, uint32_t index)
{
    const struct field_node *node = &field->nodes[index];

    return node->attempts > field->bounds.attempts ||
           (field->bounds.needed && node->machine &&
            node->attempts == field->bounds.attempts &&
            node->machine->heal.orphan.phase == ORPHAN_PAUSE);
}

/* Whether an orphan will read its table again: to choose again, to send its
 * height, or if the link on which it was adopted has ended. */
static bool orphan_reads(const struct field *field, uint32_t index)
{
    const struct field_node *own = &field->nodes[index];
    const struct orphan *orphan = &own->machine->heal.orphan;
    uint32_t left = field_dials_left(field, index), ways;

    if (field_is_held(field, index))
        return false;
    if (orphan->phase == ORPHAN_PAUSE)
        return left > 0;
    ways = adopter_survey_count(orphan->survey) + 1;
    ways = orphan->turn < ways ? ways - orphan->turn : 0;
    if (left > ways)
        return true;
    return (left > 0 || own->dialling) && has_commnodes(field, own->machine);
}

/* The peer whose loss makes `index` an orphan without another fault: its
 * parent, or a node whose OK to it is in flight. NULL if there is none. */
static const struct peer *find_doomed_parent(const struct field *field,
                                             uint32_t index)
{
    const struct node *machine = field->nodes[index].machine;
    const struct peer *peer;
    const struct field_wire *wire;

    if (!machine || field->nodes[index].inert || index == 0)
        return NULL;
    peer = machine->parent ? machine->parent : candidate(machine);
    wire = wire_of(field, index, peer);
    if (!peer || (wire && !wire->ended))
        return NULL;
    return machine->parent || (wire && brings_ok(wire)) ? peer : NULL;
}

static bool reads_table(const struct field *field, uint32_t index)
{
    const struct node *machine = field->nodes[index].machine;

    if (!machine || field->nodes[index].inert || index == 0)
        return false;
    return find_doomed_parent(field, index) ||
           (!machine->parent && orphan_reads(field, index));
}

/* Whether the front-end's OK to the present attempt of `index` is in flight. */
static bool is_granted(const struct field *field,
                       const struct field_need *need,
                       uint32_t index)
{
    for (uint32_t i = 0; i < 2 * FIELD_WIRES; i++) {
        const struct field_wire *wire = &field->wires[i / 2];
        const struct field_queue *queue = &wire->in[i % 2];

        for (uint32_t k = 0; wire->used && k < queue->count; k++)
            if (queue->frames[k].type == FRAME_PROBED &&
                queue->frames[k].tag == 1 && queue->frames[k].origin == index &&
                queue->frames[k].count == need->attempt[index])
                return true;
    }
    return false;
}

/* Whether the node at the lower end sends its records to the upper end, now or
 * after its adoption there. */
static bool is_below(const struct field *field,
                     const struct field_need *need,
                     const struct field_wire *wire)
{
    const struct peer *peer = field_peer(field, wire, 1);

    return peer && !wire->ended && !field->nodes[wire->node[0]].inert &&
           (peer->ready || is_granted(field, need, wire->node[0]));
}

/* Mark the tables of all nodes whose records reach a marked table. */
static void mark_reached(const struct field *field, struct field_need *need)
{
    bool again = true;

    while (again) {
        again = false;
        for (uint32_t i = 0; i < FIELD_WIRES; i++) {
            const struct field_wire *wire = &field->wires[i];

            if (!wire->used || !need->table[wire->node[1]] ||
                need->table[wire->node[0]] || !is_below(field, need, wire))
                continue;
            need->table[wire->node[0]] = true;
            again = true;
        }
    }
}

/* Note the nodes whose parents do not know their present incarnation yet. */
static void note_lag(const struct field *field, struct field_need *need)
{
    for (uint32_t i = 0; i < FIELD_WIRES; i++) {
        const struct field_wire *wire = &field->wires[i];
        const struct peer *peer = field_peer(field, wire, 1);
        const struct node *below;

        if (!peer || field->nodes[wire->node[0]].inert)
            continue;
        below = field->nodes[wire->node[0]].machine;
        if (below && below->parent && wire->open[0] &&
            below->parent->link == wire->link[0])
            need->lags[wire->node[0]] = peer->incarnation != below->incarnation;
    }
}

/* Whether records arrive at that end before the last reading of its table.
 * Those of a new parent come too late, unless its link has ended or its own
 * table is read. */
static bool is_read(const struct field *field,
                    const struct field_need *need,
                    const struct field_wire *wire,
                    uint32_t end)
{
    const struct node *node = field->nodes[wire->node[end]].machine;

    if (!wire->used || !node || !need->table[wire->node[end]])
        return false;
    return end == 1 || wire->ended || node->parent ||
           need->table[wire->node[1]];
}

/* The attempt of a node that can still succeed, and the lowest incarnation
 * under which accusing it has an effect. A pausing orphan raises its
 * incarnation before it has a parent again. */
static void note_life(const struct node *node,
                      uint32_t *life,
                      uint32_t *attempt)
{
    *life = UINT32_MAX;
    *attempt = UINT32_MAX;
    if (!node)
        return;
    *life = node->incarnation;
    if (node->heal.orphan.phase == ORPHAN_ASK)
        *attempt = node->incarnation;
    else if (node->heal.orphan.phase == ORPHAN_PAUSE)
        ++*life;
}

/* Whether `index` has no parent for good: no accusation of it matters. */
static bool is_held_orphan(const struct field *field, uint32_t index)
{
    return field->nodes[index].machine &&
           !field->nodes[index].machine->parent && field_is_held(field, index);
}

void field_need(const struct field *field, struct field_need *need)
{
    bool any = field->bounds.any, faults, stopped = false;

    faults = field->faults < field->bounds.faults;
    for (uint32_t i = 0; i < field->node_count; i++)
        stopped |= field->nodes[i].stopped;
    *need = (struct field_need){
        .all = !field->bounds.needed || field->bounds.waves > 0 ||
               field->bounds.moves > 0 || field->settling || field->flat ||
               (any && field->bounds.attempts > 2) ||
               (!any && (faults || stopped)),
        .any = any,
    };
    if (need->all)
        return;
    for (uint32_t i = 0; i < field->node_count; i++) {
        const struct peer *lost = find_doomed_parent(field, i);

        need->table[i] = !any && reads_table(field, i);
        need->fresh[i] |= any && (faults || stopped);
        if (any && lost)
            need->fresh[lost->rank] = true;
        note_life(field->nodes[i].machine, &need->life[i], &need->attempt[i]);
        if (any && is_held_orphan(field, i))
            need->life[i] = UINT32_MAX;
    }
    mark_reached(field, need);
    for (uint32_t i = 0; i < 2 * FIELD_WIRES; i++)
        need->wires[i] = is_read(field, need, &field->wires[i / 2], i % 2);
    note_lag(field, need);
}

static uint32_t bits_of(const struct field_need *need,
                        uint32_t rank,
                        uint32_t incarnation,
                        bool failed)
{
    bool fresh;
    uint32_t bits = 0;

    if (rank >= FIELD_NODES)
        return 0;
    fresh = incarnation >= need->life[rank];
    if (fresh && need->lags[rank])
        bits |= BIT_LAG;
    if (fresh && need->fresh[rank])
        bits |= BIT_FRESH;
    if (fresh && failed)
        bits |= BIT_ACCUSED;
    return bits;
}

void field_table_bits(const struct field_need *need,
                      const struct node *node,
                      uint32_t bits[FIELD_NODES])
{
    for (uint32_t i = 0; i < FIELD_NODES; i++) {
        struct table_entry entry;

        bits[i] = table_entry(node->heal.table, i, &entry) < 0
                      ? 0
                      : bits_of(need, i, entry.incarnation, entry.failed);
    }
}

uint64_t field_news(const struct field_need *need,
                    const struct node *node,
                    const struct frame *frame,
                    uint32_t bits[FIELD_NODES])
{
    const uint32_t *ranks, *incarnations, *parents;
    uint32_t count = 0, unused;
    struct cop_packet *packet = NULL;
    const char *text;
    uint64_t news = 0;

    if (packet_open(&packet, frame->payload) < 0)
        return 0;
    if (cop_packet_unpack(packet, "%aud %aud %aud %s", &ranks, &count,
                          &incarnations, &unused, &parents, &unused, &text) < 0)
        count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t add = bits_of(need, ranks[i], incarnations[i],
                               parents[i] == TABLE_FAILED);

        if (!add)
            continue;
        if (ranks[i] == node->rank && add & BIT_ACCUSED)
            news |= (uint64_t)BIT_ACCUSED << 4 * ranks[i];
        news |= (uint64_t)(add & ~bits[ranks[i]]) << 4 * ranks[i];
        bits[ranks[i]] |= add;
    }
    cop_packet_free(packet);
    return news;
}

bool field_may_accuse(const struct field_need *need,
                      uint32_t rank,
                      uint32_t incarnation)
{
    return rank >= FIELD_NODES || incarnation >= need->life[rank];
}

bool field_is_lapsed(const struct field_need *need,
                     uint32_t orphan,
                     uint32_t incarnation)
{
    return !need->all && orphan < FIELD_NODES &&
           need->attempt[orphan] != incarnation;
}

bool field_is_dead(const struct field *field,
                   const struct field_need *need,
                   const struct field_wire *wire)
{
    const struct peer *peer = field_peer(field, wire, 1);

    return peer && !wire->open[0] && field_can_take(field, wire, 1) &&
           !field->nodes[wire->node[0]].inert && !need->all &&
           !need->table[wire->node[1]] &&
           peer->incarnation < need->life[wire->node[0]];
}

bool field_is_needless_link(const struct field *field,
                            const struct field_need *need,
                            uint32_t wire)
{
    return field->wires[wire].in[1].count == 0 &&
           field_is_dead(field, need, &field->wires[wire]);
}

bool field_is_needless_end(const struct field *field,
                           const struct field_need *need,
                           uint32_t index)
{
    const struct field_node *node = &field->nodes[index];

    return !need->all && !node->machine && node->gone_due &&
           field->nodes[node->parent].machine &&
           !field->nodes[node->parent].stopped && !need->table[node->parent];
}

bool field_is_needless(const struct field *field,
                       const struct field_need *need,
                       uint32_t wire,
                       uint32_t end,
                       const struct frame *frame)
{
    const struct field_wire *on = &field->wires[wire];
    const struct node *node = field->nodes[on->node[end]].machine;
    uint32_t bits[FIELD_NODES];

    if (need->all)
        return false;
    if (frame->type == FRAME_FAN_OUT)
        return !need->wires[2 * wire + end];
    if (frame->type == FRAME_RECORD) {
        if (need->wires[2 * wire + end])
            return false;
        field_table_bits(need, node, bits);
        return field_news(need, node, frame, bits) == 0;
    }
    if (need->table[on->node[end]])
        return false;
    if (frame->type == FRAME_HEARTBEAT)
        return need->any &&
               !field_may_accuse(need, frame->origin, frame->count);
    if (frame->type == FRAME_PROBE && on->node[end] == 0 &&
        field_is_dead(field, need, on))
        return true; /* no node reads the answer */
    if (frame->type == FRAME_PROBE || frame->type == FRAME_PROBED ||
        frame->type == FRAME_ADOPT)
        return field_is_lapsed(need, frame->origin, frame->count);
    return frame->type == FRAME_SILENCE && end == 1 &&
           field_is_dead(field, need, on);
}
