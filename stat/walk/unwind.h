/* unwind.h - gives libdwfl the registers and memory of threads: of held
 * threads, and of some that sleep. */
#pragma once

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "stat/walk/quiet.h"

/* Bytes of memory that are read at once. */
#define UNWIND_PAGE 4096

/* The state of the unwinder; in the caller's storage. */
struct unwind {
    pid_t tid;                 /* the thread that is unwound now */
    const struct quiet *quiet; /* registers of a sleeping thread; NULL: held */
    bool by_ptrace;            /* only ptrace() can read its memory */
    Dwarf_Addr page;           /* whose bytes are in `words`; 0: none */
    Dwarf_Word words[UNWIND_PAGE / sizeof(Dwarf_Word)];
};

/* Attach `dwfl` to process `pid`, which works once; `unwind` is kept. Returns
 * whether it worked. */
bool unwind_attach(struct unwind *unwind, Dwfl *dwfl, pid_t pid);

/* Call `fn` for each frame of a held thread, or of a sleeping one with the
 * registers of `quiet`, innermost first. Works like dwfl_getthread_frames(). */
int unwind_thread(struct unwind *unwind,
                  Dwfl *dwfl,
                  pid_t tid,
                  const struct quiet *quiet,
                  int (*fn)(Dwfl_Frame *frame, void *arg),
                  void *arg);

/* The beginning of the function at `pc`, which has no symbol, by its entry in the
 * unwind table; 0 if that is not known. `*len` becomes its bytes. */
uint64_t unwind_function(Dwfl *dwfl, Dwarf_Addr pc, size_t *len);

/* Whether the function at `pc` has no caller. A stack that ends elsewhere is
 * incomplete. */
bool unwind_is_outermost(Dwfl *dwfl, Dwarf_Addr pc);

/* Write why a stack cannot be followed further out than `pc`; "" if that is not
 * known. */
void unwind_obstacle(char *text, size_t size, Dwfl *dwfl, Dwarf_Addr pc);
