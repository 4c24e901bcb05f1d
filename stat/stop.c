/* stop.c - see stop.h. */
#include "stat/stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum thread_state {
    THREAD_ASKED, /* seized and interrupted */
    THREAD_HELD,
    THREAD_GONE,
};

struct thread {
    pid_t tid;
    enum thread_state state;
    int signal; /* which it was about to take when it stopped; or 0 */
};

struct stop {
    pid_t pid;
    struct thread *threads;
    size_t count;
    size_t room;
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
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

/* Whether `pid` has ended and only waits to be waited for. */
static bool has_exited(pid_t pid)
{
    char path[64];
    char text[512];
    const char *state;
    size_t len;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return true;
    len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    state = strrchr(text, ')'); /* a name may contain anything */
    return state &&
           (strncmp(state, ") Z", 3) == 0 || strncmp(state, ") X", 3) == 0);
}

/* Say why `pid` may not be traced, and what to do. */
static int say_not_permitted(pid_t pid, struct cop_error *error)
{
    char path[64];
    struct stat status;
    long tracer;
    long scope;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    tracer = proc_number(path, "TracerPid:", 0);
    scope = proc_number("/proc/sys/kernel/yama/ptrace_scope", "", 0);
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    if (tracer > 0)
        return cop_error_set(error, -EPERM,
                             "pid %d: not permitted: process %ld traces it "
                             "already: end that debugger first",
                             (int)pid, tracer);
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

static bool thread_known(const struct stop *stop, pid_t tid)
{
    size_t i;

    /* From the back: what was found last is asked for least often, but a
     * process makes threads in the order of the folder. */
    for (i = stop->count; i-- > 0;) {
        if (stop->threads[i].tid == tid)
            return true;
    }
    return false;
}

/* Seize one thread. Returns 1 if it is new and alive, 0 if not. */
static int thread_seize(struct stop *stop, pid_t tid)
{
    struct thread *grown;
    size_t room;

    if (thread_known(stop, tid))
        return 0;
    if (stop->count == stop->room) {
        room = stop->room ? 2 * stop->room : 16;
        grown = reallocarray(stop->threads, room, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        stop->threads = grown;
        stop->room = room;
    }
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
        return errno == ESRCH ? 0 : -errno;
    stop->threads[stop->count++] = (struct thread){tid, THREAD_ASKED, 0};
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0)
        stop->threads[stop->count - 1].state = THREAD_GONE;
    return 1;
}

/* Seize all threads not yet known. Returns how many there were. */
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
    while (r >= 0 && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        r = thread_seize(stop, (pid_t)strtol(entry->d_name, NULL, 10));
        found += r > 0;
    }
    closedir(folder);
    return r < 0 ? r : found;
}

/* Take note of what became of the threads. Returns how many are still asked
 * to stop. */
static size_t threads_look(struct stop *stop)
{
    size_t asked = 0;
    size_t i;
    int status;
    pid_t tid;

    for (i = 0; i < stop->count; i++) {
        struct thread *thread = &stop->threads[i];

        if (thread->state != THREAD_ASKED)
            continue;
        tid = waitpid(thread->tid, &status, __WALL | WNOHANG);
        if (tid == 0) {
            asked++;
        } else if (tid < 0 || !WIFSTOPPED(status)) {
            thread->state = THREAD_GONE;
        } else {
            thread->state = THREAD_HELD;
            if (status >> 16 == 0) /* not a stop of ours: a signal's */
                thread->signal = WSTOPSIG(status);
        }
    }
    return asked;
}

/* Seize, and wait, until there is no thread that is not known. */
static int threads_hold(struct stop *stop, uint64_t deadline_ns)
{
    struct timespec pause = {0, 20000};
    size_t asked;
    int found;

    for (;;) {
        found = threads_seize(stop);
        if (found < 0)
            return found;
        asked = threads_look(stop);
        if (asked == 0 && found == 0)
            return 0;
        if (now_ns() >= deadline_ns)
            return 0;
        if (asked == 0)
            continue;
        /* waitpid() has no deadline; a thread stops within microseconds, or
         * else only when its system call ends. */
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 2000000)
            pause.tv_nsec *= 2;
    }
}

int stop_new(struct stop **out,
             pid_t pid,
             uint32_t timeout_ms,
             struct cop_error *error)
{
    struct stop *stop = calloc(1, sizeof(*stop));
    size_t alive = 0;
    size_t i;
    int r;

    if (!stop)
        return -ENOMEM;
    stop->pid = pid;
    r = threads_hold(stop, now_ns() + (uint64_t)timeout_ms * 1000000);
    for (i = 0; i < stop->count; i++)
        alive += stop->threads[i].state != THREAD_GONE;
    if (r == -EPERM && has_exited(pid))
        r = -ESRCH;
    if (r == -EPERM) {
        r = say_not_permitted(pid, error);
    } else if (r == -ESRCH || (r == 0 && alive == 0)) {
        r = cop_error_set(error, -ESRCH,
                          "pid %d: no such process, or it has "
                          "exited",
                          (int)pid);
    } else if (r < 0) {
        cop_error_set(error, r, "pid %d: cannot stop it: %s", (int)pid,
                      strerror(-r));
    }
    if (r < 0) {
        stop_free(stop);
        return r;
    }
    *out = stop;
    return 0;
}

void stop_free(struct stop *stop)
{
    size_t i;

    if (!stop)
        return;
    threads_look(stop);
    for (i = 0; i < stop->count; i++) {
        const struct thread *thread = &stop->threads[i];

        if (thread->state == THREAD_HELD)
            ptrace(PTRACE_DETACH, thread->tid, NULL,
                   (void *)(intptr_t)thread->signal);
    }
    free(stop->threads);
    free(stop);
}

size_t stop_count(const struct stop *stop)
{
    return stop->count;
}

pid_t stop_tid(const struct stop *stop, size_t index)
{
    return stop->threads[index].tid;
}

bool stop_holds(const struct stop *stop, size_t index)
{
    return stop->threads[index].state == THREAD_HELD;
}
