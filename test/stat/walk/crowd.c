/* crowd.c - crowd COPIES THREADS [DEPTH]: COPIES processes to look at.
 *
 * Each has THREADS threads, including the first; every second of the others is
 * called io-N. The first thread is DEPTH calls deep, in each process one call
 * deeper than in the previous one. When all threads are asleep, crowd prints
 * the pids on one line. All processes end at the end of standard input. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_SIZE ((size_t)256 << 10)
#define FRAME_SIZE 512

static atomic_long in_place; /* threads, without the first */

__attribute__((noinline)) static void crowd_waits(void)
{
    atomic_fetch_add(&in_place, 1);
    for (;;)
        pause();
}

__attribute__((noinline)) static void *crowd_thread(void *arg)
{
    long number = (long)arg;
    char name[16];

    if (number % 2) {
        snprintf(name, sizeof(name), "io-%ld", number);
        prctl(PR_SET_NAME, name);
    }
    crowd_waits();
    return arg;
}

__attribute__((noinline)) static void crowd_deep(long depth, int from, int to)
{
    char byte = '!';

    if (depth > 0)
        crowd_deep(depth - 1, from, to);
    else if (write(to, &byte, 1) == 1)
        while (read(from, &byte, 1) > 0)
            ;
    __asm__ volatile("" ::: "memory");
}

/* One process: writes to `to` when all threads are in place, and waits for the
 * end of `from`. */
static int crowd_run(long threads, long depth, int from, int to)
{
    pthread_attr_t attributes;
    pthread_t thread;
    long i;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    for (i = 1; i < threads; i++) {
        if (pthread_create(&thread, &attributes, crowd_thread, (void *)i)) {
            perror("crowd: pthread_create");
            return 1;
        }
    }
    while (atomic_load(&in_place) < threads - 1)
        usleep(1000);
    crowd_deep(depth, from, to);
    return 0;
}

/* Whether thread `tid` of process `pid` is in state R or D. */
static bool is_awake(pid_t pid, const char *tid)
{
    char path[320], text[512];
    char *end;
    size_t len;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", (int)pid, tid);
    file = fopen(path, "re");
    if (!file)
        return false;
    len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    end = strrchr(text, ')');
    return end && (end[2] == 'R' || end[2] == 'D');
}

/* Wait until all threads of `pid` are asleep. `pid` has reported: after that
 * its threads can sleep only at their final places. */
static void await_sleep(pid_t pid)
{
    const struct dirent *entry;
    char path[64];
    bool awake;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    do {
        usleep(1000);
        awake = false;
        dir = opendir(path);
        while (dir && !awake && (entry = readdir(dir)))
            awake = *entry->d_name != '.' && is_awake(pid, entry->d_name);
        if (dir)
            closedir(dir);
    } while (awake);
}

/* Raise the stack limit of the first thread for `depth` calls: with a sanitizer
 * a frame takes hundreds of bytes. */
static void make_room(long depth)
{
    struct rlimit limit;
    rlim_t bytes = STACK_SIZE + (rlim_t)depth * FRAME_SIZE;

    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= bytes)
        return;
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    setrlimit(RLIMIT_STACK, &limit);
}

/* Start one process, and wait for its report. Returns its pid, or -1. */
static pid_t start(long threads, long depth)
{
    int ready[2];
    char byte;
    bool said;
    pid_t pid;

    if (pipe(ready) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        close(ready[0]);
        _exit(crowd_run(threads, depth, STDIN_FILENO, ready[1]));
    }
    close(ready[1]);
    said = pid > 0 && read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    return said ? pid : -1;
}

int main(int argc, char **argv)
{
    long copies = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
    long threads = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    long depth = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    char byte;
    long i;

    if (copies < 1 || threads < 1) {
        fputs("usage: crowd COPIES THREADS [DEPTH]\n", stderr);
        return 2;
    }
    make_room(depth + copies);
    for (i = 0; i < copies; i++) {
        pid_t pid = start(threads, depth > 0 ? depth + i : 0);

        if (pid < 0) {
            fputs("crowd: a process does not come up\n", stderr);
            return 1;
        }
        await_sleep(pid);
        printf(i + 1 < copies ? "%d " : "%d\n", (int)pid);
    }
    fflush(stdout);
    /* A process that dies earlier stays a zombie until the end of the input. */
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    while (wait(NULL) > 0)
        ;
    return 0;
}
