/* walk.c - see walk.h. */
#include "stat/walk/walk.h"

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stat/clock.h"
#include "stat/walk/guard.h"
#include "stat/walk/kinds.h"
#include "stat/walk/names.h"
#include "stat/walk/stacks.h"
#include "stat/walk/stop.h"
#include "stat/walk/thread.h"
#include "stat/walk/touch.h"

/* Approximate time to let one thread go. */
#define RELEASE_NS 10000

struct walker {
    struct names *names;
    struct kinds *kinds;
    struct stragglers *stragglers;
};

void walker_free(struct walker *walker)
{
    if (!walker)
        return;
    stragglers_free(walker->stragglers);
    kinds_free(walker->kinds);
    names_free(walker->names);
    free(walker);
}

int walker_new(struct walker **out)
{
    struct walker *walker = calloc(1, sizeof(*walker));
    int r;

    if (!walker)
        return -ENOMEM;
    r = names_new(&walker->names);
    if (r == 0)
        r = kinds_new(&walker->kinds);
    if (r == 0)
        r = stragglers_new(&walker->stragglers);
    if (r < 0) {
        walker_free(walker);
        return r;
    }
    *out = walker;
    return 0;
}

struct names *walker_names(const struct walker *walker)
{
    return walker->names;
}

struct kinds *walker_kinds(const struct walker *walker)
{
    return walker->kinds;
}

size_t walker_release(struct walker *walker)
{
    return stragglers_release(walker->stragglers);
}

/* Refuse a process that cannot be walked for a reason other than permission. */
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

/* Read what is mapped; if that is not permitted, the stop reports why. */
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

/* Read what is mapped before the process is stopped. During execve() that
 * cannot be read, which is no error here. */
static int modules_look_early(struct modules **out,
                              pid_t pid,
                              struct cop_error *error)
{
    int r = modules_look(out, pid, error);

    return r == -ENOEXEC || r == -EIO ? 0 : r;
}

/* Read again what a stopped process has mapped, if it has called execve()
 * since. */
static int modules_look_late(struct modules **modules,
                             pid_t pid,
                             struct cop_error *error)
{
    if (*modules && modules_are_present(*modules))
        return 0;
    modules_free(*modules);
    *modules = NULL;
    return modules_look(modules, pid, error);
}

/* Attach to a stopped process. Without `modules` there is nothing to take,
 * which is an error unless the process has ended. */
static int attach(const struct modules *modules,
                  struct unwind *unwind,
                  const struct stop *stop,
                  pid_t pid,
                  struct cop_error *error)
{
    if (!modules && stop_is_alive(stop))
        return cop_error_set(error, -EPERM,
                             "pid %d: not permitted: its program cannot be "
                             "read",
                             (int)pid);
    /* Only once: libdwfl keeps this state of the process. */
    if (modules && !unwind_attach(unwind, modules_dwfl(modules), pid))
        return cop_error_set(error, -EIO, "pid %d: cannot unwind it: %s",
                             (int)pid, dwfl_errmsg(-1));
    return 0;
}

/* Run before other processes while a process is held, if permitted: on a busy
 * machine the daemon would wait for milliseconds again and again, and the held
 * process with it. Returns whether it does. */
static bool raise_priority(void)
{
    struct sched_param first = {.sched_priority = 1};

    return sched_getscheduler(0) == SCHED_OTHER &&
           sched_setscheduler(0, SCHED_RR, &first) == 0;
}

/* Return to normal priority. */
static void hurry_end(bool hurried)
{
    struct sched_param as_others = {.sched_priority = 0};

    if (hurried)
        sched_setscheduler(0, SCHED_OTHER, &as_others);
}

/* Stop the process, take its stacks, and let it go.
 *
 * memory  its pid, or that of a thread that has not ended */
static int hold_process(struct walker *walker,
                        struct stacks *stacks,
                        struct modules **modules,
                        pid_t pid,
                        pid_t memory,
                        const struct walk_options *options,
                        uint64_t *stop_ns,
                        struct cop_error *error)
{
    uint64_t begin_ns = 0, max_ns, patience_ns, release_ns;
    struct stop *stop = NULL;
    bool hurried = raise_priority();
    struct unwind unwind;
    bool python = *modules && modules_python(*modules)->runtime != 0;
    int r;

    max_ns = (uint64_t)options->max_stop_ms * 1000000;
    patience_ns = (uint64_t)options->patience_ms * 1000000;
    guard_arm(options->guard, options->max_stop_ms);
    r = stop_new(&stop, walker->stragglers, pid, patience_ns, max_ns / 2,
                 options->threads_max,
                 python ? STOP_SPARES_SLEEPERS : STOP_SPARES_CALLS, error);
    if (r < 0)
        goto out;
    begin_ns = stop_begin_ns(stop) ? stop_begin_ns(stop) : clock_now_ns();
    release_ns = stop_count(stop) * RELEASE_NS;
    if (release_ns > max_ns / 2)
        release_ns = max_ns / 2;
    if (stop_is_alive(stop))
        r = modules_look_late(modules, memory, error);
    if (r == 0)
        r = attach(*modules, &unwind, stop, pid, error);
    if (r == 0)
        r = stacks_take(stacks, stop, *modules, &unwind,
                        begin_ns + max_ns - release_ns);
out:
    begin_ns = stop ? stop_begin_ns(stop) : 0;
    stop_free(stop);
    guard_disarm(options->guard);
    *stop_ns = begin_ns > 0 ? clock_now_ns() - begin_ns : 0;
    hurry_end(hurried);
    return r;
}

int walk_process(struct walker *walker,
                 pid_t pid,
                 const struct walk_options *options,
                 uint64_t *stop_ns,
                 walk_fn fn,
                 void *arg,
                 struct cop_error *error)
{
    struct modules *modules = NULL;
    struct stacks *stacks = NULL;
    pid_t memory = thread_with_memory(pid);
    size_t passed = 0;
    int r;

    r = touch_memory(pid) ? check_program(memory, error)
                          : cop_error_set(error, -ETIMEDOUT, "pid %d: %s",
                                          (int)pid, touch_reason());
    if (r == 0)
        r = modules_look_early(&modules, memory, error);
    touch_file(pid, "");
    if (r == 0)
        r = stacks_new(&stacks, pid, options);
    if (r == 0)
        r = stacks_look(stacks);
    if (r == 0)
        r = hold_process(walker, stacks, &modules, pid, memory, options,
                         stop_ns, error);
    if (r == 0)
        r = stacks_pass(stacks, walker->names, walker->kinds, modules, &passed,
                        fn, arg);
    if (r == 0 && passed == 0)
        r = cop_error_set(error, -ESRCH,
                          "pid %d: no such process, or it has exited",
                          (int)pid);
    stacks_free(stacks);
    modules_free(modules);
    return r;
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
    struct walk_options options = WALK_OPTIONS_INIT;
    struct stacks *stacks = NULL;
    struct modules *modules = NULL;
    size_t passed;
    int r;

    r = modules_new_core(&modules, path);
    if (r < 0)
        return cop_error_set(error, r, "%s: %s", path,
                             r == -ENOEXEC ? "not a core file that can be read"
                                           : strerror(-r));
    *pid = dwfl_pid(modules_dwfl(modules));
    program[0] = '\0';
    dwfl_getmodules(modules_dwfl(modules), core_program, program, 0);
    r = stacks_new(&stacks, *pid, &options);
    if (r == 0)
        r = stacks_take_core(stacks, modules);
    if (r == -EIO)
        r = cop_error_set(error, -ENOEXEC, "%s: cannot read its threads: %s",
                          path, dwfl_errmsg(-1));
    if (r == 0)
        r = stacks_pass(stacks, walker->names, walker->kinds, modules, &passed,
                        fn, arg);
    stacks_free(stacks);
    modules_free(modules);
    return r;
}
