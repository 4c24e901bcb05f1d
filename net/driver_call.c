/* driver_call.c - call the parent, or a node that may adopt us. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/dial.h"
#include "net/driver_parts.h"

int driver_call_parent(struct driver *driver)
{
    struct driver_call *call = &driver->call;

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
    call->orphaned = action->type == ACTION_DIAL;
    driver_changed(driver);
}

void driver_call_adopted(struct driver *driver)
{
    driver->call.orphaned = false;
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
    snprintf(words, sizeof(words), "no link to the parent, rank %u: %s",
             call->rank, text);
    driver_end(driver, code, words);
}

static void on_dialed(void *arg, int fd, const char *text)
{
    struct driver *driver = arg;
    int r = fd;

    dial_free(driver->call.dial);
    driver->call.dial = NULL;
    if (driver->ended || driver->call.wanted) {
        if (fd >= 0)
            close(fd);
        return;
    }
    if (fd >= 0 && driver->bootstrap->role == NODE_FRONTEND) {
        close(fd); /* it listens, which is all we ask for (PROTOCOL 6.8) */
        r = -EISCONN;
        text = "it listens";
    } else if (fd >= 0) {
        r = connection_new(driver->links.connections, fd, true,
                           driver->call.rank);
        text = r < 0 ? strerror(-r) : "";
    }
    if (r < 0)
        driver_call_failed(driver, r, text);
}

/* How long a call may take: at launch as long as a start (PROTOCOL 12.2b). */
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

    /* A call that fails at once makes the machine ask for the next one. */
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
