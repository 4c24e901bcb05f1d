/* judge.c - the oracles of the search: what no schedule may violate. */
#include "test/models/field.h"

/* Whether `node` may send this OK, by 8.3 and 8.4. */
static bool is_due(const struct field *field,
                   const struct node *node,
                   const struct field_wire *wire,
                   const struct frame *cause)
{
    uint32_t orphan = wire->node[0];

    if (!cause || (field->nodes[orphan].taken >> wire->incarnation & 1))
        return false;
    if (node->role == NODE_FRONTEND)
        return cause->type == FRAME_ADOPT;
    return cause->type == FRAME_PROBED && cause->tag == 1 &&
           cause->origin == orphan && cause->count == wire->incarnation;
}

static bool is_too_high(const struct node *node,
                        const struct field_wire *wire,
                        const struct frame *cause)
{
    uint64_t depth = node->role == NODE_FRONTEND ? 0 : cause->sequence;

    return !wire->last_resort &&
           depth + 1 + wire->height > node->heal.height_limit;
}

/* Whether `node` knows of a later attempt: from a record, or another link. */
static bool is_stale(const struct field *field,
                     const struct node *node,
                     const struct field_wire *wire)
{
    struct table_entry entry;

    if (table_entry(node->heal.table, wire->node[0], &entry) == 0 &&
        entry.incarnation > wire->incarnation)
        return true;
    for (uint32_t i = 0; i < FIELD_WIRES; i++) {
        const struct field_wire *other = &field->wires[i];
        const struct peer *peer = field_peer(field, other, 1);

        if (peer && other->node[1] == wire->node[1] &&
            peer->rank == wire->node[0] &&
            peer->incarnation > wire->incarnation)
            return true;
    }
    return false;
}

/* Check the reason of an ADOPTED (8.2, 8.4). */
static const char *judge_answer(struct field *field,
                                const struct node *node,
                                const struct field_wire *wire,
                                const struct frame *frame,
                                const struct frame *cause)
{
    switch ((enum adoption_answer)frame->tag) {
    case ADOPTION_OK:
        if (!is_due(field, node, wire, cause))
            return "an orphan is adopted without a probe, or twice";
        field->nodes[wire->node[0]].taken |= UINT64_C(1) << wire->incarnation;
        return NULL;
    case ADOPTION_ORPHAN:
        if (node->role == NODE_FRONTEND ||
            (node->parent && !move_is_under_way(node) && !field->switched &&
             !(cause && cause->type == FRAME_PROBED && cause->tag != 1)))
            return "refused as an orphan by one that is none";
        return NULL;
    case ADOPTION_STALE:
        if (!is_stale(field, node, wire))
            return "refused as stale by one that knows no better";
        return NULL;
    case ADOPTION_TOO_HIGH:
        if (!cause || !is_too_high(node, wire, cause))
            return "refused as too high, and it is not";
        return NULL;
    case ADOPTION_EXPELLED: /* frames of a dead orphan still arrive */
        if (field->nodes[wire->node[0]].machine)
            return "refused as given up, and it lives";
        return NULL;
    case ADOPTION_CLOSING:
    case ADOPTION_FULL:
    case ADOPTION_LAST_RESORT:
    case ADOPTION_MOVE:
        break;
    }
    return "refused for a reason that cannot be";
}

/* Check which node sends a PROBED with OK, and which one that fails (8.3). */
static const char *judge_probed(const struct field *field,
                                const struct node *node,
                                const struct frame *frame,
                                const struct frame *cause)
{
    bool asked = cause && cause->type == FRAME_PROBE;
    bool told = cause && cause->type == FRAME_PROBED;

    if (frame->tag == 1 && node->role == NODE_FRONTEND)
        return asked && cause->sequence == frame->sequence
                   ? NULL
                   : "the front-end answers what nobody asked";
    if (frame->tag == 1)
        return told && cause->tag == 1 && cause->origin == frame->origin &&
                       cause->count == frame->count
                   ? NULL
                   : "a probe is answered OK on the way";
    if (frame->tag == PROBE_EXPEL && field->nodes[frame->origin].machine)
        return "a probe says that a node is given up, and it lives";
    if (node->role == NODE_FRONTEND)
        return frame->tag == PROBE_EXPEL ? NULL : "the front-end fails a probe";
    if (asked ? move_is_under_way(node) && cause->tag == 0 : field->switched)
        return NULL; /* 18.2, 18.5 */
    if ((told && cause->tag == frame->tag) || !node->parent ||
        (asked && cause->origin == node->rank))
        return NULL;
    return "a probe is failed without a reason";
}

void field_judge_frame(struct field *field,
                       const struct field_wire *wire,
                       uint32_t end,
                       const struct frame *frame,
                       const struct frame *cause)
{
    const struct node *node = field->nodes[wire->node[end]].machine;
    const char *wrong = NULL;

    if (frame->type == FRAME_ADOPTED)
        field->answer = (uint32_t)frame->tag;
    if (field->bounds.without != FIELD_ALL_RULES)
        return; /* the tree must show the error */
    if (frame->type == FRAME_ADOPTED)
        wrong = judge_answer(field, node, wire, frame, cause);
    else if (frame->type == FRAME_PROBED)
        wrong = judge_probed(field, node, frame, cause);
    else if (frame->type == FRAME_PROBE && cause &&
             cause->type == FRAME_PROBE &&
             frame->sequence != cause->sequence + 1)
        wrong = "a probe miscounts its way";
    if (wrong)
        field->wrong = wrong;
}

/* Whether the parents above `index` form a cycle. */
static bool is_circle(const struct field *field, uint32_t index)
{
    uint32_t at = index, hops;

    for (hops = 0; hops <= field->node_count; hops++) {
        const struct node *node = field->nodes[at].machine;

        if (!node || !node->parent)
            return false;
        at = node->parent->rank;
    }
    return true;
}

/* Whether the lower node has another parent, and keeps the link to this one until
 * the nodes above know (PROTOCOL 18.6). */
static bool has_left(const struct field *field, const struct field_wire *wire)
{
    const struct node *node = field->nodes[wire->node[0]].machine;
    const struct peer *up = field_peer(field, wire, 0);

    return node && up && node->heal.orphan.left == up;
}

void field_judge_tree(struct field *field)
{
    uint32_t links[FIELD_NODES][FIELD_NODES] = {0};
    uint32_t parents[FIELD_NODES] = {0};

    for (uint32_t i = 0; i < field->node_count && !field->wrong; i++)
        if (is_circle(field, i))
            field->wrong = "the parents form a CYCLE";
    if (field->bounds.without != FIELD_ALL_RULES)
        return;
    for (uint32_t i = 0; i < FIELD_WIRES; i++) {
        const struct field_wire *wire = &field->wires[i];
        const struct peer *child = field_peer(field, wire, 1);

        if (!child || !child->ready || child->moving || has_left(field, wire))
            continue;
        if (++links[wire->node[1]][wire->node[0]] > 1)
            field->wrong = "one child, and two links to it";
        if (!wire->ended && ++parents[wire->node[0]] > 1)
            field->wrong = "a node has two adopters";
    }
}

void field_show(const struct field *field, FILE *out)
{
    fprintf(out, "  parents:");
    for (uint32_t i = 0; i < field->node_count; i++) {
        const struct node *node = field->nodes[i].machine;

        if (!node)
            fprintf(out, " %u dead", i);
        else if (node->parent)
            fprintf(out, " %u<-%u", node->parent->rank, i);
        else if (i > 0)
            fprintf(out, " %u orphan", i);
    }
    fprintf(out, "\n");
}

static void print_wire(const struct field *field,
                       const struct field_move *move,
                       const char *what,
                       FILE *out)
{
    const struct field_wire *wire = &field->wires[move->wire];
    uint32_t end = move->node;
    const struct frame *frame = &wire->in[end].frames[0];

    fprintf(out, "%u %s %u", wire->node[end], what, wire->node[!end]);
    if (move->kind == FIELD_DELIVER)
        fprintf(out, ": %s tag %d origin %u count %u sequence %llu",
                frame_name(frame->type), (int)frame->tag, frame->origin,
                frame->count, (unsigned long long)frame->sequence);
}

void field_print(const struct field *field,
                 const struct field_move *move,
                 FILE *out)
{
    static const char *const words[] = {
        [FIELD_DELIVER] = "takes from",
        [FIELD_DOWN] = "finds its link ended to",
        [FIELD_CONNECT] = "is linked as an orphan to",
        [FIELD_REFUSED] = "finds nobody at",
        [FIELD_EXPIRE] = "waits no longer",
        [FIELD_SILENCE] = "hears nothing for too long from",
        [FIELD_GONE] = "is told of the end of",
        [FIELD_RESUME] = "goes on",
        [FIELD_SEND] = "sends",
        [FIELD_PLAN] = "is to MOVE below",
        [FIELD_CRASH] = "CRASHES",
        [FIELD_BREAK] = "LOSES THE LINK to",
        [FIELD_STOP] = "STOPS",
    };
    bool pair = move->kind == FIELD_CONNECT || move->kind == FIELD_REFUSED ||
                move->kind == FIELD_GONE || move->kind == FIELD_PLAN;
    bool wire = move->kind <= FIELD_DOWN || move->kind == FIELD_SILENCE ||
                move->kind == FIELD_BREAK;

    fprintf(out, "  ");
    if (wire)
        print_wire(field, move, words[move->kind], out);
    else if (pair)
        fprintf(out, "%u %s %u", move->node, words[move->kind], move->other);
    else
        fprintf(out, "%u %s", move->node, words[move->kind]);
    fprintf(out, "\n");
}
