/* test_launch.c - launching networks, and errors of launches. */
#include <dlfcn.h>
#include <sys/resource.h>

#include "test/frontend/tree.h"

/* Each shape starts, works, and ends without leaving a process. */
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

/* A launch that fails. Its message contains each of the texts in `say`, which
 * are separated by bars. No process is left. */
static void expect(const struct cop_launch *launch, int code, const char *say)
{
    int descriptors = tree_descriptors();
    struct cop_network *network = NULL;
    struct cop_error error = {""};

    CHECK_IS(cop_network_launch(&network, launch, &error), code);
    tree_check_says(error.text, say);
    CU_ASSERT_PTR_NULL(network);
    cop_network_free(network);
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
    CU_ASSERT_EQUAL(tree_descriptors(), descriptors);
}

/* A valid launch with some fields changed fails with `code` and says `say`. */
#define WRONG(code, say, ...)                                                  \
    do {                                                                       \
        struct cop_launch bad = good;                                          \
                                                                               \
        __VA_ARGS__;                                                           \
        expect(&bad, code, say);                                               \
    } while (0)

/* An error names the wrong option before any process is started. */
TEST(wrong_options_are_named)
{
    char *member[] = {tree_program("member"), NULL};
    char *missing[] = {(char *)"./no-such-back-end", NULL};
    char *nameless[] = {(char *)"no-such-back-end", NULL};
    char *folder[] = {(char *)"/", NULL};
    char *empty[] = {NULL};
    char *everywhere[] = {(char *)"true", (char *)"{hosts}", NULL};
    struct cop_launch good = COP_LAUNCH_INIT;

    good.topology_shape = "2x2";
    good.backend_argv = member;
    WRONG(-EINVAL, "COP_LAUNCH_INIT", bad.size = 0);
    WRONG(-EINVAL, "none of topology_path", bad.topology_shape = NULL);
    WRONG(-EINVAL, "two of topology_path", bad.topology_text = "a:0 => b:0;");
    WRONG(-EINVAL, "all of topology_path", bad.topology_text = "a:0 => b:0;";
          bad.topology_path = "x");
    WRONG(-EINVAL, "2y2", bad.topology_shape = "2y2");
    WRONG(-ENOENT, "/no/such.top", bad.topology_shape = NULL;
          bad.topology_path = "/no/such.top");
    WRONG(-EINVAL, "topology_text:1:", bad.topology_shape = NULL;
          bad.topology_text = "a:0 => b:0");
    WRONG(-EINVAL, "hosts are given without topology_shape",
          bad.topology_shape = NULL;
          bad.topology_text = "a:0 => b:0"; bad.hosts = "a,b");
    WRONG(-EINVAL, "hosts:1:", bad.hosts = "node[1-");
    WRONG(-ENOENT, "back-end program \"./no-such-back-end\"",
          bad.backend_argv = missing);
    WRONG(-ENOENT, "in $PATH", bad.backend_argv = nameless);
    WRONG(-EACCES, "no program that you may run", bad.backend_argv = folder);
    WRONG(-EINVAL, "backend_argv is empty", bad.backend_argv = empty);
    WRONG(-ENOENT, "commnode program \"/no/commnode\"",
          bad.commnode_path = "/no/commnode");
    WRONG(-ENOENT, "/no/filters", bad.filter_path = "/no/filters");
    WRONG(-EINVAL, "pigeon", bad.launcher = "pigeon");
    WRONG(-EINVAL, "names host far.example, and no launcher is given",
          bad.topology_shape = NULL;
          bad.topology_text = "localhost:0 => far.example:0;");
    WRONG(-EINVAL, "\"BEST\" is unknown: use one of NHI-WM, NHI-WR,",
          bad.reconfiguration = "BEST");
    WRONG(-EINVAL, "10.0.0.0/99", bad.networks = "10.0.0.0/99");
    WRONG(-EINVAL, "spares is for `replace`", bad.spares = "localhost");
    WRONG(-EINVAL, "spares:1:", bad.replace = 1; bad.spares = "node[1-");
    WRONG(-EINVAL, "spares names host far.example", bad.replace = 1;
          bad.spares = "localhost,far.example");
    WRONG(-EINVAL, "launcher \"command\" starts all nodes at once",
          bad.replace = 1;
          bad.start_argv = everywhere);
    WRONG(-EADDRNOTAVAIL, "put a network of this host into launch.networks",
          bad.networks = "203.0.113.0/24");
    WRONG(-E2BIG, "99999999x99999999",
          bad.topology_shape = "99999999x99999999");
    WRONG(-EINVAL, "", bad.topology_shape = NULL; bad.topology_text = "a:0;");
}

/* Times with which every link would count as silent. */
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

/* An option of a newer library is an error; it is not ignored. */
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

/* If a back-end exits before it has joined, the launch fails with its rank and
 * status, not with a time-out. */
TEST(a_backend_that_exits_at_once)
{
    char *exits[] = {tree_program("member"), (char *)"exit", NULL};
    char *dies[] = {(char *)"/bin/sh", (char *)"-c", (char *)"kill -9 $$",
                    NULL};
    struct cop_launch launch = COP_LAUNCH_INIT;

    for (int i = 0; i < TREE_SHAPES; i++) {
        launch.topology_shape = tree_shapes[i];
        launch.backend_argv = exits;
        expect(&launch, -EHOSTUNREACH, "member|exited with status 3");
        launch.backend_argv = dies;
        expect(&launch, -EHOSTUNREACH, "/bin/sh|signal 9");
    }
}

/* A launch fails after launch_timeout if a back-end never joins. A commnode
 * that starts late is killed before it has ended its back-ends: they must end
 * before expect() gives up. */
TEST(a_backend_that_never_joins)
{
    char *argv[] = {(char *)"/bin/sleep", (char *)"30", NULL};
    struct cop_launch launch = COP_LAUNCH_INIT;

    launch.backend_argv = argv;
    launch.topology_shape = "2x2";
    launch.times.launch_timeout_ms = 700;
    expect(&launch, -ETIMEDOUT, "launch_timeout|rank ");
}

/* If a program does not start, over ssh or without it, the error names its host
 * and has the message of the system or of ssh. */
TEST(what_does_not_start_is_named)
{
    static const struct {
        const char *tree;
        bool is_missing; /* the back-end program */
        int code;
        const char *say;
    } cases[] = {
        {"localhost:0 => localhost:1 localhost:2;", true, -EHOSTUNREACH,
         "/no/such/backend|No such file or directory|localhost"},
        {"localhost:0 => n1:0;", true, -EHOSTUNREACH,
         "n1|/no/such/backend|No such"},
        {"localhost:0 => n1:0 n2:0; n1:0 => n3:0 dead4:0;", false,
         -EHOSTUNREACH, "dead4|No route to host|status 255"},
        {"localhost:0 => n1:0 silent2:0;", false, -ETIMEDOUT,
         "silent2|launch_timeout"},
    };
    char *missing[] = {(char *)"/no/such/backend", NULL};
    char *member[] = {tree_program("member"), NULL};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cop_launch launch = COP_LAUNCH_INIT;

        tree_by_ssh(&launch, cases[i].tree);
        launch.backend_argv = cases[i].is_missing ? missing : member;
        if (cases[i].code == -ETIMEDOUT)
            launch.times.launch_timeout_ms = 500;
        be_patient(&launch);
        expect(&launch, cases[i].code, cases[i].say);
    }
}

/* PROTOCOL 12.1: a program started over ssh gets its arguments unchanged. */
TEST(arguments_are_quoted_for_ssh)
{
    char argument[] = "it's \"quoted\" $HOME";
    char *argv[] = {tree_program("member"), argument, NULL};
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    char path[64], line[4096] = "";
    size_t len;
    FILE *file;

    tree_by_ssh(&launch, "localhost:0 => n1:0 n2:0; n1:0 => n3:0;");
    launch.backend_argv = argv;
    network = tree_launch_as(launch, NULL, NULL);
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)tree_pid(network, 3));
    file = fopen(path, "re");
    CU_ASSERT_FATAL(file != NULL);
    len = fread(line, 1, sizeof(line) - 1, file);
    fclose(file);
    CU_ASSERT_FATAL(len > strlen(line) + strlen(argument));
    CU_ASSERT_STRING_EQUAL(line + strlen(line) + 1, argument);
    tree_end(network);
}

/* PROTOCOL 14.4: the network works in an application that ignores SIGCHLD. */
TEST(ignored_children_are_tolerated)
{
    struct cop_network *network;

    CU_ASSERT(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    network = tree_launch("2x2");
    tree_check_sum(tree_open(network, COP_WAIT_FOR_ALL, "sum"), 1, 4);
    tree_end(network);
    signal(SIGCHLD, SIG_DFL);
}

/* Freeing without a shutdown also ends every process. */
TEST(a_free_without_a_shutdown_leaves_nothing)
{
    int descriptors = tree_descriptors();

    tree_free(tree_launch("2x2"));
    CU_ASSERT_EQUAL(tree_descriptors(), descriptors);
}

/* A topology file, a topology text and a shape make the same tree. */
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

/* A back-end that no network launched gets an error that says so. */
TEST(joining_by_hand_is_an_error)
{
    struct cop_network *network;
    struct cop_error error = {""};
    struct cop_join join = COP_JOIN_INIT;

    CHECK_IS(cop_network_join(&network, NULL, &error), -ENOTCONN);
    CU_ASSERT(strlen(error.text) > 0);
    join.session_path = "/no/session";
    CHECK_IS(cop_network_join(&network, &join, &error), -ENOENT);
    tree_check_says(error.text, "/no/session");
    join.label = "two\nlines";
    CHECK_IS(cop_network_join(&network, &join, &error), -EINVAL);
    tree_check_says(error.text, "label|63 bytes|control characters");
    join.label = "0123456789012345678901234567890123456789"
                 "012345678901234567890123";
    CHECK_IS(cop_network_join(&network, &join, &error), -EINVAL);
    join.label++;
    CHECK_IS(cop_network_join(&network, &join, &error), -ENOENT);
    join.size = 3;
    CHECK_IS(cop_network_join(&network, &join, &error), -EINVAL);
}

/* PROTOCOL 12.4: without free descriptors a launch fails and leaves nothing. */
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
                      strstr(error.text, "ulimit -n")
                  ? 0
                  : 1);
    } else {
        int status = -1;

        wait(&status);
        CU_ASSERT_EQUAL(status, 0);
    }
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
}

/* PROTOCOL 12.2b: during the launch a node is stopped for three times the
 * failure_timeout: a commnode while its back-ends or its commnodes start, or
 * the front-end. No node is suspected; the tree is complete, and works. */
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

/* libev also exports libevent's names. In a process that sees these, other
 * libraries would call libev's functions in place of libevent's. */
TEST(libev_is_loaded_and_not_seen)
{
    static const char *const names[] = {
        "ev_run", "ev_timer_again", "event_add", "event_base_loop", "event_set",
    };
    struct cop_network *network = tree_launch("2x2");
    void *libev = dlopen("libev.so.4", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

    CU_ASSERT_FATAL(libev != NULL);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        CU_ASSERT(dlsym(libev, names[i]) != NULL);
        if (dlsym(RTLD_DEFAULT, names[i]))
            CU_FAIL(names[i]);
    }
    dlclose(libev);
    tree_end(network);
}

static void on_signal(int number)
{
    (void)number;
}

/* Signals that the application ignores are ignored in all nodes, and signals
 * that it handles are not, as after exec(). */
TEST(signals_that_are_ignored_stay_so)
{
    struct cop_network *network;
    unsigned long ignored = 0;
    char line[128];
    FILE *file;

    CU_ASSERT(signal(SIGHUP, SIG_IGN) != SIG_ERR);
    CU_ASSERT(signal(SIGUSR2, on_signal) != SIG_ERR);
    network = tree_launch("1x1");
    snprintf(line, sizeof(line), "/proc/%d/status",
             (int)tree_pid(network, tree_rank(network, 0)));
    file = fopen(line, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    while (fgets(line, sizeof(line), file))
        sscanf(line, "SigIgn: %lx", &ignored);
    fclose(file);
    CU_ASSERT_EQUAL(ignored >> (SIGHUP - 1) & 1, 1);
    CU_ASSERT_EQUAL(ignored >> (SIGUSR2 - 1) & 1, 0);
    tree_end(network);
    signal(SIGHUP, SIG_DFL);
    signal(SIGUSR2, SIG_DFL);
}
