/* world.h - what the simulated world is made of; for the files of sim/ that
 * are sim.h's other side. */
#pragma once

#include "sim/agenda.h"
#include "sim/filtering.h"
#include "sim/flow.h"
#include "sim/sim.h"

/* One end of a link, at one node. */
struct world_end {
    uint32_t node;      /* index */
    uint32_t peer;      /* index of the node at the other end */
    uint32_t peer_link; /* the number of the link at the other end */
    uint64_t life;      /* the same at both ends, never used again */
    uint64_t peer_life; /* 0: the other end has let go */
    const char *reason; /* why it ends: static */
    bool used;          /* the number is taken */
    bool up;            /* EVENT_LINK_UP was given */
    bool upward;        /* the other end is the parent, or is to be */
    bool taken;         /* a child: its adoption here was acknowledged */
    uint64_t heard_ms;  /* when it was up, or a frame was read last */
    bool silent;        /* ends as by a time-out, not by the other end */
    struct frame_reader reader;
    struct frame_writer writer;
    struct flow in; /* what comes to this end */
};

/* A packet that waits for an application, or one that waits to be sent. */
struct world_packet {
    uint32_t stream;
    struct frame frame;
};

struct world_queue {
    struct world_packet *list;
    size_t start;
    size_t end;
    size_t room;
};

enum world_state {
    WORLD_ABSENT,  /* not started */
    WORLD_ALIVE,   /* runs */
    WORLD_EXITED,  /* has ended by itself */
    WORLD_CRASHED, /* was ended */
};

struct world_node {
    enum world_state state;
    enum node_role role;
    uint32_t rank;
    uint32_t index;
    uint32_t depth;
    uint32_t parent;     /* index of the node that starts it; SIM_NONE: none */
    const char *missing; /* why it cannot be started; NULL: it can */
    char *stopped;       /* why its start was stopped, or NULL */
    bool hangs;          /* its start never ends */
    bool starting;       /* it is to start */
    uint32_t starter;    /* because this one has asked for it last ... */
    uint32_t start_life; /* ... as the process that it then was */
    uint32_t births;     /* how often it was started */
    const struct tree_node *shape; /* NULL: it is not of the tree */
    struct node *machine;
    struct actions actions;
    struct world_end **ends; /* by link number */
    size_t end_count;
    size_t end_room;
    uint64_t tick_ms;      /* of the tick in the agenda; UINT64_MAX: none */
    uint64_t frozen_ms;    /* stopped until then */
    uint64_t launched_ms;  /* its launch was complete; 0: it is not */
    uint64_t apart_ms;     /* its host is cut off until then */
    bool vanished;         /* its host is gone, and no link says so */
    uint8_t lie;           /* the type of a frame that it must not send; 0 */
    bool caught;           /* its link was closed for that */
    uint32_t dials;        /* how often it has dialled */
    uint64_t busy_tick_ms; /* for finding a machine that spins */
    uint32_t busy_ticks;
    /* filters */
    struct filtering *filters;
    uint32_t filter_ms;
    bool calling; /* a call is out */
    struct loader_output answer;
    uint32_t answer_stream;
    /* the application */
    struct sim_app app;
    struct world_queue arrived; /* delivered, not taken */
    struct world_queue unsent;
    bool in_receive;
    bool in_app; /* its code runs */
    bool busy;   /* with `in_hand` */
    struct world_packet in_hand;
    /* an observer, which has no machine */
    struct frame question;
    struct frame reply;
    unsigned replies;
    bool over; /* its link has ended */
};

struct sim {
    struct tree tree;
    struct agenda agenda;
    struct random random;
    struct sim_config config;
    struct sim_watch watch;
    uint64_t now_ms;
    uint64_t lives;
    struct world_node **nodes;
    size_t count;
    size_t room;
    char *failure;
    bool meddled; /* what a machine says was not its, or ends half-way */
    /* the trace */
    char *trace;
    size_t trace_len;
    size_t trace_room;
    uint64_t trace_from_ms;
};

/* ---- packets in a queue ---- */

/* Put a packet at the end; its payload reference is taken. */
void world_queue_add(struct world_queue *queue,
                     uint32_t stream,
                     const struct frame *frame);
/* Take the first packet, which is the caller's; false if there is none. */
bool world_queue_take(struct world_queue *queue, struct world_packet *out);

/* The first packet of `stream`, 0 for any; false if there is none. */
bool world_queue_take_stream(struct world_queue *queue,
                             uint32_t stream,
                             struct world_packet *out);

/* Free what waits. */
void world_queue_fini(struct world_queue *queue);

/* ---- nodes (step.c) ---- */

/* Step the machine of `node` with `event`, whose time is filled in, and do
 * what it asks. `result` may be NULL. Returns node_step()'s answer. */
int world_step(struct sim *sim,
               struct world_node *node,
               struct event *event,
               uint64_t *result);

/* Make the node's machine and begin. */
void world_start(struct sim *sim, struct world_node *node);

/* Tell `node`, after `delay_ms`, that `rank`, which it has started, is gone;
 * if it is then still the process that it is now. */
void world_gone(struct sim *sim,
                const struct world_node *node,
                uint32_t rank,
                uint64_t delay_ms);

/* The node's filter call crashes its process (PROTOCOL 11.5). */
void world_crash_in_call(struct sim *sim, struct world_node *node);

/* The node is no more: give back what it holds. */
void world_stop(struct sim *sim,
                struct world_node *node,
                enum world_state state);

/* The filter's time is over: give its answer to the machine. */
void world_filtered(struct sim *sim, struct world_node *node);

/* ---- links (wire.c) ---- */

/* Connect two nodes; each end is told after a delay of its own. */
void world_connect(struct sim *sim,
                   struct world_node *child,
                   struct world_node *parent);

/* The link with that number at `node`; NULL if there is none. */
struct world_end *world_end_at(struct world_node *node, uint32_t link);

/* The newest link of `node` that leads to `other`; NULL if there is none. */
struct world_end *world_end_to(struct world_node *node, uint32_t other);

/* Put `frame` on the link. */
void world_write(struct sim *sim,
                 struct world_node *node,
                 uint32_t link,
                 const struct frame *frame);

/* Let go of the link at this end: the other reads what is on its way, or, if
 * `cut`, a part of it, and then that it has ended. */
void world_let_go(struct sim *sim,
                  struct world_node *node,
                  uint32_t link,
                  bool cut,
                  const char *reason);

/* The link at this end is proved. */
void world_up(struct sim *sim, struct world_node *node, uint32_t link);

/* Read what has arrived, unless it is nothing but repeated heartbeats: they wake
 * no node (PROTOCOL 6.1e). */
void world_read(struct sim *sim, struct world_node *node, uint32_t link);

/* The node is awake, and about to look for silence: read all that has arrived
 * on all of its links. */
void world_read_all(struct sim *sim, struct world_node *node);

/* ---- applications (app.c) ---- */

/* Let the application do what it can. */
void world_app(struct sim *sim, struct world_node *node);

/* It has dealt with the packet in its hand. */
void world_app_done(struct sim *sim, struct world_node *node);

/* ---- observers (observe.c) ---- */

/* What one does when something happens to it. */
void world_observe(struct sim *sim,
                   struct world_node *node,
                   struct event *event);

/* ---- traces (trace.c) ---- */

/* A line for a frame that has come to `node` from rank `from`. */
void world_trace_frame(struct sim *sim,
                       const struct world_node *node,
                       uint32_t from,
                       const struct frame *frame);
/* A line of that kind for a packet of an application. */
void world_trace_packet(struct sim *sim,
                        unsigned kind,
                        const struct world_node *node,
                        const char *verb,
                        uint32_t stream,
                        const struct frame *frame);
/* A line for a filter's call, whose answer is in `node`. */
void world_trace_call(struct sim *sim,
                      const struct world_node *node,
                      const struct node_call *call);

/* A line for what the application of `node` is told. */
void world_trace_tell(struct sim *sim,
                      const struct world_node *node,
                      const struct action *tell);

/* A delay of one hop. */
uint64_t world_delay_ms(struct sim *sim);
