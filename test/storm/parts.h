/* parts.h - the ledger of a stream of questions: the n-th packet answers the
 * n-th question; and of an exact or stream of totals: the first packets of each
 * back-end have arrived, in order, each once. */
#pragma once

#include "test/storm/ledger.h"

/* Check a packet received on a stream of questions or a stream of whole waves.
 * */
void parts_packet(struct ledger *ledger, const struct cop_packet *packet);

/* A sync has returned 0, or 1 if `is_lossy`, and every waiting packet has been
 * received. */
void parts_synced(struct ledger *ledger, bool is_lossy);

/* Check the total of a stream of totals, which is exact; NULL: nothing was
 * sent. */
void parts_total(struct ledger *ledger, const struct cop_packet *total);

/* Whether every packet sent so far, by back-ends that were not killed, has
 * arrived. If `bad` is not NULL, each missing one is a violation. */
bool parts_are_all(const struct ledger *ledger, ledger_bad_fn bad);
