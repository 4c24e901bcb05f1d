/* program.h - check that programs and directories exist, before a launch. */
#pragma once

#include <coppice/error.h>

/* Check that `name`, a path with '/' or a program in $PATH, can be run.
 *
 * what   describes it in the sentence, such as "the back-end program"
 * advice what to do, the end of the sentence
 *
 * Returns 0, or -ENOENT or -EACCES with a sentence. */
int program_check(const char *name,
                  const char *what,
                  const char *advice,
                  struct cop_error *error);

/* Check that each of the colon-separated names in `path` is a directory.
 * Returns 0 or -ENOENT with a sentence. */
int program_check_directories(const char *path, struct cop_error *error);
