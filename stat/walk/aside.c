/* aside.c - see aside.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* close_range() */
#endif
#include "stat/walk/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stat/clock.h"
#include "stat/walk/memory.h"
#include "stat/walk/thread.h"
#include "stat/walk/touch.h"

/* How long to wait for the end of a process that was killed, and for a file that
 * may answer after all. */
#define KILL_MS  100
#define PROBE_MS 200

/* For how long a file system is known to answer, and how many are known. */
#define ANSWERS_MS    1000
#define ANSWERING_MAX 16

/* How long to wait for an orderly end. */
#define END_MS 1000

/* What is stuck for another reason than a file is tried again after so long. */
#define AGAIN_MS 30000

/* A process that waits until something stuck answers. */
struct probe {
    pid_t pid;         /* 0: none */
    uint64_t until_ms; /* without a probe: when to try it again */
};

struct aside {
    aside_fn fn;
    void *arg;
    struct touched *touched;
    struct channel *channel;
    pid_t pid; /* 0: none */
    uint64_t switches;
    uint64_t since_ms; /* when that was first seen; 0: not seen */
    uint32_t stuck_ms;
    bool stuck;
    unsigned losses;
    struct probe probes[TOUCH_STUCK_MAX];
};

/* Close all descriptors but the standard ones and `kept`, if that is not
 * negative. */
static void close_others(int kept)
{
    if (kept > STDERR_FILENO + 1)
        syscall(SYS_close_range, STDERR_FILENO + 1, kept - 1, 0);
    syscall(SYS_close_range,
            kept > STDERR_FILENO ? kept + 1 : STDERR_FILENO + 1, UINT_MAX, 0);
}

/* Fork a process that ends with this one. Returns as fork(). */
static pid_t fork_child(void)
{
    pid_t parent = getpid(), pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    return 0;
}

/* Fork the process that works. */
static int start(struct aside *aside)
{
    struct channel *channel;
    int ends[2], r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    aside->touched->owner = getpid();
    aside->touched->pid = 0;
    aside->touched->address = 0;
    aside->touched->path[0] = '\0';
    atomic_store(&aside->touched->busy, false);
    aside->since_ms = 0;
    aside->stuck = false;
    aside->pid = fork_child();
    if (aside->pid == 0) {
        close_others(ends[1]);
        touch_attach(aside->touched);
        if (channel_new(&channel, ends[1]) == 0)
            aside->fn(channel, aside->losses > 0, aside->arg);
        _exit(0);
    }
    r = aside->pid < 0 ? -errno : 0;
    close(ends[1]);
    if (r == 0)
        r = channel_new(&aside->channel, ends[0]);
    if (r < 0)
        close(ends[0]);
    return r;
}

/* Wait until a child has ended. Returns whether it has. */
static bool await_end(pid_t pid, int *status, uint32_t wait_ms)
{
    struct timespec pause = {0, 1000000};
    uint64_t end_ms = clock_now_ms() + wait_ms;

    for (;;) {
        pid_t ended = waitpid(pid, status, WNOHANG);

        if (ended != 0)
            return ended == pid;
        if (clock_now_ms() >= end_ms)
            return false;
        nanosleep(&pause, NULL);
    }
}

int aside_new(struct aside **out, aside_fn fn, void *arg)
{
    struct aside *aside = calloc(1, sizeof(*aside));
    int r;

    if (!aside)
        return -ENOMEM;
    aside->fn = fn;
    aside->arg = arg;
    aside->stuck_ms = ASIDE_STUCK_MS;
    aside->touched = mmap(NULL, sizeof(*aside->touched), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (aside->touched == MAP_FAILED) {
        free(aside);
        return -ENOMEM;
    }
    r = start(aside);
    if (r < 0) {
        aside_free(aside);
        return r;
    }
    *out = aside;
    return 0;
}

void aside_free(struct aside *aside)
{
    int status;

    if (!aside)
        return;
    channel_free(aside->channel);
    if (aside->pid > 0 && !await_end(aside->pid, &status, END_MS)) {
        kill(aside->pid, SIGKILL);
        await_end(aside->pid, &status, KILL_MS);
    }
    for (size_t i = 0; i < TOUCH_STUCK_MAX; i++)
        if (aside->probes[i].pid > 0) {
            kill(aside->probes[i].pid, SIGKILL);
            await_end(aside->probes[i].pid, &status, KILL_MS);
        }
    munmap(aside->touched, sizeof(*aside->touched));
    free(aside);
}

int aside_fd(const struct aside *aside)
{
    return channel_fd(aside->channel);
}

bool aside_is_busy(const struct aside *aside)
{
    return atomic_load(&aside->touched->busy);
}

int aside_send(struct aside *aside,
               const struct cop_packet *packet,
               int32_t number)
{
    int r;

    do {
        r = channel_send(aside->channel, packet, number, ASIDE_LOOK_MS);
    } while (r == -EAGAIN && aside_check(aside) == 0);
    return r == -EAGAIN ? -EPIPE : r;
}

int aside_receive(struct aside *aside,
                  struct cop_packet **packet,
                  int32_t *number)
{
    return channel_receive(aside->channel, packet, number, 0);
}

/* Read how often process `pid` has left a processor. Returns whether it waits
 * now. */
static bool read_switches(uint64_t *switches, pid_t pid)
{
    static const char word[] = "voluntary_ctxt_switches:";
    char path[64], line[256];
    const char *at;
    char state = '?';
    FILE *file;

    *switches = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file)) {
        sscanf(line, "State: %c", &state);
        at = strstr(line, word); /* "nonvoluntary", too */
        if (at)
            *switches += strtoull(at + strlen(word), NULL, 10);
    }
    if (file)
        fclose(file);
    return state == 'S' || state == 'D';
}

/* Forget what answers again. */
static void reap_probes(struct aside *aside)
{
    uint64_t now_ms = clock_now_ms();
    int status;

    for (size_t i = 0; i < TOUCH_STUCK_MAX; i++) {
        struct probe *probe = &aside->probes[i];

        if (!atomic_load(&aside->touched->stuck[i].valid))
            continue;
        if (probe->pid > 0 ? waitpid(probe->pid, &status, WNOHANG) == probe->pid
                           : now_ms >= probe->until_ms) {
            atomic_store(&aside->touched->stuck[i].valid, false);
            *probe = (struct probe){0};
        }
    }
}

void aside_limit(struct aside *aside, uint32_t stuck_ms)
{
    aside->stuck_ms = stuck_ms < ASIDE_STUCK_MS ? stuck_ms : ASIDE_STUCK_MS;
}

/* Whether the process looks at another one, or at a file. */
static bool is_touching(const struct aside *aside)
{
    return aside->touched->pid != 0 || aside->touched->path[0];
}

int aside_check(struct aside *aside)
{
    uint64_t switches, now_ms;

    reap_probes(aside);
    /* What /proc tells of all processes may come late, but comes. */
    if (!aside_is_busy(aside) || !is_touching(aside) ||
        !read_switches(&switches, aside->pid)) {
        aside->since_ms = 0;
        return 0;
    }
    now_ms = clock_now_ms();
    if (aside->since_ms == 0 || switches != aside->switches) {
        aside->switches = switches;
        aside->since_ms = now_ms;
    }
    aside->stuck = now_ms - aside->since_ms >= aside->stuck_ms;
    return aside->stuck ? -EPIPE : 0;
}

/* Read from a file. Returns whether that could be done. */
static bool touch_path(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    char byte;

    return fd >= 0 && read(fd, &byte, 1) >= 0;
}

/* A file system that has answered, or has not. */
struct answering {
    uint64_t device;
    uint64_t until_ms; /* how long that holds */
    bool answers;
};

bool aside_answers(const char *path)
{
    static struct answering known[ANSWERING_MAX];
    static size_t next;
    uint64_t device = touch_device(0, path), now_ms = clock_now_ms();
    bool answers;
    int status;
    pid_t pid;

    for (size_t i = 0; device && i < ANSWERING_MAX; i++)
        if (known[i].device == device && now_ms < known[i].until_ms)
            return known[i].answers;
    pid = device ? fork_child() : -1;
    if (pid == 0) {
        close_others(-1);
        _exit(touch_path(path) ? 0 : 1);
    }
    answers = pid < 0 || await_end(pid, &status, ASIDE_STUCK_MS);
    if (!answers)
        kill(pid, SIGKILL);
    known[next++ % ANSWERING_MAX] = (struct answering){
        device, clock_now_ms() + (answers ? ANSWERS_MS : AGAIN_MS), answers};
    return answers;
}

/* Touch what is stuck, and end when it answers. */
static void touch_stuck(struct stuck *stuck)
{
    char path[TOUCH_PATH_SIZE + 64];

    if (stuck->pid)
        snprintf(path, sizeof(path), "/proc/%d/root%s", (int)stuck->pid,
                 stuck->path);
    else
        snprintf(path, sizeof(path), "%s", stuck->path);
    touch_path(path);
}

/* If the process is in execve(), find the path of the program. */
static void find_executed(struct stuck *stuck)
{
    char path[64], text[TOUCH_PATH_SIZE] = "";
    long number;
    unsigned long long first, second, address;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/syscall", (int)stuck->pid);
    file = fopen(path, "re");
    if (!file || fscanf(file, "%ld %llx %llx", &number, &first, &second) != 3 ||
        (number != SYS_execve && number != SYS_execveat))
        return;
    address = number == SYS_execve ? first : second;
    for (size_t i = 0; i < sizeof(text) - 1; i++)
        if (!memory_read(stuck->pid, address + i, &text[i], 1) || !text[i])
            break;
    if (text[0] == '/')
        memcpy(stuck->path, text, sizeof(text));
}

/* Find the file that the process has mapped at the address that was touched. */
static void find_mapped(struct stuck *stuck)
{
    char line[TOUCH_PATH_SIZE + 256];
    unsigned long long first, behind;
    FILE *file;

    snprintf(line, sizeof(line), "/proc/%d/maps", (int)stuck->pid);
    file = fopen(line, "re");
    while (file && fgets(line, sizeof(line), file)) {
        int at = 0;

        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%llx-%llx %*s %*s %*s %*s %n", &first, &behind,
                   &at) == 2 &&
            at > 0 && line[at] == '/' && first <= stuck->address &&
            stuck->address < behind)
            snprintf(stuck->path, sizeof(stuck->path), "%.*s",
                     TOUCH_PATH_SIZE - 1, line + at);
    }
}

/* Let `fn` touch what is stuck. Returns the process that is stuck itself; 0: it
 * has ended. */
static pid_t try(struct stuck *stuck, void (*fn)(struct stuck *stuck))
{
    pid_t pid = fork_child();
    int status;

    if (pid == 0) {
        close_others(-1);
        fn(stuck);
        _exit(0);
    }
    return pid > 0 && !await_end(pid, &status, PROBE_MS) ? pid : 0;
}

/* The same, but end what is stuck. */
static void try_briefly(struct stuck *stuck, void (*fn)(struct stuck *stuck))
{
    pid_t pid = try(stuck, fn);
    int status;

    if (pid <= 0)
        return;
    kill(pid, SIGKILL);
    await_end(pid, &status, KILL_MS);
}

/* Find which file does not answer: that which was touched, the program, or that
 * which the process executes. Leaves a process behind that waits for it. */
static void find_file(struct aside *aside, size_t index)
{
    struct stuck *stuck = &aside->touched->stuck[index];
    struct probe *probe = &aside->probes[index];
    char link[64];
    ssize_t len;

    if (!stuck->path[0] && stuck->address && stuck->pid)
        try_briefly(stuck, find_mapped);
    if (!stuck->path[0] && stuck->pid) {
        snprintf(link, sizeof(link), "/proc/%d/exe", (int)stuck->pid);
        len = readlink(link, stuck->path, sizeof(stuck->path) - 1);
        stuck->path[len > 0 ? len : 0] = '\0';
    }
    if (stuck->path[0])
        probe->pid = try(stuck, touch_stuck);
    if (probe->pid == 0 && stuck->pid) {
        stuck->path[0] = '\0';
        try_briefly(stuck, find_executed);
        if (stuck->path[0])
            probe->pid = try(stuck, touch_stuck);
    }
    if (probe->pid > 0)
        stuck->device = touch_device(stuck->pid, stuck->path);
    else if (stuck->pid)
        stuck->path[0] = '\0';
}

/* End the process, or leave it behind. */
static void stop(struct aside *aside)
{
    int status;

    kill(aside->pid, SIGKILL);
    await_end(aside->pid, &status, KILL_MS);
    aside->pid = 0;
}

/* Note what the process has touched last. Returns 0, or -ECHILD if there is
 * nothing, or no room. */
static int note_stuck(struct aside *aside)
{
    struct touched *touched = aside->touched;
    struct thread_status status = {.started = 0};
    struct stuck *stuck = touched->stuck;
    size_t i;

    if (!is_touching(aside))
        return -ECHILD;
    for (i = 0; i < TOUCH_STUCK_MAX && atomic_load(&stuck[i].valid); i++)
        ;
    if (i == TOUCH_STUCK_MAX)
        return -ECHILD;
    stuck = &stuck[i];
    thread_status(&status, touched->pid, touched->pid);
    stuck->pid = touched->pid;
    stuck->address = touched->address;
    stuck->started = status.started;
    stuck->device = 0;
    snprintf(stuck->path, sizeof(stuck->path), "%.*s", TOUCH_PATH_SIZE - 1,
             touched->path);
    aside->probes[i] = (struct probe){0, clock_now_ms() + AGAIN_MS};
    find_file(aside, i);
    if (stuck->path[0])
        snprintf(stuck->reason, sizeof(stuck->reason),
                 "its file does not answer: %s", stuck->path);
    else
        snprintf(stuck->reason, sizeof(stuck->reason),
                 "the kernel does not answer for it");
    atomic_store(&stuck->valid, true);
    return 0;
}

int aside_restart(struct aside *aside)
{
    bool stuck = aside->stuck;
    int r;

    channel_free(aside->channel);
    aside->channel = NULL;
    stop(aside);
    if (!stuck || ++aside->losses > ASIDE_LOSSES_MAX)
        return -ECHILD;
    r = note_stuck(aside);
    return r == 0 ? start(aside) : r;
}
