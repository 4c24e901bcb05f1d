/* installed.h - the paths of this installation's files. */
#pragma once

/* The path of `configured`, which is a path below configure's prefix. If the
 * installation was moved or copied, the result is below its present prefix,
 * found from the directory of the shared library. Returns NULL if there is no
 * memory; the caller frees it. */
char *installed_path(const char *configured);
