/* page.h - the page that html_write() fills in: stat/write/page.html. */
#pragma once

#include <stddef.h>

/* Its lines, each with its end; the build makes them. Behind the last: NULL. */
extern const char *const page_lines[];
