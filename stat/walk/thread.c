/* thread.c - see thread.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sigabbrev_np() */
#endif
#include "stat/walk/thread.h"

#include <dirent.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "stat/walk/memory.h"

/* Numbers of the fields in /proc/PID/stat: see proc(5). */
#define FIELD_STATE   3
#define FIELD_PARENT  4
#define FIELD_STARTED 22
#define FIELD_EXITED  52

/* System calls in which threads get stuck. */
static const struct {
    long number;
    const char *name;
} calls[] = {
#ifdef SYS_open
    {SYS_open, "open"},
#endif
#ifdef SYS_stat
    {SYS_stat, "stat"},
#endif
#ifdef SYS_vfork
    {SYS_vfork, "vfork"},
#endif
#ifdef SYS_poll
    {SYS_poll, "poll"},
#endif
#ifdef SYS_unlink
    {SYS_unlink, "unlink"},
#endif
#ifdef SYS_rename
    {SYS_rename, "rename"},
#endif
    {SYS_clone, "clone"},
    {SYS_close, "close"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_connect, "connect"},
    {SYS_exit_group, "exit_group"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_fsync, "fsync"},
    {SYS_futex, "futex"},
    {SYS_getdents64, "getdents64"},
    {SYS_ioctl, "ioctl"},
    {SYS_mkdirat, "mkdirat"},
    {SYS_mmap, "mmap"},
    {SYS_munmap, "munmap"},
    {SYS_newfstatat, "newfstatat"},
    {SYS_openat, "openat"},
    {SYS_ppoll, "ppoll"},
    {SYS_pread64, "pread64"},
    {SYS_pwrite64, "pwrite64"},
    {SYS_read, "read"},
    {SYS_readv, "readv"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_renameat, "renameat"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_statfs, "statfs"},
    {SYS_sync, "sync"},
    {SYS_unlinkat, "unlinkat"},
    {SYS_wait4, "wait4"},
    {SYS_write, "write"},
    {SYS_writev, "writev"},
};

/* How a system call gets its time-out. */
enum time_out {
    IN_MS, /* a number of milliseconds; negative: none */
    /* A null pointer, if there is none, or the address of a time: */
    IN_SPEC,  /* a struct timespec */
    IN_VAL,   /* a struct timeval */
    IN_FUTEX, /* a struct timespec; its second argument may say that it is a
                 time of the clock */
    IN_CLOCK, /* the same, of clock_nanosleep() */
    IN_ANY,   /* it has one, but how long that is, is not known */
};

/* System calls with a time-out, and its argument. */
static const struct {
    long number;
    unsigned argument;
    enum time_out how;
} timed[] = {
#ifdef SYS_poll
    {SYS_poll, 2, IN_MS},
#endif
#ifdef SYS_select
    {SYS_select, 4, IN_VAL},
#endif
#ifdef SYS_epoll_wait
    {SYS_epoll_wait, 3, IN_MS},
#endif
#ifdef SYS_epoll_pwait2
    {SYS_epoll_pwait2, 3, IN_SPEC},
#endif
    {SYS_epoll_pwait, 3, IN_MS},
    {SYS_ppoll, 2, IN_SPEC},
    {SYS_pselect6, 4, IN_SPEC},
    {SYS_nanosleep, 0, IN_SPEC},
    {SYS_clock_nanosleep, 2, IN_CLOCK},
    {SYS_futex, 3, IN_FUTEX},
    {SYS_rt_sigtimedwait, 2, IN_SPEC},
    {SYS_semtimedop, 3, IN_SPEC},
    {SYS_mq_timedreceive, 4, IN_ANY},
    {SYS_mq_timedsend, 4, IN_ANY},
    {SYS_recvmmsg, 4, IN_SPEC},
    {SYS_io_getevents, 4, IN_SPEC},
};

/* A thread that sleeps no longer than this at a time polls. */
#define SHORT_S 30

/* Arguments of a system call that are looked at. */
#define ARGUMENTS 5

/* The first argument of clock_nanosleep(), a clock, is below this; those of
 * poll() and futex() are addresses. */
#define CLOCKS 16

bool thread_has_ended(char state)
{
    return state == 'Z' || state == 'X' || state == 'x';
}

/* Read a file of a thread into `text`. Returns its length, 0 if it cannot be
 * read. */
static size_t read_file(
    char *text, size_t size, pid_t pid, pid_t tid, const char *name)
{
    char path[96];
    size_t len;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid,
             name);
    text[0] = '\0';
    file = fopen(path, "re");
    if (!file)
        return 0;
    len = fread(text, 1, size - 1, file);
    fclose(file);
    text[len] = '\0';
    return len;
}

int thread_efforts(struct thread_efforts *out, pid_t pid, pid_t tid)
{
    static const char state[] = "\nState:\t";
    static const char label[] = "\nvoluntary_ctxt_switches:";
    char text[4096];
    const char *at, *letter;

    read_file(text, sizeof(text), pid, tid, "status");
    letter = strstr(text, state);
    at = strstr(text, label);
    if (!letter || !at)
        return -ESRCH;
    letter += strlen(state);
    *out = (struct thread_efforts){
        .sleeps = strtoull(at + strlen(label), NULL, 10),
        .asleep = *letter == 'S' || *letter == 'D',
        .runs = *letter == 'R',
    };
    read_file(text, sizeof(text), pid, tid, "schedstat");
    out->run_ns = strtoull(text, NULL, 10);
    return 0;
}

/* Whether an operation of futex() waits until the clock shows a time. */
static bool waits_for_time(uint64_t operation)
{
    return (operation & ~(uint64_t)(FUTEX_PRIVATE_FLAG |
                                    FUTEX_CLOCK_REALTIME)) == FUTEX_WAIT_BITSET;
}

/* The system call that was restarted, after a stop, with these arguments. */
static long restarted(const uint64_t *arguments)
{
    if (arguments[0] < CLOCKS)
        return SYS_clock_nanosleep;
#ifdef SYS_poll
    /* 9 may be a number of descriptors; others of that size are rare. */
    if (arguments[1] == FUTEX_WAIT_BITSET || !waits_for_time(arguments[1]))
        return SYS_poll;
#endif
    return SYS_futex;
}

/* The seconds until `clock` shows `time`. */
static int64_t seconds_until(const struct timespec *time, clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return (int64_t)time->tv_sec - now.tv_sec;
}

/* How a thread sleeps in a system call that gets its time-out in this way. */
static enum thread_sleep sleep_of(pid_t pid,
                                  enum time_out how,
                                  unsigned argument,
                                  const uint64_t *arguments)
{
    uint64_t value = arguments[argument];
    struct timespec time;
    int64_t seconds;

    if (how == IN_ANY)
        return value ? SLEEP_TIMED : SLEEP_FOREVER;
    if (how == IN_MS) {
        int32_t ms = (int32_t)(uint32_t)value;

        return ms < 0                 ? SLEEP_FOREVER
               : ms <= SHORT_S * 1000 ? SLEEP_SHORT
                                      : SLEEP_TIMED;
    }
    if (value == 0)
        return SLEEP_FOREVER;
    /* The seconds are at the same place in both structures. */
    if (!memory_read(pid, value, &time, sizeof(time)))
        return SLEEP_TIMED;
    seconds = time.tv_sec;
    if (how == IN_FUTEX && waits_for_time(arguments[1]))
        seconds = seconds_until(&time, arguments[1] & FUTEX_CLOCK_REALTIME
                                           ? CLOCK_REALTIME
                                           : CLOCK_MONOTONIC);
    else if (how == IN_CLOCK && (arguments[1] & TIMER_ABSTIME))
        seconds = seconds_until(&time, arguments[0] == 0 ? CLOCK_REALTIME
                                                         : CLOCK_MONOTONIC);
    return seconds <= SHORT_S ? SLEEP_SHORT : SLEEP_TIMED;
}

enum thread_sleep thread_sleep(pid_t pid, pid_t tid)
{
    uint64_t arguments[ARGUMENTS];
    char text[512], *at;
    size_t i = 0;
    long number;

    read_file(text, sizeof(text), pid, tid, "syscall");
    number = strtol(text, &at, 10);
    if (at == text)
        return SLEEP_UNKNOWN; /* it runs, or may not be looked at */
    for (size_t k = 0; k < ARGUMENTS; k++)
        arguments[k] = strtoull(at, &at, 16);
    if (number == SYS_restart_syscall)
        number = restarted(arguments);
    while (i < sizeof(timed) / sizeof(timed[0]) && timed[i].number != number)
        i++;
    return i < sizeof(timed) / sizeof(timed[0])
               ? sleep_of(pid, timed[i].how, timed[i].argument, arguments)
               : SLEEP_FOREVER;
}

pid_t thread_inner_tid(pid_t pid, pid_t tid)
{
    char text[4096], *at, *last;

    read_file(text, sizeof(text), pid, tid, "status");
    at = strstr(text, "\nNSpid:");
    if (!at)
        return tid;
    at[1 + strcspn(at + 1, "\n")] = '\0';
    last = strrchr(at, '\t');
    return last ? (pid_t)strtol(last + 1, NULL, 10) : tid;
}

bool thread_shares_ids(pid_t pid)
{
    char own[64] = "", other[sizeof(own)] = "", path[64];

    snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
    return readlink("/proc/self/ns/pid", own, sizeof(own) - 1) > 0 &&
           readlink(path, other, sizeof(other) - 1) > 0 &&
           strcmp(own, other) == 0;
}

int thread_status(struct thread_status *out, pid_t pid, pid_t tid)
{
    char text[1024], *name, *behind, *rest, *word;

    read_file(text, sizeof(text), pid, tid, "stat");
    name = strchr(text, '(');
    behind = strrchr(text, ')'); /* a name may contain anything */
    if (!name || !behind || behind < name)
        return -ESRCH;
    *behind = '\0';
    *out = (struct thread_status){.state = '?'};
    snprintf(out->name, sizeof(out->name), "%s", name + 1);
    rest = behind + 1;
    for (int field = FIELD_STATE - 1; (word = strsep(&rest, " \n")) != NULL;
         field++) {
        if (field == FIELD_STATE)
            out->state = word[0];
        else if (field == FIELD_PARENT)
            out->parent = (pid_t)strtol(word, NULL, 10);
        else if (field == FIELD_STARTED)
            out->started = strtoull(word, NULL, 10);
        else if (field == FIELD_EXITED)
            out->exited = (int)strtol(word, NULL, 10);
    }
    return 0;
}

pid_t thread_with_memory(pid_t pid)
{
    struct thread_status status;
    struct dirent *entry;
    pid_t found = pid;
    char path[64];
    DIR *folder;

    if (thread_status(&status, pid, pid) < 0 || !thread_has_ended(status.state))
        return pid;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    folder = opendir(path);
    if (!folder)
        return pid;
    while (found == pid && (entry = readdir(folder)) != NULL) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (tid > 0 && thread_status(&status, pid, tid) == 0 &&
            !thread_has_ended(status.state))
            found = tid;
    }
    closedir(folder);
    return found;
}

void thread_place(char text[static THREAD_PLACE_SIZE], pid_t pid, pid_t tid)
{
    char line[THREAD_PLACE_SIZE], *end;
    long number;

    read_file(line, sizeof(line) - sizeof("system call "), pid, tid, "wchan");
    if (line[0] && strcmp(line, "0") != 0) {
        snprintf(text, THREAD_PLACE_SIZE, "%s", line);
        return;
    }
    text[0] = '\0';
    read_file(line, sizeof(line), pid, tid, "syscall");
    number = strtol(line, &end, 10);
    if (end == line || number < 0) /* "running", or not in a system call */
        return;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (calls[i].number == number) {
            snprintf(text, THREAD_PLACE_SIZE, "system call %s", calls[i].name);
            return;
        }
    }
    snprintf(text, THREAD_PLACE_SIZE, "system call %ld", number);
}

const char *thread_signal(char text[static THREAD_NAME_SIZE], int signal)
{
    const char *name = sigabbrev_np(signal);

    if (name)
        snprintf(text, THREAD_NAME_SIZE, "SIG%s", name);
    else
        snprintf(text, THREAD_NAME_SIZE, "signal %d", signal);
    return text;
}
