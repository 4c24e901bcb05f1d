/* installed.h - where the files of this installation are. */
#pragma once

/* The path of `configured`, a path below the prefix that configure was given.
 * Where the installation was moved or copied, that is where it is now: the
 * directory of the shared library tells. Returns NULL if there is no memory;
 * the caller frees it. */
char *installed_path(const char *configured);
