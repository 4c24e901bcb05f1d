/* naming.h - from addresses to names, once for the whole merged tree.
 *
 *     tree of addresses --> question --> one daemon for each module
 *                                             |
 *     tree of names <------ resolve <------ answers
 */
#pragma once

#include "stat/request.h"
#include "stat/tree/tree.h"
#include "stat/walk/names.h"

/* What is one place in the tree that people see. */
enum naming_detail {
    NAMING_FUNCTIONS, /* a function; its line where all are at one. Each line of
                         it where threads of a task stand at several */
    NAMING_LINES,     /* a line of a function */
    NAMING_ADDRESSES, /* an address, shown as [module+0xoffset] */
};

struct naming; /* opaque */

/* Find what in `tree` has no name yet. `tree` is kept, borrowed. The daemons of
 * the tasks of `silent`, NULL for none, are not asked: what only these have
 * seen stays without a name. Returns 0 or -ENOMEM. */
int naming_new(struct naming **out,
               const struct tree *tree,
               struct tasks *silent);

/* Free `naming`. NULL is fine. */
void naming_free(struct naming *naming);

/* Take over the answers that `before`, of an earlier tree, has, also where
 * nobody is to be asked any more. Linear in both.
 * Returns 0 or -ENOMEM. */
int naming_inherit(struct naming *naming, const struct naming *before);

/* How many addresses have no answer yet. */
uint32_t naming_missing(const struct naming *naming);

/* Ask for all of them. `daemon_of` says which daemon has a task.
 * Returns 0, -EMSGSIZE or -ENOMEM. */
int naming_ask(struct cop_packet **out,
               const struct naming *naming,
               uint32_t (*daemon_of)(uint32_t task, void *arg),
               void *arg);

/* Take an answer, from anybody. Returns 0, -EINVAL or -EBADMSG if it is none,
 * or -ENOMEM. */
int naming_take(struct naming *naming, const struct cop_packet *packet);

/* Take the names that `names` knows, without asking anybody: of all addresses,
 * also of those that nobody is left to be asked for.
 * Returns 0 or -ENOMEM. */
int naming_fill(struct naming *naming, struct names *names);

/* Make the tree with names. What has no answer is "module+0xoffset"; the frames
 * of the C library's start-up, below main() or below a thread's function, are
 * left out.
 *
 * full  each turn of a recursion is there; else they are one
 *
 * Returns 0 or -ENOMEM. */
int naming_resolve(struct tree **out,
                   const struct naming *naming,
                   enum naming_detail detail,
                   bool full);

/* The tree of addresses; borrowed. */
const struct tree *naming_tree(const struct naming *naming);

/* What frame `frame` of it is called: `*count` frames, outermost first; 0 if
 * that is not known. Borrowed. */
const struct frame *naming_names(const struct naming *naming,
                                 uint32_t frame,
                                 uint32_t *count);
