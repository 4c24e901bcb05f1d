/* record.h - the last looks at a job, for when it has ended.
 *
 * They are kept in memory as --json writes them. A file of them is a JSON text
 * sequence (RFC 7464): before each look stands the byte RECORD_SEPARATOR. */
#pragma once

#include <stdbool.h>

#include <coppice/error.h>

#include "stat/show/report.h"

#define RECORD_SEPARATOR '\x1e'

/* Most looks that are kept, and most bytes of them; always the last one. */
#define RECORD_LOOKS_MAX 60
#define RECORD_BYTES_MAX ((size_t)64 << 20)

struct record; /* opaque */

/* Make an empty one, which becomes the file `path`; that is kept. From now on
 * SIGUSR1 asks for it. Returns 0 or -ENOMEM. */
int record_new(struct record **out, const char *path);

/* Free `record`, without writing it. NULL is fine. */
void record_free(struct record *record);

/* Add a look; the oldest goes if there are too many. Returns 0 or -ENOMEM. */
int record_add(struct record *record, const struct report *report);

/* Write all looks in place of the file, at once: a reader finds the file as it
 * was before or as it is now. Returns 0, or a negative errno with a sentence. */
int record_write(const struct record *record, struct cop_error *error);

/* Whether SIGUSR1 has come since the last call. */
bool record_is_wanted(void);
