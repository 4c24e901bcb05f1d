/* fuzz_tasks.c - arbitrary sets of tasks, as text and as in packets: an
 * accepted set can be written again, and sets obey the laws of sets. An input
 * is the length of the text in one byte, the text, and the packed form of
 * another set. Sets of millions of ranges are only read: the rest would take
 * seconds. */
#include <stdlib.h>
#include <string.h>

#include "stat/tree/tasks.h"

/* More than the text of any set of an input: a bitmap has 8 tasks per byte, of
 * up to 9 characters each. */
#define TEXT_SIZE 400000

/* The most ranges of a set on which everything is tried. */
#define RANGES_MAX 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Abort if the condition is false. */
static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Check that a written set is read again as the same set. */
static void check_text(struct tasks *set)
{
    static char text[TEXT_SIZE];
    struct tasks *again;

    tasks_text(set, text, sizeof(text));
    if (strlen(text) == sizeof(text) - 1)
        return; /* some tasks were left out */
    must(tasks_parse(&again, text) == 0);
    must(tasks_equal(again, set));
    tasks_free(again);
}

/* Check that a packed set is read again as the same set. */
static void check_packed(struct tasks *set)
{
    size_t len = tasks_packed_len(set);
    unsigned char *bytes = malloc(len);
    struct tasks *again;

    must(bytes != NULL);
    tasks_pack(set, bytes);
    must(tasks_unpack(&again, bytes, len) == 0);
    must(tasks_equal(again, set) && tasks_compare(again, set) == 0);
    tasks_free(again);
    free(bytes);
}

/* Check that the tasks in both a and b, and those in one only, add up. */
static void check_laws(struct tasks *a, struct tasks *b)
{
    struct tasks *all, *both, *rest;

    must(tasks_combine(&all, TASKS_UNION, a, b) == 0);
    must(tasks_combine(&both, TASKS_BOTH, a, b) == 0);
    must(tasks_count(all) + tasks_count(both) ==
         tasks_count(a) + tasks_count(b));
    must(tasks_combine(&rest, TASKS_MINUS, all, b) == 0);
    must(tasks_change(&rest, TASKS_UNION, both) == 0);
    must(tasks_equal(rest, a));
    check_packed(all);
    check_text(both);
    tasks_free(rest);
    tasks_free(both);
    tasks_free(all);
}

static bool is_tried(const struct tasks *set)
{
    struct tasks_cursor at = tasks_begin(set);
    size_t ranges = 0;

    while (ranges <= RANGES_MAX && tasks_next(&at))
        ranges++;
    return ranges <= RANGES_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct tasks *a = NULL, *b = NULL;
    size_t first, packed_len;
    char text[256];

    if (len < 1)
        return 0;
    first = data[0] < len ? data[0] : len - 1;
    memcpy(text, data + 1, first);
    text[first] = '\0';
    packed_len = len - 1 - first;
    if (tasks_parse(&a, text) == 0 && is_tried(a)) {
        check_text(a);
        check_packed(a);
    }
    if (tasks_unpack(&b, data + 1 + first, packed_len) == 0 && is_tried(b)) {
        check_text(b);
        check_packed(b);
    }
    if (a && b && is_tried(a) && is_tried(b))
        check_laws(a, b);
    tasks_free(a);
    tasks_free(b);
    return 0;
}
