/* driver.c - one node in the real world: loop, links, children. */
#include "net/driver.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/descriptors.h"
#include "net/driver_parts.h"
#include "wire/spares.h"

/* Queued frames leave at so many bytes, or after this time (PROTOCOL 14.3). */
#define FLUSH_LEN 65536
#define FLUSH_MS  1

/* How long a filter call that runs when the node ends may continue. */
#define CALL_MS 3000

/* How long the peers may take to read the closed links at the end. */
#define LINGER_MS 1000

/* How long the parent of a crashed node may take to read its last frames. */
#define CRASH_MS 1000

/* How long killed children may take to end. */
#define KILLED_MS 2000

void driver_log(struct driver *driver, const char *id, const char *format, ...)
{
    char text[512];
    va_list args;

    if (!driver->ops->log)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    driver->ops->log(driver->arg, id, text);
}

/* ---- the end ---- */

void driver_changed(struct driver *driver)
{
    driver->changed = true;
}

static void end(struct driver *driver, int code, const char *text)
{
    if (driver->ended)
        return;
    driver->ended = true;
    driver->error = code;
    driver->changed = true;
    driver->call_end_ms = helm_now_ms(driver->helm) + CALL_MS;
    filter_calls_end(&driver->filters);
    if (code != -EBADF) /* -EBADF: the descriptors are not ours any more */
        driver_links_close_all(driver);
    driver->ops->exit(driver->arg, text);
}

void driver_end(struct driver *driver, int code, const char *text)
{
    if (!driver->ended)
        driver_log(driver, "NODE-END", "%s", text);
    end(driver, code, text);
}

void driver_exit(struct driver *driver, int code)
{
    if (code < 0)
        driver->abort_ms = helm_now_ms(driver->helm) + LINGER_MS;
    end(driver, code, "the node has ended"); /* TELL_ENDED has the reason */
}

/* ---- what the parts report ---- */

static void on_answered(void *arg, struct event *answer)
{
    driver_machine_step(arg, answer, NULL);
}

/* Run filter calls for a turn. Returns whether a call still waits: then not all
 * input is processed. */
static bool run_calls(struct driver *driver, bool at_helm)
{
    bool more = filter_calls_run(&driver->filters, at_helm);

    connections_be_busy(driver->links.connections, more);
    return more;
}

/* Our starter has closed the bootstrap before we were accepted. */
static void on_starter(struct ev_loop *loop, ev_io *io, int events)
{
    struct driver *driver = io->data;
    char byte;
    ssize_t n = recv(io->fd, &byte, 1, MSG_DONTWAIT);

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    ev_io_stop(loop, io);
    driver_end(driver, -EPIPE, "the process that started this node is gone");
}

void driver_accepted(struct driver *driver)
{
    ev_io_stop(helm_loop(driver->helm), &driver->starter);
    bootstrap_accepted(driver->bootstrap);
}

static void on_begun(void *arg, uint32_t rank)
{
    struct event event = {.type = EVENT_CHILD_BEGUN, .rank = rank};

    driver_machine_step(arg, &event, NULL);
}

static void on_gone(void *arg, uint32_t rank, const char *text, bool is_other)
{
    struct driver *driver = arg;
    struct event event = {
        .type = is_other ? EVENT_AGENT_GONE : EVENT_CHILD_GONE,
        .rank = rank,
        .text = text,
    };

    driver_log(driver, "CHILD-GONE", "rank %u: %s", rank, text);
    driver_machine_step(driver, &event, NULL);
}

/* ---- turns ---- */

/* Not in each turn: aging touches two more pages. */
static void age_payloads(struct driver *driver)
{
    uint64_t now_ms = helm_now_ms(driver->helm);

    if (now_ms < driver->age_ms)
        return;
    driver->age_ms = now_ms + SPARE_PERIOD_MS;
    payload_age(now_ms);
}

/* Read what has arrived on links at rest before checking them for silence. */
static void driver_tick(struct driver *driver)
{
    struct event tick = {.type = EVENT_TICK};

    connections_tick(driver->links.connections, helm_now_ms(driver->helm));
    driver_machine_step(driver, &tick, NULL);
}

static bool driver_work(void *arg, uint64_t *next_ms)
{
    struct driver *driver = arg;
    uint64_t again_ms;
    bool is_stuck;
    bool more;

    if (helm_is_broken(driver->helm)) {
        driver_end(driver, -EBADF,
                   "the application has closed the descriptors");
        *next_ms = UINT64_MAX;
        return false;
    }
    driver_links_log_refusals(driver, helm_now_ms(driver->helm));
    age_payloads(driver);
    more = children_work(driver->children);
    if (!driver->ended &&
        driver_machine_deadline_ms(driver) <= helm_now_ms(driver->helm))
        driver_tick(driver);
    driver_call_deadline_ms(driver);
    driver_call_begin(driver);
    again_ms = driver_call_deadline_ms(driver);
    if (driver->ended && driver->call.orphaned)
        children_disown(driver->children);
    more |= run_calls(driver, true);
    driver_links_flush(driver);
    if (helm_polling(driver->helm)) /* the helm was taken during a call */
        helm_notify(driver->helm);
    driver->changed = false;
    more |= driver->call.wanted && !driver->ended;
    if (driver->abort_ms > 0 &&
        (!connections_linger(driver->links.connections) ||
         helm_now_ms(driver->helm) >= driver->abort_ms))
        driver->ops->abort(driver->arg, NULL);
    is_stuck = driver->ended && driver->filters.running && driver->ops->abort;
    if (is_stuck && helm_now_ms(driver->helm) >= driver->call_end_ms)
        driver->ops->abort(driver->arg,
                           "a filter call has not returned since the node's "
                           "end");
    *next_ms = driver->ended ? UINT64_MAX : driver_machine_deadline_ms(driver);
    if (!driver->ended && again_ms < *next_ms)
        *next_ms = again_ms;
    if (driver->abort_ms > 0)
        *next_ms = driver->abort_ms;
    else if (is_stuck)
        *next_ms = driver->call_end_ms;
    driver->next_ms = *next_ms;
    return more || *next_ms <= helm_now_ms(driver->helm);
}

static void on_overdue(void *arg)
{
    struct driver *driver = arg;

    if (connections_queued(driver->links.connections) > 0)
        driver_links_flush(driver);
}

static void on_forked(void *arg)
{
    struct driver *driver = arg;

    driver_links_abandon(driver);
    if (driver->journal)
        journal_abandon(driver->journal);
    if (driver->children)
        children_abandon(driver->children);
    if (driver->bootstrap && driver->bootstrap->fd >= 0) {
        close(driver->bootstrap->fd);
        driver->bootstrap->fd = -1;
    }
}

static const struct helm_ops helm_ops = {
    .work = driver_work,
    .overdue = on_overdue,
    .forked = on_forked,
};

/* ---- making one ---- */

static int make_parts(struct driver *driver, struct cop_error *error)
{
    const struct bootstrap *bootstrap = driver->bootstrap;
    sigset_t mask;
    int r;

    r = helm_new(&driver->helm, &helm_ops, driver, &mask);
    if (r < 0)
        return cop_error_set(error, r, "cannot make an event loop: %s",
                             strerror(-r));
    filter_calls_init(&driver->filters, driver->helm, driver->ops, driver->arg,
                      on_answered, driver);
    r = driver_links_listen(driver, error);
    if (r < 0)
        return r;
    r = driver_machine_make(driver, driver_links_address(driver));
    if (r == 0)
        r = driver_links_make(driver);
    if (r == 0)
        r = children_new(&driver->children, helm_loop(driver->helm), bootstrap,
                         driver_links_address(driver), &mask, on_begun, on_gone,
                         driver);
    if (r < 0)
        return cop_error_set(error, r, "cannot make a node: %s", strerror(-r));
    return 0;
}

int driver_new(struct driver **out,
               struct bootstrap *bootstrap,
               const struct driver_ops *ops,
               void *arg,
               struct cop_error *error)
{
    struct driver *driver;
    int r;

    r = libev_load(error);
    if (r == 0)
        r = descriptors_check(bootstrap, error);
    if (r < 0)
        return r;
    driver = calloc(1, sizeof(*driver));
    if (!driver)
        return cop_error_set(error, -ENOMEM, "out of memory");
    driver->ops = ops;
    driver->arg = arg;
    driver->bootstrap = bootstrap;
    ev_init(&driver->starter, on_starter);
    r = make_parts(driver, error);
    if (r < 0) {
        driver->bootstrap = NULL; /* the caller keeps it */
        driver_free(driver);
        return r;
    }
    *out = driver;
    return 0;
}

static bool are_links_closed(void *arg)
{
    struct driver *driver = arg;

    return !connections_linger(driver->links.connections);
}

static bool have_children_ended(void *arg)
{
    struct driver *driver = arg;

    return children_alive(driver->children) == 0;
}

/* Send END down, so that no node looks for another parent. */
static void end_tree(struct driver *driver)
{
    struct event event = {.type = EVENT_SHUTDOWN};

    for (int i = 0; i < 2 && !driver->ended; i++)
        driver_machine_step(driver, &event, NULL); /* the second: forced */
}

/* Wait until the closed links are read and the children have ended. */
static void finish(struct driver *driver)
{
    if (!driver->helm || !driver->children || helm_lock(driver->helm) < 0)
        return;
    if (driver->machine.node && driver->bootstrap->role == NODE_FRONTEND)
        end_tree(driver);
    driver->ended = true;
    children_dismiss(driver->children);
    helm_wait(driver->helm, are_links_closed, driver, LINGER_MS);
    if (driver->detached)
        children_disown(driver->children);
    helm_wait(driver->helm, have_children_ended, driver, LINGER_MS);
    children_kill(driver->children);
    helm_wait(driver->helm, have_children_ended, driver, KILLED_MS);
    helm_unlock(driver->helm);
}

void driver_free(struct driver *driver)
{
    if (!driver)
        return;
    finish(driver);
    if (driver->helm)
        helm_stop(driver->helm);
    if (driver->helm && helm_is_broken(driver->helm))
        return; /* a descriptor may be the application's: close none */
    if (driver->helm && !helm_is_forked(driver->helm)) {
        ev_io_stop(helm_loop(driver->helm), &driver->starter);
        driver_links_log_refusals(driver, UINT64_MAX);
    }
    driver_journal_free(driver);
    driver_call_free(driver);
    children_free(driver->children);
    driver_links_free(driver);
    driver_machine_free(driver);
    helm_free(driver->helm);
    bootstrap_free(driver->bootstrap);
    filter_calls_fini(&driver->filters);
    free(driver);
    payload_give_back();
}

int driver_start(struct driver *driver)
{
    const struct bootstrap *bootstrap = driver->bootstrap;
    struct event event = {.type = EVENT_START};
    int r;

    helm_clock(driver->helm);
    if (bootstrap->fd >= 0) {
        ev_io_set(&driver->starter, bootstrap->fd, EV_READ);
        driver->starter.data = driver;
        ev_io_start(helm_loop(driver->helm), &driver->starter);
    }
    if (bootstrap->role != NODE_FRONTEND) {
        r = driver_call_parent(driver);
        if (r < 0)
            return r;
    }
    r = driver_machine_step(driver, &event, NULL);
    return r == -ENOMEM ? r : 0;
}

/* ---- the functions for shells ---- */

int driver_lock(struct driver *driver)
{
    return helm_lock(driver->helm);
}

void driver_unlock(struct driver *driver)
{
    helm_unlock(driver->helm);
}

/* Write what the application has queued: now if it is the first since the
 * application last waited, or if it is long or old; otherwise soon. */
static void flush_in_time(struct driver *driver)
{
    size_t queued = connections_queued(driver->links.connections);

    if (queued == 0)
        return;
    if (driver->fresh || queued >= FLUSH_LEN ||
        helm_now_ms(driver->helm) >= driver->links.flushed_ms + FLUSH_MS) {
        driver->fresh = false;
        driver_links_flush(driver);
    } else {
        helm_due(driver->helm, FLUSH_MS);
    }
}

int driver_note(struct driver *driver, struct event *event, uint64_t *result)
{
    helm_clock(driver->helm);
    return driver_machine_step(driver, event, result);
}

void driver_catch_up(struct driver *driver)
{
    bool waits = run_calls(driver, false);

    flush_in_time(driver);
    if (waits && !helm_polling(driver->helm))
        helm_due(driver->helm, 0);
    if (waits || driver->changed ||
        (helm_polling(driver->helm) &&
         driver_machine_deadline_ms(driver) < driver->next_ms))
        helm_notify(driver->helm);
    driver->changed = false;
}

/* What a thread waits for, or the node's end. */
struct wish {
    struct driver *driver;
    driver_done_fn *done;
    void *arg;
};

static bool wish_done(void *arg)
{
    struct wish *wish = arg;

    return wish->done(wish->arg) ||
           (wish->driver->ended && wish->driver->abort_ms == 0);
}

int driver_wait(struct driver *driver,
                driver_done_fn *done,
                void *arg,
                int timeout_ms)
{
    struct wish wish = {driver, done, arg};
    int r;

    r = helm_wait(driver->helm, wish_done, &wish, timeout_ms);
    driver->fresh = true;
    if (r == 0 && !done(arg))
        return -ENOTCONN;
    return r;
}

void driver_flush(struct driver *driver)
{
    helm_clock(driver->helm);
    driver_links_flush(driver);
}

void driver_attended(struct driver *driver)
{
    helm_attended(driver->helm);
}

int driver_reap(struct driver *driver, int stopped_ms, int timeout_ms)
{
    int count;

    children_dismiss(driver->children);
    if (driver->detached)
        children_disown(driver->children);
    if (stopped_ms >= 0 && (timeout_ms < 0 || stopped_ms < timeout_ms)) {
        helm_wait(driver->helm, have_children_ended, driver, stopped_ms);
        children_kill_stopped(driver->children);
        timeout_ms -= timeout_ms < 0 ? 0 : stopped_ms;
    }
    helm_wait(driver->helm, have_children_ended, driver, timeout_ms);
    count = (int)children_kill(driver->children);
    if (count > 0)
        helm_wait(driver->helm, have_children_ended, driver, KILLED_MS);
    return count;
}

void driver_crash(struct driver *driver, int signal)
{
    uint64_t until_ms = helm_clock_us() / 1000 + CRASH_MS;
    unsigned char header[FRAME_HEAD_MAX];
    const struct connection *connection;
    struct frame frame;
    uint32_t link;

    if (!driver->filters.running || !helm_seize(driver->helm, until_ms) ||
        !node_last_words(driver->machine.node, signal, &link, &frame))
        return;
    connection = driver_links_find(driver, link);
    if (!connection)
        return;
    connection_write_last(connection, header, frame_encode(&frame, header),
                          until_ms);
}

int driver_error(const struct driver *driver)
{
    return driver->error;
}

enum agents_presence driver_agents(const struct driver *driver)
{
    return children_agents(driver->children);
}

const char *driver_words(const struct driver *driver)
{
    return children_words(driver->children);
}

char *driver_absent(const struct driver *driver)
{
    return children_absent(driver->children);
}

struct node *driver_node(struct driver *driver)
{
    return driver->machine.node;
}

const struct bootstrap *driver_bootstrap(const struct driver *driver)
{
    return driver->bootstrap;
}

uint64_t driver_now_ms(void)
{
    return helm_clock_us() / 1000;
}
