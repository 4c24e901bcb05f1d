/* html.c - a report as one self-contained page with tree, icicle, classes,
 * search and filters: stat/write/page.html with the output of json_write(). */
#include "stat/write/output.h"

#include <string.h>

#include "stat/write/page.h"

/* The line of the page that the data replace. */
#define DATA_LINE "@DATA@\n"

int html_write(FILE *file, const struct report *report)
{
    int r = 0;

    for (size_t i = 0; r == 0 && page_lines[i]; i++) {
        if (strcmp(page_lines[i], DATA_LINE) == 0)
            r = json_write(file, report);
        else
            fputs(page_lines[i], file);
    }
    return r;
}
