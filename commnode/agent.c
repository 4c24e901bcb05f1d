/* agent.c - start the nodes of this host (PROTOCOL 12.5).
 *
 *   stdin   ---- the front-end's bootstrap ---->  that of each node
 *   stdout  <--- lines of net/agents.h
 *
 * One command of the front-end, such as srun, starts an agent on each host. A
 * node that is not accepted yet is ended by end-of-file on standard input, and
 * also by a line that names its parent as missing; then it is started again. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commnode/commnode.h"
#include "commnode/program.h"
#include "net/address.h"
#include "net/agents.h"
#include "topology/array.h"
#include "topology/topology.h"
#include "wire/limits.h"

/* A node that this agent starts. Indices are those of the topology. */
struct started {
    struct program program;
    uint32_t index;
    uint32_t parent;
};

struct agent {
    struct bootstrap *frontend;
    struct started *nodes;
    size_t count;
    size_t alive;
    bool input; /* standard input is still open */
    char line[64];
    size_t line_len;
};

/* Write one line to the front-end by one write(): all agents share its pipe. */
__attribute__((format(printf, 1, 2))) static void agent_say(const char *format,
                                                            ...)
{
    char line[2 * LIMIT_HOST_NAME + 256];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(line, sizeof(line) - 1, format, args);
    va_end(args);
    if (len > (int)sizeof(line) - 2)
        len = (int)sizeof(line) - 2;
    line[len++] = '\n';
    (void)!write(STDOUT_FILENO, line, (size_t)len);
}

/* ---- starting ---- */

/* Start `node` below its `parent`. */
static void agent_start_node(struct agent *agent, struct started *node)
{
    const struct topology *tree = agent->frontend->subtree;
    uint32_t rank = topology_rank(tree, node->index);
    char *commnode[2] = {agent->frontend->commnode_path, NULL};
    char *const *argv = commnode;
    struct cop_error error = {""};
    struct bootstrap bootstrap = {.subtree = NULL};
    char address[LIMIT_ADDRESS + 1];
    unsigned char *bytes = NULL;
    size_t len = 0;
    int r;

    node->program = (struct program){.fd = -1, .process = -1};
    r = agents_bootstrap(&bootstrap, agent->frontend, node->index, node->parent,
                         address, &error);
    if (r == 0 && bootstrap.role == NODE_BACKEND)
        argv = bootstrap.backend_argv;
    if (r == 0)
        r = bootstrap_encode(&bootstrap, &bytes, &len);
    if (r == 0)
        r = program_start(&node->program, argv, bytes, len);
    if (r < 0)
        agent_say(AGENTS_ENDED " %u could not be started on %s: %s", rank,
                  topology_host(tree, node->index),
                  *error.text ? error.text : strerror(-r));
    else
        agent->alive++;
    if (bytes)
        explicit_bzero(bytes, len);
    free(bytes);
    topology_free(bootstrap.subtree);
}

/* Whether no other agent of this network starts the same nodes. Each agent
 * binds a socket name, which only one process at a time can have. */
static bool agent_is_only(const struct agent *agent)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const unsigned char *session = agent->frontend->session;
    uint32_t rank =
        topology_rank(agent->frontend->subtree, agent->nodes[0].index);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int len = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
                       "coppice-agent-%u-", rank);
    socklen_t size;

    memcpy(address.sun_path + 1 + len, session, BOOTSTRAP_SESSION_LEN);
    size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)len + BOOTSTRAP_SESSION_LEN);
    /* The descriptor stays open until the end of this process. */
    return fd < 0 || bind(fd, (struct sockaddr *)&address, size) == 0 ||
           errno != EADDRINUSE;
}

/* List the nodes of this host, as decided by `is_own`. Returns 0 or -ENOMEM. */
static int agent_list(struct agent *agent, bool (*is_own)(const char *host))
{
    uint32_t index = agents_next(agent->frontend, 0, is_own);

    for (; index != TOPOLOGY_NONE;
         index = agents_next(agent->frontend, index, is_own)) {
        if (array_grow(&agent->nodes, agent->count, sizeof(*agent->nodes)) < 0)
            return -ENOMEM;
        agent->nodes[agent->count++] = (struct started){
            .index = index,
            .parent = agents_parent(agent->frontend, index),
        };
    }
    return 0;
}

/* List the nodes whose host is an alias of this one, and report that name. */
static int agent_list_aliases(struct agent *agent)
{
    const struct topology *tree = agent->frontend->subtree;
    const char *last = "";
    int r = agent_list(agent, address_is_ours);

    for (size_t i = 0; i < agent->count; i++) {
        const char *host = topology_host(tree, agent->nodes[i].index);

        if (strcmp(host, last) != 0)
            agent_say(AGENTS_HERE " %s", host);
        last = host;
    }
    return r;
}

/* Start all nodes of this host. Returns 0, or an error after reporting it. */
static int agent_begin(struct agent *agent)
{
    const struct topology *tree = agent->frontend->subtree;
    char own[LIMIT_HOST_NAME + 1] = "";
    int r;

    r = agent_list(agent, agents_is_own);
    if (r == 0 && agent->count == 0)
        r = agent_list_aliases(agent);
    if (r < 0) {
        agent_say(AGENTS_LOST " %s", strerror(ENOMEM));
        return r;
    }
    if (agent->count == 0) {
        gethostname(own, sizeof(own) - 1);
        agent_say(AGENTS_LOST " an agent runs on %s, which the topology does "
                              "not name",
                  own);
        return -ENOENT;
    }
    if (!agent_is_only(agent)) {
        agent_say(AGENTS_LOST " the command has started two agents on %s: it "
                              "must start one on each host",
                  topology_host(tree, agent->nodes[0].index));
        return -EEXIST;
    }
    for (size_t i = 0; i < agent->count; i++)
        agent_start_node(agent, &agent->nodes[i]);
    return 0;
}

/* ---- staying ---- */

/* End the nodes that are not accepted yet and whose parent is `rank`;
 * RANK_NONE: whatever their parent is. */
static void agent_end_waiting(struct agent *agent, uint32_t rank)
{
    for (size_t i = 0; i < agent->count; i++) {
        const struct started *node = &agent->nodes[i];

        if (node->program.process >= 0 && !node->program.accepted &&
            (rank == RANK_NONE ||
             rank == topology_rank(agent->frontend->subtree, node->parent)))
            kill(node->program.pid, SIGKILL);
    }
}

/* Read what the front-end has written after the bootstrap. */
static void agent_take_input(struct agent *agent)
{
    char bytes[256];
    uint32_t rank;
    ssize_t n;
    ssize_t i;

    n = read(STDIN_FILENO, bytes, sizeof(bytes));
    if (n <= 0) {
        agent->input = false;
        agent_end_waiting(agent, RANK_NONE);
        return;
    }
    for (i = 0; i < n; i++) {
        if (bytes[i] != '\n') {
            if (agent->line_len + 1 < sizeof(agent->line))
                agent->line[agent->line_len++] = bytes[i];
            continue;
        }
        agent->line[agent->line_len] = '\0';
        agent->line_len = 0;
        if (sscanf(agent->line, AGENTS_MISSING " %" SCNu32, &rank) == 1)
            agent_end_waiting(agent, rank);
    }
}

/* Whether to start a node that has ended again, below the next node above: it
 * has not found its parent, and nodes may be missing (PROTOCOL 12.2a). */
static bool agent_tries_above(struct agent *agent, struct started *node)
{
    if (node->program.accepted || !agent->input || node->parent == 0 ||
        agent->frontend->missing != COP_MISSING_SKIP)
        return false;
    node->parent = agents_parent(agent->frontend, node->parent);
    return true;
}

/* Report the end of `node`, and its parent, which may be the cause. */
static void agent_say_end(const struct agent *agent,
                          const struct started *node,
                          int status)
{
    const struct topology *tree = agent->frontend->subtree;
    char place[2 * LIMIT_HOST_NAME + 96] = "";
    uint32_t rank = topology_rank(tree, node->index);

    if (!node->program.accepted && node->parent != 0)
        snprintf(place, sizeof(place),
                 " on %s: its parent, rank %u on %s, had not accepted it",
                 topology_host(tree, node->index),
                 topology_rank(tree, node->parent),
                 topology_host(tree, node->parent));
    if (WIFSIGNALED(status))
        agent_say(AGENTS_ENDED " %u was ended by signal %d (%s)%s", rank,
                  WTERMSIG(status), strsignal(WTERMSIG(status)), place);
    else
        agent_say(AGENTS_ENDED " %u exited with status %d%s", rank,
                  WEXITSTATUS(status), place);
}

static void agent_end_of_node(struct agent *agent, struct started *node)
{
    int status = program_reap(&node->program);

    agent->alive--;
    if (agent_tries_above(agent, node))
        agent_start_node(agent, node);
    else
        agent_say_end(agent, node, status);
}

/* Whether the front-end may still write. If the agent left a line unread, its
 * connection would be reset, and srun would end all agents. */
static bool agent_is_told(const struct agent *agent)
{
    return agent->input && agent->frontend->missing == COP_MISSING_SKIP;
}

/* Run until the last node has ended, and the front-end writes no more. */
static int agent_stay(struct agent *agent)
{
    struct pollfd *pollers = calloc(2 * agent->count + 1, sizeof(*pollers));
    size_t i;

    if (!pollers)
        return -ENOMEM;
    while (agent->alive > 0 || agent_is_told(agent)) {
        for (i = 0; i < agent->count; i++) {
            pollers[2 * i] =
                (struct pollfd){agent->nodes[i].program.process, POLLIN, 0};
            pollers[2 * i + 1] =
                (struct pollfd){agent->nodes[i].program.fd, POLLIN, 0};
        }
        pollers[2 * i] =
            (struct pollfd){agent->input ? STDIN_FILENO : -1, POLLIN, 0};
        if (poll(pollers, 2 * agent->count + 1, -1) < 0)
            continue; /* interrupted by a signal */
        if (pollers[2 * i].revents)
            agent_take_input(agent);
        for (i = 0; i < agent->count; i++) {
            if (pollers[2 * i + 1].revents)
                program_accepted(&agent->nodes[i].program);
            if (pollers[2 * i].revents &&
                program_ended(&agent->nodes[i].program))
                agent_end_of_node(agent, &agent->nodes[i]);
        }
    }
    free(pollers);
    return 0;
}

static int agent_read(struct agent *agent)
{
    char room[LIMIT_HOST_NAME + 1];
    const char *names[2];
    unsigned char *bytes;
    size_t len;
    int r;

    agents_own_names(names, room);
    for (int i = 0; i < 2; i++)
        if (names[i] && (i == 0 || !names[0] || strcmp(names[0], room) != 0))
            agent_say(AGENTS_HERE " %s", names[i]);
    r = bootstrap_receive(STDIN_FILENO, LIMIT_LAUNCH_TIMEOUT_MS, &bytes, &len);
    if (r < 0) {
        fprintf(stderr,
                "coppice-commnode --agent: no bootstrap on standard input: "
                "%s\n",
                r == -EPIPE ? "end of file" : strerror(-r));
        return r;
    }
    r = bootstrap_decode(&agent->frontend, bytes, len);
    explicit_bzero(bytes, len);
    free(bytes);
    if (r == 0 &&
        (!agent->frontend->subtree || agent->frontend->ports.count == 0))
        r = -EBADMSG;
    if (r < 0)
        agent_say(AGENTS_LOST " an agent cannot read its bootstrap: %s",
                  strerror(-r));
    return r;
}

int cop_commnode_agent(void)
{
    struct agent agent = {.input = true};
    int r;

    signal(SIGPIPE, SIG_IGN); /* the front-end may have ended */
    r = agent_read(&agent);
    if (r == 0)
        r = agent_begin(&agent);
    if (r == 0)
        r = agent_stay(&agent);
    bootstrap_free(agent.frontend);
    free(agent.nodes);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
