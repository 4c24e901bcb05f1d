/* places.c - a job whose processes wait where the test sends them.
 *
 *     places COUNT
 *
 * COUNT processes wait in load(). A line "TASK PLACE" on standard input, such
 * as "3 solve", sends one of them to another function (load, solve, store), and
 * "TASK end" ends it. When all sleep at their places, the program prints all
 * pids on one line, in order, including those of processes that have ended. All
 * processes end at the end of the input. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT_MAX 256

/* Each function must keep its own frame on the stack. */
#define FRAME          __attribute__((noinline))
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

/* The pipes of one process: orders to it, and its replies. */
struct pipes {
    int orders;
    int reached;
};

static const char *const places[] = {"load", "solve", "store", "end"};

/* Report that this process is at `place`, and wait for the next order. */
FRAME static char next_order(const struct pipes *pipes, const char *place)
{
    char order;

    if (write(pipes->reached, place, 1) != 1 ||
        read(pipes->orders, &order, 1) != 1)
        _exit(EXIT_SUCCESS);
    return order;
}

FRAME static char load(const struct pipes *pipes)
{
    char order = next_order(pipes, "l");

    NO_TAIL_CALL();
    return order;
}

FRAME static char solve(const struct pipes *pipes)
{
    char order = next_order(pipes, "s");

    NO_TAIL_CALL();
    return order;
}

FRAME static char store(const struct pipes *pipes)
{
    char order = next_order(pipes, "t");

    NO_TAIL_CALL();
    return order;
}

/* The main loop of one process. */
FRAME static void run(const struct pipes *pipes)
{
    char order = 0;

    while (order < 3) {
        if (order == 0)
            order = load(pipes);
        else if (order == 1)
            order = solve(pipes);
        else
            order = store(pipes);
    }
    _exit(EXIT_SUCCESS);
}

/* Start a process; `*pipes` gets the other ends of its pipes. */
FRAME static pid_t start(struct pipes *pipes)
{
    pid_t parent = getpid();
    int orders[2], reached[2];
    pid_t pid;

    if (pipe(orders) < 0 || pipe(reached) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        struct pipes mine = {orders[0], reached[1]};

        close(orders[1]);
        close(reached[0]);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
            _exit(EXIT_FAILURE);
        run(&mine);
    }
    close(orders[0]);
    close(reached[1]);
    *pipes = (struct pipes){orders[1], reached[0]};
    return pid;
}

/* Whether process `pid` is asleep. */
static bool is_asleep(pid_t pid)
{
    char path[64], text[512];
    char *end;
    size_t len;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    end = strrchr(text, ')');
    return end && end[1] == ' ' && end[2] == 'S';
}

/* Wait until a process sleeps at its place. After its reply the process can
 * sleep only there. */
static int await(const struct pipes *pipes, pid_t pid)
{
    char word;

    if (read(pipes->reached, &word, 1) != 1)
        return -1;
    while (!is_asleep(pid))
        usleep(1000);
    return 0;
}

static void print_pids(const pid_t *pids, int count)
{
    for (int i = 0; i < count; i++)
        printf(i ? " %d" : "%d", (int)pids[i]);
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int count = argc == 2 ? atoi(argv[1]) : 0;
    struct pipes pipes[COUNT_MAX];
    pid_t pids[COUNT_MAX];
    char line[64], place[16];
    char order;
    int task;

    if (count < 1 || count > COUNT_MAX)
        return 2;
    for (int i = 0; i < count; i++) {
        pids[i] = start(&pipes[i]);
        if (pids[i] < 0 || await(&pipes[i], pids[i]) < 0)
            return EXIT_FAILURE;
    }
    signal(SIGCHLD, SIG_IGN); /* no zombies */
    print_pids(pids, count);
    while (fgets(line, sizeof(line), stdin)) {
        if (sscanf(line, "%d %15s", &task, place) != 2 || task < 0 ||
            task >= count)
            return 2;
        for (order = 0; order < 4 && strcmp(place, places[(int)order]) != 0;
             order++)
            ;
        if (write(pipes[task].orders, &order, 1) != 1)
            return EXIT_FAILURE;
        if (order >= 3)
            waitpid(pids[task], NULL, 0);
        else if (await(&pipes[task], pids[task]) < 0)
            return EXIT_FAILURE;
        print_pids(pids, count);
    }
    for (int i = 0; i < count; i++)
        kill(pids[i], SIGKILL);
    while (wait(NULL) > 0)
        ;
    return EXIT_SUCCESS;
}
