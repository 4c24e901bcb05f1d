/* apart.c - see apart.h. */
#include "stat/job/apart.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/request.h"
#include "stat/walk/aside.h"
#include "stat/walk/touch.h"

/* What the other process does. */
struct search {
    apart_fn fn;
    void *arg;
};

/* What a packet of FOUND does not have: the error, the job in Slurm, the names of
 * hosts from 1 on, and the host of each process. */
#define REST_FORMAT "%s %s %as %aud"

/* Search, and send the result: what was found, then the rest. */
static void run(struct channel *channel, bool restarted, void *arg)
{
    const struct search *search = arg;
    struct targets targets = {0};
    struct cop_error error = {""};
    struct cop_packet *found = NULL, *rest = NULL;
    uint32_t hosts;
    int r;

    (void)restarted;
    touch_begin();
    r = search->fn(&targets, search->arg, &error);
    touch_end();
    hosts = targets.host_count > 0 ? targets.host_count - 1 : 0;
    if (found_pack(&found, 0, &targets) == 0 &&
        cop_packet_new(&rest, STAT_TAG_FOUND, REST_FORMAT, error.text,
                       targets.slurm_job ? targets.slurm_job : "",
                       targets.host_names + (hosts > 0), hosts, targets.hosts,
                       targets.count) == 0 &&
        channel_send(channel, found, r, -1) == 0)
        channel_send(channel, rest, r, -1);
    cop_packet_free(found);
    cop_packet_free(rest);
    targets_fini(&targets);
}

/* Receive a packet, from another process if this one is lost. Returns 0 or a
 * negative errno. */
static int receive(struct aside *aside, struct cop_packet **packet, int *result)
{
    struct pollfd ready = {.events = POLLIN};
    int32_t number = 0;
    int r;

    do {
        r = aside_receive(aside, packet, &number);
        if (r == -EAGAIN) {
            ready.fd = aside_fd(aside);
            poll(&ready, 1, ASIDE_LOOK_MS);
            r = aside_check(aside) < 0 ? -EPIPE : -EAGAIN;
        }
        if (r == -EPIPE) {
            r = aside_restart(aside);
            r = r == 0 ? -EAGAIN : r;
        }
    } while (r == -EAGAIN);
    *result = number;
    return r;
}

/* What REST_FORMAT has. */
struct rest {
    const char *error;
    const char *slurm_job;
    const char **names;
    uint32_t name_count;
    const uint32_t *hosts;
    uint32_t count;
};

/* Add the processes of an answer. */
static int add_found(struct targets *targets,
                     const struct cop_packet *packet,
                     const struct rest *rest,
                     struct cop_error *error)
{
    struct found found;
    uint32_t host;
    int r = found_unpack(&found, packet);

    if (r == 0 && found.count != rest->count)
        r = -EBADMSG;
    if (r == 0 && rest->slurm_job[0]) {
        free(targets->slurm_job);
        targets->slurm_job = strdup(rest->slurm_job);
    }
    for (uint32_t i = 0; r == 0 && i < found.count; i++) {
        struct targets_facts facts = found_facts(&found, i);

        host = rest->hosts[i];
        if (host > rest->name_count)
            return -EBADMSG;
        r = targets_host(targets, host > 0 ? rest->names[host - 1] : "", &host,
                         error);
        if (r == 0)
            r = targets_add(targets, host, found.pids[i], &facts);
    }
    return r;
}

int apart_search(struct targets *targets,
                 apart_fn fn,
                 void *arg,
                 struct cop_error *error)
{
    struct search search = {fn, arg};
    struct cop_packet *found = NULL, *packet = NULL;
    struct aside *aside;
    struct rest rest;
    int r, result = 0;

    if (touch_is_watched() || aside_new(&aside, run, &search) < 0)
        return fn(targets, arg, error);
    r = receive(aside, &found, &result);
    if (r == 0)
        r = receive(aside, &packet, &result);
    if (r < 0)
        cop_error_set(error, r, "cannot search this host: %s",
                      r == -ECHILD ? "something in /proc does not answer"
                                   : strerror(-r));
    if (r == 0)
        r = cop_packet_unpack(packet, REST_FORMAT, &rest.error, &rest.slurm_job,
                              &rest.names, &rest.name_count, &rest.hosts,
                              &rest.count);
    if (r == 0)
        r = add_found(targets, found, &rest, error);
    if (r == 0)
        r = result < 0 && rest.error[0]
                ? cop_error_set(error, result, "%s", rest.error)
                : result;
    cop_packet_free(found);
    cop_packet_free(packet);
    aside_free(aside);
    return r;
}
