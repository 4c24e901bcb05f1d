/* targets.h - which processes are looked at. */
#ifndef STAT_TARGETS_H
#define STAT_TARGETS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <coppice/error.h>

/* Processes of this host in the order in which they become tasks, each once.
 * A zeroed one is empty. */
struct targets {
    int32_t *pids;
    uint32_t count;
};

/* Free what `targets` holds. */
void targets_fini(struct targets *targets);

/* Add `pid`, unless it is there already. Returns 0 or -ENOMEM. */
int targets_add(struct targets *targets, pid_t pid);

/* Add the number in `text`. Returns 0, -ENOMEM, or -EINVAL with a sentence if
 * it is no pid. */
int targets_add_text(struct targets *targets,
                     const char *text,
                     struct cop_error *error);

/* Add, by pid, all processes whose program's file or whose name is `name`, but
 * not this one. Returns 0, -ENOENT with a sentence if there is none, or
 * another negative errno. */
int targets_add_name(struct targets *targets,
                     const char *name,
                     struct cop_error *error);

/* Add, by pid, what runs under the launcher `pid`: each process below it, at
 * whatever depth, that has no children of its own. (So shells and launchers
 * between are left out; and a task that has started a child is represented by
 * that child.) This process and what is under it are left out. Returns 0,
 * -ENOENT with a sentence if there is none, or another negative errno. */
int targets_add_children(struct targets *targets,
                         pid_t pid,
                         struct cop_error *error);

#endif
