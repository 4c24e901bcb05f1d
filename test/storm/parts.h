/* parts.h - the ledger of an exact or cumulative stream: of each back-end an
 * initial part of what it has sent has come, in order, each packet once. */
#pragma once

#include "test/storm/ledger.h"

/* A packet of an exact stream came. */
void parts_packet(struct ledger *ledger, const struct cop_packet *packet);

/* A sync has returned 0, and all that was there has been received. */
void parts_synced(struct ledger *ledger);

/* The total of a cumulative stream, which the front-end vouches for; NULL:
 * nothing has been sent. */
void parts_total(struct ledger *ledger, const struct cop_packet *total);

/* Whether everything has come that was sent by then, of back-ends that were not
 * killed. With `bad` not NULL what has not is a violation. */
bool parts_are_all(const struct ledger *ledger, ledger_bad_fn bad);
