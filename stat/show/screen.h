/* screen.h - a terminal whose contents are replaced, and its keys. */
#pragma once

#include <stdbool.h>

/* Columns of standard output: the terminal's, or from COLUMNS, or 100. */
unsigned screen_width(void);

struct screen; /* opaque; only one at a time, as it handles signals */

/* Take over the terminal of standard output: the alternate screen, without a
 * cursor. If standard input is the terminal too, keys are read without Enter or
 * echo. If standard output is no terminal, only signals are handled. In any
 * case SIGINT, SIGTERM and SIGHUP do not end the process any more: see
 * screen_is_ended(). Returns 0 or -ENOMEM. */
int screen_new(struct screen **out);

/* Restore the terminal. NULL is fine. */
void screen_free(struct screen *screen);

/* Whether standard output is a terminal. */
bool screen_is_terminal(const struct screen *screen);

/* Whether the user has ended it, by q, Ctrl-C, or a signal. */
bool screen_is_ended(struct screen *screen);

/* Whether the terminal was resized since the last call. */
bool screen_is_resized(struct screen *screen);

/* Replace the contents by `text`, as many lines as fit, and `footer` below. */
void screen_draw(struct screen *screen, const char *text, const char *footer);
