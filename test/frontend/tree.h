/* tree.h - networks of real processes for tests.
 *
 * The test process is the subreaper of all its descendants, so tree_is_clean()
 * can tell whether any of them still runs. */
#pragma once

#include <coppice/coppice.h>
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/check.h"
#include "test/frontend/member.h"
#include "test/frontend/nodes.h"
#include "test/patience.h"

/* Long enough for a loaded machine; a passing test never waits this long. */
#define TREE_PATIENCE_MS PATIENCE_MS

static inline uint64_t tree_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static inline void tree_pause(void)
{
    struct timespec pause = {.tv_nsec = 5000000};

    nanosleep(&pause, NULL);
}

/* Path of a program of the test tree; valid until the next call. */
static inline char *tree_program(const char *name)
{
    static char path[4096];
    const char *build = getenv("BUILD");

    snprintf(path, sizeof(path), "%s/test/frontend/%s", build ? build : ".",
             name);
    return path;
}

/* Print and kill the children of this process, so that the next test does not
 * wait for them. Returns whether there were any. */
static inline bool tree_kill_children(void)
{
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    bool any = false;
    char name[16];
    pid_t pid;

    while (dir && (entry = readdir(dir))) {
        pid = (pid_t)atoi(entry->d_name);
        if (pid <= 0 || nodes_parent(pid, name) != getpid())
            continue;
        printf("\nleft running: %d %s", (int)pid, name);
        kill(pid, SIGKILL);
        any = true;
    }
    if (dir)
        closedir(dir);
    return any;
}

/* Wait until no descendant of this process is left. If one still runs after
 * `timeout_ms`, print and kill it, and return false. */
static inline bool tree_is_clean(int timeout_ms)
{
    uint64_t deadline_ms = tree_now_ms() + (uint64_t)timeout_ms;
    pid_t pid = 0;

    while (tree_now_ms() < deadline_ms) {
        pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0)
            return errno == ECHILD;
        if (pid == 0)
            tree_pause();
    }
    while (tree_kill_children())
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    return false;
}

/* Every orphaned descendant of the test becomes its child. */
__attribute__((constructor)) static void tree_become_subreaper(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* The state, such as 'T', of the process or thread whose /proc/PID/stat is
 * `path`; 0 if it is gone. */
static inline char tree_state(const char *path)
{
    FILE *file = fopen(path, "re");
    char line[512], state = 0;
    const char *end;

    if (!file)
        return 0;
    end = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
    if (end)
        sscanf(end, ") %c", &state);
    fclose(file);
    return state;
}

/* Stop process `pid`. A process obeys a signal when it is scheduled, so wait
 * until all of its threads are stopped. */
static inline void tree_stop(pid_t pid)
{
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    char pattern[64];
    bool moves;

    snprintf(pattern, sizeof(pattern), "/proc/%d/task/*/stat", (int)pid);
    CHECK_OK(kill(pid, SIGSTOP));
    do {
        glob_t threads = {0};

        CU_ASSERT_EQUAL_FATAL(glob(pattern, 0, NULL, &threads), 0);
        moves = false;
        for (size_t i = 0; i < threads.gl_pathc; i++)
            moves |= tree_state(threads.gl_pathv[i]) != 'T';
        globfree(&threads);
        CU_ASSERT_FATAL(tree_now_ms() < deadline_ms);
        if (moves)
            tree_pause();
    } while (moves);
}

/* Check that `text` has each of the words that `say` has between bars. */
static inline void tree_check_says(const char *text, const char *say)
{
    char words[256], *rest = words, *word;

    snprintf(words, sizeof(words), "%s", say);
    while ((word = strsep(&rest, "|"))) {
        if (!strstr(text, word))
            printf("\n\"%s\" does not say \"%s\"\n", text, word);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, word));
    }
}

/* Let networks find the tests' own filters beside the built-in ones. */
static inline void tree_own_filters(void)
{
    const char *build = getenv("BUILD");
    const char *built_in = getenv("COPPICE_FILTER_PATH");
    char path[8192];

    snprintf(path, sizeof(path), "%s:%s/test/frontend/.libs",
             built_in ? built_in : "", build ? build : ".");
    setenv("COPPICE_FILTER_PATH", path, 1);
}

/* Launch `shape` (if NULL: the tree of `launch`) with the options of `launch`.
 * If these name no back-end, it is the tests' back-end, with the argument `how`
 * unless that is NULL. A failure ends the test. */
static inline struct cop_network *tree_launch_as(struct cop_launch launch,
                                                 const char *shape,
                                                 const char *how)
{
    char *argv[] = {tree_program("member"), (char *)(uintptr_t)how, NULL};
    struct cop_network *network = NULL;
    struct cop_error error = {""};
    int r;

    if (shape)
        launch.topology_shape = shape;
    if (!launch.backend_argv)
        launch.backend_argv = argv;
    be_patient(&launch);
    r = cop_network_launch(&network, &launch, &error);
    if (r < 0)
        printf("\nlaunch of %s: %s\n", shape ? shape : "a tree", error.text);
    CHECK_OK(r);
    return network;
}

static inline struct cop_network *tree_launch(const char *shape)
{
    struct cop_launch launch = COP_LAUNCH_INIT;

    return tree_launch_as(launch, shape, NULL);
}

/* Let `launch` start the topology `tree` by test/net/fake-ssh. */
static inline void tree_by_ssh(struct cop_launch *launch, const char *tree)
{
    static char ssh[4096];
    static char *ssh_argv[] = {ssh, NULL};
    const char *source = getenv("SOURCE");

    snprintf(ssh, sizeof(ssh), "%s/test/net/fake-ssh", source ? source : "..");
    launch->launcher = "ssh";
    launch->ssh_argv = ssh_argv;
    launch->topology_text = tree;
    launch->networks = "127.0.0.0/8";
}

/* How many descriptors this process has open. */
static inline int tree_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

/* Open a stream with `options` to `members`, or end the test. */
static inline struct cop_stream *tree_open_to(
    struct cop_network *network,
    const struct cop_communicator *members,
    const struct cop_stream_options *options)
{
    struct cop_stream *stream = NULL;
    struct cop_error error = {""};
    int r = cop_stream_open(&stream, network, members, options, &error);

    if (r < 0)
        printf("\nopen: %s\n", error.text);
    CHECK_OK(r);
    return stream;
}

/* Likewise, to all back-ends. */
static inline struct cop_stream *tree_open_with(
    struct cop_network *network, const struct cop_stream_options *options)
{
    return tree_open_to(network, cop_network_everyone(network), options);
}

static inline struct cop_stream *tree_open(struct cop_network *network,
                                           enum cop_sync sync,
                                           const char *up_filter)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;

    options.sync = sync;
    options.wave_timeout_ms = sync == COP_TIME_OUT ? 50 : 0;
    options.up_filter = up_filter;
    return tree_open_with(network, &options);
}

/* Open a stream that keeps a guarantee; `keep` is 0 or that of the options. */
static inline struct cop_stream *tree_open_as(struct cop_network *network,
                                              enum cop_guarantee guarantee,
                                              const char *up_filter,
                                              size_t keep)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;

    options.up_filter = up_filter;
    options.guarantee = guarantee;
    options.keep = keep;
    return tree_open_with(network, &options);
}

/* Open a stream to back-end `rank` alone. */
static inline struct cop_stream *tree_open_one(struct cop_network *network,
                                               uint32_t rank)
{
    struct cop_communicator *single;
    struct cop_stream *stream;

    CHECK_OK(cop_communicator_new(&single, network, &rank, 1));
    stream = tree_open_to(network, single, NULL);
    cop_communicator_free(single);
    return stream;
}

/* The rank of back-end number `index`, from 0. */
static inline uint32_t tree_rank(struct cop_network *network, size_t index)
{
    return cop_communicator_rank(cop_network_everyone(network), index);
}

/* Receive "%d" on `stream`, or end the test. `contributors`, if not NULL, gets
 * the number of back-ends in it. */
static inline int tree_receive(struct cop_stream *stream,
                               uint32_t *contributors)
{
    struct cop_packet *packet;
    int number = -1;

    CHECK_OK(cop_stream_receive(stream, &packet, TREE_PATIENCE_MS));
    CHECK_OK(cop_packet_unpack(packet, "%d", &number));
    if (contributors)
        *contributors = cop_packet_contributors(packet);
    cop_packet_free(packet);
    return number;
}

/* Ask for an echo of `number`. Returns the number of the next packet. */
static inline int tree_echo(struct cop_stream *stream, int number)
{
    CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", number));
    return tree_receive(stream, NULL);
}

/* Ask for an echo of `number` on a stream that sums, by all of `members`. */
static inline void tree_check_sum(struct cop_stream *stream,
                                  int number,
                                  size_t members)
{
    uint32_t contributors = 0;

    CHECK_OK(cop_stream_send(stream, TAG_ECHO, "%d", number));
    CU_ASSERT_EQUAL(tree_receive(stream, &contributors), number * (int)members);
    CU_ASSERT_EQUAL(contributors, members);
}

/* Receive all packets that are waiting. Returns the sum of their "%d". */
static inline int tree_take_all(struct cop_stream *stream)
{
    struct cop_packet *packet;
    int number, sum = 0;

    while (cop_stream_receive(stream, &packet, 0) == 0) {
        if (cop_packet_unpack(packet, "%d", &number) == 0)
            sum += number;
        cop_packet_free(packet);
    }
    return sum;
}

/* Wait until all back-ends have answered everything sent. Returns 0, 1 if
 * packets may be lost, or an error, which is printed. */
static inline int tree_sync(struct cop_stream *stream)
{
    struct cop_error error = {""};
    int r = cop_stream_sync(stream, TREE_PATIENCE_MS, &error);

    if (r < 0)
        printf("\nsync: %s\n", error.text);
    return r;
}

/* The process of back-end `rank`. */
static inline pid_t tree_pid(struct cop_network *network, uint32_t rank)
{
    struct cop_stream *stream = tree_open_one(network, rank);
    pid_t pid;

    CHECK_OK(cop_stream_send(stream, TAG_PID, ""));
    pid = tree_receive(stream, NULL);
    cop_stream_close(stream);
    return pid;
}

/* Wait for an event of `type`; drop earlier events. */
static inline int tree_await(struct cop_network *network,
                             enum cop_event_type type,
                             struct cop_event *event)
{
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    int r = 0;

    *event = (struct cop_event)COP_EVENT_INIT;
    while (r == 0 && tree_now_ms() < deadline_ms) {
        r = cop_network_event(network, event, TREE_PATIENCE_MS);
        if (r == 0 && event->type == type)
            return 0;
    }
    return r < 0 ? r : -ETIMEDOUT;
}

/* Kill every commnode, upper levels first, each when the loss of the one before is
 * reported. Returns how many. */
static inline size_t tree_kill_all(struct cop_network *network)
{
    pid_t commnodes[NODES_MAX];
    size_t count = nodes_all(commnodes), i;
    struct cop_event event;

    for (i = 0; i < count; i++) {
        CHECK_OK(kill(commnodes[i], SIGKILL));
        CHECK_OK(tree_await(network, COP_EVENT_NODE_LOST, &event));
    }
    return count;
}

/* Free the network, and check that no process is left. */
static inline void tree_free(struct cop_network *network)
{
    cop_network_free(network);
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
}

/* Shut the network down, then free it and check the processes. */
static inline void tree_end(struct cop_network *network)
{
    CHECK_IS(cop_network_shutdown(network, TREE_PATIENCE_MS), 0);
    tree_free(network);
}

/* Trees of one, two and three levels, as flat trees hide bugs. */
#define TREE_SHAPES 3
static const char *const tree_shapes[TREE_SHAPES] = {"flat:3", "2x2", "2x2x2"};

/* Launch each tree, with `how` as the argument of back-ends, run `body`, and
 * shut the tree down. */
static inline void tree_each(const char *how,
                             void (*body)(struct cop_network *network,
                                          int height))
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    unsigned failures;

    for (int i = 0; i < TREE_SHAPES; i++) {
        failures = CU_get_number_of_failures();
        network = tree_launch_as(launch, tree_shapes[i], how);
        body(network, i + 1);
        tree_end(network);
        if (CU_get_number_of_failures() > failures)
            printf("\nin a tree of %s\n", tree_shapes[i]);
    }
}

/* A test of `network`, with `height`, in each of these trees. */
#define TEST_OF_TREES_AS(name, how)                                            \
    static void name##_in(struct cop_network *network, int height);            \
    TEST(name)                                                                 \
    {                                                                          \
        tree_each(how, name##_in);                                             \
    }                                                                          \
    static void name##_in(struct cop_network *network,                         \
                          __attribute__((unused)) int height)
#define TEST_OF_TREES(name) TEST_OF_TREES_AS(name, NULL)
