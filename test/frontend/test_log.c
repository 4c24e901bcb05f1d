/* test_log.c - the log lines of a network's nodes, and where they go. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "test/frontend/tree.h"
#include "test/process/journal.h"

#define STRANGERS 400

/* The address of node 0 in the session file. */
static struct sockaddr_in front_end_address(const char *path)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    char line[4096], host[64];
    FILE *file = fopen(path, "re");
    bool found = false;
    unsigned port;

    CU_ASSERT_FATAL(file != NULL);
    while (!found && fgets(line, sizeof(line), file))
        found = sscanf(line, "node 0 %63s %u", host, &port) == 2;
    fclose(file);
    CU_ASSERT_FATAL(found);
    CU_ASSERT_EQUAL_FATAL(inet_pton(AF_INET, host, &address.sin_addr), 1);
    address.sin_port = htons((uint16_t)port);
    return address;
}

/* Connect, send bytes that no node would send, and wait to be refused. */
static void be_a_stranger(const struct sockaddr_in *address)
{
    static const char nonsense[512] = "GET / HTTP/1.0\r\n\r\n";
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char bytes[512];

    CHECK_OK(fd);
    CHECK_OK(connect(fd, (const struct sockaddr *)address, sizeof(*address)));
    (void)!send(fd, nonsense, sizeof(nonsense), MSG_NOSIGNAL);
    while (read(fd, bytes, sizeof(bytes)) > 0)
        continue;
    close(fd);
}

/* Count in `path` the lines about one refused connection; `counted`: the sum of
 * the connections that other lines count. */
static void count_refusals(const char *path, unsigned *lines, unsigned *counted)
{
    FILE *file = fopen(path, "re");
    const char *refused;
    char line[1024];
    unsigned more;

    *lines = 0;
    *counted = 0;
    CU_ASSERT_FATAL(file != NULL);
    while (fgets(line, sizeof(line), file)) {
        refused = strstr(line, "LINK-REFUSED");
        if (refused && sscanf(refused, "LINK-REFUSED %u more", &more) == 1)
            *counted += more;
        else if (refused)
            ++*lines;
    }
    fclose(file);
}

TEST(flood_of_strangers_is_counted_and_not_listed)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct sockaddr_in address;
    struct journal journal;
    unsigned lines, counted;
    uint64_t begin_ms;
    char path[80];

    CHECK_OK(journal_begin(&journal));
    snprintf(path, sizeof(path), "%s.session", journal.path);
    launch.session_path = path;
    network = tree_launch_as(launch, "flat:1", NULL);
    address = front_end_address(path);
    begin_ms = tree_now_ms();
    for (unsigned i = 0; i < STRANGERS; i++)
        be_a_stranger(&address);
    tree_end(network);
    count_refusals(journal.path, &lines, &counted);
    CU_ASSERT_EQUAL(lines + counted, STRANGERS);
    CU_ASSERT(lines <= 10 * ((tree_now_ms() - begin_ms) / 1000 + 2));
    journal_end(&journal, lines + counted != STRANGERS);
    unlink(path);
}

/* Whether a line of `path` contains `text`. */
static bool has_line(const char *path, const char *text)
{
    FILE *file = fopen(path, "re");
    char line[1024];
    bool found = false;

    CU_ASSERT_FATAL(file != NULL);
    while (!found && fgets(line, sizeof(line), file))
        found = strstr(line, text) != NULL;
    fclose(file);
    return found;
}

/* The last line of a node's log says why the node ended. */
TEST(a_node_says_why_it_ends)
{
    struct journal journal;
    bool said;

    CHECK_OK(journal_begin(&journal));
    tree_end(tree_launch("flat:1"));
    said = has_line(journal.path,
                    "back-end: NODE-END the front-end has ended the network");
    CU_ASSERT(said);
    journal_end(&journal, !said);
}

/* The tool's standard output ends for its reader while commnodes live. */
TEST(commnodes_do_not_hold_the_standard_output_of_the_tool)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network = NULL;
    struct cop_error error = {""};
    pid_t nodes[NODES_MAX];
    int ends[2], kept;
    char byte;

    launch.topology_shape = "2x2";
    be_patient(&launch);
    fflush(stdout);
    kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    CHECK_OK(kept);
    CHECK_OK(pipe2(ends, O_CLOEXEC | O_NONBLOCK));
    CHECK_OK(dup2(ends[1], STDOUT_FILENO));
    close(ends[1]);
    cop_network_launch(&network, &launch, &error);
    dup2(kept, STDOUT_FILENO); /* the tool's own end is closed */
    close(kept);
    CU_ASSERT_STRING_EQUAL(error.text, "");
    CU_ASSERT_FATAL(network != NULL);
    CU_ASSERT_EQUAL(nodes_all(nodes), 6);
    CHECK_IS(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    tree_end(network);
}

/* Standard error is a pipe that nothing reads, as in `tool 2>&1 | less`. Output
 * of back-ends behind ssh to it blocks nothing. */
static int talk_without_a_reader(void)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *packet;
    int ends[2];

    if (pipe(ends) < 0 || dup2(ends[1], STDERR_FILENO) < 0)
        return 1;
    tree_by_ssh(&launch, "localhost:0 => n1:0; n1:0 => n2:0 n3:0;");
    network = tree_launch_as(launch, NULL, NULL);
    stream = tree_open(network, COP_DO_NOT_WAIT, NULL);
    for (int i = 0; i < 3; i++)
        if (cop_stream_send(stream, TAG_SHOUT, "") < 0)
            return 2;
    for (int i = 0; i < 6; i++)
        if (tree_receive(stream, NULL) != 1)
            return 3;
    if (cop_stream_receive(stream, &packet, 10) != -EAGAIN ||
        cop_network_shutdown(network, TREE_PATIENCE_MS) != 0)
        return 4;
    cop_network_free(network);
    return 0;
}

TEST(unread_standard_error_holds_up_nothing)
{
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    int status = -1;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0)
        _exit(talk_without_a_reader());
    while (waitpid(pid, &status, WNOHANG) == 0) {
        tree_pause();
        if (tree_now_ms() > deadline_ms)
            kill(pid, SIGKILL);
    }
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
}
