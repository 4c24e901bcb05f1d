/* motion.c - see motion.h. */
#include "stat/walk/motion.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/table.h"
#include "stat/tree/note.h"
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

/* A thread and its activity at the last look. */
struct seen_thread {
    UT_hash_handle hh;
    pid_t tid;
    uint64_t sleeps;
    uint64_t run_ns;
    uint64_t sample;
    bool owed;  /* one sleep of the previous stop was still to come */
    bool slept; /* it slept more often than its stops explain */
    bool ran;
    bool timed; /* it sleeps in a call with a time-out */
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

void motion_free(struct motion *motion)
{
    if (!motion)
        return;
    TABLE_FREE(motion->threads);
    free(motion);
}

void motion_sample(struct motion *motion)
{
    struct seen_thread *thread, *next;

    HASH_ITER (hh, motion->threads, thread, next) {
        if (thread->sample == motion->sample)
            continue;
        HASH_DEL(motion->threads, thread);
        free(thread);
    }
    motion->sample++;
}

/* Note the activity of one thread. Returns 0 or -ENOMEM. */
static int look_at(struct motion *motion, pid_t pid, pid_t tid, bool stopped)
{
    struct seen_thread *thread;
    struct thread_efforts now;
    uint64_t expected;

    if (thread_efforts(&now, pid, tid) < 0)
        return 0;
    HASH_FIND(hh, motion->threads, &tid, sizeof(tid), thread);
    if (thread) {
        int timed = -1;

        expected = thread->sleeps + thread->owed;
        expected += stopped ? SLEEPS_OF_A_STOP : 0;
        thread->slept = now.sleeps > expected;
        thread->owed = now.sleeps < expected;
        if (thread->slept)
            timed = thread_sleeps_timed(pid, tid);
        if (timed >= 0)
            thread->timed = timed;
        thread->ran = !now.asleep && now.run_ns > thread->run_ns + RUN_NS;
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
    thread->sleeps = now.sleeps;
    thread->run_ns = now.run_ns;
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

/* How much a thread with this stack, which no runtime has started, says. Frames
 * of Python have names, those of C do not yet. */
static enum weight weight_of(const struct frame *frames, size_t count)
{
    enum weight weight = WEIGHT_NATIVE;

    for (size_t i = 0; i < count && weight < WEIGHT_PROGRAM; i++)
        if (frames[i].function[0] && !note_is(frames[i].function))
            weight = frames[i].module[0] ? WEIGHT_LIBRARY : WEIGHT_PROGRAM;
    return weight;
}

int motion_evidence(struct evidence *out,
                    struct motion *motion,
                    struct kinds *kinds,
                    const struct names *names,
                    pid_t tid,
                    const struct frame *frames,
                    size_t count)
{
    struct seen_thread *thread;
    enum role role = ROLE_PROGRAM;
    size_t i, wrapper = count;
    const char *symbol;
    bool outermost = true, slept;
    int r;

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
        if (role == ROLE_WRAPPER && wrapper > i)
            wrapper = i;
        if (role == ROLE_MPI && wrapper < i)
            i = wrapper;
        if (role_is_call(role))
            break;
    }
    HASH_FIND(hh, motion->threads, &tid, sizeof(tid), thread);
    slept = thread && thread->slept && !role_polls(role);
    *out = (struct evidence){
        .decisive = i,
        .ran =
            (slept && !thread->timed) || (thread && thread->ran && i == count),
        .polled = slept && thread->timed,
        .weight = weight_of(frames, count),
    };
    return 0;
}
