/* driver_parts.h - the parts of a driver, for the files of the driver alone.
 *
 * Each struct is written by the file that it names. */
#pragma once

#include "net/children.h"
#include "net/connection.h"
#include "net/driver.h"
#include "net/filter_calls.h"
#include "net/helm.h"
#include "net/refusals.h"

/* One link, by the number under which the machine knows it. */
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
    uint64_t flushed_ms; /* when they were written last */
};

/* driver_call.c: the node that we call, the parent or one that may adopt us */
struct driver_call {
    struct dial *dial; /* NULL: there is a connection, or no call */
    char *address;
    uint32_t rank;
    uint32_t incarnation;
    uint64_t again_ms; /* when the parent is called again; 0: it is not */
    uint64_t until_ms; /* how long it is; 0: a first call fails for good */
    uint32_t tries;
    bool wanted;   /* begins in the next turn */
    bool adoption; /* the machine has asked for it */
    bool orphaned; /* the machine looks for a parent */
};

/* driver_machine.c */
struct driver_machine {
    struct node *node;
    struct actions actions;
    size_t done;          /* of these are carried out */
    uint64_t deadline_ms; /* the node's, unless it was stepped since */
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
    ev_io starter;    /* the socket to the process that started us, until we are
                      accepted */
    uint64_t next_ms; /* when the thread that polls looks again */
    uint64_t age_ms;  /* when kept memory is looked at again */
    uint64_t abort_ms;    /* a filter call hangs: when to abort; 0: not */
    uint64_t call_end_ms; /* when a call that is out at the end is given up */
    bool fresh;           /* nothing was flushed since a thread waited */
    bool changed;         /* what a thread waits for may have happened */
    bool ended;
    int error;
};

/* ---- driver.c ---- */

/* Log a line, if the shell logs. */
__attribute__((format(printf, 3, 4))) void driver_log(struct driver *driver,
                                                      const char *id,
                                                      const char *format,
                                                      ...);

/* What a thread waits for may have happened: wake it after this step. */
void driver_changed(struct driver *driver);

/* The parent has accepted us. */
void driver_accepted(struct driver *driver);

/* End the node: nothing more comes, but what is queued on the links still
 * leaves. `code` is for driver_error(). */
void driver_end(struct driver *driver, int code, const char *text);

/* End it because the machine has ended; `code` < 0: by an abort. */
void driver_exit(struct driver *driver, int code);

/* ---- driver_machine.c ---- */

/* Make the node at `address`, "" if none. Returns as node_new(). */
int driver_machine_make(struct driver *driver, const char *address);
void driver_machine_free(struct driver *driver);

/* Step the node, and do what it asks for. Frames in `event` are taken. `result`
 * may be NULL. Returns what node_step() returns; -ENOTCONN after the end. */
int driver_machine_step(struct driver *driver,
                        struct event *event,
                        uint64_t *result);

/* When the node is to be stepped at the latest. */
uint64_t driver_machine_deadline_ms(struct driver *driver);

/* Whether the node has ended, which is the last that it says. */
bool driver_machine_is_ending(const struct driver *driver);

/* ---- driver_links.c ---- */

/* Listen, where the role may have children. Returns 0, or a negative errno with
 * a sentence. */
int driver_links_listen(struct driver *driver, struct cop_error *error);

/* Where we listen; "" if nowhere. Borrowed. */
const char *driver_links_address(const struct driver *driver);

/* How long a handshake may take until the network is launched. */
uint32_t driver_links_patience_ms(const struct driver *driver);

/* Make the connections; the node is made. Returns 0 or a negative errno. */
int driver_links_make(struct driver *driver);
void driver_links_free(struct driver *driver);

/* In a forked child: close the descriptors and nothing else. */
void driver_links_abandon(struct driver *driver);

/* The connection of that number, or NULL: it is closed. */
struct connection *driver_links_find(const struct driver *driver,
                                     uint32_t link);

/* Queue a frame, which is taken if the link is up. */
void driver_links_send(struct driver *driver,
                       uint32_t link,
                       struct frame *frame);

/* Close one or all, after what is queued there has left. */
void driver_links_close(struct driver *driver, uint32_t link);
void driver_links_close_all(struct driver *driver);

/* Write what is queued. */
void driver_links_flush(struct driver *driver);

/* Log how many refused connections got no line, once their second is over. */
void driver_links_log_refusals(struct driver *driver, uint64_t now_ms);

/* ---- driver_call.c ---- */

/* Call the parent in the next turn. Returns 0 or -ENOMEM. */
int driver_call_parent(struct driver *driver);

/* Call the node that an ACTION_DIAL or ACTION_KNOCK names, in the next turn. Its
 * text is taken. */
void driver_call_ask(struct driver *driver, struct action *action);

/* Begin the call that is wanted, give up the one before. No thread polls. */
void driver_call_begin(struct driver *driver);

/* When the parent is called again; UINT64_MAX if it is not. A call that is due
 * becomes wanted. */
uint64_t driver_call_deadline_ms(struct driver *driver);

/* No connection, or one that ended before it was proved. */
void driver_call_failed(struct driver *driver, int code, const char *text);

/* The machine has a parent again. */
void driver_call_adopted(struct driver *driver);
void driver_call_free(struct driver *driver);

/* ---- injection.c ---- */

/* Break this process on purpose (PROTOCOL 15.6): kill it; or have it stopped,
 * and continued after `freeze_ms`; or reset the connection `parent`, which may
 * be NULL. `kind` is an enum cop_injection. A stop returns when it is over. */
void injection_suffer(int kind, uint32_t freeze_ms, struct connection *parent);
