/* turns.c - processes that take turns, so that what they do can be counted. */
#include "bench/turns.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else /* then the test that needs this is skipped */
#define CALLGRIND_TOGGLE_COLLECT     ((void)0)
#define CALLGRIND_ZERO_STATS         ((void)0)
#define CALLGRIND_DUMP_STATS_AT(why) ((void)(why))
#define RUNNING_ON_VALGRIND          0
#endif

#define PUBLIC __attribute__((visibility("default")))

#define MEMBERS_MAX 64
#define NAME_LEN    32
#define NEVER       INT64_MAX

/* So often, once a millisecond, all must have found nothing to do before the
 * clock jumps: the kernel may be late with what was sent. */
#define QUIET_ROUNDS 50

/* When the clock begins. */
#define BEGIN_MS 1000000

struct member {
    pid_t pid; /* 0: it has ended */
    atomic_uint has_turn;
    uint32_t phase;
    int64_t until_ms; /* of its wait */
};

/* What the processes share. It is changed by the one whose turn it is, but for
 * `working` and the list, to which new processes add themselves. */
struct turns {
    atomic_int working; /* processes that run or start */
    atomic_uint count;
    struct member list[MEMBERS_MAX];
    pid_t last;     /* whose turn was the last */
    pid_t ender;    /* who ends all others, or 0 */
    uint32_t quiet; /* how many in a row had nothing to do */
    int64_t now_ms;
    uint32_t phase;
    char name[NAME_LEN]; /* of the phase */
};

_Static_assert(sizeof(struct turns) <= TURNS_LEN, "the file is too short");

static struct turns *turns;
static struct member *self; /* NULL: this process takes no turns */
static char phase_name[NAME_LEN] = "launch";
static unsigned own_calls; /* system calls of this file, in this phase */
static int (*real_spawn)(pid_t *,
                         const char *,
                         const posix_spawn_file_actions_t *,
                         const posix_spawnattr_t *,
                         char *const *,
                         char *const *);

/* ---- turns ---- */

static long own_call(long result)
{
    own_calls++;
    return result;
}

/* The process that was started next after `pid`, in a circle. */
static struct member *member_after(pid_t pid)
{
    struct member *next = NULL;
    struct member *first = NULL;

    for (uint32_t i = 0; i < turns->count; i++) {
        struct member *at = &turns->list[i];

        if (at->pid == 0)
            continue;
        if (at->pid > pid && (!next || at->pid < next->pid))
            next = at;
        if (!first || at->pid < first->pid)
            first = at;
    }
    return next ? next : first;
}

static uint32_t count_members(void)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < turns->count; i++)
        count += turns->list[i].pid != 0;
    return count;
}

static void pass_on(pid_t from)
{
    struct member *next = member_after(from);

    turns->last = next->pid;
    atomic_store(&next->has_turn, 1);
    own_call(syscall(SYS_futex, &next->has_turn, FUTEX_WAKE, 1, NULL, NULL, 0));
}

/* Wait for the turn. End with the first process, whose child this is. */
static void await_turn(void)
{
    struct timespec second = {.tv_sec = 1};

    while (atomic_exchange(&self->has_turn, 0) == 0)
        if (own_call(syscall(SYS_futex, &self->has_turn, FUTEX_WAIT, 0, &second,
                             NULL, 0)) < 0 &&
            errno == ETIMEDOUT &&
            own_call(syscall(SYS_kill, turns->list[0].pid, 0)) < 0)
            syscall(SYS_exit_group, EXIT_FAILURE);
}

/* callgrind counts all system calls, whether it collects or not: name those of
 * this file, too. */
static void write_phase(void)
{
    char label[NAME_LEN + 16];

    if (self->phase == turns->phase)
        return;
    snprintf(label, sizeof(label), "%u %s", own_calls, phase_name);
    CALLGRIND_DUMP_STATS_AT(label);
    own_calls = 0;
    self->phase = turns->phase;
    memcpy(phase_name, turns->name, NAME_LEN);
}

static void end_self(void)
{
    pid_t pid = self->pid;

    self->pid = 0;
    pass_on(pid);
    syscall(SYS_exit_group, EXIT_SUCCESS);
}

/* No process has anything to do: let the earliest timeout pass. */
static void jump(void)
{
    int64_t until_ms = NEVER;

    for (uint32_t i = 0; i < turns->count; i++)
        if (turns->list[i].pid != 0 && turns->list[i].until_ms < until_ms)
            until_ms = turns->list[i].until_ms;
    if (until_ms != NEVER && until_ms > turns->now_ms)
        turns->now_ms = until_ms;
    turns->quiet = 0;
}

static void look_on(void)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    uint32_t members = count_members();

    turns->quiet++;
    if (turns->quiet % members == 0)
        own_call(syscall(SYS_nanosleep, &pause, NULL));
    if (turns->quiet > QUIET_ROUNDS * members)
        jump();
    pass_on(self->pid);
}

/* Let others run until `is_ready`, or until `until_ms`. Not counted. */
static void wait_turn(bool (*is_ready)(int fd), int fd, int64_t until_ms)
{
    CALLGRIND_TOGGLE_COLLECT;
    self->until_ms = until_ms;
    /* While processes start, they come here in any order. So the last one that
     * comes has that one look first who is next after the last turn. */
    if (atomic_fetch_sub(&turns->working, 1) == 1)
        pass_on(turns->last);
    for (;;) {
        await_turn();
        write_phase();
        if (turns->ender != 0 && turns->ender != self->pid)
            end_self();
        if (is_ready(fd) || turns->now_ms >= until_ms)
            break;
        look_on();
    }
    turns->quiet = 0;
    atomic_store(&turns->working, 1);
    CALLGRIND_TOGGLE_COLLECT;
}

static bool always(int fd)
{
    return fd < 0;
}

static bool never(int fd)
{
    return fd >= 0;
}

static bool is_readable(int fd)
{
    struct pollfd waited = {.fd = fd, .events = POLLIN};

    return own_call(poll(&waited, 1, 0)) == 1;
}

/* All have looked twice since one of them had something to do. */
static bool is_quiet(int fd)
{
    (void)fd;
    return turns->quiet >= 2 * count_members();
}

static bool is_alone(int fd)
{
    (void)fd;
    return count_members() == 1;
}

/* ---- phases ---- */

PUBLIC void turns_phase(const char *name)
{
    if (!self)
        return;
    wait_turn(is_quiet, -1, NEVER);
    CALLGRIND_TOGGLE_COLLECT;
    snprintf(turns->name, NAME_LEN, "%s", name);
    turns->phase++;
    write_phase();
    CALLGRIND_TOGGLE_COLLECT;
}

PUBLIC void turns_end(void)
{
    if (!self)
        return;
    turns_phase("end");
    turns->ender = self->pid;
    wait_turn(is_alone, -1, NEVER);
    self = NULL;
}

/* ---- what stands in for the C library ---- */

PUBLIC int epoll_wait(int fd, struct epoll_event *out, int room, int timeout_ms)
{
    if (self && timeout_ms != 0) {
        wait_turn(is_readable, fd,
                  timeout_ms < 0 ? NEVER : turns->now_ms + timeout_ms);
        timeout_ms = 0;
    }
    return (int)syscall(SYS_epoll_pwait, fd, out, room, timeout_ms, NULL, 8);
}

PUBLIC int nanosleep(const struct timespec *time, struct timespec *left)
{
    if (!self)
        return (int)syscall(SYS_nanosleep, time, left);
    wait_turn(never, -1,
              turns->now_ms + time->tv_sec * 1000 + time->tv_nsec / 1000000);
    return 0;
}

PUBLIC int clock_gettime(clockid_t clock, struct timespec *out)
{
    if (!self || clock != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, clock, out);
    out->tv_sec = turns->now_ms / 1000;
    out->tv_nsec = turns->now_ms % 1000 * 1000000;
    return 0;
}

/* A timer never fires: else a second thread would run, and poll. */
PUBLIC int timerfd_settime(int fd,
                           int flags,
                           const struct itimerspec *time,
                           struct itimerspec *old)
{
    static const struct itimerspec off;

    return (int)syscall(SYS_timerfd_settime, fd, flags, self ? &off : time,
                        old);
}

PUBLIC int posix_spawnp(pid_t *pid,
                        const char *program,
                        const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes,
                        char *const *argv,
                        char *const *environment)
{
    int r;

    if (self)
        atomic_fetch_add(&turns->working, 1); /* the new process starts */
    r = real_spawn(pid, program, actions, attributes, argv, environment);
    if (self && r != 0)
        atomic_fetch_sub(&turns->working, 1);
    return r;
}

/* A killed child has ended on return. */
PUBLIC int kill(pid_t pid, int signal)
{
    siginfo_t info;
    int r = (int)syscall(SYS_kill, pid, signal);

    if (r < 0 || !self || signal != SIGKILL)
        return r;
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    for (uint32_t i = 0; i < turns->count; i++)
        if (turns->list[i].pid == pid)
            turns->list[i].pid = 0;
    return r;
}

__attribute__((constructor)) static void take_part(void)
{
    const char *path = getenv("TURNS");
    void *symbol = dlsym(RTLD_NEXT, "posix_spawnp");
    uint32_t index;
    void *shared;
    int fd;

    memcpy(&real_spawn, &symbol, sizeof(symbol));
    if (!path || !RUNNING_ON_VALGRIND) /* the program valgrind itself is not */
        return;
    fd = open(path, O_RDWR | O_CLOEXEC);
    shared = mmap(NULL, TURNS_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || shared == MAP_FAILED)
        abort();
    close(fd);
    turns = shared;
    index = atomic_fetch_add(&turns->count, 1);
    if (index >= MEMBERS_MAX)
        abort();
    self = &turns->list[index];
    self->pid = getpid();
    self->phase = turns->phase;
    if (index == 0) {
        turns->now_ms = BEGIN_MS;
        turns->last = self->pid;
        turns->working = 1;
    } else {
        wait_turn(always, -1, NEVER);
    }
    CALLGRIND_ZERO_STATS;
    own_calls = 0;
}
