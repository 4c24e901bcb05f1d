/* test_kill.c - one process of a network is killed at a random moment of its
 * launch or of its end. While it works, the storm kills (test/storm).
 *
 * Whichever process it is, no process is left, and the front-end, if it lives,
 * gets an error and ends. $SEED chooses the moments, $ROUNDS the number of
 * kills. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "test/frontend/tree.h"

#define ROUNDS   3   /* of ends; four times as many of launches */
#define DESCENT  64  /* the maximum number of processes of one network */
#define DELAY_MS 120 /* the longest time before the kill */

/* The time in which the front-end ends: each of its calls has a time-out. */
#define ENDS_MS (4 * TREE_PATIENCE_MS)

/* The exit status of a front-end that an error was reported to. */
#define TOLD 3

static unsigned seed;

static bool has(const pid_t *list, size_t count, pid_t pid)
{
    while (count-- > 0)
        if (list[count] == pid)
            return true;
    return false;
}

/* List `root` and its descendants. Returns their number. */
static size_t family(pid_t root, pid_t *list)
{
    struct dirent *entry;
    size_t count = 1, before;
    DIR *folder;

    list[0] = root;
    do {
        before = count;
        folder = opendir("/proc");
        while (folder && (entry = readdir(folder)) && count < DESCENT) {
            pid_t pid = (pid_t)atoi(entry->d_name);

            if (pid > 0 && !has(list, count, pid) &&
                has(list, count, nodes_parent(pid, NULL)))
                list[count++] = pid;
        }
        if (folder)
            closedir(folder);
    } while (count > before);
    return count;
}

/* ---- the front-end ---- */

/* The front-end: launches `shape`, prints a line, and ends. Returns the exit
 * status. */
static int be_front_end(const char *shape)
{
    char *argv[] = {tree_program("member"), NULL};
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct cop_error error;

    launch.topology_shape = shape;
    launch.backend_argv = argv;
    be_patient(&launch);
    if (cop_network_launch(&network, &launch, &error) < 0) {
        printf("launch: %s\n", error.text);
        return *error.text ? TOLD : EXIT_FAILURE;
    }
    printf("launched\n");
    fflush(stdout);
    if (cop_network_shutdown(network, TREE_PATIENCE_MS) < 0)
        printf("shutdown: not all ended by themselves\n");
    cop_network_free(network);
    return EXIT_SUCCESS;
}

/* Start the front-end; `*out` is the descriptor to read its output from. */
static pid_t start(const char *shape, int *out)
{
    int ends[2], status;
    pid_t pid;

    CHECK_OK(pipe2(ends, O_CLOEXEC));
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        status = be_front_end(shape);
        fflush(stdout);
        _exit(status);
    }
    close(ends[1]);
    *out = ends[0];
    return pid;
}

/* ---- its end ---- */

/* Wait until the front-end reports that it is launched, or ends. */
static void wait_launched(int out)
{
    struct pollfd poller = {.fd = out, .events = POLLIN};

    CU_ASSERT_TRUE(poll(&poller, 1, TREE_PATIENCE_MS) > 0);
}

/* Wait for process `pid`, and reap others. Returns its wait status, or -1 if it
 * does not end in time. */
static int wait_end(pid_t pid)
{
    uint64_t deadline_ms = tree_now_ms() + ENDS_MS;
    int status;

    while (tree_now_ms() < deadline_ms) {
        pid_t ended = waitpid(-1, &status, WNOHANG);

        if (ended == pid)
            return status;
        if (ended <= 0)
            tree_pause();
    }
    return -1;
}

/* Print the output of the front-end. */
static void show(int out)
{
    char text[2048];
    ssize_t len = read(out, text, sizeof(text));

    if (len > 0)
        fwrite(text, 1, (size_t)len, stderr);
}

/* One round. Returns whether it passed. */
static bool kill_one(bool early, const char *shape)
{
    pid_t list[DESCENT];
    unsigned delay_ms;
    size_t count, victim;
    int out, status;
    bool right, clean;
    pid_t tool;

    tool = start(shape, &out);
    if (!early)
        wait_launched(out);
    delay_ms = (unsigned)rand_r(&seed) % DELAY_MS;
    if (!early)
        delay_ms /= 10;
    poll(NULL, 0, (int)delay_ms);
    count = family(tool, list);
    victim = (size_t)rand_r(&seed) % count;
    kill(list[victim], SIGKILL);
    status = wait_end(tool);
    if (victim == 0)
        right = status != -1;
    else
        right = status != -1 && WIFEXITED(status) &&
                (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == TOLD);
    clean = tree_is_clean(TREE_PATIENCE_MS);
    if (!right || !clean)
        fprintf(stderr,
                "%s %s: number %zu of %zu killed %u ms later: status %x%s\n",
                early ? "launch" : "end", shape, victim, count, delay_ms,
                (unsigned)status, clean ? "" : ", something still runs");
    if (status == -1)
        kill(tool, SIGKILL);
    if (!right || !clean)
        show(out);
    close(out);
    return right && clean;
}

static void kill_many(bool early, int rounds)
{
    static const char *const shapes[] = {"2", "2x2", "1x3", "2x2x2"};
    const char *wanted = getenv("ROUNDS");

    rounds = wanted ? atoi(wanted) : rounds;
    for (int i = 0; i < rounds; i++) {
        unsigned began = seed;

        if (kill_one(early, shapes[(unsigned)rand_r(&seed) % 4]))
            continue;
        fprintf(stderr, "rerun: SEED=%u\n", began);
        CU_FAIL("a process was killed, and the network did not end well");
        return;
    }
}

TEST(killed_while_it_is_launched)
{
    kill_many(true, 4 * ROUNDS);
}

TEST(killed_while_it_ends)
{
    kill_many(false, ROUNDS);
}

int main(void)
{
    const char *wanted = getenv("SEED");

    /* The leak sanitizer starts a process, which must not be killed. */
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    seed =
        wanted ? (unsigned)strtoul(wanted, NULL, 10) : (unsigned)tree_now_ms();
    fprintf(stderr, "SEED=%u\n", seed);
    return check_run("kill");
}
