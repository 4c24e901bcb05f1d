/* rescue_ours.c - Coppice's tree of bench/recovery, through the public API. */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/duel.h"
#include "bench/family.h"
#include "bench/feeding.h"
#include "bench/rescue.h"

/* Packets per second of each back-end, as in the dissertation; and how many
 * waves come before the failure, so that there are states to compensate. */
#define RATE       10
#define WARM_WAVES 3

struct ours {
    struct feeding *feeding;
    uint32_t orphans;
    pid_t victim;
};

/* The front-end is node 0, the victim 1, then come the refuges with a back-end
 * each (a leaf is no commnode), then the victim's children. */
char *rescue_topology(uint32_t orphans)
{
    char *text = NULL;
    size_t len;
    FILE *file = open_memstream(&text, &len);
    uint32_t next = 2 + RESCUE_REFUGES;

    if (!file)
        return NULL;
    fprintf(file, "localhost:0 =>");
    for (uint32_t i = 1; i <= 1 + RESCUE_REFUGES; i++)
        fprintf(file, " localhost:%u", i);
    fprintf(file, ";\n");
    for (uint32_t i = 2; i < 2 + RESCUE_REFUGES; i++)
        fprintf(file, "localhost:%u => localhost:%u;\n", i, next++);
    fprintf(file, "localhost:1 =>");
    for (uint32_t i = 0; i < orphans; i++)
        fprintf(file, " localhost:%u", next++);
    fprintf(file, ";\n");
    if (fclose(file) == 0)
        return text;
    free(text);
    return NULL;
}

int rescue_victim(uint32_t orphans, pid_t *victim)
{
    struct family family;
    uint32_t most = 0;
    int r = family_read(&family, getpid());

    for (size_t i = 0; r == 0 && i < family.count; i++) {
        if (family.list[i].child_count <= most)
            continue;
        most = family.list[i].child_count;
        *victim = family.list[i].pid;
    }
    family_fini(&family);
    if (r == 0 && most != orphans) {
        warnx("coppice: no process has %u children", orphans);
        r = -ESRCH;
    }
    return r;
}

static int send_warm_up(struct ours *ours)
{
    bool compensation;
    int r = 0;

    for (int i = 0; r == 0 && i < WARM_WAVES; i++)
        r = feeding_take(ours->feeding, RESCUE_STUCK_MS, &compensation);
    return r;
}

static int ours_end(void *tree)
{
    struct ours *ours = tree;
    int r = 0;

    if (!ours)
        return 0;
    if (ours->feeding)
        r = feeding_check(ours->feeding);
    feeding_end(ours->feeding);
    free(ours);
    return r;
}

static int ours_start(void **tree, uint32_t orphans)
{
    struct ours *ours = calloc(1, sizeof(*ours));
    char *topology = rescue_topology(orphans);
    int r = ours && topology ? 0 : -ENOMEM;

    if (r == 0)
        ours->orphans = orphans;
    if (r == 0)
        r = feeding_start(&ours->feeding, NULL, topology, RATE);
    if (r == 0)
        r = rescue_victim(orphans, &ours->victim);
    if (r == 0)
        r = send_warm_up(ours);
    free(topology);
    if (r < 0) {
        if (ours)
            feeding_end(ours->feeding);
        free(ours);
        return r;
    }
    *tree = ours;
    return 0;
}

static int add_ms(struct sample *sample, uint64_t us)
{
    return sample_add(sample, (double)us / 1e3);
}

static int take_report(const struct cop_recovery *recovery,
                       struct rescue_times *times)
{
    int r = add_ms(&times->orphan, recovery->overall_us);

    if (r == 0)
        r = add_ms(&times->choose, recovery->choose_us);
    if (r == 0)
        r = add_ms(&times->connect, recovery->connect_us);
    if (r == 0)
        r = add_ms(&times->compensate, recovery->compensate_us);
    if (r == 0)
        r = add_ms(&times->cleanup, recovery->cleanup_us);
    return r;
}

static int ours_fail(void *tree, struct rescue_times *times)
{
    struct ours *ours = tree;
    struct cop_event event = COP_EVENT_INIT;
    uint32_t taken = 0;
    double start = duel_now_s();
    int r = kill(ours->victim, SIGKILL) < 0 ? -errno : 0;

    while (r == 0 && taken < ours->orphans) {
        r = cop_network_event(ours->feeding->network, &event, RESCUE_STUCK_MS);
        if (r < 0 || event.type != COP_EVENT_NODE_ADOPTED)
            continue;
        r = take_report(&event.recovery, times);
        taken++;
    }
    if (r == 0)
        r = sample_add(&times->overall, (duel_now_s() - start) * 1e3);
    if (r < 0)
        warnx("coppice: %u of %u orphans have reported: %s", taken,
              ours->orphans, strerror(-r));
    return r;
}

const struct rescue rescue_ours = {
    .name = "coppice",
    .start = ours_start,
    .fail = ours_fail,
    .end = ours_end,
};
