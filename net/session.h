/* session.h - the file with which back-ends and commnodes join a network.
 *
 * It contains the session's key, so it has mode 0600, and is replaced as a
 * whole. It names the directories of the filters, so reading refuses it, for
 * root too, if another user owns it, or if other users may read or write it. */
#pragma once

#include <sys/types.h>

#include "net/bootstrap.h"

/* Write the session file of a launched network, replacing an older file with
 * the same name. Returns 0, or a negative errno with a sentence. */
int session_write(const char *path,
                  const struct bootstrap *frontend,
                  const struct node *node,
                  struct cop_error *error);

/* The session file that a front-end updates. Caller's storage; all zero:
 * none. */
struct session_kept {
    char *path;
    dev_t device;
    ino_t inode;
    size_t live; /* nodes that it lists */
};

/* Keep the file just written at `path` up to date. Without memory it is not
 * updated, and back-ends that attach may call failed nodes. */
void session_keep(struct session_kept *kept,
                  const char *path,
                  const struct node *node);

/* Rewrite the file if the number of live nodes has changed. Stop updating if
 * the file was removed or replaced. */
void session_refresh(struct session_kept *kept,
                     const struct bootstrap *frontend,
                     const struct node *node);

/* Stop updating the file, which stays. */
void session_forget(struct session_kept *kept);

/* For `attempt` below: the front-end. */
#define SESSION_FRONTEND UINT32_MAX

/* Read a session file, and make the bootstrap of a back-end that attaches; for a
 * commnode the caller changes the role. Its
 * parent is one of the internal nodes, chosen by `spread` (for example the
 * process id), so that many back-ends spread over them. `attempt` counts from 0:
 * the first attempts choose the commnodes of this machine, and after
 * `node_count` attempts each possible parent was chosen once.
 *
 * Returns 0, or with a sentence: -EACCES if another user owns the file or may
 * open it, -EBADMSG if it is damaged, -ENOMEM, or the error of open(). */
int session_read(struct bootstrap **out,
                 const char *path,
                 uint32_t spread,
                 uint32_t attempt,
                 struct cop_error *error);
