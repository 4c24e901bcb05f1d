/* find.c - see find.h. */
#include "stat/gather/find.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stat/clock.h"
#include "stat/request.h"

/* Ask the daemons for the processes that are wanted of them. `asked` of the
 * wanted are to be answered. */
static int ask_wanted(struct cop_stream *stream,
                      const struct daemons *daemons,
                      const struct targets *targets,
                      uint32_t *asked)
{
    uint32_t count = targets->wanted_count, i;
    uint32_t *ranks = calloc((size_t)count + 1, sizeof(*ranks));
    const char **names = calloc((size_t)count + 1, sizeof(char *));
    const char **users = calloc((size_t)count + 1, sizeof(char *));
    struct find find = {count, ranks, names, users};
    struct cop_packet *packet = NULL;
    int r = -ENOMEM;

    if (!ranks || !names || !users)
        goto out;
    *asked = 0;
    for (i = 0; i < count; i++) {
        ranks[i] = daemons_of_host(daemons, targets->wanted[i].host);
        names[i] = targets->wanted[i].name;
        users[i] = targets->wanted[i].user;
        *asked += ranks[i] != COP_RANK_NONE;
    }
    r = find_pack(&packet, &find);
    if (r == 0)
        r = cop_stream_send_packet(stream, packet);
out:
    cop_packet_free(packet);
    free(ranks);
    free(names);
    free(users);
    return r;
}

/* What one answer says; the pids are kept until all are there, so that the
 * tasks are in the order of the hosts. */
struct finding {
    int32_t *pids;
    uint32_t count;
    bool answered;
};

static int take_found(struct finding *findings,
                      uint32_t count,
                      const struct cop_packet *packet)
{
    struct finding *finding;
    struct found found;
    int r;

    r = found_unpack(&found, packet);
    if (r < 0)
        return r;
    if (found.index >= count || findings[found.index].answered)
        return -EBADMSG;
    finding = &findings[found.index];
    finding->pids = calloc((size_t)found.count + 1, sizeof(*finding->pids));
    if (!finding->pids)
        return -ENOMEM;
    if (found.count)
        memcpy(finding->pids, found.pids, found.count * sizeof(*found.pids));
    finding->count = found.count;
    finding->answered = true;
    return 0;
}

/* Report where each program was not found: one line for each program. */
static int say_nothing(const struct targets *targets,
                       const struct finding *findings,
                       const struct gather_options *options)
{
    uint32_t count = targets->wanted_count, i, k;
    const char **hosts = calloc((size_t)count + 1, sizeof(char *));
    bool *done = calloc((size_t)count + 1, sizeof(*done));
    int r = hosts && done ? 0 : -ENOMEM;

    for (i = 0; r == 0 && i < count; i++) {
        const struct targets_wanted *wanted = &targets->wanted[i];
        size_t here = 0;
        char *text;

        if (done[i] || !findings[i].answered || findings[i].count > 0)
            continue;
        for (k = i; k < count; k++) {
            const struct targets_wanted *other = &targets->wanted[k];

            if (!findings[k].answered || findings[k].count > 0 ||
                strcmp(wanted->name, other->name) != 0 ||
                strcmp(wanted->user, other->user) != 0)
                continue;
            hosts[here++] = targets_host_name(targets, other->host);
            done[k] = true;
        }
        r = cop_hosts_text(&text, hosts, here);
        if (r < 0)
            break;
        gathering_say(options->say, "no process%s%s%s%s on %s",
                      wanted->user[0] ? " of user " : "", wanted->user,
                      wanted->name[0] ? " called " : "", wanted->name, text);
        free(text);
    }
    free(hosts);
    free(done);
    return r;
}

/* Add what was found to the targets, and name the hosts where nothing was. */
static int add_found(struct targets *targets,
                     const struct finding *findings,
                     const struct gather_options *options,
                     struct cop_error *late)
{
    uint32_t i, k;
    int r = 0;

    for (i = 0; i < targets->wanted_count; i++) {
        uint32_t host = targets->wanted[i].host;

        if (!findings[i].answered) {
            cop_error_set(late, -ETIMEDOUT, "%s: its processes are not known",
                          targets_host_name(targets, host));
            gathering_say(options->say, "%s", late->text);
        }
        for (k = 0; r == 0 && k < findings[i].count; k++)
            r = targets_add(targets, host, findings[i].pids[k]);
    }
    return r < 0 ? r : say_nothing(targets, findings, options);
}

int find_targets(struct gathering *gathering)
{
    struct targets *targets = gathering->targets;
    uint64_t end_ms =
        clock_now_ms() + gathering_left_ms(gathering, GATHERING_LEAST_MS);
    uint32_t count = targets->wanted_count, asked = 0, i;
    struct finding *findings = calloc((size_t)count + 1, sizeof(*findings));
    struct cop_packet *packet;
    int r = findings ? 0 : -ENOMEM;

    if (r == 0)
        r = ask_wanted(gathering->answers, gathering->daemons, targets, &asked);
    while (r == 0 && asked > 0) {
        r = gathering_receive_until(gathering->answers, &packet, end_ms);
        if (r < 0)
            break;
        r = take_found(findings, count, packet);
        asked--;
        cop_packet_free(packet);
    }
    if (r == 0 || r == -EAGAIN || r == -ENOTCONN)
        r = add_found(targets, findings, gathering->options, gathering->late);
    for (i = 0; findings && i < count; i++)
        free(findings[i].pids);
    free(findings);
    return r;
}
