/* session.h - the file with which a back-end attaches to a network.
 *
 * It holds the session's key, so it is made with mode 0600, never seen half
 * written. It names the directories of the filters, so it is refused, by root
 * too, if another user owns it, and if other users may read or write it. */
#pragma once

#include <sys/types.h>

#include "net/bootstrap.h"

/* Write the file for a launched network. An older one of the same name is
 * replaced. Returns 0, or a negative errno with a sentence. */
int session_write(const char *path,
                  const struct bootstrap *frontend,
                  const struct node *node,
                  struct cop_error *error);

/* The file that a front-end keeps up to date. Caller's storage; all zero: none.
 */
struct session_kept {
    char *path;
    dev_t device;
    ino_t inode;
    size_t live; /* nodes that it lists */
};

/* Keep the file that was just written at `path`. Without memory it is not kept,
 * and a joiner calls nodes that have failed, too. */
void session_keep(struct session_kept *kept,
                  const char *path,
                  const struct node *node);

/* Write it again if other nodes live now. A file that was removed, or that is
 * another one by now, is left alone from then on. */
void session_refresh(struct session_kept *kept,
                     const struct bootstrap *frontend,
                     const struct node *node);

/* Keep none; the file stays. */
void session_forget(struct session_kept *kept);

/* Read such a file: what an attaching back-end is to know at its birth. Its
 * parent is one of the lowest internal nodes, chosen by `spread` (the process
 * number, say), so that many back-ends divide themselves; with `spread` + 1 it
 * is the next of the `node_count` that may be called.
 *
 * Returns 0, or with a sentence: -EACCES if another user owns it or may open
 * it, -EBADMSG if it is damaged, -ENOMEM, or what opening it gave. */
int session_read(struct bootstrap **out,
                 const char *path,
                 uint32_t spread,
                 struct cop_error *error);
