/* ring.c - a real job that hangs: find out where with coppice-stat.
 *
 *     ring [-n COUNT] [--stall RANK]
 *
 * COUNT processes (16 if not given) stand in a ring. Each sends a token to
 * its successor over a socket, receives one from its predecessor, and meets
 * all others in a barrier. The bug: process RANK (1 if not given) stalls in
 * do_SendOrStall() before its send. So its successor waits in ring_waitall()
 * for ever, and all others in ring_barrier().
 *
 * When the hang is in place, each process asleep where it will stay, the
 * parent writes one line to standard output, the pids in the order of the
 * ring, and nothing else ever. The job ends when its standard input reaches
 * its end (so `ring </dev/null` ends at once), at SIGINT, SIGTERM or SIGHUP,
 * and when the parent dies however it dies; no process is left. The exit
 * status is 0 if it was ended so, 1 if the job could not be set up or a
 * process was lost, 2 if the command line is wrong. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT_MAX 4096

/* What all processes share: mapped before the fork. */
struct shared {
    pthread_barrier_t barrier;
    char state[COUNT_MAX]; /* set by each process when it is to block */
};

/* One process of the ring. */
struct member {
    struct shared *shared;
    int rank;
    bool stalls;  /* has the bug */
    bool starves; /* its predecessor has the bug */
    int in;       /* socket from the predecessor */
    int out;      /* socket to the successor */
};

/* So that each function keeps its own frame on the stack: it is not merged
 * into its caller, and its last call is not made a jump. */
#define FRAME          __attribute__((noinline))
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

static void about_to_block(const struct member *member)
{
    __atomic_store_n(&member->shared->state[member->rank], 1, __ATOMIC_RELEASE);
}

FRAME static void do_SendOrStall(const struct member *member)
{
    char token = 'x';

    if (member->stalls) {
        about_to_block(member);
        for (;;)
            pause();
    }
    if (send(member->out, &token, 1, MSG_NOSIGNAL) != 1)
        _exit(EXIT_FAILURE);
    NO_TAIL_CALL();
}

FRAME static void ring_waitall(const struct member *member)
{
    char token;

    if (member->starves)
        about_to_block(member);
    if (recv(member->in, &token, 1, 0) != 1)
        _exit(EXIT_FAILURE);
    NO_TAIL_CALL();
}

FRAME static void ring_barrier(const struct member *member)
{
    about_to_block(member);
    pthread_barrier_wait(&member->shared->barrier);
    NO_TAIL_CALL();
}

FRAME static void ring_step(const struct member *member)
{
    do_SendOrStall(member);
    ring_waitall(member);
    ring_barrier(member);
    NO_TAIL_CALL();
}

/* The life of one process after the fork. */
FRAME static void member_run(const struct member *member, pid_t parent)
{
    sigset_t none;

    /* Whatever ends the parent ends us; it may have ended already. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(EXIT_FAILURE);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (;;)
        ring_step(member);
}

/* The state letter of process `pid` as in /proc/PID/stat; 0 if it is gone. */
static char process_state(pid_t pid)
{
    char path[64];
    char text[512];
    char *end;
    size_t len;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    end = strrchr(text, ')'); /* a name may contain anything */
    return end && end[1] == ' ' ? end[2] : 0;
}

/* Make `shared`, and one pair of connected sockets for each neighbourhood:
 * pairs[i] joins process i, which sends into [1], to its successor, which
 * receives from [0]. Returns 0, or -1 with errno set. */
static int job_make(struct shared **shared, int (*pairs)[2], int count)
{
    struct rlimit files;
    pthread_barrierattr_t attr;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    *shared = mmap(NULL, sizeof(**shared), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (*shared == MAP_FAILED)
        return -1;
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    errno = pthread_barrier_init(&(*shared)->barrier, &attr, (unsigned)count);
    pthread_barrierattr_destroy(&attr);
    if (errno)
        return -1;
    for (int i = 0; i < count; i++) {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[i]) < 0)
            return -1;
    }
    return 0;
}

/* Fork the `count` processes into `pids`. Returns how many came to life. */
FRAME static int job_start(struct shared *shared,
                           int (*pairs)[2],
                           int count,
                           int stall_rank,
                           pid_t *pids)
{
    pid_t parent = getpid();
    int before;
    int rank;

    for (rank = 0; rank < count; rank++) {
        before = (rank + count - 1) % count;
        pids[rank] = fork();
        if (pids[rank] < 0)
            break;
        if (pids[rank] == 0) {
            struct member member = {.shared = shared,
                                    .rank = rank,
                                    .stalls = rank == stall_rank,
                                    .starves = before == stall_rank,
                                    .in = pairs[before][0],
                                    .out = pairs[rank][1]};

            member_run(&member, parent);
        }
    }
    return rank;
}

/* Whether each of the processes sleeps where it will stay. */
static bool job_hangs(struct shared *shared, const pid_t *pids, int count)
{
    for (int i = 0; i < count; i++) {
        if (!__atomic_load_n(&shared->state[i], __ATOMIC_ACQUIRE) ||
            process_state(pids[i]) != 'S')
            return false;
    }
    return true;
}

/* Wait until the job is to end: `signals` brings the signals that say so, and
 * SIGCHLD when a process was lost. The pids are printed once the hang is in
 * place. Returns the exit status. */
static int job_watch(struct shared *shared,
                     const pid_t *pids,
                     int count,
                     int signals)
{
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = signals, .events = POLLIN}};
    struct signalfd_siginfo info;
    bool printed = false;
    char buffer[4096];

    for (;;) {
        if (!printed && job_hangs(shared, pids, count)) {
            for (int i = 0; i < count; i++)
                printf(i ? " %d" : "%d", (int)pids[i]);
            printf("\n");
            fflush(stdout);
            printed = true;
        }
        if (poll(fds, 2, printed ? -1 : 2 /* ms, then look again */) < 0)
            return EXIT_FAILURE;
        if (fds[1].revents) {
            if (read(signals, &info, sizeof(info)) != sizeof(info))
                return EXIT_FAILURE;
            if (info.ssi_signo != SIGCHLD)
                return EXIT_SUCCESS;
            fprintf(stderr, "ring: process %u was lost\n", info.ssi_pid);
            return EXIT_FAILURE;
        }
        if (fds[0].revents && read(STDIN_FILENO, buffer, sizeof(buffer)) <= 0)
            return EXIT_SUCCESS;
    }
}

/* Run the job to its end. Returns the exit status. */
FRAME static int job_run(int count, int stall_rank)
{
    static int pairs[COUNT_MAX][2];
    static pid_t pids[COUNT_MAX];
    struct shared *shared;
    int status = EXIT_FAILURE;
    sigset_t mask;
    int signals;
    int started;

    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGHUP);
    sigaddset(&mask, SIGCHLD);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    signals = signalfd(-1, &mask, SFD_CLOEXEC);
    if (signals < 0 || job_make(&shared, pairs, count) < 0) {
        perror("ring: cannot set up the job");
        return EXIT_FAILURE;
    }
    started = job_start(shared, pairs, count, stall_rank, pids);
    if (started < count)
        fprintf(stderr, "ring: cannot start process %d of %d: %s\n", started,
                count, strerror(errno));
    else
        status = job_watch(shared, pids, count, signals);
    for (int i = 0; i < started; i++)
        kill(pids[i], SIGKILL);
    while (wait(NULL) > 0)
        ;
    return status;
}

/* Read a number between `min` and `max`. Returns whether it is one. */
static bool number_read(const char *text, int min, int max, int *number)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < min || value > max)
        return false;
    *number = (int)value;
    return true;
}

int main(int argc, char **argv)
{
    int count = 16;
    int stall_rank = 1;
    bool good = true;
    int status;

    for (int i = 1; i < argc && good; i += 2) {
        if (i + 1 < argc && strcmp(argv[i], "-n") == 0)
            good = number_read(argv[i + 1], 2, COUNT_MAX, &count);
        else if (i + 1 < argc && strcmp(argv[i], "--stall") == 0)
            good = number_read(argv[i + 1], 0, COUNT_MAX - 1, &stall_rank);
        else
            good = false;
    }
    if (!good || stall_rank >= count) {
        fprintf(stderr,
                "usage: ring [-n COUNT] [--stall RANK]\n"
                "COUNT is 2 to %d, RANK is below COUNT\n",
                COUNT_MAX);
        return 2;
    }
    status = job_run(count, stall_rank);
    NO_TAIL_CALL();
    return status;
}
