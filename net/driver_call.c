/* driver_call.c - dial the parent, or a node that may adopt us. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/address.h"
#include "net/dial.h"
#include "net/driver_parts.h"
#include "wire/limits.h"

/* In a network that agents assemble, the parent may not be listening yet, or
 * may listen on another of its ports (PROTOCOL 12.5). */
#define AGAIN_FIRST_MS 10
#define AGAIN_MAX_MS   500

/* The handshake gets 1/STRANGER_PART of the time for all calls: a process other
 * than the parent may have the port, and stay silent. */
#define STRANGER_PART (2 * PORTS_ASSEMBLED_TRIES)

/* Under COP_MISSING_SKIP, a node without its parent is started again below the
 * next node above, which expects it after the start limit. */
static uint64_t await_parent_ms(const struct driver *driver)
{
    uint64_t patience_ms = node_patience_ms(driver->machine.node);

    return driver->bootstrap->missing == COP_MISSING_SKIP
               ? patience_ms + patience_ms / 4
               : patience_ms;
}

int driver_call_parent(struct driver *driver)
{
    struct driver_call *call = &driver->call;

    if (driver->bootstrap->awaits_parent)
        call->until_ms = helm_now_ms(driver->helm) + await_parent_ms(driver);
    call->rank = driver->bootstrap->parent_rank;
    call->address = strdup(driver->bootstrap->parent_address);
    if (!call->address)
        return -ENOMEM;
    call->wanted = true;
    return 0;
}

void driver_call_ask(struct driver *driver, struct action *action)
{
    struct driver_call *call = &driver->call;

    free(call->address);
    call->address = action->text;
    action->text = NULL;
    call->rank = action->rank;
    call->incarnation = (uint32_t)action->sequence;
    call->wanted = true;
    call->adoption = true;
    call->knocks = action->type == ACTION_KNOCK;
    call->orphaned = !call->knocks || driver->bootstrap->role != NODE_FRONTEND;
    driver_changed(driver);
}

void driver_call_adopted(struct driver *driver)
{
    driver->call.orphaned = false;
}

/* Put the parent's next port into its address; the front-end's is known. */
static int next_port(struct driver_call *call, const struct ports *ports)
{
    uint32_t nth = call->tries % PORTS_ASSEMBLED_TRIES;
    char address[LIMIT_ADDRESS + 1];
    char *copy;

    if (call->rank == 0)
        return 0;
    if (address_at_port(call->address, ports_nth(ports, call->rank, nth),
                        address, sizeof(address)) < 0)
        return -EBADMSG;
    copy = strdup(address);
    if (!copy)
        return -ENOMEM;
    free(call->address);
    call->address = copy;
    return 0;
}

/* Schedule the next call to the parent, after a pause for each round of ports.
 * Returns false after the deadline, or on an error. */
static bool call_again(struct driver *driver)
{
    struct driver_call *call = &driver->call;
    uint64_t now_ms = helm_now_ms(driver->helm);
    uint64_t pause_ms = 0;
    uint32_t round;

    if (now_ms >= call->until_ms)
        return false;
    call->tries++;
    round = call->tries / PORTS_ASSEMBLED_TRIES;
    if (call->rank == 0 || call->tries % PORTS_ASSEMBLED_TRIES == 0)
        pause_ms = round < 6 ? (uint64_t)AGAIN_FIRST_MS << round : AGAIN_MAX_MS;
    if (next_port(call, &driver->bootstrap->ports) < 0)
        return false;
    call->again_ms = now_ms + pause_ms;
    return true;
}

uint64_t driver_call_deadline_ms(struct driver *driver)
{
    struct driver_call *call = &driver->call;

    if (call->again_ms == 0)
        return UINT64_MAX;
    if (helm_now_ms(driver->helm) < call->again_ms)
        return call->again_ms;
    call->again_ms = 0;
    call->wanted = true;
    return 0;
}

void driver_call_failed(struct driver *driver, int code, const char *text)
{
    const struct driver_call *call = &driver->call;
    struct event event = {
        .type = EVENT_UNREACHABLE,
        .rank = call->rank,
        .refused = code == -ECONNREFUSED,
    };
    char words[512];

    driver_log(driver, "UNREACHABLE", "rank %u: %s", call->rank, text);
    if (call->adoption) { /* the machine tries another node */
        driver_machine_step(driver, &event, NULL);
        return;
    }
    if (call_again(driver))
        return;
    snprintf(words, sizeof(words), "no link to the parent, rank %u: %s",
             call->rank, text);
    driver_end(driver, code, words);
}

/* Whether the port that we call may belong to another process. */
static bool may_be_another(const struct driver *driver)
{
    return driver->bootstrap->awaits_parent && driver->call.rank != 0 &&
           !driver->call.adoption;
}

static void on_dialed(void *arg, int fd, const char *text)
{
    struct driver *driver = arg;
    uint32_t patience_ms = node_patience_ms(driver->machine.node);
    int r = fd;

    dial_free(driver->call.dial);
    driver->call.dial = NULL;
    if (driver->ended || driver->call.wanted) {
        if (fd >= 0)
            close(fd);
        return;
    }
    if (fd >= 0 && may_be_another(driver))
        connections_be_patient(driver->links.connections,
                               patience_ms / STRANGER_PART);
    if (fd >= 0 && driver->call.knocks) {
        close(fd); /* it listens: that was the question (PROTOCOL 6.8) */
        r = -EISCONN;
        text = "it listens";
    } else if (fd >= 0) {
        r = connection_new(driver->links.connections, fd, true,
                           driver->call.rank);
        text = r < 0 ? strerror(-r) : "";
    }
    if (may_be_another(driver))
        connections_be_patient(driver->links.connections,
                               driver_links_patience_ms(driver));
    if (r < 0)
        driver_call_failed(driver, r, text);
}

/* The time limit of a call; at launch, that of a start (PROTOCOL 12.2b). */
static uint32_t call_timeout_ms(const struct driver *driver)
{
    uint32_t connect_ms = driver->bootstrap->times.connect_timeout_ms;
    uint32_t patience_ms = node_patience_ms(driver->machine.node);

    return driver->call.adoption || driver->bootstrap->rank == RANK_NONE ||
                   patience_ms < connect_ms
               ? connect_ms
               : patience_ms;
}

void driver_call_begin(struct driver *driver)
{
    struct driver_call *call = &driver->call;
    struct handshake_identity own = {.role = driver->bootstrap->role};
    int fd;
    int r;

    /* If a call fails at once, the machine asks for the next one. */
    while (call->wanted && !driver->ended) {
        call->wanted = false;
        dial_free(call->dial);
        call->dial = NULL;
        connections_hang_up(driver->links.connections);
        own.rank = driver->bootstrap->rank;
        own.incarnation = call->incarnation;
        connections_identify(driver->links.connections, &own);
        r = dial_new(&call->dial, helm_loop(driver->helm),
                     call->address ? call->address : "",
                     call_timeout_ms(driver), on_dialed, driver, &fd);
        if (r > 0)
            on_dialed(driver, fd, "");
        else if (r < 0)
            driver_call_failed(driver, r, "its address is not known");
    }
}

void driver_call_free(struct driver *driver)
{
    if (driver->helm && !helm_is_forked(driver->helm))
        dial_free(driver->call.dial);
    free(driver->call.address);
}
