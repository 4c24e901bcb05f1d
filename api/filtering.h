/* filtering.h - the filters of all streams at one node, as its driver asks for
 * them: the parts of `struct driver_ops` that every shell has alike. */
#pragma once

#include "filters/loader.h"
#include "protocol/node.h"

struct filtering; /* opaque */

/* Make one that has no filters yet. Returns 0 or -ENOMEM. */
int filtering_new(struct filtering **out);

/* Free it and all filters that are loaded. NULL is fine. */
void filtering_free(struct filtering *filtering);

/* Load the filters of a stream, looked up in `directories`, for `node`. Fill
 * in `filters`; `slow` is set if one of them is none of Coppice's own.
 * Returns 0 or a negative errno with the reason in `text`. */
int filtering_load(struct filtering *filtering,
                   const struct stream_definition *definition,
                   const struct loader_node *node,
                   const char *directories,
                   struct stream_filters *filters,
                   bool *slow,
                   char *text,
                   size_t text_len);

/* Free those of `stream`; no call of it is out. */
void filtering_unload(struct filtering *filtering, uint32_t stream);

/* Run `call` and fill in `answer`, whose arrays and text are valid until the
 * next call. Never two at once; may be called while others load. */
void filtering_call(struct filtering *filtering,
                    const struct node_call *call,
                    struct event *answer);

/* Why `stream` is not recoverable at this node: a static sentence that begins
 * with "it"; NULL if it is, as far as this node goes. */
const char *filtering_why_not(struct filtering *filtering, uint32_t stream);
