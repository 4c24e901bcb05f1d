/* sim.h - the simulated world: thousands of nodes in one process, one thread.
 *
 *     sim_new()  a tree, a seed, delays      sim_crash(), sim_cut() ...
 *        |                                        |
 *        v                                        v
 *     agenda: future events, in order of time and of creation
 *        |
 *        v
 *     node_step(): the machine itself    links: real frames as real bytes
 *        |
 *        v
 *     actions: bytes, filters, deliveries, news for the application
 *
 * Time is virtual, in milliseconds. All random numbers come from one seed: the
 * same seed gives the same trace, to the byte.
 *
 * Nodes are named by their index. In the tree the index is the rank. Nodes that
 * attach later, and observers, get the following numbers in order. */
#pragma once

#include <stdio.h>

#include "protocol/node.h"
#include "sim/random.h"
#include "sim/tree.h"

struct sim;

#define SIM_NONE UINT32_MAX

/* The tag of an ADOPTED frame from a candidate that has become the parent. */
#define SIM_ADOPTED 1

/* The kinds of lines in a trace; a sum of these. */
enum sim_trace {
    SIM_TRACE_LIFE = 1 << 0,    /* nodes start, end; links come up, break */
    SIM_TRACE_FRAME = 1 << 1,   /* frames as they arrive */
    SIM_TRACE_FILTER = 1 << 2,  /* filter calls and their answers */
    SIM_TRACE_DELIVER = 1 << 3, /* packets handed to an application */
    SIM_TRACE_TELL = 1 << 4,    /* news for an application */
    SIM_TRACE_ASK = 1 << 5,     /* calls of an application */
    SIM_TRACE_ALL = (1 << 6) - 1,
};

/* What is done with an action after sim_tamper_fn has seen it. */
enum sim_tampering {
    SIM_KEEP,
    SIM_DROP,
    SIM_TWICE,
};

/* Inspect, and maybe change, an action that node `index` is about to do. */
typedef enum sim_tampering (*sim_tamper_fn)(struct sim *sim,
                                            uint32_t index,
                                            struct action *action,
                                            void *arg);

/* The world's properties. All zero is a world without randomness: one
 * millisecond per hop, whole writes, nothing slow. */
struct sim_config {
    uint64_t seed;
    uint32_t delay_min_ms; /* of a link; both 0: 1 ms */
    uint32_t delay_max_ms;
    unsigned fragment_percent; /* reads of a part of the bytes there */
    uint32_t bytes_per_ms;     /* rate of a link, each way; 0: no limit */
    uint32_t start_max_ms;     /* starting a process takes 1 ms to this */
    const char *filter_path;   /* directories; NULL: $COPPICE_FILTER_PATH */
    struct cop_times times;
    uint32_t algorithm; /* of topology/adopter.h; 0: NHI-WM */
    uint32_t budget;    /* windows of a stream at a node; 0: a real node's */
    uint32_t next_rank; /* first rank for joiners; 0: after the tree's */
    bool allow_injection;
    bool allow_administration;
    bool views;
    uint32_t survive_ms;       /* nodes wait for another front-end (23) */
    uint32_t replace;          /* tries to replace a lost commnode (20) ... */
    uint32_t replace_failures; /* ... of which the first ones fail ... */
    uint32_t replace_hangs;    /* ... and the next ones never join */
    bool keep_shape;           /* nodes move back to where they were (20.3) */
    const char *const *spares; /* hosts for that, up to NULL; or NULL */
    uint32_t hosts;     /* node `rank` of the tree is on host "h", then its rank
                       modulo this, if ranks go level by level; else the
                       front-end knows no hosts of the tree. A joiner's is
                       that of its index. 0: none has a name */
    bool own_addresses; /* nodes have different addresses, as on a cluster */
    bool agents; /* agents start the nodes: the front-end is told of each end,
                    at once (12.5) */
    enum cop_missing missing; /* how a launch handles missing nodes (12.2) */
    unsigned trace;           /* a sum of enum sim_trace */
    /* Called before (true) and after (false) each step of a machine, so that a
     * test can make its allocations fail. A node that runs out of memory then
     * ends, as if it had crashed. NULL: running out of memory is a failure. */
    void (*stepping)(bool begins);
    /* Called for each action, so that a test can make a machine misbehave, and
     * check that this is noticed. May be NULL. */
    sim_tamper_fn tamper;
    void *tamper_arg;
    /* Whether a filter call crashes its node, a commnode. NULL: none does. */
    bool (*poison)(struct sim *sim,
                   uint32_t index,
                   const struct node_call *call,
                   void *arg);
    /* Whether a call fails. NULL: none does but by its filter. */
    bool (*refuse)(struct sim *sim,
                   uint32_t index,
                   const struct node_call *call,
                   void *arg);
    void *filter_arg; /* of both */
};

/* A watcher's callbacks for the traffic of all applications, as it happens. A
 * watcher may query the world, but not run it. */
struct sim_watch {
    /* The application of `index` takes this packet. */
    void (*taken)(struct sim *sim,
                  uint32_t index,
                  uint32_t stream,
                  const struct frame *frame,
                  void *arg);
    /* `index` has sent this packet on `stream`: the machine has accepted it. */
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
    /* The link of `index` to its parent, or to a candidate, is about to end: at
     * its own end, or at the other end while its own is still up. */
    void (*parted)(struct sim *sim, uint32_t index, void *arg);
    /* `index` dials `rank`, in order to be adopted. */
    void (*dialled)(struct sim *sim, uint32_t index, uint32_t rank, void *arg);
    /* `index` has written this frame, of `len` bytes, to its link to `peer`. */
    void (*wrote)(struct sim *sim,
                  uint32_t index,
                  uint32_t peer,
                  const struct frame *frame,
                  size_t len,
                  void *arg);
    /* `index` is about to close its link with that number for silence. */
    void (*accused)(struct sim *sim, uint32_t index, uint32_t link, void *arg);
    void *arg;
};

/* The behaviour of an application. All zero: it takes each packet at once,
 * calls receive again, and answers nothing. */
struct sim_app {
    bool by_hand;     /* takes a packet only when the script says so */
    bool two_threads; /* receives while a send waits */
    uint32_t take_ms; /* how long a packet keeps it busy */
    /* It has processed a packet: sim_post() its answers. May be NULL. */
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

/* Free the world. NULL is fine. */
void sim_free(struct sim *sim);

/* Run until `until_ms`, inclusive. Returns 0, or -EIO if the machine has broken
 * a rule: sim_failure() says which. */
int sim_run_until(struct sim *sim, uint64_t until_ms);

/* Run until `done` returns true, for at most `limit_ms`. Returns 0, -ETIMEDOUT,
 * or -EIO as above. */
int sim_run_while_not(struct sim *sim,
                      uint64_t limit_ms,
                      bool (*done)(struct sim *sim, void *arg),
                      void *arg);

/* The present time, in virtual milliseconds. */
uint64_t sim_now_ms(const struct sim *sim);

/* The tree at the start; borrowed. */
const struct tree *sim_tree(const struct sim *sim);

/* The rule that the machine has broken, in words, or NULL. */
const char *sim_failure(const struct sim *sim);

/* Record such a failure; only the first one is kept. */
void sim_fail(struct sim *sim, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Watch all applications; copied. */
void sim_watch(struct sim *sim, const struct sim_watch *watch);

/* ---- nodes ---- */

/* How many nodes were ever made, including those that have ended. */
uint32_t sim_count(const struct sim *sim);

/* The index of the node with `rank`; SIM_NONE if there is none. */
uint32_t sim_find(const struct sim *sim, uint32_t rank);

/* The node's rank; RANK_NONE while it has none. */
uint32_t sim_rank(const struct sim *sim, uint32_t index);
/* The node's role in the tree. */
enum node_role sim_role(const struct sim *sim, uint32_t index);

/* The name of the node's host, "" without `hosts` of sim_config. Borrowed. */
const char *sim_host(const struct sim *sim, uint32_t index);

/* Whether the node runs: it has started, and neither ended nor crashed. */
bool sim_is_alive(const struct sim *sim, uint32_t index);
/* Whether the node has ended by itself. */
bool sim_has_exited(const struct sim *sim, uint32_t index);

/* The node's machine, for queries; NULL unless the node runs. */
const struct node *sim_node(const struct sim *sim, uint32_t index);

/* The index of the node at the other end of its upward link, a parent or a
 * candidate; SIM_NONE if it has no such link. */
uint32_t sim_parent(const struct sim *sim, uint32_t index);

/* How many children the node has at launch. */
uint32_t sim_child_count(const struct sim *sim, uint32_t index);

/* How many links the node has. */
uint32_t sim_link_count(const struct sim *sim, uint32_t index);

/* Whether the node is stopped now. */
bool sim_is_frozen(const struct sim *sim, uint32_t index);

/* Packets that wait for the node's application: all, or those of one stream. */
size_t sim_waiting(const struct sim *sim, uint32_t index);
size_t sim_waiting_on(const struct sim *sim, uint32_t index, uint32_t stream);
/* Packets that the application has yet to send. */
size_t sim_unsent(const struct sim *sim, uint32_t index);

/* Change the behaviour of the node's application; copied. */
void sim_set_app(struct sim *sim, uint32_t index, const struct sim_app *app);

/* Set how long the node's filters take from now on; 0: they answer within the
 * call. */
void sim_set_filter_ms(struct sim *sim, uint32_t index, uint32_t filter_ms);

/* ---- calls of an application ----
 *
 * Each returns node_step()'s result, or -ENOTCONN if the node does not run. */

/* Front-end: open a stream; its number is stored in `stream`. TELL_OPENED
 * follows. */
int sim_open(struct sim *sim,
             const struct stream_definition *definition,
             uint32_t *stream);
/* Close the stream; from the front-end: everywhere. */
int sim_close(struct sim *sim, uint32_t index, uint32_t stream);
/* Front-end: set the parameters of the stream's filters. */
int sim_parameters(struct sim *sim, uint32_t stream, const char *format, ...);
/* Front-end: sync. The marker's number is stored in `sequence`, which may be
 * NULL. TELL_SYNCED follows. */
int sim_sync(struct sim *sim, uint32_t stream, uint64_t *sequence);
/* Front-end: ask for the stream's filter state. TELL_STATE follows. */
int sim_ask_state(struct sim *sim, uint32_t stream);
/* Back-end: declare the packets taken from the stream as processed. */
int sim_settle(struct sim *sim, uint32_t index, uint32_t stream);
/* Front-end: have commnode `rank` move below `parent`. TELL_NODE_MOVED or
 * TELL_MOVE_FAILED follows. */
int sim_move(struct sim *sim, uint32_t rank, uint32_t parent);
/* Front-end: have the commnodes of `host` end. TELL_DRAINED follows. */
int sim_drain(struct sim *sim, const char *host);
/* Front-end: sim_shutdown() will follow. */
int sim_begin_end(struct sim *sim);
/* Front-end: end the network. Back-end: leave it; its application takes no
 * more packets. */
int sim_shutdown(struct sim *sim, uint32_t index);

/* Whether the application of `index` has asked to leave. */
bool sim_is_leaving(const struct sim *sim, uint32_t index);

/* Send values, if there is credit now. */
int sim_send(struct sim *sim,
             uint32_t index,
             uint32_t stream,
             int32_t tag,
             const char *format,
             ...);

/* Front-end: send `payload`, which is taken, to these members only, if there is
 * credit now. */
int sim_send_to(struct sim *sim,
                uint32_t stream,
                const uint32_t *ranks,
                size_t count,
                struct payload *payload);

/* Send `len` bytes as an array of char, if there is credit now. */
int sim_send_bytes(struct sim *sim,
                   uint32_t index,
                   uint32_t stream,
                   size_t len);

/* Send as an application that waits for credit: in order, as soon as possible.
 * The payload is taken. */
void sim_post(struct sim *sim,
              uint32_t index,
              uint32_t stream,
              int32_t tag,
              struct payload *payload);

/* By hand: call receive on `stream`, 0 for any. Returns 1 if it took a packet;
 * 0 if there was none. */
int sim_receive(struct sim *sim, uint32_t index, uint32_t stream);

/* ---- faults ---- */

/* The child `rank` cannot be started, because of `text` (kept). */
void sim_missing(struct sim *sim, uint32_t rank, const char *text);

/* The start of `rank` hangs: it sends nothing until its start is given up. */
void sim_hang(struct sim *sim, uint32_t rank);

/* Kill the node: it sends nothing more, a part of the bytes in flight is lost,
 * and each neighbour notices after its own delay. */
void sim_crash(struct sim *sim, uint32_t index);

/* Start a front-end in the place of one that has crashed; it takes over what that
 * one had recorded (PROTOCOL 23). The application is another one, as
 * sim_set_app() sets it. Returns the result of EVENT_START. */
int sim_resume(struct sim *sim);

/* How many records there are; forget those behind the first `count`, as if they
 * had not reached the disk. */
size_t sim_records(const struct sim *sim);
void sim_forget_records(struct sim *sim, size_t count);

/* How many records are packets that an application has sent on `stream`. */
size_t sim_recorded(const struct sim *sim, uint32_t stream);

/* Kill the node at a later time. */
void sim_crash_at(struct sim *sim, uint32_t index, uint64_t at_ms);

/* Break the link between two nodes; each end notices after its own delay. */
void sim_cut(struct sim *sim, uint32_t index, uint32_t other);

/* Break the link by a time-out of the transport: neither end has closed it. */
void sim_expire(struct sim *sim, uint32_t index, uint32_t other);

/* From now on silently drop what `from` sends to `to`. */
void sim_mute(struct sim *sim, uint32_t from, uint32_t to);

/* Delay what `from` sends to `to` until `until_ms`, keeping the order, as if a
 * cable were cut and repaired. */
void sim_hold(struct sim *sim, uint32_t from, uint32_t to, uint64_t until_ms);

/* Cut the node's host off until then: all its links, and new ones. */
void sim_isolate(struct sim *sim, uint32_t index, uint64_t until_ms);

/* Remove the node's host: no link reports it, and nothing answers there. */
void sim_vanish(struct sim *sim, uint32_t index);

/* Reset the link at node `index`; its other end, at `other`, is told neither
 * this nor anything else. */
void sim_half(struct sim *sim, uint32_t index, uint32_t other);

/* Put `frame` on the link from node `from` to node `to`, as if `from` had sent
 * it: a broken peer might. The payload is taken. In a world without this, a
 * node that cuts another off for breaking the protocol is a failure. */
void sim_inject(struct sim *sim,
                uint32_t from,
                uint32_t to,
                struct frame *frame);

/* Have node `from` send its parent `frame` once, which no correct node does.
 * The payload is taken. It is a failure if the parent reads it and does not
 * close the link, or if the parent closes the link of a correct node. Returns
 * false, with nothing sent, if the parent has not answered the node yet. */
bool sim_lie(struct sim *sim, uint32_t from, struct frame *frame);

/* Whether the node was cut off for such a frame. */
bool sim_is_caught(const struct sim *sim, uint32_t index);

/* Stop the node for that long; its events wait. */
void sim_freeze(struct sim *sim, uint32_t index, uint64_t for_ms);

/* A back-end attaches to node `parent`, without a rank. Returns its index. */
uint32_t sim_attach(struct sim *sim, uint32_t parent);

/* The same of a commnode. */
uint32_t sim_join(struct sim *sim, uint32_t parent);

/* Add an observer, which calls node `to`, sends `question` (taken; type 0:
 * nothing), and waits. Returns its index. */
uint32_t sim_observe(struct sim *sim, uint32_t to, struct frame *question);

/* The observer's answer, borrowed; NULL: none yet. And whether its link has
 * ended. */
const struct frame *sim_answer(const struct sim *sim, uint32_t index);
bool sim_is_over(const struct sim *sim, uint32_t index);

/* Call `fn` at `at_ms`. */
void sim_at(struct sim *sim,
            uint64_t at_ms,
            void (*fn)(struct sim *sim, void *arg),
            void *arg);

/* ---- traces ---- */

/* Trace only these kinds from now on. */
void sim_trace_only(struct sim *sim, unsigned trace);

/* Clear the trace, and count its times from now on. */
void sim_trace_from_here(struct sim *sim);

/* The trace so far; borrowed until the next call. Never NULL. */
const char *sim_trace_text(struct sim *sim);

/* Add a line to the trace, as the world does. */
void sim_note(struct sim *sim, unsigned trace, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether the trace equals `expected`; if not, print both side by side, with
 * `file` and `number`. */
bool sim_trace_is(struct sim *sim,
                  const char *expected,
                  const char *file,
                  int number);
