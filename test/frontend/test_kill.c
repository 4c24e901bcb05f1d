/* test_kill.c - one process of a network is killed at a random moment.
 *
 * Whichever it is, and whatever the network does at that moment: no process is
 * left, and the front-end, if it lives, gets an error and ends. $SEED chooses
 * the moments, $ROUNDS how many. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "test/frontend/tree.h"

#define ROUNDS   3   /* of each phase, four times as many of launches */
#define DESCENT  64  /* processes of one network */
#define DELAY_MS 120 /* the kill comes at most so late */

/* The front-end has ended: each of its calls is patient. */
#define ENDS_MS (4 * TREE_PATIENCE_MS)

static unsigned seed;

static bool has(const pid_t *list, size_t count, pid_t pid)
{
    while (count-- > 0)
        if (list[count] == pid)
            return true;
    return false;
}

/* `root` and what came of it. Returns how many. */
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

/* Start the front-end; its output comes by `*out`. */
static pid_t start(const char *phase, const char *shape, int *out)
{
    char member[4096];
    int ends[2];
    pid_t pid;

    CHECK_OK(pipe2(ends, O_CLOEXEC));
    snprintf(member, sizeof(member), "%s", tree_program("member"));
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        const char *victim = tree_program("victim");

        dup2(ends[1], STDOUT_FILENO);
        execl(victim, victim, phase, shape, member, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    *out = ends[0];
    return pid;
}

/* Wait until the front-end says that it is launched, or ends. */
static void wait_launched(int out)
{
    struct pollfd poller = {.fd = out, .events = POLLIN};

    CU_ASSERT_TRUE(poll(&poller, 1, TREE_PATIENCE_MS) > 0);
}

/* Wait for process `pid`, reaping others. Returns its wait status, or -1 if
 * it does not end. */
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

/* What the front-end had to say. */
static void show(int out)
{
    char text[2048];
    ssize_t len = read(out, text, sizeof(text));

    if (len > 0)
        fwrite(text, 1, (size_t)len, stderr);
}

/* One round. Returns whether all was as it should be. */
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
                (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3);
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

    /* The leak sanitizer starts a process that is not ours to kill. */
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    seed =
        wanted ? (unsigned)strtoul(wanted, NULL, 10) : (unsigned)tree_now_ms();
    fprintf(stderr, "SEED=%u\n", seed);
    return check_run("kill");
}
