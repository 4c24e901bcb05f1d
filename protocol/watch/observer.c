/* observer.c - observers outside the tree, and the front-end's answers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"
#include "protocol/watch/status.h"
#include "topology/topology.h"

/* ---- the links ---- */

static struct observer *observer_find(struct status *status, uint32_t link)
{
    for (uint32_t i = 0; i < status->observer_count; i++)
        if (status->observers[i].link == link)
            return &status->observers[i];
    return NULL;
}

static void observer_remove(struct status *status, struct observer *observer)
{
    *observer = status->observers[--status->observer_count];
}

/* Send the answer and close the link: an observer asks one question (15.1). The
 * payload is taken. */
static void send_answer(struct node *node, uint32_t link, struct frame *frame)
{
    struct action *action = node_act(node, ACTION_SEND);

    action->link = link;
    action->frame = *frame;
    node_act(node, ACTION_CLOSE)->link = link;
}

void observer_refuse(struct node *node,
                     uint32_t link,
                     int code,
                     const char *text)
{
    struct observer *observer = observer_find(&node->status, link);
    struct rows none = {0};
    struct frame frame;

    if (observer)
        observer_remove(&node->status, observer);
    if (rows_encode(&none, code, text, &frame) < 0)
        node->failed = true;
    send_answer(node, link, &frame);
}

static int observer_add(struct node *node, uint32_t link)
{
    struct status *status = &node->status;

    if (array_grow(&status->observers, status->observer_count,
                   sizeof(*status->observers)) < 0)
        return -ENOMEM;
    status->observers[status->observer_count++] = (struct observer){
        .link = link,
        .deadline_ms = node->now_ms + node->times.handshake_timeout_ms,
    };
    return 0;
}

bool observer_link_up(struct node *node, const struct event *event)
{
    if (event->role != NODE_OBSERVER)
        return false;
    if (node->ended || event->is_parent)
        node_act(node, ACTION_CLOSE)->link = event->link;
    else if (node->role != NODE_FRONTEND)
        observer_refuse(node, event->link, -ENXIO,
                        "this node is not the front-end");
    else if (!node->launched || node->closing)
        observer_refuse(node, event->link, -EAGAIN,
                        node->closing ? "the network is ending"
                                      : "the network is being launched");
    else if (node->status.observer_count >= LIMIT_OBSERVERS)
        observer_refuse(node, event->link, -EBUSY,
                        "too many observers are connected to the front-end");
    else if (observer_add(node, event->link) < 0)
        node->failed = true;
    return true;
}

bool observer_link_down(struct node *node, const struct event *event)
{
    struct observer *observer = observer_find(&node->status, event->link);

    if (observer)
        observer_remove(&node->status, observer);
    return observer != NULL;
}

/* INJECT or DRAIN. */
static void take_command(struct node *node,
                         struct observer *observer,
                         const struct frame *frame)
{
    char text[LIMIT_TEXT] = "";
    int r = frame->type == FRAME_INJECT
                ? inject_asked(node, frame, text, sizeof(text))
                : drain_asked(node, frame, text, sizeof(text));

    observer_refuse(node, observer->link, r, text);
}

static void take_reports_question(struct node *node,
                                  struct observer *observer,
                                  const struct frame *frame)
{
    uint32_t link = observer->link;
    struct msg_reports question;
    struct frame reply;

    msg_reports_decode(frame, &question);
    if (history_encode(node, question.first, &reply) < 0)
        node->failed = true;
    observer_remove(&node->status, observer);
    send_answer(node, link, &reply);
}

bool observer_frame(struct node *node, const struct event *event)
{
    struct observer *observer = observer_find(&node->status, event->link);
    struct frame frame = event->frame;
    struct msg_status status;

    if (!observer)
        return false;
    if (frame.type == FRAME_STATUS && !observer->asked &&
        msg_status_decode(&frame, &status) == 0) {
        observer->asked = true;
        observer->budget_ms = status.budget_ms;
        observer->deadline_ms = UINT64_MAX; /* the round has a deadline */
        observer_next(node);
    } else if ((frame.type == FRAME_INJECT || frame.type == FRAME_DRAIN) &&
               !observer->asked) {
        take_command(node, observer, &frame);
    } else if (frame.type == FRAME_REPORTS && !observer->asked) {
        take_reports_question(node, observer, &frame);
    } else if (frame.type != FRAME_HEARTBEAT) {
        node_act(node, ACTION_CLOSE)->link = event->link;
        observer_remove(&node->status, observer);
    }
    frame_fini(&frame);
    return true;
}

void observer_end(struct node *node)
{
    while (node->status.observer_count > 0)
        observer_refuse(node, node->status.observers[0].link, -ENOTCONN,
                        "the network has ended");
}

void observer_tick(struct node *node)
{
    struct status *status = &node->status;
    uint32_t i = 0;

    while (i < status->observer_count) {
        if (node->now_ms < status->observers[i].deadline_ms) {
            i++;
            continue;
        }
        node_act(node, ACTION_CLOSE)->link = status->observers[i].link;
        observer_remove(status, &status->observers[i]);
    }
}

uint64_t observer_deadline_ms(const struct node *node)
{
    uint64_t deadline_ms = UINT64_MAX;

    for (uint32_t i = 0; i < node->status.observer_count; i++)
        if (node->status.observers[i].deadline_ms < deadline_ms)
            deadline_ms = node->status.observers[i].deadline_ms;
    return deadline_ms;
}

void observer_next(struct node *node)
{
    struct status *status = &node->status;
    uint64_t round = status->round + 1;
    uint32_t budget_ms = 0, i;

    if (status->open)
        return; /* the answers of this round may be older than the question */
    for (i = 0; i < status->observer_count; i++) {
        struct observer *observer = &status->observers[i];

        if (!observer->asked)
            continue;
        observer->round = round;
        if (observer->budget_ms > budget_ms)
            budget_ms = observer->budget_ms;
    }
    if (budget_ms > 0)
        status_begin(node, round, budget_ms);
}

/* ---- losses ---- */

static struct loss *loss_of(const struct node *node, uint32_t rank)
{
    for (uint32_t i = 0; i < node->status.loss_count; i++)
        if (node->status.losses[i].first <= rank &&
            node->status.losses[i].last >= rank)
            return &node->status.losses[i];
    return NULL;
}

/* Why `rank` was lost, as a new string; NULL: not known. If the node was told
 * to kill itself, that is the reason. */
static char *reason_of(const struct status *status,
                       uint32_t rank,
                       const char *text)
{
    if (ranks_has(&status->killed, rank))
        text = "it was killed on purpose";
    return text && *text ? strdup(text) : NULL;
}

static void loss_add(struct node *node, struct loss loss, const char *text)
{
    struct status *status = &node->status;
    if (status->loss_count >= LIMIT_STATUS_ROWS)
        return;
    if (array_grow(&status->losses, status->loss_count, sizeof(loss)) < 0) {
        node->failed = true;
        return;
    }
    loss.text = reason_of(status, loss.first, text);
    status->losses[status->loss_count++] = loss;
}

void observer_lost(struct node *node,
                   uint32_t rank,
                   uint32_t parent,
                   const char *text)
{
    struct loss loss = {rank, rank, parent, node->now_ms, NULL};

    if (node->role == NODE_FRONTEND && !loss_of(node, rank))
        loss_add(node, loss, text);
}

void observer_given_up(struct node *node,
                       const struct ranks *ranks,
                       const char *text)
{
    for (size_t i = 0; node->role == NODE_FRONTEND && i < ranks->count; i++) {
        struct loss loss = {ranks->runs[i].first, ranks->runs[i].last,
                            RANK_NONE, node->now_ms, NULL};

        loss_add(node, loss, text);
    }
}

void observer_found(struct node *node, uint32_t rank)
{
    struct loss *loss = loss_of(node, rank);
    struct ranks one = {0};

    if (!loss)
        return;
    free(loss->text);
    *loss = node->status.losses[--node->status.loss_count];
    /* the node lives, so the injection did not reach it */
    if (ranks_add(&one, rank, rank) < 0 ||
        ranks_subtract(&node->status.killed, &one) < 0)
        node->failed = true;
    ranks_fini(&one);
}

void observer_killed(struct node *node, uint32_t rank)
{
    if (ranks_add(&node->status.killed, rank, rank) < 0)
        node->failed = true;
}

void observer_fini(struct node *node)
{
    struct status *status = &node->status;

    for (uint32_t i = 0; i < status->loss_count; i++)
        free(status->losses[i].text);
    free(status->losses);
    ranks_fini(&status->killed);
}

/* ---- rows of nodes that have not answered ---- */

static uint32_t age_ms(const struct node *node, uint64_t since_ms)
{
    uint64_t ms = node->now_ms - since_ms;

    return ms < ROW_UNKNOWN ? (uint32_t)ms : ROW_UNKNOWN - 1;
}

/* How long `rank` has been lost. */
static uint32_t lost_ms(const struct node *node, uint32_t rank)
{
    const struct loss *loss = loss_of(node, rank);

    return loss ? age_ms(node, loss->since_ms) : ROW_UNKNOWN;
}

/* Set since when, and why, the node of `row` is lost. */
static void set_loss(const struct node *node, struct row *row)
{
    const struct loss *loss = loss_of(node, row->rank);

    row->age_ms = lost_ms(node, row->rank);
    if (loss && loss->parent != RANK_NONE)
        row->parent = loss->parent;
    row->reason = loss ? loss->text : NULL;
}

/* The index of `rank` in the tree that was launched; or TOPOLOGY_NONE. */
static uint32_t launched_index(const struct node *node, uint32_t rank)
{
    return node->status.tree ? topology_index(node->status.tree, rank)
                             : TOPOLOGY_NONE;
}

/* A row for `rank`, with its place in the launched tree, or where it joined
 * later. */
static struct row row_of(const struct node *node,
                         uint32_t rank,
                         enum node_role role,
                         enum row_state state)
{
    const struct topology *tree = node->status.tree;
    const struct roster_note *name = roster_find(&node->roster.names, rank);
    uint32_t index = launched_index(node, rank);
    struct row row = {
        .rank = rank,
        .role = (uint32_t)role,
        .state = (uint32_t)state,
        .age_ms = ROW_UNKNOWN,
        .round_us = ROW_UNKNOWN,
        .adopted_from = RANK_NONE,
        .place = places_of(node, rank),
    };

    if (index != TOPOLOGY_NONE) {
        if (index > 0)
            row.parent = topology_rank(tree, topology_parent(tree, index));
        row.host = (char *)(uintptr_t)topology_host(tree, index);
    } else if (name) {
        row.parent = name->parent;
        row.host = name->host;
    }
    if (name)
        row.label = name->text;
    return row;
}

static void add_row(struct node *node, struct rows *rows, const struct row *row)
{
    if (rows_add(rows, row) < 0)
        node->failed = true;
}

/* Set the host of `known`, the row from an answer, if the answer had none. */
static void set_host(struct node *node, struct row *known, const char *host)
{
    if (known->host[0] != '\0' || !host)
        return;
    free(known->host);
    known->host = strdup(host);
    node->failed |= !known->host;
}

/* Add the row of an internal node from the table, or correct `known`, the row
 * from its answer; NULL: it has not answered. */
static void add_internal(struct node *node,
                         const struct table_entry *entry,
                         struct row *known,
                         struct rows *more)
{
    struct row row;
    bool lost = suspect_is_lost(node, entry->rank);

    if (known && known->state != ROW_SILENT && !lost)
        return;
    row = row_of(node, entry->rank, NODE_COMMNODE, ROW_LOST);
    row.incarnation = entry->incarnation;
    if (lost || entry->failed) {
        set_loss(node, &row);
        row.state = lost ? ROW_LOST : ROW_ORPHAN;
    } else {
        row.parent = entry->parent;
        row.state = ROW_SILENT;
        row.age_ms = known ? known->age_ms : ROW_UNKNOWN;
        if (table_depth(node->heal.table, entry->rank) == TABLE_NO_PATH) {
            row.state = ROW_ORPHAN;
            row.age_ms = lost_ms(node, entry->parent);
        }
    }
    if (!known) {
        add_row(node, more, &row);
        return;
    }
    known->state = row.state;
    known->parent = row.parent;
    known->age_ms = row.age_ms;
    if (row.reason && !known->reason) {
        known->reason = strdup(row.reason);
        node->failed |= !known->reason;
    }
    set_host(node, known, row.host);
}

static void add_internals(struct node *node,
                          struct rows *rows,
                          struct rows *more)
{
    struct table_entry entry;

    for (uint32_t i = 1; i < table_count(node->heal.table); i++) {
        table_at(node->heal.table, i, &entry);
        if (!entry.awaited)
            add_internal(node, &entry, rows_find(rows, entry.rank), more);
    }
}

/* Whether no branch covers `rank`, and since when. */
static bool is_uncovered(const struct node *node,
                         uint32_t rank,
                         uint64_t *since_ms)
{
    for (size_t i = 0; i < node->uncovered_count; i++)
        if (ranks_has(&node->uncovered[i].ranks, rank)) {
            *since_ms = node->uncovered[i].since_ms;
            return true;
        }
    return false;
}

/* Add the live back-ends that have not answered. */
static void add_backends(struct node *node,
                         const struct rows *rows,
                         struct rows *more)
{
    for (size_t run = 0; run < node->backends.count; run++)
        for (uint32_t rank = node->backends.runs[run].first;
             rank <= node->backends.runs[run].last; rank++) {
            struct row *known = rows_find(rows, rank);
            struct row row = row_of(node, rank, NODE_BACKEND, ROW_SILENT);
            uint64_t since_ms;

            if (known) {
                set_host(node, known, row.host);
                continue;
            }
            if (is_uncovered(node, rank, &since_ms)) {
                row.state = ROW_ORPHAN;
                row.age_ms = age_ms(node, since_ms);
            }
            add_row(node, more, &row);
        }
}

/* The row of a node that never started. */
static struct row missing_row(const struct node *node,
                              const struct roster_note *missing)
{
    uint32_t index = launched_index(node, missing->rank);
    struct row row = row_of(node, missing->rank, NODE_COMMNODE, ROW_MISSING);

    row.host = missing->host;
    row.reason = missing->text;
    row.age_ms = age_ms(node, node->begin_ms);
    if (index != TOPOLOGY_NONE && topology_is_leaf(node->status.tree, index))
        row.role = NODE_BACKEND;
    return row;
}

/* Add the back-ends that were given up, and the nodes that never started. */
static void add_absent(struct node *node,
                       const struct rows *rows,
                       struct rows *more)
{
    uint32_t rank;

    for (size_t run = 0; run < node->lost.count; run++)
        for (rank = node->lost.runs[run].first;
             rank <= node->lost.runs[run].last; rank++) {
            struct row row = row_of(node, rank, NODE_BACKEND, ROW_LOST);

            set_loss(node, &row);
            if (!rows_find(rows, rank))
                add_row(node, more, &row);
        }
    for (uint32_t i = 0; i < node->roster.missing.count; i++) {
        struct row row = missing_row(node, &node->roster.missing.list[i]);

        if (!rows_find(rows, row.rank))
            add_row(node, more, &row);
    }
}

/* PROTOCOL 15.5: add the nodes that only the front-end knows about. */
static void complete_rows(struct node *node, struct rows *rows)
{
    struct rows more = {0};

    rows_sort(rows);
    add_internals(node, rows, &more);
    add_backends(node, rows, &more);
    add_absent(node, rows, &more);
    if (rows_append(rows, &more) < 0)
        node->failed = true;
    rows_fini(&more);
    places_note(node, rows);
    rows_sort(rows);
    if (rows_degrade(rows) < 0)
        node->failed = true;
}

/* The row of internal node `rank` as far as this node knows; false: there is no
 * such node. */
static bool internal_row(const struct node *node,
                         uint32_t rank,
                         struct row *out)
{
    struct table_entry entry;
    bool lost;

    if (!node->heal.table || table_entry(node->heal.table, rank, &entry) < 0)
        return false;
    lost = suspect_is_lost(node, rank);
    *out = row_of(node, rank, rank ? NODE_COMMNODE : NODE_FRONTEND, ROW_UP);
    out->parent = rank ? entry.parent : RANK_NONE;
    if (lost || entry.failed) {
        out->state = lost ? ROW_LOST : ROW_ORPHAN;
        out->parent = table_last_parent(node->heal.table, rank);
        set_loss(node, out);
    } else if (table_depth(node->heal.table, rank) == TABLE_NO_PATH) {
        out->state = ROW_ORPHAN;
        out->age_ms = lost_ms(node, entry.parent);
    }
    return true;
}

/* The row of a back-end that the front-end knows. One that is not alive has been
 * lost, or has left. */
static void backend_row(const struct node *node, uint32_t rank, struct row *out)
{
    uint64_t since_ms;

    *out = row_of(node, rank, NODE_BACKEND, ROW_UP);
    out->parent = history_parent(node, rank, out->parent);
    if (!ranks_has(&node->backends, rank)) {
        out->state = ROW_LOST;
        set_loss(node, out);
    } else if (is_uncovered(node, rank, &since_ms)) {
        out->state = ROW_ORPHAN;
        out->age_ms = age_ms(node, since_ms);
    }
}

/* Whether `rank` is above those of all nodes that there have been. */
static bool is_behind(const struct node *node, uint32_t rank)
{
    const struct ranks *const sets[] = {&node->backends, &node->lost};
    bool behind = launched_index(node, rank) == TOPOLOGY_NONE;
    const char *address;
    uint32_t joined;

    for (uint32_t i = 0;
         behind && table_joined(node->heal.table, i, &joined, &address); i++)
        behind = rank > joined;
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        behind &= sets[i]->count == 0 ||
                  rank > sets[i]->runs[sets[i]->count - 1].last;
    return behind;
}

bool node_row(const struct node *node, uint32_t rank, struct row *out)
{
    if (internal_row(node, rank, out))
        return true;
    if (node->role != NODE_FRONTEND) {
        *out = row_of(node, rank, NODE_BACKEND,
                      node->parent ? ROW_UP : ROW_ORPHAN);
        out->host = node->status.host;
        out->label = node->status.label;
        out->parent = node->parent ? node->parent->rank : RANK_NONE;
        return rank == node->rank;
    }
    for (uint32_t i = 0; i < node->roster.missing.count; i++)
        if (node->roster.missing.list[i].rank == rank) {
            *out = missing_row(node, &node->roster.missing.list[i]);
            return true;
        }
    backend_row(node, rank, out);
    return !is_behind(node, rank);
}

void observer_answer(struct node *node, struct rows *rows)
{
    struct status *status = &node->status;
    struct frame frame;
    uint32_t i = 0;

    complete_rows(node, rows);
    if (rows_encode(rows, 0, NULL, &frame) < 0)
        node->failed = true;
    while (i < status->observer_count && !node->failed) {
        struct frame copy;

        if (status->observers[i].round != status->round) {
            i++;
            continue;
        }
        copy = frame_ref(&frame);
        send_answer(node, status->observers[i].link, &copy);
        observer_remove(status, &status->observers[i]);
    }
    frame_fini(&frame);
    observer_next(node);
}
