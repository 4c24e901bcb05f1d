/* progress.h - messages and progress on standard error. */
#pragma once

/* Print a line, prefixed by the name of coppice-stat. */
void progress_say(const char *line);

/* Show progress: on a terminal the line replaces the previous progress,
 * elsewhere it is printed. */
void progress_show(const char *line);

/* End the progress: later output begins on a new line. */
void progress_end(void);
