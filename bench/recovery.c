/* recovery.c - kill a commnode: the time until its last child has another
 * parent, compared with processes that only reconnect. */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "bench/duel.h"
#include "bench/rescue.h"

/* The dissertation's figure 8.2: on 1,024 nodes with InfiniBand, from the
 * injection until the last of 128 orphans had reported. */
#define PAPER_ORPHANS 128
#define PAPER_MS      80

/* Print one line: the times at `offset` of each side. */
static int print_times(struct duel *duel,
                       const struct shape *shape,
                       const struct duel_metric *metric,
                       const struct rescue_times *times,
                       size_t offset)
{
    struct sample samples[DUEL_SIDES_MAX];

    for (size_t i = 0; i < duel->count; i++)
        samples[i] = *(const struct sample *)((const char *)&times[i] + offset);
    return duel_print(duel, shape, metric, samples);
}

static int print_all(struct duel *duel,
                     const struct shape *shape,
                     const struct rescue_times *times)
{
    static const struct {
        struct duel_metric metric;
        size_t offset;
        bool both; /* the bare tree has such a step */
    } lines[] = {
#define AT(member) offsetof(struct rescue_times, member)
        {{"p50", "ms", false, 0}, AT(overall), true},
        {{"p99", "ms", false, 0.99}, AT(overall), true},
        {{"orphan p50", "ms", false, 0.5}, AT(orphan), true},
        {{"orphan p99", "ms", false, 0.99}, AT(orphan), true},
        {{"choose p50", "ms", false, 0.5}, AT(choose), false},
        {{"choose p99", "ms", false, 0.99}, AT(choose), false},
        {{"connect p50", "ms", false, 0.5}, AT(connect), true},
        {{"connect p99", "ms", false, 0.99}, AT(connect), true},
        {{"compensate p50", "ms", false, 0.5}, AT(compensate), false},
        {{"compensate p99", "ms", false, 0.99}, AT(compensate), false},
        {{"clean-up p50", "ms", false, 0.5}, AT(cleanup), false},
        {{"clean-up p99", "ms", false, 0.99}, AT(cleanup), false},
#undef AT
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(lines) / sizeof(*lines); i++)
        if (lines[i].both || duel->count > 1)
            r = print_times(duel, shape, &lines[i].metric, times,
                            lines[i].offset);
    if (r == 0 && shape->fanout[0] == PAPER_ORPHANS && !duel->options->csv)
        printf("%-8s published: p50 under %d ms, on 1,024 nodes with "
               "InfiniBand\n",
               shape->text, PAPER_MS);
    return r;
}

/* Print the lines of an exact stream; the bare tree has none. */
static int print_exact(struct duel *duel,
                       const struct shape *shape,
                       const struct rescue_times *exact)
{
    static const struct {
        struct duel_metric metric;
        size_t offset;
    } lines[] = {
#define AT(member) offsetof(struct rescue_times, member)
        {{"exact p50", "ms", false, 0}, AT(overall)},
        {{"exact p99", "ms", false, 0.99}, AT(overall)},
        {{"resumed p50", "ms", false, 0}, AT(resumed)},
        {{"resumed p99", "ms", false, 0.99}, AT(resumed)},
        {{"trip p50", "ms", false, 0}, AT(trip)},
        {{"behind p50", "trips", false, 0}, AT(behind)},
        {{"behind p99", "trips", false, 0.99}, AT(behind)},
#undef AT
    };
    struct rescue_times times[DUEL_SIDES_MAX] = {*exact};
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(lines) / sizeof(*lines); i++)
        r = print_times(duel, shape, &lines[i].metric, times, lines[i].offset);
    return r;
}

static int measure_recovery(struct duel *duel, const struct shape *shape)
{
    struct rescue_times times[DUEL_SIDES_MAX] = {{.overall.values = NULL}};
    const struct rescue *rescues[DUEL_SIDES_MAX] = {&rescue_ours, &rescue_bare};
    struct rescue_times exact = {.overall.values = NULL};
    int r = 0;

    if (shape->depth != 1 || shape->fanout[0] > RESCUE_ORPHANS_MAX) {
        warnx("--case %s: give a number of orphans, up to %d", shape->text,
              RESCUE_ORPHANS_MAX);
        return -EINVAL;
    }
    if (duel->count == 1)
        rescues[0] = &rescue_bare;
    for (uint32_t k = 0; r == 0 && k < duel->options->rounds; k++) {
        for (size_t i = 0; r == 0 && i < duel->count; i++)
            r = rescue_measure(rescues[i], shape->fanout[0], &times[i]);
        if (r == 0 && duel->count > 1)
            r = rescue_measure(&rescue_exact, shape->fanout[0], &exact);
    }
    if (r == 0)
        r = print_all(duel, shape, times);
    if (r == 0 && duel->count > 1)
        r = print_exact(duel, shape, &exact);
    rescue_times_fini(&exact);
    for (size_t i = 0; i < DUEL_SIDES_MAX; i++)
        rescue_times_fini(&times[i]);
    return r;
}

int main(int argc, char **argv)
{
    static const struct options_usage usage = {
        .name = "recovery",
        .what = "A commnode with so many back-ends is killed; 16 further ones "
                "take these in.\nFrom the kill until the last orphan's report "
                "is at the front-end (p50, p99),\nand what each orphan did "
                "from when it noticed; then the\nsame with an exact stream at "
                "100 waves a second, and when its waves go on.\nA round is one "
                "failure of each.",
        .cases = "16,32,64,128",
        .rounds = 30,
    };

    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        err(EXIT_FAILURE, "prctl");
    return duel_main(argc, argv, &usage, measure_recovery);
}
