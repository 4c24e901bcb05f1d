/* launch.h - the children that a node starts, and what becomes of them.
 *
 *   local  vfork and exec; the bootstrap on a socketpair
 *   ssh    `ssh HOST coppice-commnode --start -- PROGRAM ARGS`; the bootstrap
 *          on ssh's standard input, `accepted` and `exited STATUS` on its
 *          standard output, its last words on its standard error
 *
 * (PROTOCOL 12.1.) All of them run at once. Under "local" every node runs on
 * this machine, whatever the host names say; under "ssh" only those of
 * localhost (127.0.0.1, ::1), or of this machine's own name, are started
 * without ssh. Each leads a session of its own, but for ssh.
 *
 * Everything here is called under the driver's lock, while nobody polls. */
#ifndef NET_LAUNCH_H
#define NET_LAUNCH_H

#include <signal.h>

#include "net/bootstrap.h"
#include "net/libev.h"

struct launch; /* opaque: all children of one node */

/* Child `rank` could not be started, or has ended: `text` names host, program
 * and how. Called from within the loop, or from launch_unlinked(). */
typedef void launch_gone_fn(void *arg, uint32_t rank, const char *text);

/* The start of child `rank` is on its way. Called as above. */
typedef void launch_begun_fn(void *arg, uint32_t rank);

/* Make it.
 *
 * loop       kept
 * bootstrap  our own; kept
 * address    where the children reach us; kept
 * mask       signals that children begin with blocked; copied */
int launch_new(struct launch **out,
               struct ev_loop *loop,
               const struct bootstrap *bootstrap,
               const char *address,
               const sigset_t *mask,
               launch_begun_fn *begun,
               launch_gone_fn *gone,
               void *arg);

/* Kill what still lives, wait for it, and free. NULL is fine. */
void launch_free(struct launch *launch);

/* Close our descriptors and nothing else: for a child that was forked. */
void launch_abandon(struct launch *launch);

/* Start `rank` with the next launch_work(): a child, or one below a child that
 * cannot be started, which is then a child of ours. Returns 0 or -ENOMEM. */
int launch_child(struct launch *launch, uint32_t rank);

/* Child `rank` is not waited for any more, for the reason `text`: kill it, and
 * tell its end at once. */
void launch_stop(struct launch *launch, uint32_t rank, const char *text);

/* Start some of those that wait to be. Returns whether more do. */
bool launch_work(struct launch *launch);

/* A link of `rank`, a child that we have started or not, is up, or has ended;
 * an old one may end after a new one came up. The end of a child whose link
 * is up is told only when that has ended too: what it had sent comes first. */
void launch_linked(struct launch *launch, uint32_t rank);
void launch_unlinked(struct launch *launch, uint32_t rank);

/* Whoever has children that had a link to us, and have none, lets them go:
 * they may have another parent now. They are neither counted nor killed. */
void launch_disown(struct launch *launch);

/* How many processes still live. */
size_t launch_alive(const struct launch *launch);

/* This node ends: let those that are not accepted yet know that nobody waits
 * for them, by closing what they got their bootstrap from. */
void launch_dismiss(struct launch *launch);

/* Kill those that live. Returns how many. */
size_t launch_kill(struct launch *launch);

/* Kill those that are stopped, as by SIGSTOP: they do not end by themselves. */
void launch_kill_stopped(struct launch *launch);

#endif
