/* alone.h - one node without a network: a test feeds it events and checks its
 * actions in the last step. A failure in these functions fails the test. */
#pragma once

#include "protocol/launch/roster.h"
#include "protocol/node.h"
#include "test/check.h"

struct alone {
    struct node *node;
    struct actions actions; /* of the last step */
    uint64_t now_ms;
};

/* Make the node and start it. */
void alone_init(struct alone *alone, const struct node_config *config);

/* The same on host "h" at address "a", with these fields of a configuration. */
#define alone_begin(alone, ...)                                                \
    alone_init(alone, &(struct node_config){                                   \
                          .host = "h", .address = "a", __VA_ARGS__})

/* Free it. */
void alone_fini(struct alone *alone);

/* Step the node with `event` at `now_ms`. */
void alone_step(struct alone *alone, struct event event);

/* A frame arrives on `link`; its payload is taken. */
void alone_take(struct alone *alone, uint32_t link, struct frame frame);

/* `link` to `rank`, with that attempt, comes up, and its first heartbeat
 * arrives. The front-end is the parent. */
void alone_link_up(struct alone *alone,
                   uint32_t link,
                   uint32_t rank,
                   enum node_role role,
                   uint32_t incarnation);

/* `link` ends. */
void alone_link_down(struct alone *alone, uint32_t link);

/* The roster, which is freed, arrives on `link` as READY or TABLE. */
void alone_take_roster(struct alone *alone,
                       uint32_t link,
                       struct roster *roster,
                       enum frame_type type);

/* ADOPT arrives on `link` from `rank`, with the back-ends `first` to `last`
 * below it. */
void alone_take_adopt(struct alone *alone,
                      uint32_t link,
                      struct frame adopt,
                      uint32_t first,
                      uint32_t last);

/* The frame of `type` that was sent on `link`; NULL if there is none. */
const struct frame *alone_sent(const struct alone *alone,
                               uint32_t link,
                               enum frame_type type);

/* The answer in the ADOPTED that was sent on `link`; 0 if there is none. */
int alone_answered(const struct alone *alone, uint32_t link);

/* Whether `link` was closed; or was closed because the peer broke the
 * protocol. */
bool alone_closed(const struct alone *alone, uint32_t link);
bool alone_refused(const struct alone *alone, uint32_t link);

/* The number of actions of that type; `what` is the type of a frame or of news,
 * for actions that have one. */
size_t alone_count(const struct alone *alone,
                   enum action_type type,
                   unsigned what);
