/* tree.h - networks of real processes for tests.
 *
 * The test process is the subreaper of all processes that it causes to start, so
 * that tree_is_clean() can tell whether one of them still runs. */
#ifndef TEST_FRONTEND_TREE_H
#define TEST_FRONTEND_TREE_H

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

/* Long enough for a loaded machine; a test that passes never waits so long. */
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

/* Print the children of this process, and kill them, so that the next test does
 * not wait for them too. Returns whether there were any. */
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

/* Wait until no descendant of this process is left. Returns false if one still
 * runs after `timeout_ms`; it is printed and killed. */
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

/* The state of a process or thread, as /proc/PID/stat at `path` has it, such as
 * 'T'; 0 if it is gone. */
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

/* Stop process `pid`. A process obeys a signal when it is scheduled: wait until
 * all of its threads are stopped. */
static inline void tree_stop(pid_t pid)
{
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    char pattern[64];
    bool moves;
    size_t i;

    snprintf(pattern, sizeof(pattern), "/proc/%d/task/*/stat", (int)pid);
    CHECK_OK(kill(pid, SIGSTOP));
    do {
        glob_t threads = {0};

        CU_ASSERT_EQUAL_FATAL(glob(pattern, 0, NULL, &threads), 0);
        moves = false;
        for (i = 0; i < threads.gl_pathc; i++)
            moves |= tree_state(threads.gl_pathv[i]) != 'T';
        globfree(&threads);
        CU_ASSERT_FATAL(tree_now_ms() < deadline_ms);
        if (moves)
            tree_pause();
    } while (moves);
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

/* Launch `shape` with the options of `launch`, and with the tests' back-end and
 * its argument `how`, if not NULL. A failure ends the test. */
static inline struct cop_network *tree_launch_as(struct cop_launch launch,
                                                 const char *shape,
                                                 const char *how)
{
    char *argv[] = {tree_program("member"), (char *)(uintptr_t)how, NULL};
    struct cop_network *network = NULL;
    struct cop_error error = {""};
    int r;

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    launch.topology_shape = shape;
    launch.backend_argv = argv;
    be_patient(&launch);
    r = cop_network_launch(&network, &launch, &error);
    if (r < 0)
        printf("\nlaunch of %s: %s\n", shape, error.text);
    CHECK_OK(r);
    return network;
}

static inline struct cop_network *tree_launch(const char *shape)
{
    struct cop_launch launch = COP_LAUNCH_INIT;

    return tree_launch_as(launch, shape, NULL);
}

/* Open a stream to everyone, or end the test. */
static inline struct cop_stream *tree_open(struct cop_network *network,
                                           enum cop_sync sync,
                                           const char *up_filter)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_stream *stream = NULL;
    struct cop_error error = {""};
    int r;

    options.sync = sync;
    options.wave_timeout_ms = sync == COP_TIME_OUT ? 50 : 0;
    options.up_filter = up_filter;
    r = cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error);
    if (r < 0)
        printf("\nopen: %s\n", error.text);
    CHECK_OK(r);
    return stream;
}

/* Receive "%d" on `stream`, or end the test. `contributors`, if not NULL: how
 * many back-ends are in it. */
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

/* Wait for an event of `type`; earlier events are dropped. */
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

/* Shut the network down, and check that no process is left. */
static inline void tree_end(struct cop_network *network)
{
    CHECK_IS(cop_network_shutdown(network, TREE_PATIENCE_MS), 0);
    cop_network_free(network);
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
}

#endif
