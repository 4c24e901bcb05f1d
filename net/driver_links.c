/* driver_links.c - the links of a node: numbered connections. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/driver_parts.h"
#include "net/listener.h"
#include "topology/array.h"
#include "topology/topology.h"

/* Unproved connections allowed beyond one for each back-end (PROTOCOL 1.2). */
#define UNPROVED_SPARE 64

/* ---- numbers ---- */

/* The link with that number, or NULL if there is none. Setting its connection
 * to NULL frees the number. Borrowed until add_link(). */
static struct driver_link *link_at(const struct driver *driver, uint32_t link)
{
    return driver_links_find(driver, link) ? &driver->links.list[link] : NULL;
}

struct connection *driver_links_find(const struct driver *driver, uint32_t link)
{
    const struct driver_links *links = &driver->links;

    return link < links->count ? links->list[link].connection : NULL;
}

/* The lowest free number; UINT32_MAX: out of memory. */
static uint32_t free_link(struct driver_links *links)
{
    uint32_t count = links->count;

    for (uint32_t i = 0; i < count; i++)
        if (!links->list[i].connection)
            return i;
    return array_reach(&links->list, &links->count, count,
                       sizeof(*links->list)) < 0
               ? UINT32_MAX
               : count;
}

/* Number a connection. Returns the number, or UINT32_MAX: out of memory. */
static uint32_t add_link(struct driver_links *links,
                         struct connection *connection,
                         uint32_t rank,
                         bool is_parent)
{
    uint32_t link = free_link(links);

    if (link != UINT32_MAX)
        links->list[link] = (struct driver_link){
            .connection = connection,
            .rank = rank,
            .is_parent = is_parent,
        };
    return link;
}

/* ---- actions of the machine ---- */

void driver_links_send(struct driver *driver,
                       uint32_t link,
                       struct frame *frame)
{
    struct connection *connection = driver_links_find(driver, link);

    if (!connection)
        return;
    connection_send(connection, frame);
    frame->payload = NULL;
}

void driver_links_close(struct driver *driver, uint32_t link)
{
    struct driver_link *at = link_at(driver, link);

    if (!at)
        return;
    driver_log(driver, "LINK-CLOSE", "rank %u: closed by us", at->rank);
    connection_close(at->connection);
    at->connection = NULL;
    if (!at->is_parent && !driver_machine_is_ending(driver))
        children_unlinked(driver->children, at->rank);
}

void driver_links_close_all(struct driver *driver)
{
    struct driver_link *at;

    for (uint32_t i = 0; i < driver->links.count; i++) {
        at = link_at(driver, i);
        if (at) {
            connection_close(at->connection);
            at->connection = NULL;
        }
    }
}

void driver_links_flush(struct driver *driver)
{
    driver->links.flushed_ms = helm_now_ms(driver->helm);
    if (connections_flush(driver->links.connections,
                          helm_polling(driver->helm)))
        helm_wake(driver->helm);
}

void driver_links_log_refusals(struct driver *driver, uint64_t now_ms)
{
    uint32_t count = refusals_left_out(&driver->links.refusals, now_ms);

    if (count > 0)
        driver_log(driver, "LINK-REFUSED", "%u more", count);
}

/* ---- callbacks of the connections ---- */

/* Whether we accept connections. A front-end that has ended tells each caller
 * so, for example a child that was stopped until now (PROTOCOL 11.4); not one
 * that has left its tree to another (PROTOCOL 23.2). */
static bool is_answering(const struct driver *driver)
{
    return !driver->ended ||
           (driver->bootstrap->role == NODE_FRONTEND && !driver->detached);
}

static void refuse_link(struct driver *driver, struct connection *connection)
{
    struct frame frame = {.type = FRAME_END};

    if (driver->ended && is_answering(driver))
        connection_send(connection, &frame);
    connection_close(connection);
}

static void on_up(void *arg,
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
        event.link =
            add_link(&driver->links, connection, peer->rank, event.is_parent);
    if (event.link == UINT32_MAX) {
        refuse_link(driver, connection);
        return;
    }
    connection_set_link(connection, event.link);
    driver_log(driver, "LINK-UP", "rank %u, our %s", peer->rank,
               event.is_parent ? "parent" : "child");
    if (event.is_parent) {
        driver_accepted(driver);
    } else {
        children_linked(driver->children, peer->rank);
    }
    driver_machine_step(driver, &event, NULL);
}

static void on_frame(void *arg,
                     struct connection *connection,
                     struct frame *frame)
{
    struct driver *driver = arg;
    struct event event = {
        .type = EVENT_FRAME,
        .link = connection_link(connection),
        .heard_ms = connection_heard_ms(connection),
        .frame = *frame,
    };

    driver_machine_step(driver, &event, NULL);
}

static void on_bytes(void *arg, struct connection *connection)
{
    struct event event = {
        .type = EVENT_BYTES,
        .link = connection_link(connection),
        .heard_ms = connection_heard_ms(connection),
    };

    driver_machine_step(arg, &event, NULL);
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
        /* An error that the other end did not cause, such as TCP_USER_TIMEOUT,
         * counts as silence (PROTOCOL 11.3). */
        .silent = code != 0 && code != -ECONNRESET,
        .text = text,
    };
    struct driver_link lost;
    char words[512];

    if (!was_up) {
        if (!connection_is_dialer(connection)) {
            if (refusals_add(&driver->links.refusals,
                             helm_now_ms(driver->helm)))
                driver_log(driver, "LINK-REFUSED", "%s", text);
            return;
        }
        snprintf(words, sizeof(words), "at %s: %s", driver->call.address, text);
        driver_call_failed(driver, code, words);
        return;
    }
    assert(driver_links_find(driver, link) == connection);
    lost = *link_at(driver, link);
    link_at(driver, link)->connection = NULL;
    driver_log(driver, "LINK-DOWN", "rank %u: %s", lost.rank, text);
    if (code == -ENOMEM) {
        /* The next link would bring the same frame. */
        driver_end(driver, code, text);
        return;
    }
    driver_machine_step(driver, &event, NULL);
    if (!lost.is_parent)
        children_unlinked(driver->children, lost.rank);
}

static const struct connection_ops connection_ops = {
    .up = on_up,
    .frame = on_frame,
    .bytes = on_bytes,
    .down = on_down,
};

static void on_caller(void *arg, int fd)
{
    struct driver *driver = arg;

    if (is_answering(driver))
        connection_new(driver->links.connections, fd, false, RANK_NONE);
    else
        close(fd);
}

/* ---- making them ---- */

int driver_links_listen(struct driver *driver, struct cop_error *error)
{
    const struct bootstrap *bootstrap = driver->bootstrap;

    if (bootstrap->role == NODE_BACKEND)
        return 0;
    return listener_new(&driver->links.listener, helm_loop(driver->helm),
                        bootstrap, on_caller, driver, error);
}

const char *driver_links_address(const struct driver *driver)
{
    return driver->links.listener ? listener_address(driver->links.listener)
                                  : "";
}

uint32_t driver_links_patience_ms(const struct driver *driver)
{
    uint32_t patience_ms = node_patience_ms(driver->machine.node);
    uint32_t handshake_ms = driver->bootstrap->times.handshake_timeout_ms;

    return patience_ms > handshake_ms ? patience_ms : handshake_ms;
}

int driver_links_make(struct driver *driver)
{
    const struct bootstrap *bootstrap = driver->bootstrap;
    struct connections_config config = {
        .loop = helm_loop(driver->helm),
        .key = bootstrap->key,
        .session = bootstrap->session,
        .own = {.rank = bootstrap->rank, .role = bootstrap->role},
        .heartbeat_ms = bootstrap->times.heartbeat_ms,
        .failure_timeout_ms = bootstrap->times.failure_timeout_ms,
        .handshake_timeout_ms = driver_links_patience_ms(driver),
        .unproved_max = UNPROVED_SPARE,
        .ops = &connection_ops,
        .arg = driver,
    };

    if (bootstrap->subtree)
        config.unproved_max += topology_count(bootstrap->subtree);
    return connections_new(&driver->links.connections, &config);
}

void driver_links_abandon(struct driver *driver)
{
    if (driver->links.connections)
        connections_abandon(driver->links.connections);
    if (driver->links.listener)
        listener_abandon(driver->links.listener);
}

void driver_links_free(struct driver *driver)
{
    listener_free(driver->links.listener);
    connections_free(driver->links.connections);
    free(driver->links.list);
}
