/* sim.h - the simulated world: thousands of nodes in one process, one thread.
 *
 *     sim_new()  a tree, a seed, delays      sim_crash(), sim_cut() ...
 *        |                                        |
 *        v                                        v
 *     agenda: what happens, in order of time and of making
 *        |
 *        v
 *     node_step(): the machine itself    links: real frames as real bytes
 *        |
 *        v
 *     actions: bytes, filters, deliveries, news for the application
 *
 * Time is virtual, in milliseconds. Everything drawn by chance comes from one
 * seed: the same seed gives the same trace, to the byte.
 *
 * Nodes are named by their index. For a node of the tree it is the rank; nodes
 * that attach later, and observers, have the numbers behind these, in order. */
#pragma once

#include <stdio.h>

#include "protocol/node.h"
#include "sim/random.h"
#include "sim/tree.h"

struct sim;

#define SIM_NONE UINT32_MAX

/* The tag of ADOPTED by which a candidate has become the parent. */
#define SIM_ADOPTED 1

/* What a trace shows; a sum of these. */
enum sim_trace {
    SIM_TRACE_LIFE = 1 << 0,    /* nodes start, end, links come and break */
    SIM_TRACE_FRAME = 1 << 1,   /* frames as they arrive */
    SIM_TRACE_FILTER = 1 << 2,  /* calls of filters, and their answers */
    SIM_TRACE_DELIVER = 1 << 3, /* packets handed to an application */
    SIM_TRACE_TELL = 1 << 4,    /* news for an application */
    SIM_TRACE_ASK = 1 << 5,     /* what an application asks */
    SIM_TRACE_ALL = (1 << 6) - 1,
};

/* What becomes of an action after sim_tamper_fn has looked at it. */
enum sim_tampering {
    SIM_KEEP,
    SIM_DROP,
    SIM_TWICE,
};

/* Looks at what node `index` is about to do, and may change it. */
typedef enum sim_tampering (*sim_tamper_fn)(struct sim *sim,
                                            uint32_t index,
                                            struct action *action,
                                            void *arg);

/* What the world is like; all zero is a world without chance: one
 * millisecond a hop, whole writes, nothing slow. */
struct sim_config {
    uint64_t seed;
    uint32_t delay_min_ms; /* of a link; both 0: 1 ms */
    uint32_t delay_max_ms;
    unsigned fragment_percent; /* reads that get part of what is there */
    uint32_t bytes_per_ms;     /* that a link passes each way; 0: any number */
    uint32_t start_max_ms;     /* a process needs 1 ms to this to start */
    const char *filter_path;   /* directories; NULL: $COPPICE_FILTER_PATH */
    struct cop_times times;
    uint32_t algorithm; /* of topology/adopter.h; 0: NHI-WM */
    uint32_t budget;    /* of a stream's windows at a node; 0: a real one's */
    uint32_t next_rank; /* of the first that joins; 0: behind the tree's */
    bool allow_injection;
    bool own_addresses; /* nodes have different addresses, as on a cluster */
    bool agents; /* start the nodes: the front-end is told of each end, at once
                    (12.5) */
    enum cop_missing missing; /* what becomes of a launch (12.2) */
    unsigned trace;           /* a sum of enum sim_trace */
    /* Called before (true) and after (false) each step of a machine, so that a
     * test can make its allocations fail. A node that then runs out of memory
     * is gone, as if it had crashed. NULL: running out is a failure. */
    void (*stepping)(bool begins);
    /* Called for each action: so that a test can have a machine do what it must
     * not, and see whether that is noticed. NULL: nobody does. */
    sim_tamper_fn tamper;
    void *tamper_arg;
    /* Whether a filter call crashes its node, a commnode. NULL: none does. */
    bool (*poison)(struct sim *sim,
                   uint32_t index,
                   const struct node_call *call,
                   void *arg);
    void *poison_arg;
};

/* What a watcher is told of every application's traffic, as it happens. A
 * watcher may ask the world for things, but not run it. */
struct sim_watch {
    /* `index` was handed this packet and takes it. */
    void (*taken)(struct sim *sim,
                  uint32_t index,
                  uint32_t stream,
                  const struct frame *frame,
                  void *arg);
    /* `index` has sent packet on `stream`: the machine has accepted it. */
    void (*sent)(struct sim *sim,
                 uint32_t index,
                 uint32_t stream,
                 const struct frame *frame,
                 void *arg);
    /* `index` was told this news. */
    void (*told)(struct sim *sim,
                 uint32_t index,
                 const struct action *tell,
                 void *arg);
    /* The link of `index` to its parent, or to a candidate, is about to go, at
     * its own end or at the other while its own still stands. */
    void (*parted)(struct sim *sim, uint32_t index, void *arg);
    /* `index` dials `rank`, to be adopted. */
    void (*dialled)(struct sim *sim, uint32_t index, uint32_t rank, void *arg);
    /* `index` has put this frame on its link to node `peer`, as `len` bytes. */
    void (*wrote)(struct sim *sim,
                  uint32_t index,
                  uint32_t peer,
                  const struct frame *frame,
                  size_t len,
                  void *arg);
    /* `index` is about to close its link of that number for silence. */
    void (*accused)(struct sim *sim, uint32_t index, uint32_t link, void *arg);
    void *arg;
};

/* How an application behaves. All zero: it takes each packet at once, calls
 * receive again, and answers nothing. */
struct sim_app {
    bool by_hand;     /* takes only when the script says so */
    bool two_threads; /* a send that waits does not keep it from receiving */
    uint32_t take_ms; /* a packet keeps it busy that long */
    /* It has dealt with a packet: sim_post() what it answers. May be NULL. */
    void (*taken)(struct sim *sim,
                  uint32_t index,
                  uint32_t stream,
                  const struct frame *frame,
                  void *arg);
    void *arg;
};

/* ---- the world ---- */

/* Make a world with the nodes of `text` (see tree.h); only the front-end runs.
 * Returns 0, -EINVAL if `text` is no tree, or an error of node_new(). */
int sim_new(struct sim **out,
            const char *text,
            const struct sim_config *config);

/* Free it with all that it holds. NULL is fine. */
void sim_free(struct sim *sim);

/* Let time pass up to and with `until_ms`. Returns 0, or -EIO if the machine
 * has done what it may not: sim_failure() says what. */
int sim_run_until(struct sim *sim, uint64_t until_ms);

/* Let time pass until `done` says so, at most for `limit_ms`. Returns 0,
 * -ETIMEDOUT, or -EIO as above. */
int sim_run_while_not(struct sim *sim,
                      uint64_t limit_ms,
                      bool (*done)(struct sim *sim, void *arg),
                      void *arg);

/* The time now, in virtual milliseconds. */
uint64_t sim_now_ms(const struct sim *sim);

/* The tree that the world began with; borrowed. */
const struct tree *sim_tree(const struct sim *sim);

/* What the machine did that it may not, or NULL. */
const char *sim_failure(const struct sim *sim);

/* Note such a failure; the first one stays. */
void sim_fail(struct sim *sim, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Watch all applications; copied. */
void sim_watch(struct sim *sim, const struct sim_watch *watch);

/* ---- nodes ---- */

/* How many nodes there are or have been. */
uint32_t sim_count(const struct sim *sim);

/* The index of the node with `rank`; SIM_NONE if there is none. */
uint32_t sim_find(const struct sim *sim, uint32_t rank);

/* The node's rank; RANK_NONE while it has none. */
uint32_t sim_rank(const struct sim *sim, uint32_t index);
/* What it is in the tree. */
enum node_role sim_role(const struct sim *sim, uint32_t index);

/* Whether it has started and neither ended nor crashed. */
bool sim_is_alive(const struct sim *sim, uint32_t index);
/* Whether it has ended by itself. */
bool sim_has_exited(const struct sim *sim, uint32_t index);

/* Its machine, to ask it things; NULL unless it is alive. */
const struct node *sim_node(const struct sim *sim, uint32_t index);

/* The index of the node that its upward link leads to, be it a parent or one
 * that it asks to be; SIM_NONE if it has no such link. */
uint32_t sim_parent(const struct sim *sim, uint32_t index);

/* How many children it has at launch. */
uint32_t sim_child_count(const struct sim *sim, uint32_t index);

/* How many links it has. */
uint32_t sim_link_count(const struct sim *sim, uint32_t index);

/* Whether it is stopped now. */
bool sim_is_frozen(const struct sim *sim, uint32_t index);

/* Packets that wait for its application; those of one stream. */
size_t sim_waiting(const struct sim *sim, uint32_t index);
size_t sim_waiting_on(const struct sim *sim, uint32_t index, uint32_t stream);
/* Packets that it has yet to send. */
size_t sim_unsent(const struct sim *sim, uint32_t index);

/* Change its application's behaviour; copied. */
void sim_set_app(struct sim *sim, uint32_t index, const struct sim_app *app);

/* Its filters take this long from now on; 0: they answer within the call. */
void sim_set_filter_ms(struct sim *sim, uint32_t index, uint32_t filter_ms);

/* ---- what an application asks ----
 *
 * Each gives node_step()'s answer; -ENOTCONN too if the node is not alive. */

/* Front-end: open a stream; its number goes to `stream`. TELL_OPENED follows.
 */
int sim_open(struct sim *sim,
             const struct stream_definition *definition,
             uint32_t *stream);
/* Close it: everywhere from the front-end. */
int sim_close(struct sim *sim, uint32_t index, uint32_t stream);
/* Front-end: set the parameters of the stream's filters. */
int sim_parameters(struct sim *sim, uint32_t stream, const char *format, ...);
/* Front-end: sync; the marker's number goes to `sequence`, which may be NULL.
 * TELL_SYNCED follows. */
int sim_sync(struct sim *sim, uint32_t stream, uint64_t *sequence);
/* Front-end: ask for its filter state. TELL_STATE follows. */
int sim_ask_state(struct sim *sim, uint32_t stream);
/* Back-end: what it took on the stream is dealt with. */
int sim_settle(struct sim *sim, uint32_t index, uint32_t stream);
/* Front-end: end the network. Back-end: leave it. */
int sim_shutdown(struct sim *sim, uint32_t index);

/* Send values, now or not at all. */
int sim_send(struct sim *sim,
             uint32_t index,
             uint32_t stream,
             int32_t tag,
             const char *format,
             ...);

/* Send `len` bytes of an array of char, now or not at all. */
int sim_send_bytes(struct sim *sim,
                   uint32_t index,
                   uint32_t stream,
                   size_t len);

/* Send as an application that waits for credit: in order, as soon as it may.
 * The payload is taken. */
void sim_post(struct sim *sim,
              uint32_t index,
              uint32_t stream,
              int32_t tag,
              struct payload *payload);

/* By hand: call receive on `stream`, 0 for any. Returns 1 if there was a
 * packet, which it then took; 0 if there was none. */
int sim_receive(struct sim *sim, uint32_t index, uint32_t stream);

/* ---- faults ---- */

/* The child `rank` cannot be started; `text` says why (kept). */
void sim_missing(struct sim *sim, uint32_t rank, const char *text);

/* The start of `rank` hangs: nothing is heard of it until it is stopped. */
void sim_hang(struct sim *sim, uint32_t rank);

/* The node dies: nothing more comes from it, of what was on its way a part is
 * lost, and each neighbour finds out in its own time. */
void sim_crash(struct sim *sim, uint32_t index);

/* The same at a later time. */
void sim_crash_at(struct sim *sim, uint32_t index, uint64_t at_ms);

/* The link between two nodes breaks; each end finds out in its own time. */
void sim_cut(struct sim *sim, uint32_t index, uint32_t other);

/* The same by a time-out of the transport's own: neither end has closed it. */
void sim_expire(struct sim *sim, uint32_t index, uint32_t other);

/* What `from` sends to `to` gets lost from now on, silently. */
void sim_mute(struct sim *sim, uint32_t from, uint32_t to);

/* What `from` sends to `to` does not arrive before `until_ms`, and then in
 * order, as when a cable is cut and healed. */
void sim_hold(struct sim *sim, uint32_t from, uint32_t to, uint64_t until_ms);

/* The node's host is cut off until then: all its links, and new ones. */
void sim_isolate(struct sim *sim, uint32_t index, uint64_t until_ms);

/* The node's host is gone: no link says so, and nothing answers there. */
void sim_vanish(struct sim *sim, uint32_t index);

/* The link is reset at node `index`; its other end, at `other`, hears nothing,
 * neither of that nor anything else. */
void sim_half(struct sim *sim, uint32_t index, uint32_t other);

/* Put `frame` on the link from node `from` to node `to`, as if `from` had: what
 * a broken peer might send. The payload is taken. In a world without that, a
 * node that cuts another off for breaking the protocol is a failure. */
void sim_inject(struct sim *sim,
                uint32_t from,
                uint32_t to,
                struct frame *frame);

/* Node `from` sends its parent `frame` once, which no honest node does. The
 * payload is taken. A parent that reads it and does not close the link for it is
 * a failure; so is one that closes the link of an honest node. Returns false,
 * with nothing sent, if its parent has not answered it yet. */
bool sim_lie(struct sim *sim, uint32_t from, struct frame *frame);

/* Whether it was cut off for that. */
bool sim_is_caught(const struct sim *sim, uint32_t index);

/* The node stops for that long; the world's answers wait for it. */
void sim_freeze(struct sim *sim, uint32_t index, uint64_t for_ms);

/* A back-end attaches to node `parent`, without a rank. Returns its index. */
uint32_t sim_attach(struct sim *sim, uint32_t parent);

/* An observer calls node `to`, sends `question` (taken; type 0: nothing), and
 * waits. Returns its index. */
uint32_t sim_observe(struct sim *sim, uint32_t to, struct frame *question);

/* What it was answered, borrowed; NULL: nothing yet. Whether its link has
 * ended. */
const struct frame *sim_answer(const struct sim *sim, uint32_t index);
bool sim_is_over(const struct sim *sim, uint32_t index);

/* Call `fn` when that time has come. */
void sim_at(struct sim *sim,
            uint64_t at_ms,
            void (*fn)(struct sim *sim, void *arg),
            void *arg);

/* ---- traces ---- */

/* Show these from now on. */
void sim_trace_only(struct sim *sim, unsigned trace);

/* Times in the trace count from now on; what it holds is forgotten. */
void sim_trace_from_here(struct sim *sim);

/* The trace so far; borrowed until the next call. Never NULL. */
const char *sim_trace_text(struct sim *sim);

/* Add a line, as if the world had. */
void sim_note(struct sim *sim, unsigned trace, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether the trace is exactly `expected`; else both are printed, line beside
 * line, with `file` and `number`. */
bool sim_trace_is(struct sim *sim,
                  const char *expected,
                  const char *file,
                  int number);
