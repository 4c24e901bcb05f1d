/* recovery.c - the phases of an orphan's recovery (PROTOCOL 6.7).
 *
 *         lost            dialled            ADOPTED            cleaned
 *   NOT -------> CHOOSE ----------> CONNECT ----------> CLEAN_UP -----+
 *    ^             ^  |                |                              |
 *    |             |  +--- PAUSE <-----+ (all refused)                |
 *    |             +---------+                                        |
 *    +------------------ COMPENSATE <---------------------------------+
 *         all states have gone up
 *
 * The clock stands still during a step. Where the machine's own work ends a
 * phase, it asks the driver for the time after that work (ACTION_CLOCK). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"
#include "wire/packet.h"

/* New and lost parent, attempts; microseconds of choose, connect, compensate,
 * clean-up, overall. */
#define REPORT_FORMAT "%ud %ud %ud %uld %uld %uld %uld %uld"

/* Microseconds since `from_us`; 0 if the clock seems to run backwards, as the
 * clocks of two events may differ in resolution. */
static uint64_t recovery_since(const struct node *node, uint64_t from_us)
{
    return node->now_us > from_us ? node->now_us - from_us : 0;
}

void recovery_enter(struct node *node, enum recovery_phase phase)
{
    struct recovery *recovery = &node->heal.recovery;
    uint64_t spent_us = recovery_since(node, recovery->phase_us);

    switch (node->recovering) {
    case RECOVERY_NOT:
    case RECOVERY_PAUSE:
        break;
    case RECOVERY_CHOOSE:
        recovery->spent.choose_us += spent_us;
        break;
    case RECOVERY_CONNECT:
        recovery->spent.connect_us += spent_us;
        break;
    case RECOVERY_CLEAN_UP:
        recovery->spent.cleanup_us += spent_us;
        break;
    case RECOVERY_COMPENSATE:
        recovery->spent.compensate_us += spent_us;
        break;
    }
    node->recovering = phase;
    recovery->phase_us = node->now_us;
    recovery->asked = false;
}

static void ask_clock(struct node *node)
{
    node->heal.recovery.asked = true;
    node_act(node, ACTION_CLOCK);
}

/* ---- the orphan ---- */

void recovery_begin(struct node *node, uint32_t lost)
{
    struct recovery *recovery = &node->heal.recovery;

    if (node->recovering == RECOVERY_NOT) {
        recovery->spent = (struct cop_recovery){0};
        recovery->begin_us = node->now_us;
        recovery->lost_parent = lost;
    }
    recovery_enter(node, RECOVERY_CHOOSE);
}

void recovery_dial(struct node *node)
{
    node->heal.recovery.spent.attempts++;
    if (node->recovering == RECOVERY_CHOOSE)
        ask_clock(node);
}

void recovery_cleaned(struct node *node)
{
    ask_clock(node);
}

static void send_report(struct node *node, const struct report *report)
{
    const struct node_adoption *adoption = &report->adoption;
    const struct cop_recovery *recovery = &adoption->recovery;
    struct msg_recovered recovered = {
        .orphan = node->rank,
        .incarnation = report->incarnation,
        .number = report->move,
    };

    if (!node->parent)
        return; /* recovery_repeat() sends it to the next parent */
    if (packet_pack(&recovered.payload, REPORT_FORMAT, adoption->parent,
                    adoption->lost_parent, recovery->attempts,
                    recovery->choose_us, recovery->connect_us,
                    recovery->compensate_us, recovery->cleanup_us,
                    recovery->overall_us) < 0) {
        node->failed = true;
        return;
    }
    node_send(node, node->parent, msg_recovered_encode(&recovered));
}

/* Drop reports that need no repetition: if a node failed before it forwarded
 * one, its children have been adopted or have ended by now. */
static void drop_old_reports(struct node *node)
{
    struct recovery *recovery = &node->heal.recovery;
    size_t i, kept = 0;

    for (i = 0; i < recovery->report_count; i++)
        if (node->now_ms < recovery->reports[i].until_ms)
            recovery->reports[kept++] = recovery->reports[i];
    recovery->report_count = kept;
}

/* Send a report, and keep it for repetition. */
static void file_report(struct node *node, const struct node_adoption *adoption)
{
    struct recovery *recovery = &node->heal.recovery;
    struct report *report;

    drop_old_reports(node);
    if (array_grow(&recovery->reports, recovery->report_count,
                   sizeof(*report)) < 0) {
        node->failed = true;
        return;
    }
    report = &recovery->reports[recovery->report_count++];
    *report = (struct report){
        .incarnation = node->incarnation,
        .move = node->heal.orphan.move,
        .adoption = *adoption,
        .until_ms = node->now_ms + node->times.failure_timeout_ms +
                    node->times.orphan_timeout_ms + node->survive_ms,
    };
    send_report(node, report);
}

/* Whether the filter state of a stream has yet to be sent up. */
static bool is_compensating(const struct node *node)
{
    for (size_t i = 0; i < node->stream_count; i++)
        if (node->streams[i]->up.compensating)
            return true;
    return false;
}

static void finish_recovery(struct node *node)
{
    struct recovery *recovery = &node->heal.recovery;
    struct node_adoption adoption = {.lost_parent = recovery->lost_parent};

    recovery_enter(node, RECOVERY_NOT);
    if (!node->parent)
        return;
    adoption.parent = node->parent->rank;
    adoption.recovery = recovery->spent;
    adoption.recovery.overall_us = recovery_since(node, recovery->begin_us);
    file_report(node, &adoption);
}

void recovery_clock(struct node *node)
{
    struct recovery *recovery = &node->heal.recovery;

    if (!recovery->asked || node->ended)
        return;
    recovery->asked = false;
    switch (node->recovering) {
    case RECOVERY_NOT:
    case RECOVERY_PAUSE:
    case RECOVERY_CONNECT:
        return;
    case RECOVERY_CHOOSE:
        recovery_enter(node, RECOVERY_CONNECT);
        return;
    case RECOVERY_CLEAN_UP:
        recovery_enter(node, RECOVERY_COMPENSATE);
        break;
    case RECOVERY_COMPENSATE:
        break;
    }
    if (!is_compensating(node))
        finish_recovery(node);
}

void recovery_check(struct node *node)
{
    if (node->recovering == RECOVERY_COMPENSATE && !node->heal.recovery.asked &&
        !node->ended && !is_compensating(node))
        ask_clock(node);
}

void recovery_refuted(struct node *node)
{
    uint32_t parent = node->parent->rank;

    file_report(
        node, &(struct node_adoption){.parent = parent, .lost_parent = parent});
}

void recovery_repeat(struct node *node)
{
    drop_old_reports(node);
    for (size_t i = 0; i < node->heal.recovery.report_count; i++)
        send_report(node, &node->heal.recovery.reports[i]);
    record_repeat(node);
}

/* ---- the front-end ---- */

static void recovery_tell(struct node *node,
                          const struct msg_recovered *recovered,
                          const struct node_adoption *adoption)
{
    uint32_t rank = recovered->orphan;
    struct node_adoption news = *adoption;
    struct action *action;
    bool moved;

    if (!suspect_reported(node, rank, recovered->incarnation))
        return;
    history_add(node, rank, adoption);
    shape_adopted(node, rank, adoption);
    moved = plan_succeeds(node, recovered, adoption);
    if (adoption->recovery.attempts > 0)
        suspect_adopted(node, rank);
    else
        suspect_refuted(node, rank);
    if (adoption->recovery.attempts == 0 && !moved)
        return;
    if (moved) /* one that refutes its failure does not name it */
        news.lost_parent = node->heal.plan.from;
    action = node_tell(node, moved ? TELL_NODE_MOVED : TELL_NODE_ADOPTED, rank,
                       0, NULL);
    action->sequence = adoption->parent;
    if (action == &node->spare)
        return;
    action->adoption = malloc(sizeof(*action->adoption));
    if (action->adoption)
        *action->adoption = news;
    else
        node->failed = true;
}

static int read_report(const struct frame *frame, struct node_adoption *out)
{
    struct cop_recovery *recovery = &out->recovery;
    struct cop_packet *packet = NULL;
    int r;

    if (frame->payload && frame->payload->len > LIMIT_REPORT)
        return -EPROTO;
    r = packet_open(&packet, frame->payload);
    if (r == 0)
        r = cop_packet_unpack(packet, REPORT_FORMAT, &out->parent,
                              &out->lost_parent, &recovery->attempts,
                              &recovery->choose_us, &recovery->connect_us,
                              &recovery->compensate_us, &recovery->cleanup_us,
                              &recovery->overall_us);
    cop_packet_free(packet);
    return r == -EINVAL ? -EBADMSG : r;
}

/* Why a report cannot be true; NULL: it can. */
static const char *report_refusal(const struct node *node,
                                  const struct peer *peer,
                                  const struct msg_recovered *recovered,
                                  const struct node_adoption *adoption)
{
    struct table_entry entry;

    if (peer->role == NODE_BACKEND &&
        recovered->incarnation > peer->incarnation)
        return "it has not asked for a parent so often";
    if (!record_is_near(node, recovered->orphan, recovered->incarnation))
        return "no node has asked for a parent so often";
    if (table_entry(node->heal.table, adoption->parent, &entry) < 0 ||
        table_entry(node->heal.table, adoption->lost_parent, &entry) < 0)
        return "only the front-end and commnodes can be parents";
    return NULL;
}

int recovery_take(struct node *node,
                  const struct peer *peer,
                  const struct frame *frame)
{
    struct node_adoption adoption;
    struct msg_recovered recovered;
    const char *why;
    int r;

    if (!node->launched || msg_recovered_decode(frame, &recovered) < 0)
        return node_refuse(node, "no such node can be adopted");
    r = read_report(frame, &adoption);
    if (r < 0)
        return r;
    why = report_refusal(node, peer, &recovered, &adoption);
    if (why)
        return node_refuse(node, why);
    if (node->role == NODE_FRONTEND)
        recovery_tell(node, &recovered, &adoption);
    else if (node->parent)
        node_send(node, node->parent, frame_ref(frame));
    return 0;
}

void recovery_fini(struct node *node)
{
    free(node->heal.recovery.reports);
}
