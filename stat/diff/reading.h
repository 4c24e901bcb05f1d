/* reading.h - the state of reading a look from JSON, shared by its parts. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "stat/diff/look.h"
#include "stat/tree/frame.h"

/* The look under construction. */
struct reading {
    const char *name;
    struct cop_error *error;
    json_t *top;
    struct look *look;
    struct tasks **sets;
    size_t set_count;
    struct frame *frames; /* their strings belong to `top` */
    size_t frame_count;
};

/* These functions read `member` of `object`. They return 0, or -EINVAL with a
 * sentence that names the member after `where`, such as "nodes[3].". */

/* A count or an index of at most `max`. */
int reading_number(struct reading *reading,
                   uint64_t *out,
                   const json_t *object,
                   const char *where,
                   const char *member,
                   uint64_t max);

/* The same for an optional member: if it is missing, `*out` is unchanged. */
int reading_optional(struct reading *reading,
                     uint64_t *out,
                     const json_t *object,
                     const char *where,
                     const char *member,
                     uint64_t max);

/* A set, by its number; borrowed. */
int reading_set(struct reading *reading,
                struct tasks **out,
                const json_t *object,
                const char *where,
                const char *member);

/* A string; borrowed. */
int reading_text(struct reading *reading,
                 const char **out,
                 const json_t *object,
                 const char *where,
                 const char *member);

/* The same for an optional member: "" if it is missing. */
int reading_optional_text(struct reading *reading,
                          const char **out,
                          const json_t *object,
                          const char *where,
                          const char *member);

/* An array. */
int reading_array(struct reading *reading,
                  const json_t **out,
                  const json_t *object,
                  const char *where,
                  const char *member);

/* Read the tree and its tasks. Returns 0, -EINVAL with a sentence, or
 * -ENOMEM. */
int look_tree_read(struct reading *reading);

/* Read the process of each task, and the processes set aside. Returns as
 * look_tree_read(). */
int look_hosts_read(struct reading *reading);
