/* children.c - the children that a node starts. */
#include "net/children.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "net/agents.h"
#include "net/children_parts.h"
#include "net/process.h"
#include "topology/topology.h"

/* Children started in one turn of the loop. */
#define WORK_COUNT 4

/* How long to wait for the end of a killed process. */
#define KILLED_WAIT_MS 2000

/* The place of `rank`, or NULL if it is not below this node. */
static struct child **child_place(struct children *children, uint32_t rank)
{
    uint32_t index;

    if (children->room == 0)
        return NULL;
    index = topology_index(children->bootstrap->subtree, rank);
    if (index == TOPOLOGY_NONE || index == 0)
        return NULL;
    return &children->list[index];
}

/* Node `rank` is missing: have its children started below another node. */
static void tell_agents(struct children *children, uint32_t rank)
{
    struct child *command = children->room > 0 ? children->list[0] : NULL;
    char line[32];
    int len;

    if (!command || children->bootstrap->missing != COP_MISSING_SKIP)
        return;
    len = snprintf(line, sizeof(line), AGENTS_MISSING " %u\n", rank);
    /* without memory its children notice by themselves */
    handover_append(&command->handover, line, (size_t)len);
}

/* ---- ends of children ---- */

static const char *program_of(const struct child *child)
{
    const struct bootstrap *bootstrap = child_bootstrap(child);
    uint32_t index = topology_index(bootstrap->subtree, child->rank);

    if (topology_is_leaf(bootstrap->subtree, index) && !bootstrap->attach)
        return bootstrap->backend_argv[0];
    return bootstrap->commnode_path;
}

/* Report the end of a child, once, if it is certain and no link is up. */
static void child_tell_end(struct child *child)
{
    struct children *children = child->children;

    if (!child->over || child->told || child->links > 0)
        return;
    child->told = true;
    tell_agents(children, child->rank);
    children->gone(children->arg, child->rank,
                   child->text ? child->text : "it has ended", false);
}

void child_ended(struct child *command, uint32_t rank, const char *how)
{
    struct children *children = command->children;
    struct child **at = child_place(children, rank);
    struct child other = {.children = children, .rank = rank};
    char text[512];

    if (!at)
        return;
    if (*at && (*at)->launcher->is_assembling) {
        child_over(*at, how);
    } else if (!*at) {
        snprintf(text, sizeof(text), "%s %s", program_of(&other), how);
        tell_agents(children, rank);
        children->gone(children->arg, rank, text, true);
    }
}

void child_here(struct child *command, const char *name)
{
    agents_answer(&command->children->roll, name);
}

void child_none_comes(struct child *command, const char *how)
{
    struct children *children = command->children;
    struct child *child;

    if (!command->text)
        command->text = strdup(how);
    for (uint32_t i = 1; i < children->room; i++) {
        child = children->list[i];
        if (child && child->launcher->is_assembling && !child->met)
            child_over(child, how);
    }
}

void child_over(struct child *child, const char *how)
{
    if (child->over)
        return;
    child->over = true;
    if (asprintf(&child->text, "%s %s", program_of(child), how) < 0)
        child->text = NULL;
    child_tell_end(child);
}

/* ---- starting ---- */

static const char *host_of(const struct child *child)
{
    const struct topology *subtree = child_bootstrap(child)->subtree;

    if (child->host)
        return child->host;
    return topology_host(subtree, topology_index(subtree, child->rank));
}

/* The command that starts all nodes gets the front-end's bootstrap. */
static int make_bootstrap(unsigned char **out,
                          size_t *len,
                          const struct child *child)
{
    const char *address = child->children->address;
    struct bootstrap own;
    int r = 0;

    if (child->rank == RANK_NONE) {
        own = *child_bootstrap(child);
        own.parent_address = (char *)(uintptr_t)address;
        return bootstrap_encode(&own, out, len);
    }
    if (child->replaces)
        bootstrap_replacement(&own, child_bootstrap(child), child->rank,
                              host_of(child), address);
    else
        r = bootstrap_child(&own, child_bootstrap(child), child->rank, address);
    if (r < 0)
        return r;
    r = bootstrap_encode(&own, out, len);
    topology_free(own.subtree);
    return r;
}

static struct child *child_new(struct children *children, uint32_t rank)
{
    struct child *child = calloc(1, sizeof(*child));

    if (!child)
        return NULL;
    child->children = children;
    child->rank = rank;
    child->launcher = children->launcher;
    child->process.fd = -1;
    handover_init(&child->handover, children->loop);
    return child;
}

/* Have the launcher start `program`, and begin to write its bootstrap. */
static int child_launch(struct child *child,
                        const char *host,
                        char *const *program)
{
    unsigned char *bytes = NULL;
    int pair[2] = {-1, -1};
    size_t len = 0;
    int r;

    r = make_bootstrap(&bytes, &len, child);
    if (r == 0)
        r = spawn_socketpair(pair);
    if (r == 0)
        r = child->launcher->start(child, host, program, pair[1]);
    if (r == 0) {
        handover_begin(&child->handover, pair[0], bytes, len);
        pair[0] = -1;
        bytes = NULL; /* taken */
    }
    handover_wipe(bytes, len);
    spawn_close(pair);
    return r;
}

/* Agents start the nodes on other hosts. The front-end starts the command for
 * the agents when it starts the first of these nodes. */
static int start_agents(struct children *children)
{
    struct child **command = &children->list[0];

    if (*command || children->bootstrap->role != NODE_FRONTEND)
        return 0;
    *command = child_new(children, RANK_NONE);
    if (!*command || agents_roll(&children->roll, children->bootstrap) < 0)
        return -ENOMEM;
    return child_launch(*command, NULL, NULL);
}

static int child_start(struct child *child)
{
    const struct bootstrap *bootstrap = child_bootstrap(child);
    const char *host = host_of(child);
    char *commnode[] = {bootstrap->commnode_path, NULL};
    char *const *program = commnode;

    if (program_of(child) != bootstrap->commnode_path)
        program = bootstrap->backend_argv;
    if (!child->launcher->reaches(bootstrap, host))
        child->launcher = &launcher_local;
    else if (child->launcher->is_assembling)
        return start_agents(child->children);
    return child_launch(child, host, program);
}

/* ---- all of them ---- */

int children_new(struct children **out,
                 struct ev_loop *loop,
                 const struct bootstrap *bootstrap,
                 const char *address,
                 const sigset_t *mask,
                 children_begun_fn *begun,
                 children_gone_fn *gone,
                 void *arg)
{
    struct children *children = calloc(1, sizeof(*children));

    if (!children)
        return -ENOMEM;
    if (bootstrap->subtree) {
        children->room = topology_count(bootstrap->subtree);
        children->launcher = launcher_find(bootstrap->launcher, NULL);
        spawn_list_reset(&children->reset);
    }
    children->list = calloc(children->room + 1, sizeof(*children->list));
    if (!children->list) {
        free(children);
        return -ENOMEM;
    }
    children->loop = loop;
    children->bootstrap = bootstrap;
    children->address = address;
    children->mask = *mask;
    children->begun = begun;
    children->gone = gone;
    children->arg = arg;
    children->waiting_end = &children->waiting;
    *out = children;
    return 0;
}

void children_dismiss(struct children *children)
{
    for (uint32_t i = 0; i < children->room; i++)
        if (children->list[i])
            handover_close(&children->list[i]->handover);
}

size_t children_kill(struct children *children)
{
    struct child *child;
    size_t count = 0;

    for (uint32_t i = 0; i < children->room; i++) {
        child = children->list[i];
        if (!child || child->pid <= 0)
            continue;
        child_kill(child, i > 0 || children->asked ? SIGKILL : SIGTERM);
        count++;
    }
    children->asked = true;
    return count;
}

void children_kill_stopped(struct children *children)
{
    struct child *child;

    for (uint32_t i = 0; i < children->room; i++) {
        siginfo_t info;

        child = children->list[i];
        if (child && child->pid > 0 &&
            process_look(child->process.fd, child->pid, WSTOPPED | WNOWAIT,
                         &info) > 0)
            child_kill(child, SIGKILL);
    }
}

/* Close the descriptors of `child`. */
static void child_close(struct child *child)
{
    child_unwatch(child, &child->process);
    if (child->children->abandoned)
        handover_abandon(&child->handover);
    else
        handover_close(&child->handover);
    if (child->launcher && child->launcher->close)
        child->launcher->close(child);
}

static void child_free(struct child *child)
{
    char how[128];

    if (child->pid > 0 && !child->children->abandoned)
        child_reap(child, KILLED_WAIT_MS, how, sizeof(how));
    child_close(child);
    free(child->state);
    free(child->text);
    free(child->host);
    free(child);
}

void children_free(struct children *children)
{
    if (!children)
        return;
    children->asked = true; /* no SIGTERM: children_kill() must use SIGKILL */
    if (!children->abandoned)
        children_kill(children);
    for (uint32_t i = 0; i < children->room; i++)
        if (children->list[i])
            child_free(children->list[i]);
    if (children->abandoned)
        relay_abandon(children->relay);
    else
        relay_free(children->relay);
    agents_roll_free(&children->roll);
    free(children->list);
    free(children);
}

void children_abandon(struct children *children)
{
    children->abandoned = true;
    for (uint32_t i = 0; i < children->room; i++)
        if (children->list[i])
            child_close(children->list[i]);
}

static struct child *child_find(struct children *children, uint32_t rank)
{
    struct child **at = child_place(children, rank);

    return at ? *at : NULL;
}

/* Queue the start of `child` at its place `at`. */
static void enqueue(struct children *children,
                    struct child **at,
                    struct child *child)
{
    *at = child;
    *children->waiting_end = child;
    children->waiting_end = &child->next;
}

int children_start(struct children *children, uint32_t rank)
{
    struct child **at = child_place(children, rank);
    struct child *child;

    assert(at && !*at);
    child = child_new(children, rank);
    if (!child)
        return -ENOMEM;
    enqueue(children, at, child);
    return 0;
}

int children_replace(struct children *children, uint32_t rank, const char *host)
{
    struct child **at = child_place(children, rank);
    struct child *child;

    assert(at);
    child = child_new(children, rank);
    if (!child)
        return -ENOMEM;
    child->replaces = true;
    if (host)
        child->host = strdup(host);
    if (host && !child->host) {
        free(child);
        return -ENOMEM;
    }
    if (*at) {
        if ((*at)->pid > 0)
            child_kill(*at, SIGKILL);
        child_free(*at);
    }
    enqueue(children, at, child);
    return 0;
}

void children_stop(struct children *children, uint32_t rank, const char *text)
{
    struct child *child = child_find(children, rank);
    const char *words = "";
    char how[128];
    char *said;

    if (!child)
        return;
    if (child->pid > 0 && child_reap(child, 0, how, sizeof(how)))
        child->launcher->ended(child, how);
    if (!child->over && child->state)
        words = child->launcher->words(child);
    if (!child->over &&
        asprintf(&said, "%s%s%s", text, *words ? ": " : "", words) >= 0) {
        child->over = true;
        child->text = said;
    }
    handover_close(&child->handover);
    if (child->pid > 0)
        child_kill(child, SIGKILL);
    child->told = true;
    tell_agents(children, rank);
    children->gone(children->arg, rank, child->text ? child->text : text,
                   false);
}

void children_end(struct children *children, uint32_t rank)
{
    struct child *child = child_find(children, rank);

    if (child && child->pid > 0)
        child_kill(child, SIGKILL);
}

bool children_work(struct children *children)
{
    const struct bootstrap *bootstrap = children->bootstrap;
    struct child *child;
    const char *why;
    bool is_remote;
    char how[512];
    int r;

    for (int count = 0; children->waiting && count < WORK_COUNT; count++) {
        child = children->waiting;
        children->waiting = child->next;
        if (!children->waiting)
            children->waiting_end = &children->waiting;
        if (child->over)
            continue; /* by children_stop() */
        why = agents_absence(bootstrap, host_of(child));
        if (why) {
            snprintf(how, sizeof(how),
                     "was not started: no agent answers on this host: %s", why);
            child_over(child, how);
            continue;
        }
        r = child_start(child);
        if (r == 0) {
            children->begun(children->arg, child->rank);
            continue;
        }
        handover_close(&child->handover);
        is_remote = child->launcher->argv != NULL;
        snprintf(how, sizeof(how), "could not be started%s%s: %s",
                 is_remote ? " by " : "",
                 is_remote ? bootstrap->launcher_argv[0] : "",
                 r == -EMFILE ? "too many open files: raise `ulimit -n`"
                              : strerror(-r));
        child_over(child, how);
    }
    return children->waiting != NULL;
}

enum agents_presence children_agents(const struct children *children)
{
    const struct agents_roll *roll = &children->roll;

    if (children->bootstrap->missing != COP_MISSING_SKIP ||
        roll->here_count == 0 || roll->here_count == roll->count)
        return AGENTS_COMPLETE;
    return children->list[0]->pid > 0 ? AGENTS_PARTIAL : AGENTS_SILENT;
}

const char *children_words(const struct children *children)
{
    struct child *command = children->room > 0 ? children->list[0] : NULL;

    return command && command->state ? command->launcher->words(command) : "";
}

char *children_absent(const struct children *children)
{
    const struct child *command = children->list[0];
    char late[64];

    snprintf(late, sizeof(late), "nothing within %u ms (start_timeout)",
             children->bootstrap->times.start_timeout_ms);
    return agents_absent(&children->roll, children->bootstrap,
                         command->text ? command->text : late);
}

void children_linked(struct children *children, uint32_t rank)
{
    struct child *child = child_find(children, rank);

    if (!child)
        return;
    child->links++;
    child->met = true;
    if (children->list[0] && children_agents(children) == AGENTS_COMPLETE)
        children->list[0]->met = true;
}

void children_unlinked(struct children *children, uint32_t rank)
{
    struct child *child = child_find(children, rank);

    if (!child || child->links == 0)
        return;
    child->links--;
    child_tell_end(child);
}

void children_disown(struct children *children)
{
    struct child *child;

    for (uint32_t i = 0; i < children->room; i++) {
        child = children->list[i];
        if (!child || child->pid <= 0 || !child->met || child->links > 0)
            continue;
        child_unwatch(child, &child->process);
        child->pid = 0;
        children->alive--;
    }
}

size_t children_alive(const struct children *children)
{
    return children->alive;
}
