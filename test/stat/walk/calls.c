/* calls.c - calls CALL: a process that sleeps in a system call which a stop can
 * end with EINTR; it then prints so, and exits. test-calls compiles it. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static int sleep_in_epoll(void)
{
    struct epoll_event event;

    return epoll_wait(epoll_create1(0), &event, 1, -1);
}

static int sleep_in_sigwaitinfo(void)
{
    sigset_t usr1;

    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    return sigwaitinfo(&usr1, NULL);
}

static int sleep_in_semop(void)
{
    struct sembuf down = {0, -1, 0};
    int id = semget(IPC_PRIVATE, 1, 0600), child;

    /* The semaphore set must not outlive this process. */
    child = fork();
    if (child == 0) {
        prctl(PR_SET_NAME, "keeper");
        while (getppid() != 1 && semctl(id, 0, GETNCNT) >= 0)
            usleep(100000);
        semctl(id, 0, IPC_RMID);
        _exit(0);
    }
    return semop(id, &down, 1);
}

static int sleep_in_recv(void)
{
    struct timeval patience = {100000, 0};
    int pair[2];
    char byte;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        return -1;
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return (int)recv(pair[0], &byte, 1, 0);
}

__attribute__((noinline)) static int serve(const char *call)
{
    int r = -1;

    if (strcmp(call, "epoll") == 0)
        r = sleep_in_epoll();
    else if (strcmp(call, "sigwaitinfo") == 0)
        r = sleep_in_sigwaitinfo();
    else if (strcmp(call, "semop") == 0)
        r = sleep_in_semop();
    else if (strcmp(call, "recv") == 0)
        r = sleep_in_recv();
    printf("ended: %s\n", r < 0 ? strerror(errno) : "no error");
    return 1;
}

static void *serve_thread(void *call)
{
    serve(call);
    _exit(1);
}

int main(int argc, char **argv)
{
    pthread_t thread;

    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc > 2) {
        pthread_create(&thread, NULL, serve_thread, argv[1]);
        pthread_join(thread, NULL);
    }
    return argc > 1 ? serve(argv[1]) + 0 : 2;
}
