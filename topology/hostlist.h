/* hostlist.h - lists of hosts, as people write them: node[01-32,40],login
 *
 *   list  = [ item ] { separator [ item ] }
 *   item  = { character | "[" range { "," range } "]" }
 *   range = NUMBER [ "-" NUMBER ]
 *
 * Separators are ',' and white space; a comment goes from '#' to the end of
 * its line. A range whose first number begins with '0' is as wide as that
 * number: [08-11] is 08, 09, 10, 11. Several brackets multiply, the last
 * counting fastest. The order is kept, and so are hosts named twice. */
#pragma once

#include <coppice/error.h>
#include <stddef.h>
#include <stdint.h>

/* Hosts of a list, bytes of all their names, bytes of a file, brackets of an
 * item, digits of a number in a bracket. */
#define HOSTLIST_HOSTS_MAX    (UINT32_C(1) << 21)
#define HOSTLIST_BYTES_MAX    ((size_t)64 << 20)
#define HOSTLIST_FILE_MAX     ((size_t)64 << 20)
#define HOSTLIST_BRACKETS_MAX 8
#define HOSTLIST_DIGITS_MAX   9

struct hostlist; /* opaque: fields are private to hostlist.c */

/* Read a list from the `len` bytes at `text`, which need not end in a zero
 * byte; `name` says in errors where they are from. Memory stays within the
 * limits, whatever the text.
 *
 * Returns 0, and `*out` is the caller's; or, with a sentence in `error` (which
 * may be NULL) that begins "NAME:LINE:COLUMN: ":
 *   -EINVAL  malformed, or no host at all
 *   -E2BIG   above HOSTLIST_HOSTS_MAX or HOSTLIST_BYTES_MAX
 *   -ENOMEM  out of memory */
int hostlist_parse(struct hostlist **out,
                   const char *text,
                   size_t len,
                   const char *name,
                   struct cop_error *error);

/* As hostlist_parse(), from the file `path` ("-": standard input). Also returns
 * errors of opening and reading the file. */
int hostlist_read(struct hostlist **out,
                  const char *path,
                  struct cop_error *error);

/* Free `list`. NULL is fine. */
void hostlist_free(struct hostlist *list);

/* How many hosts: 1 or more. */
uint32_t hostlist_count(const struct hostlist *list);

/* Host `index`, below hostlist_count(). Borrowed from `list`. */
const char *hostlist_host(const struct hostlist *list, uint32_t index);

/* Write `list` in short form: neighbours that differ only in their last number
 * are put into brackets. Reading it gives the same hosts in the same order.
 *
 * Returns 0, and `*text` is the caller's to free(): `*len` bytes (`len` may be
 * NULL) and a zero byte; or -ENOMEM. */
int hostlist_text(const struct hostlist *list, char **text, size_t *len);
