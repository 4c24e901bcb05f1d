/* reading.h - a look that is read back from JSON: its parts share this. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "stat/diff/look.h"
#include "stat/tree/frame.h"

/* The look in the making. */
struct reading {
    const char *name;
    struct cop_error *error;
    json_t *top;
    struct look *look;
    struct tasks **sets;
    size_t set_count;
    struct frame *frames; /* strings are those of `top` */
    size_t frame_count;
};

/* The following read `member` of `object`. They return 0, or -EINVAL with a
 * sentence in which `where`, such as "nodes[3].", is before the member. */

/* What a number counts or points into; `max` is its largest value. */
int reading_number(struct reading *reading,
                   uint64_t *out,
                   const json_t *object,
                   const char *where,
                   const char *member,
                   uint64_t max);

/* The same where the member may be left out: `*out` stays. */
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

/* The same where it may be left out: then it is "". */
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

/* Read which process each task is, and which were set aside. Returns as
 * look_tree_read(). */
int look_hosts_read(struct reading *reading);
