/* launch.h - readiness, joining, launching around what does not start, ending;
 * for the machine's own files. */
#ifndef PROTOCOL_LAUNCH_LAUNCH_H
#define PROTOCOL_LAUNCH_LAUNCH_H

#include "protocol/launch/roster.h"
#include "protocol/node.h"
#include "wire/messages.h"

struct peer;

/* One child that is to start. */
struct expected {
    uint32_t rank;
    enum node_role role;
    char *host;
    bool decided; /* ready or missing */
    bool missing;
    bool begun;    /* its start is on its way, since `begun_ms` */
    bool linked;   /* it has called us */
    bool stopping; /* ACTION_STOP was asked for */
    uint64_t begun_ms;
};

/* A join on its way: where the answer goes. */
struct joining {
    struct msg_join question;
    uint32_t link; /* ours, over which it came */
};

/* What a node knows of its own launch, and of joins that pass through it. */
struct launching {
    uint64_t begin_ms;
    struct expected *expected;
    size_t expected_count;
    enum cop_missing missing;
    struct node_child *below; /* COP_MISSING_SKIP: all that may be left to us */
    size_t below_count;
    uint32_t start_limit_ms; /* and how long each start may take */
    uint32_t patience_ms;    /* silence of a link before the table (12.2b) */
    struct roster roster;    /* what is ready below us; then the whole table */
    struct joining *joining;
    size_t joining_count;
};

/* ---- launch.c ---- */

/* Begin: ask for every child to be spawned. */
void launch_start(struct node *node);

/* Declare missing what is not ready by now. */
void launch_tick(struct node *node);

/* When launch_tick() has something to do; UINT64_MAX: never. */
uint64_t launch_deadline_ms(const struct node *node);

/* A child's link is up. 0, or a negative errno: it may not be ours. */
int launch_child_up(struct node *node, struct peer *peer);

/* A child will not come any more, for the reason `text`. */
void launch_child_gone(struct node *node, uint32_t rank, const char *text);

/* The child that we are to start as `rank`, or NULL. */
struct expected *launch_expected(struct node *node, uint32_t rank);

/* One more child is to start: `child` is copied. Returns 0 or -ENOMEM. */
int launch_expect(struct node *node, const struct node_child *child);

/* `rank`, somewhere below, is lost before all were ready. */
void launch_lost(struct node *node, uint32_t rank, const char *text);

/* ---- missing.c: launching around what does not start (12.2) ---- */

/* Whether it is to be so. */
bool missing_is_skipped(const struct node *node);

/* Copy what `config` says of it. Returns 0 or -ENOMEM. */
int missing_init(struct node *node, const struct node_config *config);
void missing_fini(struct node *node);

/* A child's start is on its way; it has come to nothing, for that reason. */
void missing_begun(struct node *node, uint32_t rank);
void missing_gone(struct node *node, uint32_t rank, const char *text);

/* The link of a child is gone, before the table has come. */
void missing_unlinked(struct node *node, struct peer *peer, const char *text);

/* `ranks`, somewhere below, are lost before the table has come. */
void missing_lost(struct node *node,
                  const struct ranks *ranks,
                  const char *text);

/* Nothing more is waited for: what is not ready is missing, with all below. */
void missing_close(struct node *node, const char *text);

/* Stop the starts that take too long; and when one does. */
void missing_tick(struct node *node);
uint64_t missing_deadline_ms(const struct node *node);

/* ---- launch.c again ---- */

/* READY, TABLE, JOIN and JOINED came. `frame` is borrowed. */
int launch_ready(struct node *node, struct peer *peer, struct frame *frame);
int launch_table(struct node *node, struct frame *frame);
int launch_join(struct node *node, struct peer *peer, struct frame *frame);
int launch_joined(struct node *node, const struct frame *frame);

/* Send READY, or tell the application, if all is known or something is
 * missing, and it was not done before. */
void launch_report(struct node *node);

/* A new parent: the joins that were on their way are asked for again. */
void launch_ask_again(struct node *node);

/* The answers to joins that came over this link go nowhere now. */
void launch_forget(struct node *node, const struct peer *peer);

/* End this node: END goes down, all links close, the shell is told. */
void launch_end(struct node *node, const char *text);

/* A filter call of this commnode does not return: end without a word to the
 * children, which find other parents (5.1). */
void launch_break(struct node *node, const char *text);

/* End it if that is due: closing without children, or leaving and drained. */
void launch_try_end(struct node *node);

#endif
