/* daemons.h - the tree of daemons, and which of them has which task. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coppice/coppice.h>
#include <coppice/status.h>

#include "stat/job/targets.h"

/* How to start them. */
struct daemons_options {
    const char *topology_path; /* a tree on this host; or ... */
    const char *shape;         /* ... its shape, such as "4x4". Neither: one
                                  daemon on each host that has targets */
    const char *ssh;           /* how to get to other hosts, with arguments;
                                  NULL: by srun if the targets have a job of
                                  Slurm, else "ssh" */
    bool open_ended;           /* there is no end to wait for: give up an
                                  unreachable daemon late */
};

/* A node that is silent for so long is suspected, and the others go on without
 * it; unless `open_ended`, a daemon is lost after six times as long. Short enough
 * that both happen well before `timeout_ms`. */
uint32_t daemons_silence_ms(uint32_t timeout_ms);

struct daemons; /* opaque */

/* Start a tree of daemons for `targets`, which is kept, borrowed: on this host
 * only, or by ssh or srun on every host that has some. Returns 0, or a negative errno
 * with a sentence, within `timeout_ms`, which is for all that follows too. */
int daemons_launch(struct daemons **out,
                   const struct targets *targets,
                   const struct daemons_options *options,
                   uint32_t timeout_ms,
                   struct cop_error *error);

/* End them, at most for `timeout_ms`, and free. NULL is fine. */
void daemons_free(struct daemons *daemons, int timeout_ms);

/* Their network; borrowed. */
struct cop_network *daemons_network(const struct daemons *daemons);

/* The rank of the daemon on a host; COP_RANK_NONE if there is none. */
uint32_t daemons_of_host(const struct daemons *daemons, uint32_t host);

/* Why a host has no daemon, as the launcher said it; "" if it has one.
 * Borrowed. */
const char *daemons_reason(const struct daemons *daemons, uint32_t host);

/* Note that the node `rank`, a daemon or a commnode, was lost, and why. Returns
 * 0 or -ENOMEM. */
int daemons_note_loss(struct daemons *daemons, uint32_t rank, const char *why);

/* Whether any node was lost. */
bool daemons_any_loss(const struct daemons *daemons);

/* Why the daemon `rank` was lost; NULL if it was not. Borrowed. */
const char *daemons_loss(const struct daemons *daemons, uint32_t rank);

/* The rank of the daemon that has process `index` of the targets: that of its
 * host, or, with a tree on this host, in blocks of the same size, as launched.
 * COP_RANK_NONE if there is none. */
uint32_t daemons_of_target(const struct daemons *daemons, uint32_t index);
