/* status.c - rounds: STATUS goes down the tree, ROWS come up (PROTOCOL 15). */
#include "protocol/watch/status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"

/* A node keeps this fraction of its time to itself: its children must answer
 * before its own parent's deadline (PROTOCOL 15.3). */
#define KEPT_SHARE 8

int status_init(struct node *node, const struct node_config *config)
{
    struct status *status = &node->status;

    status->adopted_from = RANK_NONE;
    status->tree = config->tree;
    status->allow_injection = config->allow_injection;
    status->allow_administration = config->allow_administration;
    status->host = strdup(config->host ? config->host : "");
    status->label = strdup(config->label ? config->label : "");
    return status->host && status->label ? 0 : -ENOMEM;
}

void status_fini(struct node *node)
{
    struct status *status = &node->status;

    rows_fini(&status->rows);
    free(status->host);
    free(status->label);
    free(status->observers);
    observer_fini(node);
    history_fini(node);
}

/* Milliseconds since `since_ms`, as a row's age. */
static uint32_t age_ms(const struct node *node, uint64_t since_ms)
{
    uint64_t ms = node->now_ms - since_ms;

    return ms < ROW_UNKNOWN ? (uint32_t)ms : ROW_UNKNOWN - 1;
}

static void status_add(struct node *node, const struct row *row)
{
    if (rows_add(&node->status.rows, row) < 0)
        node->failed = true;
}

static void add_own(struct node *node)
{
    const struct status *status = &node->status;
    uint64_t since_ms = status->since_ms ? status->since_ms : node->begin_ms;
    struct row row = {
        .rank = node->rank,
        .parent = node->parent ? node->parent->rank : RANK_NONE,
        .role = (uint32_t)node->role,
        .state = ROW_UP,
        .incarnation = node->incarnation,
        .age_ms = age_ms(node, since_ms),
        .round_us = ROW_UNKNOWN,
        .adoptions = status->adoptions,
        .adopted_from = status->adoptions ? status->adopted_from : RANK_NONE,
        .host = status->host,
        .label = status->label,
    };

    status_add(node, &row);
}

static void add_silent_child(struct node *node, const struct peer *peer)
{
    struct row row = {
        .rank = peer->rank,
        .parent = node->rank,
        .role = (uint32_t)peer->role,
        .state = ROW_SILENT,
        .incarnation = peer->incarnation,
        .age_ms = age_ms(node, peer->life.heard_ms),
        .round_us = peer->round_us,
        .adopted_from = RANK_NONE,
    };

    status_add(node, &row);
}

/* End the round. Children without an answer are silent (15.3). */
static void finish_round(struct node *node)
{
    struct status *status = &node->status;
    struct rows rows;
    struct frame frame;

    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        struct peer *peer = node_child(node, slot);

        if (!peer || !peer->asked)
            continue;
        peer->asked = false;
        add_silent_child(node, peer);
    }
    status->open = false;
    status->waiting = 0;
    rows = status->rows;
    memset(&status->rows, 0, sizeof(status->rows));
    if (node->role == NODE_FRONTEND) {
        observer_answer(node, &rows);
    } else if (node->parent) {
        if (rows_encode(&rows, 0, NULL, &frame) < 0)
            node->failed = true;
        node_send(node, node->parent,
                  msg_rows_encode(&(struct msg_rows){
                      .sender = node->rank,
                      .round = status->round,
                      .payload = frame.payload,
                  }));
    }
    rows_fini(&rows);
}

void status_begin(struct node *node, uint64_t round, uint32_t budget_ms)
{
    struct status *status = &node->status;

    rows_fini(&status->rows);
    status->open = true;
    status->round = round;
    status->waiting = 0;
    status->deadline_ms = node->now_ms + budget_ms;
    add_own(node);
    for (uint32_t slot = 0; slot < node->peer_count; slot++) {
        struct peer *peer = node_child(node, slot);

        if (!peer)
            continue;
        peer->asked = peer->ready && peer->life.state != LINK_CLOSED;
        if (!peer->asked)
            continue;
        peer->asked_us = node->now_us;
        peer->round_us = ROW_UNKNOWN;
        status->waiting++;
        node_send(node, peer,
                  msg_status_encode(&(struct msg_status){
                      .sender = node->rank,
                      .budget_ms = budget_ms - budget_ms / KEPT_SHARE,
                      .round = round,
                  }));
    }
    if (status->waiting == 0)
        finish_round(node);
}

int status_asked(struct node *node, const struct frame *frame)
{
    struct msg_status question;

    if (msg_status_decode(frame, &question) < 0)
        return -EPROTO;
    if (node->role != NODE_BACKEND) /* a back-end sends its ROWS at once */
        node_send(node, node->parent,
                  msg_heard_encode(&(struct msg_heard){
                      .sender = node->rank,
                      .round = question.round,
                  }));
    status_begin(node, question.round, question.budget_ms);
    return 0;
}

/* Whether the answer of `peer` in round `round` is still expected. */
static bool is_awaited(const struct node *node,
                       const struct peer *peer,
                       uint64_t round)
{
    return node->status.open && peer->asked && round == node->status.round;
}

/* PROTOCOL 15.4: the time to the first answer is the link's round trip. */
static void measure_round_trip(struct node *node, struct peer *peer)
{
    uint64_t us = node->now_us - peer->asked_us;

    if (peer->round_us != ROW_UNKNOWN || node->now_us < peer->asked_us)
        return;
    peer->round_us = us < ROW_UNKNOWN ? (uint32_t)us : ROW_UNKNOWN - 1;
}

int status_heard(struct node *node,
                 struct peer *peer,
                 const struct frame *frame)
{
    struct msg_heard heard;

    if (msg_heard_decode(frame, &heard) < 0)
        return -EPROTO;
    if (is_awaited(node, peer, heard.round))
        measure_round_trip(node, peer);
    return 0;
}

int status_rows(struct node *node, struct peer *peer, const struct frame *frame)
{
    struct status *status = &node->status;
    struct msg_rows answer;
    struct rows rows = {0};
    int r;

    if (msg_rows_decode(frame, &answer) < 0)
        return -EPROTO;
    if (!is_awaited(node, peer, answer.round))
        return 0; /* too late */
    r = rows_decode(frame, &rows, NULL, 0);
    if (r < 0)
        return r;
    if (peer->role == NODE_BACKEND &&
        (rows.count != 1 || rows.list[0].rank != peer->rank)) {
        rows_fini(&rows);
        return node_refuse(node, "a back-end may send only its own row");
    }
    measure_round_trip(node, peer);
    for (uint32_t i = 0; i < rows.count; i++) {
        if (rows.list[i].rank != peer->rank)
            continue;
        rows.list[i].parent = node->rank;
        rows.list[i].round_us = peer->round_us;
    }
    r = rows_append(&status->rows, &rows);
    rows_fini(&rows);
    if (r < 0)
        return r;
    peer->asked = false;
    if (--status->waiting == 0)
        finish_round(node);
    return 0;
}

void status_forget(struct node *node, struct peer *peer)
{
    if (!peer->asked)
        return;
    peer->asked = false;
    if (!node->ended && node->status.open && --node->status.waiting == 0)
        finish_round(node);
}

void status_orphaned(struct node *node, uint32_t lost)
{
    struct status *status = &node->status;

    status->open = false;
    status->adopted_from = lost;
    rows_fini(&status->rows);
    for (uint32_t slot = 0; slot < node->peer_count; slot++)
        if (node->peers[slot])
            node->peers[slot]->asked = false;
}

void status_adopted(struct node *node)
{
    node->status.adoptions++;
    node->status.since_ms = node->now_ms;
}

void status_tick(struct node *node)
{
    struct status *status = &node->status;

    if (status->open && node->now_ms >= status->deadline_ms)
        finish_round(node);
    observer_tick(node);
}

uint64_t status_deadline_ms(const struct node *node)
{
    const struct status *status = &node->status;
    uint64_t observers_ms = observer_deadline_ms(node);

    if (status->open && status->deadline_ms < observers_ms)
        return status->deadline_ms;
    return observers_ms;
}
