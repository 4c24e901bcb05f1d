/* fuzz_python.c - the memory of a process that seems to run CPython: its version,
 * and behind it the interpreter's state, from BASE on. What is read is bounded,
 * and texts have no control characters. */
#include "stat/walk/python.h"

#include <stdlib.h>
#include <string.h>

#include "stat/clock.h"
#include "stat/walk/memory.h"

#define BASE    UINT64_C(0x10000)
#define RUNTIME (BASE + 16)
#define MS      UINT64_C(1000000)

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

static void check_text(const char *text)
{
    must(text != NULL);
    for (; *text; text++)
        must((unsigned char)*text >= ' ');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct python_place place = {
        .pid = 1, .runtime = RUNTIME, .version = BASE, .eval = 1};
    const struct python_frame *frames;
    struct python *python = NULL;
    pid_t holder;
    size_t count;

    memory = data;
    memory_len = len;
    must(python_read(&python, &place, clock_now_ns() + 200 * MS) == 0);
    must(!python || python_is_known(&place));
    for (pid_t tid = 1; tid < 300; tid++) {
        frames = python_frames(python, tid, &count);
        for (size_t i = 0; i < count; i++) {
            check_text(frames[i].function);
            check_text(frames[i].file);
        }
        python_collects(python, tid);
    }
    python_is_gil(python, BASE, &holder);
    python_free(python);
    return 0;
}
