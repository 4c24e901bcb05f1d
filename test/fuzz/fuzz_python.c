/* fuzz_python.c - the memory of a process that seems to run CPython: its version,
 * and behind it the interpreter's state, from IMAGE_BASE on. What is read is bounded,
 * and texts have no control characters. */
#include "stat/walk/python.h"

#include "stat/clock.h"
#include "test/fuzz/image.h"

#define RUNTIME (IMAGE_BASE + 16)
#define MS      UINT64_C(1000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct python_place place = {
        .pid = 1, .runtime = RUNTIME, .version = IMAGE_BASE, .eval = 1};
    const struct python_frame *frames;
    struct python *python = NULL;
    pid_t holder;
    size_t count;

    image = data;
    image_len = len;
    must(python_read(&python, &place, clock_now_ns() + 200 * MS) == 0);
    must(!python || python_is_known(&place));
    for (pid_t tid = 1; tid < 300; tid++) {
        frames = python_frames(python, tid, &count);
        for (size_t i = 0; i < count; i++) {
            must_be_text(frames[i].function);
            must_be_text(frames[i].file);
        }
        python_collects(python, tid);
    }
    python_is_gil(python, IMAGE_BASE, &holder);
    python_free(python);
    return 0;
}
