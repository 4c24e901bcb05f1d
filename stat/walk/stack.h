/* stack.h - the addresses on the stack of one thread. */
#pragma once

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stat/walk/modules.h"
#include "stat/walk/stop.h"
#include "stat/walk/unwind.h"
#include "stat/walk/waits.h"
#include "stat/walk/walk.h"

/* Of a stack deeper than WALK_DEPTH_MAX the innermost half is kept, and as many
 * of the outermost frames. */
#define STACK_INNER_MAX (WALK_DEPTH_MAX / 2)
#define STACK_OUTER_MAX (WALK_DEPTH_MAX - STACK_INNER_MAX)

/* All zero is one that was not taken. Public to read. */
struct stack {
    pid_t tid;
    enum stop_state state;
    bool truncated;      /* unwinding failed: there are more frames */
    bool given_up;       /* ... for lack of time */
    size_t count;        /* of all frames, also those not kept */
    Dwarf_Addr *pcs;     /* those kept, innermost first; NULL: not taken */
    struct waits *waits; /* what the thread waits for; NULL: not asked */
};

/* How stacks are taken. */
struct taking {
    const struct modules *modules;
    struct unwind *unwind; /* attached to the process; NULL: a core file */
    pid_t pid;
    bool waits; /* find what the thread waits for */
    uint64_t deadline_ns;
};

/* Take the stack of a held thread. Returns 0 or -ENOMEM. */
int stack_take(struct stack *stack, const struct taking *taking);

/* Take the stack of a sleeping thread, if that is possible: only some of its
 * registers are known. Returns 1, or 0 if it must be held, or -ENOMEM. */
int stack_take_quiet(struct stack *stack,
                     const struct taking *taking,
                     const struct quiet *quiet);

/* Take the stack of a thread of a core file. Returns 0 or -ENOMEM. */
int stack_take_core(struct stack *stack,
                    const struct taking *taking,
                    Dwfl_Thread *thread);

/* Forget what was taken. */
void stack_fini(struct stack *stack);

/* How many addresses are kept. */
size_t stack_kept(const struct stack *stack);

/* The kept address number `index`, outermost first. */
Dwarf_Addr stack_address(const struct stack *stack, size_t index);
