/* stop.c - see stop.h. */
#include "stat/walk/stop.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stat/clock.h"
#include "stat/list.h"
#include "stat/table.h"
#include "stat/walk/thread.h"

/* Longest pause between two checks for threads that have stopped. */
#define PAUSE_MAX_NS 2000000

/* The part of the time limit, as 1/n, that seizing may take. */
#define SEIZE_PART 2

struct thread {
    UT_hash_handle hh;
    pid_t tid;
    enum stop_state state;
    bool late;          /* it was already a straggler */
    int signal;         /* that it was about to take when it stopped; or 0 */
    struct quiet quiet; /* if STOP_QUIET */
};

struct stop {
    struct stragglers *stragglers;
    pid_t pid;
    int signal; /* that had already stopped the process */
    struct thread *hash;
    struct thread **threads;
    size_t count;
    size_t threads_max;
    size_t left_out;
    enum stop_spares spares;
    pid_t *likely; /* threads that may be spared, found before the first stop;
                      in order */
    size_t likely_count;
    uint64_t patience_ns;
    uint64_t limit_ns;
    uint64_t begin_ns; /* when the first thread stopped; 0: none yet */
};

struct stragglers {
    pid_t *tids;
    size_t count;
    size_t room;
};

int stragglers_new(struct stragglers **out)
{
    struct stragglers *stragglers = calloc(1, sizeof(*stragglers));

    if (!stragglers)
        return -ENOMEM;
    *out = stragglers;
    return 0;
}

void stragglers_free(struct stragglers *stragglers)
{
    if (!stragglers)
        return;
    stragglers_release(stragglers);
    free(stragglers->tids);
    free(stragglers);
}

/* The signal with which to continue a thread that stopped with `status`. */
static int pending_signal(int status)
{
    return status >> 16 == 0 ? WSTOPSIG(status) : 0; /* else our own stop */
}

size_t stragglers_release(struct stragglers *stragglers)
{
    size_t kept = 0, i;
    int status;

    for (i = 0; i < stragglers->count; i++) {
        pid_t tid = stragglers->tids[i];
        pid_t found = waitpid(tid, &status, __WALL | WNOHANG);

        if (found == 0)
            stragglers->tids[kept++] = tid;
        else if (found == tid && WIFSTOPPED(status))
            ptrace(PTRACE_DETACH, tid, NULL,
                   (void *)(intptr_t)pending_signal(status));
    }
    stragglers->count = kept;
    return kept;
}

static bool stragglers_has(const struct stragglers *stragglers, pid_t tid)
{
    size_t i;

    for (i = 0; i < stragglers->count && stragglers->tids[i] != tid; i++)
        ;
    return i < stragglers->count;
}

/* Make room for `more` stragglers. Returns 0 or -ENOMEM. */
static int stragglers_reserve(struct stragglers *stragglers, size_t more)
{
    size_t room = stragglers->count + more;
    pid_t *grown;

    if (room <= stragglers->room)
        return 0;
    grown = reallocarray(stragglers->tids, 2 * room, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    stragglers->tids = grown;
    stragglers->room = 2 * room;
    return 0;
}

/* The number after `key` in a file of /proc; `otherwise` if there is none. */
static long proc_number(const char *path, const char *key, long otherwise)
{
    char line[256];
    long number = otherwise;
    FILE *file = fopen(path, "re");

    if (!file)
        return otherwise;
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, key, strlen(key)) == 0) {
            number = strtol(line + strlen(key), NULL, 10);
            break;
        }
    }
    fclose(file);
    return number;
}

/* Report why `pid` may not be traced, and what to do. */
static int say_not_permitted(pid_t pid, struct cop_error *error)
{
    char path[64];
    struct thread_status tracer_status;
    struct stat status;
    long tracer;
    long scope;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    tracer = proc_number(path, "TracerPid:", 0);
    scope = proc_number("/proc/sys/kernel/yama/ptrace_scope", "", 0);
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    if (tracer > 0) {
        if (thread_status(&tracer_status, (pid_t)tracer, (pid_t)tracer) < 0)
            strcpy(tracer_status.name, "?");
        return cop_error_set(error, -EPERM,
                             "pid %d: not permitted: process %ld (%s) traces "
                             "it already: end that debugger first",
                             (int)pid, tracer, tracer_status.name);
    }
    if (stat(path, &status) == 0 && geteuid() != 0 &&
        status.st_uid != geteuid())
        return cop_error_set(error, -EPERM,
                             "pid %d: not permitted: it belongs to user %u: "
                             "run as that user or as root",
                             (int)pid, (unsigned)status.st_uid);
    if (scope > 0)
        return cop_error_set(error, -EPERM,
                             "pid %d: not permitted: ptrace_scope is %ld: run "
                             "as root%s",
                             (int)pid, scope,
                             scope < 3 ? ", or write 0 to "
                                         "/proc/sys/kernel/yama/ptrace_scope"
                                       : "");
    return cop_error_set(error, -EPERM,
                         "pid %d: not permitted: it is protected (a kernel "
                         "thread, or a program with privileges): run as root "
                         "with the capability SYS_PTRACE",
                         (int)pid);
}

/* Add a thread; NULL without memory. */
static struct thread *thread_add(struct stop *stop, pid_t tid)
{
    struct thread *thread;

    if (list_grow(&stop->threads, stop->count, sizeof(struct thread *)) < 0)
        return NULL;
    thread = calloc(1, sizeof(*thread));
    if (!thread)
        return NULL;
    thread->tid = tid;
    HASH_ADD(hh, stop->hash, tid, sizeof(tid), thread);
    if (!thread->hh.tbl) {
        free(thread);
        return NULL;
    }
    stop->threads[stop->count++] = thread;
    return thread;
}

/* The time since the first stop. */
static uint64_t stop_age_ns(const struct stop *stop)
{
    return stop->begin_ns > 0 ? clock_now_ns() - stop->begin_ns : 0;
}

static int by_number(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

    return (x > y) - (x < y);
}

/* Whether to spare a thread. Only likely threads are checked: to check each one
 * while others are stopped would take too long. */
static bool is_spared(const struct stop *stop, struct thread *thread)
{
    return stop->spares != STOP_SPARES_NONE && stop->likely_count > 0 &&
           bsearch(&thread->tid, stop->likely, stop->likely_count,
                   sizeof(thread->tid), by_number) &&
           quiet_look(&thread->quiet, stop->pid, thread->tid,
                      stop->spares == STOP_SPARES_SLEEPERS);
}

/* Find the threads that may be spared. Returns 0 or -ENOMEM. */
static int find_likely(struct stop *stop)
{
    struct dirent *entry;
    char path[64];
    DIR *folder;
    int r = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)stop->pid);
    folder = stop->spares != STOP_SPARES_NONE ? opendir(path) : NULL;
    while (folder && r == 0 && (entry = readdir(folder)) != NULL) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (tid <= 0 || !quiet_is_likely(stop->pid, tid,
                                         stop->spares == STOP_SPARES_SLEEPERS))
            continue;
        r = list_grow(&stop->likely, stop->likely_count, sizeof(tid));
        if (r == 0)
            stop->likely[stop->likely_count++] = tid;
    }
    if (folder)
        closedir(folder);
    if (stop->likely_count > 0)
        qsort(stop->likely, stop->likely_count, sizeof(*stop->likely),
              by_number);
    return r;
}

/* Seize a thread and ask it to stop. Returns 1, or 0 if it has ended. */
static int thread_ask(struct stop *stop, struct thread *thread)
{
    struct thread_status status;
    pid_t tid = thread->tid;
    int r;

    thread->state = STOP_GONE;
    if (stragglers_reserve(stop->stragglers, stop->count) < 0)
        return -ENOMEM;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0) {
        r = -errno;
        thread->late = stragglers_has(stop->stragglers, tid);
        if (!thread->late &&
            (r == -ESRCH || thread_status(&status, stop->pid, tid) < 0 ||
             thread_has_ended(status.state)))
            return 0;
        if (!thread->late)
            return r;
    }
    if (stop->begin_ns == 0)
        stop->begin_ns = clock_now_ns();
    /* On failure the thread has just ended, and can be waited for. */
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    thread->state = STOP_ASKED;
    return 1;
}

/* Seize one thread, unless it is spared. Returns 1 if it is new and alive, else
 * 0. */
static int thread_seize(struct stop *stop, pid_t tid)
{
    struct thread *thread;

    HASH_FIND(hh, stop->hash, &tid, sizeof(tid), thread);
    if (thread)
        return 0;
    if (stop->count >= stop->threads_max) {
        stop->left_out++;
        return 0;
    }
    thread = thread_add(stop, tid);
    if (!thread)
        return -ENOMEM;
    if (!is_spared(stop, thread))
        return thread_ask(stop, thread);
    thread->state = STOP_QUIET;
    return 1;
}

/* Seize all unknown threads for which there is time. Returns how many. */
static int threads_seize(struct stop *stop)
{
    char path[64];
    struct dirent *entry;
    DIR *folder;
    int found = 0;
    int r = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)stop->pid);
    folder = opendir(path);
    if (!folder)
        return errno == ENOENT ? -ESRCH : -errno;
    stop->left_out = 0;
    while (r >= 0 && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        /* Releasing a thread takes as long as seizing it. */
        if (stop_age_ns(stop) >= stop->limit_ns / SEIZE_PART)
            stop->threads_max = stop->count;
        r = thread_seize(stop, (pid_t)strtol(entry->d_name, NULL, 10));
        found += r > 0;
    }
    closedir(folder);
    return r < 0 ? r : found;
}

/* Update the states of threads. With `all`, check held threads too: if the
 * process was killed, its first thread is reported to us only after all others
 * were waited for. Returns how many threads have not stopped yet. */
static size_t threads_look(struct stop *stop, bool all)
{
    size_t asked = 0;
    int status;
    pid_t tid;

    for (size_t i = 0; i < stop->count; i++) {
        struct thread *thread = stop->threads[i];

        if (thread->state != STOP_ASKED && (!all || thread->state != STOP_HELD))
            continue;
        tid = waitpid(thread->tid, &status, __WALL | WNOHANG);
        if (tid == 0) {
            asked += thread->state == STOP_ASKED;
        } else if (tid < 0 || !WIFSTOPPED(status)) {
            thread->state = STOP_GONE;
        } else {
            thread->state = STOP_HELD;
            thread->signal = pending_signal(status);
            /* By this ptrace(2) shows that the process was stopped before. */
            if (status >> 16 == PTRACE_EVENT_STOP &&
                WSTOPSIG(status) != SIGTRAP)
                stop->signal = WSTOPSIG(status);
        }
    }
    return asked;
}

/* Whether all threads that have not stopped sleep in the kernel and take no
 * signal, and each was waited for long enough or was a straggler before. */
static bool all_are_stuck(const struct stop *stop)
{
    bool patient = stop_age_ns(stop) < stop->patience_ns;
    struct thread_status status;

    for (size_t i = 0; i < stop->count; i++) {
        const struct thread *thread = stop->threads[i];

        if (thread->state != STOP_ASKED)
            continue;
        if (patient && !thread->late)
            return false;
        if (thread_status(&status, stop->pid, thread->tid) == 0 &&
            status.state != 'D')
            return false;
    }
    return true;
}

/* Seize threads and wait, until no unknown thread is left. */
static int threads_hold(struct stop *stop)
{
    struct timespec pause = {0, 20000};
    bool settled = false; /* the last check found no new threads */
    size_t asked;
    int found;

    for (;;) {
        /* Do not read the folder again while known threads must stop. */
        found = settled ? 0 : threads_seize(stop);
        if (found < 0)
            return found;
        asked = threads_look(stop, pause.tv_nsec >= PAUSE_MAX_NS);
        if (asked == 0 && found == 0 && !settled)
            return 0;
        if (stop_age_ns(stop) >= stop->limit_ns || all_are_stuck(stop))
            return 0;
        settled = asked > 0 && found == 0;
        if (asked == 0)
            continue;
        /* waitpid() has no timeout. A thread stops within microseconds, or only
         * when its system call ends. */
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < PAUSE_MAX_NS)
            pause.tv_nsec *= 2;
    }
}

/* Release all threads, and free them. */
static void threads_release(struct stop *stop)
{
    threads_look(stop, false);
    for (size_t i = 0; i < stop->count; i++) {
        const struct thread *thread = stop->threads[i];

        bool held = thread->state == STOP_HELD;

        if (held && ptrace(PTRACE_DETACH, thread->tid, NULL,
                           (void *)(intptr_t)thread->signal) == 0)
            continue;
        /* A thread that was killed while held remains until we wait for it. */
        if (held || (thread->state == STOP_ASKED && !thread->late))
            stop->stragglers->tids[stop->stragglers->count++] = thread->tid;
    }
}

int stop_new(struct stop **out,
             struct stragglers *stragglers,
             pid_t pid,
             uint64_t patience_ns,
             uint64_t limit_ns,
             size_t threads_max,
             enum stop_spares spares,
             struct cop_error *error)
{
    struct stop *stop = calloc(1, sizeof(*stop));
    int r;

    if (!stop)
        return -ENOMEM;
    stop->stragglers = stragglers;
    stop->pid = pid;
    stop->threads_max = threads_max;
    stop->spares = spares;
    stop->patience_ns = patience_ns;
    stop->limit_ns = limit_ns;
    r = find_likely(stop);
    if (r == 0)
        r = threads_hold(stop);
    if (r == -EPERM)
        r = say_not_permitted(pid, error);
    else if (r == -ESRCH)
        cop_error_set(error, r, "pid %d: no such process, or it has exited",
                      (int)pid);
    else if (r < 0)
        cop_error_set(error, r, "pid %d: cannot stop it: %s", (int)pid,
                      strerror(-r));
    if (r < 0) {
        stop_free(stop);
        return r;
    }
    *out = stop;
    return 0;
}

const struct quiet *stop_quiet(const struct stop *stop, size_t index)
{
    return &stop->threads[index]->quiet;
}

int stop_rest(struct stop *stop, const bool *wanted)
{
    size_t count = stop->count, i;
    int r = 0;

    stop->spares = STOP_SPARES_NONE;
    for (i = 0; r >= 0 && i < count; i++)
        if (wanted[i])
            r = thread_ask(stop, stop->threads[i]);
    return r < 0 ? r : threads_hold(stop);
}

void stop_free(struct stop *stop)
{
    if (!stop)
        return;
    threads_release(stop);
    TABLE_FREE(stop->hash);
    free(stop->threads);
    free(stop->likely);
    free(stop);
}

uint64_t stop_begin_ns(const struct stop *stop)
{
    return stop->begin_ns;
}

size_t stop_count(const struct stop *stop)
{
    return stop->count;
}

size_t stop_left_out(const struct stop *stop)
{
    return stop->left_out;
}

pid_t stop_tid(const struct stop *stop, size_t index)
{
    return stop->threads[index]->tid;
}

enum stop_state stop_state(const struct stop *stop, size_t index)
{
    return stop->threads[index]->state;
}

bool stop_is_alive(const struct stop *stop)
{
    for (size_t i = 0; i < stop->count; i++)
        if (stop->threads[i]->state != STOP_GONE)
            return true;
    return false;
}

int stop_signal(const struct stop *stop)
{
    return stop->signal;
}
