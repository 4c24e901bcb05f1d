/* naming.h - names the addresses of the whole merged tree at once.
 *
 *     tree of addresses --> question --> one daemon for each module
 *                                             |
 *     tree of names <------ resolve <------ answers
 */
#pragma once

#include "stat/request.h"
#include "stat/tree/tree.h"
#include "stat/walk/names.h"

/* What counts as one place in the tree that users see. */
enum naming_detail {
    NAMING_FUNCTIONS, /* a function; with its line if all are at one line; each
                         line of it if threads of one task are at several */
    NAMING_LINES,     /* a line of a function */
    NAMING_ADDRESSES, /* an address, shown as [module+0xoffset] */
};

struct naming; /* opaque */

/* Find the addresses in `tree` without a name. `tree` is kept, borrowed. The
 * daemons of the tasks in `silent`, NULL for none, are not asked: addresses
 * that only these have seen stay without a name. Returns 0 or -ENOMEM. */
int naming_new(struct naming **out,
               const struct tree *tree,
               struct tasks *silent);

/* Free `naming`. NULL is fine. */
void naming_free(struct naming *naming);

/* Copy the answers of `before`, made for an earlier tree, including addresses
 * that no daemon is left to name. Takes time linear in both. Returns 0 or
 * -ENOMEM. */
int naming_inherit(struct naming *naming, const struct naming *before);

/* How many addresses have no answer yet. */
uint32_t naming_missing(const struct naming *naming);

/* Make a question for all of them. `daemon_of` returns the daemon of a task.
 * Returns 0, -EMSGSIZE or -ENOMEM. */
int naming_ask(struct cop_packet **out,
               const struct naming *naming,
               uint32_t (*daemon_of)(uint32_t task, void *arg),
               void *arg);

/* Take an answer from any daemon. Returns 0, -EINVAL or -EBADMSG if it is none,
 * or -ENOMEM. */
int naming_take(struct naming *naming, const struct cop_packet *packet);

/* Take all names that `names` has, without asking a daemon, including addresses
 * that no daemon is left to name. Returns 0 or -ENOMEM. */
int naming_fill(struct naming *naming, struct names *names);

/* Make the tree with names. An address without an answer becomes
 * "module+0xoffset". The frames of the C library's start-up, below main() or a
 * thread's function, are left out.
 *
 * full  keep each level of a recursion; else merge them
 *
 * Returns 0 or -ENOMEM. */
int naming_resolve(struct tree **out,
                   const struct naming *naming,
                   enum naming_detail detail,
                   bool full);

/* Most sentences that are kept on why modules have no names, or no lines. */
#define NAMING_REASONS_MAX 16

/* Sentence `number`, of those that daemons have sent, in the order in which they
 * came, also to what was inherited; NULL: there are fewer. Borrowed. */
const char *naming_reason(const struct naming *naming, uint32_t number);

/* The tree of addresses; borrowed. */
const struct tree *naming_tree(const struct naming *naming);

/* The names of frame `frame` of that tree: `*count` frames, outermost first; 0
 * if not known. Borrowed. */
const struct frame *naming_names(const struct naming *naming,
                                 uint32_t frame,
                                 uint32_t *count);
