/* command.h - a job that coppice-stat itself starts. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include <coppice/error.h>

#include "stat/job/targets.h"

/* This long without processor time means quiet. */
#define COMMAND_QUIET_S 5

/* Start `argv`, a NULL-terminated list, as a child that outlives this process.
 * Returns 0, or a negative errno with a sentence. */
int command_start(pid_t *pid, char *const *argv, struct cop_error *error);

/* Wait until the command has run for `after_s`, or, if that is 0, until neither
 * it nor a process below it has used processor time for COMMAND_QUIET_S.
 * Returns 0; 1 if the command has ended, with its exit status in `*status`, or
 * 128 plus the signal that ended it; or -ENOMEM. */
int command_await(pid_t pid, uint32_t after_s, int *status);

/* Add the processes of the command: those in its MPIR table, or all below it,
 * or itself. Returns as targets_add_mpir(). */
int command_targets(struct targets *targets,
                    pid_t pid,
                    void (*say)(const char *line),
                    struct cop_error *error);
