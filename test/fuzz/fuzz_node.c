/* fuzz_node.c - one node, and every event that may happen to it.
 *
 * The input is a role and a sequence of events: links, frames of every type, valid
 * and random, from peers that hold the key, time, answers of filters, requests.
 * Checked: no frame is sent on a closed link, and none down that may only go up;
 * every frame encodes; one filter call at a time; after its end it closes links. */
#include <coppice/status.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/check.h"
#include "protocol/launch/roster.h"
#include "protocol/members/control.h"
#include "protocol/node.h"
#include "protocol/stream/claim.h"
#include "protocol/stream/total.h"
#include "protocol/stream/waves.h"
#include "protocol/watch/rows.h"
#include "wire/destinations.h"
#include "wire/fifo.h"
#include "wire/limits.h"
#include "wire/packet.h"

#define LINKS      8
#define EVENTS_MAX 400
#define STREAMS    8
#define VILLAIN    1 /* the link of back-end 12, the only sender if `alone` */
#define CROWD      20000 /* large counts, at most once in each input */
#define MANY       300   /* stands for counts that may be millions */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Abort in any build if the condition is false. */
#define must(holds) ((holds) ? (void)0 : broken(#holds, __LINE__))

static void broken(const char *what, int line)
{
    fprintf(stderr, "fuzz_node.c:%d: does not hold: %s\n", line, what);
    abort();
}

/* The rest of the input. */
struct input {
    const uint8_t *at;
    size_t left;
};

static uint8_t byte(struct input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

/* A number, mostly small, sometimes at a limit. */
static uint64_t number(struct input *in)
{
    uint8_t b = byte(in);

    if (b < 200)
        return b % 12;
    if (b < 215)
        return ((uint64_t)(b % 4) << PACKET_WAVE_BITS) + byte(in) % 4;
    if (b < 230)
        return (uint64_t)byte(in) << byte(in) % 64;
    switch (b % 4) {
    case 0:
        return UINT64_MAX - byte(in) % 3;
    case 1:
        return UINT32_MAX - byte(in) % 3;
    default:
        return b % 4 == 2 ? INT32_MAX : 1 << 21;
    }
}

/* The node and its shell. */
struct play {
    struct input in;
    struct node *node;
    struct actions actions;
    enum node_role role;
    uint64_t now_ms;
    bool up[LINKS], is_parent[LINKS], is_observer[LINKS]; /* as in the shell */
    bool allowed; /* injections are allowed */
    bool calling, ended, dialling, crowded, want_link_up_closed;
    bool alone; /* the only peer that sends is back-end VILLAIN */
    struct fifo delivered[STREAMS]; /* until the application takes them */
    uint32_t load[STREAMS];         /* loads requested, not answered yet */
    size_t load_count;
    bool clock; /* the clock was asked for */
    uint32_t dialled;
};

/* Whether frames of `type` may go to the parent, or else to a child. */
static bool may_go(uint8_t type, bool to_parent)
{
    switch ((enum frame_type)type) {
    case FRAME_DATA:
    case FRAME_CREDIT:
    case FRAME_HEARTBEAT:
    case FRAME_RECORD:
    case FRAME_FAN_OUT:
    case FRAME_NODE:
    case FRAME_RETIRE:
    case FRAME_SILENCE:
        return true;
    case FRAME_MARKER:
    case FRAME_CONTROL:
    case FRAME_SNAPSHOT:
    case FRAME_STABLE:
    case FRAME_TABLE:
    case FRAME_JOINED:
    case FRAME_END:
    case FRAME_ADOPTED:
    case FRAME_PROBED:
    case FRAME_EXPEL:
    case FRAME_FINAL:
    case FRAME_SKIP:
    case FRAME_STATUS:
    case FRAME_INJECT:
    case FRAME_MOVE:
        return !to_parent;
    case FRAME_RESUME:
    case FRAME_CLAIM:
    case FRAME_READY:
    case FRAME_JOIN:
    case FRAME_FAULT:
    case FRAME_GOODBYE:
    case FRAME_ADOPT:
    case FRAME_PROBE:
    case FRAME_FEED:
    case FRAME_COMPENSATION:
    case FRAME_TOTAL:
    case FRAME_FAREWELL:
    case FRAME_RECOVERED:
    case FRAME_MOVED:
    case FRAME_HEARD:
    case FRAME_ROWS:
        return to_parent;
    case FRAME_REPORTS:
    case FRAME_DRAIN:
        break;
    }
    return false;
}

/* Check that a sent frame is read as it was. */
static void check_frame(const struct frame *frame)
{
    unsigned char header[FRAME_HEAD_MAX];
    const unsigned char *at = header;
    size_t len = frame_encode(frame, header);
    struct frame_reader reader;
    struct frame back;
    int r;

    frame_reader_init(&reader, 1 << 30);
    r = frame_reader_take(&reader, &at, &len, &back);
    must(r >= 0);
    if (r == 1)
        frame_fini(&back);
    frame_reader_fini(&reader);
}

/* Check that the parent would accept `frame`, whatever one back-end has sent
 * (PROTOCOL 16.2, 16.10). */
static void check_exact(const struct frame *frame)
{
    uint8_t ending = FRAME_EMPTY | FRAME_LAST;

    must((frame->wave & PACKET_WAVE_MASK) != 0);
    must(!(frame->flags & (FRAME_LATE | FRAME_COMPENSATING)));
    must(!(frame->flags & FRAME_OVER) || (frame->flags & ending) == ending);
}

static void check_action(struct play *play, struct action *action)
{
    if (play->ended)
        must(action->type == ACTION_CLOSE && play->want_link_up_closed);
    switch (action->type) {
    case ACTION_SEND:
        must(action->link < LINKS && play->up[action->link]);
        must(play->is_observer[action->link]
                 ? action->frame.type == FRAME_ROWS ||
                       action->frame.type == FRAME_REPORTS
                 : may_go(action->frame.type, play->is_parent[action->link]));
        check_frame(&action->frame);
        if (play->alone && action->frame.flags & FRAME_WAVES)
            check_exact(&action->frame);
        break;
    case ACTION_CLOSE:
        must(action->link < LINKS && play->up[action->link]);
        play->up[action->link] = false;
        break;
    case ACTION_LOAD:
        must(action->definition && action->definition->id != 0);
        if (play->load_count < STREAMS)
            play->load[play->load_count++] = action->definition->id;
        break;
    case ACTION_FILTER:
        must(!play->calling && (action->call->state || action->call->init ||
                                action->call->input_count > 0 ||
                                action->call->slots == CALL_PACK));
        play->calling = true;
        break;
    case ACTION_DELIVER:
        must(play->role != NODE_COMMNODE && action->frame.type == FRAME_DATA);
        if (action->stream < STREAMS) {
            struct frame frame = frame_ref(&action->frame);

            must(fifo_push(&play->delivered[action->stream], &frame, 0) == 0);
        }
        break;
    case ACTION_EXIT:
        play->ended = true;
        break;
    case ACTION_DIAL:
        must(play->role != NODE_FRONTEND);
        play->dialling = true;
        play->dialled = action->rank;
        break;
    case ACTION_KNOCK:
    case ACTION_RECORD:
    case ACTION_REPLACE:
        must(play->role == NODE_FRONTEND);
        break;
    case ACTION_CLOCK:
        play->clock = true;
        break;
    case ACTION_INJECT:
        must(play->allowed && play->role != NODE_FRONTEND);
        must(action->code >= COP_INJECT_KILL && action->code <= COP_INJECT_CUT);
        must(action->sequence <= LIMIT_FREEZE_MS);
        must(action->link < LINKS && play->up[action->link] &&
             play->is_parent[action->link]);
        break;
    case ACTION_SPAWN:
    case ACTION_STOP:
    case ACTION_KILL:
    case ACTION_RANK:
    case ACTION_UNLOAD:
    case ACTION_TELL:
        break;
    }
}

static void step_once(struct play *play, struct event *event)
{
    char text[NODE_CHECK_TEXT];

    event->now_ms = play->now_ms;
    must(node_step(play->node, event, &play->actions) != -ENOMEM);
    must(!play->actions.failed);
    must(node_check(play->node, text));
    for (size_t i = 0; i < play->actions.count; i++)
        check_action(play, &play->actions.list[i]);
    actions_clear(&play->actions);
}

static void step(struct play *play, struct event *event)
{
    step_once(play, event);
    if (!play->clock)
        return;
    play->clock = false;
    step_once(play, &(struct event){.type = EVENT_CLOCK});
    must(!play->clock);
}

/* ---- input of the node ---- */

static void link_up(struct play *play, uint8_t what)
{
    uint32_t link = play->alone ? VILLAIN : what % LINKS;
    bool observes = what / LINKS == 30;
    struct event event = {.type = EVENT_LINK_UP, .link = link};

    if (play->up[link])
        return;
    if (play->dialling && what & 1) {
        play->dialling = false;
        event.is_parent = true;
        observes = false;
        event.role = play->dialled ? NODE_COMMNODE : NODE_FRONTEND;
        event.rank = play->dialled;
        what = 255;
    }
    switch (play->alone ? 2 : what == 255 ? 99 : (what / LINKS) % 6) {
    case 0:
        event.is_parent = play->role != NODE_FRONTEND;
        event.role = NODE_COMMNODE;
        event.rank = event.is_parent ? 0 : 1;
        break;
    case 1:
        event.rank = 11;
        event.role = NODE_COMMNODE;
        break;
    case 2:
        event.rank = 12;
        event.role = NODE_BACKEND;
        break;
    case 3:
        event.rank = 13;
        event.role = NODE_BACKEND;
        break;
    case 4:
        event.rank = RANK_NONE;
        event.role = NODE_BACKEND;
        break;
    default:
        event.rank = (uint32_t)number(&play->in);
        event.role = NODE_BACKEND;
        break;
    }
    if (observes && !play->alone) {
        event.rank = RANK_NONE;
        event.role = NODE_OBSERVER;
    }
    if (play->role == NODE_BACKEND && !event.is_parent)
        return;
    play->is_observer[link] = event.role == NODE_OBSERVER;
    play->up[link] = true;
    play->is_parent[link] = event.is_parent;
    play->want_link_up_closed = true;
    step(play, &event);
    play->want_link_up_closed = false;
}

static void link_down(struct play *play, uint8_t what)
{
    uint32_t link = play->alone ? VILLAIN : what % LINKS;

    if (play->dialling && what & 0x80) {
        play->dialling = false;
        step(play, &(struct event){.type = EVENT_UNREACHABLE,
                                   .rank = play->dialled,
                                   .refused = what & 0x40});
        return;
    }
    if (!play->up[link])
        return;
    play->up[link] = false;
    step(play, &(struct event){
                   .type = EVENT_LINK_DOWN, .link = link, .text = "it broke"});
}

/* A payload of `len` bytes, the first 8 from the input. */
static struct payload *raw_payload(struct play *play, size_t len)
{
    struct payload *payload = NULL;

    if (len == 0)
        return NULL;
    must(payload_new(&payload, len) == 0);
    for (size_t i = 0; i < len; i++)
        payload->bytes[i] = i < 8 ? byte(&play->in) : 0;
    return payload;
}

static void some_ranks(struct play *play, struct ranks *out)
{
    uint8_t what = byte(&play->in);

    for (int i = 0; i < 4; i++)
        if (what & (1 << i))
            ranks_add(out, 12 + (uint32_t)i, 12 + (uint32_t)i);
    if ((what & 0x70) == 0x70) /* scattered; else all, or more than allowed */
        for (uint32_t rank = 14; rank < MANY; rank += 2)
            ranks_add(out, rank, rank);
    if (what & 0x40)
        ranks_add(out, (uint32_t)number(&play->in),
                  what & 0x20 ? LIMIT_NODES - 1 : RANK_NONE - 1);
    if (what & 0x80)
        ranks_add(out, (uint32_t)number(&play->in) % 40, 40);
}

static void make_claim(struct play *play, struct frame *frame)
{
    struct claim claim = {0};
    uint8_t flags = byte(&play->in);
    uint32_t stream = byte(&play->in) % STREAMS;

    some_ranks(play, &claim.members);
    claim.received = number(&play->in);
    claim.settled.number = number(&play->in);
    claim.settled.epoch = (uint32_t)number(&play->in);
    claim.recoverable = flags & 1;
    claim.replayable = flags & 2;
    claim.counts = flags & 8;
    if (flags & 16)
        some_ranks(play, &claim.loss.losers);
    if (claim.counts)
        some_ranks(play, &claim.counting);
    if (flags & 4)
        claim.error = strdup("no such filter");
    must(claim_encode(&claim, stream, frame) == 0);
    claim_fini(&claim);
}

static void make_roster(struct play *play, struct frame *frame)
{
    struct roster roster = {0};
    uint8_t what = byte(&play->in);

    some_ranks(play, &roster.backends);
    if (what & 8) /* each is the parent of the previous one */
        for (uint32_t i = 0; i < MANY; i++)
            roster_add_internal(&roster, 20 + MANY - i, 19 + MANY - i, 1, "");
    if (what & 1)
        roster_add_internal(&roster, 11, RANK_NONE, 2, "127.0.0.1 4711");
    if (what & 2)
        roster_add_note(&roster.missing, 12, "host", "it is away");
    if (what & 32)
        roster_add_note(&roster.names, byte(&play->in), "host", "label");
    must(roster_encode(&roster, what & 4 ? FRAME_TABLE : FRAME_READY, frame) ==
         0);
    roster_fini(&roster);
    for (uint32_t i = (what & 16) ? 1 + byte(&play->in) % 4 : 0; i > 0; i--)
        frame->payload->bytes[number(&play->in) % frame->payload->len] =
            byte(&play->in);
}

static void make_definition(struct play *play,
                            struct stream_definition *definition)
{
    uint8_t what = byte(&play->in);

    definition->kind = (enum stream_guarantee)(what / 16 % 4 % 3);
    definition->sync = definition->kind == STREAM_WAVES
                           ? COP_WAIT_FOR_ALL
                           : (enum cop_sync)(what % 3);
    definition->wave_timeout_ms = what;
    definition->keep = 1u << what % 16;
    definition->redo_limit = what % 4;
    definition->grow = what & 0x40;
    if (what & 0x80)
        some_ranks(play, &definition->members);
    else
        ranks_add(&definition->members, 12, 14);
    definition->up_filter = strdup("sum");
    definition->up_filter_frontend = strdup("");
    definition->up_filter_backend = strdup("");
    definition->down_filter = strdup("");
}

static void make_control(struct play *play, struct frame *frame)
{
    uint8_t what = byte(&play->in);
    struct control control = {
        .type = (enum control_type)(1 + what % 6),
        .stream = byte(&play->in) % STREAMS,
        .after = number(&play->in),
        .generation = what,
        .view = what,
    };

    if (what >= 0xf0)
        control.type = what == 0xff   ? CONTROL_LEFT
                       : what == 0xfe ? CONTROL_ENDING
                       : what == 0xfd ? CONTROL_VIEW
                       : what & 1     ? CONTROL_REDO
                                      : CONTROL_FAIL;
    if (control.type == CONTROL_OPEN) {
        make_definition(play, &control.definition);
        control.definition.id = control.stream;
    } else if (control.type == CONTROL_PARAMETERS) {
        control.parameters = raw_payload(play, what / 6);
    } else if (control.type == CONTROL_ENTER) {
        some_ranks(play, &control.ranks);
        control.stream_count = 1;
        control.streams = calloc(1, sizeof(*control.streams));
        control.starts = calloc(1, sizeof(*control.starts));
        control.markers = calloc(1, sizeof(*control.markers));
        control.epochs = calloc(1, sizeof(*control.epochs));
        must(control.streams && control.starts);
        must(control.markers && control.epochs);
        control.streams[0] = control.stream;
        control.starts[0] = number(&play->in);
        control.markers[0] = number(&play->in);
        control.epochs[0] = (uint32_t)number(&play->in);
    } else if (control.type == CONTROL_LOST || control.type == CONTROL_LEFT ||
               control.type == CONTROL_ENDING) {
        some_ranks(play, &control.ranks);
    }
    must(control_encode(&control, frame) == 0);
    frame->sequence = number(&play->in);
    control_fini(&control);
}

static void make_record(struct play *play, struct frame *frame)
{
    uint32_t ranks[2], incarnations[2], parents[2], i;
    const char *addresses[] = {"a 1", "b 2"};
    uint8_t what = byte(&play->in);

    for (i = 0; i < 2; i++) {
        ranks[i] = what & 0x40 ? (uint32_t)number(&play->in) : 10u + what % 5u;
        incarnations[i] = (uint32_t)number(&play->in);
        parents[i] = what & 1   ? UINT32_MAX - 1
                     : what & 2 ? UINT32_MAX - 2
                                : (uint32_t)number(&play->in);
    }
    frame->type = what & 8 ? FRAME_NODE : FRAME_RECORD;
    if (what & 8) /* commnodes that have joined */
        must(packet_pack(&frame->payload, "%aud %as", ranks, what % 3u,
                         addresses, what & 0x80 ? 1u : what % 3u) == 0);
    else
        must(packet_pack(&frame->payload, "%aud %aud %aud %s", ranks, what % 3u,
                         incarnations, what % 3u, parents,
                         what & 0x80 ? 1u : what % 3u, "it is said") == 0);
}

/* STATUS and its answers, and INJECT: nearly valid, to get deeper. */
static void make_status(struct play *play, struct frame *frame)
{
    struct rows rows = {0};
    uint8_t what = byte(&play->in);
    struct row row = {
        .rank = 10u + what % 6u,
        .parent = 10,
        .role = what % 3u,
        .host = (char[]){"host"},
    };

    if (what & 0x10)
        row.parent = (uint32_t)number(&play->in);
    row.state = byte(&play->in) % (ROW_STATES + 1u);
    row.age_ms = (uint32_t)number(&play->in);
    if (what & 1) {
        for (int i = 0; i < what % 4; i++, row.rank++)
            must(rows_add(&rows, &row) == 0);
        if (what & 0x40 && !play->crowded) /* in a chain */
            for (int i = 0; i < CROWD; i++, row.rank++) {
                play->crowded = true;
                row.parent = row.rank - 1;
                must(rows_add(&rows, &row) == 0);
            }
        must(rows_encode(&rows, what & 2 ? -1 : 0, "text", frame) == 0);
        rows_fini(&rows);
    } else {
        frame->type = (uint8_t)(FRAME_STATUS + what / 2 % 5);
        frame->tag = byte(&play->in) % 5;
        frame->origin = row.rank;
        frame->count = what & 0x40 ? (uint32_t)number(&play->in) : what / 128;
    }
    frame->sequence = what & 0x20 ? number(&play->in) : 1;
}

/* ADOPT, PROBE, their answers, and other frames with a list of numbers. */
static void make_adoption(struct play *play, struct frame *frame)
{
    static const enum frame_type types[] = {
        FRAME_ADOPT, FRAME_ADOPTED, FRAME_PROBE,        FRAME_PROBED,
        FRAME_FEED,  FRAME_EXPEL,   FRAME_COMPENSATION, FRAME_SNAPSHOT,
    };
    struct ranks ranks = {0};
    uint8_t what = byte(&play->in);

    frame->type = (uint8_t)types[what % 8];
    frame->tag = what / 8 % 8;
    frame->origin = what & 0x40 ? (uint32_t)number(&play->in) : 10u + what % 5u;
    frame->count = byte(&play->in) % 8;
    frame->sequence = what & 0x80 ? number(&play->in) : what % 5;
    frame->stream = byte(&play->in) % STREAMS;
    if (frame->type == FRAME_COMPENSATION) {
        frame->payload = raw_payload(play, what);
        return;
    }
    some_ranks(play, &ranks);
    must(packet_pack(&frame->payload, "%aud", ranks_pairs(&ranks),
                     (uint32_t)(2 * ranks.count)) == 0);
    ranks_fini(&ranks);
}

/* A packet of a stream of whole waves, nearly valid, to get deep. */
static void make_exact(struct play *play, uint8_t what, struct frame *frame)
{
    frame->type = FRAME_DATA;
    frame->flags =
        (uint8_t)(FRAME_WAVES | (byte(&play->in) & ~(FRAME_VOID | FRAME_LATE)));
    frame->generation = (uint32_t)number(&play->in);
    frame->wave = number(&play->in);
    frame->contributors = 1;
    frame->check = what & 0x20 ? number(&play->in) : waves_hash(frame->origin);
    if (what & 0x10)
        frame->check += waves_hash(15);
    if (!(frame->flags & FRAME_EMPTY))
        frame->payload = raw_payload(play, 1u << what % 13);
}

static void make_total(struct play *play, uint8_t what, struct frame *frame)
{
    struct total total = {.tag = what};
    uint32_t stream = frame->stream, origin = frame->origin;

    some_ranks(play, &total.set);
    total.settled.number = number(&play->in);
    total.settled.epoch = (uint32_t)number(&play->in);
    total.level = number(&play->in);
    total.is_empty = what & 0x10;
    total.is_doubted = what & 0x20;
    if (!total.is_empty)
        total.payload = raw_payload(play, 1u << what % 13);
    must(total_encode(&total, stream, origin, frame) == 0);
    total_fini(&total);
}

static void make_farewell(struct play *play, uint8_t what, struct frame *frame)
{
    uint32_t streams[] = {frame->stream, byte(&play->in) % STREAMS};
    unsigned char kinds[] = {what % 4, byte(&play->in) % 4}, bytes[8] = {0};
    uint32_t lens[] = {byte(&play->in) % 8, 0};
    int32_t tags[] = {what, 100};
    uint32_t count = 1 + what / 16 % 2;

    frame->type = FRAME_FAREWELL;
    frame->stream = 0;
    must(packet_pack(&frame->payload, "%aud %ad %auc %aud %auc", streams, count,
                     tags, count, kinds, count, lens, count, bytes,
                     lens[0]) == 0);
}

/* SKIP, or a packet for some members, nearly valid. */
static void make_some(struct play *play, uint8_t what, struct frame *frame)
{
    struct payload *packet = NULL;
    struct ranks to = {0};

    frame->count = (uint32_t)number(&play->in);
    frame->number = number(&play->in);
    if (what & 8) {
        frame->type = FRAME_SKIP;
        frame->flags = what & 16 ? FRAME_ASK : 0;
        frame->tag = (int32_t)number(&play->in);
        frame->origin = (uint32_t)number(&play->in);
        return;
    }
    frame->type = FRAME_DATA;
    frame->flags = FRAME_SOME | (what & 32 ? FRAME_EMPTY : 0);
    packet = raw_payload(play, what & 16);
    some_ranks(play, &to);
    must(destinations_add(&frame->payload, packet, &to) == 0);
    payload_free(packet);
    ranks_fini(&to);
    frame->payload->bytes[number(&play->in) % frame->payload->len] ^=
        byte(&play->in);
}

/* The other frames of streams with a guarantee, and SKIP. */
static void make_guaranteed(struct play *play, struct frame *frame)
{
    uint8_t what = byte(&play->in);
    struct ranks ranks = {0};

    frame->stream = 1u + what / 64;
    frame->origin = 11 + byte(&play->in) % 4u;
    switch (what % 8) {
    case 0:
        frame->type = FRAME_RESUME;
        frame->count = (uint32_t)number(&play->in);
        frame->sequence = number(&play->in);
        break;
    case 1:
        frame->type = FRAME_FINAL;
        frame->sequence = number(&play->in);
        break;
    case 2: /* names joiners */
        frame->type = FRAME_MARKER;
        frame->tag = (int32_t)number(&play->in);
        frame->sequence = number(&play->in);
        some_ranks(play, &ranks);
        must(packet_pack(&frame->payload, "%aud", ranks_pairs(&ranks),
                         (uint32_t)(2 * ranks.count)) == 0);
        ranks_fini(&ranks);
        break;
    case 3:
        make_farewell(play, what, frame);
        break;
    case 4:
        make_total(play, what, frame);
        break;
    case 5:
        make_some(play, what, frame);
        break;
    default:
        make_exact(play, what, frame);
        break;
    }
}

static void make_any(struct play *play, struct frame *frame)
{
    uint8_t what = byte(&play->in);

    frame->type = (uint8_t)(1 + what % FRAME_EXPEL);
    if (what >= 0xf0)
        frame->type = (uint8_t)(FRAME_STATUS + what % 4);
    frame->flags = byte(&play->in) & 0xf;
    frame->stream =
        what & 0x80 ? (uint32_t)number(&play->in) : 1u + (what >> 6);
    frame->tag = (int32_t)number(&play->in);
    frame->origin = (uint32_t)number(&play->in);
    frame->count = (uint32_t)number(&play->in);
    frame->sequence = number(&play->in);
    frame->payload = raw_payload(play, what & 0x20 ? 70000 : what & 0x10);
}

static void frame_comes(struct play *play, uint8_t what)
{
    struct event event = {
        .type = EVENT_FRAME,
        .link = play->alone ? VILLAIN : what % LINKS,
    };
    struct frame *frame = &event.frame;

    if (!play->up[event.link])
        return;
    switch (what / LINKS >= 29 ? what / LINKS : (what / LINKS) % 8) {
    case 0:
        make_claim(play, frame);
        break;
    case 1:
        make_roster(play, frame);
        break;
    case 2:
        make_control(play, frame);
        break;
    case 3:
        make_record(play, frame);
        break;
    case 4: /* a greeting */
        frame->type = FRAME_HEARTBEAT;
        frame->count = 1u << (byte(&play->in) % 28);
        break;
    case 5:
        make_adoption(play, frame);
        break;
    case 29:
    case 31:
        make_guaranteed(play, frame);
        break;
    case 30:
        make_status(play, frame);
        break;
    default:
        make_any(play, frame);
        break;
    }
    if (play->alone && what & 1) { /* nearly valid, to get deep into the node */
        frame->origin = 12;
        if (frame->flags & FRAME_WAVES && what & 2)
            frame->check = waves_hash(12);
    }
    step(play, &event);
}

static void loaded(struct play *play, uint8_t what)
{
    struct stream_filters filters = {
        .up = what & 1,
        .up_single = what & 2,
        .down = what & 4,
        .down_one_to_one = what & 8,
        .recoverable = what & 16,
        .inits = what & 32,
    };

    if (play->load_count == 0)
        return;
    step(play, &(struct event){.type = EVENT_LOADED,
                               .stream = play->load[--play->load_count],
                               .filters = &filters,
                               .text = what > 240 ? "cannot load" : NULL});
}

static void filtered(struct play *play, uint8_t what)
{
    struct frame up[3] = {{0}}, down[3] = {{0}};
    struct event event = {
        .type = EVENT_FILTERED,
        .up = up,
        .up_count = what % 4,
        .down = down,
        .down_count = what / 4 % 4,
        .text = what > 240 ? "it failed" : NULL,
    };

    if (!play->calling)
        return;
    play->calling = false;
    for (size_t i = 0; i < event.up_count; i++)
        up[i].payload = raw_payload(play, 4 + what);
    for (size_t i = 0; i < event.down_count; i++)
        down[i].payload = raw_payload(play, 4 + what);
    step(play, &event);
}

static void application_asks(struct play *play, uint8_t what)
{
    static const enum event_type types[] = {
        EVENT_OPEN,   EVENT_CLOSE,      EVENT_SEND, EVENT_RECEIVE, EVENT_TAKEN,
        EVENT_SETTLE, EVENT_PARAMETERS, EVENT_SYNC, EVENT_DRAIN,   EVENT_MOVE,
    };
    struct stream_definition definition = {0};
    struct event event = {.type = types[what % 10],
                          .stream = what / 10u % STREAMS,
                          .rank = what / 10u % 15,
                          .parent = what / 7u % 15,
                          .text = "host",
                          .to_count = what % 6u};
    uint32_t to[] = {12, 14, 13, 12, what};

    if (what == 255 && !play->alone)
        event.type = EVENT_SHUTDOWN;
    if (what >= 252 && what < 255)
        event = (struct event){.type = EVENT_STATE, .stream = what - 251u};
    if (event.type == EVENT_OPEN) {
        make_definition(play, &definition);
        event.definition = &definition;
    }
    if (event.type == EVENT_SEND || event.type == EVENT_PARAMETERS) {
        event.frame.tag = what;
        event.frame.payload = raw_payload(play, what & 0x40 ? 100000 : what);
        event.to = what & 0x80 ? to : NULL;
    }
    if (event.type == EVENT_TAKEN) {
        if (!fifo_peek(&play->delivered[event.stream]))
            return;
        event.frame = fifo_pop(&play->delivered[event.stream]).frame;
    }
    step(play, &event);
    if (event.type == EVENT_TAKEN)
        frame_fini(&event.frame);
    definition_fini(&definition);
}

static void happen(struct play *play)
{
    uint8_t what = byte(&play->in);
    uint8_t detail = byte(&play->in);

    switch (what % 16) {
    case 0:
    case 1:
        link_up(play, detail);
        break;
    case 2:
        link_down(play, detail);
        break;
    case 3:
        if (play->alone)
            break; /* without other senders, every link would be silent */
        play->now_ms += detail > 250 ? 5000 : detail * 4u;
        step(play, &(struct event){.type = EVENT_TICK});
        break;
    case 4:
        step(play, &(struct event){.type = EVENT_CHILD_GONE,
                                   .rank = play->alone ? 12 : 10 + detail % 5,
                                   .text = "it has exited"});
        break;
    case 5:
        loaded(play, detail);
        break;
    case 6:
        filtered(play, detail);
        break;
    case 7:
    case 8:
    case 9:
        application_asks(play, detail);
        break;
    default:
        frame_comes(play, detail);
        break;
    }
}

/* ---- a node after its launch, at which the search begins ---- */

static void ready(struct play *play,
                  uint32_t link,
                  uint32_t rank,
                  enum node_role role,
                  uint32_t first,
                  uint32_t last)
{
    struct event up = {
        .type = EVENT_LINK_UP,
        .link = link,
        .rank = rank,
        .role = role,
    };
    struct event frame = {.type = EVENT_FRAME, .link = link};
    struct roster roster = {0};

    play->up[link] = true;
    step(play, &up);
    frame.frame = (struct frame){.type = FRAME_HEARTBEAT, .count = 1 << 20};
    step(play, &frame);
    ranks_add(&roster.backends, first, last);
    if (role == NODE_COMMNODE)
        roster_add_internal(&roster, rank, RANK_NONE, 2, "127.0.0.1 4711");
    must(roster_encode(&roster, FRAME_READY, &frame.frame) == 0);
    roster_fini(&roster);
    step(play, &frame);
}

static void parent_is_up(struct play *play)
{
    struct event up = {
        .type = EVENT_LINK_UP,
        .link = 7,
        .role = NODE_FRONTEND,
        .is_parent = true,
    };
    struct event frame = {.type = EVENT_FRAME, .link = 7};
    struct roster roster = {0};

    play->up[7] = true;
    play->is_parent[7] = true;
    step(play, &up);
    frame.frame = (struct frame){.type = FRAME_HEARTBEAT, .count = 1 << 20};
    step(play, &frame);
    roster_add_internal(&roster, 0, RANK_NONE, 2, "127.0.0.1 4000");
    roster_add_internal(&roster, 10, 0, 3, "127.0.0.1 4010");
    roster_add_internal(&roster, 11, 10, 2, "127.0.0.1 4011");
    roster_add_internal(&roster, 19, 0, 2, "127.0.0.1 4019");
    must(roster_encode(&roster, FRAME_TABLE, &frame.frame) == 0);
    roster_fini(&roster);
    step(play, &frame);
}

static void launch(struct play *play)
{
    if (play->role != NODE_BACKEND) {
        ready(play, 0, 11, NODE_COMMNODE, 14, 15);
        ready(play, 1, 12, NODE_BACKEND, 12, 12);
        ready(play, 2, 13, NODE_BACKEND, 13, 13);
    }
    if (play->role != NODE_FRONTEND)
        parent_is_up(play);
}

/* Check that, whatever one back-end has sent, the others are still linked, and
 * members (PROTOCOL 2.5). */
static void check_others(const struct play *play)
{
    static const uint32_t others[] = {13, 14, 15};

    must(!play->ended);
    must(play->up[0] && play->up[2]);
    must(play->role == NODE_FRONTEND || play->up[7]);
    for (size_t i = 0; play->role == NODE_FRONTEND && i < 3; i++)
        must(ranks_has(node_backends(play->node), others[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct node_child children[] = {
        {11, "one", NODE_COMMNODE, 1},
        {12, "two", NODE_BACKEND, 1},
        {13, "three", NODE_BACKEND, 1},
    };
    struct play play = {.in = {data, len}, .now_ms = 1000};
    uint8_t what = byte(&play.in);
    struct node_config config = {.host = "here",
                                 .address = "127.0.0.1 4710",
                                 .children = children,
                                 .next_rank = 20,
                                 .replace = 2};

    play.role = (enum node_role)(what % 3);
    play.allowed = what & 0x20;
    config.allow_injection = config.keep_shape = play.allowed;
    config.role = play.role;
    config.rank = play.role == NODE_FRONTEND   ? 0
                  : play.role == NODE_COMMNODE ? 10
                  : what & 0x80                ? RANK_NONE
                                               : 14;
    config.depth = config.rank == 0 ? 0 : 1;
    config.child_count = play.role == NODE_BACKEND ? 0 : 3;
    must(node_new(&play.node, &config) == 0);
    step(&play, &(struct event){.type = EVENT_START});
    if (what & 0x40)
        launch(&play);
    play.alone = what & 0x40 && what & 0x10 && play.role != NODE_BACKEND;
    for (int i = 0; i < EVENTS_MAX && play.in.left > 0; i++)
        happen(&play);
    if (play.alone)
        check_others(&play);
    for (size_t i = 0; i < STREAMS; i++)
        fifo_fini(&play.delivered[i]);
    node_free(play.node);
    actions_fini(&play.actions);
    return 0;
}
