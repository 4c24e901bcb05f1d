/* fuzz_suspended.c - the memory of a process that seems to run asyncio: the
 * version, the addresses of the module's dictionary and of the loop, and all
 * objects, from BASE on. What is read is bounded, and notes have no control
 * characters. */
#include "stat/walk/suspended.h"

#include <stdlib.h>
#include <string.h>

#include "stat/clock.h"
#include "stat/walk/memory.h"

#define BASE UINT64_C(0x10000)
#define MS   UINT64_C(1000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const uint8_t *memory;
static size_t memory_len;

/* In place of that of the library, which reads processes. */
bool memory_read(pid_t pid, uint64_t address, void *bytes, size_t len)
{
    (void)pid;
    if (address < BASE || address - BASE > memory_len ||
        len > memory_len - (address - BASE))
        return false;
    memcpy(bytes, memory + (address - BASE), len);
    return true;
}

static void must(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct python_place place = {.pid = 1, .version = BASE};
    struct python_tasks *tasks = NULL;
    struct codes codes = {.pid = 1};
    char note[SUSPENDED_NOTE_SIZE];
    struct layout layout;
    int count, i;

    memory = data;
    memory_len = len;
    if (len < 24 || !layout_find(&layout, &place))
        return 0;
    layout.attributes = data[0] % 3;
    codes.layout = &layout;
    count =
        suspended_read(&tasks, &codes, memory_pointer(1, BASE + 8),
                       memory_pointer(1, BASE + 16), clock_now_ns() + 200 * MS);
    must(count >= 0);
    for (i = 0; suspended_note(note, tasks, (size_t)count, (size_t)i); i++)
        for (const char *c = note; *c; c++)
            must((unsigned char)*c >= ' ');
    must(i <= count && i <= SUSPENDED_NOTES);
    free(tasks);
    codes_fini(&codes);
    return 0;
}
