/* liar.c - looks like CPython 3.11 from outside, but its data is false: lists
 * that never end, impossible sizes. test-python looks at it. */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define FAR UINT64_C(0x7000000000000000)

const unsigned long Py_Version = 0x030b00f0;
uint64_t _PyRuntime[64];
static uint64_t interpreter[64], thread[64], c_frame[8], frame[32], code[64];
static uint64_t text[64], lines[8];

int _PyEval_EvalFrameDefault(void);

int _PyEval_EvalFrameDefault(void)
{
    return pause();
}

int main(int argc, char **argv)
{
    _PyRuntime[5] = (uint64_t)(uintptr_t)interpreter;
    _PyRuntime[46] = argc > 1 ? FAR : (uint64_t)(uintptr_t)_PyRuntime;
    _PyRuntime[47] = 1; /* "the global lock is held" */
    interpreter[0] = (uint64_t)(uintptr_t)interpreter; /* the next one */
    interpreter[2] = (uint64_t)(uintptr_t)thread;
    thread[1] = (uint64_t)(uintptr_t)thread; /* the next one */
    thread[20] = (uint64_t)getpid();
    thread[7] = (uint64_t)(uintptr_t)c_frame;
    c_frame[1] = (uint64_t)(uintptr_t)frame;
    frame[6] = (uint64_t)(uintptr_t)frame; /* the caller's frame */
    frame[4] = argc > 1 ? FAR : (uint64_t)(uintptr_t)code;
    frame[7] = FAR;
    code[14] = code[16] = (uint64_t)(uintptr_t)text;
    code[17] = (uint64_t)(uintptr_t)lines;
    text[2] = argc > 2 ? UINT64_C(1) << 40 : 4; /* characters */
    text[4] = 1 << 2 | 1 << 5 | 1 << 6;
    memcpy(text + 6, "\x1b[2J", 4);
    lines[2] = UINT64_C(1) << 50; /* bytes */
    (void)argv;
    return _PyEval_EvalFrameDefault();
}
