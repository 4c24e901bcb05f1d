/* loader.h - the filters of one stream at one node.
 *
 *   ACTION_LOAD    loader_new()    -> EVENT_LOADED with its facts
 *   ACTION_FILTER  loader_call()   -> EVENT_FILTERED with its frames and text
 *   ACTION_UNLOAD  loader_free()
 *
 * A loader may be used from any thread, by one at a time. */
#pragma once

#include <coppice/filter.h>

#include "filters/output.h"
#include "protocol/node.h"

struct loader; /* opaque */

/* The node that a filter runs in. */
struct loader_node {
    enum node_role role;
    uint32_t rank;
    uint32_t depth;
};

/* The name of a filter that passes everything through: no file has it. */
#define LOADER_NONE "none"

/* The name of the upstream filter for nodes of `role`; "": none. */
const char *loader_up_name(const struct stream_definition *definition,
                           enum node_role role);

/* Load the filters that `definition` names for nodes of `role`, by name from
 * `directories` (separated by colons). `definition` is borrowed.
 *
 * Returns 0, or with a sentence in `error`: -EINVAL if a name is invalid,
 * -ENOENT if there is no such filter, -ENOEXEC if it cannot be used,
 * -EOPNOTSUPP if its laws do not allow the stream's kind or its compensation,
 * or -ENOMEM. */
int loader_new(struct loader **out,
               const struct stream_definition *definition,
               enum node_role role,
               const char *directories,
               struct cop_error *error);

/* Free the filters' states, then close the filters. NULL is fine. */
void loader_free(struct loader *loader);

/* The facts about the filters, for EVENT_LOADED. */
struct stream_filters loader_facts(const struct loader *loader);

/* Why the stream is not recoverable, in a sentence that begins with "it"; NULL
 * if it is (PROTOCOL 9.4). */
const char *loader_why_not_recoverable(const struct loader *loader);

/* Run one wave through the filter of the call's direction. Without a filter the
 * inputs are the output. A call with `init` runs that function of both filters:
 * the first makes their states. If the parameters are others than before, `init`
 * is run with them first, in any call; if it fails, the old ones stay, and the
 * reason is in `output->text` (PROTOCOL 3.2).
 *
 * call    borrowed; its inputs stay the caller's
 * node    this node
 * output  cleared, then filled
 *
 * Returns 0, or a negative errno with the reason, which begins with the
 * filter's name, in `output->text`. If a join filter fails on one packet, it
 * still joins the others of the wave (PROTOCOL 5.3): then there is an error and
 * output. */
int loader_call(struct loader *loader,
                const struct node_call *call,
                const struct loader_node *node,
                struct loader_output *output);

/* Pack the upstream filter's state, for compensation.
 *
 * Returns 1 with tag and payload in `out`, which is then the caller's; 0 if the
 * filter has no state yet or no `get_state`; or a negative errno. */
int loader_state(struct loader *loader, struct frame *out);
