/* tasks.h - a set of tasks, by rank: exact, immutable, shared by counting.
 *
 * A set is kept as sorted ranges that neither touch nor overlap, so equal
 * sets look equal. For people, and in packets, evenly spaced tasks become
 * strided ranges: "0-1023:16". Each operation is linear in the ranges of its
 * operands. Sets are not for several threads at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Task ranks are below this. */
#define TASKS_MAX (UINT32_C(1) << 24)

struct tasks; /* opaque, immutable, reference-counted */

/* Tasks `first` to `last`, both included. */
struct tasks_range {
    uint32_t first;
    uint32_t last;
};

/* What tasks_combine() makes of two sets. */
enum tasks_op {
    TASKS_UNION,
    TASKS_MINUS, /* what is in the first and not in the second */
    TASKS_BOTH,  /* what is in both */
};

/* Make the set of `count` ranges, in any order, overlapping or not.
 * Returns 0, -EINVAL if a range is reversed or reaches TASKS_MAX, -ENOMEM. */
int tasks_new(struct tasks **out,
              const struct tasks_range *ranges,
              size_t count);

/* Take one more reference. NULL is fine. Returns `tasks`. */
struct tasks *tasks_ref(struct tasks *tasks);

/* Give a reference back; the last one frees the set. NULL is fine. */
void tasks_free(struct tasks *tasks);

/* Combine `a` and `b` into a new set, or a reference to one of them where
 * that is the result. Returns 0 or -ENOMEM. */
int tasks_combine(struct tasks **out,
                  enum tasks_op op,
                  struct tasks *a,
                  struct tasks *b);

/* Replace `*set` by what the operation makes of it and `other`; on error it
 * stays. Returns 0 or -ENOMEM. */
int tasks_change(struct tasks **set, enum tasks_op op, struct tasks *other);

/* How many tasks are in the set; how many ranges it has. */
uint32_t tasks_count(const struct tasks *tasks);
size_t tasks_range_count(const struct tasks *tasks);

/* Whether `task` is in the set. */
bool tasks_has(const struct tasks *tasks, uint32_t task);

/* The ranges, in order; borrowed. */
const struct tasks_range *tasks_ranges(const struct tasks *tasks);

/* Evenly spaced tasks: first, first + stride, ..., last. */
struct tasks_run {
    uint32_t first;
    uint32_t last;
    uint32_t stride;
};

/* The run that begins at range `*next`, which moves behind it: at least three
 * lone tasks at one distance, or the range itself. */
struct tasks_run tasks_next_run(const struct tasks *tasks, size_t *next);

/* Whether `a` and `b` have the same members. */
bool tasks_equal(const struct tasks *a, const struct tasks *b);

/* A total order: below 0, 0 or above 0, as by the first member that differs. */
int tasks_compare(const struct tasks *a, const struct tasks *b);

/* Write the set for people, such as "0,3-15" or "0-1023:16", into `text`. What
 * does not fit into `size` bytes (at least 1) is left out after "...".
 * Returns `text`. */
char *tasks_text(const struct tasks *tasks, char *text, size_t size);

/* Read what tasks_text() writes where it leaves nothing out: numbers and ranges
 * with commas between, rising, that do not overlap; "" is nobody.
 * Returns 0, -EINVAL if `text` is something else, or -ENOMEM. */
int tasks_parse(struct tasks **out, const char *text);

/* How many bytes tasks_pack() writes: never more than some bytes above those
 * of a bitmap. */
size_t tasks_packed_len(const struct tasks *tasks);

/* Write the packed form, canonical for the set, into `bytes`. */
void tasks_pack(const struct tasks *tasks, unsigned char *bytes);

/* Read a packed form of `len` bytes, from anybody.
 * Returns 0, -EBADMSG if it is not what tasks_pack() writes, or -ENOMEM. */
int tasks_unpack(struct tasks **out, const unsigned char *bytes, size_t len);
