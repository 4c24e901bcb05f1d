/* record.h - keeps the last looks at a job, to be read after it has ended.
 *
 * They are kept in memory as --json writes them. A file of them is a JSON text
 * sequence (RFC 7464): the byte RECORD_SEPARATOR precedes each look. */
#pragma once

#include <stdbool.h>

#include <coppice/error.h>

#include "stat/show/report.h"

#define RECORD_SEPARATOR '\x1e'

/* Most looks kept, and most bytes of them; the last look is always kept. */
#define RECORD_LOOKS_MAX 60
#define RECORD_BYTES_MAX ((size_t)64 << 20)

struct record; /* opaque */

/* Make an empty record for the file `path`, which is kept. From now on SIGUSR1
 * requests a write. Returns 0 or -ENOMEM. */
int record_new(struct record **out, const char *path);

/* Free `record`, without writing it. NULL is fine. */
void record_free(struct record *record);

/* Add a look; drop the oldest if there are too many. Returns 0 or -ENOMEM. */
int record_add(struct record *record, const struct report *report);

/* Replace the file by all looks, atomically: a reader finds the old file or the
 * new one. Returns 0, or a negative errno with a sentence. */
int record_write(const struct record *record, struct cop_error *error);

/* Whether SIGUSR1 was received since the last call. */
bool record_is_wanted(void);
