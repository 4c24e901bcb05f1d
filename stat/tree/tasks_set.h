/* tasks_set.h - the inside of a set of tasks, for tasks.c and tasks_pack.c. */
#pragma once

#include "stat/tree/tasks.h"

/* Tasks in a word of a bitmap. */
#define WORD 64

/* In memory a set has ranges, or words if there is at least one range in two
 * words: an operation takes several nanoseconds for a range, and less than one
 * for a word. The first and the last word are not 0. */
struct tasks {
    uint32_t references;
    uint32_t count; /* 0: not counted, or empty */
    size_t range_count;
    size_t word_count;
    uint32_t base; /* the first word has the tasks from WORD * base on */
    uint64_t cells[];
};

/* Make a set with room for `room` ranges or words, all 0. Returns 0 or
 * -ENOMEM. */
int set_make(struct tasks **out, size_t room);

/* Append a range that begins at or after the beginning of the last one. */
void set_add(struct tasks *tasks, uint32_t first, uint32_t last);

/* How many words the tasks from `first` to `last` lie in. */
size_t set_words(uint32_t first, uint32_t last);

/* Word number `at` of a bitmap; 0 outside it. */
uint64_t set_word(const struct tasks *tasks, uint32_t at);

/* Add a range to a bitmap that has words for it. */
void set_put(struct tasks *tasks, struct tasks_range range);

/* Finish a new set that has ranges, or words. Returns it, or the same set in the
 * other form if it should have that and there is memory for it. */
struct tasks *set_settle_ranges(struct tasks *tasks);
struct tasks *set_settle_words(struct tasks *tasks);
