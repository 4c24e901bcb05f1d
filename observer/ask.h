/* ask.h - one question to the network of a session file. */
#ifndef OBSERVER_ASK_H
#define OBSERVER_ASK_H

#include <coppice/status.h>

#include "protocol/rows.h"

/* Ask what `question` says, and read the answer.
 *
 * rows  the caller's to rows_fini(); untouched on error
 *
 * Returns 0, or a negative errno with a sentence, as cop_status_read(); what
 * the front-end refuses too. */
int ask_network(struct rows *rows,
        const char *session_path,
        const struct frame *question,
        int timeout_ms,
        struct cop_error *error);

#endif
