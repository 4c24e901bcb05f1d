/* filtering.h - the filters of one simulated node: real ones, loaded through
 * filters/loader.h and run here. */
#pragma once

#include "filters/loader.h"

struct filtering; /* opaque: all streams of one node */

/* Make the filters of a node with that role, looked up in `path`, directories
 * separated by colons. */
struct filtering *filtering_new(const char *path,
                                enum node_role role,
                                uint32_t rank,
                                uint32_t depth);

/* Unload everything. NULL is fine. */
void filtering_free(struct filtering *filters);

/* Load the filters that `definition` names for this role. Returns NULL; or the
 * reason for a failure, to be freed, and `out` is all zero. */
char *filtering_load(struct filtering *filters,
                     const struct stream_definition *definition,
                     struct stream_filters *out);

/* Run one wave. Clears `out` first; on failure `out` has a text. */
void filtering_call(struct filtering *filters,
                    const struct node_call *call,
                    struct loader_output *out);

/* Unload the filters of `stream`. */
void filtering_unload(struct filtering *filters, uint32_t stream);
