/* commnode.c - the commnode's shell: a driver, and the filters it runs. */
#include "commnode/commnode.h"

#include <coppice/coppice.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/loader.h"
#include "net/driver.h"
#include "topology/topology.h"

/* How long children may take to end before they are killed, for each level
 * below: a child must have killed its own before it is killed itself, or they
 * would be left to nobody. */
#define REAP_MS 3000

/* How often to see whether a burst has left free memory behind, and how much
 * of that is kept. */
#define TRIM_MS  500
#define TRIM_LEN ((size_t)128 << 10)

/* The filters of one stream. */
struct stage {
    uint32_t stream;
    struct loader *loader;
};

struct commnode {
    struct driver *driver;
    const char *filter_path; /* the bootstrap's */
    struct stage *stages;
    size_t stage_count;
    struct loader_output output;
    bool log;         /* $COPPICE_LOG is set */
    uint64_t trim_ms; /* when to look for free memory again */
    char end[LIMIT_TEXT];
};

/* Filters that never take long. */
static const char *const quick[] = {"",    "sum",   "min",    "max",
                                    "avg", "count", "concat", "int_union"};

static bool is_quick(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof(quick) / sizeof(quick[0]); i++)
        if (strcmp(name, quick[i]) == 0)
            return true;
    return false;
}

static struct stage *stage_of(struct commnode *commnode, uint32_t stream)
{
    size_t i;

    for (i = 0; i < commnode->stage_count; i++)
        if (commnode->stages[i].stream == stream)
            return &commnode->stages[i];
    return NULL;
}

static int add_stage(struct commnode *commnode,
                     uint32_t stream,
                     struct loader *loader)
{
    struct stage *stages = realloc(
        commnode->stages, (commnode->stage_count + 1) * sizeof(*stages));

    if (!stages)
        return -ENOMEM;
    stages[commnode->stage_count++] = (struct stage){stream, loader};
    commnode->stages = stages;
    return 0;
}

static int on_load(void *arg,
                   const struct stream_definition *definition,
                   struct stream_filters *filters,
                   bool *slow,
                   char *text,
                   size_t text_len)
{
    struct commnode *commnode = arg;
    struct cop_error error = {""};
    struct loader *loader;
    int r;

    r = loader_new(&loader, definition, NODE_COMMNODE, commnode->filter_path,
                   &error);
    if (r < 0) {
        snprintf(text, text_len, "%s", error.text);
        return r;
    }
    r = add_stage(commnode, definition->id, loader);
    if (r < 0) {
        loader_free(loader);
        return r;
    }
    *filters = loader_facts(loader);
    *slow =
        !is_quick(definition->up_filter) || !is_quick(definition->down_filter);
    return 0;
}

static void on_unload(void *arg, uint32_t stream)
{
    struct commnode *commnode = arg;
    struct stage *stage = stage_of(commnode, stream);

    if (!stage)
        return;
    loader_free(stage->loader);
    *stage = commnode->stages[--commnode->stage_count];
}

/* Without the lock: the list of stages does not change while a call is out,
 * except that stages are added, so the machine's stream is looked up under
 * the lock. */
static struct loader *loader_of(struct commnode *commnode, uint32_t stream)
{
    struct loader *loader = NULL;
    struct stage *stage;

    if (driver_lock(commnode->driver) < 0)
        return NULL;
    stage = stage_of(commnode, stream);
    if (stage)
        loader = stage->loader;
    driver_unlock(commnode->driver);
    return loader;
}

static void on_filter(void *arg,
                      const struct node_call *call,
                      struct event *answer)
{
    struct commnode *commnode = arg;
    struct loader_output *output = &commnode->output;
    struct loader *loader = loader_of(commnode, call->stream);
    const struct bootstrap *bootstrap = driver_bootstrap(commnode->driver);
    struct loader_node where = {
        .role = NODE_COMMNODE,
        .rank = bootstrap->rank,
        .depth = bootstrap->depth,
    };

    if (!loader) {
        answer->text = "its filters are not loaded";
        return;
    }
    loader_output_clear(output);
    loader_call(loader, call, &where, output);
    answer->up = output->up;
    answer->up_count = output->up_count;
    answer->down = output->down;
    answer->down_count = output->down_count;
    if (*output->text)
        answer->text = output->text;
}

static void on_deliver(void *arg, uint32_t stream, struct frame *frame)
{
    (void)arg; /* nothing is delivered to a commnode */
    (void)stream;
    frame_fini(frame);
}

static void on_tell(void *arg, const struct action *news)
{
    (void)arg; /* nobody to tell */
    (void)news;
}

static void on_exit_node(void *arg, const char *text)
{
    struct commnode *commnode = arg;

    snprintf(commnode->end, sizeof(commnode->end), "%s", text);
}

static void on_log(void *arg, const char *id, const char *text)
{
    struct commnode *commnode = arg;
    const struct bootstrap *bootstrap = driver_bootstrap(commnode->driver);

    if (commnode->log)
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
    .log = on_log,
};

/* What was queued in a burst may have been megabytes, which malloc() keeps: it
 * is given back when more is free than is in use. */
static void trim(void)
{
    struct mallinfo2 info = mallinfo2();

    if (info.fordblks > info.uordblks + TRIM_LEN)
        malloc_trim(TRIM_LEN);
}

/* Called in every turn, so at least with every heartbeat; never done. */
static bool on_turn(void *arg)
{
    struct commnode *commnode = arg;
    uint64_t now_ms = driver_now_ms();

    if (now_ms >= commnode->trim_ms) {
        commnode->trim_ms = now_ms + TRIM_MS;
        trim();
    }
    return false;
}

/* Levels below this node, itself included. */
static int levels(const struct bootstrap *bootstrap)
{
    return bootstrap->subtree ? (int)topology_height(bootstrap->subtree) : 1;
}

/* Be a node until it ends. Returns what ended it, 0 if the network did. */
static int live(struct commnode *commnode)
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
        driver_reap(driver, REAP_MS * levels(driver_bootstrap(driver)));
    }
    driver_unlock(driver);
    return r;
}

/* Whether the failure is news: that whoever started us is gone tells nobody
 * anything, and so would all nodes of a tree whose front-end was killed. */
static bool is_news(int code)
{
    return code < 0 && code != -EPIPE;
}

int cop_commnode_main(void)
{
    struct commnode commnode = {.log = getenv("COPPICE_LOG") != NULL};
    struct bootstrap *bootstrap = NULL;
    struct cop_error error = {""};
    size_t i;
    int r;

    mallopt(M_ARENA_MAX, 1); /* what each thread frees is free for both */
    r = bootstrap_inherit(&bootstrap, LIMIT_LAUNCH_TIMEOUT_MS, &error);
    if (r == 0 && bootstrap->role != NODE_COMMNODE)
        r = cop_error_set(&error, -EINVAL, "was started as another role");
    if (r == 0) {
        commnode.filter_path = bootstrap->filter_path;
        r = driver_new(&commnode.driver, bootstrap, &ops, &commnode, &error);
    }
    if (r < 0) {
        bootstrap_free(bootstrap);
        if (is_news(r))
            fprintf(stderr, "coppice-commnode: %s\n", error.text);
        return EXIT_FAILURE;
    }
    r = live(&commnode);
    if (is_news(r))
        fprintf(stderr, "coppice-commnode: rank %u (%s): %s\n", bootstrap->rank,
                bootstrap->host, commnode.end);
    for (i = 0; i < commnode.stage_count; i++)
        loader_free(commnode.stages[i].loader);
    free(commnode.stages);
    loader_output_fini(&commnode.output);
    driver_free(commnode.driver);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
