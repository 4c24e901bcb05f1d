/* daemons.h - the tree of daemons, and the assignment of tasks to daemons. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coppice/coppice.h>
#include <coppice/status.h>

#include "stat/job/targets.h"

/* How to start the daemons. */
struct daemons_options {
    const char *topology_path; /* file with a tree on this host; or ... */
    const char *shape;         /* ... its shape, such as "4x4". Neither: one
                                  daemon on each host that has targets */
    const char *ssh;           /* command to reach other hosts, with arguments;
                                  NULL: srun if the targets are a Slurm job,
                                  else "ssh" */
    bool open_ended;           /* the samples have no end: wait longer before an
                                  unreachable daemon is lost */
};

/* After this silence a node is suspected, and the others continue without it.
 * Unless `open_ended`, a daemon is lost after six times as long. Both happen
 * well before `timeout_ms`. */
uint32_t daemons_silence_ms(uint32_t timeout_ms);

struct daemons; /* opaque */

/* Start a tree of daemons for `targets`, which is kept, within `timeout_ms`: on
 * this host only, or by ssh or srun on every host that has targets. Later steps
 * use `timeout_ms`, too. Returns 0, or a negative errno with a sentence. */
int daemons_launch(struct daemons **out,
                   const struct targets *targets,
                   const struct daemons_options *options,
                   uint32_t timeout_ms,
                   struct cop_error *error);

/* End the daemons within `timeout_ms`, and free. NULL is fine. */
void daemons_free(struct daemons *daemons, int timeout_ms);

/* The network of the daemons; borrowed. */
struct cop_network *daemons_network(const struct daemons *daemons);

/* The rank of the daemon on a host, of a tree on this host the first one;
 * COP_RANK_NONE if there is none. */
uint32_t daemons_of_host(const struct daemons *daemons, uint32_t host);

/* Why a host has no daemon, in the launcher's words; "" if it has one.
 * Borrowed. */
const char *daemons_reason(const struct daemons *daemons, uint32_t host);

/* Note that the node `rank`, a daemon or a commnode, was lost, and why. Returns
 * 0 or -ENOMEM. */
int daemons_note_loss(struct daemons *daemons, uint32_t rank, const char *why);

/* Whether any node was lost. */
bool daemons_any_loss(const struct daemons *daemons);

/* Why the daemon `rank` was lost; NULL if it was not. Borrowed. */
const char *daemons_loss(const struct daemons *daemons, uint32_t rank);

/* The rank of the daemon for process `index` of the targets: that of its host,
 * or, if the tree is on this host, by blocks of equal size over the daemons as
 * launched. COP_RANK_NONE if there is none. */
uint32_t daemons_of_target(const struct daemons *daemons, uint32_t index);
