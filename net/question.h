/* question.h - one question to a front-end, from outside (PROTOCOL 15.1). */
#pragma once

#include "net/bootstrap.h"
#include "wire/frame.h"

/* Connect to the front-end of a session, authenticate both ends, send one
 * frame, and take the answer. Blocks, on its own loop.
 *
 * answer      a ROWS or REPORTS frame; the caller's, with its payload
 * session     from session_read(), of SESSION_FRONTEND
 * question    its payload stays the caller's
 * timeout_ms  for the whole call; 1 or more
 *
 * Returns 0, or a negative errno with a sentence, as cop_status_read(). */
int question_ask(struct frame *answer,
                 const struct bootstrap *session,
                 const struct frame *question,
                 uint32_t timeout_ms,
                 struct cop_error *error);
