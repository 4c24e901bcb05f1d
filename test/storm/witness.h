/* witness.h - whether the network's reports about its nodes are true. */
#pragma once

#include "test/storm/ledger.h"
#include "test/storm/tree.h"

struct event {
    int type;
    uint32_t rank;
    uint32_t parent;
    uint32_t lost_parent;
    uint32_t stream;
    const char *text;
};

/* Compare an event with the harm done to the nodes. */
void witness_event(struct tree *tree,
                   const struct event *event,
                   ledger_bad_fn bad);

/* At the end: check that each link in a LOSSY event was lost, by the events, or
 * had a harmed end. Adds to `*unharmed` the links that were lost although
 * neither end was harmed. */
void witness_links(const struct tree *tree,
                   uint64_t *unharmed,
                   ledger_bad_fn bad);

/* Check the result of the shutdown, and the text of its event: -ETIMEDOUT only
 * if killed nodes are not known to have ended, as their starters are dead. */
void witness_end(const struct tree *tree, const char *text, ledger_bad_fn bad);

/* Whether every killed node has been reported lost, and each suspicion has
 * ended. If `bad` is not NULL, each exception is a violation. */
bool witness_deaths(const struct tree *tree, ledger_bad_fn bad);

/* Whether status, events and connections show the same tree, and no process is
 * a zombie. If `bad` is not NULL, each difference is a violation. */
bool witness_tree(struct tree *tree, const char *session, ledger_bad_fn bad);
