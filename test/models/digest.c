/* digest.c - the digest of everything in a field that can still matter.
 *
 * Not included, for the reasons in search.md: clocks (a running timer may
 * expire at any moment), the state of streams (claims, positions, credit, and
 * the frames that carry them), and the numbers of links and slots. */
#include "test/models/arena.h"
#include "test/models/field.h"

#include "wire/packet.h"

/* Stands for the phase, and the attempts, of an orphan without any left. */
#define HELD 99

static uint64_t mix_in(uint64_t sum, uint64_t value)
{
    sum ^= value + UINT64_C(0x9e3779b97f4a7c15) + (sum << 12) + (sum >> 4);
    sum ^= sum >> 30;
    sum *= UINT64_C(0xbf58476d1ce4e5b9);
    sum ^= sum >> 27;
    sum *= UINT64_C(0x94d049bb133111eb);
    return sum ^ sum >> 31;
}

/* The content of a record, without its text. */
static uint64_t record_digest(const struct frame *frame)
{
    const uint32_t *columns[3] = {NULL};
    struct cop_packet *packet = NULL;
    uint32_t count = 0, i;
    const char *text;
    uint64_t sum = 5;
    int r;

    if (packet_open(&packet, frame->payload) < 0)
        return sum;
    r = frame->type == FRAME_FAN_OUT
            ? cop_packet_unpack(packet, "%aud %aud %aud", &columns[0], &count,
                                &columns[1], &count, &columns[2], &count)
            : cop_packet_unpack(packet, "%aud %aud %aud %s", &columns[0],
                                &count, &columns[1], &count, &columns[2],
                                &count, &text);
    for (i = 0; r == 0 && i < 3 * count; i++)
        sum = mix_in(sum, columns[i % 3][i / 3]);
    cop_packet_free(packet);
    return sum;
}

static uint64_t frame_digest(const struct frame *frame)
{
    uint64_t sum = mix_in(frame->type, (uint64_t)frame->tag);

    sum = mix_in(sum, (uint64_t)frame->origin << 32 | frame->count);
    sum = mix_in(sum, frame->sequence);
    return frame->type == FRAME_RECORD || frame->type == FRAME_FAN_OUT
               ? mix_in(sum, record_digest(frame))
               : sum;
}

static uint64_t peer_digest(const struct field_need *need,
                            const struct node *node,
                            const struct peer *peer)
{
    uint64_t sum = 1, incarnation;

    if (!peer)
        return 0;
    incarnation = peer->incarnation;
    if (peer->is_parent && need->any && !need->all)
        incarnation = field_may_accuse(need, peer->rank, peer->incarnation);
    sum = mix_in(sum, (uint64_t)peer->rank << 32 | incarnation);
    sum = mix_in(sum, (need->any ? 0 : (uint64_t)peer->height << 8) |
                          peer->life.state);
    return mix_in(
        sum, (uint64_t)peer->gave_up << 5 | (uint64_t)peer->is_parent << 4 |
                 peer->ready << 3 | peer->left << 2 | peer->asking << 1 |
                 (uint64_t)peer->moving << 6 | (node->parent == peer));
}

/* The digest of a frame if ordinals no longer matter. */
static uint64_t last_frame(const struct frame *frame)
{
    if (frame->type != FRAME_ADOPTED)
        return frame_digest(frame);
    return mix_in(mix_in(frame->type, (uint64_t)frame->tag), frame->sequence);
}

/* The digest of a frame if no choice reads ordinals, heights or depths. */
static uint64_t any_digest(const struct frame *frame)
{
    uint64_t sum = mix_in(frame->type, 0);

    if (frame->type != FRAME_ADOPT) /* whose tag is the last resort */
        sum = mix_in(sum, (uint64_t)frame->tag);
    if (frame->type == FRAME_ADOPTED)
        return sum;
    return mix_in(sum, (uint64_t)frame->origin << 32 | frame->count);
}

/* The digest of the frames in flight to one end that can matter. */
static uint64_t queue_digest(const struct field *field,
                             const struct field_need *need,
                             const struct field_wire *wire,
                             uint32_t end,
                             uint64_t sum)
{
    const struct field_queue *queue = &wire->in[end];
    const struct node *node = field->nodes[wire->node[end]].machine;
    bool known =
        need->all || !node || need->wires[2 * (wire - field->wires) + end];
    uint32_t bits[FIELD_NODES];

    if (!known && queue->count > 0)
        field_table_bits(need, node, bits);
    for (uint32_t i = 0; i < queue->count; i++) {
        const struct frame *frame = &queue->frames[i];
        uint64_t news;

        if (field_is_aside(field, frame))
            continue;
        if (frame->type != FRAME_RECORD) {
            if (field_is_needless(field, need, wire - field->wires, end, frame))
                continue;
        }
        if (!known && frame->type != FRAME_RECORD) {
            sum =
                mix_in(sum, need->any ? any_digest(frame) : last_frame(frame));
            continue;
        }
        if (known || frame->type != FRAME_RECORD) {
            sum = mix_in(sum, frame_digest(frame));
            continue;
        }
        news = field_news(need, node, frame, bits);
        if (news)
            sum = mix_in(mix_in(sum, FRAME_RECORD), news);
    }
    return sum;
}

static uint64_t wire_digest(const struct field *field,
                            const struct field_need *need,
                            const struct field_wire *wire)
{
    uint64_t sum = mix_in((uint64_t)wire->node[0] << 32 | wire->node[1],
                          (uint64_t)wire->cut << 1 | wire->ended);

    for (uint32_t end = 0; end < 2; end++) {
        const struct node *node = field->nodes[wire->node[end]].machine;

        sum = mix_in(sum, wire->open[end]);
        if (wire->open[end] && node &&
            (end == 0 || !field_is_dead(field, need, wire)))
            sum = mix_in(sum,
                         peer_digest(need, node, field_peer(field, wire, end)));
        sum = queue_digest(field, need, wire, end, sum);
    }
    return sum;
}

/* With moves the last parent of a failed node is not told by the others. */
static uint64_t table_digest(const struct table *table, bool moves)
{
    struct table_fan_out fan_out = {0};
    struct table_entry entry;
    uint64_t sum = 2;

    for (uint32_t i = 0; i < table_count(table); i++) {
        table_at(table, i, &entry);
        sum = mix_in(sum, (uint64_t)entry.parent << 32 | entry.incarnation);
        table_fan_out_of(table, entry.rank, &fan_out);
        sum = mix_in(sum,
                     (uint64_t)fan_out.version << 32 | fan_out.backend_count);
        if (moves && entry.failed)
            sum = mix_in(sum, table_last_parent(table, entry.rank));
    }
    return sum;
}

/* A mover has no list of candidates, and keeps its place if the move fails. */
static uint64_t mover_digest(const struct orphan *orphan, uint64_t sum)
{
    sum = mix_in(sum, orphan->target);
    return mix_in(
        sum, (uint64_t)orphan->ordinal << 32 |
                 (orphan->phase == ORPHAN_ALIGN ? orphan->who.ordinal : 0));
}

static uint64_t orphan_digest(const struct node *node, bool any, bool moves)
{
    const struct orphan *orphan = &node->heal.orphan;
    uint64_t sum = mix_in(3, orphan->phase);
    uint32_t rank;

    sum = mix_in(sum, orphan->front_end_lost);
    if (orphan->phase == ORPHAN_NOT)
        return mix_in(sum, orphan->ordinal);
    if (node->parent)
        return mover_digest(orphan, sum);
    sum = mix_in(sum, orphan->last_resort);
    if (orphan->phase == ORPHAN_ASK || (orphan->phase == ORPHAN_DIAL && !any))
        sum = mix_in(sum, orphan->target);
    if (moves) /* then the attempts do not tell when a round ends */
        sum = mix_in(sum, (uint64_t)orphan->turn << 32 |
                              adopter_survey_count(orphan->survey));
    if (any)
        return sum; /* the orphan does not choose */
    sum = mix_in(sum, (uint64_t)orphan->ordinal << 32 | orphan->turn);
    sum = mix_in(sum, orphan->lost);
    for (uint32_t i = 0;
         adopter_survey_pick(orphan->survey, &orphan->who, i, &rank) == 0; i++)
        sum = mix_in(sum, rank);
    return sum;
}

/* Likewise if no fault is left: the nodes that the orphan will still ask. */
static uint64_t last_digest(const struct field *field,
                            const struct field_need *need,
                            uint32_t index)
{
    const struct field_node *own = &field->nodes[index];
    const struct orphan *orphan = &own->machine->heal.orphan;
    uint32_t left = field_dials_left(field, index), count, rank;
    bool held = (!need->all && field_is_held(field, index));
    uint64_t sum = mix_in(11, held ? HELD : orphan->phase);

    if (held || need->any || orphan->phase == ORPHAN_NOT ||
        orphan->phase == ORPHAN_PAUSE)
        return sum;
    sum = mix_in(sum, (uint64_t)orphan->target << 2 | orphan->last_resort << 1 |
                          orphan->front_end_lost);
    if (own->dialling || left > 0)
        sum =
            mix_in(sum, table_subtree_height(own->machine->heal.table, index));
    count = adopter_survey_count(orphan->survey);
    for (uint32_t turn = orphan->turn; turn <= orphan->turn + left; turn++) {
        sum = mix_in(sum, turn < count ? 0 : turn - count + 1);
        if (turn < orphan->turn + left &&
            adopter_survey_pick(orphan->survey, &orphan->who, turn, &rank) == 0)
            sum = mix_in(sum, rank);
    }
    return sum;
}

/* What the node knows of others. */
static uint64_t known_digest(const struct field *field,
                             const struct field_need *need,
                             uint32_t index)
{
    const struct node *node = field->nodes[index].machine;
    uint32_t bits[FIELD_NODES];
    uint64_t sum = 12;

    if (need->all || need->table[index])
        return mix_in(
            orphan_digest(node, field->bounds.any, field->bounds.moves > 0),
            table_digest(node->heal.table, field->bounds.moves > 0));
    field_table_bits(need, node, bits);
    for (uint32_t i = 0; i < FIELD_NODES; i++)
        sum = sum << 4 ^ bits[i];
    return mix_in(sum, last_digest(field, need, index));
}

static uint64_t machine_digest(const struct field *field,
                               const struct field_need *need,
                               uint32_t index)
{
    const struct node *node = field->nodes[index].machine;
    uint64_t sum = mix_in(4, need->any ? 0 : node->depth);

    if (!(!need->all && field_is_held(field, index)))
        sum = mix_in(sum, node->incarnation);

    sum = mix_in(sum, node->closing << 2 | node->leaving << 1 | node->ended);
    sum = mix_in(sum, known_digest(field, need, index));
    for (size_t i = 0; i < node->heal.probe_count; i++) {
        const struct probe *probe = &node->heal.probes[i];
        const struct peer *peer =
            probe->link < node->link_count ? node->links[probe->link] : NULL;

        if (!need->table[index] &&
            field_is_lapsed(need, probe->orphan, probe->incarnation))
            continue;
        sum = mix_in(sum, (uint64_t)probe->orphan << 32 | probe->incarnation);
        sum = mix_in(sum, (uint64_t)probe->align << 2 |
                              (!need->any && probe->last_resort) << 1 |
                              probe->asked);
        sum = mix_in(sum, peer_digest(need, node, peer));
    }
    return sum;
}

static uint64_t whole_digest(const struct field *field)
{
    uint64_t sum = (uint64_t)field->moves << 8 | field->faults, wires = 0;
    struct field_need need;

    field_need(field, &need);
    for (uint32_t i = 0; i < field->node_count; i++) {
        const struct field_node *node = &field->nodes[i];

        if (node->inert)
            continue;
        sum = mix_in(sum, node->stopped << 2 | node->gone_due << 1 |
                              (node->dialling &&
                               !(!need.all && field_is_held(field, i))));
        if (!node->machine)
            continue;
        sum = mix_in(sum, (!need.all && field_is_held(field, i))
                              ? HELD
                              : node->attempts);
        if (node->dialling && !field->bounds.any &&
            (need.all || node->attempts <= field->bounds.attempts))
            sum = mix_in(sum, node->target);
        if (need.all)
            sum = mix_in(sum, node->taken);
        else if (need.attempt[i] < 64)
            sum = mix_in(sum, node->taken >> need.attempt[i] & 1);
        sum = mix_in(sum, machine_digest(field, &need, i));
    }
    for (uint32_t i = 0; i < FIELD_WIRES; i++)
        if (field->wires[i].used)
            wires += wire_digest(field, &need, &field->wires[i]);
    return mix_in(sum, wires);
}

/* ---- a star: its commnodes are interchangeable ---- */

static uint64_t star_frame_digest(const struct frame *frame, uint32_t rank)
{
    const uint32_t *columns[3] = {NULL};
    struct cop_packet *packet = NULL;
    uint32_t count = 0, i;
    uint64_t sum = mix_in(frame->type, (uint64_t)frame->tag);
    const char *text;

    if (frame->type == FRAME_ADOPT)
        return mix_in(mix_in(sum, frame->count), frame->sequence);
    if (frame->type != FRAME_RECORD)
        return sum; /* an ordinal for one candidate has no effect */
    if (packet_open(&packet, frame->payload) < 0)
        return sum;
    if (cop_packet_unpack(packet, "%aud %aud %aud %s", &columns[0], &count,
                          &columns[1], &count, &columns[2], &count, &text) == 0)
        for (i = 0; i < count; i++)
            if (columns[0][i] == rank)
                sum = mix_in(mix_in(sum, columns[1][i]), columns[2][i]);
    cop_packet_free(packet);
    return sum;
}

static uint64_t star_peer_digest(const struct node *node,
                                 const struct peer *peer)
{
    uint64_t sum = 7;

    if (!peer)
        return 0;
    sum = mix_in(sum, (uint64_t)peer->incarnation << 32 | peer->height);
    return mix_in(
        sum, (uint64_t)peer->life.state << 8 | (uint64_t)peer->gave_up << 5 |
                 (uint64_t)peer->is_parent << 4 | peer->ready << 3 |
                 peer->left << 2 | peer->asking << 1 | (node->parent == peer));
}

/* A link of commnode `rank` to the front-end. */
static uint64_t star_wire_digest(const struct field *field,
                                 const struct field_wire *wire,
                                 uint32_t rank)
{
    uint64_t sum = mix_in(8, (uint64_t)wire->cut << 1 | wire->ended);

    for (uint32_t end = 0; end < 2; end++) {
        const struct node *node = field->nodes[wire->node[end]].machine;

        sum = mix_in(sum, wire->open[end]);
        if (wire->open[end] && node)
            sum = mix_in(sum,
                         star_peer_digest(node, field_peer(field, wire, end)));
        for (uint32_t i = 0; i < wire->in[end].count; i++) {
            const struct frame *frame = &wire->in[end].frames[i];

            if (field_is_aside(field, frame) ||
                (end == 0 && frame->type == FRAME_RECORD &&
                 !field_accuses(frame, rank)))
                continue;
            sum = mix_in(sum, star_frame_digest(frame, rank));
        }
    }
    return sum;
}

/* Everything about one commnode, except its rank. */
static uint64_t star_node_digest(const struct field *field, uint32_t rank)
{
    const struct field_node *node = &field->nodes[rank];
    uint64_t sum =
        mix_in(9, node->stopped << 2 | node->gone_due << 1 | node->dialling);
    uint64_t wires = 0;
    struct table_entry entry = {0};

    table_entry(field->nodes[0].machine->heal.table, rank, &entry);
    sum = mix_in(sum, (uint64_t)entry.incarnation << 1 |
                          (entry.parent == TABLE_FAILED));
    for (uint32_t i = 0; i < FIELD_WIRES; i++)
        if (field->wires[i].used && field->wires[i].node[0] == rank)
            wires += star_wire_digest(field, &field->wires[i], rank);
    sum = mix_in(sum, wires);
    if (!node->machine)
        return sum;
    sum = mix_in(mix_in(sum, node->attempts), node->taken);
    sum = mix_in(sum, (uint64_t)node->machine->incarnation << 32 |
                          node->machine->depth);
    sum = mix_in(sum, node->machine->closing << 2 |
                          node->machine->leaving << 1 | node->machine->ended);
    table_entry(node->machine->heal.table, rank, &entry);
    sum = mix_in(sum, (uint64_t)entry.incarnation << 1 |
                          (entry.parent == TABLE_FAILED));
    sum = mix_in(sum,
                 (uint64_t)node->machine->heal.orphan.phase << 2 |
                     (uint64_t)node->machine->heal.orphan.front_end_lost << 1 |
                     node->machine->heal.orphan.last_resort);
    return mix_in(sum, node->machine->heal.orphan.phase == ORPHAN_NOT
                           ? 0
                           : node->machine->heal.orphan.turn);
}

static uint64_t star_digest(const struct field *field)
{
    uint64_t sum =
        mix_in(10, (uint64_t)field->faults << 1 | field->nodes[0].stopped);
    uint64_t all = 0;

    for (uint32_t i = 1; i < field->bounds.internal_count; i++)
        all += star_node_digest(field, i);
    return mix_in(sum, all);
}

/* Everything except `answer`, which is no part of the state. */
static uint64_t field_waves_digest(struct field *field)
{
    uint32_t answer = field->answer;
    uint64_t sum;

    field->answer = 0;
    sum = arena_digest(field);
    field->answer = answer;
    return sum;
}

uint64_t field_digest(struct field *field)
{
    if (field->bounds.waves > 0)
        return field_waves_digest(field);
    if (field->flat)
        return star_digest(field);
    return whole_digest(field);
}

static uint64_t node_tree_digest(const struct field *field, uint32_t index)
{
    const struct field_node *node = &field->nodes[index];
    uint64_t sum = 6;

    if (!node->machine)
        return sum;
    sum = mix_in(sum, node->machine->parent ? node->machine->parent->rank
                                            : RANK_NONE);
    return mix_in(sum, node->attempts < field->bounds.attempts
                           ? node->attempts
                           : field->bounds.attempts);
}

uint64_t field_tree_digest(const struct field *field)
{
    uint64_t sum = 0, star = 0;
    bool flat = true;

    for (uint32_t i = 0; i < field->node_count; i++) {
        if (field->nodes[i].inert)
            continue;
        sum = mix_in(sum, node_tree_digest(field, i));
        star += node_tree_digest(field, i);
        flat &= field->nodes[i].parent == 0;
    }
    return flat ? star : sum; /* which child of a star it is does not matter */
}
