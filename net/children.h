/* children.h - the children that a node starts, and how they end.
 *
 * Each is started by a launcher (net/launcher.h), all at once, and is given its
 * bootstrap on a descriptor (PROTOCOL 12.1).
 *
 * Everything here is called under the driver's lock, while no thread polls. */
#pragma once

#include <signal.h>

#include "net/agents.h"
#include "net/libev.h"

struct children; /* opaque: the children of one node */

/* Child `rank` could not be started, or has ended: `text` names the program and
 * how. `is_other`: it is another node's child, which an agent started. Called
 * from within the loop, or from one of the functions below. */
typedef void children_gone_fn(void *arg,
                              uint32_t rank,
                              const char *text,
                              bool is_other);

/* The start of child `rank` has begun. Called by children_work(). */
typedef void children_begun_fn(void *arg, uint32_t rank);

/* Make a set without children.
 *
 * loop       kept
 * bootstrap  of this node; kept
 * address    where the children reach this node; kept
 * mask       signals that children begin with blocked; copied
 *
 * Returns 0 or -ENOMEM. */
int children_new(struct children **out,
                 struct ev_loop *loop,
                 const struct bootstrap *bootstrap,
                 const char *address,
                 const sigset_t *mask,
                 children_begun_fn *begun,
                 children_gone_fn *gone,
                 void *arg);

/* Kill the running processes, wait for them, and free. NULL is fine. */
void children_free(struct children *children);

/* In a forked child: close the descriptors, and do nothing else. */
void children_abandon(struct children *children);

/* Queue the start of `rank` for children_work(). `rank` is a child, or a node
 * below a child that cannot be started; the node then becomes our child.
 * Returns 0 or -ENOMEM. */
int children_start(struct children *children, uint32_t rank);

/* Start a commnode, which joins, in the place of `rank`, which is lost: on `host`,
 * or, if that is NULL, on the host of `rank`. What was started there before is
 * killed. Its end is reported as that of `rank`. Returns 0 or -ENOMEM. */
int children_replace(struct children *children,
                     uint32_t rank,
                     const char *host);

/* Give up child `rank` because of `text`: kill it, report its end at once. */
void children_stop(struct children *children, uint32_t rank, const char *text);

/* Kill the process of `rank`, if it is a child. */
void children_end(struct children *children, uint32_t rank);

/* Start some of the queued children. Returns whether more are queued. */
bool children_work(struct children *children);

/* A link of `rank` is up, or has ended. `rank` need not be a child that we have
 * started; an old link may end after a new one came up. The end of a child is
 * reported when it has no link up, after everything it has sent. */
void children_linked(struct children *children, uint32_t rank);
void children_unlinked(struct children *children, uint32_t rank);

/* Disown the children that had a link to us and have none: they may have
 * another parent now. Disowned children are neither counted nor killed. */
void children_disown(struct children *children);

/* Which agents of this network have answered. */
enum agents_presence children_agents(const struct children *children);

/* The output of the command that starts all nodes, as one line; "" if there is
 * no output or no such command, or if a node was met. Borrowed. */
const char *children_words(const struct children *children);

/* Make `bootstrap.absent` for another launch, without the silent hosts. Free
 * it. NULL: out of memory. */
char *children_absent(const struct children *children);

/* How many processes are running. */
size_t children_alive(const struct children *children);

/* This node ends: close the bootstraps of the children that are not accepted
 * yet, which makes these children end. */
void children_dismiss(struct children *children);

/* Kill the running processes. The command that starts all nodes gets SIGTERM
 * first, because it may have to end processes elsewhere. Returns how many. */
size_t children_kill(struct children *children);

/* Kill the stopped processes (SIGSTOP): they do not end by themselves. */
void children_kill_stopped(struct children *children);
