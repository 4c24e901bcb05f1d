/* origin.h - the job that a report describes, and the command that made the
 * report. */
#pragma once

#include "stat/job/targets.h"
#include "stat/show/report.h"

/* Longest command line, in bytes with its end; a longer one is cut. */
#define ORIGIN_WORDS_MAX 1024

/* The words of a command, quoted for a shell. The caller frees it; NULL without
 * memory. */
char *origin_words(int count, char *const *words);

/* The same for main()'s arguments, with the program's name without folders. The
 * caller frees it; NULL without memory. */
char *origin_command(int argc, char *const *argv);

/* The command line of the first of `targets` on this host that can be read; ""
 * if there is none. The caller frees it; NULL without memory. */
char *origin_job(const struct targets *targets);

/* One line with the time, the job, its hosts, and the command and version of
 * the tool, as far as the report has them; "" if it has none. The caller frees
 * it; NULL without memory. */
char *origin_text(const struct report *report);
