/* frame.h - one place on a stack. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How files begin the function of a frame that is not walked; its reason and
 * "]" follow. */
#define FRAME_NOT_WALKED_TEXT "[not walked: "

/* The function of the one frame that stands for a task that was there, and has
 * ended. */
#define FRAME_EXITED "[exited]"

/* How the one begins of a task that has ended, which nobody has waited for. */
#define FRAME_ZOMBIE "[zombie: "

/* The last frame of a thread that ran just before it was stopped. */
#define FRAME_RUNNING "[running]"

/* How notes begin: a stack that is cut, or that there is none, for the process
 * was not to be stopped any longer; how one ends that says how many threads
 * were left out; the name of a thread, above its stack; a
 * thread that does not stop, for it is stuck in the kernel, and how it ends
 * where the kernel does not tell in what. */
#define FRAME_GIVEN_UP        "[stopped for "
#define FRAME_LEFT_OUT        " other threads: not walked"
#define FRAME_THREAD          "[thread "
#define FRAME_STUCK           "[stuck in "
#define FRAME_STUCK_SOMEWHERE "the kernel"

/* The note in place of the middle of a very deep stack: without the number of
 * frames, for tasks that differ in that alone are alike. */
#define FRAME_CUT "[frames cut]"

/* Either an address that has no name yet: a module and an offset, `function`
 * "". Or a place with a name: `module` "", except where addresses are kept
 * apart, and FRAME_PYTHON_LIBRARY. The maker of the frame owns the strings. */
struct frame {
    const char *function; /* "module+0xoffset" where there is no name; a note
                             such as "[truncated]" stands in brackets */
    const char *file;     /* without folders; "" where not known */
    uint32_t line;        /* 0 where not known, or not one */
    const char *module;   /* its identity, and its path behind a space */
    uint64_t offset;      /* from where the module is mapped */
    bool not_walked;      /* the task could not be walked: `function` is why, it
                             is the only frame, and all else is empty */
};

/* The module of functions of Python's own library, and of packages installed
 * beside it. */
#define FRAME_PYTHON_LIBRARY "python"

/* What a module is called: the file's name, out of a frame's `module`. */
const char *frame_module_name(const char *module);

/* A place that is not in the program, such as "[truncated]". */
#define FRAME_NOTE(text)                                                       \
    (struct frame)                                                             \
    {                                                                          \
        (text), "", 0, "", 0, false                                            \
    }

/* The frame of a task that could not be walked, and why; not "". */
#define FRAME_NOT_WALKED(reason)                                               \
    (struct frame)                                                             \
    {                                                                          \
        (reason), "", 0, "", 0, true                                           \
    }
