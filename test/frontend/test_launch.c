/* test_launch.c - starting networks, and what can go wrong. */
#include <sys/resource.h>
#include <sys/stat.h>

#include "test/frontend/tree.h"

/* Each shape starts, works, and ends without a process left. */
TEST(shapes_come_up_and_go)
{
    static const struct {
        const char *shape;
        uint32_t backends;
    } cases[] = {{"flat:1", 1}, {"flat:9", 9},  {"2x2", 4},   {"4x4", 16},
                 {"2x2x2", 8},  {"1x1x1x1", 1}, {"3x1x2", 6}, {"k:2@8", 4}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct cop_network *network = tree_launch(cases[i].shape);
        struct cop_stream *stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");

        CU_ASSERT_EQUAL(cop_network_rank(network), 0);
        CU_ASSERT_EQUAL(cop_communicator_size(cop_network_everyone(network)),
                        cases[i].backends);
        CU_ASSERT_EQUAL(cop_stream_size(stream), cases[i].backends);
        tree_check_sum(stream, 3, cases[i].backends);
        tree_end(network);
    }
}

/* A launch with one thing wrong; `say` stands in its sentence. */
static void expect(const struct cop_launch *launch, int code, const char *say)
{
    struct cop_network *network = NULL;
    struct cop_error error = {""};
    int r;

    r = cop_network_launch(&network, launch, &error);
    CHECK_IS(r, code);
    if (!strstr(error.text, say))
        printf("\n\"%s\" does not say \"%s\"\n", error.text, say);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, say));
    CU_ASSERT_PTR_NULL(network);
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
    if (r == 0)
        cop_network_free(network);
}

/* Wrong options are named before anything is started. */
TEST(wrong_options_are_named)
{
    char *member[] = {tree_program("member"), NULL};
    char *missing[] = {(char *)"./no-such-back-end", NULL};
    char *nameless[] = {(char *)"no-such-back-end", NULL};
    char *folder[] = {(char *)"/", NULL};
    char *empty[] = {NULL};
    struct cop_launch good = COP_LAUNCH_INIT;
    struct cop_launch bad;

    good.topology_shape = "2x2";
    good.backend_argv = member;
    bad = good;
    bad.size = 0;
    expect(&bad, -EINVAL, "COP_LAUNCH_INIT");
    bad = good;
    bad.topology_shape = NULL;
    expect(&bad, -EINVAL, "none of topology_path");
    bad = good;
    bad.topology_text = "a:0 => b:0;";
    expect(&bad, -EINVAL, "two of topology_path");
    bad.topology_path = "x";
    expect(&bad, -EINVAL, "all of topology_path");
    bad = good;
    bad.topology_shape = "2y2";
    expect(&bad, -EINVAL, "2y2");
    bad = good;
    bad.topology_shape = NULL;
    bad.topology_path = "/no/such.top";
    expect(&bad, -ENOENT, "/no/such.top");
    bad.topology_path = NULL;
    bad.topology_text = "a:0 => b:0";
    expect(&bad, -EINVAL, "topology_text:1:");
    bad.hosts = "a,b";
    expect(&bad, -EINVAL, "hosts are given without topology_shape");
    bad = good;
    bad.hosts = "node[1-";
    expect(&bad, -EINVAL, "hosts:1:");
    bad = good;
    bad.backend_argv = missing;
    expect(&bad, -ENOENT, "back-end program \"./no-such-back-end\"");
    bad.backend_argv = nameless;
    expect(&bad, -ENOENT, "in $PATH");
    bad.backend_argv = folder;
    expect(&bad, -EACCES, "no program that you may run");
    bad.backend_argv = empty;
    expect(&bad, -EINVAL, "backend_argv is empty");
    bad = good;
    bad.commnode_path = "/no/commnode";
    expect(&bad, -ENOENT, "commnode program \"/no/commnode\"");
    bad = good;
    bad.filter_path = "/no/filters";
    expect(&bad, -ENOENT, "/no/filters");
    bad = good;
    bad.launcher = "pigeon";
    expect(&bad, -EINVAL, "pigeon");
    bad = good;
    bad.reconfiguration = "BEST";
    expect(&bad, -EINVAL, "\"BEST\" is unknown: use one of NHI-WM, NHI-WR,");
    bad = good;
    bad.networks = "10.0.0.0/99";
    expect(&bad, -EINVAL, "10.0.0.0/99");
    bad = good;
    bad.topology_shape = "99999999x99999999";
    expect(&bad, -E2BIG, "99999999x99999999");
    bad.topology_shape = NULL;
    bad.topology_text = "a:0;";
    expect(&bad, -EINVAL, "");
}

/* Times in which every link would be silent. */
TEST(wrong_times_are_named)
{
    char *member[] = {tree_program("member"), NULL};
    struct cop_launch bad = COP_LAUNCH_INIT;

    bad.topology_shape = "2x2";
    bad.backend_argv = member;
    bad.times.heartbeat_ms = 1501;
    bad.times.failure_timeout_ms = 3000;
    expect(&bad, -EINVAL,
           "heartbeat_ms is 1501 and failure_timeout_ms is 3000");
    bad.times.heartbeat_ms = UINT32_MAX;
    expect(&bad, -EINVAL, "at least twice heartbeat_ms");
    bad.times = (struct cop_times){0};
    bad.times.failure_timeout_ms = 999; /* the default heartbeat is 500 ms */
    expect(&bad, -EINVAL, "heartbeat_ms is 500");
}

/* An option that only a newer library knows is an error, not ignored. */
TEST(an_unknown_option_is_an_error)
{
    struct {
        struct cop_launch launch;
        char more[16];
    } newer = {COP_LAUNCH_INIT, {0}};
    char *member[] = {tree_program("member"), NULL};
    struct cop_network *network;
    struct cop_error error;

    newer.launch.size = sizeof(newer);
    newer.launch.topology_shape = "flat:1";
    newer.launch.backend_argv = member;
    be_patient(&newer.launch);
    newer.more[3] = 1;
    expect(&newer.launch, -EINVAL, "does not know");
    newer.more[3] = 0;
    CHECK_OK(cop_network_launch(&network, &newer.launch, &error));
    tree_end(network);
}

/* A back-end that ends before it has joined fails the launch, with its rank
 * and its status, not with a time-out; nothing is left. */
TEST(a_backend_that_exits_at_once)
{
    static const char *const shapes[] = {"flat:3", "2x2", "2x2x2"};
    char *argv[] = {tree_program("member"), (char *)"exit", NULL};
    struct cop_launch launch = COP_LAUNCH_INIT;

    launch.backend_argv = argv;
    for (size_t i = 0; i < 3; i++) {
        launch.topology_shape = shapes[i];
        expect(&launch, -EHOSTUNREACH, "exited with status 3");
    }
}

/* A back-end that never joins fails the launch after launch_timeout. */
TEST(a_backend_that_never_joins)
{
    char *argv[] = {(char *)"/bin/sleep", (char *)"1000", NULL};
    struct cop_launch launch = COP_LAUNCH_INIT;

    launch.backend_argv = argv;
    launch.topology_shape = "2x2";
    launch.times.launch_timeout_ms = 700;
    expect(&launch, -ETIMEDOUT, "launch_timeout");
}

/* A topology file and a topology text make the same tree as a shape does. */
TEST(a_tree_may_come_as_text_or_file)
{
    static const char text[] = "localhost:0 => localhost:1 localhost:2;\n"
                               "localhost:1 => localhost:3 localhost:4;\n";
    char path[] = "/tmp/coppice-topology-XXXXXX";
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    int fd = mkstemp(path), i;

    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    for (i = 0; i < 2; i++) {
        launch.topology_text = i == 0 ? text : NULL;
        launch.topology_path = i == 0 ? NULL : path;
        network = tree_launch_as(launch, NULL, NULL);
        CU_ASSERT_EQUAL(cop_communicator_size(cop_network_everyone(network)),
                        3);
        tree_end(network);
    }
    unlink(path);
}

/* A back-end that was not launched by a network gets an error that says so. */
TEST(joining_by_hand_is_an_error)
{
    struct cop_network *network;
    struct cop_error error = {""};
    struct cop_join join = COP_JOIN_INIT;

    CHECK_IS(cop_network_join(&network, NULL, &error), -ENOTCONN);
    CU_ASSERT(strlen(error.text) > 0);
    join.session_path = "/no/session";
    CHECK_IS(cop_network_join(&network, &join, &error), -ENOENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "/no/session"));
    join.size = 3;
    CHECK_IS(cop_network_join(&network, &join, &error), -EINVAL);
}

/* Without descriptors a launch fails with a sentence, and leaves nothing. */
TEST(a_full_descriptor_table)
{
    char *argv[] = {tree_program("member"), NULL};
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct cop_error error = {""};
    struct rlimit old, few;

    launch.backend_argv = argv;
    launch.topology_shape = "flat:16";
    getrlimit(RLIMIT_NOFILE, &old);
    few = old;
    few.rlim_cur = few.rlim_max = 24;
    if (fork() == 0) {
        setrlimit(RLIMIT_NOFILE, &few);
        _exit(cop_network_launch(&network, &launch, &error) == -EMFILE &&
                      *error.text
                  ? 0
                  : 1);
    } else {
        int status = -1;

        wait(&status);
        CU_ASSERT_EQUAL(status, 0);
    }
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
}

/* PROTOCOL 12.2b: a node is stopped during the launch for three times the
 * failure_timeout: a commnode while its back-ends start, one while its commnodes
 * start, or the front-end. No node is suspected; the tree is complete, and
 * works. */
TEST(a_node_may_be_slow_to_start)
{
    static const struct {
        const char *levels; /* above the first back-end that runs */
        enum cop_missing missing;
    } cases[] = {
        {"1", COP_MISSING_FAIL},
        {"2", COP_MISSING_FAIL},
        {"2", COP_MISSING_SKIP},
        {"3", COP_MISSING_FAIL},
    };
    char folder[] = "/tmp/coppice-launch.XXXXXX";
    char mark[64];

    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    snprintf(mark, sizeof(mark), "%s/halted", folder);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *argv[] = {tree_program("member"), (char *)(uintptr_t) "halt",
                        (char *)(uintptr_t)cases[i].levels, mark, NULL};
        struct cop_absentee absentee = COP_ABSENTEE_INIT;
        struct cop_launch launch = COP_LAUNCH_INIT;
        struct cop_network *network;
        struct cop_stream *stream;

        launch.backend_argv = argv;
        launch.missing = cases[i].missing;
        launch.times.heartbeat_ms = 200;
        launch.times.failure_timeout_ms = 1000;
        launch.times.handshake_timeout_ms = 1000;
        launch.times.connect_timeout_ms = 500;
        network = tree_launch_as(launch, "2x2x2", NULL);
        CHECK_IS(cop_network_missing(network, 0, &absentee), -ENOENT);
        CU_ASSERT_EQUAL(cop_communicator_size(cop_network_everyone(network)),
                        8);
        stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
        CHECK_OK(tree_sync(stream));
        tree_end(network);
        CU_ASSERT_EQUAL(rmdir(mark), 0);
    }
    rmdir(folder);
}
