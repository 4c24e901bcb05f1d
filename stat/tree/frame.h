/* frame.h - one place on a stack. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* In files, the beginning of the function of a frame that was not walked; the
 * reason and "]" follow. */
#define FRAME_NOT_WALKED_TEXT "[not walked: "

/* The function of the only frame of a task that was there earlier, and has
 * ended. */
#define FRAME_EXITED "[exited]"

/* The beginning of the function for a task that has ended, but was not waited
 * for. */
#define FRAME_ZOMBIE "[zombie: "

/* The last frame of a thread that ran just before it was stopped. */
#define FRAME_RUNNING "[running]"

/* Parts of notes: the beginning for a stack that is cut or missing, since the
 * process was stopped for too long; the end of one with the number of threads
 * left out; the beginning for a thread's name, above its stack; the beginning
 * for a thread that is stuck in the kernel and does not stop, and its end if
 * the kernel does not tell where. */
#define FRAME_GIVEN_UP        "[stopped for "
#define FRAME_LEFT_OUT        " other threads: not walked"
#define FRAME_THREAD          "[thread "
#define FRAME_WORKER          "[worker]"
#define FRAME_STUCK           "[stuck in "
#define FRAME_STUCK_SOMEWHERE "the kernel"

/* The beginning of the note above a stack whose outer part is not known; ": "
 * and the reason may follow, and "]". */
#define FRAME_TRUNCATED "[truncated"

/* The end of a note that a thread waits for one that has ended, and holds a
 * mutex. */
#define FRAME_OVER ", which has ended"

/* ... that holds it in the process from which this one was forked. */
#define FRAME_ELSEWHERE ", which is in another process"

/* The beginning of the note on the processes that a thread waits for. */
#define FRAME_CHILD "[waits for "

/* Below the stack of a thread of Python: in the middle of the note that it waits
 * for the global lock of another one; it runs the garbage collector. */
#define FRAME_GIL       " waits for the GIL, which thread "
#define FRAME_COLLECTOR "[garbage collector]"

/* The function of a thread of Python that waits for a lock of its program. */
#define FRAME_LOCK "lock.acquire"

/* The note in place of the middle of a very deep stack. It has no number of
 * frames, so that tasks that differ only in that are alike. */
#define FRAME_CUT "[frames cut]"

/* The note in place of the frames of an interpreter that cannot be read. */
#define FRAME_PYTHON_UNREAD                                                    \
    "[Python functions not shown: CPython before 3.11 or after 3.14]"

/* Either an address without a name: a module and an offset, with `function` "".
 * Or a place with a name: `module` is the text of its role (role.h). The maker
 * of the frame owns the strings. */
struct frame {
    const char *function; /* "module+0xoffset" if there is no name; a note such
                             as "[truncated]" is in brackets */
    const char *file;     /* of Python with folders; "" if not known */
    uint32_t line;        /* 0 if not known, or several */
    const char *module;   /* its identity, a space, and its path; or a role */
    uint64_t offset;      /* from the beginning of the module */
    bool not_walked;      /* the task could not be walked: `function` is why, it
                             is the only frame, and all else is empty */
};

/* The name of a module's file, from a frame's `module`. */
const char *frame_module_name(const char *module);

/* A place that is not in the program, such as "[truncated]". */
#define FRAME_NOTE(text)                                                       \
    (struct frame)                                                             \
    {                                                                          \
        (text), "", 0, "", 0, false                                            \
    }

/* The frame of a task that could not be walked; the reason is not "". */
#define FRAME_NOT_WALKED(reason)                                               \
    (struct frame)                                                             \
    {                                                                          \
        (reason), "", 0, "", 0, true                                           \
    }
