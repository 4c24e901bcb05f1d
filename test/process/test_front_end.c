/* test_front_end.c - if the front-end is killed, all processes that it started
 * end; if it is stopped, nothing is lost. */
#include <fcntl.h>

#include "test/frontend/tree.h"
#include "test/process/feeding.h"
#include "test/share.h"

/* All processes end within 1 s of the share of a core that a busy thread gets:
 * see share.h. */
#ifdef __SANITIZE_ADDRESS__
#define ENDS_MS 5000 /* each process takes several times as long to end */
#else
#define ENDS_MS 1000
#endif
/* The additional time of a back-end below the killed commnode. It ends after
 * two rounds of adoption requests without an answer. The pauses before the
 * first three rounds are 250, 500 and 1,000 ms. In the first round, a node that
 * is about to end may still answer. */
#define ORPHANS_END_MS 1750
/* The load may change during that time, so a network that takes longer gets
 * this many tries. It must end each time. */
#define TRIES 3

#define ATTACHED 6

/* A front-end that works until killed. When it works, it writes to `ready`. */
typedef void front_end_fn(int ready);

static void say_ready(int ready)
{
    if (write(ready, "", 1) != 1)
        _exit(1);
}

/* Launch a tree and let its back-ends send, or exit. */
static struct feeding begin(const char *shape)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct feeding feeding;

    launch.topology_shape = shape;
    if (feeding_begin(&feeding, launch, 100000, 1000) < 0 ||
        !feeding_await(&feeding, 2))
        _exit(1);
    return feeding;
}

static void go_on(struct feeding *feeding, int ready)
{
    say_ready(ready);
    for (;;)
        feeding_take(feeding, 100);
}

static void just_works(int ready)
{
    struct feeding feeding = begin("2x2x2x2");

    go_on(&feeding, ready);
}

static void is_wide(int ready)
{
    struct feeding feeding = begin("8x8");

    go_on(&feeding, ready);
}

/* A front-end that has adopted children which another node started. */
static void has_adopted(int ready)
{
    struct feeding feeding = begin("2x2x2x2");
    pid_t nodes[NODES_MAX];

    if (nodes_all(nodes) != 14)
        _exit(1);
    kill(nodes[0], SIGKILL);
    if (!feeding_await_events(&feeding, 1, 2))
        _exit(1);
    go_on(&feeding, ready);
}

/* A front-end whose back-ends were not started by Coppice. */
static void is_joined(int ready)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    char *member = tree_program("member");
    struct cop_network *network;
    struct cop_error error;
    struct cop_event event;
    char session[] = "/tmp/coppice-test.XXXXXX";
    int fd;

    fd = mkstemp(session);
    close(fd);
    unlink(session);
    launch.topology_shape = "2x2";
    launch.session_path = session;
    be_patient(&launch);
    if (fd < 0 || cop_network_launch(&network, &launch, &error) < 0)
        _exit(1);
    for (int i = 0; i < ATTACHED; i++)
        if (fork() == 0) {
            execl(member, member, "session", session, (char *)NULL);
            _exit(127);
        }
    for (int i = 0; i < ATTACHED; i++)
        if (tree_await(network, COP_EVENT_BACKEND_JOINED, &event) < 0)
            _exit(1);
    unlink(session);
    say_ready(ready);
    for (;;)
        pause();
}

/* A filter call of commnode 1 does not return. */
static void hangs(int ready)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    char *argv[] = {tree_program("member"), NULL};
    char folder[] = "/tmp/coppice-dawdle-XXXXXX", begun[64];
    struct cop_packet *parameters;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_error error;

    if (!mkdtemp(folder) || setenv("DAWDLE_FOLDER", folder, 1) < 0)
        _exit(1);
    tree_own_filters();
    launch.topology_shape = "2x2";
    launch.backend_argv = argv;
    options.up_filter = "dawdle";
    if (cop_packet_new(&parameters, 0, "%ud %ud", 1, 24 * 3600 * 1000) < 0)
        _exit(1);
    options.parameters = parameters;
    if (cop_network_launch(&network, &launch, &error) < 0 ||
        cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error) < 0 ||
        cop_stream_send(stream, TAG_ECHO, "%d", 1) < 0 ||
        cop_stream_flush(stream) < 0)
        _exit(1);
    snprintf(begun, sizeof(begun), "%s/begun", folder);
    while (rmdir(begun) < 0)
        tree_pause();
    rmdir(folder);
    say_ready(ready);
    for (;;)
        pause();
}

/* Start a front-end, and wait until it is ready. */
static pid_t front_end_begin(front_end_fn *front_end)
{
    int ready[2];
    char byte;
    pid_t pid;

    CHECK_OK(pipe2(ready, O_CLOEXEC));
    fflush(NULL);
    pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0)
        front_end(ready[1]);
    close(ready[1]);
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

/* Kill a front-end. Returns a busy thread's share of a core in the time until no
 * process is left, in ms, or -1; prints the elapsed time too. */
static long end_of(front_end_fn *front_end, bool with_commnode)
{
    pid_t pid = front_end_begin(front_end);
    struct share share;
    pid_t nodes[NODES_MAX];
    uint64_t begin_ms;
    long share_ms;
    bool is_clean;

    share_begin(&share);
    if (with_commnode && nodes_below(pid, nodes) > 0)
        kill(nodes[0], SIGKILL);
    begin_ms = tree_now_ms();
    CHECK_OK(kill(pid, SIGKILL));
    is_clean = tree_is_clean(TREE_PATIENCE_MS);
    share_ms = share_end(&share);
    printf("ended after %d ms, a share of %ld ms ... ",
           (int)(tree_now_ms() - begin_ms), share_ms);
    return is_clean ? share_ms : -1;
}

static void ends_with(front_end_fn *front_end, bool with_commnode)
{
    long limit_ms = ENDS_MS + (with_commnode ? ORPHANS_END_MS : 0);
    long ms = limit_ms + 1;

    for (int i = 0; i < TRIES && ms > limit_ms; i++) {
        ms = end_of(front_end, with_commnode);
        CU_ASSERT_FATAL(ms >= 0);
    }
    CU_ASSERT(ms <= limit_ms);
}

TEST(a_deep_tree_ends)
{
    ends_with(just_works, false);
}

TEST(a_wide_tree_ends)
{
    ends_with(is_wide, false);
}

TEST(a_healed_tree_ends)
{
    ends_with(has_adopted, false);
}

TEST(a_tree_that_was_joined_ends)
{
    ends_with(is_joined, false);
}

/* The nodes below the commnode never had a link to the front-end. */
TEST(a_commnode_dies_with_it)
{
    ends_with(just_works, true);
    ends_with(is_joined, true);
}

/* The commnode whose filter call does not return ends too, 3 s later. */
TEST(a_call_that_never_returns_ends_with_it)
{
    CU_ASSERT(end_of(hangs, false) >= 0);
}

/* A front-end that exits with 0 if all numbers were received. */
static void is_stopped(int ready)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct feeding feeding;

    launch.topology_shape = "2x2x2";
    launch.times.heartbeat_ms = 100;
    launch.times.failure_timeout_ms = 1000;
    if (feeding_begin(&feeding, launch, 500, 100) < 0 ||
        !feeding_await(&feeding, 2))
        _exit(1);
    say_ready(ready);
    _exit(feeding_end(&feeding) ? 0 : 2);
}

/* PROTOCOL 11.3: the front-end is stopped for three times failure_timeout while
 * back-ends send. After it continues, nothing is missing. */
TEST(a_stop_costs_nothing)
{
    const struct timespec stop = {.tv_sec = 3};
    int status = -1;
    pid_t pid;

    pid = front_end_begin(is_stopped);
    CHECK_OK(kill(pid, SIGSTOP));
    nanosleep(&stop, NULL); /* the length of the stop is what is tested */
    CHECK_OK(kill(pid, SIGCONT));
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
}
