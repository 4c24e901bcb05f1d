/* progress.h - standard error: what happens, and how far it has come. */
#pragma once

/* Say a line, that it is of coppice-stat. */
void progress_say(const char *line);

/* Say how far it has come: on a terminal in place of what was said so last,
 * elsewhere as a line. */
void progress_show(const char *line);

/* It has come to its end: what follows begins on a line of its own. */
void progress_end(void);
