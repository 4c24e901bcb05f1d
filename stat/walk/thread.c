/* thread.c - see thread.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sigabbrev_np() */
#endif
#include "stat/walk/thread.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

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

/* How a system call says that it has no time-out. */
enum forever {
    NEVER,    /* it always has one */
    NEGATIVE, /* an argument is a negative number */
    NO_TIME,  /* an argument is a null pointer */
};

/* System calls with a time-out, and its argument. After a stop, some of them go
 * on as restart_syscall() with the arguments of poll() or of the others. */
static const struct {
    long number;
    unsigned argument;
    enum forever forever;
} timed[] = {
#ifdef SYS_poll
    {SYS_poll, 2, NEGATIVE},
#endif
#ifdef SYS_select
    {SYS_select, 4, NO_TIME},
#endif
#ifdef SYS_epoll_wait
    {SYS_epoll_wait, 3, NEGATIVE},
#endif
#ifdef SYS_epoll_pwait2
    {SYS_epoll_pwait2, 3, NO_TIME},
#endif
    {SYS_restart_syscall, 2, NEGATIVE},
    {SYS_epoll_pwait, 3, NEGATIVE},
    {SYS_ppoll, 2, NO_TIME},
    {SYS_pselect6, 4, NO_TIME},
    {SYS_nanosleep, 0, NEVER},
    {SYS_clock_nanosleep, 0, NEVER},
    {SYS_futex, 3, NO_TIME},
    {SYS_rt_sigtimedwait, 2, NO_TIME},
    {SYS_semtimedop, 3, NO_TIME},
    {SYS_mq_timedreceive, 4, NO_TIME},
    {SYS_mq_timedsend, 4, NO_TIME},
    {SYS_recvmmsg, 4, NO_TIME},
    {SYS_io_getevents, 4, NO_TIME},
};

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
    };
    read_file(text, sizeof(text), pid, tid, "schedstat");
    out->run_ns = strtoull(text, NULL, 10);
    return 0;
}

int thread_sleeps_timed(pid_t pid, pid_t tid)
{
    char text[512], *at;
    uint64_t argument = 0;
    size_t i = 0;
    long number;

    read_file(text, sizeof(text), pid, tid, "syscall");
    number = strtol(text, &at, 10);
    if (at == text)
        return -1; /* it runs, or may not be looked at */
    while (i < sizeof(timed) / sizeof(timed[0]) && timed[i].number != number)
        i++;
    if (i == sizeof(timed) / sizeof(timed[0]))
        return 0;
    for (unsigned k = 0; k <= timed[i].argument; k++)
        argument = strtoull(at, &at, 16);
    return timed[i].forever == NEVER ||
           (timed[i].forever == NEGATIVE ? (int32_t)(uint32_t)argument >= 0
                                         : argument != 0);
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
