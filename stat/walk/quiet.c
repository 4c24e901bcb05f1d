/* quiet.c - see quiet.h. */
#include "stat/walk/quiet.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stat/walk/thread.h"

/* Calls that return EINTR after a stop, or part of their work. Calls on sockets
 * return EINTR if a timeout is set, which cannot be seen from outside. */
static const long calls[] = {
#ifdef SYS_epoll_wait
    SYS_epoll_wait,
#endif
    SYS_epoll_pwait,
#ifdef SYS_epoll_pwait2
    SYS_epoll_pwait2,
#endif
    SYS_semop,          SYS_semtimedop, SYS_rt_sigtimedwait, SYS_recvfrom,
    SYS_recvmsg,        SYS_recvmmsg,   SYS_sendto,          SYS_sendmsg,
    SYS_accept,         SYS_accept4,    SYS_connect,         SYS_io_getevents,
    SYS_write,          SYS_writev,     SYS_sendfile,        SYS_splice,
#ifdef SYS_io_uring_enter
    SYS_io_uring_enter,
#endif
};

static bool is_such_call(long number)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (calls[i] == number)
            return true;
    return false;
}

#if defined(__x86_64__)

/* The registers of the arguments, the stack pointer and the pc, in the kernel's
 * order. */
static const unsigned char order[] = {5, 4, 1, 10, 8, 9, 7, QUIET_PC};

/* Read the registers from the text of /proc/PID/task/TID/syscall: the number of
 * the call, six arguments, the stack pointer and the pc. */
static bool read_registers(struct quiet *out, const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (end == text || number < 0 || !(out->any || is_such_call(number)))
        return false;
    for (size_t i = 0; i < sizeof(order); i++) {
        text = end;
        out->registers[order[i]] = strtoull(text, &end, 16);
        if (end == text)
            return false;
        out->known |= 1u << order[i];
    }
    return true;
}

#else

static bool read_registers(struct quiet *out, const char *text)
{
    (void)out;
    (void)text;
    (void)is_such_call;
    return false;
}

#endif

/* Read how often the thread has left a processor, voluntarily or not. Returns
 * whether the kernel tells. */
static bool read_switches(unsigned long *out, pid_t pid, pid_t tid)
{
    static const char word[] = "voluntary_ctxt_switches:\t";
    char path[96], line[256];
    unsigned found = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
    file = fopen(path, "re");
    if (!file)
        return false;
    *out = 0;
    while (fgets(line, sizeof(line), file)) {
        const char *at = strstr(line, word); /* also after "non" */

        if (!at)
            continue;
        *out += strtoul(at + strlen(word), NULL, 10);
        found++;
    }
    fclose(file);
    return found == 2;
}

/* Read what the kernel tells about the system call of a thread. Returns whether
 * it does. */
static bool read_call(char *text, size_t size, pid_t pid, pid_t tid)
{
    char path[96];
    ssize_t len;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid,
             (int)tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    len = read(fd, text, size - 1);
    close(fd);
    text[len > 0 ? len : 0] = '\0';
    return len > 0;
}

bool quiet_is_likely(pid_t pid, pid_t tid, bool any)
{
    char text[512];
    struct quiet ignored = {.any = any};

    return read_call(text, sizeof(text), pid, tid) &&
           read_registers(&ignored, text);
}

bool quiet_look(struct quiet *out, pid_t pid, pid_t tid, bool any)
{
    struct thread_status status;
    char text[512];

    *out = (struct quiet){.any = any};
    if (thread_status(&status, pid, tid) < 0 || status.state != 'S')
        return false;
    /* The count first: if the thread runs in between, the count is too low. */
    return read_switches(&out->switches, pid, tid) &&
           read_call(text, sizeof(text), pid, tid) && read_registers(out, text);
}

bool quiet_is_same(const struct quiet *quiet, pid_t pid, pid_t tid)
{
    struct quiet now;

    return quiet_look(&now, pid, tid, quiet->any) &&
           now.known == quiet->known &&
           memcmp(now.registers, quiet->registers, sizeof(now.registers)) ==
               0 &&
           now.switches == quiet->switches;
}
