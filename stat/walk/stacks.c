/* stacks.c - see stacks.h. */
#include "stat/walk/stacks.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "stat/clock.h"
#include "stat/list.h"
#include "stat/table.h"
#include "stat/walk/stack.h"
#include "stat/walk/states.h"
#include "stat/walk/suspended.h"
#include "stat/walk/thread.h"
#include "stat/walk/waits.h"

/* Most frames of a stack that are notes. */
#define NOTES_MAX (11 + SUSPENDED_NOTES)

/* Longest note. */
#define NOTE_SIZE (THREAD_PLACE_SIZE + 64)

/* From this many frames on, "walk given up" shows only the first digit of their
 * number: stacks with different notes are not merged. */
#define GIVEN_UP_EXACT 100

struct stacks {
    const struct walk_options *options;
    pid_t pid;
    int signal; /* that had stopped the process before; 0: none */
    struct stack *stacks;
    size_t count;
    size_t left_out;
    struct states *states;
    const struct python_place *place;
    struct python *python;         /* NULL: not a Python program */
    bool is_unknown;               /* the interpreter is of another version */
    struct frame notes[NOTES_MAX]; /* of the stack that is being passed on */
    char texts[NOTES_MAX][NOTE_SIZE];
    size_t note_count;
};

int stacks_new(struct stacks **out,
               pid_t pid,
               const struct walk_options *options)
{
    struct stacks *stacks = calloc(1, sizeof(*stacks));

    if (!stacks)
        return -ENOMEM;
    stacks->pid = pid;
    stacks->options = options;
    *out = stacks;
    return 0;
}

void stacks_free(struct stacks *stacks)
{
    if (!stacks)
        return;
    states_free(stacks->states);
    for (size_t i = 0; i < stacks->count; i++)
        stack_fini(&stacks->stacks[i]);
    free(stacks->stacks);
    python_free(stacks->python);
    free(stacks);
}

int stacks_look(struct stacks *stacks)
{
    return states_look(&stacks->states, stacks->pid, stacks->options);
}

/* Take the stacks of threads that have none yet. `wanted[i]` becomes whether
 * thread i must be held for that. */
static int take_all(struct stacks *stacks,
                    const struct stop *stop,
                    struct taking *taking,
                    bool *wanted)
{
    size_t i;
    int r = 0;

    for (i = 0; r >= 0 && i < stop_count(stop); i++) {
        struct stack *stack = &stacks->stacks[i];
        enum stop_state state = stop_state(stop, i);

        if (stack->pcs)
            continue;
        stack->tid = stop_tid(stop, i);
        stack->state = state == STOP_QUIET ? STOP_HELD : state;
        if (stack->state != STOP_HELD)
            continue;
        stack->given_up = clock_now_ns() >= taking->deadline_ns;
        if (stack->given_up)
            continue;
        taking->waits = stacks->options->waits && i < WAITS_THREADS_MAX;
        if (state == STOP_HELD) {
            r = stack_take(stack, taking);
            continue;
        }
        r = stack_take_quiet(stack, taking, stop_quiet(stop, i));
        wanted[i] = r == 0;
    }
    stacks->count = i;
    return r < 0 ? r : 0;
}

/* Make room for the stacks of all threads. */
static int reserve_stacks(struct stacks *stacks,
                          const struct stop *stop,
                          bool **wanted)
{
    size_t count = stop_count(stop) + 1, had = stacks->count;
    struct stack *grown =
        reallocarray(stacks->stacks, count, sizeof(*stacks->stacks));

    if (!grown)
        return -ENOMEM;
    memset(grown + had, 0, (count - had) * sizeof(*grown));
    stacks->stacks = grown;
    free(*wanted);
    *wanted = calloc(count, sizeof(**wanted));
    return *wanted ? 0 : -ENOMEM;
}

/* Hold the threads that are `*wanted`, if any, and take their stacks. */
static int take_rest(struct stacks *stacks,
                     struct stop *stop,
                     struct taking *taking,
                     bool **wanted)
{
    size_t i;
    int r;

    for (i = 0; i < stacks->count && !(*wanted)[i]; i++)
        ;
    if (i == stacks->count)
        return 0;
    r = stop_rest(stop, *wanted);
    if (r == 0)
        r = reserve_stacks(stacks, stop, wanted);
    return r < 0 ? r : take_all(stacks, stop, taking, *wanted);
}

/* Whether a spared thread has run since its stack was taken. */
static bool has_moved(const struct stacks *stacks, const struct stop *stop)
{
    for (size_t i = 0; i < stacks->count; i++)
        if (stop_state(stop, i) == STOP_QUIET &&
            !quiet_is_same(stop_quiet(stop, i), stacks->pid,
                           stacks->stacks[i].tid))
            return true;
    return false;
}

/* Read the frames of Python. They are those of one moment if no thread has run
 * meanwhile. If a spared one has, all are held, and everything that was read
 * from them is read again. */
static int take_python(struct stacks *stacks,
                       struct stop *stop,
                       struct taking *taking,
                       bool **wanted)
{
    int r = python_read(&stacks->python, stacks->place, taking->deadline_ns);

    if (r < 0 || !stacks->python || !has_moved(stacks, stop))
        return r;
    python_free(stacks->python);
    stacks->python = NULL;
    for (size_t i = 0; i < stacks->count; i++) {
        (*wanted)[i] = stop_state(stop, i) == STOP_QUIET;
        if ((*wanted)[i])
            stack_fini(&stacks->stacks[i]);
    }
    r = take_rest(stacks, stop, taking, wanted);
    return r < 0 ? r
                 : python_read(&stacks->python, stacks->place,
                               taking->deadline_ns);
}

int stacks_take(struct stacks *stacks,
                struct stop *stop,
                const struct modules *modules,
                struct unwind *unwind,
                uint64_t deadline_ns)
{
    struct taking taking = {.modules = modules,
                            .unwind = unwind,
                            .pid = stacks->pid,
                            .deadline_ns = deadline_ns};
    bool *wanted = NULL;
    int r = reserve_stacks(stacks, stop, &wanted);

    stacks->place = modules ? modules_python(modules) : NULL;
    if (r == 0)
        r = take_all(stacks, stop, &taking, wanted);
    if (r == 0)
        r = take_rest(stacks, stop, &taking, &wanted);
    if (r == 0 && stacks->place)
        r = take_python(stacks, stop, &taking, &wanted);
    free(wanted);
    stacks->signal = stop_signal(stop);
    stacks->left_out = stop_left_out(stop);
    stacks->is_unknown = r == 0 && stacks->place && !stacks->python &&
                         !python_is_known(stacks->place);
    return r;
}

/* For libdwfl: take the stack of one thread of a core file. */
static int core_thread(Dwfl_Thread *thread, void *arg)
{
    struct taking taking = {.deadline_ns = UINT64_MAX};
    struct stacks *stacks = arg;
    struct stack *stack;

    if (list_grow(&stacks->stacks, stacks->count, sizeof(*stack)) < 0)
        return DWARF_CB_ABORT;
    stack = &stacks->stacks[stacks->count++];
    *stack = (struct stack){.tid = dwfl_thread_tid(thread), .state = STOP_HELD};
    return stack_take_core(stack, &taking, thread) < 0 ? DWARF_CB_ABORT
                                                       : DWARF_CB_OK;
}

int stacks_take_core(struct stacks *stacks, const struct modules *modules)
{
    return dwfl_getthreads(modules_dwfl(modules), core_thread, stacks) == 0
               ? 0
               : -EIO;
}

/* Make a note for the present stack, for which it is valid. */
__attribute__((format(printf, 2, 3))) static struct frame note(
    struct stacks *stacks, const char *format, ...)
{
    char *text = stacks->texts[stacks->note_count++];
    va_list args;

    va_start(args, format);
    vsnprintf(text, NOTE_SIZE, format, args);
    va_end(args);
    return FRAME_NOTE(text);
}

/* Find the name of a thread, if it has one of its own. Digits, which count
 * threads of one kind, become "#". Returns whether it has one. */
static bool own_name(char *text, const struct stacks *stacks, pid_t tid)
{
    struct thread_status process, thread;
    const char *from;

    if (!stacks->options->names || tid == stacks->pid ||
        thread_status(&process, stacks->pid, stacks->pid) < 0 ||
        thread_status(&thread, stacks->pid, tid) < 0 ||
        strcmp(process.name, thread.name) == 0)
        return false;
    for (from = thread.name; *from; from++) {
        if (!isdigit((unsigned char)*from))
            *text++ = *from;
        else if (!isdigit((unsigned char)from[1]))
            *text++ = '#';
    }
    *text = '\0';
    return true;
}

/* The frames with which each stack of a process begins. Returns how many. */
static size_t add_head_frames(struct stacks *stacks,
                              struct frame *frames,
                              pid_t tid)
{
    char name[THREAD_NAME_SIZE];
    size_t count = 0;

    stacks->note_count = 0;
    if (stacks->signal)
        frames[count++] = note(stacks, "[stopped by %s]",
                               thread_signal(name, stacks->signal));
    if (own_name(name, stacks, tid))
        frames[count++] = note(stacks, FRAME_THREAD "%s]", name);
    return count;
}

/* The number of walked frames to show. */
static size_t rounded(size_t count)
{
    size_t unit = 1;

    while (count >= GIVEN_UP_EXACT && count / unit >= 10)
        unit *= 10;
    return count / unit * unit;
}

/* A note that there was no time for more. */
static struct frame given_up(struct stacks *stacks, const struct stack *stack)
{
    uint32_t ms = stacks->options->max_stop_ms;

    if (stack->count == 0)
        return note(stacks, FRAME_GIVEN_UP "%u ms: not walked]", ms);
    return note(stacks,
                FRAME_GIVEN_UP "%u ms: walk given up after %s%zu frames]", ms,
                stack->count < GIVEN_UP_EXACT ? "" : "more than ",
                rounded(stack->count));
}

/* A note that unwinding failed, and why if that is known: what is outside of the
 * innermost obstacle is a guess. */
static struct frame truncated(struct stacks *stacks,
                              const struct stack *stack,
                              const struct modules *modules)
{
    char why[NOTE_SIZE / 2] = "";

    if (stack->count == 0)
        return note(stacks, "[no stack]");
    for (size_t i = stack_kept(stack); i-- > 0 && !why[0];)
        unwind_obstacle(why, sizeof(why), modules_dwfl(modules),
                        stack_address(stack, i));
    return note(stacks, FRAME_TRUNCATED "%s%s]", why[0] ? ": " : "", why);
}

/* Append the Python frames of one call of the interpreter, from `*next` on.
 * Returns how many. */
static size_t add_python_call(struct frame *frames,
                              const struct stacks *stacks,
                              const struct python_frame *python,
                              size_t python_count,
                              size_t *next)
{
    size_t count = 0, first = *next;

    while (*next < python_count &&
           (*next == first || !python[*next].is_entry)) {
        const struct python_frame *frame = &python[(*next)++];

        if (frame->is_import && !stacks->options->native)
            continue;
        frames[count++] = (struct frame){.function = frame->function,
                                         .file = frame->file,
                                         .line = frame->line,
                                         .module = role_text(frame->role)};
    }
    return count;
}

/* Whether an address is in the interpreter's module. */
static bool is_interpreter(const struct stacks *stacks, Dwarf_Addr pc)
{
    return pc >= stacks->place->first && pc < stacks->place->last;
}

/* Whether a stack is in an interpreter whose Python frames cannot be read. */
static bool is_unread(const struct stacks *stacks, const struct stack *stack)
{
    const struct python_place *place = stacks->place;

    if (!stacks->is_unknown || stacks->options->native)
        return false;
    for (size_t i = 0; i < stack->count && i < WALK_DEPTH_MAX; i++) {
        Dwarf_Addr pc = stack_address(stack, i);

        if (pc >= place->eval && pc < place->behind)
            return true;
    }
    return false;
}

/* Whether an address is in the interpreter's function that waits for one of the
 * program's locks. */
static bool is_lock(const struct stacks *stacks, Dwarf_Addr pc)
{
    return pc >= stacks->place->lock && pc < stacks->place->lock_behind;
}

/* Assemble the frames of the program, outermost first. The Python frames follow
 * their call of the interpreter; the interpreter's own are left out, unless
 * they are wanted, but for a wait for a lock. Returns how many frames, or
 * -ENOMEM. */
static ssize_t add_frames(struct stacks *stacks,
                          struct frame *frames,
                          const struct stack *stack,
                          struct names *names,
                          struct kinds *kinds,
                          struct modules *modules,
                          const struct python_frame *python,
                          size_t python_count)
{
    size_t kept = stack_kept(stack);
    size_t left = 0, next = 0, count = 0, i;
    bool is_own, was_own = false, unread = is_unread(stacks, stack);
    bool in = false; /* a call of MPI */
    bool locks = false;
    int r;

    for (i = 0; python_count > 0 && i < kept; i++)
        left += is_interpreter(stacks, stack_address(stack, i));
    for (i = 0; i <= kept; i++) {
        Dwarf_Addr pc = i < kept ? stack_address(stack, i) : 0;

        /* Frames are left if a call is in a part of the interpreter that has no
         * symbol. */
        while (left == 0 && next < python_count)
            count += add_python_call(frames + count, stacks, python,
                                     python_count, &next);
        if (locks)
            frames[count++] = (struct frame){.function = FRAME_LOCK,
                                             .file = "",
                                             .module = role_text(ROLE_THREADS)};
        if (i == kept)
            break;
        if (stack->count > WALK_DEPTH_MAX && i == STACK_OUTER_MAX)
            frames[count++] = FRAME_NOTE(FRAME_CUT);
        is_own = (python_count > 0 || unread) && is_interpreter(stacks, pc);
        if (unread && is_own && !was_own)
            frames[count++] = FRAME_NOTE(FRAME_PYTHON_UNREAD);
        was_own = is_own;
        if (!is_own || stacks->options->native) {
            r = names_place(names, modules, pc, &frames[count]);
            if (r == 0 && stack->waits && !in)
                r = waits_jumped(&in, &frames[count], kinds, names, modules,
                                 stacks->pid,
                                 i > 0 ? stack_address(stack, i - 1) : 0, pc);
            if (r < 0)
                return r;
            count += 1 + (size_t)r;
        }
        left -= is_own && python_count > 0;
        locks = is_own && python_count > 0 && !stacks->options->native &&
                is_lock(stacks, pc);
        if (python_count > 0 && is_own && pc >= stacks->place->eval &&
            pc < stacks->place->behind)
            count += add_python_call(frames + count, stacks, python,
                                     python_count, &next);
    }
    return (ssize_t)count;
}

/* Cut the middle out of a stack that became too deep with the frames of Python.
 * Returns how many are left. */
static size_t cut_middle(struct frame *frames, size_t count)
{
    if (count <= WALK_DEPTH_MAX + 1)
        return count;
    frames[STACK_OUTER_MAX] = FRAME_NOTE(FRAME_CUT);
    memmove(frames + STACK_OUTER_MAX + 1, frames + count - STACK_INNER_MAX,
            STACK_INNER_MAX * sizeof(*frames));
    return WALK_DEPTH_MAX + 1;
}

/* Append notes on what the thread waits for. Returns how many, or -ENOMEM. */
static int add_waits(struct stacks *stacks,
                     struct frame *frames,
                     const struct stack *stack,
                     struct names *names,
                     struct kinds *kinds,
                     struct modules *modules)
{
    char notes[WAITS_NOTES][WAITS_NOTE_SIZE];
    int count = 0, i;

    if (stack->waits && stack->count <= WALK_DEPTH_MAX)
        count = waits_notes(notes, stack->waits, kinds, names, modules,
                            stacks->pid, stack->tid, stack->pcs, stack->count);
    for (i = 0; i < count; i++)
        frames[i] = note(stacks, "%s", notes[i]);
    return count;
}

/* Append notes on the interpreter's global lock, its garbage collector, and tasks
 * of asyncio, for a thread with the id `inner` in its own process. Returns how
 * many. */
static size_t add_python_notes(struct stacks *stacks,
                               struct frame *frames,
                               const struct stack *stack,
                               pid_t inner)
{
    const struct python_suspended *tasks =
        python_suspended(stacks->python, inner);
    char text[SUSPENDED_NOTE_SIZE];
    pid_t holder = 0;
    size_t count = 0, i;

    for (i = 0; tasks && suspended_note(text, tasks, i); i++)
        frames[count++] = note(stacks, "%s", text);
    if (python_collects(stacks->python, inner))
        frames[count++] = FRAME_NOTE(FRAME_COLLECTOR);
    if (!stack->waits ||
        !python_is_gil(stacks->python, waits_address(stack->waits), &holder))
        return count;
    /* In a container the holder's id here is not known. */
    if (inner == stack->tid && holder > 0 && holder != inner)
        frames[count++] = note(stacks, "[thread %d" FRAME_GIL "%d holds]",
                               (int)inner, (int)holder);
    else
        frames[count++] = FRAME_NOTE("[waits for the GIL]");
    return count;
}

/* Turn the addresses of one stack into frames and pass them on. */
static int stack_pass(struct stacks *stacks,
                      const struct stack *stack,
                      struct names *names,
                      struct kinds *kinds,
                      struct modules *modules,
                      walk_fn fn,
                      void *arg)
{
    size_t kept = stack_kept(stack);
    pid_t inner =
        stacks->python ? thread_inner_tid(stacks->pid, stack->tid) : 0;
    const struct python_frame *python = NULL;
    size_t python_count = 0, count;
    struct frame *frames;
    const char *state;
    ssize_t added;
    int r;

    if (stacks->python)
        python = python_frames(stacks->python, inner, &python_count);
    /* Before each frame there may be the call that has jumped to it. */
    frames = calloc(2 * kept + python_count + NOTES_MAX, sizeof(*frames));
    if (!frames)
        return -ENOMEM;
    count = add_head_frames(stacks, frames, stack->tid);
    if (stack->given_up)
        frames[count++] = given_up(stacks, stack);
    else if (stack->truncated || kept == 0)
        frames[count++] = truncated(stacks, stack, modules);
    added = add_frames(stacks, frames + count, stack, names, kinds, modules,
                       python, python_count);
    r = added < 0 ? (int)added : 0;
    if (r < 0)
        goto out;
    count += cut_middle(frames + count, (size_t)added);
    r = add_waits(stacks, frames + count, stack, names, kinds, modules);
    if (r < 0)
        goto out;
    count += (size_t)r;
    count += add_python_notes(stacks, frames + count, stack, inner);
    state = states_note(stacks->states, stack->tid);
    if (state)
        frames[count++] = FRAME_NOTE(state);
    r = fn(arg, stack->tid, frames, count);
out:
    free(frames);
    return r;
}

/* Pass on a stack that consists of one note. */
static int note_pass(
    struct stacks *stacks, pid_t tid, const char *text, walk_fn fn, void *arg)
{
    struct frame frames[NOTES_MAX];
    size_t count = add_head_frames(stacks, frames, tid);

    frames[count++] = note(stacks, "%s", text);
    return fn(arg, tid, frames, count);
}

/* Describe the state of a thread that did not stop. Returns false if it has
 * ended. */
static bool say_asked(char *text, const struct stacks *stacks, pid_t tid)
{
    char place[THREAD_PLACE_SIZE];
    struct thread_status status;

    if (thread_status(&status, stacks->pid, tid) < 0 ||
        thread_has_ended(status.state))
        return false;
    thread_place(place, stacks->pid, tid);
    if (status.state == 'D')
        snprintf(text, NOTE_SIZE, FRAME_STUCK "%s]",
                 place[0] ? place : FRAME_STUCK_SOMEWHERE);
    else
        snprintf(text, NOTE_SIZE, FRAME_GIVEN_UP "%u ms: not walked]",
                 stacks->options->max_stop_ms);
    return true;
}

/* Describe how the first thread ended, which others may outlive. Returns false
 * if it no longer exists. */
static bool say_ended(char *text, const struct stacks *stacks, bool others)
{
    struct thread_status status;
    char name[THREAD_NAME_SIZE];

    if (thread_status(&status, stacks->pid, stacks->pid) < 0 ||
        !thread_has_ended(status.state))
        return false;
    if (others)
        snprintf(text, NOTE_SIZE, "[main thread has exited]");
    else if (WIFSIGNALED(status.exited))
        snprintf(text, NOTE_SIZE, FRAME_ZOMBIE "killed by %s]",
                 thread_signal(name, WTERMSIG(status.exited)));
    else if (WEXITSTATUS(status.exited) > 0)
        snprintf(text, NOTE_SIZE, FRAME_ZOMBIE "exited with status %d]",
                 WEXITSTATUS(status.exited));
    else
        snprintf(text, NOTE_SIZE, FRAME_ZOMBIE "exited]");
    return true;
}

int stacks_pass(struct stacks *stacks,
                struct names *names,
                struct kinds *kinds,
                struct modules *modules,
                size_t *passed,
                walk_fn fn,
                void *arg)
{
    char text[NOTE_SIZE];
    size_t others = 0, i;
    int r = 0;

    *passed = 0;
    for (i = 0; i < stacks->count; i++)
        others += stacks->stacks[i].state != STOP_GONE;
    for (i = 0; r == 0 && i < stacks->count; i++) {
        const struct stack *stack = &stacks->stacks[i];

        if (stack->state == STOP_HELD)
            r = stack_pass(stacks, stack, names, kinds, modules, fn, arg);
        else if (stack->state == STOP_ASKED
                     ? say_asked(text, stacks, stack->tid)
                     : stack->tid == stacks->pid &&
                           say_ended(text, stacks, others > 0))
            r = note_pass(stacks, stack->tid, text, fn, arg);
        else
            continue; /* it has ended since */
        ++*passed;
    }
    if (r == 0 && stacks->left_out > 0) {
        snprintf(text, sizeof(text), "[%s%zu%s]",
                 stacks->left_out < GIVEN_UP_EXACT ? "" : "more than ",
                 rounded(stacks->left_out), FRAME_LEFT_OUT);
        r = note_pass(stacks, stacks->pid, text, fn, arg);
        ++*passed;
    }
    return r;
}
