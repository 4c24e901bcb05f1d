/* frame.h - one place on a stack, in words. */
#ifndef STAT_FRAME_H
#define STAT_FRAME_H

#include <stdint.h>

/* How the function of the one frame begins that stands for a task that could
 * not be walked; the reason and "]" follow. */
#define FRAME_NOT_WALKED "[not walked: "

/* Strings are borrowed from who made the frame. */
struct frame {
    const char *function; /* "module+0xoffset" where it has no name; a note
                             such as "[truncated]" stands in brackets */
    const char *file;     /* without folders; "" where not known */
    uint32_t line;        /* 0 where not known */
};

#endif
