/* test_join.c - commnodes that join a running network (PROTOCOL 19). */
#include <coppice/status.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "test/frontend/nodes.h"
#include "test/frontend/tree.h"

struct session {
    char folder[32];
    char path[64];
};

static void make_session(struct session *session, struct cop_network *network)
{
    struct cop_error error = {""};

    snprintf(session->folder, sizeof(session->folder), "/tmp/coppice-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(session->folder));
    snprintf(session->path, sizeof(session->path), "%s/session",
             session->folder);
    CHECK_OK(cop_network_write_session(network, session->path, &error));
}

static void drop_session(struct session *session)
{
    unlink(session->path);
    CHECK_OK(rmdir(session->folder));
}

/* Start a commnode with the session file at `path`; its standard error goes to
 * `err`, unless that is -1. Returns its process. */
static pid_t start(const char *path, int err)
{
    const char *program = getenv("COPPICE_COMMNODE");
    pid_t pid;

    CU_ASSERT_PTR_NOT_NULL_FATAL(program);
    pid = fork();
    if (pid == 0) {
        if (err >= 0)
            dup2(err, STDERR_FILENO);
        execl(program, program, "--session", path, (char *)NULL);
        _exit(127);
    }
    CU_ASSERT_FATAL(pid > 0);
    return pid;
}

/* Whether node `rank` answers now. */
static bool answers(const struct session *session, uint32_t rank)
{
    struct cop_status_node node = COP_STATUS_NODE_INIT;
    struct cop_status *status = NULL;
    struct cop_error error = {""};
    bool up = false;

    CHECK_OK(cop_status_read(&status, session->path, TREE_PATIENCE_MS, &error));
    for (size_t i = 0; i < cop_status_count(status); i++) {
        CHECK_OK(cop_status_at(status, i, &node));
        up |= node.rank == rank && node.role == COP_COMMNODE &&
              node.parent == 0 && node.state == COP_STATE_UP;
    }
    cop_status_free(status);
    return up;
}

/* Start a commnode, and wait until it has joined and knows it. Returns its
 * process. */
static pid_t join(struct cop_network *network,
                  const struct session *session,
                  uint32_t *rank)
{
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    struct cop_event event = COP_EVENT_INIT;
    pid_t pid = start(session->path, -1);

    CHECK_OK(tree_await(network, COP_EVENT_NODE_JOINED, &event));
    tree_check_says(event.text, ") has joined below 0");
    *rank = event.rank;
    while (!answers(session, *rank))
        CU_ASSERT_FATAL(tree_now_ms() < deadline_ms);
    return pid;
}

/* The exit status of process `pid`, once it has ended. */
static int status_of(pid_t pid)
{
    int status = -1;

    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A commnode is killed. The joined one adopts some of its back-ends, and the
 * sums are those of all. So it is when the joined one is killed. */
TEST(a_joined_commnode_adopts_and_may_die)
{
    struct cop_network *network = tree_launch("2x4");
    struct cop_stream *stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_status_node node = COP_STATUS_NODE_INIT;
    struct cop_event event = COP_EVENT_INIT;
    pid_t commnodes[NODES_MAX], joined;
    uint32_t rank, adopted = 0;
    struct session session;

    CU_ASSERT_EQUAL_FATAL(nodes_all(commnodes), 2);
    make_session(&session, network);
    CU_ASSERT_EQUAL(tree_echo(stream, 1), 8);
    joined = join(network, &session, &rank);
    CU_ASSERT_EQUAL(tree_echo(stream, 1), 8); /* all have read NODE before */
    CHECK_OK(cop_network_node(network, rank, &node));
    CU_ASSERT_EQUAL(node.role, COP_COMMNODE);
    CU_ASSERT_EQUAL(node.state, COP_STATE_UP);
    CU_ASSERT_EQUAL(node.parent, 0);
    CHECK_OK(kill(commnodes[0], SIGKILL));
    for (int orphans = 0; orphans < 4; orphans++) {
        CHECK_OK(tree_await(network, COP_EVENT_NODE_ADOPTED, &event));
        adopted += event.parent == rank;
    }
    CU_ASSERT(adopted > 0);
    CHECK_OK(tree_sync(stream));
    tree_take_all(stream);
    for (int k = 1; k <= 20; k++)
        tree_check_sum(stream, k, 8);
    CHECK_OK(kill(joined, SIGKILL));
    CHECK_IS(status_of(joined), -1);
    while (adopted-- > 0)
        CHECK_OK(tree_await(network, COP_EVENT_NODE_ADOPTED, &event));
    CHECK_OK(tree_sync(stream));
    tree_take_all(stream);
    for (int k = 1; k <= 20; k++)
        tree_check_sum(stream, k, 8);
    drop_session(&session);
    tree_end(network);
}

/* The front-end keeps the session file up to date: a back-end and another
 * commnode may call the joined one. It ends with the network, with status 0. */
TEST(it_ends_with_the_network)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct session session;
    char wanted[32], line[4096];
    bool listed = false;
    uint32_t rank;
    pid_t joined;
    FILE *file;

    snprintf(session.folder, sizeof(session.folder), "/tmp/coppice-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(session.folder));
    snprintf(session.path, sizeof(session.path), "%s/session", session.folder);
    launch.session_path = session.path;
    launch.topology_shape = "2x2";
    network = tree_launch_as(launch, NULL, NULL);
    joined = join(network, &session, &rank);
    snprintf(wanted, sizeof(wanted), "node %u ", rank);
    file = fopen(session.path, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    while (fgets(line, sizeof(line), file))
        listed |= strncmp(line, wanted, strlen(wanted)) == 0;
    fclose(file);
    CU_ASSERT(listed);
    CHECK_IS(cop_network_shutdown(network, TREE_PATIENCE_MS), 0);
    CHECK_IS(status_of(joined), 0);
    drop_session(&session);
    tree_free(network);
}

/* Replace the first digit of the line that begins with `word` in the file. */
static void damage(const char *path, const char *word)
{
    char text[8192];
    FILE *file = fopen(path, "r+e");
    size_t len;
    char *at;

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    len = fread(text, 1, sizeof(text) - 1, file);
    text[len] = '\0';
    at = strstr(text, word);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    at += strlen(word);
    *at = *at == '0' ? '1' : '0';
    rewind(file);
    CU_ASSERT_EQUAL(fwrite(text, 1, len, file), len);
    fclose(file);
}

/* Run a commnode with that file. It ends with status 1 and a sentence that has
 * the words of `say`. */
static void check_turned_away(const char *path, const char *say)
{
    char text[1024] = "";
    size_t len = 0;
    ssize_t n;
    int ends[2];
    pid_t pid;

    CHECK_OK(pipe(ends));
    pid = start(path, ends[1]);
    close(ends[1]);
    while (len < sizeof(text) - 1 &&
           (n = read(ends[0], text + len, sizeof(text) - 1 - len)) > 0)
        len += (size_t)n;
    close(ends[0]);
    CHECK_IS(status_of(pid), 1);
    tree_check_says(text, say);
}

/* With a wrong key, the file of a network that has ended, a damaged file or none
 * it ends with a sentence, and the network goes on. */
TEST(a_bad_session_file_is_no_way_in)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_event event = COP_EVENT_INIT;
    struct session session;

    make_session(&session, network);
    damage(session.path, "\nkey ");
    check_turned_away(session.path, "cannot join the network: ");
    CHECK_OK(cop_network_write_session(network, session.path, NULL));
    damage(session.path, "coppice ");
    check_turned_away(session.path, "is no session file");
    check_turned_away("/nowhere/session", "/nowhere/session: cannot open");
    CHECK_OK(cop_network_write_session(network, session.path, NULL));
    CU_ASSERT_EQUAL(tree_echo(stream, 1), 4);
    while (cop_network_event(network, &event, 0) == 0)
        CU_ASSERT_NOT_EQUAL(event.type, COP_EVENT_NODE_JOINED);
    tree_end(network);
    check_turned_away(session.path, "cannot join the network: ");
    drop_session(&session);
}

/* Check that the front-end has view `number` with `count` ranks, and not `without`,
 * and that every back-end knows it. */
static void check_view(struct cop_network *network,
                       struct cop_stream *least,
                       uint64_t number,
                       size_t count,
                       uint32_t without)
{
    struct cop_view view = COP_VIEW_INIT;

    CHECK_OK(cop_network_view(network, &view));
    CU_ASSERT_EQUAL(view.number, number);
    CU_ASSERT_EQUAL(view.stable, number);
    CU_ASSERT_EQUAL_FATAL(view.rank_count, count);
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT(i == 0 || view.ranks[i] > view.ranks[i - 1]);
        CU_ASSERT_NOT_EQUAL(view.ranks[i], without);
    }
    free(view.ranks);
    CHECK_OK(cop_stream_send(least, TAG_VIEW, ""));
    CU_ASSERT_EQUAL(tree_receive(least, NULL), (int)number);
}

/* The launch is a view, the death of a commnode makes the next one, a joiner the
 * third. Each event says how long it took until all back-ends had it. */
TEST(views_say_who_is_in)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_event event = COP_EVENT_INIT;
    struct cop_view wrong = {.size = 3};
    pid_t commnodes[NODES_MAX];
    uint32_t rank;
    struct session session;

    launch.views = true;
    network = tree_launch_as(launch, "2x2", NULL);
    stream = tree_open(network, COP_WAIT_FOR_ALL, "min");
    CU_ASSERT_EQUAL_FATAL(nodes_all(commnodes), 2);
    make_session(&session, network);
    check_view(network, stream, 1, 7, 7);
    CHECK_OK(kill(commnodes[0], SIGKILL));
    CHECK_OK(tree_await(network, COP_EVENT_NODE_LOST, &event));
    rank = event.rank;
    CHECK_OK(tree_await(network, COP_EVENT_VIEW, &event));
    CU_ASSERT_EQUAL(event.view, 2);
    CU_ASSERT(event.view_us > 0);
    tree_check_says(event.text, "every back-end has view 2 after ");
    check_view(network, stream, 2, 6, rank);
    join(network, &session, &rank);
    CHECK_OK(tree_await(network, COP_EVENT_VIEW, &event));
    check_view(network, stream, 3, 7, rank + 1);
    CHECK_IS(cop_network_view(network, &wrong), -EINVAL);
    tree_end(network);
    drop_session(&session);
}

/* Without `views` there are none, and a back-end knows only the launch. */
TEST(there_are_no_views_unless_asked_for)
{
    struct cop_network *network = tree_launch("2x2");
    struct cop_stream *stream = tree_open(network, COP_WAIT_FOR_ALL, "max");
    struct cop_view view = COP_VIEW_INIT;

    CHECK_IS(cop_network_view(network, &view), -EOPNOTSUPP);
    CHECK_OK(cop_stream_send(stream, TAG_VIEW, ""));
    CU_ASSERT_EQUAL(tree_receive(stream, NULL), 1);
    tree_end(network);
}

/* How many back-ends have that parent. */
static unsigned children_of(struct cop_network *network, uint32_t rank)
{
    struct cop_status_node node = COP_STATUS_NODE_INIT;
    const struct cop_communicator *everyone = cop_network_everyone(network);
    unsigned count = 0;

    for (size_t i = 0; i < cop_communicator_size(everyone); i++) {
        CHECK_OK(cop_network_node(network, cop_communicator_rank(everyone, i),
                                  &node));
        count += node.parent == rank;
    }
    return count;
}

/* Launch with the name `path` for the program of commnodes, which the caller may
 * delete. */
static struct cop_network *launch_replaced(const char *path)
{
    struct cop_launch launch = COP_LAUNCH_INIT;

    CHECK_OK(symlink(getenv("COPPICE_COMMNODE"), path));
    launch.commnode_path = path;
    launch.replace = 1;
    launch.spares = "localhost";
    return tree_launch_as(launch, "2x3", NULL);
}

/* Commnodes die one after the other, and each is replaced: in the end all
 * back-ends are below replacements or the front-end, and the sums are whole. When
 * the program is gone, the application is told that none can be started. */
TEST(lost_commnodes_are_replaced)
{
    struct cop_event event = COP_EVENT_INIT;
    pid_t commnodes[NODES_MAX];
    struct cop_network *network;
    struct cop_stream *stream;
    struct session session;
    char program[32];
    uint32_t replacement;
    uint64_t deadline_ms;

    snprintf(program, sizeof(program), "/tmp/coppice-commnode.%d",
             (int)getpid());
    network = launch_replaced(program);
    make_session(&session, network);
    stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    CU_ASSERT_EQUAL_FATAL(nodes_all(commnodes), 2);
    CHECK_OK(kill(commnodes[0], SIGKILL));
    CHECK_OK(tree_await(network, COP_EVENT_NODE_JOINED, &event));
    CU_ASSERT(event.place == 1 || event.place == 2);
    CU_ASSERT(event.rank > 8);
    tree_check_says(event.text, " has joined below 0 in place of ");
    replacement = event.rank;
    CHECK_OK(tree_sync(stream));
    tree_take_all(stream);
    tree_check_sum(stream, 1, 6); /* all nodes know of it */
    deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    while (!answers(&session, replacement))
        CU_ASSERT_FATAL(tree_now_ms() < deadline_ms);
    CHECK_OK(unlink(program));
    CHECK_OK(kill(commnodes[1], SIGKILL));
    CHECK_OK(tree_await(network, COP_EVENT_NODE_ADOPTED, &event));
    CHECK_OK(tree_await(network, COP_EVENT_REPLACE_FAILED, &event));
    CU_ASSERT(event.rank == 1 || event.rank == 2);
    tree_check_says(event.text, " is not replaced: try 1 of 1: ");
    tree_check_says(event.text, "; there is no further one");
    CHECK_OK(tree_sync(stream));
    tree_take_all(stream);
    tree_check_sum(stream, 2, 6);
    CU_ASSERT(children_of(network, replacement) > 0);
    tree_end(network);
    drop_session(&session);
}

/* How many commnodes of the launch of 2x2x2 have `rank` as their parent. */
static unsigned commnodes_below(struct cop_network *network, uint32_t rank)
{
    struct cop_status_node node = COP_STATUS_NODE_INIT;
    unsigned count = 0;

    for (uint32_t one = 1; one <= 6; one++) {
        CHECK_OK(cop_network_node(network, one, &node));
        count += node.state == COP_STATE_UP && node.parent == rank;
    }
    return count;
}

/* Ask for a move, once no node is suspected, and await its news. */
static void ask_move(struct cop_network *network,
                     uint32_t rank,
                     uint32_t parent,
                     struct cop_event *event)
{
    int r;

    *event = (struct cop_event)COP_EVENT_INIT;
    while ((r = cop_network_move(network, rank, parent)) == -EAGAIN)
        CHECK_OK(cop_network_event(network, event, TREE_PATIENCE_MS));
    CHECK_OK(r);
    CHECK_IS(cop_network_move(network, rank, parent), -EBUSY);
    do {
        CHECK_OK(cop_network_event(network, event, TREE_PATIENCE_MS));
    } while (event->type != COP_EVENT_NODE_MOVED &&
             event->type != COP_EVENT_MOVE_FAILED);
    CU_ASSERT_EQUAL(event->rank, rank);
    CU_ASSERT_EQUAL(event->parent, parent);
}

/* Have commnode `rank` move below `parent`, which may have joined a moment ago and
 * not know its rank yet. */
static void move(struct cop_network *network, uint32_t rank, uint32_t parent)
{
    uint64_t deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    struct cop_event event;
    char text[64];

    for (;;) {
        ask_move(network, rank, parent, &event);
        if (event.type == COP_EVENT_NODE_MOVED)
            break;
        tree_check_says(event.text, ") has not moved below |: it could not "
                                    "connect to the next parent");
        CU_ASSERT_FATAL(tree_now_ms() < deadline_ms);
    }
    CU_ASSERT_NOT_EQUAL(event.lost_parent, parent);
    CU_ASSERT_EQUAL(event.recovery.attempts, 1);
    snprintf(text, sizeof(text), ") has moved from %u below %u",
             event.lost_parent, parent);
    tree_check_says(event.text, text);
    CHECK_IS(cop_network_move(network, rank, parent), -EALREADY);
}

/* Have `backend` move below another one of the lowest commnodes. `parents`: of
 * ranks 1 to 6 at launch. */
static void move_backend(struct cop_network *network,
                         uint32_t backend,
                         const uint32_t *parents)
{
    struct cop_status_node node = COP_STATUS_NODE_INIT;
    uint32_t next = 1;

    CHECK_OK(cop_network_node(network, backend, &node));
    while (next < 6 && (parents[next] == 0 || next == node.parent))
        next++;
    move(network, backend, next);
    CHECK_OK(cop_network_node(network, backend, &node));
    CU_ASSERT_EQUAL(node.parent, next);
}

/* A commnode is killed and replaced, and its orphans, commnodes too, move back
 * below the one that has its place. The sums are those of all. */
TEST(orphans_move_below_a_replacement)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_status_node node = COP_STATUS_NODE_INIT;
    struct cop_event event = COP_EVENT_INIT;
    uint32_t parents[7], backend, moved = 0;
    pid_t commnodes[NODES_MAX];
    struct cop_network *network;
    struct cop_stream *stream;

    launch.replace = 1;
    launch.spares = "localhost";
    network = tree_launch_as(launch, "2x2x2", NULL);
    backend = tree_rank(network, 0);
    stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    for (uint32_t rank = 1; rank <= 6; rank++) {
        CHECK_OK(cop_network_node(network, rank, &node));
        CU_ASSERT_EQUAL_FATAL(node.role, COP_COMMNODE);
        parents[rank] = node.parent;
    }
    CHECK_IS(cop_network_move(network, 0, 1), -EINVAL);
    CHECK_IS(cop_network_move(network, 1, backend), -EINVAL);
    CHECK_IS(cop_network_move(network, 1000, 1), -ENOENT);
    CU_ASSERT_EQUAL_FATAL(nodes_all(commnodes), 6);
    CHECK_OK(kill(commnodes[0], SIGKILL)); /* below the front-end */
    CHECK_OK(tree_await(network, COP_EVENT_NODE_JOINED, &event));
    for (uint32_t rank = 1; rank <= 6; rank++)
        if (parents[rank] == event.place) {
            move(network, rank, event.rank);
            moved++;
        }
    CU_ASSERT_EQUAL(moved, 2);
    CU_ASSERT_EQUAL(commnodes_below(network, event.rank), 2);
    move_backend(network, backend, parents);
    CU_ASSERT(tree_sync(stream) >= 0);
    tree_take_all(stream);
    for (int number = 1; number <= 3; number++)
        tree_check_sum(stream, number, 8);
    CHECK_IS(tree_sync(stream), 0);
    tree_end(network);
}

/* With keep_shape the front-end has them move. */
TEST(the_shape_comes_back)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_event event = COP_EVENT_INIT;
    pid_t commnodes[NODES_MAX];
    struct cop_network *network;
    struct cop_stream *stream;
    uint32_t replacement;

    launch.replace = 1;
    launch.keep_shape = true;
    network = tree_launch_as(launch, "2x2x2", NULL);
    stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    CU_ASSERT_EQUAL_FATAL(nodes_all(commnodes), 6);
    CHECK_OK(kill(commnodes[0], SIGKILL)); /* below the front-end */
    CHECK_OK(tree_await(network, COP_EVENT_NODE_JOINED, &event));
    replacement = event.rank;
    for (int moved = 0; moved < 2; moved++) {
        CHECK_OK(tree_await(network, COP_EVENT_NODE_MOVED, &event));
        CU_ASSERT_EQUAL(event.parent, replacement);
    }
    CU_ASSERT_EQUAL(commnodes_below(network, replacement), 2);
    CHECK_OK(kill(commnodes[5], SIGKILL)); /* above two back-ends */
    CHECK_OK(tree_await(network, COP_EVENT_NODE_JOINED, &event));
    replacement = event.rank;
    CHECK_OK(tree_await(network, COP_EVENT_NODE_MOVED, &event));
    CU_ASSERT_EQUAL(event.rank, replacement);
    for (int moved = 0; moved < 2; moved++) {
        CHECK_OK(tree_await(network, COP_EVENT_NODE_MOVED, &event));
        CU_ASSERT_EQUAL(event.parent, replacement);
    }
    CU_ASSERT(tree_sync(stream) >= 0);
    tree_take_all(stream);
    tree_check_sum(stream, 1, 8);
    CHECK_IS(tree_sync(stream), 0);
    tree_end(network);
}
