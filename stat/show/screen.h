/* screen.h - a terminal that is drawn in place, and its keys. */
#pragma once

#include <stdbool.h>

/* Columns of standard output: the terminal's, or what COLUMNS says, or 100. */
unsigned screen_width(void);

struct screen; /* opaque; one at a time, for signals are the process's */

/* Take the terminal of standard output: the alternate screen, without a cursor,
 * and where standard input is the terminal too, keys without Enter or echo.
 * Where standard output is no terminal, only signals are taken. SIGINT, SIGTERM
 * and SIGHUP do not end the process any more: see screen_is_ended().
 * Returns 0 or -ENOMEM. */
int screen_new(struct screen **out);

/* Give the terminal back as it was. NULL is fine. */
void screen_free(struct screen *screen);

/* Whether there is a terminal to be drawn on. */
bool screen_is_terminal(const struct screen *screen);

/* Whether somebody wants it to end, by q, Ctrl-C, or a signal. */
bool screen_is_ended(struct screen *screen);

/* Whether the terminal has another size than when this was last asked. */
bool screen_is_resized(struct screen *screen);

/* Show `text`, as many lines as there is room for, and `footer` below them, in
 * place of what was there. */
void screen_draw(struct screen *screen, const char *text, const char *footer);
