/* ask.h - one question to the network of a session file. */
#pragma once

#include <coppice/status.h>

#include "protocol/watch/rows.h"

/* Ask what `question` says, and take the answer.
 *
 * answer  the caller's, with its payload; untouched on error
 * type    what kind of answer it must be
 *
 * Returns 0, or a negative errno with a sentence, as cop_status_read(); what
 * the front-end refuses too. */
int ask_network(struct frame *answer,
                enum frame_type type,
                const char *session_path,
                const struct frame *question,
                int timeout_ms,
                struct cop_error *error);
