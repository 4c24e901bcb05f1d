/* tasks.h - a set of tasks, by rank: exact, immutable, reference-counted.
 *
 * A set is kept as sorted ranges that neither touch nor overlap, or, if that is
 * not more than about twice as large, as a bitmap. In text and in packets, evenly
 * spaced tasks become strided ranges: "0-1023:16". Each operation takes time
 * linear in the ranges or the words of its operands. Sets are not thread-safe. */
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

/* Make the set of the numbers numbers[task] of all members; they are below
 * TASKS_MAX. Returns 0 or -ENOMEM. */
int tasks_renumber(struct tasks **out,
                   const struct tasks *tasks,
                   const uint32_t *numbers);

/* How many tasks are in the set. */
uint32_t tasks_count(const struct tasks *tasks);

/* Whether there are none; at once, while to count takes time. */
bool tasks_is_empty(const struct tasks *tasks);

/* The bytes that its members take. */
size_t tasks_size(const struct tasks *tasks);

/* The lowest and the highest task of a set that is not empty. */
uint32_t tasks_first(const struct tasks *tasks);
uint32_t tasks_last(const struct tasks *tasks);

/* Whether `task` is in the set. */
bool tasks_has(const struct tasks *tasks, uint32_t task);

/* Whether a task is in both sets; whether all of `a` are in `b`. */
bool tasks_meet(const struct tasks *a, const struct tasks *b);
bool tasks_within(const struct tasks *a, const struct tasks *b);

/* A place in a set, which must live as long. */
struct tasks_cursor {
    struct tasks_range range; /* the present one */
    const struct tasks *tasks;
    size_t next; /* index of a range, or number of a task */
};

/* Begin before the first range. */
struct tasks_cursor tasks_begin(const struct tasks *tasks);

/* Advance to the next range, in order. Returns whether there is one. */
bool tasks_next(struct tasks_cursor *cursor);

/* Evenly spaced tasks: first, first + stride, ..., last. */
struct tasks_run {
    uint32_t first;
    uint32_t last;
    uint32_t stride;
};

/* Advance past the next run: at least three single tasks at equal distances, or
 * the next range. Returns whether there is one. */
bool tasks_next_run(struct tasks_run *run, struct tasks_cursor *cursor);

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
 * bitmap has, and 0 for the empty set. */
size_t tasks_packed_len(const struct tasks *tasks);

/* Write the packed form, canonical for the set, into `bytes`. */
void tasks_pack(const struct tasks *tasks, unsigned char *bytes);

/* Read a packed form of `len` untrusted bytes, which need not be the canonical
 * one. Returns 0, -EBADMSG if it is none, or -ENOMEM. */
int tasks_unpack(struct tasks **out, const unsigned char *bytes, size_t len);
