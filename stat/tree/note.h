/* note.h - what a frame says that is no place in the program: a note, whose
 * text is in brackets, as its maker and the files write it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What a note says, as far as anything depends on it. */
enum note_kind {
    NOTE_NONE,        /* a place */
    NOTE_OTHER,       /* such as "[any tag]" */
    NOTE_TRUNCATED,   /* above a stack whose outer part is not known, or for a
                         stack that is not known */
    NOTE_RUNNING,     /* the thread ran just before it was stopped */
    NOTE_THREAD_NAME, /* above the stack of a thread */
    NOTE_CUT,         /* in place of the middle of a stack */
    NOTE_GIVEN_UP,    /* a stack is cut or missing: --max-stop had passed */
    NOTE_NOWHERE,     /* the kernel does not tell where the thread is */
    NOTE_ENDED,       /* of a process */
    NOTE_THREAD,      /* thread numbers[0] waits for thread numbers[1] */
    NOTE_TAG,         /* numbers[0] is the tag of a message */
    NOTE_FROM,        /* ... the rank that it comes from */
    NOTE_TO,          /* ... the rank that it goes to */
    NOTE_CHILD,     /* the thread waits for processes that its own has started,
                         as the text says */
    NOTE_SUSPENDED, /* tasks of asyncio are suspended, as the text says */
};

struct note {
    enum note_kind kind;
    int32_t numbers[2]; /* not negative; 0 if the kind has none */
};

/* Whether the function of a frame is a note. */
bool note_is(const char *function);

/* What the function of a frame says. Any text is valid. */
struct note note_read(const char *function);
