/* witness.h - whether what the network says of its nodes is true. */
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

/* Compare an event with what was done to the nodes. */
void witness_event(struct tree *tree,
                   const struct event *event,
                   ledger_bad_fn bad);

/* At the end: each link that a LOSSY event has named was lost, as the events
 * say, or had an end that was harmed. `*unharmed` grows by the links that were
 * lost though neither end was harmed. */
void witness_links(const struct tree *tree,
                   uint64_t *unharmed,
                   ledger_bad_fn bad);

/* Whether every node that was killed has been reported lost, and each suspicion
 * has ended. With `bad` not NULL the others are violations. */
bool witness_deaths(const struct tree *tree, ledger_bad_fn bad);

/* Whether the tree of the status, of the events and of the connections is the
 * same, and no process is left to be waited for. With `bad` not NULL each
 * difference is a violation. */
bool witness_tree(struct tree *tree, const char *session, ledger_bad_fn bad);
