/* program.h - whether what a launch needs is there, before anything starts. */
#pragma once

#include <coppice/error.h>

/* Check that `name`, with a '/' or else looked for in $PATH, can be run.
 *
 * what   such as "the back-end program", for the sentence
 * advice what to do, as its end
 *
 * Returns 0, or with a sentence -ENOENT or -EACCES. */
int program_check(const char *name,
                  const char *what,
                  const char *advice,
                  struct cop_error *error);

/* Check that each directory of `path`, separated by colons, is one. Returns 0
 * or -ENOENT with a sentence. */
int program_check_directories(const char *path, struct cop_error *error);
