/* driver_parts.h - the parts of a driver, only for the driver's own files.
 *
 * Each struct is written by the file named above it. */
#pragma once

#include "net/children.h"
#include "net/connection.h"
#include "net/driver.h"
#include "net/filter_calls.h"
#include "net/helm.h"
#include "net/journal.h"
#include "net/refusals.h"

/* One link; its index is the machine's number for it. */
struct driver_link {
    struct connection *connection; /* NULL: the number is free */
    uint32_t rank;
    bool is_parent;
};

/* driver_links.c */
struct driver_links {
    struct connections *connections;
    struct listener *listener; /* NULL at a back-end */
    struct driver_link *list;
    uint32_t count; /* of `list` */
    struct refusals refusals;
    uint64_t flushed_ms; /* when frames were last written */
};

/* driver_call.c: the node that we call, the parent or one that may adopt us */
struct driver_call {
    struct dial *dial; /* NULL: there is a connection, or no call */
    char *address;
    uint32_t rank;
    uint32_t incarnation;
    uint64_t again_ms; /* when to dial the parent again; 0: never */
    uint64_t until_ms; /* until when to retry; 0: no retries */
    uint32_t tries;
    bool wanted;   /* to begin in the next turn */
    bool adoption; /* requested by the machine */
    bool knocks;   /* only to see whether it listens (PROTOCOL 6.8) */
    bool orphaned; /* the machine is looking for a parent */
};

/* driver_machine.c */
struct driver_machine {
    struct node *node;
    struct actions actions;
    size_t done;          /* how many of these are carried out */
    uint64_t deadline_ms; /* the node's deadline, unless stepped since */
    bool stepped;
};

/* driver.c */
struct driver {
    struct helm *helm;
    struct bootstrap *bootstrap;
    const struct driver_ops *ops;
    void *arg;
    struct driver_machine machine;
    struct driver_links links;
    struct driver_call call;
    struct filter_calls filters;
    struct children *children;
    struct journal *journal; /* of a front-end, or NULL */
    ev_io starter;           /* the socket to the starting process, until we are
                         accepted */
    uint64_t next_ms;        /* when the polling thread must look again */
    uint64_t age_ms;         /* when to age kept memory again */
    uint64_t abort_ms;       /* when to abort: a filter call hangs; 0: not */
    uint64_t call_end_ms;    /* when to give up a call that runs at the end */
    bool fresh;   /* nothing was flushed since a thread last waited */
    bool changed; /* a waiting thread's condition may be true */
    bool ended;
    bool detached; /* the tree goes on without this node */
    int error;
};

/* ---- driver.c ---- */

/* Log a line, if the shell logs. */
__attribute__((format(printf, 3, 4))) void driver_log(struct driver *driver,
                                                      const char *id,
                                                      const char *format,
                                                      ...);

/* A waiting thread's condition may be true: wake the thread after this step. */
void driver_changed(struct driver *driver);

/* The parent has accepted us. */
void driver_accepted(struct driver *driver);

/* End the node. No further callback comes, but frames queued on the links are
 * still sent. `code` is for driver_error(). */
void driver_end(struct driver *driver, int code, const char *text);

/* End the node because the machine has ended; `code` < 0: by an abort. */
void driver_exit(struct driver *driver, int code);

/* ---- driver_machine.c ---- */

/* Make the node at `address`, "" if none. Returns as node_new(). */
int driver_machine_make(struct driver *driver, const char *address);
void driver_machine_free(struct driver *driver);

/* Step the node, and carry out its actions. Frames in `event` are taken.
 * `result` may be NULL. Returns as node_step(); -ENOTCONN after the end. */
int driver_machine_step(struct driver *driver,
                        struct event *event,
                        uint64_t *result);

/* The time by which the node must be stepped. */
uint64_t driver_machine_deadline_ms(struct driver *driver);

/* Whether the last pending action is the node's end. */
bool driver_machine_is_ending(const struct driver *driver);

/* Give news to the shell. */
void driver_tell(struct driver *driver, const struct action *action);

/* ---- driver_journal.c ---- */

/* Write one record of the node, which is borrowed; nothing without a journal. */
void driver_record(struct driver *driver, const struct frame *frame);

/* The network has ended, or goes on without this node: remove the journal, or
 * leave it for the next front-end. */
void driver_journal_free(struct driver *driver);

/* ---- driver_links.c ---- */

/* Listen, if the role may have children. Returns 0, or a negative errno with a
 * sentence. */
int driver_links_listen(struct driver *driver, struct cop_error *error);

/* The address where we listen; "" if nowhere. Borrowed. */
const char *driver_links_address(const struct driver *driver);

/* The time limit of a handshake until the network is launched. */
uint32_t driver_links_patience_ms(const struct driver *driver);

/* Make the connections, after the node. Returns 0 or a negative errno. */
int driver_links_make(struct driver *driver);
void driver_links_free(struct driver *driver);

/* In a forked child: close the descriptors, and do nothing else. */
void driver_links_abandon(struct driver *driver);

/* The connection with that number, or NULL if it is closed. */
struct connection *driver_links_find(const struct driver *driver,
                                     uint32_t link);

/* Queue a frame, which is taken if the link is up. */
void driver_links_send(struct driver *driver,
                       uint32_t link,
                       struct frame *frame);

/* Close one link, or all, once everything queued there is sent. */
void driver_links_close(struct driver *driver, uint32_t link);
void driver_links_close_all(struct driver *driver);

/* Write what is queued. */
void driver_links_flush(struct driver *driver);

/* Log how many refusals got no line, once their second is over. */
void driver_links_log_refusals(struct driver *driver, uint64_t now_ms);

/* ---- driver_call.c ---- */

/* Dial the parent in the next turn. Returns 0 or -ENOMEM. */
int driver_call_parent(struct driver *driver);

/* Dial the node that an ACTION_DIAL or ACTION_KNOCK names, in the next turn.
 * The action's text is taken. */
void driver_call_ask(struct driver *driver, struct action *action);

/* Begin the call that is wanted, give up the one before. No thread polls. */
void driver_call_begin(struct driver *driver);

/* When to dial the parent again; UINT64_MAX: never. A call that is due becomes
 * wanted. */
uint64_t driver_call_deadline_ms(struct driver *driver);

/* The call failed: no connection, or it ended before it was proved. */
void driver_call_failed(struct driver *driver, int code, const char *text);

/* The machine has a parent again. */
void driver_call_adopted(struct driver *driver);
void driver_call_free(struct driver *driver);

/* ---- injection.c ---- */

/* Inject a fault (PROTOCOL 15.6): kill this process; or stop it, and continue
 * it after `freeze_ms`, then return; or reset the connection `parent`, which
 * may be NULL. `kind` is an enum cop_injection. */
void injection_suffer(int kind, uint32_t freeze_ms, struct connection *parent);
