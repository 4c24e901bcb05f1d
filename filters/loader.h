/* loader.h - the filters of one stream at one node: loaded, run, asked.
 *
 *   ACTION_LOAD    loader_new()    -> EVENT_LOADED with its facts
 *   ACTION_FILTER  loader_call()   -> EVENT_FILTERED with its frames and text
 *   ACTION_UNLOAD  loader_free()
 *
 * A loader may be used from any thread, by one at a time. */
#ifndef FILTERS_LOADER_H
#define FILTERS_LOADER_H

#include <coppice/filter.h>

#include "protocol/node.h"
#include "wire/limits.h"

struct loader; /* opaque */

/* What a filter may ask about the node that it runs in. */
struct loader_node {
    enum node_role role;
    uint32_t rank;
    uint32_t depth;
};

/* What came out of a call; caller's storage, all zero to begin, reused from
 * call to call. Who takes a frame sets its payload to NULL. */
struct loader_output {
    struct frame *up; /* tag, origin and payload of each */
    size_t up_count;
    size_t up_room;
    struct frame *down;
    size_t down_count;
    size_t down_room;
    char text[LIMIT_TEXT]; /* "": no error */
};

/* Give back the frames that were not taken. Storage is kept for reuse. */
void loader_output_clear(struct loader_output *output);

/* Free the storage too. */
void loader_output_fini(struct loader_output *output);

/* Load the filters that `definition` names for nodes of `role`, by name from
 * `directories` (separated by colons). The definition is copied as far as it
 * is needed.
 *
 * Returns 0, or with a sentence in `error`: -EINVAL for a name that is none,
 * -ENOENT if there is no such filter, -ENOEXEC if it cannot be used, -ENOMEM */
int loader_new(struct loader **out,
               const struct stream_definition *definition,
               enum node_role role,
               const char *directories,
               struct cop_error *error);

/* Free the filters' states, then close the filters. NULL is fine. */
void loader_free(struct loader *loader);

/* What to answer in EVENT_LOADED. */
struct stream_filters loader_facts(const struct loader *loader);

/* Why the stream is not recoverable, in a sentence that begins with "it"; NULL
 * if it is (PROTOCOL 9.4). */
const char *loader_why_not_recoverable(const struct loader *loader);

/* Run one wave through the filter of the call's direction. State is made at
 * the first call. A direction without a filter passes its inputs on.
 *
 * call    borrowed; its inputs stay the caller's
 * node    where this is
 * output  cleared, then filled
 *
 * Returns 0, or a negative errno with the reason, which begins with the
 * filter's name, in `output->text`. A join filter that cannot take one packet
 * takes the others of the wave (PROTOCOL 5.3): then there is an error and
 * output too. */
int loader_call(struct loader *loader,
                const struct node_call *call,
                const struct loader_node *node,
                struct loader_output *output);

/* Pack the upstream filter's state, for compensation.
 *
 * Returns 1 with tag and payload in `out`, which is then the caller's; 0 if it
 * has none yet or cannot give it; a negative errno if it failed. */
int loader_state(struct loader *loader, struct frame *out);

#endif
