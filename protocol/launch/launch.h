/* launch.h - readiness, joins, launching around nodes that do not start, and
 * ending. Private to the machine. */
#pragma once

#include "protocol/launch/roster.h"
#include "protocol/node.h"
#include "wire/messages.h"

struct peer;

/* One child that this node starts. */
struct expected {
    uint32_t rank;
    enum node_role role;
    char *host;
    bool decided; /* it is ready or missing */
    bool missing;
    bool begun;    /* the launcher began to start it at `begun_ms` */
    bool linked;   /* its link is up */
    bool stopping; /* ACTION_STOP was issued */
    uint64_t begun_ms;
};

/* An unanswered JOIN, whose payload is kept, and where its answer goes. */
struct joining {
    struct msg_join question;
    uint32_t link; /* on which it arrived */
};

/* The joins that pass through this node. */
struct joins {
    struct joining *list;
    size_t count;
    int32_t last; /* number of the last JOIN that this node has made */
};

/* What a node needs until its tree is complete. */
struct launching {
    struct expected *expected;
    size_t expected_count;
    enum cop_missing missing;
    struct node_child *below; /* COP_MISSING_SKIP: all nodes of the subtree */
    size_t below_count;
    uint32_t start_limit_ms; /* how long one start may take */
    uint32_t patience_ms;    /* silence allowed before TABLE (12.2b) */
};

/* ---- launch.c ---- */

/* Make and free node->launching. Returns 0 or -ENOMEM. */
int launch_init(struct node *node, const struct node_config *config);
void launch_fini(struct node *node);

/* Begin: ask the driver to start every child. */
void launch_start(struct node *node);

/* Declare children missing that are not ready in time. */
void launch_tick(struct node *node);

/* When launch_tick() is due; UINT64_MAX: never. */
uint64_t launch_deadline_ms(const struct node *node);

/* The address of internal node `rank`, to be freed. NULL: it is not known, or
 * there is no memory, and node->failed is set. */
char *launch_address(struct node *node, uint32_t rank);

/* The link of a possible child is up. Returns 0, or a negative errno if the
 * peer may not be a child: -EAGAIN if it may try again, else -EPROTO; or
 * -ENOMEM. */
int launch_child_up(struct node *node, struct peer *peer);

/* The start of child `rank` has failed, for the reason `text`. */
void launch_child_gone(struct node *node, uint32_t rank, const char *text);

/* Front-end: an agent reports the same of another node's child (12.5). */
void launch_agent_gone(struct node *node, uint32_t rank, const char *text);

/* The child that this node starts as `rank`; NULL: there is none. */
struct expected *launch_expected(struct node *node, uint32_t rank);

/* Add one child to start. `child` is copied. Returns 0 or -ENOMEM. */
int launch_expect(struct node *node, const struct node_child *child);

/* `rank`, a node of the subtree, was lost before READY was sent. */
void launch_lost(struct node *node, uint32_t rank, const char *text);

/* ---- missing.c: launching around nodes that do not start (12.2) ---- */

/* Whether the launch continues without missing nodes (COP_MISSING_SKIP). */
bool missing_is_skipped(const struct node *node);

/* Copy the subtree and the limits of `config`; free them. Returns 0 or -ENOMEM.
 */
int missing_init(struct node *node, const struct node_config *config);
void missing_fini(struct node *node);

/* The launcher has begun to start child `rank`; the start has failed. */
void missing_begun(struct node *node, uint32_t rank);
void missing_gone(struct node *node, uint32_t rank, const char *text);

/* The link of a child has ended before TABLE. */
void missing_unlinked(struct node *node, struct peer *peer, const char *text);

/* `ranks`, nodes of the subtree, were lost before TABLE. */
void missing_lost(struct node *node,
                  const struct ranks *ranks,
                  const char *text);

/* launch_timeout has passed: declare the children that are not ready, and all
 * nodes below these, missing. */
void missing_close(struct node *node, const char *text);

/* Stop the starts that exceed their limit; when the next one does. */
void missing_tick(struct node *node);
uint64_t missing_deadline_ms(const struct node *node);

/* ---- launch.c again ---- */

/* Handle READY and TABLE. `frame` is borrowed. Each returns 0 or an error as in
 * intake.c. */
int launch_ready(struct node *node, struct peer *peer, struct frame *frame);
int launch_table(struct node *node, struct frame *frame);

/* Send TABLE to child `only`; NULL: to all ready children. */
void launch_send_table(struct node *node, struct peer *only);

/* Once every child is ready or missing, send READY, or tell the application.
 * Without COP_MISSING_SKIP the first missing child is enough. */
void launch_report(struct node *node);

/* End this node: send END to the children, close all links, tell the shell.
 * `text` says why. */
void launch_end(struct node *node, const char *text);

/* The same, as the network has ended: an orphan that asks is told so. */
void launch_over(struct node *node, const char *text);

/* End this commnode because a filter call does not return: without END, so
 * that the children look for other parents (5.1). */
void launch_break(struct node *node, const char *text);

/* End this front-end without END, so that its tree waits for another one (23.2). */
void launch_detach(struct node *node);

/* Handle GOODBYE. `frame` is borrowed. Returns 0 or an error as in intake.c. */
int launch_goodbye(struct node *node,
                   struct peer *peer,
                   const struct frame *frame);

/* A shutdown has begun: kill those of `ranks` that this node has started. */
void launch_kill(struct node *node, const struct ranks *ranks);

/* End this node if the network is closing and no child is left, or if this
 * back-end leaves and has sent everything. */
void launch_try_end(struct node *node);

/* ---- join.c ---- */

/* Free the joins that pass through this node. */
void join_fini(struct node *node);

/* This node is linked to the node that it joins: ask for a rank. */
void join_begin(struct node *node);

/* This node has a new parent: send it the joins without an answer. */
void join_ask_again(struct node *node);

/* The link to `peer` has ended: drop the joins from it. */
void join_forget(struct node *node, const struct peer *peer);

/* Handle JOIN and JOINED. Results as launch_ready(). */
int join_asked(struct node *node, struct peer *peer, struct frame *frame);
int join_answered(struct node *node, const struct frame *frame);
