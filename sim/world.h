/* world.h - the data of the simulated world, only for the files of sim/ that
 * implement sim.h. */
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
    uint64_t peer_life; /* 0: the other end has closed */
    const char *reason; /* why it ends: static */
    bool used;          /* the number is taken */
    bool up;            /* EVENT_LINK_UP was given */
    bool upward;        /* leads to the parent, or a candidate */
    bool taken;         /* a child: it was started with this link, or its
                           adoption here was acknowledged */
    uint64_t heard_ms;  /* when it came up, or the last frame was read */
    bool silent;        /* ends by a time-out, not by the other end */
    struct frame_reader reader;
    struct frame_writer writer;
    struct flow in; /* bytes that arrive at this end */
};

/* A packet waiting for an application, or waiting to be sent. */
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

/* Bytes of a host's name, with a zero. */
#define SIM_HOST_ROOM 16

enum world_state {
    WORLD_ABSENT,  /* not started */
    WORLD_ALIVE,   /* runs */
    WORLD_EXITED,  /* has ended by itself */
    WORLD_CRASHED, /* killed */
};

struct world_node {
    enum world_state state;
    enum node_role role;
    uint32_t rank;
    uint32_t index;
    uint32_t depth;
    uint32_t parent;     /* index of the node that starts it; SIM_NONE: none */
    const char *missing; /* why it cannot be started; NULL if it can */
    char *stopped;       /* why its start was given up, or NULL */
    bool hangs;          /* its start never ends */
    uint32_t place;      /* that it was started to have; 0: none */
    char host[SIM_HOST_ROOM]; /* its name, with `hosts` of sim_config */
    bool starting;            /* its start was requested ... */
    uint32_t starter;         /* ... last by this node ... */
    uint32_t start_life;      /* ... in this life of that node */
    uint32_t births;          /* how often it was started */
    uint32_t parent_life;     /* the life of its parent that has started it */
    const struct tree_node *shape; /* NULL: not part of the tree */
    struct node *machine;
    struct actions actions;
    struct world_end **ends; /* by link number */
    size_t end_count;
    size_t end_room;
    uint64_t tick_ms;      /* of the tick in the agenda; UINT64_MAX: none */
    uint64_t frozen_ms;    /* stopped until then */
    uint64_t launched_ms;  /* when its launch was complete; 0: it is not */
    uint64_t apart_ms;     /* its host is cut off until then */
    bool vanished;         /* its host is gone, without an error on links */
    uint8_t lie;           /* type of the forbidden frame it sent; 0: none */
    bool caught;           /* its link was closed for that frame */
    uint32_t dials;        /* how often it has dialled */
    uint64_t busy_tick_ms; /* to detect a machine that spins */
    uint32_t busy_ticks;
    /* filters */
    struct filtering *filters;
    uint32_t filter_ms;
    bool calling; /* a filter call is running */
    struct loader_output answer;
    uint32_t answer_stream;
    /* the application */
    struct sim_app app;
    struct world_queue arrived; /* delivered, not taken */
    struct world_queue unsent;
    bool in_receive;
    bool in_app;  /* its code is running */
    bool busy;    /* with `in_hand` */
    bool leaving; /* it takes nothing more */
    struct world_packet in_hand;
    /* an observer, which has no machine */
    struct frame question;
    struct frame reply;
    unsigned replies;
    bool over; /* its link has ended */
};

struct sim {
    struct tree tree;
    struct topology *topology; /* with its hosts; or NULL */
    struct agenda agenda;
    struct random random;
    struct sim_config config;
    struct sim_watch watch;
    uint64_t now_ms;
    uint64_t lives;
    struct frame *records; /* of the front-end (PROTOCOL 23.3) */
    size_t record_count;
    size_t record_room;
    uint32_t replaced; /* tries so far */
    struct world_node **nodes;
    size_t count;
    size_t room;
    char *failure;
    bool meddled; /* a frame was injected, or a step ended half-way */
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

/* Take the first packet of `stream` (0: of any); false if there is none. */
bool world_queue_take_stream(struct world_queue *queue,
                             uint32_t stream,
                             struct world_packet *out);

/* Free the queue. */
void world_queue_fini(struct world_queue *queue);

/* ---- nodes (step.c) ---- */

/* Step the machine of `node` with `event`, whose time is filled in, and carry
 * out its actions. `result` may be NULL. Returns what node_step() returned. */
int world_step(struct sim *sim,
               struct world_node *node,
               struct event *event,
               uint64_t *result);

/* Make and start the node's machine. */
void world_start(struct sim *sim, struct world_node *node);

/* The same of a front-end that takes the records over. Returns the error of the
 * first step that has one. */
int world_resume(struct sim *sim, struct world_node *node);

/* Add a node that is not of the tree, which joins. */
struct world_node *world_add(struct sim *sim, enum node_role role);

/* Report to `node`, after `delay_ms`, that `rank`, which it has started, has
 * ended; but not if the process of `node` has ended before. */
void world_gone(struct sim *sim,
                const struct world_node *node,
                uint32_t rank,
                uint64_t delay_ms);

/* The node's filter call crashes its process (PROTOCOL 11.5). */
void world_crash_in_call(struct sim *sim, struct world_node *node);

/* End the node, and free what it holds. */
void world_stop(struct sim *sim,
                struct world_node *node,
                enum world_state state);

/* The filter call has taken its time: give its answer to the machine. */
void world_filtered(struct sim *sim, struct world_node *node);

/* ---- links (wire.c) ---- */

/* Connect two nodes; each end comes up after its own delay. `first`: the child has
 * just been started, and this is the link to its parent. */
void world_connect(struct sim *sim,
                   struct world_node *child,
                   struct world_node *parent,
                   bool first);

/* The link with that number at `node`; NULL if there is none. */
struct world_end *world_end_at(struct world_node *node, uint32_t link);

/* The newest link of `node` that leads to `other`; NULL if there is none. */
struct world_end *world_end_to(struct world_node *node, uint32_t other);

/* Write `frame` to the link. */
void world_write(struct sim *sim,
                 struct world_node *node,
                 uint32_t link,
                 const struct frame *frame);

/* Close the link at this end. The other end reads what is in flight (if `cut`,
 * only a part of it), and then the end. */
void world_let_go(struct sim *sim,
                  struct world_node *node,
                  uint32_t link,
                  bool cut,
                  const char *reason);

/* The link is proved at this end. */
void world_up(struct sim *sim, struct world_node *node, uint32_t link);

/* Read what has arrived, unless it is only repeated heartbeats, which wake no
 * node (PROTOCOL 6.1e). */
void world_read(struct sim *sim, struct world_node *node, uint32_t link);

/* The node is awake, and about to check for silence: read everything that has
 * arrived on all its links. */
void world_read_all(struct sim *sim, struct world_node *node);

/* ---- applications (app.c) ---- */

/* Run the application as far as it can go. */
void world_app(struct sim *sim, struct world_node *node);

/* The application has processed its packet. */
void world_app_done(struct sim *sim, struct world_node *node);

/* ---- observers (observe.c) ---- */

/* Handle an event of an observer. */
void world_observe(struct sim *sim,
                   struct world_node *node,
                   struct event *event);

/* ---- traces (trace.c) ---- */

/* Trace a frame that has arrived at `node` from rank `from`. */
void world_trace_frame(struct sim *sim,
                       const struct world_node *node,
                       uint32_t from,
                       const struct frame *frame);
/* Trace a packet of an application, as a line of that kind. */
void world_trace_packet(struct sim *sim,
                        unsigned kind,
                        const struct world_node *node,
                        const char *verb,
                        uint32_t stream,
                        const struct frame *frame);
/* Trace a filter call, whose answer is in `node`. */
void world_trace_call(struct sim *sim,
                      const struct world_node *node,
                      const struct node_call *call);

/* Trace news for the application of `node`. */
void world_trace_tell(struct sim *sim,
                      const struct world_node *node,
                      const struct action *tell);

/* The delay of one hop. */
uint64_t world_delay_ms(struct sim *sim);
