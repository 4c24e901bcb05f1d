/* test_oracles.c - every oracle of the swarm fires, by name, if a machine
 * misbehaves.
 *
 * Each case is a correct schedule and a defect: an action of a machine is
 * dropped, repeated, or changed. Without the defect the same schedule breaks no
 * oracle. */
#include "sim/swarm/swarm.h"
#include "test/check.h"

#include <errno.h>

#include "protocol/state.h"
#include "protocol/stream/claim.h"
#include "wire/limits.h"
#include "wire/packet.h"

/* No node dies. */
#define CALM "seed 7\ntree 0(1(3,4),2(5,6))\ndelay 1 3\nfragment 20\nstart 5\n"
#define STREAM(filter, sync)                                                   \
    "+0 open stream=1 filter=" filter " sync=" sync                            \
    " timeout=5 uneven=0 big=0 grow=0 members=all\n"
#define UNION  STREAM("int_union", "wait_for_all")
#define MAXIMA STREAM("max", "wait_for_all")
#define VALUES STREAM("none", "wait_for_all")
#define TOTALS STREAM("total", "do_not_wait")
#define LARGE                                                                  \
    "+0 open stream=1 filter=none sync=do_not_wait timeout=5 uneven=0 big=1 "  \
    "grow=0 "                                                                  \
    "members=all\n"
#define EXACT   "+0 exact stream=1 keep=0\n" STREAM("concat", "wait_for_all")
#define ANSWERS "+0 answers stream=1\n" STREAM("concat", "wait_for_all")
#define SUMS    "+0 answers stream=1\n" STREAM("sum", "wait_for_all")
#define GROWING                                                                \
    "+0 exact stream=1 keep=0\n+0 open stream=1 filter=concat "                \
    "sync=wait_for_all timeout=5 uneven=0 big=0 grow=1 members=all\n"
#define SEND3                                                                  \
    "+20 send stream=1 answers=1\n+20 send stream=1 answers=1\n"               \
    "+20 send stream=1 answers=1\n"
#define SEND_TO "+20 send_to stream=1 answers=1 members=4\n"
#define SYNC    "+20 sync\n"
#define LIE     "+20 lie node=3 in=0 frame=0\n"
#define CHATTER "+0 opened\n+0 chatter stream=1 every=3 times=60 members=all\n"

/* The defects of one world so far. */
struct mischief {
    unsigned count;
    unsigned wanted; /* act at the n-th chance; 0: at each */
};

static bool is_due(struct mischief *mischief)
{
    mischief->count++;
    return mischief->wanted == 0 || mischief->count == mischief->wanted;
}

static bool delivers(struct sim *sim,
                     uint32_t index,
                     const struct action *action,
                     bool down)
{
    return action->type == ACTION_DELIVER && (index > 0) == down &&
           (!down || sim_rank(sim, index) == 3);
}

static bool is_telling(uint32_t index,
                       const struct action *action,
                       enum tell_type tell)
{
    return index == 0 && action->type == ACTION_TELL && action->tell == tell;
}

static bool is_sending(struct sim *sim,
                       uint32_t index,
                       uint32_t rank,
                       const struct action *action,
                       enum frame_type type)
{
    return sim_rank(sim, index) == rank && action->type == ACTION_SEND &&
           action->frame.type == type;
}

/* The machine, for defects in its own state. */
static struct node *machine(struct sim *sim, uint32_t index)
{
    return (struct node *)(uintptr_t)sim_node(sim, index);
}

/* DEFECT(name, the condition for an action, what to do with it) */
#define DEFECT(name, condition, what)                                          \
    static enum sim_tampering name(struct sim *sim, uint32_t index,            \
                                   struct action *action, void *arg)           \
    {                                                                          \
        struct mischief *mischief = arg;                                       \
                                                                               \
        (void)sim;                                                             \
        (void)action;                                                          \
        (void)index;                                                           \
        if (!(condition) || !is_due(mischief))                                 \
            return SIM_KEEP;                                                   \
        what;                                                                  \
        return SIM_KEEP;                                                       \
    }

#define TELLS(what)       is_telling(index, action, TELL_##what)
#define SENDS(rank, what) is_sending(sim, index, rank, action, FRAME_##what)
#define UP                delivers(sim, index, action, false)
#define DOWN              delivers(sim, index, action, true)
#define CONTROLS(rank, what)                                                   \
    (SENDS(rank, CONTROL) && action->frame.tag == CONTROL_##what)

/* A packet for one back-end, wire/destinations.h. */
static void be_for_3(struct payload *payload)
{
    unsigned char *pair = payload->bytes + payload->len - 12;

    pair[3] = pair[7] = 3;
}

DEFECT(lose_down, DOWN, return SIM_DROP)
DEFECT(repeat_down, DOWN, return SIM_TWICE)
DEFECT(misdirects,
       SENDS(0, DATA) && action->frame.flags & FRAME_SOME,
       be_for_3(action->frame.payload))
DEFECT(lose_up, UP, return SIM_DROP)
DEFECT(repeat_up, UP, return SIM_TWICE)
DEFECT(empties_down, DOWN, frame_fini(&action->frame))
DEFECT(empties_up, UP, frame_fini(&action->frame))
DEFECT(strays, UP, action->stream = 9)
DEFECT(filter_fails, TELLS(SYNCED), action->tell = TELL_FILTER_ERROR)
DEFECT(stream_fails, TELLS(SYNCED), action->tell = TELL_STREAM_FAILED)
DEFECT(miscount, UP, action->frame.count++)
DEFECT(move_wave, UP, action->frame.sequence++)
DEFECT(moves_epoch,
       SENDS(1, DATA) && action->frame.sequence >> PACKET_WAVE_BITS == 0,
       action->frame.sequence += UINT64_C(1) << PACKET_WAVE_BITS)
DEFECT(loses_a_delta, SENDS(3, DATA), return SIM_DROP)
DEFECT(repeats_a_delta, SENDS(3, DATA), return SIM_TWICE)
DEFECT(loses_a_total, SENDS(1, TOTAL), return SIM_DROP)
DEFECT(forgets_the_promise,
       TELLS(SYNCED),
       machine(sim, 0)->streams[1]->root->recoverable = false)
DEFECT(vouches_always, TELLS(STATE) && action->code == 1, action->code = 0)
DEFECT(forgets_the_farewell, TELLS(BACKEND_LOST), free(action->text);
       action->text = strdup("it has left"))
DEFECT(never_launched, TELLS(LAUNCHED), return SIM_DROP)
DEFECT(launches_ill, TELLS(LAUNCHED), action->tell = TELL_LAUNCH_FAILED)
DEFECT(count_one_less, UP && action->frame.count > 0, action->frame.count--)
DEFECT(never_open, TELLS(OPENED), return SIM_DROP)
DEFECT(opens_ill, TELLS(OPENED), action->code = -ELIBBAD)
DEFECT(opens_anyway, TELLS(OPENED), action->code = 0)
DEFECT(refuses_for_another, TELLS(OPENED), action->rank = 4)
DEFECT(never_synced, TELLS(SYNCED), return SIM_DROP)
DEFECT(always_lossy, TELLS(SYNCED), action->code = 1)
DEFECT(names_another_loser,
       TELLS(SYNCED) && action->code == 1,
       ranks_add(&machine(sim, 0)->streams[1]->root->losers, 6, 6))
DEFECT(redoes_nothing, TELLS(SYNCED), action->tell = TELL_REDO)
DEFECT(delivers_on_a_total, TELLS(SYNCED), action->type = ACTION_DELIVER;
       action->frame = (struct frame){.type = FRAME_DATA})
DEFECT(lost_without_reason, TELLS(NODE_LOST), free(action->text);
       action->text = NULL)
DEFECT(redoes_for_ever, UP, frame_fini(&action->frame);
       action->type = ACTION_TELL;
       action->tell = TELL_REDO;
       return SIM_TWICE)
DEFECT(moves_wave_back, UP, action->frame.wave = 1)
DEFECT(never_says_over,
       SENDS(3, DATA) && action->frame.flags & FRAME_OVER,
       return SIM_DROP)
DEFECT(never_redoes, CONTROLS(0, REDO), return SIM_DROP)
DEFECT(forgets_joiners,
       SENDS(0, MARKER) && machine(sim, 0)->streams[1]->waves->accept.late,
       machine(sim, 0)->streams[1]->waves->accept.late->awaited = false)
DEFECT(hides_a_commnode, SENDS(0, NODE), return SIM_DROP)
DEFECT(hides_fan_outs, SENDS(0, FAN_OUT), return SIM_DROP)
DEFECT(joins_twice, TELLS(NODE_JOINED), return SIM_TWICE)
DEFECT(empties_wave,
       SENDS(1, DATA) && action->frame.flags & FRAME_WAVES &&
           action->frame.payload,
       frame_fini(&action->frame);
       action->frame.flags |= FRAME_EMPTY)
DEFECT(delivers_late, UP, action->frame.flags |= FRAME_LATE)
DEFECT(crowds, UP, action->frame.count = 5)
DEFECT(swaps_a_wave, SENDS(3, DATA), action->frame.wave++)
DEFECT(empties_wave_up, UP, action->frame.flags |= FRAME_EMPTY;
       action->frame.run = 1)
DEFECT(invents_a_wave, UP, action->frame.flags |= FRAME_EMPTY;
       action->frame.contributors = 0;
       action->frame.run = 2;
       action->frame.wave++)
DEFECT(loses_wave, UP, action->frame.flags |= FRAME_EMPTY;
       action->frame.run = 1;
       action->frame.contributors = 0)
DEFECT(keeps_too_much,
       DOWN,
       machine(sim, index)->streams[1]->definition.keep = UINT64_MAX)
DEFECT(lost_untold, TELLS(NODE_LOST), return SIM_DROP)
DEFECT(lost_twice, TELLS(NODE_LOST), return SIM_TWICE)
DEFECT(has_no_view, TELLS(NODE_LOST), action->tell = TELL_VIEW;
       action->sequence = 2)
DEFECT(views_twice, TELLS(VIEW), return SIM_TWICE)
DEFECT(forgets_a_view, TELLS(VIEW), ranks_fini(&machine(sim, 0)->views.ranks))
DEFECT(lost_nobody, TELLS(NODE_LOST), action->rank = 99)
DEFECT(suspected_twice, TELLS(NODE_SUSPECTED), return SIM_TWICE)
DEFECT(lost_in_error, TELLS(NODE_SUSPECTED), action->tell = TELL_NODE_LOST)
DEFECT(back_for_nothing, TELLS(NODE_ADOPTED), action->tell = TELL_NODE_BACK)
DEFECT(back_untold, TELLS(NODE_BACK), return SIM_DROP)
DEFECT(adopted_untold, TELLS(NODE_ADOPTED), return SIM_DROP)
DEFECT(adopted_by_another, TELLS(NODE_ADOPTED), action->sequence = 77)
DEFECT(another_is_given_up, TELLS(BACKEND_LOST), action->rank = 6)
DEFECT(closed_untold,
       index > 0 && action->type == ACTION_TELL && action->tell == TELL_CLOSED,
       return SIM_DROP)
DEFECT(closed_twice,
       index > 0 && action->type == ACTION_TELL && action->tell == TELL_CLOSED,
       return SIM_TWICE)
DEFECT(ended_by_nobody,
       SENDS(1, HEARTBEAT) && action->link > 0 && sim_now_ms(sim) > 1000,
       action->frame.type = FRAME_END)
DEFECT(says_nothing,
       sim_rank(sim, index) == 3 && action->type == ACTION_SEND &&
           sim_now_ms(sim) > 1000,
       return SIM_DROP)
DEFECT(keeps_a_silent_link,
       action->type == ACTION_CLOSE && action->code != 0,
       return SIM_DROP)
DEFECT(accuses_at_once,
       action->type == ACTION_CLOSE && sim_now_ms(sim) > 100,
       action->code = -ETIMEDOUT)
DEFECT(refused_untold, TELLS(NODE_REFUSED), return SIM_DROP)
DEFECT(keeps_an_old_link,
       index == 0 && action->type == ACTION_CLOSE,
       return SIM_DROP)
DEFECT(starts_another,
       index == 0 && action->type == ACTION_SPAWN,
       action->rank = 3)
DEFECT(starts_nobody,
       action->type == ACTION_SPAWN && action->rank == 3,
       return SIM_DROP)
DEFECT(calls_twice,
       action->type == ACTION_FILTER && sim_rank(sim, index) == 1,
       return SIM_TWICE)
DEFECT(sends_nowhere, SENDS(1, HEARTBEAT), action->link = 50)
DEFECT(speaks_as_its_parent,
       SENDS(1, HEARTBEAT) && action->link == 0,
       action->frame.type = FRAME_END)
DEFECT(sends_rubbish, SENDS(1, HEARTBEAT), action->frame.type = 250)
DEFECT(closes_nothing,
       index == 0 && action->type == ACTION_CLOSE,
       action->link = 50)
DEFECT(never_ends,
       action->type == ACTION_SEND && action->frame.type == FRAME_CONTROL &&
           action->frame.stream == 0 && sim_rank(sim, index) == 1 &&
           mischief->count < 1000 && sim_now_ms(sim) > 4000,
       return SIM_DROP)

DEFECT(takes_nothing,
       UP,
       sim_set_app(sim, 0, &(struct sim_app){.by_hand = true}))
DEFECT(has_no_memory, SENDS(1, HEARTBEAT), machine(sim, index)->failed = true)
DEFECT(spins, SENDS(1, HEARTBEAT), machine(sim, index)->times.heartbeat_ms = 0)
DEFECT(launches_nobody, TELLS(LAUNCH_FAILED), action->tell = TELL_LAUNCHED)
DEFECT(has_the_missing,
       TELLS(LAUNCHED),
       CHECK_OK(ranks_add(&machine(sim, 0)->backends, 4, 4)))

/* The first sync returns 1, and packets that it has given up arrive later. */
static enum sim_tampering comes_behind_its_sync(struct sim *sim,
                                                uint32_t index,
                                                struct action *action,
                                                void *arg)
{
    struct mischief *mischief = arg;

    if (TELLS(SYNCED) && mischief->count++ == 0)
        action->code = 1;
    if (mischief->count > 0 && UP)
        action->frame.wave = 1;
    return SIM_KEEP;
}

/* More bytes than any packet of this traffic wait for 4, which sends
 * nothing. */
static enum sim_tampering hoard_packets(struct sim *sim,
                                        uint32_t index,
                                        struct action *action,
                                        void *arg)
{
    (void)arg;
    if (SENDS(4, DATA))
        return SIM_DROP;
    if (!SENDS(3, DATA) || action->frame.sequence != 1)
        return SIM_KEEP;
    frame_fini(&action->frame);
    CHECK_OK(payload_new(&action->frame.payload, 64u << 20));
    memset(action->frame.payload->bytes, 0, 64u << 20);
    return SIM_KEEP;
}

/* 3 takes no packet, and claims to have settled all. */
static enum sim_tampering lie_settled(struct sim *sim,
                                      uint32_t index,
                                      struct action *action,
                                      void *arg)
{
    struct claim claim = {
        .received = 4, /* three packets and a marker */
        .settled = {4, 1},
        .replayable = true,
    };

    (void)arg;
    if (DOWN)
        return SIM_DROP;
    if (!SENDS(3, HEARTBEAT) || sim_now_ms(sim) < 900)
        return SIM_KEEP;
    CHECK_OK(ranks_add(&claim.members, 3, 3));
    CHECK_OK(claim_encode(&claim, 1, &action->frame));
    claim_fini(&claim);
    return SIM_KEEP;
}

/* No node obeys the height limit, and an orphan dials the deepest node. */
static enum sim_tampering raise_tree(struct sim *sim,
                                     uint32_t index,
                                     struct action *action,
                                     void *arg)
{
    (void)arg;
    if (sim_role(sim, index) != NODE_BACKEND && sim_now_ms(sim) > 20)
        machine(sim, index)->heal.height_limit = 99;
    if (action->type == ACTION_DIAL)
        action->rank = 5;
    return SIM_KEEP;
}

/* The world counts 4 as missing, although it has started. */
DEFECT(belie_absence,
       TELLS(LAUNCHED),
       sim_missing(sim, 4, "it has started, in truth"))

/* The front-end forgets how long a back-end has not been covered. */
static enum sim_tampering opens_late(struct sim *sim,
                                     uint32_t index,
                                     struct action *action,
                                     void *arg)
{
    struct node *front_end = index == 0 ? machine(sim, 0) : NULL;

    (void)action;
    (void)arg;
    for (size_t i = 0; front_end && i < front_end->uncovered_count; i++)
        front_end->uncovered[i].since_ms = front_end->now_ms;
    return SIM_KEEP;
}

DEFECT(crashes_untold,
       action->type == ACTION_SEND && action->frame.type == FRAME_FAULT,
       return SIM_DROP)
DEFECT(fails_untold, TELLS(STREAM_FAILED), return SIM_DROP)
DEFECT(fails_another, CONTROLS(0, FAIL), frame_fini(&action->frame);
       CHECK_OK(packet_pack(&action->frame.payload, "%ud", 99u)))

struct oracle_case {
    const char *schedule;
    sim_tamper_fn tamper;
    unsigned wanted;
    const char *expected; /* a part of the oracle's message */
};

#define VIEWS        "seed 8\ntree 0(1(3,4),2(5,6))\ndelay 1 3\nfragment 20\nstart 5\n"
#define KILL1        "+20 kill node=1 in=0\n"
#define SKIP         CALM "+0 skip\n"
#define ABSENT(rank) "+0 absent node=" rank " hangs=0\n"
#define NOBODY       SKIP ABSENT("3") ABSENT("4") ABSENT("5") ABSENT("6")
#define HIGH                                                                   \
    "seed 7\ntree 0(1(2(3)),4(5(6)))\ndelay 1 3\nfragment 20\nstart 5\n"

/* A tree whose commnodes have two packets per wave. With `more` back-ends, 1
 * needs none of another commnode. */
#define TALL(more)                                                             \
    "seed 7\ntree 0(1(2(5,6),3" more "),4(7(8,9),10))\ndelay 1 3\n"            \
    "fragment 20\nstart 5\n"
#define POISON "+20 poison stream=1 down=0\n"

static const struct oracle_case cases[] = {
    /* downwards: each packet once, in order */
    {CALM VALUES SEND3 SYNC, lose_down, 2, "3 took packet 3 of stream 1 after"},
    {CALM VALUES SEND3 SYNC, repeat_down, 2, "3 took packet 2 of stream 1 aft"},
    {CALM VALUES SEND3 SYNC, lose_down, 1, "3 took packet 2 of stream 1 first"},
    {CALM VALUES SEND3 SYNC, lie_settled, 0, "3 lives and has taken 0 of 3"},
    {CALM VALUES KILL1 SEND3 SYNC, lie_settled, 0,
     "3 lives and has taken 0 of 3"},
    {CALM VALUES SEND3 SYNC, empties_down, 1, "3 took a packet that nobody"},
    {CALM LARGE SEND_TO SYNC, misdirects, 0, "3 took packet 1 of stream 1, fo"},
    /* upwards: no packet missing or twice, in its wave, the count right */
    {CALM VALUES SEND3 SYNC, empties_up, 1, "took what no filter makes"},
    {CALM VALUES SEND3 SYNC, strays, 1, "of stream 9, which is not open"},
    {CALM VALUES KILL1 SEND3 SYNC SEND3 SYNC, comes_behind_its_sync, 0,
     "behind the sync that covers it"},
    {CALM UNION SEND3 SYNC, lose_up, 2, "which lives, was not taken"},
    {CALM UNION KILL1 SEND3 SYNC, lose_up, 3, "which lives, was not taken"},
    {CALM VALUES SEND3 SYNC, repeat_up, 2, "is not what was taken"},
    {CALM VALUES SEND3 SYNC, lose_up, 2, "is not what was taken"},
    {CALM VALUES KILL1 SEND3 SYNC, repeat_up, 2, "and was not sent, or more"},
    {CALM MAXIMA SEND3 SYNC, lose_up, 2, "of 4 back-ends has not come"},
    {CALM MAXIMA SEND3 SYNC, miscount, 2, "of 5 back-ends, not"},
    {CALM MAXIMA SEND3 SYNC, move_wave, 3, "has not come"},
    {CALM MAXIMA KILL1 SEND3 SYNC, repeat_up, 0,
     "packets are in what was take"},
    {CALM STREAM("sum", "do_not_wait") SEND3 SYNC, lose_up, 2,
     "all together of epoch 0 is"},
    {CALM STREAM("sum", "time_out") SEND3 SYNC, lose_up, 2,
     "all together of epoch 0 is"},
    /* a node numbers a packet before its marker as one after it */
    {CALM STREAM("sum", "time_out") CHATTER SEND3 SYNC SYNC, moves_epoch, 9,
     "all together of epoch 0 is"},
    {CALM STREAM("concat", "time_out") CHATTER SEND3 SYNC SYNC, moves_epoch, 9,
     "is not what was taken"},
    {CALM STREAM("count", "wait_for_all") KILL1 SEND3 SYNC, count_one_less, 5,
     "packets are in what was taken"},
    {CALM STREAM("count", "wait_for_all") SEND3 "+0 send stream=1 answers=1\n"
                                                "+0 kill node=1 in=6\n" SYNC,
     miscount, 1, "the count is"},
    /* totals: each item once, none of a node given up, and as synced */
    {CALM TOTALS SEND3 SYNC, loses_a_delta, 2, "is missing, and a sync covers"},
    {CALM TOTALS SEND3 SYNC, repeats_a_delta, 2, "counts more than once"},
    {CALM TOTALS SEND3 SYNC, loses_a_total, 1, "it sticks: sync"},
    {CALM TOTALS SEND3 "+20 half node=3 in=0 up=1\n+2000 sync\n",
     vouches_always, 0, "a total is vouched for"},
    {CALM TOTALS SEND3 "+20 kill node=3 in=0\n" SYNC, forgets_the_farewell, 0,
     "is missing, and its member has left"},
    {CALM TOTALS SEND3 SYNC, delivers_on_a_total, 0,
     "is cumulative, and a packet came"},
    {CALM TOTALS SEND3 "+20 leave node=3\n+99 sync\n", NULL, 0, NULL},
    /* streams of whole waves: each wave has the packets sent in it */
    {CALM EXACT SEND3 SYNC, lose_up, 2, "a wave is missing behind the sync"},
    {CALM EXACT SEND3 SYNC, repeat_up, 2, "a part of an answer was taken tw"},
    {CALM EXACT SEND3 SYNC, move_wave, 1, "has a part of another question"},
    {CALM EXACT KILL1 SEND3 SYNC, invents_a_wave, 1,
     "a wave was taken before a member sent it"},
    {CALM EXACT KILL1 SEND3 SYNC, repeat_up, 2,
     "a part of an answer was taken twice"},
    {CALM EXACT KILL1 SEND3 SYNC, loses_wave, 2,
     "a wave is not what was sent in it"},
    {CALM EXACT SEND3 SYNC, empties_wave, 2,
     "not as many parts as contributors"},
    {CALM EXACT SEND3 SYNC, delivers_late, 2, "a packet that is late came"},
    {CALM EXACT KILL1 SEND3 SYNC, always_lossy, 0, "is 1, and it is exact"},
    {CALM EXACT SEND3 SYNC, redoes_nothing, 0, "though nobody has failed"},
    {CALM EXACT KILL1 SEND3 SEND3 SYNC, redoes_for_ever, 0, "has no cause"},
    {CALM EXACT SEND3 SYNC, moves_wave_back, 3,
     "a wave came after a later one"},
    {CALM EXACT SEND3 SYNC, never_says_over, 0, "it sticks: sync"},
    {CALM GROWING "+0 join parent=1\n+0 joined within=500\n"
                  "+0 send stream=1 answers=1\n+0 sync\n",
     forgets_joiners, 1, "7 lives, and a sync of stream 1 lacks its answer"},
    /* commnodes that join */
    {CALM VALUES "+0 help parent=0\n" SEND3 SYNC, NULL, 0, NULL},
    {CALM VALUES "+0 help parent=0\n" SEND3 SYNC, hides_a_commnode, 0,
     "off, as it broke the protocol"},
    {CALM VALUES "+0 help parent=0\n" SEND3 SYNC, joins_twice, 1,
     "7 has joined twice"},
    {CALM VALUES "+0 help parent=0\n+99 kill node=7 in=0\n" SEND3 SYNC,
     lost_untold, 0, "7 has joined and is dead, and the front-end was not t"},
    {CALM VALUES "+0 help parent=0\n+99 kill node=1 in=0\n" SEND3
                 "+3000 sync\n",
     hides_fan_outs, 0, "and the front-end differ"},
    {CALM EXACT "+20 send stream=1 answers=1\n+5 kill node=1 in=0\n" SYNC,
     never_redoes, 0, "it sticks: sync"},
    {CALM "+0 app node=6 take=400\n+0 exact stream=1 keep=64\n"
          "+0 open stream=1 filter=none sync=wait_for_all timeout=5 uneven=0 "
          "big=1 grow=0 members=all\n+20 send stream=1 answers=4\n" SYNC,
     keeps_too_much, 0, "of stream 1, not 64"},
    {CALM STREAM("none", "time_out") SEND3 SYNC, crowds, 1,
     "more contributors than members"},
    /* streams of waves only: the n-th answer is that of the n-th question */
    {CALM ANSWERS SEND3 SYNC, delivers_late, 2, "a packet that is late came"},
    {CALM ANSWERS SEND3 SYNC, lose_up, 2, "is not that of the next question"},
    {CALM SUMS SEND3 SYNC, lose_up, 3, "a part of an answer is missing"},
    {CALM SUMS SEND3 SYNC, repeat_up, 2, "is not that of the next question"},
    {CALM ANSWERS SEND3 SYNC, swaps_a_wave, 2,
     "has a part of another question"},
    {CALM SUMS SEND3 SYNC, miscount, 2, "not as many parts as contributors"},
    {CALM SUMS SEND3 SYNC, empties_wave_up, 2, "has contributors"},
    {CALM ANSWERS SEND3 SYNC, loses_wave, 2, "has lost a wave"},
    {CALM ANSWERS SEND3 SYNC, invents_a_wave, 3, "that nobody has answered"},
    {CALM ANSWERS SEND3 SYNC, empties_up, 2, "has another format"},
    /* liveness: everything awaited arrives */
    {CALM VALUES, launches_ill, 0, "the launch failed"},
    {SKIP VALUES, launches_ill, 0, "launch failed, and 4 back-ends were left"},
    {CALM VALUES SEND3 SYNC, never_launched, 0, "it sticks: launch"},
    {CALM VALUES "+0 opened\n", never_open, 0, "it sticks: opening"},
    {CALM VALUES SEND3 SYNC, never_synced, 0, "it sticks: sync"},
    {CALM VALUES "+99 close stream=1\n", closed_untold, 0,
     "it sticks: closing"},
    {CALM VALUES KILL1 SYNC, lost_untold, 0,
     "1 has been dead for long, and was not told of"},
    {CALM VALUES SEND3 "+4000 sync\n", never_ends, 0, "it sticks: ending"},
    {CALM VALUES SEND3 SYNC, takes_nothing, 2, "it sticks: taking"},
    {CALM VALUES SEND3 SYNC, has_no_memory, 0, "1 is out of memory"},
    {CALM VALUES SEND3 SYNC, spins, 0, "1 wants tick after tick"},
    {HIGH VALUES KILL1 "+3000 sync\n", raise_tree, 0,
     "the tree is 4 high, and was 3"},
    /* news for the front-end */
    {CALM VALUES SEND3 SYNC, opens_ill, 0, "stream 1 does not open"},
    {CALM "+0 refuse stream=1 node=3\n" MAXIMA, opens_anyway, 0,
     "stream 1 opens, and 3 has refused it"},
    {CALM "+0 refuse stream=1 node=3\n" MAXIMA, refuses_for_another, 0,
     "stream 1 does not open"},
    {CALM VALUES SEND3 SYNC, filter_fails, 0, "a filter failed"},
    {CALM VALUES SEND3 SYNC, stream_fails, 0, "stream 1 failed because of 0"},
    {CALM VALUES SEND3 SYNC, always_lossy, 0, "sync of 1 is 1"},
    {CALM VALUES KILL1
     "+0 kill node=3 in=0\n+999 open stream=2 filter=none "
     "sync=wait_for_all timeout=5 uneven=0 big=0 grow=0 members=all\n" SYNC,
     opens_late, 0, "stream 2 does not open"},
    {CALM UNION KILL1 SYNC, always_lossy, 0, "is lossy, and it recovers"},
    {CALM UNION SEND3 SYNC SYNC, forgets_the_promise, 0,
     "stream 1 is not recoverable now"},
    {CALM VALUES KILL1 SYNC, always_lossy, 0,
     "though nothing has failed since"},
    {CALM VALUES SEND3 KILL1 SYNC, names_another_loser, 1,
     "is lossy, and names the wrong nodes"},
    {CALM VALUES KILL1 SYNC, lost_without_reason, 0,
     "the report has no reason"},
    {CALM VALUES KILL1 SYNC, lost_twice, 0,
     "reports 1 after it was reported lost"},
    {VIEWS VALUES KILL1 SYNC, has_no_view, 0,
     "view 2 is stable, and 3 does not have it"},
    {VIEWS VALUES KILL1 SYNC, views_twice, 0, "view 2 is stable, after 2"},
    {VIEWS VALUES KILL1 SYNC, forgets_a_view, 0,
     "views: 0 lives, and is not in view 2"},
    {CALM VALUES "+20 cut node=1 in=0\n" SYNC, suspected_twice, 0,
     "1 was suspected twice"},
    {CALM VALUES "+20 cut node=1 in=0\n" SYNC, lost_in_error, 0,
     "1 was given up, and lives"},
    {CALM VALUES KILL1 SYNC, back_for_nothing, 0,
     "is back, and was not suspected"},
    {HIGH VALUES "+20 cut node=2 in=0\n" SYNC, back_untold, 0,
     "1 lives, and is suspected"},
    {CALM VALUES KILL1 SYNC, lost_nobody, 0,
     "reports 99, and there is no such node"},
    {CALM VALUES "+20 freeze node=1 in=0 ms=6000\n" SYNC, adopted_untold, 0,
     "1 lives, and is suspected"},
    {CALM VALUES "+20 freeze node=1 in=0 ms=6000\n" SYNC, adopted_by_another, 0,
     "and the front-end was told 77"},
    {CALM VALUES "+20 kill node=3 in=0\n" SYNC, another_is_given_up, 0,
     "6 was given up, and lives"},
    {CALM VALUES "+99 close stream=1\n", closed_twice, 0,
     "was told twice that stream 1 is closed"},
    {CALM VALUES KILL1 "+3000 sync\n", ended_by_nobody, 0, NULL},
    {CALM VALUES "+3000 sync\n", ended_by_nobody, 0, "nobody ended it"},
    /* detection: silence, and only silence, is found */
    {CALM VALUES "+9000 sync\n", says_nothing, 0,
     "was neither silent nor stop"},
    {CALM VALUES "+20 mute node=1 in=0 up=1\n+9000 sync\n", keeps_a_silent_link,
     0, "has not noticed the silence of"},
    {CALM VALUES KILL1 "+900 cut node=3 in=0\n" SYNC, accuses_at_once, 0,
     "which it has heard"},
    /* links, calls, credit */
    {CALM LARGE "+0 hold node=1 in=0 up=1 ms=2000\n"
                "+0 send stream=1 answers=9\n+700 cut node=1 in=0\n" SYNC,
     keeps_an_old_link, 0, "0 reads what 1 sent before it came again"},
    {CALM VALUES SEND3 SYNC, sends_nowhere, 0, "1 sends on link 50"},
    {CALM VALUES "+3000 sync\n", speaks_as_its_parent, 2,
     "0 cuts 1 off, as it broke the protocol"},
    {CALM VALUES SEND3 SYNC, sends_rubbish, 2, "bytes that are no frame"},
    {CALM VALUES
     "+0 hold node=1 in=0 up=1 ms=2000\n+700 cut node=1 in=0\n" SYNC,
     closes_nothing, 0, "0 closes link 50"},
    {CALM "+0 filter node=1 ms=5\n" MAXIMA SEND3 SYNC, calls_twice, 0,
     "1 has two filter calls out"},
    {CALM VALUES SEND3 SYNC, starts_another, 1, "0 starts 3, which is not its"},
    {CALM VALUES LIE SEND3 SYNC, keeps_a_silent_link, 0, "which is a lie"},
    {CALM VALUES LIE SEND3 SYNC, refused_untold, 0, "was not told why"},
    {CALM VALUES SEND3 SYNC, hoard_packets, 0, "holds more than its credit"},
    /* filters that crash (PROTOCOL 11.5) */
    {TALL("") MAXIMA POISON "+20 send stream=1 answers=1\n+9000 sync\n",
     crashes_untold, 0, "has crashed a node, and did not fail"},
    {TALL("") MAXIMA POISON "+20 send stream=1 answers=1\n+9000 sync\n",
     fails_untold, 0, "was told that stream 1 is closed"},
    {TALL(",11") "+0 app node=3 take=900\n+0 app node=10 take=900\n" MAXIMA
         POISON SEND3 "+9000 sync\n",
     fails_another, 0, "crashes of stream 1, which failed at"},
    /* launches that skip missing nodes */
    {SKIP VALUES SEND3 SYNC, belie_absence, 0,
     "4 did not start, and is not listed"},
    {NOBODY VALUES, launches_nobody, 0, "launched, and no back-end is left"},
    {SKIP ABSENT("4") VALUES SEND3 SYNC, has_the_missing, 0,
     "4 is missing, and a back-end"},
    {SKIP VALUES SEND3 SYNC, starts_nobody, 0, "3 could start, and is missing"},
};

/* Play `text`; `said` gets the oracles' messages, or "". */
static void play_schedule(const char *text,
                          sim_tamper_fn tamper,
                          unsigned wanted,
                          char *said,
                          size_t len)
{
    struct mischief mischief = {.wanted = wanted};
    struct schedule schedule = {0};
    struct swarm_result result;
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    size_t line;

    CU_ASSERT_FATAL(file != NULL);
    CHECK_OK(schedule_read(&schedule, file, &line));
    fclose(file);
    swarm_run_tampered(&schedule, tamper, &mischief, &result);
    snprintf(said, len, "%s", result.failure ? result.failure : "");
    swarm_result_fini(&result);
    schedule_fini(&schedule);
}

TEST(every_oracle_fires)
{
    char said[512];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct oracle_case *one = &cases[i];

        play_schedule(one->schedule, NULL, 0, said, sizeof(said));
        if (said[0])
            printf("\ncase %zu, without a defect: %s\n", i, said);
        CU_ASSERT_STRING_EQUAL(said, "");
        if (!one->expected)
            continue;
        play_schedule(one->schedule, one->tamper, one->wanted, said,
                      sizeof(said));
        if (!strstr(said, one->expected))
            printf("\ncase %zu: \"%s\", not \"%s\"\n", i, said, one->expected);
        CU_ASSERT(strstr(said, one->expected) != NULL);
    }
}
