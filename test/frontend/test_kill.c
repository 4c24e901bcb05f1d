/* test_kill.c - one process of a network is killed at a random moment.
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

#define ROUNDS   3   /* of each phase; four times as many of launches */
#define DESCENT  64  /* the maximum number of processes of one network */
#define DELAY_MS 120 /* the longest time before the kill */

#define STEP_MS 50 /* of one call of the front-end */

/* The time in which the front-end ends: each of its calls has a time-out. */
#define ENDS_MS (4 * TREE_PATIENCE_MS)

/* Exit statuses of the front-end: EXIT_SUCCESS for an orderly end; one for an
 * error that was reported, one for a loss not reported in time. */
enum {
    TOLD = 3,
    UNTOLD = 4
};

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

/* Whether an event has reported a loss. */
static bool is_lost(struct cop_network *network)
{
    struct cop_event event = COP_EVENT_INIT;

    while (cop_network_event(network, &event, 0) == 0)
        if (event.type == COP_EVENT_NODE_LOST ||
            event.type == COP_EVENT_BACKEND_LOST ||
            event.type == COP_EVENT_ENDED)
            return true;
    return false;
}

/* Send one question to all and receive, or, if `syncs`, sync. */
static void work(struct cop_stream *stream, bool syncs)
{
    struct cop_packet *answer = NULL;

    cop_stream_send(stream, TAG_ECHO, "%d", 1);
    if (syncs)
        cop_stream_sync(stream, STEP_MS, NULL);
    if (cop_stream_receive(stream, &answer, STEP_MS) == 0)
        cop_packet_free(answer);
}

static int work_until_lost(struct cop_network *network, bool syncs)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    struct cop_stream *stream;
    struct cop_error error;

    options.up_filter = "sum";
    if (cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error) < 0) {
        printf("open: %s\n", error.text);
        return TOLD;
    }
    cop_stream_set_send_timeout(stream, STEP_MS);
    while (!is_lost(network)) {
        if (tree_now_ms() > deadline_ms)
            return UNTOLD;
        work(stream, syncs);
    }
    return EXIT_SUCCESS;
}

/* The front-end: launches `shape` and prints a line. Then it sends and receives
 * (in the phase "sync": syncs) until an event reports a loss; in the phases
 * "launch" and "shutdown" it ends at once. Every call has a time-out. Returns
 * the exit status. */
static int be_front_end(const char *phase, const char *shape)
{
    char *argv[] = {tree_program("member"), NULL};
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct cop_error error;
    int status = EXIT_SUCCESS;

    launch.topology_shape = shape;
    launch.backend_argv = argv;
    be_patient(&launch);
    if (cop_network_launch(&network, &launch, &error) < 0) {
        printf("launch: %s\n", error.text);
        return *error.text ? TOLD : EXIT_FAILURE;
    }
    printf("launched\n");
    fflush(stdout);
    if (strcmp(phase, "traffic") == 0 || strcmp(phase, "sync") == 0)
        status = work_until_lost(network, strcmp(phase, "sync") == 0);
    if (cop_network_shutdown(network, TREE_PATIENCE_MS) < 0 &&
        status == EXIT_SUCCESS)
        printf("shutdown: not all ended by themselves\n");
    cop_network_free(network);
    return status;
}

/* Start the front-end; `*out` is the descriptor to read its output from. */
static pid_t start(const char *phase, const char *shape, int *out)
{
    int ends[2], status;
    pid_t pid;

    CHECK_OK(pipe2(ends, O_CLOEXEC));
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        status = be_front_end(phase, shape);
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
static bool kill_one(const char *phase, const char *shape)
{
    bool early = strcmp(phase, "launch") == 0;
    pid_t list[DESCENT];
    unsigned delay_ms;
    size_t count, victim;
    int out, status;
    bool right, clean;
    pid_t tool;

    tool = start(phase, shape, &out);
    if (!early)
        wait_launched(out);
    delay_ms = (unsigned)rand_r(&seed) % DELAY_MS;
    if (strcmp(phase, "shutdown") == 0)
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
                phase, shape, victim, count, delay_ms, (unsigned)status,
                clean ? "" : ", something still runs");
    if (status == -1)
        kill(tool, SIGKILL);
    if (!right || !clean)
        show(out);
    close(out);
    return right && clean;
}

static void kill_many(const char *phase, int rounds)
{
    static const char *const shapes[] = {"2", "2x2", "1x3", "2x2x2"};
    const char *wanted = getenv("ROUNDS");

    rounds = wanted ? atoi(wanted) : rounds;
    for (int i = 0; i < rounds; i++) {
        unsigned began = seed;

        if (kill_one(phase, shapes[(unsigned)rand_r(&seed) % 4]))
            continue;
        fprintf(stderr, "rerun: SEED=%u, phase %s\n", began, phase);
        CU_FAIL("a process was killed, and the network did not end well");
        return;
    }
}

TEST(killed_while_it_is_launched)
{
    kill_many("launch", 4 * ROUNDS);
}

TEST(killed_while_it_works)
{
    kill_many("traffic", ROUNDS);
}

TEST(killed_while_it_syncs)
{
    kill_many("sync", ROUNDS);
}

TEST(killed_while_it_ends)
{
    kill_many("shutdown", ROUNDS);
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
