/* commnode.c - the commnode's shell: a driver and its filters. */
#include "commnode/commnode.h"

#include <coppice/coppice.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/filtering.h"
#include "commnode/crash.h"
#include "net/driver.h"
#include "net/session.h"
#include "topology/topology.h"

/* How long to wait for a stopped child (SIGSTOP) before killing it: it cannot
 * end unless it is continued. */
#define REAP_STOPPED_MS 1000

/* A parent that ends closes its sockets within this time. */
#define ABORT_MS 1000

/* How often to look for free memory after a burst, and how much of it to
 * keep. */
#define TRIM_MS  500
#define TRIM_LEN ((size_t)128 << 10)

/* How long a commnode that every node turned away calls again, and how often. */
#define TRY_FOR_MS   2000
#define TRY_AGAIN_MS 100

struct commnode {
    struct driver *driver;
    struct driver_ops used;
    const char *filter_path; /* the bootstrap's */
    struct filtering *filtering;
    bool log;         /* $COPPICE_LOG is set */
    uint64_t trim_ms; /* when to look for free memory again */
    size_t in_use;    /* bytes allocated at the last look */
    bool trimmed;     /* nothing was allocated since */
    bool launched;    /* it has the table */
    char end[LIMIT_TEXT];
};

static int on_load(void *arg,
                   const struct stream_definition *definition,
                   struct stream_filters *filters,
                   bool *slow,
                   char *text,
                   size_t text_len)
{
    struct commnode *commnode = arg;
    const struct bootstrap *bootstrap = driver_bootstrap(commnode->driver);
    struct loader_node where = {
        .role = NODE_COMMNODE,
        .rank = bootstrap->rank,
        .depth = bootstrap->depth,
    };

    return filtering_load(commnode->filtering, definition, &where,
                          commnode->filter_path, filters, slow, text, text_len);
}

static void on_unload(void *arg, uint32_t stream)
{
    filtering_unload(((struct commnode *)arg)->filtering, stream);
}

static void on_filter(void *arg,
                      const struct node_call *call,
                      struct event *answer)
{
    crash_prepare();
    filtering_call(((struct commnode *)arg)->filtering, call, answer);
}

static void on_deliver(void *arg, uint32_t stream, struct frame *frame)
{
    (void)arg; /* a commnode gets no deliveries */
    (void)stream;
    frame_fini(frame);
}

static void on_tell(void *arg, const struct action *news)
{
    struct commnode *commnode = arg;

    commnode->launched |= news->tell == TELL_LAUNCHED;
    if (news->tell == TELL_ENDED && news->text)
        snprintf(commnode->end, sizeof(commnode->end), "%s", news->text);
}

static void on_exit_node(void *arg, const char *text)
{
    struct commnode *commnode = arg;

    if (!commnode->end[0]) /* else the machine has given the reason */
        snprintf(commnode->end, sizeof(commnode->end), "%s", text);
}

/* Do not wait for the children: they find other parents, or have ended. */
static void on_abort(void *arg, const char *text)
{
    struct commnode *commnode = arg;
    const struct bootstrap *bootstrap = driver_bootstrap(commnode->driver);

    fprintf(stderr, "coppice-commnode: rank %u (%s): %s\n", bootstrap->rank,
            bootstrap->host, text ? text : commnode->end);
    _exit(EXIT_FAILURE);
}

static void on_log(void *arg, const char *id, const char *text)
{
    struct commnode *commnode = arg;
    const struct bootstrap *bootstrap = driver_bootstrap(commnode->driver);

    fprintf(stderr, "coppice: rank %u (%s): %s %s\n", bootstrap->rank,
            bootstrap->host, id, text);
}

static const struct driver_ops ops = {
    .load = on_load,
    .unload = on_unload,
    .filter = on_filter,
    .deliver = on_deliver,
    .tell = on_tell,
    .exit = on_exit_node,
    .abort = on_abort,
    .log = on_log,
};

/* A burst may have queued megabytes, which malloc() keeps afterwards. Return
 * them if more is free than in use. A node at rest, as after the launch,
 * returns all. */
static void commnode_trim(struct commnode *commnode)
{
    struct mallinfo2 info = mallinfo2();
    bool rests = info.uordblks == commnode->in_use;

    if (!rests && info.fordblks > info.uordblks + TRIM_LEN)
        malloc_trim(TRIM_LEN);
    else if (rests && !commnode->trimmed)
        malloc_trim(0);
    commnode->trimmed = rests;
    commnode->in_use = info.uordblks;
}

/* Runs in every turn, so at least with every heartbeat. Never true. */
static bool on_turn(void *arg)
{
    struct commnode *commnode = arg;
    uint64_t now_ms = driver_now_ms();

    if (now_ms >= commnode->trim_ms) {
        commnode->trim_ms = now_ms + TRIM_MS;
        commnode_trim(commnode);
    }
    return false;
}

/* The number of levels below this node; 1 if it has no subtree. */
static int levels(const struct bootstrap *bootstrap)
{
    return bootstrap->subtree ? (int)topology_height(bootstrap->subtree) : 1;
}

/* Run the node to its end. Returns its error, 0 if the network ended. */
static int commnode_live(struct commnode *commnode)
{
    struct driver *driver = commnode->driver;
    int r;

    r = driver_lock(driver);
    if (r < 0)
        return r;
    r = driver_start(driver);
    if (r == 0) {
        driver_wait(driver, on_turn, commnode, COP_FOREVER);
        r = driver_error(driver);
        driver_reap(driver, REAP_STOPPED_MS,
                    DRIVER_LEVEL_MS * levels(driver_bootstrap(driver)));
    }
    driver_unlock(driver);
    return r;
}

/* Whether the process that started us has ended before our parent accepted us.
 * That is so after an aborted launch, whichever socket closes first. */
static bool is_abandoned(const struct bootstrap *bootstrap)
{
    struct pollfd waited = {.fd = bootstrap->fd, .events = POLLIN};

    return bootstrap->fd >= 0 && poll(&waited, 1, ABORT_MS) == 1;
}

/* Whether the failure deserves a message. If a front-end is killed during the
 * launch, all nodes see that their starting process has ended: that alone does
 * not deserve one. */
static bool is_news(const struct commnode *commnode,
                    int code,
                    const struct bootstrap *bootstrap)
{
    if (code >= 0 || commnode->log)
        return code < 0;
    return code != -EPIPE && !(bootstrap && is_abandoned(bootstrap));
}

/* The tool's standard output may be a pipe, whose reader sees its end only once
 * all processes have closed it. So send what filters print to standard error,
 * or drop it. */
static void leave_standard_output(void)
{
    int fd;

    if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        return;
    fd = open("/dev/null", O_WRONLY);
    if (fd >= 0 && fd != STDOUT_FILENO) {
        dup2(fd, STDOUT_FILENO);
        close(fd);
    }
}

/* Make the driver of `bootstrap`, which is taken on success. */
static int commnode_init(struct commnode *commnode,
                         struct bootstrap *bootstrap,
                         struct cop_error *error)
{
    int r;

    commnode->used = ops;
    commnode->log = getenv("COPPICE_LOG") != NULL;
    if (!commnode->log)
        commnode->used.log = NULL; /* so that no line is formatted */
    mallopt(M_ARENA_MAX, 1);       /* memory freed by one thread serves both */
    commnode->filter_path = bootstrap->filter_path;
    r = filtering_new(&commnode->filtering);
    if (r < 0)
        return cop_error_set(error, r, "out of memory");
    return driver_new(&commnode->driver, bootstrap, &commnode->used, commnode,
                      error);
}

static void commnode_fini(struct commnode *commnode)
{
    driver_free(commnode->driver);
    filtering_free(commnode->filtering);
}

int cop_commnode_main(void)
{
    struct commnode commnode = {.driver = NULL};
    struct bootstrap *bootstrap = NULL;
    struct cop_error error = {""};
    int r;

    r = bootstrap_inherit(&bootstrap, LIMIT_LAUNCH_TIMEOUT_MS, &error);
    if (r == 0 && bootstrap->role != NODE_COMMNODE)
        r = cop_error_set(&error, -EINVAL, "was started as another role");
    if (r == 0) {
        if (bootstrap->fd > STDERR_FILENO) /* else these were closed */
            leave_standard_output();
        r = commnode_init(&commnode, bootstrap, &error);
    }
    if (r < 0) {
        commnode_fini(&commnode);
        bootstrap_free(bootstrap);
        if (is_news(&commnode, r, NULL))
            fprintf(stderr, "coppice-commnode: %s\n", error.text);
        return EXIT_FAILURE;
    }
    crash_watch(commnode.driver);
    r = commnode_live(&commnode);
    crash_watch(NULL);
    if (is_news(&commnode, r, bootstrap))
        fprintf(stderr, "coppice-commnode: rank %u (%s): %s\n", bootstrap->rank,
                bootstrap->host, commnode.end);
    commnode_fini(&commnode);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- joining a running network (PROTOCOL 19.1) ---- */

/* Call one node of the session file, and run until the end. Returns 0 after an
 * orderly end, or a negative errno with a sentence; `*joined`: whether the node
 * took this one in. */
static int join_once(const char *path,
                     uint32_t attempt,
                     uint32_t *node_count,
                     bool *joined,
                     struct cop_error *error)
{
    struct commnode commnode = {.driver = NULL};
    struct bootstrap *bootstrap;
    int r;

    r = session_read(&bootstrap, path, (uint32_t)getpid(), attempt, error);
    if (r < 0)
        return r;
    *node_count = bootstrap->node_count;
    bootstrap->role = NODE_COMMNODE;
    r = commnode_init(&commnode, bootstrap, error);
    if (r < 0) {
        bootstrap_free(bootstrap);
    } else {
        crash_watch(commnode.driver);
        r = commnode_live(&commnode);
        crash_watch(NULL);
        if (r == 0 && !commnode.launched)
            r = -ECONNREFUSED;
        if (r < 0)
            cop_error_set(error, r, "%s",
                          *commnode.end ? commnode.end
                                        : "the connection ended");
    }
    *joined = commnode.launched;
    commnode_fini(&commnode);
    return r;
}

/* The front-end is called first: below other nodes this one may be too deep to
 * adopt. */
int cop_commnode_join(const char *path)
{
    uint64_t until_ms = driver_now_ms() + TRY_FOR_MS;
    uint32_t attempt = SESSION_FRONTEND, node_count = 0;
    struct cop_error error = {""};
    bool joined = false;
    int r;

    for (;;) {
        r = join_once(path, attempt++, &node_count, &joined, &error);
        if (r == 0 || joined || node_count == 0)
            break;
        if (attempt < node_count)
            continue;
        if (r != -ECONNREFUSED || driver_now_ms() >= until_ms)
            break;
        poll(NULL, 0, TRY_AGAIN_MS);
        attempt = SESSION_FRONTEND;
    }
    if (r < 0)
        fprintf(stderr, "coppice-commnode: %s%s\n",
                node_count > 0 && !joined ? "cannot join the network: " : "",
                error.text);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
