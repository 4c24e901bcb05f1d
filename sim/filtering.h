/* filtering.h - the filters of one simulated node: real ones, loaded through
 * filters/loader.h and run here. */
#ifndef SIM_FILTERING_H
#define SIM_FILTERING_H

#include "protocol/node.h"

struct filtering; /* opaque: all streams of one node */

/* What a call gave; caller's storage, all zero to begin. */
struct filtering_answer {
    struct frame *up;
    size_t up_count;
    size_t up_room;
    struct frame *down;
    size_t down_count;
    size_t down_room;
    char *text; /* NULL, or why it failed */
};

/* Make it for a node of that role that looks filters up in `path`,
 * directories separated by colons. */
struct filtering *filtering_new(const char *path,
                                enum node_role role,
                                uint32_t rank,
                                uint32_t depth);

/* Unload everything. NULL is fine. */
void filtering_free(struct filtering *filters);

/* Load what `definition` names for this role. Returns NULL, or a text to be
 * freed that says why it cannot be; `out` is then all zero. */
char *filtering_load(struct filtering *filters,
                     const struct stream_definition *definition,
                     struct stream_filters *out);

/* Run one wave. */
void filtering_call(struct filtering *filters,
                    const struct node_call *call,
                    struct filtering_answer *out);

/* Forget the filters of `stream`. */
void filtering_unload(struct filtering *filters, uint32_t stream);

/* Give back what was not taken; the storage stays. */
void filtering_answer_clear(struct filtering_answer *answer);

/* Free the storage too. */
void filtering_answer_fini(struct filtering_answer *answer);

#endif
