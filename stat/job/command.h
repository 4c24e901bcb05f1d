/* command.h - a job that coppice-stat itself has started. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <coppice/error.h>

#include "stat/job/targets.h"

/* So long without processor time is quiet. */
#define COMMAND_QUIET_S 5

/* Start `argv`, ended by NULL, as a child that outlives this process.
 * Returns 0, or a negative errno with a sentence. */
int command_start(pid_t *pid, char *const *argv, struct cop_error *error);

/* Wait until it has run for `after_s`, or, if that is 0, until neither it nor
 * what runs under it has used processor time for COMMAND_QUIET_S.
 * Returns 0, or 1 if it has ended: `*status` is then its exit status, or 128
 * and the signal that ended it; or -ENOMEM. */
int command_await(pid_t pid, uint32_t after_s, int *status);

/* Add its processes: those in its MPIR table, or all under it, or itself.
 * Returns as targets_add_mpir(). */
int command_targets(struct targets *targets,
                    pid_t pid,
                    void (*say)(const char *line),
                    struct cop_error *error);
