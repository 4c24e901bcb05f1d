/* drawing.c - draw the schedule of a seed.
 *
 * Each seed turns features on and off (swarm testing): a bug that one feature
 * hides shows in a seed without that feature. */
#include <string.h>

#include "sim/memory.h"
#include "sim/random.h"
#include "sim/swarm/model.h"
#include "sim/swarm/schedule.h"
#include "sim/swarm/traffic.h"
#include "sim/tree.h"
#include "wire/limits.h"

/* The most nodes that join, and the most steps between two syncs. */
#define DRAWING_JOINERS 12
#define DRAWING_STEPS   20

/* A stop taken for a death, one that is not, and how near a close one is. */
#define DRAWING_LONG_MS  (4 * LIMIT_FAILURE_TIMEOUT_MS)
#define DRAWING_SHORT_MS (LIMIT_FAILURE_TIMEOUT_MS / 2)
#define DRAWING_NEAR_MS  (2 * LIMIT_HEARTBEAT_MS)

/* When, after the launch begins, a node may stop; how long a slow start may
 * take; and constants that make independent random sources. */
#define DRAWING_START_MS 60
#define DRAWING_SLOW_MS  (2 * LIMIT_FAILURE_TIMEOUT_MS)
#define DRAWING_STARTS   UINT64_C(0x5107057a27)
#define DRAWING_SHAPES   UINT64_C(0x5ba9e5)
#define DRAWING_CHATTERS UINT64_C(0xc4a77e)
#define DRAWING_RATES    UINT64_C(0x5a7e5)
#define DRAWING_HANGS    UINT64_C(0x4a9655)
#define DRAWING_LIES     UINT64_C(0x11e5)
#define DRAWING_POISON   UINT64_C(0x9015)
#define DRAWING_EXACT    UINT64_C(0xe8ac7)
#define DRAWING_ANSWERS  UINT64_C(0xa5f3)
#define DRAWING_JOINED   UINT64_C(0x701ed)
#define DRAWING_HELPERS  UINT64_C(0x4e17e5)
#define DRAWING_PLACES   UINT64_C(0x91ace5)
#define DRAWING_CRASHES  UINT64_C(0xc4a54e5)
#define DRAWING_REFUSALS UINT64_C(0x4ef05e)
#define DRAWING_LEAVERS  UINT64_C(0x1ea7e5)
#define DRAWING_MOVES    UINT64_C(0x307e5)
#define DRAWING_DRAINS   UINT64_C(0xd2a125)
#define DRAWING_SOME     UINT64_C(0x503e)

/* How long a sync that is to follow a join waits for the joiner's report. */
#define DRAWING_WITHIN_MS 500

/* The least and most bytes that a back-end keeps on a stream of whole waves. */
#define DRAWING_KEEP_MIN 64
#define DRAWING_KEEP_MAX (64u << 10)

/* The least and most bytes that the windows of a stream share, if fewer than in
 * a real node. */
#define DRAWING_BUDGET_MIN (64u << 10)
#define DRAWING_BUDGET_MAX (512u << 10)

/* The least and most bytes per millisecond of a slow link, on which a packet of
 * 100,000 bytes takes half a second to five. */
#define DRAWING_RATE_MIN 20
#define DRAWING_RATE_MAX 200

struct drawing {
    struct random random;
    struct random shapes; /* of streams: its own source, as for starts */
    struct random chatters;
    struct random hung;
    struct random lies;
    struct random poison;
    struct random exact;
    struct random answers;
    struct random joined;
    struct random refusals;
    struct random leavers;
    struct random some;
    struct random helpers;
    struct random moves;
    struct random crash;
    struct random drains;
    struct schedule *out;
    struct tree tree;
    enum traffic_kind kind; /* of most streams */
    uint32_t joiners;
    uint32_t streams;
    uint32_t sent[TRAFFIC_STREAMS + 1]; /* by stream */
    uint64_t closed;                    /* closed streams, as bits */
    uint64_t now_ms;
    uint64_t stalled_ms; /* when the last short stop ends */
    /* features */
    bool narrow;       /* windows are small ... */
    bool aligned;      /* ... and a stream waits for all */
    bool unasked;      /* members send unrequested packets */
    bool hangs;        /* filter calls of commnodes may hang */
    bool poisons;      /* ... or crash */
    bool refuses;      /* a node may refuse a stream's parameters */
    bool liars;        /* back-ends may send forbidden frames */
    bool parts;        /* back-ends leave together */
    bool selects;      /* packets for some members */
    bool keeps_little; /* the last stream keeps less than a member sends */
    bool joins;
    bool helps;     /* commnodes join */
    bool shifts;    /* commnodes move */
    bool crashes;   /* front-ends are replaced by others */
    uint32_t hosts; /* of which some are drained; 0: none is */
    bool greets;    /* a packet and a sync follow a join */
    bool closes;
    bool opens;
    bool leaves;
    bool spare; /* only commnodes die */
    bool front; /* the front-end may be stopped for a long time */
    bool faults[SCHEDULE_VERB_COUNT];
    bool faulty;     /* any fault is possible */
    unsigned stress; /* how many times as likely faults are */
};

static uint32_t draw_number(struct drawing *drawing,
                            uint64_t low,
                            uint64_t high)
{
    return (uint32_t)random_between(&drawing->random, low, high);
}

static bool chance(struct drawing *drawing, unsigned percent)
{
    return random_chance(&drawing->random, percent);
}

/* Whether a fault happens: with a probability of `percent`, times `stress`. */
static bool draw_fault(struct drawing *drawing, unsigned percent)
{
    percent *= drawing->stress;
    return chance(drawing, percent < 100 ? percent : 100);
}

/* How long a node is stopped or cut off: often just too short, or just long
 * enough, to be noticed. */
static uint32_t draw_stop(struct drawing *drawing)
{
    if (chance(drawing, 30))
        return draw_number(drawing, LIMIT_FAILURE_TIMEOUT_MS - DRAWING_NEAR_MS,
                           LIMIT_FAILURE_TIMEOUT_MS + DRAWING_NEAR_MS);
    return draw_number(drawing, 1, DRAWING_LONG_MS);
}

/* Add a step, `after_ms` after the previous one. */
static void add_step(struct drawing *drawing,
                     uint32_t after_ms,
                     enum schedule_verb verb,
                     uint32_t first,
                     uint32_t second,
                     uint32_t third,
                     uint32_t fourth)
{
    struct schedule_step step = {
        .verb = verb,
        .after_ms = after_ms,
        .numbers = {first, second, third, fourth},
    };

    drawing->now_ms += after_ms;
    schedule_add(drawing->out, &step);
}

/* ---- which node ---- */

static bool is_backend(const struct drawing *drawing, size_t index)
{
    return drawing->tree.nodes[index].child_count == 0;
}

/* The number of a node of the tree, or, above its last index, of a joiner. */
static uint32_t node_number(const struct drawing *drawing, size_t index)
{
    if (index < drawing->tree.count)
        return drawing->tree.nodes[index].rank;
    return tree_next_rank(&drawing->tree) +
           (uint32_t)(index - drawing->tree.count);
}

/* Draw any node, including those that have joined. */
static uint32_t draw_node(struct drawing *drawing, bool front)
{
    size_t count = drawing->tree.count + drawing->joiners;

    return node_number(drawing, draw_number(drawing, front ? 0 : 1, count - 1));
}

/* Draw a node that may die; 0: it may not. */
static uint32_t draw_victim(struct drawing *drawing)
{
    size_t index = draw_number(drawing, 1, drawing->tree.count - 1);

    if (drawing->spare && is_backend(drawing, index))
        return 0;
    return drawing->tree.nodes[index].rank;
}

/* ---- traffic ---- */

static void draw_apps(struct drawing *drawing)
{
    for (size_t i = 0; i < drawing->tree.count; i++) {
        uint32_t rank = drawing->tree.nodes[i].rank;

        if (i > 0 && chance(drawing, 3))
            add_step(drawing, 0, SCHEDULE_APP, rank,
                     draw_number(drawing, 50, 400), 0, 0);
        else if (chance(drawing, 30))
            add_step(drawing, 0, SCHEDULE_APP, rank,
                     draw_number(drawing, 1, 20), 0, 0);
        if (chance(drawing, 10))
            add_step(drawing, 0, SCHEDULE_FILTER, rank,
                     draw_number(drawing, 1, 20), 0, 0);
    }
}

/* Draw the options of the next stream. */
static void draw_shape(struct drawing *drawing)
{
    bool down = random_chance(&drawing->shapes, 30);
    bool large = random_chance(&drawing->shapes, 30);

    if (down || large)
        add_step(drawing, 0, SCHEDULE_WITH, drawing->streams, down, large, 0);
}

/* Make the next stream an exact one. If `keep` is less than a member sends, no
 * other stream waits for all: otherwise a member that waits to send on this
 * stream would delay packets that another stream needs. Nor does it grow then,
 * or with small windows: a joiner may answer alone in its first epoch, and
 * would wait for a sync. */
static bool draw_exact(struct drawing *drawing, struct schedule_step *open)
{
    static const uint32_t filters[] = {MODEL_SUM, MODEL_CONCAT, MODEL_NONE};
    bool small = random_chance(&drawing->exact, 50) || open->numbers[5];

    drawing->keeps_little = false;
    if (drawing->kind != TRAFFIC_WHOLE || !random_chance(&drawing->exact, 75) ||
        (drawing->aligned && (small || drawing->narrow)))
        return false;
    drawing->narrow |= small;
    drawing->keeps_little = small || drawing->narrow;
    open->numbers[1] = filters[random_between(&drawing->exact, 0, 2)];
    open->numbers[2] = COP_WAIT_FOR_ALL;
    add_step(drawing, 0, SCHEDULE_EXACT, drawing->streams,
             small ? (uint32_t)random_between(&drawing->exact, DRAWING_KEEP_MIN,
                                              DRAWING_KEEP_MAX)
                   : 0,
             0, 0);
    return true;
}

/* Most aligned streams with a filter that keeps values apart have waves only:
 * each answer is compared with its question (PROTOCOL 4.3b). */
static void draw_answers(struct drawing *drawing,
                         const struct schedule_step *open)
{
    if (open->numbers[2] == COP_WAIT_FOR_ALL &&
        (open->numbers[1] == MODEL_SUM || open->numbers[1] == MODEL_CONCAT) &&
        random_chance(&drawing->answers, 70))
        add_step(drawing, 0, SCHEDULE_ANSWERS, drawing->streams, 0, 0, 0);
}

/* The members for `number`: 60 percent of the back-ends and of the nodes that
 * may join; 0: all. */
static struct ranks draw_members(const struct drawing *drawing, uint32_t number)
{
    uint32_t next = tree_next_rank(&drawing->tree);
    struct ranks members = {0};
    struct random random;

    if (number == 0)
        schedule_all(&members);
    for (uint32_t rank = 1;
         number > 0 && rank < next + (drawing->joins ? DRAWING_JOINERS : 0);
         rank++) {
        random_seed(&random, (uint64_t)number << 32 | rank);
        if (random_chance(&random, 60) &&
            (rank >= next || tree_find(&drawing->tree, rank)->child_count == 0))
            ranks_add(&members, rank, rank);
    }
    return members;
}

/* Draw unrequested packets on the last stream. */
static void draw_chatter(struct drawing *drawing)
{
    struct random *random = &drawing->chatters;
    struct schedule_step step = {.verb = SCHEDULE_CHATTER};

    if (!drawing->unasked || !random_chance(random, 60))
        return;
    step.numbers[0] = drawing->streams;
    /* in the order in which gcc once evaluated the arguments of a call, from
     * the last: seeds stay unchanged */
    step.members =
        draw_members(drawing, (uint32_t)random_between(random, 0, 1000));
    step.numbers[2] = (uint32_t)random_between(random, 5, 60);
    step.numbers[1] = (uint32_t)random_between(random, 1, 10);
    schedule_add(drawing->out, &step);
}

/* Draw the filter of the next stream, and how it waits: 70 percent of streams
 * are of the seed's kind (whole waves: draw_exact()). */
static void draw_filter(struct drawing *drawing, struct schedule_step *open)
{
    static const uint32_t plain[] = {MODEL_NONE, MODEL_SUM, MODEL_COUNT,
                                     MODEL_CONCAT};

    open->numbers[1] = draw_number(drawing, 0, MODEL_UNION);
    open->numbers[2] = chance(drawing, 60) ? 0 : draw_number(drawing, 0, 2);
    if (!chance(drawing, 70))
        return;
    switch (drawing->kind) {
    case TRAFFIC_PLAIN:
        open->numbers[1] = plain[draw_number(drawing, 0, 3)];
        return;
    case TRAFFIC_RECOVERABLE:
        open->numbers[1] = chance(drawing, 50) ? MODEL_MAX : MODEL_UNION;
        return;
    case TRAFFIC_TOTAL:
        open->numbers[1] = MODEL_TOTAL;
        open->numbers[2] = draw_number(drawing, 0, 2);
        return;
    case TRAFFIC_WHOLE:
        return;
    }
}

/* With its own source. */
static void draw_refusal(struct drawing *drawing)
{
    struct random *random = &drawing->refusals;
    size_t index = random_between(random, 0, drawing->tree.count - 1);

    if (drawing->refuses && random_chance(random, 30))
        add_step(drawing, 0, SCHEDULE_REFUSE, drawing->streams,
                 drawing->tree.nodes[index].rank, 0, 0);
}

static void draw_open(struct drawing *drawing)
{
    struct schedule_step step = {.verb = SCHEDULE_OPEN};

    if (drawing->streams == TRAFFIC_STREAMS)
        return;
    step.numbers[0] = ++drawing->streams;
    draw_shape(drawing);
    draw_filter(drawing, &step);
    if (drawing->unasked && random_chance(&drawing->chatters, 50))
        step.numbers[2] = COP_TIME_OUT;
    if (drawing->selects && random_chance(&drawing->some, 70))
        step.numbers[2] =
            random_chance(&drawing->some, 70) ? COP_DO_NOT_WAIT : COP_TIME_OUT;
    /* With two such streams, members that answer with more than a window, one
     * on each stream, wait for each other: not the network's fault. */
    if (drawing->narrow && drawing->aligned && step.numbers[2] == 0)
        step.numbers[2] = 1;
    step.numbers[3] = draw_number(drawing, 1, 50);
    step.numbers[4] = chance(drawing, 30);
    step.numbers[5] = chance(drawing, 15);
    if (!draw_exact(drawing, &step))
        draw_answers(drawing, &step);
    drawing->aligned |= step.numbers[2] == 0;
    step.numbers[6] = drawing->joins && chance(drawing, 70);
    if (drawing->keeps_little)
        step.numbers[6] = 0;
    step.members = draw_members(
        drawing, chance(drawing, 50) ? draw_number(drawing, 1, 1000) : 0);
    draw_refusal(drawing);
    schedule_add(drawing->out, &step);
    draw_chatter(drawing);
}

/* Draw a stream that the schedule has not closed; 0: it is closed. */
static uint32_t draw_stream(struct drawing *drawing)
{
    uint32_t stream = draw_number(drawing, 1, drawing->streams);

    return drawing->closed >> stream & 1 ? 0 : stream;
}

/* Up to five packets for one member, or for some. With its own source. */
static void draw_selected(struct drawing *drawing)
{
    struct random *random = &drawing->some;
    uint32_t stream = (uint32_t)random_between(random, 1, drawing->streams);

    for (uint64_t i = random_between(random, 0, 5);
         i > 0 && !(drawing->closed >> stream & 1) &&
         drawing->sent[stream] < TRAFFIC_PACKETS - 2;
         i--) {
        size_t index = random_between(random, 1, drawing->tree.count - 1);
        struct schedule_step step = {
            .verb = SCHEDULE_SEND_TO,
            .numbers = {stream, (uint32_t)random_between(random, 0, 3)},
        };

        drawing->sent[stream]++;
        if (random_chance(random, 50))
            step.members = draw_members(
                drawing, (uint32_t)random_between(random, 1, 1000));
        else
            ranks_add(&step.members, drawing->tree.nodes[index].rank,
                      drawing->tree.nodes[index].rank);
        schedule_add(drawing->out, &step);
    }
}

static void draw_traffic(struct drawing *drawing)
{
    uint32_t stream = draw_stream(drawing);

    if (stream && drawing->sent[stream] < TRAFFIC_PACKETS - 2) {
        drawing->sent[stream]++;
        add_step(drawing, 0, SCHEDULE_SEND, stream, draw_number(drawing, 0, 4),
                 0, 0);
    }
    stream = draw_stream(drawing);
    if (stream && chance(drawing, 10))
        add_step(drawing, 0, SCHEDULE_PARAMETERS, stream,
                 draw_number(drawing, 0, 99), 0, 0);
    stream = draw_stream(drawing);
    if (stream && drawing->closes && chance(drawing, 4)) {
        drawing->closed |= UINT64_C(1) << stream;
        add_step(drawing, 0, SCHEDULE_CLOSE, stream, 0, 0, 0);
    }
    if (drawing->opens && chance(drawing, 5))
        draw_open(drawing);
}

/* Send a packet and sync when the last joiner is reported. */
static void draw_greeting(struct drawing *drawing)
{
    struct random *random = &drawing->joined;
    uint32_t stream = (uint32_t)random_between(random, 1, drawing->streams);

    if (!random_chance(random, 70))
        return;
    add_step(drawing, 0, SCHEDULE_JOINED, DRAWING_WITHIN_MS, 0, 0, 0);
    if (!(drawing->closed >> stream & 1) &&
        drawing->sent[stream] < TRAFFIC_PACKETS - 2) {
        drawing->sent[stream]++;
        add_step(drawing, 0, SCHEDULE_SEND, stream,
                 (uint32_t)random_between(random, 1, 4), 0, 0);
    }
    if (random_chance(random, 80))
        add_step(drawing, 0, SCHEDULE_SYNC, 0, 0, 0, 0);
}

/* ---- without a death ---- */

/* A commnode joins, mostly the front-end, and may die soon. It counts as a
 * joiner: it is named like one. */
static void draw_helper(struct drawing *drawing)
{
    struct random *random = &drawing->helpers;
    uint32_t count = (uint32_t)drawing->tree.count;

    if (!drawing->helps || drawing->joiners == DRAWING_JOINERS ||
        !random_chance(random, 20))
        return;
    add_step(
        drawing, 0, SCHEDULE_HELP,
        random_chance(random, 60)
            ? 0
            : (uint32_t)random_between(random, 0, count + drawing->joiners - 1),
        0, 0, 0);
    drawing->joiners++;
    if (drawing->faults[SCHEDULE_KILL] && random_chance(random, 30))
        add_step(drawing, 0, SCHEDULE_KILL,
                 tree_next_rank(&drawing->tree) + drawing->joiners - 1,
                 (uint32_t)random_between(
                     random, 0, random_chance(random, 50) ? 60 : 3000),
                 0, 0);
}

/* A node moves, in half of the steps a commnode. It may die soon, or its next
 * parent. */
static void draw_move(struct drawing *drawing)
{
    struct random *random = &drawing->moves;
    uint32_t last = (uint32_t)drawing->tree.count + drawing->joiners - 1;
    uint32_t mover, parent, victim;

    if (!drawing->shifts || !random_chance(random, 15))
        return;
    mover = (uint32_t)random_between(random, 1, last);
    parent = (uint32_t)random_between(random, 0, last);
    for (int i = random_chance(random, 50) ? 0 : 4;
         i < 4 && mover < drawing->tree.count && is_backend(drawing, mover);
         i++)
        mover = (uint32_t)random_between(random, 1, last);
    for (int i = 0;
         i < 4 && parent < drawing->tree.count && is_backend(drawing, parent);
         i++)
        parent = (uint32_t)random_between(random, 0, last);
    mover = node_number(drawing, mover);
    parent = node_number(drawing, parent);
    add_step(drawing, 0, SCHEDULE_MOVE, mover, parent, 0, 0);
    victim = random_chance(random, 50) ? mover : parent;
    if (drawing->faults[SCHEDULE_KILL] && victim > 0 &&
        random_chance(random, 20))
        add_step(drawing, 0, SCHEDULE_KILL, victim,
                 (uint32_t)random_between(random, 0, 100), 0, 0);
}

/* A host is drained. A commnode may die meanwhile. */
static void draw_drain(struct drawing *drawing)
{
    struct random *random = &drawing->drains;
    uint32_t last = (uint32_t)drawing->tree.count + drawing->joiners - 1;

    if (drawing->hosts == 0 || !random_chance(random, 10))
        return;
    add_step(drawing, 0, SCHEDULE_DRAIN,
             (uint32_t)random_between(random, 0, drawing->hosts - 1),
             drawing->hosts, 0, 0);
    if (drawing->faults[SCHEDULE_KILL] && random_chance(random, 30))
        add_step(
            drawing, 0, SCHEDULE_KILL,
            node_number(drawing, (uint32_t)random_between(random, 1, last)),
            (uint32_t)random_between(random, 0, 100), 0, 0);
}

static void draw_nuisance(struct drawing *drawing)
{
    if (drawing->now_ms >= drawing->stalled_ms && chance(drawing, 10)) {
        uint32_t for_ms = draw_number(drawing, 1, DRAWING_SHORT_MS);

        add_step(drawing, 0, SCHEDULE_FREEZE, draw_node(drawing, true), 0,
                 for_ms, 0);
        /* Two in a row may look like one long stop. */
        drawing->stalled_ms =
            drawing->now_ms + for_ms + 2 * LIMIT_FAILURE_TIMEOUT_MS;
    }
    if (drawing->faults[SCHEDULE_SLOW] && chance(drawing, 4))
        add_step(drawing, 0, SCHEDULE_SLOW, draw_node(drawing, true),
                 draw_number(drawing, 1, 5000), draw_number(drawing, 1, 10000),
                 0);
    if (drawing->joins && drawing->joiners < DRAWING_JOINERS &&
        chance(drawing, 20)) {
        add_step(drawing, 0, SCHEDULE_JOIN, draw_node(drawing, true), 0, 0, 0);
        drawing->joiners++;
        if (drawing->faults[SCHEDULE_KILL] && !drawing->spare &&
            chance(drawing, 30))
            add_step(drawing, 0, SCHEDULE_KILL,
                     tree_next_rank(&drawing->tree) + drawing->joiners - 1,
                     draw_number(drawing, 0, 60), 0, 0);
        if (drawing->greets)
            draw_greeting(drawing);
    }
    draw_helper(drawing);
    draw_move(drawing);
    draw_drain(drawing);
}

/* ---- faults ---- */

/* Kill nodes near `rank`, too. */
static void draw_more_deaths(struct drawing *drawing, uint32_t rank)
{
    const struct tree_node *node = tree_find(&drawing->tree, rank);
    const struct tree_node *parent = &drawing->tree.nodes[node->parent];

    switch (draw_number(drawing, 0, 4)) {
    case 0: /* the parent; if late, it is the adopter too */
        if (parent->rank != 0)
            add_step(drawing, 0, SCHEDULE_KILL, parent->rank,
                     draw_number(drawing, 0, 40), 0, 0);
        return;
    case 1: /* siblings */
        for (size_t i = 0; i < parent->child_count; i++)
            if ((!drawing->spare || parent->children[i].role != NODE_BACKEND) &&
                chance(drawing, 50))
                add_step(drawing, 0, SCHEDULE_KILL, parent->children[i].rank,
                         draw_number(drawing, 0, 5), 0, 0);
        return;
    case 2: /* all commnodes, one after another */
        for (size_t i = 1; chance(drawing, 20) && i < drawing->tree.count; i++)
            if (!is_backend(drawing, i))
                add_step(drawing, 0, SCHEDULE_KILL, drawing->tree.nodes[i].rank,
                         draw_number(drawing, 0, 5000), 0, 0);
        return;
    default:
        return;
    }
}

static void draw_deaths(struct drawing *drawing)
{
    uint32_t rank = draw_victim(drawing);

    if (rank && drawing->faults[SCHEDULE_KILL] && draw_fault(drawing, 20)) {
        draw_more_deaths(drawing, rank);
        add_step(drawing, 0, SCHEDULE_KILL, rank, draw_number(drawing, 0, 200),
                 0, 0);
    }
    if (rank && drawing->faults[SCHEDULE_VANISH] && draw_fault(drawing, 5))
        add_step(drawing, 0, SCHEDULE_VANISH, rank,
                 draw_number(drawing, 0, 200), 0, 0);
    if (drawing->faults[SCHEDULE_TRAP] && draw_fault(drawing, 10))
        add_step(drawing, 0, SCHEDULE_TRAP, draw_node(drawing, false),
                 draw_number(drawing, 0, 60), 0, 0);
    if (rank && drawing->leaves && draw_fault(drawing, 5))
        add_step(drawing, 0, SCHEDULE_LEAVE, rank, 0, 0, 0);
}

/* With its own source. */
static void draw_hang(struct drawing *drawing)
{
    struct random *random = &drawing->hung;
    size_t index = random_between(random, 1, drawing->tree.count - 1);

    if (!is_backend(drawing, index) && random_chance(random, 20))
        add_step(drawing, 0, SCHEDULE_HANG, drawing->tree.nodes[index].rank, 0,
                 0, 0);
}

/* Some back-ends leave at the same time, with packets that they have not read.
 * With its own source. */
static void draw_leavers(struct drawing *drawing)
{
    struct random *random = &drawing->leavers;

    if (!random_chance(random, 15))
        return;
    for (int i = 0; i < 2; i++) {
        uint32_t stream = (uint32_t)random_between(random, 1, drawing->streams);
        uint32_t answers = (uint32_t)random_between(random, 0, 4);

        if (drawing->sent[stream]++ < TRAFFIC_PACKETS - 2)
            add_step(drawing, random_between(random, 0, 20), SCHEDULE_SEND,
                     stream, answers, 0, 0);
    }
    for (uint64_t i = random_between(random, 1, 4); i > 0; i--) {
        size_t index = random_between(random, 1, drawing->tree.count - 1);

        if (is_backend(drawing, index))
            add_step(drawing, 0, SCHEDULE_LEAVE,
                     drawing->tree.nodes[index].rank, 0, 0, 0);
    }
}

static void draw_poison(struct drawing *drawing)
{
    struct random *random = &drawing->poison;

    if (drawing->streams > 0 && random_chance(random, 10))
        add_step(drawing, 0, SCHEDULE_POISON,
                 (uint32_t)random_between(random, 1, drawing->streams),
                 random_chance(random, 30), 0, 0);
}

static void draw_lie(struct drawing *drawing)
{
    struct random *random = &drawing->lies;
    size_t index = random_between(random, 1, drawing->tree.count - 1);

    if (is_backend(drawing, index) && random_chance(random, 10))
        add_step(drawing, 0, SCHEDULE_LIE, drawing->tree.nodes[index].rank,
                 (uint32_t)random_between(random, 0, 100),
                 (uint32_t)random_between(random, 0, 4), 0);
}

static void draw_breaks(struct drawing *drawing)
{
    uint32_t rank = draw_node(drawing, false);
    uint32_t in_ms = draw_number(drawing, 0, 100);

    if (drawing->faults[SCHEDULE_CUT] && draw_fault(drawing, 5))
        add_step(drawing, 0, SCHEDULE_CUT, rank, in_ms, 0, 0);
    if (drawing->faults[SCHEDULE_HALF] && draw_fault(drawing, 4))
        add_step(drawing, 0, SCHEDULE_HALF, rank, in_ms,
                 draw_number(drawing, 0, 1), 0);
    if (drawing->faults[SCHEDULE_MUTE] && draw_fault(drawing, 4))
        add_step(drawing, 0, SCHEDULE_MUTE, rank, in_ms,
                 draw_number(drawing, 0, 1), 0);
    if (drawing->faults[SCHEDULE_HOLD] && draw_fault(drawing, 4))
        add_step(drawing, 0, SCHEDULE_HOLD, rank, in_ms,
                 draw_number(drawing, 0, 1), draw_stop(drawing));
    if (drawing->faults[SCHEDULE_ISOLATE] && draw_fault(drawing, 4))
        add_step(drawing, 0, SCHEDULE_ISOLATE, rank, in_ms, draw_stop(drawing),
                 0);
    if (drawing->faults[SCHEDULE_FREEZE] && draw_fault(drawing, 3))
        add_step(drawing, 0, SCHEDULE_FREEZE,
                 drawing->front && chance(drawing, 30) ? 0 : rank, in_ms,
                 draw_stop(drawing), 0);
}

static void draw_features(struct drawing *drawing)
{
    drawing->joins = chance(drawing, 20);
    drawing->closes = chance(drawing, 25);
    drawing->opens = chance(drawing, 25);
    drawing->faults[SCHEDULE_SLOW] = chance(drawing, 50);
    if (chance(drawing, 40) && drawing->stress == 1)
        return;
    drawing->spare = chance(drawing, 40);
    drawing->leaves = !drawing->spare && chance(drawing, 25);
    drawing->front = chance(drawing, 20);
    for (int verb = SCHEDULE_KILL; verb < SCHEDULE_SLOW; verb++) {
        drawing->faults[verb] =
            chance(drawing, verb == SCHEDULE_KILL ? 70 : 30);
        drawing->faulty |= drawing->faults[verb];
    }
}

/* In one seed of six, nodes that do not start are skipped, if there are any. */
static void draw_absence(struct drawing *drawing)
{
    unsigned missing = draw_number(drawing, 0, 50);
    unsigned hangs = chance(drawing, 30) ? 10 : 0;

    if (!chance(drawing, 16))
        return;
    add_step(drawing, 0, SCHEDULE_SKIP, 0, 0, 0, 0);
    if (chance(drawing, 50))
        return;
    for (size_t i = 1; i < drawing->tree.count; i++) {
        uint32_t rank = drawing->tree.nodes[i].rank;

        if (chance(drawing, missing))
            add_step(drawing, 0, SCHEDULE_ABSENT, rank, 0, 0, 0);
        else if (chance(drawing, hangs))
            add_step(drawing, 0, SCHEDULE_ABSENT, rank, 1, 0, 0);
    }
}

/* In some seeds starts are slow: slower than the limit of silence in a running
 * tree, but within the limit of a start (PROTOCOL 12.2b). They have their own
 * random source, so that seeds stay otherwise unchanged. */
static void draw_starts(struct drawing *drawing, uint64_t seed)
{
    struct random starts;

    random_seed(&starts, seed ^ DRAWING_STARTS);
    if (!random_chance(&starts, 10))
        return;
    for (size_t i = 1; i < drawing->tree.count; i++)
        if (random_chance(&starts, 15))
            add_step(drawing, 0, SCHEDULE_FREEZE, drawing->tree.nodes[i].rank,
                     (uint32_t)random_between(&starts, 1, DRAWING_START_MS),
                     (uint32_t)random_between(&starts, 1, DRAWING_SLOW_MS), 0);
}

/* One seed in four has small windows, which are sometimes full. */
static void draw_budget(struct drawing *drawing)
{
    drawing->narrow = random_chance(&drawing->shapes, 25);
    if (drawing->narrow)
        add_step(drawing, 0, SCHEDULE_BUDGET,
                 (uint32_t)random_between(&drawing->shapes, DRAWING_BUDGET_MIN,
                                          DRAWING_BUDGET_MAX),
                 0, 0, 0);
}

/* One seed in five has members that send unrequested packets, and filters that
 * take time: the calls of streams then interleave. */
static void draw_unasked(struct drawing *drawing, uint64_t seed)
{
    struct random *random = &drawing->chatters;

    random_seed(random, seed ^ DRAWING_CHATTERS);
    drawing->unasked = random_chance(random, 20);
    for (size_t i = 0; drawing->unasked && i < drawing->tree.count; i++)
        if (!is_backend(drawing, i) && random_chance(random, 40))
            add_step(drawing, 0, SCHEDULE_FILTER, drawing->tree.nodes[i].rank,
                     (uint32_t)random_between(random, 1, 20), 0, 0);
}

/* Some links are so slow that a big packet takes longer than the time-out. */
static void draw_rate(struct drawing *drawing, uint64_t seed)
{
    struct random rates;

    random_seed(&rates, seed ^ DRAWING_RATES);
    if (random_chance(&rates, 4))
        add_step(drawing, 0, SCHEDULE_RATE,
                 (uint32_t)random_between(&rates, DRAWING_RATE_MIN,
                                          DRAWING_RATE_MAX),
                 0, 0, 0);
}

/* In some seeds lost commnodes are replaced; the first tries may fail or hang. */
static void draw_replacing(struct drawing *drawing, uint64_t seed)
{
    struct random places;

    random_seed(&places, seed ^ DRAWING_PLACES);
    if (random_chance(&places, 25))
        add_step(drawing, 0, SCHEDULE_REPLACE,
                 (uint32_t)random_between(&places, 1, SCHEDULE_TRIES),
                 random_chance(&places, 30), random_chance(&places, 20), 0);
}

/* The front-end crashes, and another one takes over. */
static void draw_takeover(struct drawing *drawing)
{
    struct random *random = &drawing->crash;

    if (!random_chance(random, 12))
        return;
    add_step(drawing, 0, SCHEDULE_TAKEOVER,
             (uint32_t)random_between(random, 0,
                                      random_chance(random, 30) ? 20000 : 400),
             0, 0, 0);
}

static void draw_rounds(struct drawing *drawing)
{
    uint32_t rounds = draw_number(drawing, 1, 3);

    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t steps = draw_number(drawing, 1, DRAWING_STEPS);

        for (uint32_t step = 0; step < steps; step++) {
            draw_traffic(drawing);
            if (drawing->selects)
                draw_selected(drawing);
            draw_nuisance(drawing);
            if (drawing->faulty) {
                draw_deaths(drawing);
                draw_breaks(drawing);
            }
            if (drawing->hangs)
                draw_hang(drawing);
            if (drawing->parts)
                draw_leavers(drawing);
            if (drawing->liars)
                draw_lie(drawing);
            if (drawing->poisons)
                draw_poison(drawing);
            if (drawing->crashes)
                draw_takeover(drawing);
            if (drawing->out->count > 0) {
                struct schedule_step *last =
                    &drawing->out->steps[drawing->out->count - 1];
                uint32_t for_ms = draw_number(drawing, 0, 60);

                last->after_ms += for_ms;
                drawing->now_ms += for_ms;
            }
        }
        if (chance(drawing, 70))
            add_step(drawing, 0, SCHEDULE_SYNC, 0, 0, 0, 0);
    }
}

static void draw_tree(struct drawing *drawing, const struct schedule_wish *wish)
{
    struct schedule *out = drawing->out;

    if (wish->tree) {
        out->tree = memory_text(wish->tree);
        tree_read(&drawing->tree, wish->tree);
        return;
    }
    if (wish->nodes > 0)
        tree_grow(&drawing->tree, &drawing->random, wish->nodes);
    else
        tree_draw(&drawing->tree, &drawing->random,
                  chance(drawing, 20) ? 31 : 15);
    out->tree = tree_text(&drawing->tree);
}

void schedule_draw(struct schedule *out,
                   uint64_t seed,
                   const struct schedule_wish *wish)
{
    struct drawing drawing = {.out = out, .stress = 1};
    uint32_t count;

    *out = (struct schedule){.seed = seed};
    if (wish->stress > 0)
        drawing.stress = wish->stress;
    drawing.kind = (enum traffic_kind)(seed % TRAFFIC_KINDS);
    random_seed(&drawing.random, ~seed);
    random_seed(&drawing.shapes, seed ^ DRAWING_SHAPES);
    random_seed(&drawing.hung, seed ^ DRAWING_HANGS);
    drawing.hangs = random_chance(&drawing.hung, 8);
    random_seed(&drawing.poison, seed ^ DRAWING_POISON);
    drawing.poisons = random_chance(&drawing.poison, 15);
    random_seed(&drawing.refusals, seed ^ DRAWING_REFUSALS);
    drawing.refuses = random_chance(&drawing.refusals, 10);
    random_seed(&drawing.lies, seed ^ DRAWING_LIES);
    drawing.liars = random_chance(&drawing.lies, 20);
    random_seed(&drawing.exact, seed ^ DRAWING_EXACT);
    random_seed(&drawing.answers, seed ^ DRAWING_ANSWERS);
    random_seed(&drawing.joined, seed ^ DRAWING_JOINED);
    drawing.greets = random_chance(&drawing.joined, 70);
    random_seed(&drawing.leavers, seed ^ DRAWING_LEAVERS);
    drawing.parts = random_chance(&drawing.leavers, 20);
    random_seed(&drawing.some, seed ^ DRAWING_SOME);
    drawing.selects = random_chance(&drawing.some, 30);
    random_seed(&drawing.helpers, seed ^ DRAWING_HELPERS);
    drawing.helps = random_chance(&drawing.helpers, 30);
    random_seed(&drawing.moves, seed ^ DRAWING_MOVES);
    drawing.shifts = random_chance(&drawing.moves, 30);
    random_seed(&drawing.crash, seed ^ DRAWING_CRASHES);
    drawing.crashes = random_chance(&drawing.crash, 15);
    random_seed(&drawing.drains, seed ^ DRAWING_DRAINS);
    if (random_chance(&drawing.drains, 30))
        drawing.hosts = (uint32_t)random_between(&drawing.drains, 1, 8);
    out->delay_min_ms = draw_number(&drawing, 0, 3);
    out->delay_max_ms = out->delay_min_ms + draw_number(&drawing, 1, 20);
    out->fragment_percent = draw_number(&drawing, 0, 80);
    out->start_max_ms = draw_number(&drawing, 1, 40);
    draw_tree(&drawing, wish);
    draw_features(&drawing);
    draw_absence(&drawing);
    draw_budget(&drawing);
    draw_rate(&drawing, seed);
    draw_replacing(&drawing, seed);
    draw_apps(&drawing);
    draw_starts(&drawing, seed);
    draw_unasked(&drawing, seed);
    if (drawing.faults[SCHEDULE_KILL] && !drawing.spare && chance(&drawing, 10))
        add_step(&drawing, 0, SCHEDULE_KILL, draw_victim(&drawing),
                 draw_number(&drawing, 0, 150), 0, 0);
    count = draw_number(&drawing, 1, 4);
    while (drawing.streams < count)
        draw_open(&drawing);
    if (chance(&drawing, 50)) /* else packets directly after the opening */
        add_step(&drawing, 0, SCHEDULE_OPENED, 0, 0, 0, 0);
    draw_rounds(&drawing);
    add_step(&drawing, 0, SCHEDULE_END, chance(&drawing, 20), 0, 0, 0);
    tree_fini(&drawing.tree);
}
