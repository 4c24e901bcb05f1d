/* rescue_bare.c - the bare tree of bench/exactness, at its root. */
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "bench/duel.h"
#include "bench/kids.h"
#include "bench/rescue.h"
#include "bench/start.h"

struct bare {
    struct kids *refuges;
    struct kids *victim;
    uint32_t orphans;
};

static int complain(int r, const char *what)
{
    if (r < 0)
        warnx("bare tree: %s: %s", what, strerror(-r));
    return r;
}

/* Write "victim:128:PORT,PORT,...", with each refuge's port. */
static int write_role(const struct bare *bare, char role[static LINE_MAX])
{
    size_t at = (size_t)snprintf(role, LINE_MAX, "victim:%u", bare->orphans);

    for (uint32_t i = 0; i < RESCUE_REFUGES; i++) {
        uint16_t port;
        int r = kids_read_all(kids_fd(bare->refuges, i), &port, sizeof(port));

        if (r < 0)
            return r;
        at += (size_t)snprintf(role + at, LINE_MAX - at, "%c%u", i ? ',' : ':',
                               port);
    }
    return 0;
}

static int bare_start(struct bare *bare)
{
    char program[PATH_MAX];
    char role[LINE_MAX];
    uint32_t count;
    int r;

    r = start_path(program, sizeof(program), "bare_rescue");
    if (r == 0)
        r = kids_start(&bare->refuges, program, RESCUE_REFUGES, "refuge",
                       &count);
    if (r == 0)
        r = complain(write_role(bare, role), "the refuges' ports");
    if (r == 0)
        r = kids_start(&bare->victim, program, 1, role, &count);
    if (r == 0 && count != bare->orphans)
        r = complain(-EPROTO, "not every orphan has reported");
    return r;
}

static int take_report(int fd, struct sample *orphan)
{
    struct rescue_report report;
    int r = kids_read_all(fd, &report, sizeof(report));

    return r < 0 ? r : sample_add(orphan, report.took_us / 1e3);
}

/* Take the orphans' reports as they arrive. */
static int take_reports(const struct bare *bare, struct sample *orphan)
{
    struct pollfd links[RESCUE_REFUGES];
    uint32_t taken = 0;
    int r = 0;

    for (uint32_t i = 0; i < RESCUE_REFUGES; i++)
        links[i] =
            (struct pollfd){.fd = kids_fd(bare->refuges, i), .events = POLLIN};
    while (taken < bare->orphans) {
        r = poll(links, RESCUE_REFUGES, RESCUE_STUCK_MS);
        if (r == 0)
            return -ETIMEDOUT;
        if (r < 0)
            return -errno;
        for (uint32_t i = 0; i < RESCUE_REFUGES; i++) {
            if (!links[i].revents)
                continue;
            r = take_report(links[i].fd, orphan);
            if (r < 0)
                return r;
            taken++;
        }
    }
    return 0;
}

static int bare_fail(const struct bare *bare,
                     struct sample *overall,
                     struct sample *orphan)
{
    double start = duel_now_s();
    int r;

    if (kill(kids_pid(bare->victim, 0), SIGKILL) < 0)
        return complain(-errno, "the victim");
    r = take_reports(bare, orphan);
    if (r == 0)
        r = sample_add(overall, (duel_now_s() - start) * 1e3);
    return complain(r, "the orphans' reports");
}

int rescue_bare(uint32_t orphans, struct sample *overall, struct sample *orphan)
{
    struct bare bare = {.orphans = orphans};
    int r = bare_start(&bare);
    int reaped;

    if (r == 0)
        r = bare_fail(&bare, overall, orphan);
    kids_end(bare.victim, true);
    kids_end(bare.refuges, true);
    reaped = rescue_reap();
    return r < 0 ? r : reaped;
}
