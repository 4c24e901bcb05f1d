/* walk.c - see walk.h. */
#include "stat/walk.h"

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stat/names.h"
#include "stat/stop.h"

struct walker {
    struct names *names;
};

/* The addresses on one stack, innermost first. Of one that is deeper than
 * WALK_DEPTH_MAX the innermost half of that is kept at the front, and behind it
 * goes round what came last: in the end the outermost. */
struct stack {
    pid_t tid;
    bool stuck;     /* it did not stop */
    bool truncated; /* unwinding broke off: there are more frames */
    size_t count;   /* of frames that were there */
    Dwarf_Addr *pcs;
};

#define INNER_MAX (WALK_DEPTH_MAX / 2)
#define OUTER_MAX (WALK_DEPTH_MAX - INNER_MAX)

/* The stacks of one process. */
struct stacks {
    struct stack *stacks;
    size_t count;
};

int walker_new(struct walker **out)
{
    struct walker *walker = calloc(1, sizeof(*walker));
    int r;

    if (!walker)
        return -ENOMEM;
    r = names_new(&walker->names);
    if (r < 0) {
        free(walker);
        return r;
    }
    *out = walker;
    return 0;
}

void walker_free(struct walker *walker)
{
    if (!walker)
        return;
    names_free(walker->names);
    free(walker);
}

struct names *walker_names(const struct walker *walker)
{
    return walker->names;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Refuse what cannot be walked for another reason than permission. */
static int check_program(pid_t pid, struct cop_error *error)
{
    unsigned char head[EI_NIDENT];
    char path[64];
    ssize_t len = -1;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        len = read(fd, head, sizeof(head));
        close(fd);
    }
    if (len == (ssize_t)sizeof(head) && sizeof(void *) == 8 &&
        head[EI_CLASS] == ELFCLASS32)
        return cop_error_set(error, -ENOEXEC,
                             "pid %d: a 32-bit program, which is not "
                             "supported: leave it out",
                             (int)pid);
    return 0;
}

/* For libdwfl: one more frame. */
static int frame_take(Dwfl_Frame *state, void *arg)
{
    struct stack *stack = arg;
    bool activation;
    Dwarf_Addr pc;
    size_t at;

    if (!dwfl_frame_pc(state, &pc, &activation))
        return DWARF_CB_ABORT;
    if (stack->count == WALK_UNWIND_MAX)
        return DWARF_CB_ABORT;
    at = stack->count < INNER_MAX
             ? stack->count
             : INNER_MAX + (stack->count - INNER_MAX) % OUTER_MAX;
    stack->count++;
    /* A return address is behind the call, perhaps in the next line. */
    stack->pcs[at] = activation ? pc : pc - 1;
    return DWARF_CB_OK;
}

/* Take the addresses of all held threads. */
static int stacks_take(struct stacks *stacks,
                       const struct stop *stop,
                       const struct modules *modules)
{
    size_t i;

    stacks->stacks = calloc(stop_count(stop) + 1, sizeof(*stacks->stacks));
    if (!stacks->stacks)
        return -ENOMEM;
    for (i = 0; i < stop_count(stop); i++) {
        struct stack *stack = &stacks->stacks[stacks->count++];

        stack->tid = stop_tid(stop, i);
        stack->stuck = !stop_holds(stop, i);
        if (stack->stuck)
            continue;
        stack->pcs = calloc(WALK_DEPTH_MAX, sizeof(*stack->pcs));
        if (!stack->pcs)
            return -ENOMEM;
        stack->truncated =
            dwfl_getthread_frames(modules_dwfl(modules), stack->tid, frame_take,
                                  stack) != 0;
    }
    return 0;
}

static void stacks_fini(struct stacks *stacks)
{
    size_t i;

    for (i = 0; i < stacks->count; i++)
        free(stacks->stacks[i].pcs);
    free(stacks->stacks);
}

/* Write where in the kernel a thread is stuck into `text`. Returns whether
 * the thread still exists. */
static bool stuck_text(char *text, size_t size, pid_t pid, pid_t tid)
{
    char path[96];
    char symbol[128];
    size_t len = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/wchan", (int)pid, (int)tid);
    file = fopen(path, "re");
    if (!file)
        return false;
    len = fread(symbol, 1, sizeof(symbol) - 1, file);
    fclose(file);
    symbol[len] = '\0';
    if (len == 0 || strcmp(symbol, "0") == 0)
        snprintf(text, size, "[stuck in the kernel]");
    else
        snprintf(text, size, "[stuck in %s]", symbol);
    return true;
}

/* The address number `index` of those that are kept, outermost first. */
static Dwarf_Addr address_at(const struct stack *stack, size_t index)
{
    size_t kept = stack->count < WALK_DEPTH_MAX ? stack->count : WALK_DEPTH_MAX;
    size_t number = kept - 1 - index; /* innermost first */

    if (stack->count > WALK_DEPTH_MAX && number >= INNER_MAX)
        number = INNER_MAX + (stack->count - 1 - INNER_MAX - index) % OUTER_MAX;
    return stack->pcs[number];
}

/* Place the frames of one stack and pass them on. */
static int stack_pass(const struct walker *walker,
                      struct modules *modules,
                      const struct stack *stack,
                      walk_fn fn,
                      void *arg)
{
    struct frame frames[WALK_DEPTH_MAX + 2];
    size_t kept = stack->count < WALK_DEPTH_MAX ? stack->count : WALK_DEPTH_MAX;
    size_t count = 0;
    size_t i;
    char cut[64];
    int r;

    if (stack->truncated)
        frames[count++] = FRAME_NOTE("[truncated]");
    for (i = 0; i < kept; i++) {
        if (stack->count > WALK_DEPTH_MAX && i == OUTER_MAX) {
            snprintf(cut, sizeof(cut), "[%zu frames cut]",
                     stack->count - WALK_DEPTH_MAX);
            frames[count++] = FRAME_NOTE(cut);
        }
        r = names_place(walker->names, modules, address_at(stack, i),
                        &frames[count++]);
        if (r < 0)
            return r;
    }
    if (count == 0)
        frames[count++] = FRAME_NOTE("[no stack]");
    return fn(arg, stack->tid, frames, count);
}

static int stacks_pass(const struct walker *walker,
                       struct modules *modules,
                       const struct stacks *stacks,
                       pid_t pid,
                       walk_fn fn,
                       void *arg)
{
    char text[160];
    size_t i;
    int r;

    for (i = 0; i < stacks->count; i++) {
        const struct stack *stack = &stacks->stacks[i];
        struct frame stuck = FRAME_NOTE(text);

        if (!stack->stuck)
            r = stack_pass(walker, modules, stack, fn, arg);
        else if (stuck_text(text, sizeof(text), pid, stack->tid))
            r = fn(arg, stack->tid, &stuck, 1);
        else
            continue; /* it has ended meanwhile */
        if (r < 0)
            return r;
    }
    return 0;
}

/* Look at what is mapped; without the right to, stopping will say why. */
static int modules_look(struct modules **out,
                        pid_t pid,
                        struct cop_error *error)
{
    int r = modules_new(out, pid);

    if (r == -EPERM || r == -EACCES || r == -ENOENT || r == -ESRCH)
        return 0;
    if (r < 0)
        return cop_error_set(error, r, "pid %d: cannot read its mappings: %s",
                             (int)pid, strerror(-r));
    return 0;
}

int walk_process(struct walker *walker,
                 pid_t pid,
                 uint32_t timeout_ms,
                 uint64_t *stop_ns,
                 walk_fn fn,
                 void *arg,
                 struct cop_error *error)
{
    struct modules *modules = NULL;
    struct stacks stacks = {NULL, 0};
    struct stop *stop = NULL;
    uint64_t begin_ns;
    int r;

    r = check_program(pid, error);
    if (r < 0)
        return r;
    r = modules_look(&modules, pid, error);
    if (r < 0)
        goto out;
    begin_ns = now_ns();
    r = stop_new(&stop, pid, timeout_ms, error);
    if (r < 0)
        goto out;
    if (!modules) {
        r = cop_error_set(error, -EPERM,
                          "pid %d: not permitted: its program cannot be read",
                          (int)pid);
        goto out;
    }
    /* Once: libdwfl keeps to this state of the process. */
    r = dwfl_linux_proc_attach(modules_dwfl(modules), pid, true);
    if (r != 0) {
        r = cop_error_set(error, r > 0 ? -r : -EIO,
                          "pid %d: cannot unwind it: %s", (int)pid,
                          r > 0 ? strerror(r) : dwfl_errmsg(-1));
        goto out;
    }
    r = stacks_take(&stacks, stop, modules);
    stop_free(stop);
    stop = NULL;
    *stop_ns = now_ns() - begin_ns;
    if (r == 0)
        r = stacks_pass(walker, modules, &stacks, pid, fn, arg);
out:
    stop_free(stop);
    stacks_fini(&stacks);
    modules_free(modules);
    return r;
}

/* For libdwfl: one thread of a core file. */
static int core_thread(Dwfl_Thread *thread, void *arg)
{
    struct stacks *stacks = arg;
    struct stack *stack, *grown;

    grown = reallocarray(stacks->stacks, stacks->count + 1, sizeof(*grown));
    if (!grown)
        return DWARF_CB_ABORT;
    stacks->stacks = grown;
    stack = &grown[stacks->count++];
    *stack = (struct stack){.tid = dwfl_thread_tid(thread)};
    stack->pcs = calloc(WALK_DEPTH_MAX, sizeof(*stack->pcs));
    if (!stack->pcs)
        return DWARF_CB_ABORT;
    stack->truncated = dwfl_thread_getframes(thread, frame_take, stack) != 0;
    return DWARF_CB_OK;
}

/* For libdwfl: the first file is the program. */
static int core_program(Dwfl_Module *module,
                        void **userdata,
                        const char *name,
                        Dwarf_Addr base,
                        void *arg)
{
    char *program = arg;

    (void)module;
    (void)userdata;
    (void)base;
    if (name[0] != '/')
        return DWARF_CB_OK;
    snprintf(program, WALK_PROGRAM_SIZE, "%s", name);
    return DWARF_CB_ABORT;
}

int walk_core(struct walker *walker,
              const char *path,
              pid_t *pid,
              char program[static WALK_PROGRAM_SIZE],
              walk_fn fn,
              void *arg,
              struct cop_error *error)
{
    struct stacks stacks = {NULL, 0};
    struct modules *modules = NULL;
    int r;

    r = modules_new_core(&modules, path);
    if (r < 0)
        return cop_error_set(error, r, "%s: %s", path,
                             r == -ENOEXEC ? "not a core file that can be read"
                                           : strerror(-r));
    *pid = dwfl_pid(modules_dwfl(modules));
    program[0] = '\0';
    dwfl_getmodules(modules_dwfl(modules), core_program, program, 0);
    if (dwfl_getthreads(modules_dwfl(modules), core_thread, &stacks) != 0)
        r = cop_error_set(error, -ENOEXEC, "%s: cannot read its threads: %s",
                          path, dwfl_errmsg(-1));
    if (r == 0)
        r = stacks_pass(walker, modules, &stacks, *pid, fn, arg);
    stacks_fini(&stacks);
    modules_free(modules);
    return r;
}
