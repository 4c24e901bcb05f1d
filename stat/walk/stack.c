/* stack.c - see stack.h. */
#include "stat/walk/stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat/clock.h"
#include "stat/walk/touch.h"

/* A stack that is being taken. The innermost frames are at the front; the rest
 * of the room is a ring, in which the outermost frames remain in the end. */
struct pcs {
    struct stack *stack;
    const struct taking *taking;
    Dwarf_Addr last; /* the outermost frame so far */
    Dwarf_Addr pcs[WALK_DEPTH_MAX];
};

/* For libdwfl: take one more frame. */
static int frame_take(Dwfl_Frame *state, void *arg)
{
    struct pcs *pcs = arg;
    struct stack *stack = pcs->stack;
    bool activation;
    Dwarf_Addr pc;
    size_t at;

    if (!dwfl_frame_pc(state, &pc, &activation))
        return DWARF_CB_ABORT;
    if (stack->count == WALK_UNWIND_MAX)
        return DWARF_CB_ABORT;
    if (clock_now_ns() >= pcs->taking->deadline_ns) {
        stack->given_up = true;
        return DWARF_CB_ABORT;
    }
    at = stack->count < STACK_INNER_MAX
             ? stack->count
             : STACK_INNER_MAX +
                   (stack->count - STACK_INNER_MAX) % STACK_OUTER_MAX;
    stack->count++;
    if (stack->waits)
        waits_take_frame(stack->waits, state);
    /* A return address is after the call, perhaps in the next line. */
    pcs->last = activation ? pc : pc - 1;
    pcs->pcs[at] = pcs->last;
    touch_address(pcs->last);
    return DWARF_CB_OK;
}

size_t stack_kept(const struct stack *stack)
{
    return stack->count < WALK_DEPTH_MAX ? stack->count : WALK_DEPTH_MAX;
}

/* Keep the frames taken. Returns 0 or -ENOMEM. */
static int pcs_keep(const struct pcs *pcs)
{
    struct stack *stack = pcs->stack;
    size_t kept = stack_kept(stack);

    stack->pcs = calloc(kept + 1, sizeof(*stack->pcs));
    if (!stack->pcs)
        return -ENOMEM;
    memcpy(stack->pcs, pcs->pcs, kept * sizeof(*stack->pcs));
    return 0;
}

/* Take one stack from the beginning. Returns whether unwinding reached its
 * end. */
static bool take_from(struct pcs *pcs, const struct quiet *quiet)
{
    const struct taking *taking = pcs->taking;
    struct stack *stack = pcs->stack;
    bool whole;

    stack->count = 0;
    waits_free(stack->waits);
    stack->waits = taking->waits ? waits_new() : NULL;
    whole = unwind_thread(taking->unwind, modules_dwfl(taking->modules),
                          stack->tid, quiet, frame_take, pcs) == 0;
    if (stack->waits)
        waits_take_memory(stack->waits, taking->pid);
    return whole;
}

int stack_take(struct stack *stack, const struct taking *taking)
{
    struct pcs pcs = {.stack = stack, .taking = taking};

    stack->truncated = !take_from(&pcs, NULL);
    return pcs_keep(&pcs);
}

/* If unwinding needs a register that is not known, such as a frame pointer, the
 * stack seems to end. */
int stack_take_quiet(struct stack *stack,
                     const struct taking *taking,
                     const struct quiet *quiet)
{
    struct pcs pcs = {.stack = stack, .taking = taking};
    int r;

    if (!take_from(&pcs, quiet) || stack->count == 0 ||
        !unwind_is_outermost(modules_dwfl(taking->modules), pcs.last) ||
        !quiet_is_same(quiet, taking->pid, stack->tid))
        return 0;
    r = pcs_keep(&pcs);
    return r < 0 ? r : 1;
}

int stack_take_core(struct stack *stack,
                    const struct taking *taking,
                    Dwfl_Thread *thread)
{
    struct pcs pcs = {.stack = stack, .taking = taking};

    stack->truncated = dwfl_thread_getframes(thread, frame_take, &pcs) != 0;
    return pcs_keep(&pcs);
}

void stack_fini(struct stack *stack)
{
    free(stack->pcs);
    waits_free(stack->waits);
    stack->pcs = NULL;
    stack->waits = NULL;
}

Dwarf_Addr stack_address(const struct stack *stack, size_t index)
{
    size_t kept = stack_kept(stack);
    size_t number = kept - 1 - index; /* counts from the innermost */

    if (stack->count > WALK_DEPTH_MAX && number >= STACK_INNER_MAX)
        number = STACK_INNER_MAX +
                 (stack->count - 1 - STACK_INNER_MAX - index) % STACK_OUTER_MAX;
    return stack->pcs[number];
}
