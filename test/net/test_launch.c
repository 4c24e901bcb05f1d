/* test_launch.c - whole trees of processes on this machine. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "net/session.h"
#include "test/check.h"
#include "test/net/shell.h"

static struct shell shell;
static char backend[512];
static char frontend[512];
static char fake_ssh[512];

/* Descendants may take so long to end, on a busy machine. */
#define GONE_MS PATIENCE_MS

static char *const echo_argv[] = {backend, (char[]){"echo"}, NULL};

/* This process is a subreaper: whoever is left behind becomes its child. Wait
 * until there are none. Returns how many are left after GONE_MS. */
static int left_behind(void)
{
    const struct timespec pause = {0, 2000000};
    uint64_t deadline_ms = driver_now_ms() + GONE_MS;
    pid_t pid;

    do {
        pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0)
            return errno == ECHILD ? 0 : -errno;
        if (pid == 0)
            nanosleep(&pause, NULL);
    } while (driver_now_ms() < deadline_ms);
    return 1;
}

static int open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

/* A launch that fails with `code`, in a text that names all of `words`. */
static void expect_failure(const char *shape,
                           char *const *argv,
                           const struct cop_launch *launch,
                           int code,
                           const char *const *words)
{
    int descriptors = open_descriptors();

    CHECK_IS(shell_launch(&shell, shape, argv, launch), code);
    for (; *words; words++)
        if (!strstr(shell.text, *words)) {
            printf("\n\"%s\" does not say \"%s\"\n", shell.text, *words);
            CU_FAIL("the text lacks a word");
        }
    shell_fini(&shell);
    CU_ASSERT_EQUAL(open_descriptors(), descriptors);
    CU_ASSERT_EQUAL(left_behind(), 0);
}

/* One wave: each back-end answers once. */
static void exchange(uint32_t stream, int32_t tag, size_t len, size_t answers)
{
    struct frame frame;
    uint32_t from;

    CHECK_OK(shell_send(&shell, stream, tag, len));
    for (size_t i = 0; i < answers; i++) {
        CHECK_OK(shell_receive(&shell, &from, &frame, PATIENCE_MS));
        CU_ASSERT_EQUAL(from, stream);
        CU_ASSERT_EQUAL(frame.tag, tag);
        CU_ASSERT_EQUAL(frame.payload ? frame.payload->len : 0, len);
        if (len > 0) {
            CU_ASSERT_EQUAL(frame.payload->bytes[0], tag & 0xff);
            CU_ASSERT_EQUAL(frame.payload->bytes[len - 1], tag & 0xff);
        }
        frame_fini(&frame);
    }
}

/* A tree of one level, two, and three comes up, answers, and goes. */
static void try_shape(const char *shape, uint32_t first, uint32_t last)
{
    int stream;

    CHECK_OK(shell_launch(&shell, shape, echo_argv, NULL));
    stream = shell_open(&shell, first, last);
    CHECK_OK(stream);
    for (int i = 100; i < 110; i++)
        exchange((uint32_t)stream, i, 16, last - first + 1);
    exchange((uint32_t)stream, 110, 0, last - first + 1);
    exchange((uint32_t)stream, 111, 1 << 18, last - first + 1);
    CHECK_IS(shell_shutdown(&shell, PATIENCE_MS), 0);
}

TEST(flat_tree)
{
    try_shape("flat:3", 1, 3);
}

TEST(tree_of_two_levels)
{
    try_shape("2x2", 3, 6);
}

TEST(tree_of_three_levels)
{
    try_shape("2^3", 7, 14);
}

/* ---- what can go wrong (PROTOCOL 12.2) ---------------------------------- */

TEST(missing_program_is_named)
{
    char *argv[] = {(char[]){"/no/such/backend"}, NULL};

    expect_failure("2x2", argv, NULL, -EHOSTUNREACH,
                   (const char *[]){"/no/such/backend",
                                    "No such file or directory", "localhost",
                                    NULL});
}

TEST(missing_commnode_is_named)
{
    struct cop_launch launch = COP_LAUNCH_INIT;

    launch.commnode_path = "/no/such/commnode";
    expect_failure("2x2", echo_argv, &launch, -EHOSTUNREACH,
                   (const char *[]){"/no/such/commnode", "No such file", NULL});
}

TEST(status_of_a_program_that_ends_at_once_is_named)
{
    char *argv[] = {backend, (char[]){"exit"}, (char[]){"7"}, NULL};

    expect_failure("2x2", argv, NULL, -EHOSTUNREACH,
                   (const char *[]){backend, "exited with status 7", NULL});
}

TEST(signal_of_a_program_that_dies_at_once_is_named)
{
    char *argv[] = {backend, (char[]){"signal"}, (char[]){"9"}, NULL};

    expect_failure("flat:2", argv, NULL, -EHOSTUNREACH,
                   (const char *[]){backend, "signal 9", NULL});
}

TEST(program_that_hangs_ends_the_launch_at_its_deadline)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    char *argv[] = {backend, (char[]){"hang"}, NULL};
    uint64_t start_ms = driver_now_ms();

    launch.times.launch_timeout_ms = 300;
    /* Its commnode ends by itself; the back-end is killed by its parent. */
    expect_failure("flat:2", argv, &launch, -ETIMEDOUT,
                   (const char *[]){"launch_timeout", "rank 1", NULL});
    CU_ASSERT(driver_now_ms() - start_ms < PATIENCE_MS);
}

/* PROTOCOL 12.4 */
TEST(too_few_descriptors_are_an_error)
{
    struct rlimit old;
    struct rlimit few;

    CHECK_OK(getrlimit(RLIMIT_NOFILE, &old));
    few = old;
    few.rlim_cur = 40;
    few.rlim_max = 40;
    /* The hard limit cannot be raised again by everybody: in a child. */
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        bool right =
            setrlimit(RLIMIT_NOFILE, &few) == 0 &&
            shell_launch(&shell, "flat:64", echo_argv, NULL) == -EMFILE &&
            strstr(shell.text, "ulimit -n");
        _exit(right ? 0 : 1);
    }
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(status, 0);
}

/* ---- ssh (PROTOCOL 12.1) --------------------------------------------------
 */

static struct cop_launch ssh_launch(char **ssh_argv, const char *tree)
{
    struct cop_launch launch = COP_LAUNCH_INIT;

    ssh_argv[0] = fake_ssh;
    ssh_argv[1] = NULL;
    launch.launcher = "ssh";
    launch.ssh_argv = ssh_argv;
    launch.topology_text = tree;
    launch.networks = "127.0.0.0/8";
    return launch;
}

TEST(ssh_starts_a_tree)
{
    char *ssh_argv[2];
    struct cop_launch launch = ssh_launch(
        ssh_argv, "localhost:0 => n1:0 n2:0; n1:0 => n3:0 n4:0; n2:0 => n5:0;");
    char *argv[] = {backend, (char[]){"echo"}, (char[]){"it's \"quoted\""},
                    NULL};
    int stream;

    CHECK_OK(shell_launch(&shell, NULL, argv, &launch));
    stream = shell_open(&shell, 3, 5);
    CHECK_OK(stream);
    exchange((uint32_t)stream, 100, 64, 3);
    CHECK_IS(shell_shutdown(&shell, PATIENCE_MS), 0);
    CU_ASSERT_EQUAL(left_behind(), 0);
}

/* Its standard error is a pipe that nothing reads, as of `tool 2>&1 | less`:
 * what its back-ends write there holds up nothing, time-outs included. */
static void talk_without_a_reader(void)
{
    char *ssh_argv[2];
    struct cop_launch launch =
        ssh_launch(ssh_argv, "localhost:0 => n1:0; n1:0 => n2:0 n3:0;");
    char *argv[] = {backend, (char[]){"loud"}, NULL};
    uint32_t from;
    struct frame frame;
    int pair[2];
    int answers = 0;
    int stream;

    if (pipe(pair) < 0 || dup2(pair[1], STDERR_FILENO) < 0 ||
        shell_launch(&shell, NULL, argv, &launch) != 0)
        _exit(1);
    stream = shell_open(&shell, 2, 3);
    for (int i = 0; i < 3; i++)
        if (shell_send(&shell, (uint32_t)stream, i, 64) < 0)
            _exit(1);
    for (; answers < 6; answers++) {
        if (shell_receive(&shell, &from, &frame, PATIENCE_MS) < 0)
            _exit(1);
        frame_fini(&frame);
    }
    if (shell_receive(&shell, &from, &frame, 10) != -EAGAIN)
        _exit(1);
    _exit(shell_shutdown(&shell, PATIENCE_MS) == 0 ? 0 : 1);
}

TEST(unread_standard_error_holds_up_nothing)
{
    const struct timespec pause = {0, 2000000};
    uint64_t deadline_ms = driver_now_ms() + PATIENCE_MS;
    int status = -1;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0)
        talk_without_a_reader();
    while (waitpid(pid, &status, WNOHANG) == 0) {
        nanosleep(&pause, NULL);
        if (driver_now_ms() > deadline_ms)
            kill(pid, SIGKILL);
    }
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT_EQUAL(left_behind(), 0);
}

TEST(dead_host_is_named_with_the_words_of_ssh)
{
    char *ssh_argv[2];
    struct cop_launch launch =
        ssh_launch(ssh_argv, "localhost:0 => n1:0 n2:0; n1:0 => n3:0 dead4:0;");

    expect_failure(
        NULL, echo_argv, &launch, -EHOSTUNREACH,
        (const char *[]){"dead4", "No route to host", "status 255", NULL});
}

TEST(silent_host_ends_the_launch_at_its_deadline)
{
    char *ssh_argv[2];
    struct cop_launch launch =
        ssh_launch(ssh_argv, "localhost:0 => n1:0 silent2:0;");

    launch.times.launch_timeout_ms = 500;
    expect_failure(NULL, echo_argv, &launch, -ETIMEDOUT,
                   (const char *[]){"silent2", "launch_timeout", NULL});
}

TEST(program_missing_behind_ssh_is_named)
{
    char *ssh_argv[2];
    struct cop_launch launch = ssh_launch(ssh_argv, "localhost:0 => n1:0;");
    char *argv[] = {(char[]){"/no/such/backend"}, NULL};

    expect_failure(NULL, argv, &launch, -EHOSTUNREACH,
                   (const char *[]){"n1", "/no/such/backend", "No such", NULL});
}

/* ---- attaching (PROTOCOL 12.3) ---------------------------------------------
 */

/* Back-ends that somebody else starts join with a session file. */
TEST(back_ends_attach)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    char path[64];
    char *argv[] = {backend, (char[]){"attach"}, path, NULL};
    int descriptors = open_descriptors();
    int stream;

    snprintf(path, sizeof(path), "test-attach-%ld", (long)getpid());
    CHECK_OK(shell_launch(&shell, "flat:2", NULL, &launch));
    CHECK_OK(driver_lock(shell.driver));
    CHECK_OK(session_write(path, driver_bootstrap(shell.driver),
                           driver_node(shell.driver), NULL));
    driver_unlock(shell.driver);
    fflush(NULL);
    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            execv(argv[0], argv);
            _exit(1);
        }
    CHECK_OK(shell_wait_joined(&shell, 4));
    stream = shell_open(&shell, 3, 6);
    CHECK_OK(stream);
    exchange((uint32_t)stream, 100, 16, 4);
    exchange((uint32_t)stream, 101, 70000, 4);
    unlink(path);
    CHECK_IS(shell_shutdown(&shell, PATIENCE_MS), 0);
    CU_ASSERT_EQUAL(left_behind(), 0);
    CU_ASSERT_EQUAL(open_descriptors(), descriptors);
}

/* Another session's key opens nothing, and harms nobody. */
TEST(wrong_session_file_is_refused)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    unsigned char wrong_key[BOOTSTRAP_KEY_LEN];
    struct bootstrap wrong;
    char path[64];
    char *argv[] = {backend, (char[]){"attach"}, path, NULL};
    int status = -1;
    pid_t pid;

    snprintf(path, sizeof(path), "test-wrong-%ld", (long)getpid());
    CHECK_OK(shell_launch(&shell, "flat:1", NULL, &launch));
    CHECK_OK(driver_lock(shell.driver));
    wrong = *driver_bootstrap(shell.driver);
    memcpy(wrong_key, wrong.key, sizeof(wrong_key));
    wrong_key[0] ^= 1;
    wrong.key = wrong_key;
    CHECK_OK(session_write(path, &wrong, driver_node(shell.driver), NULL));
    driver_unlock(shell.driver);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        if (freopen("/dev/null", "w", stderr))
            execv(argv[0], argv);
        _exit(0);
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    CU_ASSERT_EQUAL(shell.joined_count, 0);
    unlink(path);
    CHECK_IS(shell_shutdown(&shell, PATIENCE_MS), 0);
}

/* ---- ends ------------------------------------------------------------------
 */

/* SIGKILL of the front-end at any moment of the launch leaves nothing. */
TEST(killed_front_end_leaves_nothing)
{
    struct timespec delay = {0, 0};
    char *argv[] = {frontend, (char[]){"2x2"}, backend, (char[]){"echo"}, NULL};
    unsigned seed = 12345;

    for (int i = 0; i < 30; i++) {
        pid_t pid;

        fflush(NULL);
        pid = fork();
        if (pid == 0) {
            if (!freopen("/dev/null", "w", stdout) ||
                !freopen("/dev/null", "w", stderr))
                _exit(1);
            execv(argv[0], argv);
            _exit(1);
        }
        delay.tv_nsec = (long)(rand_r(&seed) % 60000) * 1000;
        nanosleep(&delay, NULL);
        CHECK_OK(kill(pid, SIGKILL));
        CU_ASSERT_EQUAL_FATAL(left_behind(), 0);
    }
}

/* One that neither leaves nor reads is killed when the time is up. */
TEST(child_that_stays_is_killed)
{
    char *argv[] = {backend, (char[]){"stay"}, NULL};

    CHECK_OK(shell_launch(&shell, "flat:2", argv, NULL));
    CHECK_IS(shell_shutdown(&shell, 300), 2);
    CU_ASSERT_EQUAL(left_behind(), 0);
}

/* Freeing without a shutdown ends everything too. */
TEST(free_without_shutdown_leaves_nothing)
{
    int descriptors = open_descriptors();

    CHECK_OK(shell_launch(&shell, "2x2", echo_argv, NULL));
    shell_fini(&shell);
    CU_ASSERT_EQUAL(left_behind(), 0);
    CU_ASSERT_EQUAL(open_descriptors(), descriptors);
}

/* An application that ignores SIGCHLD changes nothing (PROTOCOL 14.4). */
TEST(ignored_children_are_tolerated)
{
    CU_ASSERT(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    try_shape("2x2", 3, 6);
    signal(SIGCHLD, SIG_DFL);
}

/* In a forked child every call is -EPERM, free only closes (PROTOCOL 14.4). */
TEST(forked_child_is_out)
{
    int status = -1;
    int stream;
    pid_t pid;

    CHECK_OK(shell_launch(&shell, "2x2", echo_argv, NULL));
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        bool right = driver_lock(shell.driver) == -EPERM;

        shell_fini(&shell);
        _exit(right ? 0 : 1);
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(status, 0);
    stream = shell_open(&shell, 3, 6);
    CHECK_OK(stream);
    exchange((uint32_t)stream, 100, 16, 4);
    CHECK_IS(shell_shutdown(&shell, PATIENCE_MS), 0);
}

/* Two networks live in one process. */
TEST(two_networks_in_one_process)
{
    static struct shell other;
    int stream;

    CHECK_OK(shell_launch(&other, "flat:2", echo_argv, NULL));
    CHECK_OK(shell_launch(&shell, "2x2", echo_argv, NULL));
    stream = shell_open(&shell, 3, 6);
    CHECK_OK(stream);
    CHECK_OK(shell_open(&other, 1, 2));
    exchange((uint32_t)stream, 100, 16, 4);
    CHECK_IS(shell_shutdown(&other, PATIENCE_MS), 0);
    exchange((uint32_t)stream, 101, 16, 4);
    CHECK_IS(shell_shutdown(&shell, PATIENCE_MS), 0);
}

int main(void)
{
    const char *source = getenv("SOURCE");
    const char *build = getenv("BUILD");

    snprintf(backend, sizeof(backend), "%s/test/net/backend",
             build ? build : ".");
    snprintf(frontend, sizeof(frontend), "%s/test/net/frontend",
             build ? build : ".");
    snprintf(fake_ssh, sizeof(fake_ssh), "%s/test/net/fake-ssh",
             source ? source : "..");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return check_run("launch");
}
