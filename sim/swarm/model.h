/* model.h - what should arrive on one stream, computed directly.
 *
 * The swarm writes down what was sent and what the front-end took; the model
 * knows from the rules what must have come of it. */
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
    MODEL_TOTAL, /* a cumulative stream: ledger.h, not this model */
};
#define MODEL_FILTERS (MODEL_TOTAL + 1)

/* A value that was sent up, or one that the front-end took. */
struct model_value {
    uint64_t sequence; /* epoch, and which of its sender's packets in that */
    int32_t value;
    uint32_t rank;         /* sent: by this back-end */
    uint32_t contributors; /* taken: of its packet; 0 at all but the first */
};

struct model_values {
    struct model_value *list;
    size_t count;
    size_t room;
};

/* Epochs of a stream that the model keeps apart. */
#define MODEL_EPOCHS 16

struct model {
    enum model_filter filter;
    uint32_t epochs;          /* those below have been synced: all that was sent
                                 in them is due */
    bool lossy[MODEL_EPOCHS]; /* its sync said that it may lack something */
    enum cop_sync sync;
    struct model_values sent;
    struct model_values taken;
};

/* A number that is there for its weight only: the model takes no notice. */
int32_t model_filler(uint32_t number);

/* The name of the filter as a stream's definition has it. */
const char *model_filter_name(enum model_filter filter);

/* Back-end `rank` has sent `value` in that wave. */
void model_send(struct model *model,
                uint32_t rank,
                uint64_t sequence,
                int32_t value);

/* The front-end has taken this packet. Returns 0, or -EBADMSG if it does not
 * hold what the stream's filter makes. */
int model_take(struct model *model, const struct frame *frame);

/* No node has died: what is due is in what was taken, epoch by epoch, and wave
 * by wave where the stream aligns them. Returns NULL, or a text to be freed. */
char *model_check_all(struct model *model);

/* Some have died. What is due of `living` is in what was taken, and nothing
 * that was not sent, nor anything twice. If `torn` is not NULL the stream does
 * not recover (PROTOCOL 9.3): of those, which have lost a node or a link above
 * them, something may lack in an epoch that is lossy (10.6). Returns NULL, or
 * a text to be freed. */
char *model_check_living(struct model *model,
                         const struct ranks *living,
                         const struct ranks *torn);

/* Free the storage. */
void model_fini(struct model *model);
