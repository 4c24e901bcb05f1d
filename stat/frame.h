/* frame.h - one place on a stack. */
#ifndef STAT_FRAME_H
#define STAT_FRAME_H

#include <stdint.h>

/* How the function of the one frame begins that stands for a task that could
 * not be walked; the reason and "]" follow. */
#define FRAME_NOT_WALKED "[not walked: "

/* Either an address that has no name yet: a module and an offset, `function`
 * "". Or a place with a name: `module` "", except where addresses are kept
 * apart. Strings are borrowed from who made the frame. */
struct frame {
    const char *function; /* "module+0xoffset" where there is no name; a note
                             such as "[truncated]" stands in brackets */
    const char *file;     /* without folders; "" where not known */
    uint32_t line;        /* 0 where not known, or not one */
    const char *module;   /* its identity, and its path behind a space */
    uint64_t offset;      /* from where the module is mapped */
};

/* What a module is called: the file's name, out of a frame's `module`. */
const char *frame_module_name(const char *module);

/* A place that is not in the program, such as "[truncated]". */
#define FRAME_NOTE(text)                                                       \
    (struct frame)                                                             \
    {                                                                          \
        (text), "", 0, "", 0                                                   \
    }

#endif
