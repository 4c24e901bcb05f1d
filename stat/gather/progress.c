/* progress.c - see progress.h. */
#include "stat/gather/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "stat/show/columns.h"

#define NAME "coppice-stat: "

/* Whether the cursor is after a line of progress_show(). */
static bool is_shown;

/* Columns of the terminal of standard error; 0: lines cannot be overwritten. */
static unsigned terminal_columns(void)
{
    const char *terminal = getenv("TERM");
    struct winsize size;

    if (!isatty(STDERR_FILENO) || !terminal || strcmp(terminal, "dumb") == 0)
        return 0;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0
               ? size.ws_col
               : 80;
}

void progress_say(const char *line)
{
    progress_end();
    columns_line(stderr, NAME, line);
}

void progress_show(const char *line)
{
    unsigned width = terminal_columns();
    char text[256];

    if (width == 0) {
        progress_say(line);
        return;
    }
    snprintf(text, sizeof(text), NAME "%s", line);
    if (strlen(text) >= width)
        text[width - 1] = '\0'; /* to fit on one line */
    fprintf(stderr, "\r%s\033[K", text);
    is_shown = true;
}

void progress_end(void)
{
    if (is_shown)
        fputc('\n', stderr);
    is_shown = false;
}
