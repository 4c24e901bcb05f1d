/* filtering.h - the filters of all streams at one node: the callbacks of
 * `struct driver_ops` that are the same in every shell. */
#pragma once

#include "filters/loader.h"
#include "protocol/node.h"

struct filtering; /* opaque */

/* Make a table without filters. Returns 0 or -ENOMEM. */
int filtering_new(struct filtering **out);

/* Free the table and all loaded filters. NULL is fine. */
void filtering_free(struct filtering *filtering);

/* Load the filters of a stream, looked up in `directories`, for `node`. Fill in
 * `filters`; set `slow` if one of them is not built in. Returns 0 or a negative
 * errno with the reason in `text`. */
int filtering_load(struct filtering *filtering,
                   const struct stream_definition *definition,
                   const struct loader_node *node,
                   const char *directories,
                   struct stream_filters *filters,
                   bool *slow,
                   char *text,
                   size_t text_len);

/* Free the filters of `stream`, none of which is running. */
void filtering_unload(struct filtering *filtering, uint32_t stream);

/* Run `call` and fill in `answer`, whose arrays and text are valid until the
 * next call. Never two at once; filters may be loaded at the same time. */
void filtering_call(struct filtering *filtering,
                    const struct node_call *call,
                    struct event *answer);

/* Why `stream` is not recoverable at this node: a static sentence that begins
 * with "it"; NULL if nothing at this node prevents it. */
const char *filtering_why_not(struct filtering *filtering, uint32_t stream);
