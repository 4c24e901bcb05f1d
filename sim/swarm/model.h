/* model.h - the expected packets of one stream, computed directly.
 *
 * The swarm records what was sent and what the front-end took; the model
 * derives the expected result from the rules. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "protocol/node.h"

/* The filters that a swarm uses; none passes everything through. */
enum model_filter {
    MODEL_NONE,
    MODEL_SUM,
    MODEL_MAX,
    MODEL_COUNT,
    MODEL_CONCAT,
    MODEL_UNION,
    MODEL_TOTAL, /* a stream of totals: ledger.h, not this model */
};
#define MODEL_FILTERS (MODEL_TOTAL + 1)

/* A value that was sent up, or one that the front-end took. */
struct model_value {
    uint64_t sequence; /* epoch, and which of its sender's packets in that */
    int32_t value;
    uint32_t rank;         /* sent: by this back-end */
    uint32_t contributors; /* taken: of its packet; 0 at all but the first */
    uint32_t sent_in;      /* sent: in this epoch of the machine */
};

struct model_values {
    struct model_value *list;
    size_t count;
    size_t room;
};

/* The most epochs that the model distinguishes. */
#define MODEL_EPOCHS 32

struct model {
    enum model_filter filter;
    uint32_t epochs;          /* lower ones were synced: everything sent in them
                                 is due */
    bool lossy[MODEL_EPOCHS]; /* the epoch's sync reported a possible loss */
    uint32_t given_up[MODEL_EPOCHS]; /* the machine's epoch when it returned: it
                                        may have ended at a later marker than its
                                        own, for joiners (PROTOCOL 16.11) */
    enum cop_sync sync;
    struct model_values sent;
    struct model_values taken;
};

/* A number that only adds length: the model ignores it. */
int32_t model_filler(uint32_t number);

/* The name of the filter in a stream's definition. */
const char *model_filter_name(enum model_filter filter);

/* Record that back-end `rank` has sent `value` in that wave, in the machine's
 * epoch `sent_in`. */
void model_send(struct model *model,
                uint32_t rank,
                uint64_t sequence,
                uint32_t sent_in,
                int32_t value);

/* Record that the front-end has taken this packet. Returns 0, or -EBADMSG if
 * the stream's filter does not make such packets. */
int model_take(struct model *model, const struct frame *frame);

/* Check a stream, no union, on which no node has died: all due values were
 * taken, epoch by epoch, and wave by wave if aligned. Returns NULL, or a text to
 * be freed. */
char *model_check_all(struct model *model);

/* Check a stream on which nodes have died: all due values of `living` were
 * taken, none that was not sent, and none twice. If `torn` is not NULL the
 * stream does not recover (PROTOCOL 9.3): `torn` has lost a node or a link
 * above, and its values may be missing in a lossy epoch (10.6). Returns NULL,
 * or a text to be freed. */
char *model_check_living(struct model *model,
                         const struct ranks *living,
                         const struct ranks *torn);

/* Free the storage. */
void model_fini(struct model *model);
