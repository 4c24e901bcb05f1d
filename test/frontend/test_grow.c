/* test_grow.c - back-ends that join a running network. */
#include <sys/stat.h>

#include <coppice/status.h>

#include "test/frontend/tree.h"

#define JOINERS    3
#define RANKS_ROOM 64

struct session {
    char folder[32];
    char path[64];
};

static void make_session(struct session *session, struct cop_network *network)
{
    struct cop_error error = {""};
    struct stat stat_of;

    snprintf(session->folder, sizeof(session->folder), "/tmp/coppice-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(session->folder));
    snprintf(session->path, sizeof(session->path), "%s/session",
             session->folder);
    CHECK_OK(cop_network_write_session(network, session->path, &error));
    CHECK_OK(stat(session->path, &stat_of));
    CU_ASSERT_EQUAL(stat_of.st_mode & 0777, 0600);
}

static void drop_session(struct session *session)
{
    unlink(session->path);
    CHECK_OK(rmdir(session->folder));
}

/* Start one more back-end. Returns its process. */
static pid_t join(const struct session *session)
{
    const char *program = tree_program("member");
    pid_t pid = fork();

    if (pid == 0) {
        execl(program, program, "session", session->path, (char *)NULL);
        _exit(127);
    }
    CU_ASSERT_FATAL(pid > 0);
    return pid;
}

static struct cop_stream *open_grow(struct cop_network *network,
                                    enum cop_sync sync,
                                    const char *filter)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;

    options.sync = sync;
    options.up_filter = filter;
    options.grow = true;
    options.stragglers = sync == COP_WAIT_FOR_ALL;
    return tree_open_with(network, &options);
}

static void await_joiners(struct cop_network *network, int count)
{
    struct cop_event event = COP_EVENT_INIT;

    while (count-- > 0)
        CHECK_OK(tree_await(network, COP_EVENT_BACKEND_JOINED, &event));
    tree_check_says(event.text, ", pid |) has joined below |: it enters ");
}

/* Joiners become members only of streams that grow and of new streams. */
TEST_OF_TREES(only_streams_that_grow_take_them)
{
    const struct cop_communicator *all = cop_network_everyone(network);
    struct cop_stream *fixed = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_stream *grow = open_grow(network, COP_WAIT_FOR_ALL, "sum");
    int before = (int)cop_communicator_size(all), after = before + JOINERS;
    struct cop_status_node node = COP_STATUS_NODE_INIT;
    struct cop_stream *later;
    struct session session;
    char host[256] = "";

    make_session(&session, network);
    CU_ASSERT_EQUAL(tree_echo(grow, 1), before);
    for (int k = 0; k < JOINERS; k++)
        join(&session);
    await_joiners(network, JOINERS);
    CU_ASSERT_EQUAL(cop_communicator_size(all), (size_t)after);
    CHECK_OK(cop_network_node(network, tree_rank(network, (size_t)after - 1),
                              &node));
    CU_ASSERT_EQUAL(node.role, COP_BACKEND);
    CU_ASSERT_EQUAL(node.state, COP_STATE_UP);
    CU_ASSERT(node.parent < (uint32_t)after);
    CHECK_OK(gethostname(host, sizeof(host) - 1));
    CU_ASSERT_STRING_EQUAL(node.host, host);
    CU_ASSERT_EQUAL(strncmp(node.label, "pid ", 4), 0);
    CU_ASSERT_EQUAL(cop_stream_size(fixed), (size_t)before);
    CU_ASSERT_EQUAL(cop_stream_size(grow), (size_t)after);
    CHECK_IS(tree_sync(grow), 0);
    for (int k = 1; k <= 20; k++) {
        tree_check_sum(grow, k, (size_t)after);
        tree_check_sum(fixed, k, (size_t)before);
    }
    later = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    CU_ASSERT_EQUAL(tree_echo(later, 1), after);
    drop_session(&session);
}

/* The answers of each rank so far: the last number, and their count. */
struct answers {
    int last[RANKS_ROOM];
    int count[RANKS_ROOM];
    int gaps; /* numbers that did not follow the previous one */
};

static void take_answers(struct cop_stream *stream, struct answers *answers)
{
    struct cop_packet *packet;
    uint32_t rank;
    int number = 0;

    while (cop_stream_receive(stream, &packet, 0) == 0) {
        rank = cop_packet_origin(packet);
        CHECK_OK(cop_packet_unpack(packet, "%d", &number));
        cop_packet_free(packet);
        CU_ASSERT_FATAL(rank < RANKS_ROOM);
        if (answers->count[rank]++ > 0)
            answers->gaps += number != answers->last[rank] + 1;
        answers->last[rank] = number;
    }
}

/* Back-ends join while packets flow: from some packet on, each receives every
 * packet, once, in order. A sync waits for their answers too. */
TEST_OF_TREES(joiners_get_each_packet_once)
{
    const struct cop_communicator *all = cop_network_everyone(network);
    struct cop_stream *grow = open_grow(network, COP_DO_NOT_WAIT, NULL);
    size_t before = cop_communicator_size(all), k;
    struct cop_event event = COP_EVENT_INIT;
    struct answers answers = {{0}, {0}, 0};
    struct session session;
    int sent = 0, joined = 0;
    uint64_t deadline_ms;

    make_session(&session, network);
    for (k = 0; k < JOINERS; k++)
        join(&session);
    deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    while (joined < JOINERS && tree_now_ms() < deadline_ms) {
        CHECK_OK(cop_stream_send(grow, TAG_ECHO, "%d", ++sent));
        take_answers(grow, &answers);
        while (cop_network_event(network, &event, 0) == 0)
            joined += event.type == COP_EVENT_BACKEND_JOINED;
    }
    CU_ASSERT_EQUAL_FATAL(joined, JOINERS);
    for (k = 0; k < 50; k++)
        CHECK_OK(cop_stream_send(grow, TAG_ECHO, "%d", ++sent));
    CHECK_IS(tree_sync(grow), 0);
    take_answers(grow, &answers);
    CU_ASSERT_EQUAL(answers.gaps, 0);
    for (k = 0; k < cop_communicator_size(all); k++) {
        uint32_t rank = cop_communicator_rank(all, k);

        CU_ASSERT_EQUAL(answers.last[rank], sent);
        if (k < before)
            CU_ASSERT_EQUAL(answers.count[rank], sent);
        CU_ASSERT(answers.count[rank] >= 50);
    }
    drop_session(&session);
}

/* A stream may be opened without any member. After a sync, every back-end that
 * has joined is in every wave. */
TEST(a_stream_before_its_first_member)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network = NULL;
    struct cop_stream *grow;
    struct cop_error error = {""};
    struct session session;
    struct cop_packet *packet;

    launch.topology_shape = "2x2x2";
    be_patient(&launch);
    CHECK_OK(cop_network_launch(&network, &launch, &error));
    CU_ASSERT_EQUAL(cop_communicator_size(cop_network_everyone(network)), 0);
    grow = open_grow(network, COP_WAIT_FOR_ALL, "sum");
    CHECK_IS(cop_stream_send(grow, TAG_ECHO, "%d", 10), -ENODEV);
    CHECK_IS(cop_stream_receive(grow, &packet, COP_FOREVER), -ENODEV);
    CHECK_IS(cop_stream_sync(grow, COP_FOREVER, &error), -ENODEV);
    make_session(&session, network);
    for (int k = 1; k <= JOINERS; k++) {
        join(&session);
        await_joiners(network, 1);
        CHECK_OK(cop_stream_send(grow, TAG_ECHO, "%d", 10));
        CHECK_IS(tree_sync(grow), 0);
        /* in one packet, or some of them late */
        CU_ASSERT_EQUAL(tree_take_all(grow), 10 * k);
        for (int wave = 0; wave < 5; wave++) {
            CU_ASSERT_EQUAL(tree_echo(grow, 10 + wave), (10 + wave) * k);
        }
    }
    CHECK_OK(cop_stream_send(grow, TAG_LEAVE, ""));
    CHECK_IS(cop_stream_receive(grow, &packet, TREE_PATIENCE_MS), -ENODEV);
    CHECK_IS(cop_stream_send(grow, TAG_ECHO, "%d", 1), -ENODEV);
    join(&session);
    await_joiners(network, 1);
    CU_ASSERT_EQUAL(tree_echo(grow, 7), 7);
    drop_session(&session);
    tree_end(network);
}

/* No node waits for a joiner's process, so its end is not certain if a signal
 * kills it. Streams still open without it. */
TEST(streams_open_without_a_joiner_that_died)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct session session;
    struct cop_stream *stream;
    pid_t pid;

    launch.times.heartbeat_ms = 200;
    launch.times.failure_timeout_ms = 6000;
    launch.times.open_timeout_ms = PATIENCE_MS / 3;
    network = tree_launch_as(launch, "2x2", NULL);
    make_session(&session, network);
    pid = join(&session);
    await_joiners(network, 1);
    CHECK_OK(kill(pid, SIGKILL));
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
    stream = tree_open(network, COP_WAIT_FOR_ALL, "sum"); /* limbo begins */
    CU_ASSERT_EQUAL(tree_echo(stream, 1), 4);
    stream = tree_open(network, COP_WAIT_FOR_ALL, "sum"); /* still in limbo */
    CU_ASSERT_EQUAL(tree_echo(stream, 1), 4);
    drop_session(&session);
    cop_network_shutdown(network, 1000); /* waits for the killed joiner */
    tree_free(network);
}

#define LATE_JOINERS 14

/* The number of nodes that a session file lists. */
static int listed(const char *path)
{
    FILE *file = fopen(path, "re");
    char line[512];
    int count = 0;

    while (file && fgets(line, sizeof(line), file))
        count += strncmp(line, "node ", 5) == 0;
    if (file)
        fclose(file);
    return count;
}

/* All six commnodes are dead: a joiner finds the front-end both with the old
 * file, which lists the dead ones, and with the current file. */
TEST(joiners_find_who_lives)
{
    struct cop_network *network = tree_launch("2x2x2");
    const struct cop_communicator *all = cop_network_everyone(network);
    struct session current, old;
    pid_t commnodes[NODES_MAX];

    make_session(&old, network);
    make_session(&current, network); /* the latest file is kept up to date */
    CU_ASSERT_EQUAL(listed(old.path), 7);
    CU_ASSERT_EQUAL_FATAL(nodes_all(commnodes), 6);
    for (int k = 0; k < 6; k++)
        CHECK_OK(kill(commnodes[k], SIGKILL));
    for (int k = 0; k < LATE_JOINERS / 2; k++)
        join(&old);
    await_joiners(network, LATE_JOINERS / 2);
    CU_ASSERT_EQUAL(listed(old.path), 7);
    for (int k = 0; listed(current.path) > 1 && k < 12000; k++)
        tree_pause();
    CU_ASSERT_EQUAL(listed(current.path), 1);
    for (int k = 0; k < LATE_JOINERS / 2; k++)
        join(&current);
    await_joiners(network, LATE_JOINERS / 2);
    CU_ASSERT_EQUAL(cop_communicator_size(all), 8 + LATE_JOINERS);
    drop_session(&old);
    drop_session(&current);
    tree_end(network);
}

/* Change one digit of the key in a session file. */
static void change_key(const char *path)
{
    FILE *file = fopen(path, "r+e");
    char text[4096] = "", *digit;

    CU_ASSERT_FATAL(file != NULL);
    CU_ASSERT_FATAL(fread(text, 1, sizeof(text) - 1, file) > 0);
    digit = strstr(text, "\nkey ");
    CU_ASSERT_FATAL(digit != NULL);
    digit += strlen("\nkey ");
    fseek(file, digit - text, SEEK_SET);
    fputc(*digit == '0' ? '1' : '0', file);
    CHECK_OK(fclose(file));
}

/* A joiner whose session file has another key is refused, and harms nothing. */
TEST(a_joiner_with_another_key_is_refused)
{
    struct cop_network *network = tree_launch("flat:1");
    struct cop_event event = COP_EVENT_INIT;
    struct session wrong, kept;
    int status = -1;
    pid_t pid;

    make_session(&wrong, network);
    make_session(&kept, network); /* the first file is no longer updated */
    change_key(wrong.path);
    pid = join(&wrong);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    while (cop_network_event(network, &event, 0) == 0)
        CU_ASSERT_NOT_EQUAL(event.type, COP_EVENT_BACKEND_JOINED);
    tree_check_sum(tree_open(network, COP_WAIT_FOR_ALL, "sum"), 1, 1);
    drop_session(&wrong);
    drop_session(&kept);
    tree_end(network);
}
