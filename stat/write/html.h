/* html.h - a report as a page for a browser. */
#ifndef STAT_WRITE_HTML_H
#define STAT_WRITE_HTML_H

#include <stdio.h>

#include "stat/show/report.h"

/* Write `report` to `file` as one page of HTML that fetches nothing: tree,
 * icicle, classes, search and filters, over what json_write() writes. Returns 0
 * or -ENOMEM; errors of writing stay with `file`. */
int html_write(FILE *file, const struct report *report);

#endif
