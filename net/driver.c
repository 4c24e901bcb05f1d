/* driver.c - the real world of one node: loop, links, children. */
#include "net/driver.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/calls.h"
#include "net/children.h"
#include "net/connection.h"
#include "net/descriptors.h"
#include "net/dial.h"
#include "net/helm.h"
#include "net/injection.h"
#include "net/link_table.h"
#include "net/listener.h"
#include "net/machine.h"
#include "net/refusals.h"
#include "topology/topology.h"
#include "wire/limits.h"

/* Queued frames leave when there are so many bytes, or after this time
 * (PROTOCOL 14.3). */
#define FLUSH_LEN 65536
#define FLUSH_MS  1

/* Unproved connections beyond one for each back-end (PROTOCOL 1.2). */
#define UNPROVED_SPARE 64

/* How long links that were closed may take to be read at the end. */
#define LINGER_MS 1000

/* How long children that were killed may take. */
#define KILLED_MS 2000

/* Whom we call, or are to call: at launch our parent, later a candidate. */
struct call {
    struct dial *dial; /* until there is a connection, or none */
    char *address;
    uint32_t rank;
    uint32_t incarnation;
    bool wanted;   /* to be begun in the next turn */
    bool adoption; /* the machine has asked for it */
};

struct driver {
    struct helm *helm;
    struct bootstrap *bootstrap;
    const struct driver_ops *ops;
    void *arg;
    struct node *node;
    struct actions actions;
    size_t done; /* actions that were carried out already */
    struct connections *connections;
    struct listener *listener;
    struct children *children;
    struct call target;
    ev_io boot_io; /* whoever started us, until we are accepted */
    struct refusals refusals;
    struct link_table links;
    struct calls calls;
    uint64_t flushed_ms;
    uint64_t deadline_ms; /* the machine's, unless it was stepped since */
    bool stepped;
    uint64_t next_ms; /* what whoever polls has been told of it */
    bool fresh;       /* nothing was flushed since somebody has waited */
    bool news;        /* something came that somebody may wait for */
    bool ended;
    uint64_t abort_ms; /* a filter call hangs: when to abort, or 0 */
    bool orphaned;     /* the machine looks for a parent */
    int error;
};

__attribute__((format(printf, 3, 4))) static void log_line(
    struct driver *driver, const char *id, const char *format_text, ...)
{
    char text[512];
    va_list args;

    if (!driver->ops->log)
        return;
    va_start(args, format_text);
    vsnprintf(text, sizeof(text), format_text, args);
    va_end(args);
    driver->ops->log(driver->arg, id, text);
}

/* ---- the end ---- */

/* Nothing more comes; what is queued on the links still leaves. */
static void driver_end(struct driver *driver, int code, const char *text)
{
    uint32_t i;

    if (driver->ended)
        return;
    driver->ended = true;
    driver->error = code;
    driver->news = true;
    calls_end(&driver->calls);
    for (i = 0; i < driver->links.count && code != -EBADF; i++) {
        struct link_slot *slot = link_table_at(&driver->links, i);

        if (slot) {
            connection_close(slot->connection);
            slot->connection = NULL;
        }
    }
    log_line(driver, "NODE-END", "%s", text);
    driver->ops->exit(driver->arg, text);
}

/* ---- actions ---- */

/* Give `event` its time: exactly where that is measured. */
static void driver_stamp(struct driver *driver, struct event *event)
{
    event->now_ms = helm_now_ms(driver->helm);
    if (event->type == EVENT_LINK_DOWN || event_is_timed(event) ||
        driver->actions.exact)
        event->now_us = helm_clock_us();
}

/* Tell the machine something that follows from what it asked for; its answer
 * is appended to what is being carried out. */
static void step_inside(struct driver *driver, struct event *event)
{
    driver_stamp(driver, event);
    node_step(driver->node, event, &driver->actions);
}

static void do_send(struct driver *driver, struct action *action)
{
    struct connection *connection =
        link_table_connection(&driver->links, action->link);

    if (!connection)
        return;
    connection_send(connection, &action->frame);
    action->frame.payload = NULL;
}

/* Whether the node has ended: that is the last that a machine says. */
static bool is_ending(const struct driver *driver)
{
    const struct actions *actions = &driver->actions;

    return actions->count > 0 &&
           actions->list[actions->count - 1].type == ACTION_EXIT;
}

static void do_close(struct driver *driver, uint32_t link)
{
    struct link_slot *slot = link_table_at(&driver->links, link);

    if (!slot)
        return;
    log_line(driver, "LINK-CLOSE", "rank %u: closed by us", slot->rank);
    connection_close(slot->connection);
    slot->connection = NULL;
    if (!slot->is_parent && !is_ending(driver))
        children_unlinked(driver->children, slot->rank);
}

/* The machine wants another parent. Whoever polls just now is woken, and the
 * call begins in his next turn. */
static void do_dial(struct driver *driver, struct action *action)
{
    struct call *target = &driver->target;

    free(target->address);
    target->address = action->text;
    action->text = NULL;
    target->rank = action->rank;
    target->incarnation = (uint32_t)action->sequence;
    target->wanted = true;
    target->adoption = true;
    driver->orphaned = action->type == ACTION_DIAL;
    driver->news = true;
}

/* News for the shell; what they say of our own place is ours too. */
static void do_tell(struct driver *driver, const struct action *action)
{
    driver->news = true;
    if (action->tell == TELL_NODE_ADOPTED &&
        action->rank == driver->bootstrap->rank) {
        driver->orphaned = false;
        log_line(driver, "ADOPTED", "by rank %u", (uint32_t)action->sequence);
    }
    if (action->tell == TELL_LAUNCHED)
        connections_be_patient(driver->connections,
                               driver->bootstrap->times.handshake_timeout_ms);
    driver->ops->tell(driver->arg, action);
}

static void do_load(struct driver *driver,
                    const struct stream_definition *definition)
{
    struct stream_filters filters = {0};
    char text[LIMIT_TEXT] = "";
    bool slow = false;
    struct event event = {.type = EVENT_LOADED, .stream = definition->id};
    int r;

    r = driver->ops->load(driver->arg, definition, &filters, &slow, text,
                          sizeof(text));
    if (r == 0 && slow)
        r = calls_be_slow(&driver->calls, definition->id);
    event.filters = &filters;
    if (r < 0)
        event.text = *text ? text : strerror(-r);
    step_inside(driver, &event);
}

static void do_spawn(struct driver *driver, uint32_t rank)
{
    struct event event = {.type = EVENT_CHILD_GONE, .rank = rank};

    if (children_start(driver->children, rank) == 0)
        return;
    event.text = strerror(ENOMEM);
    step_inside(driver, &event);
}

static void carry_out(struct driver *driver, struct action *action)
{
    switch (action->type) {
    case ACTION_SPAWN:
        do_spawn(driver, action->rank);
        break;
    case ACTION_STOP:
        children_stop(driver->children, action->rank,
                      action->text ? action->text : "it is not waited for");
        break;
    case ACTION_SEND: /* not here: carry_out_all() */
        break;
    case ACTION_CLOSE:
        do_close(driver, action->link);
        break;
    case ACTION_DIAL:
    case ACTION_KNOCK:
        do_dial(driver, action);
        break;
    case ACTION_CLOCK:
        step_inside(driver, &(struct event){.type = EVENT_CLOCK});
        break;
    case ACTION_RANK:
        driver->bootstrap->rank = action->rank;
        break;
    case ACTION_LOAD:
        do_load(driver, action->definition);
        break;
    case ACTION_UNLOAD:
        calls_unload(&driver->calls, action->stream);
        break;
    case ACTION_FILTER:
        calls_put(&driver->calls, action->call);
        break;
    case ACTION_DELIVER:
        driver->news = true;
        driver->ops->deliver(driver->arg, action->stream, &action->frame);
        action->frame.payload = NULL;
        break;
    case ACTION_TELL:
        do_tell(driver, action);
        break;
    case ACTION_INJECT:
        log_line(driver, "INJECT", "kind %d", action->code);
        injection_suffer(action->code, (uint32_t)action->sequence,
                         link_table_connection(&driver->links, action->link));
        break;
    case ACTION_EXIT:
        if (action->code < 0)
            driver->abort_ms = helm_now_ms(driver->helm) + LINGER_MS;
        driver_end(driver, action->code, "the node has ended");
        break;
    }
}

/* Carry out what the machine asked for. An action may make it ask for more, so
 * each is copied out of the array first. */
static void carry_out_all(struct driver *driver)
{
    struct action action;

    for (; driver->done < driver->actions.count; driver->done++) {
        if (driver->actions.list[driver->done].type == ACTION_SEND) {
            /* most are: this one asks for nothing more, and has no text */
            do_send(driver, &driver->actions.list[driver->done]);
            continue;
        }
        action = driver->actions.list[driver->done];
        driver->actions.list[driver->done].frame.payload = NULL;
        driver->actions.list[driver->done].text = NULL;
        driver->actions.list[driver->done].adoption = NULL;
        carry_out(driver, &action);
        frame_fini(&action.frame);
        free(action.text);
        free(action.adoption);
    }
    actions_clear(&driver->actions);
    driver->done = 0;
    if (driver->actions.failed)
        driver_end(driver, -ENOMEM, "out of memory");
}

/* When the machine wants to be told that time has passed. */
static uint64_t deadline_ms(struct driver *driver)
{
    if (driver->stepped)
        driver->deadline_ms = node_deadline_ms(driver->node);
    driver->stepped = false;
    return driver->deadline_ms;
}

/* Tell the machine, and do what it asks for. */
static int step_and_act(struct driver *driver,
                        struct event *event,
                        uint64_t *result)
{
    bool outermost = driver->actions.count == 0;
    int r;

    if (driver->ended) {
        if (event->type != EVENT_TAKEN) /* of which the frame is borrowed */
            frame_fini(&event->frame);
        return -ENOTCONN;
    }
    driver_stamp(driver, event);
    driver->stepped = true;
    r = node_step(driver->node, event, &driver->actions);
    if (result)
        *result = driver->actions.result;
    if (outermost)
        carry_out_all(driver);
    return r;
}

/* ---- filters ---- */

static void on_answered(void *arg, struct event *answer)
{
    step_and_act(arg, answer, NULL);
}

/* Run filter calls for a while. Returns whether one still waits: what has
 * arrived is not worked off yet. */
static bool run_calls(struct driver *driver, bool at_helm)
{
    bool more = calls_run(&driver->calls, at_helm);

    connections_be_busy(driver->connections, more);
    return more;
}

/* ---- connections ---- */

/* Whether we still answer: a front-end that has ended says so to whoever calls,
 * such as a child that was stopped until now (PROTOCOL 11.4). */
static bool answers(const struct driver *driver)
{
    return !driver->ended || driver->bootstrap->role == NODE_FRONTEND;
}

static void turn_away(struct driver *driver, struct connection *connection)
{
    struct frame frame = {.type = FRAME_END};

    if (driver->ended && answers(driver))
        connection_send(connection, &frame);
    connection_close(connection);
}

static void driver_on_up(void *arg,
                         struct connection *connection,
                         const struct handshake_identity *peer)
{
    struct driver *driver = arg;
    struct event event = {
        .type = EVENT_LINK_UP,
        .link = UINT32_MAX,
        .rank = peer->rank,
        .incarnation = peer->incarnation,
        .role = peer->role,
        .is_parent = connection_is_dialer(connection),
    };

    if (!driver->ended)
        event.link = link_table_add(&driver->links, connection, peer->rank,
                                    event.is_parent);
    if (event.link == UINT32_MAX) {
        turn_away(driver, connection);
        return;
    }
    connection_set_link(connection, event.link);
    log_line(driver, "LINK-UP", "rank %u, our %s", peer->rank,
             event.is_parent ? "parent" : "child");
    if (event.is_parent) {
        ev_io_stop(helm_loop(driver->helm), &driver->boot_io);
        bootstrap_accepted(driver->bootstrap);
    } else {
        children_linked(driver->children, peer->rank);
    }
    step_and_act(driver, &event, NULL);
}

static void on_frame(void *arg,
                     struct connection *connection,
                     struct frame *frame)
{
    struct driver *driver = arg;
    struct event event = {
        .type = EVENT_FRAME,
        .link = connection_link(connection),
        .frame = *frame,
    };

    step_and_act(driver, &event, NULL);
}

static void on_bytes(void *arg, struct connection *connection)
{
    uint32_t link = connection_link(connection);

    step_and_act(arg, &(struct event){.type = EVENT_BYTES, .link = link}, NULL);
}

/* Nobody answers, or not as we want. At launch this ends us. */
static void unreachable(struct driver *driver, int code, const char *text)
{
    const struct call *target = &driver->target;
    struct event event = {
        .type = EVENT_UNREACHABLE,
        .rank = target->rank,
        .refused = code == -ECONNREFUSED,
    };
    char words[512];

    log_line(driver, "UNREACHABLE", "rank %u: %s", target->rank, text);
    if (target->adoption) {
        step_and_act(driver, &event, NULL);
        return;
    }
    snprintf(words, sizeof(words), "no link to the parent, rank %u: %s",
             target->rank, text);
    driver_end(driver, code, words);
}

static void on_down(void *arg,
                    struct connection *connection,
                    bool was_up,
                    int code,
                    const char *text)
{
    struct driver *driver = arg;
    uint32_t link = connection_link(connection);
    struct event event = {
        .type = EVENT_LINK_DOWN,
        .link = link,
        /* What is not of the other end, such as TCP_USER_TIMEOUT, is silence
         * by another name (PROTOCOL 11.3). */
        .silent = code != 0 && code != -ECONNRESET,
        .text = text,
    };
    struct link_slot slot;
    char words[512];

    if (!was_up) {
        if (!connection_is_dialer(connection)) {
            if (refusals_add(&driver->refusals, helm_now_ms(driver->helm)))
                log_line(driver, "LINK-REFUSED", "%s", text);
            return;
        }
        snprintf(words, sizeof(words), "at %s: %s", driver->target.address,
                 text);
        unreachable(driver, code, words);
        return;
    }
    assert(link_table_connection(&driver->links, link) == connection);
    slot = *link_table_at(&driver->links, link);
    link_table_at(&driver->links, link)->connection = NULL;
    log_line(driver, "LINK-DOWN", "rank %u: %s", slot.rank, text);
    if (code == -ENOMEM) {
        /* The same frame would come again, on the next link. */
        driver_end(driver, code, text);
        return;
    }
    step_and_act(driver, &event, NULL);
    if (!slot.is_parent)
        children_unlinked(driver->children, slot.rank);
}

static const struct connection_ops connection_ops = {
    .up = driver_on_up,
    .frame = on_frame,
    .bytes = on_bytes,
    .down = on_down,
};

static void on_call(void *arg, int fd)
{
    struct driver *driver = arg;

    if (answers(driver))
        connection_new(driver->connections, fd, false, RANK_NONE);
    else
        close(fd);
}

static void on_dialed(void *arg, int fd, const char *text)
{
    struct driver *driver = arg;
    int r = fd;

    dial_free(driver->target.dial);
    driver->target.dial = NULL;
    if (driver->ended || driver->target.wanted) {
        if (fd >= 0)
            close(fd);
        return;
    }
    if (fd >= 0 && driver->bootstrap->role == NODE_FRONTEND) {
        close(fd); /* somebody listens: more was not asked (PROTOCOL 6.8) */
        r = -EISCONN;
        text = "it listens";
    } else if (fd >= 0) {
        r = connection_new(driver->connections, fd, true, driver->target.rank);
        text = r < 0 ? strerror(-r) : "";
    }
    if (r < 0)
        unreachable(driver, r, text);
}

/* How long a call may take; at launch as long as a start (PROTOCOL 12.2b). */
static uint32_t call_ms(const struct driver *driver)
{
    uint32_t connect_ms = driver->bootstrap->times.connect_timeout_ms;
    uint32_t patience_ms = node_patience_ms(driver->node);

    return driver->target.adoption || driver->bootstrap->rank == RANK_NONE ||
                   patience_ms < connect_ms
               ? connect_ms
               : patience_ms;
}

/* Call whom we are to call, and give up whom we have called before. What fails
 * at once makes the machine ask for the next. Nobody polls. */
static void begin_calls(struct driver *driver)
{
    struct call *target = &driver->target;
    struct handshake_identity own = {.role = driver->bootstrap->role};
    int fd;
    int r;

    while (target->wanted && !driver->ended) {
        target->wanted = false;
        dial_free(target->dial);
        target->dial = NULL;
        connections_hang_up(driver->connections);
        own.rank = driver->bootstrap->rank;
        own.incarnation = target->incarnation;
        connections_identify(driver->connections, &own);
        r = dial_new(&target->dial, helm_loop(driver->helm),
                     target->address ? target->address : "", call_ms(driver),
                     on_dialed, driver, &fd);
        if (r > 0)
            on_dialed(driver, fd, "");
        else if (r < 0)
            unreachable(driver, r, "its address is not known");
    }
}

/* Whoever started us closes the bootstrap before we were accepted. */
static void on_boot(struct ev_loop *loop, ev_io *io, int events)
{
    struct driver *driver = io->data;
    char byte;
    ssize_t n = recv(io->fd, &byte, 1, MSG_DONTWAIT);

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    ev_io_stop(loop, io);
    driver_end(driver, -EPIPE, "whoever started this node is gone");
}

static void on_begun(void *arg, uint32_t rank)
{
    struct event event = {.type = EVENT_CHILD_BEGUN, .rank = rank};

    step_and_act(arg, &event, NULL);
}

static void on_gone(void *arg, uint32_t rank, const char *text)
{
    struct driver *driver = arg;
    struct event event = {
        .type = EVENT_CHILD_GONE,
        .rank = rank,
        .text = text,
    };

    log_line(driver, "CHILD-GONE", "rank %u: %s", rank, text);
    step_and_act(driver, &event, NULL);
}

/* ---- turns ---- */

static void flush_connections(struct driver *driver)
{
    driver->flushed_ms = helm_now_ms(driver->helm);
    if (connections_flush(driver->connections, helm_polling(driver->helm)))
        helm_wake(driver->helm);
}

static void log_refusals(struct driver *driver, uint64_t now_ms)
{
    uint32_t count = refusals_left_out(&driver->refusals, now_ms);

    if (count > 0)
        log_line(driver, "LINK-REFUSED", "%u more", count);
}

static bool driver_work(void *arg, uint64_t *next_ms)
{
    struct driver *driver = arg;
    struct event tick = {.type = EVENT_TICK};
    bool more;

    if (helm_is_broken(driver->helm)) {
        driver_end(driver, -EBADF,
                   "the application has closed the descriptors");
        *next_ms = UINT64_MAX;
        return false;
    }
    log_refusals(driver, helm_now_ms(driver->helm));
    more = children_work(driver->children);
    if (!driver->ended && deadline_ms(driver) <= helm_now_ms(driver->helm))
        step_and_act(driver, &tick, NULL);
    begin_calls(driver);
    if (driver->ended && driver->orphaned)
        children_disown(driver->children);
    more |= run_calls(driver, true);
    flush_connections(driver);
    if (helm_polling(driver->helm)) /* we have lost the helm in a call */
        helm_notify(driver->helm);
    driver->news = false;
    more |= driver->target.wanted && !driver->ended;
    if (driver->abort_ms > 0 && (!connections_linger(driver->connections) ||
                                 helm_now_ms(driver->helm) >= driver->abort_ms))
        driver->ops->abort(driver->arg);
    *next_ms = driver->ended ? UINT64_MAX : deadline_ms(driver);
    if (driver->abort_ms > 0)
        *next_ms = driver->abort_ms;
    driver->next_ms = *next_ms;
    return more || *next_ms <= helm_now_ms(driver->helm);
}

static void on_overdue(void *arg)
{
    struct driver *driver = arg;

    if (connections_queued(driver->connections) > 0)
        flush_connections(driver);
}

static void on_forked(void *arg)
{
    struct driver *driver = arg;

    if (driver->connections)
        connections_abandon(driver->connections);
    if (driver->listener)
        listener_abandon(driver->listener);
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

static int make_connections(struct driver *driver)
{
    const struct bootstrap *bootstrap = driver->bootstrap;
    struct connections_config config = {
        .loop = helm_loop(driver->helm),
        .key = bootstrap->key,
        .session = bootstrap->session,
        .own = {.rank = bootstrap->rank, .role = bootstrap->role},
        .failure_timeout_ms = bootstrap->times.failure_timeout_ms,
        .handshake_timeout_ms = bootstrap->times.handshake_timeout_ms,
        .unproved_max = UNPROVED_SPARE,
        .ops = &connection_ops,
        .arg = driver,
    };

    if (node_patience_ms(driver->node) > config.handshake_timeout_ms)
        config.handshake_timeout_ms = node_patience_ms(driver->node);
    if (bootstrap->subtree)
        config.unproved_max += topology_count(bootstrap->subtree);
    return connections_new(&driver->connections, &config);
}

static int make_parts(struct driver *driver, struct cop_error *error)
{
    const struct bootstrap *bootstrap = driver->bootstrap;
    sigset_t mask;
    int r;

    r = helm_new(&driver->helm, &helm_ops, driver, &mask);
    if (r < 0)
        return cop_error_set(error, r, "cannot make an event loop: %s",
                             strerror(-r));
    calls_init(&driver->calls, driver->helm, driver->ops, driver->arg,
               on_answered, driver);
    if (bootstrap->role != NODE_BACKEND) {
        r = listener_new(&driver->listener, helm_loop(driver->helm),
                         bootstrap->networks, bootstrap->loopback,
                         bootstrap->times.failure_timeout_ms, on_call, driver,
                         error);
        if (r < 0)
            return r;
    }
    r = machine_new(&driver->node, bootstrap,
                    driver->listener ? listener_address(driver->listener) : "");
    if (r == 0)
        r = make_connections(driver);
    if (r == 0)
        r = children_new(&driver->children, helm_loop(driver->helm), bootstrap,
                         driver->listener ? listener_address(driver->listener)
                                          : "",
                         &mask, on_begun, on_gone, driver);
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
    driver->stepped = true;
    ev_init(&driver->boot_io, on_boot);
    r = make_parts(driver, error);
    if (r < 0) {
        driver->bootstrap = NULL; /* stays the caller's */
        driver_free(driver);
        return r;
    }
    *out = driver;
    return 0;
}

static bool nothing_lingers(void *arg)
{
    struct driver *driver = arg;

    return !connections_linger(driver->connections);
}

static bool nobody_lives(void *arg)
{
    struct driver *driver = arg;

    return children_alive(driver->children) == 0;
}

/* END goes down, so that nobody looks for a parent among the dead. */
static void end_tree(struct driver *driver)
{
    struct event event = {.type = EVENT_SHUTDOWN};
    int i;

    for (i = 0; i < 2 && !driver->ended; i++)
        step_and_act(driver, &event, NULL); /* the second one does not wait */
}

/* Have closed links read, and children ended. */
static void wind_up(struct driver *driver)
{
    if (!driver->helm || !driver->children || helm_lock(driver->helm) < 0)
        return;
    if (driver->node && driver->bootstrap->role == NODE_FRONTEND)
        end_tree(driver);
    driver->ended = true;
    helm_wait(driver->helm, nothing_lingers, driver, LINGER_MS);
    helm_wait(driver->helm, nobody_lives, driver, LINGER_MS);
    children_kill(driver->children);
    helm_wait(driver->helm, nobody_lives, driver, KILLED_MS);
    helm_unlock(driver->helm);
}

void driver_free(struct driver *driver)
{
    if (!driver)
        return;
    wind_up(driver);
    if (driver->helm)
        helm_stop(driver->helm);
    if (driver->helm && helm_is_broken(driver->helm))
        return; /* what is ours, and what the application's? It stays */
    actions_fini(&driver->actions);
    if (driver->helm && !helm_is_forked(driver->helm)) {
        ev_io_stop(helm_loop(driver->helm), &driver->boot_io);
        dial_free(driver->target.dial);
        log_refusals(driver, UINT64_MAX);
    }
    children_free(driver->children);
    listener_free(driver->listener);
    connections_free(driver->connections);
    node_free(driver->node);
    helm_free(driver->helm);
    bootstrap_free(driver->bootstrap);
    free(driver->target.address);
    link_table_fini(&driver->links);
    calls_fini(&driver->calls);
    free(driver);
}

int driver_start(struct driver *driver)
{
    const struct bootstrap *bootstrap = driver->bootstrap;
    struct event event = {.type = EVENT_START};
    int r;

    helm_clock(driver->helm);
    if (bootstrap->fd >= 0) {
        ev_io_set(&driver->boot_io, bootstrap->fd, EV_READ);
        driver->boot_io.data = driver;
        ev_io_start(helm_loop(driver->helm), &driver->boot_io);
    }
    if (bootstrap->role != NODE_FRONTEND) {
        driver->target.rank = bootstrap->parent_rank;
        driver->target.address = strdup(bootstrap->parent_address);
        if (!driver->target.address)
            return -ENOMEM;
        driver->target.wanted = true;
    }
    r = step_and_act(driver, &event, NULL);
    return r == -ENOMEM ? r : 0;
}

/* ---- what shells call ---- */

int driver_lock(struct driver *driver)
{
    return helm_lock(driver->helm);
}

void driver_unlock(struct driver *driver)
{
    helm_unlock(driver->helm);
}

/* What the application has queued leaves now if it is the first since it has
 * waited, or much, or old; otherwise soon. */
static void flush_in_time(struct driver *driver)
{
    size_t queued = connections_queued(driver->connections);

    if (queued == 0)
        return;
    if (driver->fresh || queued >= FLUSH_LEN ||
        helm_now_ms(driver->helm) >= driver->flushed_ms + FLUSH_MS) {
        driver->fresh = false;
        flush_connections(driver);
    } else {
        helm_due(driver->helm, FLUSH_MS);
    }
}

int driver_note(struct driver *driver, struct event *event, uint64_t *result)
{
    helm_clock(driver->helm);
    return step_and_act(driver, event, result);
}

void driver_catch_up(struct driver *driver)
{
    bool waits = run_calls(driver, false);

    flush_in_time(driver);
    if (waits && !helm_polling(driver->helm))
        helm_due(driver->helm, 0);
    if (waits || driver->news ||
        (helm_polling(driver->helm) && deadline_ms(driver) < driver->next_ms))
        helm_notify(driver->helm);
    driver->news = false;
}

/* What somebody waits for, or the end. */
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
    flush_connections(driver);
}

void driver_attended(struct driver *driver)
{
    helm_attended(driver->helm);
}

int driver_reap(struct driver *driver, int stopped_ms, int timeout_ms)
{
    int count;

    children_dismiss(driver->children);
    if (stopped_ms >= 0 && stopped_ms < timeout_ms) {
        helm_wait(driver->helm, nobody_lives, driver, stopped_ms);
        children_kill_stopped(driver->children);
        timeout_ms -= stopped_ms;
    }
    helm_wait(driver->helm, nobody_lives, driver, timeout_ms);
    count = (int)children_kill(driver->children);
    if (count > 0)
        helm_wait(driver->helm, nobody_lives, driver, KILLED_MS);
    return count;
}

int driver_error(const struct driver *driver)
{
    return driver->error;
}

struct node *driver_node(struct driver *driver)
{
    return driver->node;
}

const struct bootstrap *driver_bootstrap(const struct driver *driver)
{
    return driver->bootstrap;
}

uint64_t driver_now_ms(void)
{
    return helm_clock_us() / 1000;
}
