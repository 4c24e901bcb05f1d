/* test_agents.c - which nodes an agent starts, the command that starts the
 * agents, and ports (PROTOCOL 12.5). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/agents.h"
#include "net/spawn.h"
#include "test/check.h"
#include "topology/topology.h"

static struct bootstrap *frontend; /* of the network under test */

static void launch(const char *text, char *const *start_argv)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    char *backend[] = {(char[]){"tool"}, NULL};
    struct topology *topology;

    launch.backend_argv = backend;
    launch.start_argv = start_argv;
    launch.commnode_path = "/commnode";
    launch.ports = "20000-20009";
    CHECK_OK(topology_parse(&topology, text, strlen(text), "text", NULL));
    CHECK_OK(bootstrap_launch(&frontend, &launch, topology, NULL));
    free(frontend->parent_address);
    frontend->parent_address = strdup("10.0.0.1 5");
}

TEST(ranges_of_ports_are_read)
{
    const char *bad[] = {"",         "20000",       "20000-", "2-1",  "0-1",
                         "1-65536",  "a-b",         "1-2x",   "-1-2", "1-2,3-4",
                         "70000-80", "20000 20001", "1--2"};
    struct ports ports;

    CHECK_OK(ports_read(&ports, "20000-20999"));
    CU_ASSERT_EQUAL(ports.low, 20000);
    CU_ASSERT_EQUAL(ports.count, 1000);
    CHECK_OK(ports_read(&ports, "1-65535"));
    CHECK_OK(ports_read(&ports, "7-7"));
    CU_ASSERT_EQUAL(ports_nth(&ports, 12, 34), 7);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_IS(ports_read(&ports, bad[i]), -EINVAL);
}

/* A node's first ports are all different, whatever its rank. */
TEST(ports_follow_from_the_rank)
{
    struct ports ports = {20000, 10};

    CU_ASSERT_EQUAL(ports_nth(&ports, 0, 0), 20000);
    CU_ASSERT_EQUAL(ports_nth(&ports, 9, 0), 20009);
    CU_ASSERT_EQUAL(ports_nth(&ports, 9, 1), 20000);
    CU_ASSERT_EQUAL(ports_nth(&ports, UINT32_MAX, 1), 20006);
}

TEST(command_names_each_host_once)
{
    char *argv[] = {(char[]){"run"}, (char[]){"-w{hosts}"},
                    (char[]){"{hostlist}:{count}"}, (char[]){"{other}"}, NULL};
    char **words;

    launch("fe:0 => b2:0 a1:0 fe:1; b2:0 => b2:1 b2:2 b1:0; a1:0 => b2:3;",
           argv);
    CHECK_OK(agents_command(&words, frontend));
    CU_ASSERT_STRING_EQUAL(words[0], "run");
    CU_ASSERT_STRING_EQUAL(words[1], "-wa1,b1,b2");
    CU_ASSERT_STRING_EQUAL(words[2], "a1,b[1-2]:3");
    CU_ASSERT_STRING_EQUAL(words[3], "{other}");
    CU_ASSERT_STRING_EQUAL(words[4], "/commnode");
    CU_ASSERT_STRING_EQUAL(words[5], "--agent");
    CU_ASSERT_PTR_NULL(words[6]);
    words_free(words);
    bootstrap_free(frontend);
}

TEST(agent_knows_its_host)
{
    setenv("SLURMD_NODENAME", "Node7.cluster.example", 1);
    CU_ASSERT(agents_is_own("node7"));
    CU_ASSERT(agents_is_own("NODE7.CLUSTER.example"));
    CU_ASSERT(!agents_is_own("node7.other.example"));
    CU_ASSERT(!agents_is_own("node77"));
    CU_ASSERT(!agents_is_own("node"));
    unsetenv("SLURMD_NODENAME");
    CU_ASSERT(!agents_is_own("node7"));
}

/* An agent starts the nodes whose parent is on another host; every other node
 * is started by its parent. */
TEST(agent_starts_the_heads_of_its_host)
{
    char *argv[] = {(char[]){"run"}, (char[]){"{hosts}"}, NULL};
    char address[LIMIT_ADDRESS + 1];
    struct bootstrap bootstrap;
    struct cop_error error;
    uint32_t first, second;

    setenv("SLURMD_NODENAME", "127.0.0.2", 1);
    launch("fe:0 => 127.0.0.2:0 127.0.0.3:0; 127.0.0.2:0 => 127.0.0.2:1;"
           "127.0.0.3:0 => 127.0.0.2:2;",
           argv);
    first = agents_next(frontend, 0, agents_is_own);
    second = agents_next(frontend, first, agents_is_own);
    CU_ASSERT_EQUAL(topology_instance(frontend->subtree, first), 0);
    CU_ASSERT_EQUAL(topology_instance(frontend->subtree, second), 2);
    CU_ASSERT_EQUAL(agents_next(frontend, second, agents_is_own),
                    TOPOLOGY_NONE);

    CHECK_OK(agents_bootstrap(&bootstrap, frontend, first, 0, address, &error));
    CU_ASSERT_EQUAL(bootstrap.role, NODE_COMMNODE);
    CU_ASSERT_STRING_EQUAL(bootstrap.parent_address, "10.0.0.1 5");
    CU_ASSERT_EQUAL(bootstrap.parent_rank, 0);
    topology_free(bootstrap.subtree);

    CHECK_OK(agents_bootstrap(&bootstrap, frontend, second,
                              topology_parent(frontend->subtree, second),
                              address, &error));
    CU_ASSERT_EQUAL(bootstrap.role, NODE_BACKEND);
    CU_ASSERT_EQUAL(bootstrap.depth, 2);
    CU_ASSERT_STRING_EQUAL(bootstrap.parent_address, "127.0.0.3 20002");
    topology_free(bootstrap.subtree);

    /* the parent is missing */
    CHECK_OK(
        agents_bootstrap(&bootstrap, frontend, second, 0, address, &error));
    CU_ASSERT_EQUAL(bootstrap.depth, 1);
    CU_ASSERT_EQUAL(bootstrap.parent_rank, 0);
    topology_free(bootstrap.subtree);
    bootstrap_free(frontend);
    unsetenv("SLURMD_NODENAME");
}

/* A launch that has failed is repeated without the hosts b and x. */
TEST(hosts_that_are_left_out_get_no_agent)
{
    char *argv[] = {(char[]){"run"}, (char[]){"{hosts}"}, NULL};
    char **words;

    launch("fe:0 => a:0 b:0; a:0 => c:0; b:0 => d:0 b:1 x:0; x:0 => e:0;",
           argv);
    CU_ASSERT_PTR_NULL(agents_absence(frontend, "b"));
    free(frontend->absent);
    frontend->absent = strdup("b,x it is dead, b says");
    CU_ASSERT_STRING_EQUAL(agents_absence(frontend, "b"), "it is dead, b says");
    CU_ASSERT_STRING_EQUAL(agents_absence(frontend, "x"), "it is dead, b says");
    CU_ASSERT_PTR_NULL(agents_absence(frontend, "a"));
    CU_ASSERT_PTR_NULL(agents_absence(frontend, "bb"));
    CU_ASSERT_PTR_NULL(agents_absence(frontend, "dead"));
    CU_ASSERT_EQUAL(agents_parent(frontend, 3), 1); /* c */
    CU_ASSERT_EQUAL(agents_parent(frontend, 4), 0); /* d */
    CU_ASSERT_EQUAL(agents_parent(frontend, 7), 0); /* e */
    CHECK_OK(agents_command(&words, frontend));
    CU_ASSERT_STRING_EQUAL(words[1], "a,c,d,e");
    words_free(words);
    bootstrap_free(frontend);
}

TEST(roll_says_which_hosts_are_silent)
{
    char *argv[] = {(char[]){"run"}, (char[]){"{hosts}"}, NULL};
    struct agents_roll roll;
    char *absent;

    launch("fe:0 => a.z:0 b:0; a.z:0 => c:0 c:1 A:0; b:0 => d:0 x:0 a.y:0;",
           argv);
    free(frontend->absent);
    frontend->absent = strdup("x old reason");
    CHECK_OK(agents_roll(&roll, frontend));
    CU_ASSERT_EQUAL(roll.count, 6);
    agents_answer(&roll, "A.Z"); /* a.z and A */
    agents_answer(&roll, "a.z");
    agents_answer(&roll, "d.any");
    agents_answer(&roll, "x");
    agents_answer(&roll, "nobody");
    CU_ASSERT_EQUAL(roll.here_count, 3);
    absent = agents_absent(&roll, frontend, "new reason");
    CU_ASSERT_STRING_EQUAL(absent, "x,a.y,b,c new reason");
    free(absent);
    agents_roll_free(&roll);
    bootstrap_free(frontend);
}

TEST(unknown_host_of_a_parent_is_named)
{
    char *argv[] = {(char[]){"run"}, (char[]){"{hosts}"}, NULL};
    char address[LIMIT_ADDRESS + 1];
    struct bootstrap bootstrap;
    struct cop_error error;

    launch("fe:0 => no.such.host.invalid:0; no.such.host.invalid:0 => b:0;",
           argv);
    CHECK_IS(agents_bootstrap(&bootstrap, frontend, 2, 1, address, &error),
             -EHOSTUNREACH);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "no.such.host.invalid"));
    bootstrap_free(frontend);
}

/* A connection closed with unread bytes would be reset. */
TEST(agent_reads_all_that_the_front_end_writes)
{
    char *run[] = {(char[]){"run"}, (char[]){"{hosts}"}, NULL};
    char *argv[] = {getenv("COPPICE_COMMNODE"), (char[]){"--agent"}, NULL};
    struct spawn spawn = SPAWN_INIT;
    char line[256] = "";
    unsigned char *bytes;
    FILE *said;
    int input[2], output[2], process;
    size_t len;
    pid_t pid;

    launch("fe:0 => far:0;", run);
    frontend->backend_argv[0][0] = '/'; /* a program that cannot be started */
    frontend->missing = COP_MISSING_SKIP;
    CHECK_OK(bootstrap_encode(frontend, &bytes, &len));
    bootstrap_free(frontend);
    CHECK_OK(spawn_socketpair(input));
    CHECK_OK(spawn_socketpair(output));
    setenv("SLURMD_NODENAME", "far", 1);
    spawn.argv = argv;
    spawn.input = input[1];
    spawn.output = output[1];
    process = spawn_process(&spawn, &pid);
    CHECK_OK(process);
    unsetenv("SLURMD_NODENAME");
    close(input[1]);
    close(output[1]);

    CU_ASSERT_EQUAL(send(input[0], bytes, len, MSG_NOSIGNAL), (ssize_t)len);
    free(bytes);
    said = fdopen(output[0], "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(said);
    do {
        CU_ASSERT_PTR_NOT_NULL_FATAL(fgets(line, sizeof(line), said));
    } while (strncmp(line, AGENTS_HERE, strlen(AGENTS_HERE)) == 0);
    CU_ASSERT_NSTRING_EQUAL(line, "ended 1 could not be started on far", 35);
    CU_ASSERT_EQUAL(send(input[0], "missing 1\n", 10, MSG_NOSIGNAL), 10);
    CHECK_OK(shutdown(input[0], SHUT_WR));
    CU_ASSERT_EQUAL(read(input[0], line, sizeof(line)), 0);
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
    close(input[0]);
    fclose(said);
    close(process);
}
