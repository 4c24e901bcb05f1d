/* python.h - the Python functions in which the threads of a process are.
 *
 * The stack of CPython's interpreter does not show the Python program: the
 * interpreter keeps the program's frames in its own memory. They are read from
 * outside while none of its threads runs. Supported are CPython 3.11 and 3.12,
 * whose layouts are defined here, and 3.13 and 3.14, which describe their own
 * layout; builds without the global lock are not. */
#pragma once

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stat/tree/role.h"

/* Where a process has its interpreter. All 0: it has none. */
struct python_place {
    pid_t pid;
    Dwarf_Addr runtime; /* the interpreter's state; 0: it cannot be read */
    Dwarf_Addr version; /* the interpreter's version number */
    Dwarf_Addr eval;    /* the function that runs a program's frames ... */
    Dwarf_Addr behind;  /* ... ends before this */
    Dwarf_Addr lock;    /* the function that waits for Python's own locks ... */
    Dwarf_Addr lock_behind; /* ... ends before this */
    Dwarf_Addr first;       /* the module with the interpreter ... */
    Dwarf_Addr last;        /* ... ends before this */
};

/* One frame of the program. Strings live as long as their `struct python`. */
struct python_frame {
    const char *function; /* with its class, such as "Worker.run" */
    const char *file;     /* with folders, of a long path the end */
    enum role role;       /* ROLE_PROGRAM, ROLE_PYTHON or ROLE_COLLECTIVE */
    uint32_t line;        /* 0: not known */
    bool is_entry;        /* C has called the interpreter for this frame; it
                             runs the frames after it, up to the next entry */
    bool is_import;       /* a part of importlib that runs a module: CPython
                             removes it from its own tracebacks */
};

/* Tasks of asyncio that are suspended at one place: of the coroutines for which
 * they wait, the innermost of the program, or else the innermost. Strings live as
 * long as their `struct python`. */
struct python_tasks {
    const char *function;
    const char *file;
    uint32_t line; /* 0: not known */
    enum role role;
    size_t count;
};

/* Those of one loop, by place, most first. */
struct python_suspended {
    struct python_tasks *list;
    size_t count;
    bool cut; /* not all could be read: there may be more */
};

struct python; /* opaque */

/* Look for an interpreter in `module` of process `pid`. Returns whether it is
 * there, of a version that can be read. Of another one `out` has where its code
 * is; if there is none, `out` is as it was. */
bool python_find(struct python_place *out, Dwfl_Module *module, pid_t pid);

/* Whether the frames of the interpreter at `place` can be read, or there is
 * none. */
bool python_is_known(const struct python_place *place);

/* Read the frames of all threads of a process, none of which runs, until
 * `deadline_ns` of CLOCK_MONOTONIC. `*out` is NULL if there is no interpreter at
 * `place`, or one of an unknown version. Returns 0 or -ENOMEM; frames that
 * cannot be read are left out. */
int python_read(struct python **out,
                const struct python_place *place,
                uint64_t deadline_ns);

/* Whether `address` is in the global lock of an interpreter: a thread that waits
 * there waits for the lock. `*holder` becomes the thread that holds it, by its
 * id in its own process; 0: none, or not known. */
bool python_is_gil(const struct python *python,
                   uint64_t address,
                   pid_t *holder);

/* Whether the garbage collector runs, and thread `tid`, by its id in its own
 * process, holds the global lock. */
bool python_collects(const struct python *python, pid_t tid);

/* Free `python`. NULL is fine. */
void python_free(struct python *python);

/* The frames of the thread with the id `tid` in its own process (in a container
 * not ours), outermost first; none if it runs no Python. Borrowed. */
const struct python_frame *python_frames(const struct python *python,
                                         pid_t tid,
                                         size_t *count);

/* The suspended tasks of the loop of asyncio that the thread `tid` runs; CPython
 * 3.11 to 3.13. NULL if it runs none. Borrowed. */
const struct python_suspended *python_suspended(const struct python *python,
                                                pid_t tid);
