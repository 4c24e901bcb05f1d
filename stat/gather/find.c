/* find.c - see find.h. */
#include "stat/gather/find.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stat/clock.h"
#include "stat/request.h"

/* How often to check for lost daemons. */
#define POLL_MS 100

/* The part, as 1/n, of a look's time that it waits for facts on given pids. */
#define PIDS_PART 8

/* The answer to one entry of the wanted. Answers are kept until all are there,
 * so that the processes are in the order of the hosts. */
struct finding {
    uint32_t daemon;
    struct cop_packet *packet; /* NULL: not answered */
    struct found found;        /* read from `packet` */
};

/* The answers, by index among the wanted. */
struct findings {
    const struct targets *targets;
    const struct daemons *daemons;
    struct finding *list;
};

/* Ask the daemons to find the wanted processes. */
static int ask_wanted(struct findings *findings, struct cop_stream *stream)
{
    const struct targets *targets = findings->targets;
    uint32_t count = targets->wanted_count, i;
    uint32_t *ranks = calloc((size_t)count + 1, sizeof(*ranks));
    const char **names = calloc((size_t)count + 1, sizeof(char *));
    const char **users = calloc((size_t)count + 1, sizeof(char *));
    const char **jobs = calloc((size_t)count + 1, sizeof(char *));
    struct find find = {count, ranks, names, users, jobs};
    struct cop_packet *packet = NULL;
    int r = -ENOMEM;

    if (!ranks || !names || !users || !jobs)
        goto out;
    for (i = 0; i < count; i++) {
        ranks[i] = daemons_of_host(findings->daemons, targets->wanted[i].host);
        findings->list[i].daemon = ranks[i];
        names[i] = targets->wanted[i].name;
        users[i] = targets->wanted[i].user;
        jobs[i] = targets->wanted[i].job;
    }
    r = find_pack(&packet, &find);
    if (r == 0)
        r = cop_stream_send_packet(stream, packet);
out:
    cop_packet_free(packet);
    free(ranks);
    free(names);
    free(users);
    free(jobs);
    return r;
}

/* Whether an answer may still come. */
static bool is_waiting(const struct findings *findings)
{
    for (uint32_t i = 0; i < findings->targets->wanted_count; i++) {
        const struct finding *finding = &findings->list[i];

        if (!finding->packet && finding->daemon != COP_RANK_NONE &&
            !daemons_loss(findings->daemons, finding->daemon))
            return true;
    }
    return false;
}

/* Read `packet`, which is taken. */
static int take_found(struct findings *findings, struct cop_packet *packet)
{
    struct found found;
    int r;

    r = found_unpack(&found, packet);
    if (r == 0 && (found.index >= findings->targets->wanted_count ||
                   findings->list[found.index].packet))
        r = -EBADMSG;
    if (r < 0) {
        cop_packet_free(packet);
        return r;
    }
    findings->list[found.index].packet = packet;
    findings->list[found.index].found = found;
    return 0;
}

/* Whether entry `i` only asks for facts about pids, which are looked at in any
 * case. */
static bool is_of_pids(const struct targets *targets, uint32_t i)
{
    return strcmp(targets->wanted[i].job, TARGETS_PIDS) == 0;
}

/* Wait until all daemons have answered or are lost, or the time is up. */
static int await_found(struct findings *findings, struct gathering *gathering)
{
    uint64_t left_ms = gathering_left_ms(gathering, GATHERING_LEAST_MS);
    bool only_pids = true;
    struct cop_packet *packet;
    uint64_t end_ms;
    int r = 0;

    for (uint32_t i = 0; i < findings->targets->wanted_count; i++)
        only_pids = only_pids && is_of_pids(findings->targets, i);
    end_ms = clock_now_ms() + (only_pids ? left_ms / PIDS_PART : left_ms);

    while (r == 0 && is_waiting(findings) && clock_now_ms() < end_ms) {
        uint64_t poll_ms = clock_now_ms() + POLL_MS;

        r = gathering_receive_until(gathering->answers, &packet,
                                    poll_ms < end_ms ? poll_ms : end_ms);
        if (r == 0)
            r = take_found(findings, packet);
        else if (r == -EAGAIN)
            r = 0;
        gathering_events(gathering);
    }
    return r == -ENOTCONN ? 0 : r;
}

static bool is_nothing(const struct finding *finding)
{
    return finding->packet && finding->found.count == 0;
}

/* Report where each program was not found: one line for each program. */
static int say_nothing(const struct findings *findings,
                       const struct gather_options *options)
{
    const struct targets *targets = findings->targets;
    uint32_t count = targets->wanted_count, i, k;
    const char **hosts = calloc((size_t)count + 1, sizeof(char *));
    bool *done = calloc((size_t)count + 1, sizeof(*done));
    int r = hosts && done ? 0 : -ENOMEM;

    for (i = 0; r == 0 && i < count; i++) {
        const struct targets_wanted *wanted = &targets->wanted[i];
        size_t here = 0;
        char *text;

        if (done[i] || !is_nothing(&findings->list[i]))
            continue;
        for (k = i; k < count; k++) {
            const struct targets_wanted *other = &targets->wanted[k];

            if (!is_nothing(&findings->list[k]) ||
                strcmp(wanted->name, other->name) != 0 ||
                strcmp(wanted->user, other->user) != 0 ||
                strcmp(wanted->job, other->job) != 0)
                continue;
            hosts[here++] = targets_host_name(targets, other->host);
            done[k] = true;
        }
        r = cop_hosts_text(&text, hosts, here);
        if (r < 0)
            break;
        gathering_say(options->say, "no process%s%s%s%s%s%s on %s",
                      wanted->job[0] ? " of job " : "", wanted->job,
                      wanted->user[0] ? " of user " : "", wanted->user,
                      wanted->name[0] ? " called " : "", wanted->name, text);
        free(text);
    }
    free(hosts);
    free(done);
    return r;
}

/* Report why entry `i` has no answer. */
static void say_unanswered(const struct findings *findings,
                           uint32_t i,
                           const struct gather_options *options,
                           struct cop_error *late)
{
    const struct targets *targets = findings->targets;
    uint32_t daemon = findings->list[i].daemon;
    const char *loss = daemons_loss(findings->daemons, daemon);
    const char *why = "no answer from its daemon in time";

    if (daemon == COP_RANK_NONE)
        why = "it has no daemon";
    else if (loss)
        why = "its daemon was lost: ";
    cop_error_set(late, -ETIMEDOUT, "%s: its %s are not known: %s%s",
                  targets_host_name(targets, targets->wanted[i].host),
                  is_of_pids(targets, i) ? "ranks' helpers" : "processes", why,
                  loss ? loss : "");
    gathering_say(options->say, "%s", late->text);
}

/* Add the found processes to the targets, and name the hosts without any. */
static int add_found(struct targets *targets,
                     const struct findings *findings,
                     const struct gather_options *options,
                     struct cop_error *late)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < targets->wanted_count; i++) {
        const struct finding *finding = &findings->list[i];

        if (!finding->packet)
            say_unanswered(findings, i, options, late);
        for (uint32_t k = 0;
             r == 0 && finding->packet && k < finding->found.count; k++) {
            struct targets_facts facts = found_facts(&finding->found, k);

            r = targets_add(targets, targets->wanted[i].host,
                            finding->found.pids[k], &facts);
        }
    }
    return r < 0 ? r : say_nothing(findings, options);
}

/* If a host was given under two names, and processes were found under both, count
 * each once. Returns 0 or -ENOMEM. */
static int merge_hosts(struct targets *targets,
                       const struct findings *findings,
                       const struct gather_options *options)
{
    char here[REQUEST_BOOT_SIZE];
    int r = 0;

    request_boot(here);
    for (uint32_t i = 0; r == 0 && i < targets->wanted_count; i++) {
        const struct finding *finding = &findings->list[i];
        uint32_t from = targets->wanted[i].host, to = from, k;

        for (k = 0; finding->packet && k < i && to == from; k++) {
            const struct finding *other = &findings->list[k];

            if (other->packet && finding->found.boot[0] &&
                strcmp(other->found.boot, finding->found.boot) == 0)
                to = targets->wanted[k].host;
        }
        if (to == from && finding->packet && here[0] &&
            strcmp(finding->found.boot, here) == 0)
            to = 0; /* it is this host */
        if (to == from || !targets_share_pid(targets, from, to))
            continue;
        gathering_say(options->say,
                      "%s and %s are the same host: its processes count once",
                      targets_host_name(targets, to),
                      targets_host_name(targets, from));
        r = targets_merge_host(targets, from, to);
        targets->wanted[i].host = to;
    }
    return r;
}

int find_targets(struct gathering *gathering)
{
    struct targets *targets = gathering->targets;
    uint32_t count = targets->wanted_count, i;
    struct findings findings = {targets, gathering->daemons, NULL};
    int r;

    findings.list = calloc((size_t)count + 1, sizeof(*findings.list));
    r = findings.list ? ask_wanted(&findings, gathering->answers) : -ENOMEM;
    if (r == 0)
        r = await_found(&findings, gathering);
    if (r == 0)
        r = add_found(targets, &findings, gathering->options, gathering->late);
    if (r == 0)
        r = merge_hosts(targets, &findings, gathering->options);
    if (r == 0)
        r = gathering_settle(targets, gathering->options);
    gathering_check(gathering);
    for (i = 0; findings.list && i < count; i++)
        cop_packet_free(findings.list[i].packet);
    free(findings.list);
    return r;
}
