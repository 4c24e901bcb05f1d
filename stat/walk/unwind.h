/* unwind.h - registers and memory of threads for libdwfl: of threads that are
 * held, and of some that sleep. */
#pragma once

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "stat/walk/quiet.h"

/* Bytes of memory that are read at once. */
#define UNWIND_PAGE 4096

/* What is unwound; in the caller's storage. */
struct unwind {
    pid_t tid;                 /* the thread that is unwound now */
    const struct quiet *quiet; /* its registers; NULL: it is held */
    bool by_ptrace;            /* its memory cannot be read otherwise */
    Dwarf_Addr page;           /* what is in `words`; 0: nothing */
    Dwarf_Word words[UNWIND_PAGE / sizeof(Dwarf_Word)];
};

/* Attach `dwfl`, once, to process `pid`; `unwind` is kept. Returns whether that
 * worked. */
bool unwind_attach(struct unwind *unwind, Dwfl *dwfl, pid_t pid);

/* Call `fn` for each frame of a thread, innermost first: one that is held, or
 * one with the registers of `quiet`. As dwfl_getthread_frames(). */
int unwind_thread(struct unwind *unwind,
                  Dwfl *dwfl,
                  pid_t tid,
                  const struct quiet *quiet,
                  int (*fn)(Dwfl_Frame *frame, void *arg),
                  void *arg);

/* Whether no function has called that at `pc`: a stack that ends elsewhere
 * broke off. */
bool unwind_is_outermost(Dwfl *dwfl, Dwarf_Addr pc);
