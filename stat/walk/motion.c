/* motion.c - see motion.h. */
#include "stat/walk/motion.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/clock.h"
#include "stat/table.h"
#include "stat/tree/note.h"
#include "stat/walk/loop.h"
#include "stat/walk/thread.h"

/* How often a sleeping thread leaves the processor when it is stopped and
 * continued: to stop, and to sleep again. If processors are busy, the second
 * may come after the next look. */
#define SLEEPS_OF_A_STOP 2

/* A stop and its release take a thread some tens of microseconds: a thread that
 * has run longer than this has moved. That holds only for a thread that still
 * runs: time taken by a hypervisor counts as run time, too, and a thread that
 * sleeps again at the same place has not moved. */
#define RUN_NS 1000000

/* A thread that polls uses less than the first part, as 1/n, of the time; one that
 * uses more than the second computes, even if it sleeps at times. */
#define IDLE_PART 16
#define BUSY_PART 8

/* A thread and its activity at the last look. */
struct seen_thread {
    UT_hash_handle hh;
    pid_t tid;
    uint64_t sleeps;
    uint64_t run_ns;
    uint64_t looked_ns; /* when that was */
    uint64_t sample;
    bool owed;  /* one sleep of the previous stop was still to come */
    bool slept; /* it slept more often than its stops explain */
    bool ran;
    bool awake;   /* it was at each look, or has been since it ran */
    bool starved; /* it was at the look before, too */
    bool idle;    /* it has used almost no time since the look before */
    bool busy;    /* it has used much */
    bool asleep;
    enum thread_sleep sleep; /* when it last slept */
    struct loop loop;
};

struct motion {
    struct seen_thread *threads;
    uint64_t sample;
};

int motion_new(struct motion **out)
{
    struct motion *motion = calloc(1, sizeof(*motion));

    if (!motion)
        return -ENOMEM;
    *out = motion;
    return 0;
}

/* Forget threads that were not in the present sample, or all. */
static void forget(struct motion *motion, bool all)
{
    struct seen_thread *thread, *next;

    HASH_ITER (hh, motion->threads, thread, next) {
        if (!all && thread->sample == motion->sample)
            continue;
        HASH_DEL(motion->threads, thread);
        loop_fini(&thread->loop);
        free(thread);
    }
}

void motion_free(struct motion *motion)
{
    if (!motion)
        return;
    forget(motion, true);
    free(motion);
}

void motion_sample(struct motion *motion)
{
    forget(motion, false);
    motion->sample++;
}

/* Note how long a thread has run since it was looked at. */
static void note_time(struct seen_thread *thread,
                      const struct thread_efforts *now,
                      uint64_t now_ns)
{
    uint64_t run_ns = now->run_ns - thread->run_ns;
    uint64_t passed_ns = now_ns - thread->looked_ns;

    thread->ran = now->runs && run_ns > RUN_NS;
    thread->idle = run_ns <= RUN_NS || run_ns < passed_ns / IDLE_PART;
    thread->busy = run_ns > RUN_NS && run_ns > passed_ns / BUSY_PART;
}

/* Note the activity of one thread. Returns 0 or -ENOMEM. */
static int look_at(struct motion *motion, pid_t pid, pid_t tid, bool stopped)
{
    struct seen_thread *thread;
    struct thread_efforts now;
    enum thread_sleep sleep;
    uint64_t expected, now_ns = clock_now_ns();
    bool is_new;

    if (thread_efforts(&now, pid, tid) < 0)
        return 0;
    HASH_FIND(hh, motion->threads, &tid, sizeof(tid), thread);
    is_new = !thread;
    if (thread) {
        expected = thread->sleeps + thread->owed;
        expected += stopped ? SLEEPS_OF_A_STOP : 0;
        thread->slept = now.sleeps > expected;
        thread->owed = now.sleeps < expected;
        note_time(thread, &now, now_ns);
        thread->starved = thread->awake && now.runs;
    } else {
        thread = calloc(1, sizeof(*thread));
        if (!thread)
            return -ENOMEM;
        thread->tid = tid;
        HASH_ADD(hh, motion->threads, tid, sizeof(tid), thread);
        if (!thread->hh.tbl) {
            free(thread);
            return -ENOMEM;
        }
    }
    thread->awake = now.runs && (is_new || thread->awake || thread->ran);
    sleep = is_new || thread->slept ? thread_sleep(pid, tid) : SLEEP_UNKNOWN;
    if (sleep != SLEEP_UNKNOWN)
        thread->sleep = sleep;
    thread->asleep = now.asleep;
    thread->sleeps = now.sleeps;
    thread->run_ns = now.run_ns;
    thread->looked_ns = now_ns;
    thread->sample = motion->sample;
    return 0;
}

int motion_look(struct motion *motion,
                pid_t pid,
                size_t threads_max,
                bool stopped)
{
    struct dirent *entry;
    char path[64];
    size_t count = 0;
    DIR *folder;
    int r = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    folder = opendir(path);
    if (!folder)
        return 0; /* the stop will report why */
    while (r == 0 && count < threads_max && (entry = readdir(folder)) != NULL)
        if (entry->d_name[0] != '.') {
            r = look_at(motion, pid, (pid_t)strtol(entry->d_name, NULL, 10),
                        stopped);
            count++;
        }
    closedir(folder);
    return r;
}

/* Whether a frame is of Python: it has a name, as those of C do not yet, and is
 * no call of a library of C that has left no frame (waits_jumped()). */
static bool is_python(const struct frame *frame)
{
    enum role role = role_of(frame->module);

    return frame->function[0] && !note_is(frame->function) &&
           (role == ROLE_PROGRAM || role == ROLE_PYTHON ||
            role == ROLE_COLLECTIVE);
}

/* How much a thread with this stack, which no runtime has started, says. */
static enum weight weight_of(const struct frame *frames, size_t count)
{
    enum weight weight = WEIGHT_NATIVE;

    for (size_t i = 0; i < count && weight < WEIGHT_PROGRAM; i++)
        if (is_python(&frames[i]))
            weight = frames[i].module[0] ? WEIGHT_LIBRARY : WEIGHT_PROGRAM;
    return weight;
}

/* How many frames are outside the call in which the thread sleeps, which is none
 * of a runtime's: it may be met inside at any place. For a thread of Python that
 * is all below its last Python frame, else the C library. */
static int outside(size_t *out,
                   struct kinds *kinds,
                   const struct names *names,
                   const struct frame *frames,
                   size_t count)
{
    enum role role = ROLE_SYSTEM;
    const char *symbol;
    size_t i = count;

    while (i > 0 &&
           (!frames[i - 1].function[0] || note_is(frames[i - 1].function)))
        i--;
    if (i > 0) {
        *out = i;
        return 0;
    }
    for (i = count; i > 0 && role == ROLE_SYSTEM; i--) {
        int r = kinds_find(&role, &symbol, kinds, names, &frames[i - 1]);

        if (r < 0)
            return r;
    }
    *out = role == ROLE_SYSTEM ? count : i + 1;
    return 0;
}

/* Whether the program's own source is known at a frame. */
static bool is_in_source(struct names *names, const struct frame *frame)
{
    const struct frame *named;
    size_t count;

    if (frame->function[0])
        return !note_is(frame->function);
    if (names_of(names, frame->module, frame->offset, &named, &count) < 0)
        return false;
    while (count > 0 && (role_of(named[count - 1].module) != ROLE_PROGRAM ||
                         !named[count - 1].file[0]))
        count--;
    return count > 0;
}

/* A runtime's call in a stack, as runtime_places() finds it. */
struct call {
    size_t at;      /* the number of its frame */
    size_t wrapper; /* ... of a wrapper, that may be part of it */
    enum role role;
    unsigned inner; /* frames in the runtime, up to 2; 0: there is no call */
};

/* Note frame number `i`. A frame of the program ends the call. */
static void call_add(struct call *call,
                     struct names *names,
                     const struct frame *frames,
                     size_t i,
                     enum role role)
{
    bool python = is_python(&frames[i]);

    if (call->role != ROLE_PROGRAM) {
        if (role == ROLE_PROGRAM &&
            (call->inner == 2 || (call->inner == 0 && python)) &&
            is_in_source(names, &frames[i]))
            *call = (struct call){.wrapper = SIZE_MAX};
        else if (role_is_call(role) && !python && call->inner < 2)
            call->inner++;
        return;
    }
    if (role == ROLE_WRAPPER && call->wrapper > i)
        call->wrapper = i;
    if (!role_is_call(role))
        return;
    call->role = role;
    call->at = role == ROLE_MPI && call->wrapper < i ? call->wrapper : i;
    call->inner = !python;
}

/* Whether a thread that is outside of calls, and innermost in a function with
 * this role, computes although others take the processor. One that is late to sleep
 * again after a stop was asleep at a look before, and is in a system call, which
 * the C library makes. */
static bool is_starved(const struct seen_thread *thread,
                       const struct names *names,
                       const struct frame *innermost,
                       enum role role)
{
    if (!thread->starved)
        return false;
    if (role == ROLE_SYSTEM)
        return !innermost->function[0] && !names_may_call(names, innermost);
    return role == ROLE_PROGRAM || role == ROLE_LIBRARY || role == ROLE_PYTHON;
}

/* Find what the time and the sleeps of a thread say, which is in a call with this
 * role, and computes though it does not run. */
static void slept(struct evidence *out,
                  const struct seen_thread *thread,
                  enum role role,
                  bool starved)
{
    bool timed = thread->sleep == SLEEP_TIMED || thread->sleep == SLEEP_SHORT;

    out->ran = thread->slept ? !timed || thread->busy
                             : role == ROLE_PROGRAM && (thread->ran || starved);
    out->polled =
        !out->ran && ((thread->slept && timed) ||
                      (thread->asleep && thread->sleep == SLEEP_SHORT));
}

/* If a thread that polls is met between two sleeps, find where it was before. Of
 * `all` frames the last are notes. Returns 0 or -ENOMEM. */
static int follow(struct evidence *out,
                  struct seen_thread *thread,
                  struct kinds *kinds,
                  const struct names *names,
                  const struct frame *frames,
                  size_t all,
                  size_t count)
{
    bool is_short = thread->sleep == SLEEP_SHORT;
    bool sleeps = thread->asleep && is_short && out->decisive < count &&
                  note_read(frames[all - 1].function).kind != NOTE_RUNNING;
    int r;

    if (!is_short && thread->asleep) {
        loop_fini(&thread->loop);
        return 0;
    }
    r = loop_follow(&thread->loop, kinds, names, frames, all, count,
                    out->decisive, sleeps,
                    thread->idle && is_short && (sleeps || thread->slept));
    if (r <= 0)
        return r;
    out->ran = false;
    out->polled = true;
    out->decisive = thread->loop.outside;
    out->frames = thread->loop.frames;
    out->count = thread->loop.count;
    return 0;
}

int motion_evidence(struct evidence *out,
                    struct motion *motion,
                    struct kinds *kinds,
                    struct names *names,
                    pid_t tid,
                    const struct frame *frames,
                    size_t count)
{
    struct seen_thread *thread;
    struct call call = {.wrapper = SIZE_MAX};
    bool outermost = true;
    size_t all = count, i;
    const char *symbol;
    enum role role = ROLE_SYSTEM;
    int r = 0;

    while (count > 0 && note_is(frames[count - 1].function))
        count--; /* the scheduler's state */
    for (i = 0; i < count; i++) {
        r = kinds_find(&role, &symbol, kinds, names, &frames[i]);
        if (r < 0)
            return r;
        if (outermost && role_is_own(role) &&
            weight_of(frames + i, count - i) < WEIGHT_PROGRAM) {
            *out = (struct evidence){.weight = WEIGHT_OWN};
            return 0;
        }
        outermost &= role == ROLE_START || role == ROLE_LIBRARY;
        call_add(&call, names, frames, i, role);
    }
    if (call.role == ROLE_PROGRAM)
        r = outside(&call.at, kinds, names, frames, count);
    if (r < 0)
        return r;
    *out = (struct evidence){.decisive = call.at,
                             .weight = weight_of(frames, count)};
    HASH_FIND(hh, motion->threads, &tid, sizeof(tid), thread);
    if (!thread || role_polls(call.role))
        return 0;
    slept(out, thread, call.role,
          count > 0 && is_starved(thread, names, &frames[count - 1], role));
    return follow(out, thread, kinds, names, frames, all, count);
}
