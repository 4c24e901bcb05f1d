/* ask.h - ask the network of a session file one question. */
#pragma once

#include <coppice/status.h>

#include "protocol/watch/rows.h"

/* Send `question` to the front-end, and take the answer.
 *
 * answer  the caller's, with its payload; untouched on error
 * type    the required frame type of the answer
 *
 * Returns 0, or a negative errno with a sentence, as cop_status_read(); also if
 * the front-end refuses. */
int ask_network(struct frame *answer,
                enum frame_type type,
                const char *session_path,
                const struct frame *question,
                int timeout_ms,
                struct cop_error *error);
