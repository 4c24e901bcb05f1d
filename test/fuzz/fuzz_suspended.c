/* fuzz_suspended.c - the memory of a process that seems to run asyncio: the
 * version, the addresses of the module's dictionary and of the loop, and all
 * objects, from IMAGE_BASE on. What is read is bounded, and notes have no control
 * characters. */
#include "stat/walk/suspended.h"

#include "stat/clock.h"
#include "test/fuzz/image.h"

#define MS UINT64_C(1000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct python_place place = {.pid = 1, .version = IMAGE_BASE};
    struct python_suspended tasks;
    struct codes codes = {.pid = 1};
    char note[SUSPENDED_NOTE_SIZE];
    struct layout layout;
    size_t i;

    image = data;
    image_len = len;
    if (len < 24 || !layout_find(&layout, &place))
        return 0;
    layout.attributes = data[0] % 3;
    codes.layout = &layout;
    must(suspended_read(&tasks, &codes, memory_pointer(1, IMAGE_BASE + 8),
                        memory_pointer(1, IMAGE_BASE + 16),
                        clock_now_ns() + 200 * MS) == 0);
    for (i = 0; suspended_note(note, &tasks, i); i++)
        must_be_text(note);
    must(i <= tasks.count + 1 && i <= SUSPENDED_NOTES);
    free(tasks.list);
    codes_fini(&codes);
    return 0;
}
