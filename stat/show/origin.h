/* origin.h - of which job a report is, and how it was made: for a reader who was
 * not there. */
#pragma once

#include "stat/job/targets.h"
#include "stat/show/report.h"

/* Longest command line, in bytes with its end; more is cut. */
#define ORIGIN_WORDS_MAX 1024

/* The words of a command as a shell would take them. The caller frees it; NULL
 * without memory. */
char *origin_words(int count, char *const *words);

/* The same of main()'s arguments, the program without its folders. The caller
 * frees it; NULL without memory. */
char *origin_command(int argc, char *const *argv);

/* The command line of the first of `targets` on this host that can be read; ""
 * if there is none. The caller frees it; NULL without memory. */
char *origin_job(const struct targets *targets);

/* One line: when, which job, on which hosts, by which command of which version,
 * as far as the report knows; "" if it knows nothing. The caller frees it; NULL
 * without memory. */
char *origin_text(const struct report *report);
