/* apart.c - see apart.h. */
#include "stat/job/apart.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "stat/request.h"
#include "stat/walk/aside.h"
#include "stat/walk/touch.h"

/* What the other process does. */
struct search {
    apart_fn fn;
    void *arg;
};

/* Search, and send the result: what was found, then the error. */
static void run(struct channel *channel, bool restarted, void *arg)
{
    const struct search *search = arg;
    struct targets targets = {0};
    struct cop_error error = {""};
    struct cop_packet *found = NULL, *text = NULL;
    int r;

    (void)restarted;
    touch_begin();
    r = search->fn(&targets, search->arg, &error);
    touch_end();
    if (found_pack(&found, 0, &targets) == 0 &&
        cop_packet_new(&text, STAT_TAG_FOUND, "%s", error.text) == 0 &&
        channel_send(channel, found, r, -1) == 0)
        channel_send(channel, text, r, -1);
    cop_packet_free(found);
    cop_packet_free(text);
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

/* Add the processes of an answer. */
static int add_found(struct targets *targets, const struct cop_packet *packet)
{
    struct found found;
    int r = found_unpack(&found, packet);

    for (uint32_t i = 0; r == 0 && i < found.count; i++) {
        struct targets_facts facts = found_facts(&found, i);

        r = targets_add(targets, 0, found.pids[i], &facts);
    }
    return r;
}

int apart_search(struct targets *targets,
                 apart_fn fn,
                 void *arg,
                 struct cop_error *error)
{
    struct search search = {fn, arg};
    struct cop_packet *found = NULL, *text = NULL;
    struct aside *aside;
    const char *words;
    int r, result = 0;

    if (touch_is_watched() || aside_new(&aside, run, &search) < 0)
        return fn(targets, arg, error);
    r = receive(aside, &found, &result);
    if (r == 0)
        r = receive(aside, &text, &result);
    if (r < 0)
        cop_error_set(error, r, "cannot search this host: %s",
                      r == -ECHILD ? "something in /proc does not answer"
                                   : strerror(-r));
    if (r == 0)
        r = add_found(targets, found);
    if (r == 0 && result < 0)
        r = cop_packet_unpack(text, "%s", &words) < 0 || !words[0]
                ? result
                : cop_error_set(error, result, "%s", words);
    cop_packet_free(found);
    cop_packet_free(text);
    aside_free(aside);
    return r;
}
