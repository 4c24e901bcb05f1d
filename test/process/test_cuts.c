/* test_cuts.c - connections that are cut and healed, slow or reset, by a proxy
 * between the processes of a tree. test-hosts does this with network
 * namespaces, which not every system allows.
 *
 * Each process stands for a host. Times have lower bounds only: an event before
 * failure_timeout was not caused by silence. */
#include <fcntl.h>

#include "test/frontend/tree.h"
#include "test/process/feeding.h"
#include "test/process/journal.h"
#include "test/process/proxy.h"

#define FRONT_END    0 /* in commands to the proxy */
#define HEARTBEAT_MS 200
#define FAILURE_MS   5000

/* The failure_timeout of tests in which no node may be suspected: not even a
 * loaded machine delays a node's links that long. */
#define PATIENT_MS 20000

/* The tree of all tests: front-end 0, commnodes 1 and 2, below them 3 to 6. */
#define SHAPE     "2x2x2"
#define COMMNODES 6

struct cables {
    char directory[32];
    char path[64];
    pid_t proxy;
    FILE *commands;
    FILE *answers;
};

/* Send a command to the proxy. Returns the number in its answer; a failure ends
 * the test. */
static size_t command(struct cables *cables,
                      const char *what,
                      pid_t pid,
                      int more)
{
    size_t number = 0;
    char line[64] = "";

    fprintf(cables->commands, "%s %d %d\n", what, (int)pid, more);
    fflush(cables->commands);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fgets(line, sizeof(line), cables->answers));
    CU_ASSERT_EQUAL_FATAL(sscanf(line, "ok %zu", &number), 1);
    return number;
}

static void cables_begin(struct cables *cables)
{
    int to[2], from[2];
    char program[4096];
    char line[64] = "";

    snprintf(program, sizeof(program), "%s/test/process/proxy",
             getenv("BUILD") ? getenv("BUILD") : ".");
    strcpy(cables->directory, "/tmp/coppice-test.XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(cables->directory));
    snprintf(cables->path, sizeof(cables->path), "%s/proxy", cables->directory);
    CHECK_OK(pipe2(to, O_CLOEXEC));
    CHECK_OK(pipe2(from, O_CLOEXEC));
    cables->proxy = fork();
    CU_ASSERT_FATAL(cables->proxy >= 0);
    if (cables->proxy == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        execl(program, program, cables->path, NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    cables->commands = fdopen(to[1], "w");
    cables->answers = fdopen(from[0], "r");
    CU_ASSERT_FATAL(cables->commands && cables->answers);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fgets(line, sizeof(line), cables->answers));
}

static void cables_end(struct cables *cables)
{
    int status = -1;

    fclose(cables->commands);
    CU_ASSERT_EQUAL(waitpid(cables->proxy, &status, 0), cables->proxy);
    CU_ASSERT_EQUAL(status, 0);
    fclose(cables->answers);
    rmdir(cables->directory);
}

/* Turn off AddressSanitizer's check that it is loaded first: the preloaded
 * library is. */
static void allow_preloading(void)
{
    const char *options = getenv("ASAN_OPTIONS");
    char text[4096];

    snprintf(text, sizeof(text), "%s:verify_asan_link_order=0",
             options ? options : "");
    setenv("ASAN_OPTIONS", text, 1);
}

/* Launch the tree through the proxy, with the pids of commnodes 1 to 6 in
 * `nodes[1]` to `nodes[6]`, and start to feed it. */
static void begin(struct cables *cables,
                  struct feeding *feeding,
                  pid_t nodes[NODES_MAX + 1],
                  uint32_t failure_ms,
                  int count,
                  int rate)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    char shim[4096];

    cables_begin(cables);
    snprintf(shim, sizeof(shim), "%s/test/process/.libs/proxied.so",
             getenv("BUILD") ? getenv("BUILD") : ".");
    CHECK_OK(access(shim, R_OK));
    launch.topology_shape = SHAPE;
    launch.times.heartbeat_ms = HEARTBEAT_MS;
    launch.times.failure_timeout_ms = failure_ms;
    allow_preloading();
    setenv("LD_PRELOAD", shim, 1);
    setenv(PROXY_VARIABLE, cables->path, 1);
    CHECK_OK(feeding_launch(feeding, launch));
    unsetenv("LD_PRELOAD");
    unsetenv(PROXY_VARIABLE);
    CHECK_OK(feeding_feed(feeding, count, rate));
    CU_ASSERT_FATAL(feeding_await(feeding, 2));
    CU_ASSERT_EQUAL_FATAL(nodes_all(nodes + 1), COMMNODES);
}

static void end(struct cables *cables, struct feeding *feeding)
{
    CU_ASSERT(feeding_end(feeding));
    cables_end(cables);
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
}

/* Cut rank 1 off with `how`, a command of the proxy. Its children are adopted,
 * not before the time-out. */
static void check_silence(struct cables *cables,
                          struct feeding *feeding,
                          pid_t pid,
                          const char *how,
                          bool dies)
{
    uint64_t begin_ms = feeding_now_ms();

    CU_ASSERT(command(cables, how, pid, 0) >= 3);
    if (dies)
        CHECK_OK(kill(pid, SIGKILL));
    CU_ASSERT(feeding_await_adoption(feeding, 3));
    CU_ASSERT(feeding_now_ms() - begin_ms >= FAILURE_MS / 2);
    CU_ASSERT(feeding_await_adoption(feeding, 4));
}

/* A host vanishes: neither an end nor a reset of a connection arrives. */
TEST(a_host_vanishes)
{
    struct cables cables;
    struct feeding feeding;
    pid_t nodes[NODES_MAX + 1];

    begin(&cables, &feeding, nodes, FAILURE_MS, 400, 100);
    check_silence(&cables, &feeding, nodes[1], "drop", true);
    CU_ASSERT(feeding_await_events(&feeding, 1, 2));
    CU_ASSERT(feeding.was_lost[1]);
    CU_ASSERT(feeding_is_whole(&feeding));
    CU_ASSERT_EQUAL(feeding.lost, 1);
    end(&cables, &feeding);
}

/* Wait until rank 1 has closed its link to the front-end for silence. If the
 * cable is healed before, rank 1 stays in its place, but may already have given
 * up its children: their time-out is as long, but may have begun earlier. */
static bool await_orphan(const struct journal *journal)
{
    uint64_t deadline_ms = feeding_now_ms() + FEEDING_PATIENCE_MS;

    while (feeding_now_ms() < deadline_ms) {
        if (journal_find(journal, 0, "coppice: rank 1 ", "LINK-CLOSE rank 0",
                         NULL, 0) > 0)
            return true;
        tree_pause();
    }
    return false;
}

/* The cable of rank 1 is cut in one direction or in both, and healed. A node
 * that only cannot receive can still send that it is alive (PROTOCOL 6.1a,
 * 6.1b). */
static void check_return(const char *how, size_t suspected)
{
    struct cables cables;
    struct feeding feeding;
    struct journal journal;
    pid_t nodes[NODES_MAX + 1];

    CHECK_OK(journal_begin(&journal));
    begin(&cables, &feeding, nodes, FAILURE_MS, 400, 100);
    check_silence(&cables, &feeding, nodes[1], how, false);
    CU_ASSERT(feeding_await_suspicions(&feeding, suspected));
    CU_ASSERT(await_orphan(&journal));
    command(&cables, "heal", nodes[1], 0);
    CU_ASSERT(feeding_await_adoption(&feeding, 1));
    CU_ASSERT(feeding_is_whole(&feeding));
    CU_ASSERT_EQUAL(feeding.lost, 0);
    CHECK_OK(feeding_feed(&feeding, 100, 1000));
    end(&cables, &feeding);
    journal_end(&journal, CU_get_number_of_failures() > 0);
}

TEST(a_cut_is_healed_after_the_adoption)
{
    check_return("drop", 1);
}

TEST(a_node_is_deaf_for_a_while)
{
    check_return("deaf", 0);
}

/* Bytes in flight arrive, and no node is suspected. */
TEST(a_cut_is_healed_before_the_time_out)
{
    struct timespec pause = {.tv_sec = 1};
    struct cables cables;
    struct feeding feeding;
    pid_t nodes[NODES_MAX + 1];

    begin(&cables, &feeding, nodes, PATIENT_MS, 300, 100);
    CU_ASSERT(command(&cables, "drop", nodes[1], 0) >= 3);
    nanosleep(&pause, NULL);
    CU_ASSERT(command(&cables, "heal", nodes[1], 0) > 0);
    CU_ASSERT(feeding_is_whole(&feeding));
    CU_ASSERT_EQUAL(feeding.suspected, 0);
    CU_ASSERT_EQUAL(feeding.adopted + feeding.moved, 0);
    end(&cables, &feeding);
}

/* A sync passes rank 1 down and up, so it takes at least two delays. */
TEST(a_connection_is_slow)
{
    enum {
        DELAY_MS = 400
    };
    struct cables cables;
    struct feeding feeding;
    pid_t nodes[NODES_MAX + 1];
    uint64_t begin_ms;

    begin(&cables, &feeding, nodes, PATIENT_MS, 200, 200);
    CU_ASSERT(command(&cables, "delay", nodes[1], DELAY_MS) >= 3);
    begin_ms = feeding_now_ms();
    CU_ASSERT(feeding_is_whole(&feeding));
    CU_ASSERT(feeding_now_ms() - begin_ms >= 2 * DELAY_MS);
    CU_ASSERT_EQUAL(feeding.suspected, 0);
    CU_ASSERT_EQUAL(feeding.adopted + feeding.moved, 0);
    command(&cables, "heal", nodes[1], 0);
    end(&cables, &feeding);
}

/* A packet that takes longer than the time-out on one link, up or down, arrives,
 * and no node is suspected (PROTOCOL 6.1). */
TEST(a_packet_takes_longer_than_the_time_out)
{
    enum {
        BYTES_PER_MS = 1000,
        LEN = 3 * FAILURE_MS / 2 * BYTES_PER_MS,
    };
    const struct cop_communicator *all;
    struct cables cables;
    struct feeding feeding;
    pid_t nodes[NODES_MAX + 1];
    struct cop_stream *streams[2];
    struct cop_packet *packet;
    char *bytes = calloc(1, LEN);
    const char *come;
    uint32_t ranks[2], sum = 1, len;
    int i;

    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    begin(&cables, &feeding, nodes, FAILURE_MS, 20, 100);
    all = cop_network_everyone(feeding.network);
    for (i = 0; i < 2; i++) { /* the back-ends below rank 3 */
        struct cop_communicator *single;
        struct cop_error error;

        ranks[i] = cop_communicator_rank(all, (size_t)i);
        CHECK_OK(cop_communicator_new(&single, feeding.network, &ranks[i], 1));
        CHECK_OK(cop_stream_open(&streams[i], feeding.network, single, NULL,
                                 &error));
        cop_communicator_free(single);
    }
    CU_ASSERT_EQUAL(command(&cables, "rate", nodes[3], BYTES_PER_MS), 3);
    CHECK_OK(cop_stream_send(streams[0], TAG_SUM, "%ac", bytes, (uint32_t)LEN));
    CHECK_OK(cop_stream_send(streams[1], TAG_BYTES, "%d", LEN));
    CHECK_OK(cop_stream_receive(streams[1], &packet, TREE_PATIENCE_MS));
    CHECK_OK(cop_packet_unpack(packet, "%ac", &come, &len));
    CU_ASSERT_EQUAL(len, LEN);
    cop_packet_free(packet);
    CHECK_OK(cop_stream_receive(streams[0], &packet, TREE_PATIENCE_MS));
    CHECK_OK(cop_packet_unpack(packet, "%ud", &sum));
    CU_ASSERT_EQUAL(sum, 0);
    cop_packet_free(packet);
    free(bytes);
    command(&cables, "heal", nodes[3], 0);
    CU_ASSERT(feeding_is_whole(&feeding));
    CU_ASSERT_EQUAL(feeding.lost, 0);
    CU_ASSERT_EQUAL(feeding.adopted + feeding.moved, 0);
    end(&cables, &feeding);
}

/* Between a commnode and its child, and between the front-end and a commnode:
 * the child is adopted, and no node is reported lost. */
TEST(a_connection_is_reset)
{
    struct cables cables;
    struct feeding feeding;
    pid_t nodes[NODES_MAX + 1];

    begin(&cables, &feeding, nodes, PATIENT_MS, 200, 100);
    CU_ASSERT(command(&cables, "reset", nodes[1], nodes[3]) == 1);
    CU_ASSERT(feeding_await_adoption(&feeding, 3));
    CU_ASSERT(command(&cables, "reset", nodes[2], FRONT_END) == 1);
    CU_ASSERT(feeding_await_adoption(&feeding, 2));
    CU_ASSERT(feeding.suspected >= 2);
    CU_ASSERT_EQUAL(feeding.lost, 0);
    end(&cables, &feeding);
}
