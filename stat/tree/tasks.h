/* tasks.h - a set of tasks, by rank: exact, immutable, reference-counted.
 *
 * A set is kept as sorted ranges that neither touch nor overlap, so equal sets
 * look equal. In text and in packets, evenly spaced tasks become strided
 * ranges: "0-1023:16". Each operation takes time linear in the ranges of its
 * operands. Sets are not thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tasks have numbers below this. */
#define TASKS_MAX (UINT32_C(1) << 24)

struct tasks; /* opaque, immutable, reference-counted */

/* Tasks `first` to `last`, both included. */
struct tasks_range {
    uint32_t first;
    uint32_t last;
};

/* How tasks_combine() combines two sets. */
enum tasks_op {
    TASKS_UNION,
    TASKS_MINUS, /* members of the first that are not in the second */
    TASKS_BOTH,  /* members of both */
};

/* Make the set of `count` ranges, in any order, overlapping or not.
 * Returns 0, -EINVAL if a range is reversed or reaches TASKS_MAX, -ENOMEM. */
int tasks_new(struct tasks **out,
              const struct tasks_range *ranges,
              size_t count);

/* Add a reference. NULL is fine. Returns `tasks`. */
struct tasks *tasks_ref(struct tasks *tasks);

/* Drop a reference; the last one frees the set. NULL is fine. */
void tasks_free(struct tasks *tasks);

/* Combine `a` and `b` into a new set, or a reference to one of them if that is
 * the result. Returns 0 or -ENOMEM. */
int tasks_combine(struct tasks **out,
                  enum tasks_op op,
                  struct tasks *a,
                  struct tasks *b);

/* Replace `*set` by the result of the operation on it and `other`; on error it
 * is unchanged. Returns 0 or -ENOMEM. */
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

/* The run that begins at range `*next`: at least three single tasks at equal
 * distances, or the range itself. `*next` advances to the range after it. */
struct tasks_run tasks_next_run(const struct tasks *tasks, size_t *next);

/* Whether `a` and `b` have the same members. */
bool tasks_equal(const struct tasks *a, const struct tasks *b);

/* A total order by the first member that differs: below 0, 0 or above 0. */
int tasks_compare(const struct tasks *a, const struct tasks *b);

/* Write the set as text, such as "0,3-15" or "0-1023:16". What does not fit
 * into `size` bytes (at least 1) is replaced by "...". Returns `text`. */
char *tasks_text(const struct tasks *tasks, char *text, size_t size);

/* Parse the complete text of tasks_text(): numbers and ranges, separated by
 * commas, ascending, without overlap; "" is the empty set. Returns 0, -EINVAL
 * if `text` is malformed, or -ENOMEM. */
int tasks_parse(struct tasks **out, const char *text);

/* The number of bytes that tasks_pack() writes: at most a few more than a
 * bitmap has. */
size_t tasks_packed_len(const struct tasks *tasks);

/* Write the packed form, canonical for the set, into `bytes`. */
void tasks_pack(const struct tasks *tasks, unsigned char *bytes);

/* Read a packed form of `len` untrusted bytes. Returns 0, -EBADMSG if
 * tasks_pack() would not write it, or -ENOMEM. */
int tasks_unpack(struct tasks **out, const unsigned char *bytes, size_t len);
