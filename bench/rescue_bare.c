/* rescue_bare.c - the bare tree of bench/recovery, at its root. */
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

static int bare_end(void *tree)
{
    struct bare *bare = tree;

    if (!bare)
        return 0;
    kids_end(bare->victim, true);
    kids_end(bare->refuges, true);
    free(bare);
    return 0;
}

static int bare_start(void **tree, uint32_t orphans)
{
    struct bare *bare = calloc(1, sizeof(*bare));
    char program[PATH_MAX];
    char role[LINE_MAX];
    uint32_t count;
    int r;

    if (!bare)
        return -ENOMEM;
    bare->orphans = orphans;
    r = start_path(program, sizeof(program), "bare_rescue");
    if (r == 0)
        r = kids_start(&bare->refuges, program, RESCUE_REFUGES, "refuge",
                       &count);
    if (r == 0)
        r = complain(write_role(bare, role), "the refuges' ports");
    if (r == 0)
        r = kids_start(&bare->victim, program, 1, role, &count);
    if (r == 0 && count != orphans)
        r = complain(-EPROTO, "not every orphan has reported");
    if (r < 0) {
        bare_end(bare);
        return r;
    }
    *tree = bare;
    return 0;
}

static int take_report(int fd, struct rescue_times *times)
{
    struct rescue_report report;
    double took_ms;
    int r = kids_read_all(fd, &report, sizeof(report));

    if (r < 0)
        return r;
    took_ms = report.took_us / 1e3;
    r = sample_add(&times->orphan, took_ms);
    return r < 0 ? r : sample_add(&times->connect, took_ms);
}

/* Take the orphans' reports as they arrive. */
static int take_reports(const struct bare *bare, struct rescue_times *times)
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
            r = take_report(links[i].fd, times);
            if (r < 0)
                return r;
            taken++;
        }
    }
    return 0;
}

static int bare_fail(void *tree, struct rescue_times *times)
{
    struct bare *bare = tree;
    double start = duel_now_s();
    int r;

    if (kill(kids_pid(bare->victim, 0), SIGKILL) < 0)
        return complain(-errno, "the victim");
    r = take_reports(bare, times);
    if (r == 0)
        r = sample_add(&times->overall, (duel_now_s() - start) * 1e3);
    return complain(r, "the orphans' reports");
}

const struct rescue rescue_bare = {
    .start = bare_start,
    .fail = bare_fail,
    .end = bare_end,
};
