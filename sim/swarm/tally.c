/* tally.c - counts of what happened in worlds. */
#include "sim/swarm/tally.h"

#include <inttypes.h>
#include <stddef.h>

/* Answers by tag, as in PROTOCOL 8; the first two are not refusals. */
static const char *const reasons[TALLY_ANSWERS] = {
    NULL, NULL, "orphan", "closing", "full", "stale", "too high", "other",
};

void tally_add(struct tally *sum, const struct tally *one)
{
    sum->seeds += one->seeds;
    sum->failed += one->failed;
    sum->virtual_ms += one->virtual_ms;
    sum->nodes += one->nodes;
    sum->frames += one->frames;
    for (int i = 0; i < TRAFFIC_KINDS; i++)
        sum->kinds[i] += one->kinds[i];
    for (int i = 0; i < SCHEDULE_VERB_COUNT; i++)
        sum->steps[i] += one->steps[i];
    for (int i = 0; i < TALLY_ANSWERS; i++)
        sum->answers[i] += one->answers[i];
    sum->adoptions += one->adoptions;
    sum->moves += one->moves;
    sum->rises += one->rises;
    sum->accusations += one->accusations;
    if (one->slowest_ms > sum->slowest_ms)
        sum->slowest_ms = one->slowest_ms;
}

static void print_steps(const struct tally *tally, bool faults, FILE *file)
{
    const char *before = faults ? "faults:    " : "traffic:   ";

    for (int i = 0; i < SCHEDULE_VERB_COUNT; i++) {
        if (schedule_is_fault((enum schedule_verb)i) != faults ||
            tally->steps[i] == 0)
            continue;
        fprintf(file, "%s%s %" PRIu64, before,
                schedule_name((enum schedule_verb)i), tally->steps[i]);
        before = ", ";
    }
    if (*before == ',')
        fputc('\n', file);
}

void tally_print(const struct tally *tally, FILE *file)
{
    const char *before = "refusals:  ";

    fprintf(file, "simulated: %.1f h, %" PRIu64 " nodes, %" PRIu64 " frames\n",
            (double)tally->virtual_ms / 3600000, tally->nodes, tally->frames);
    fprintf(file,
            "seeds:     with plain streams %" PRIu64 ", recoverable %" PRIu64
            ", totals %" PRIu64 ", whole waves %" PRIu64 "\n",
            tally->kinds[TRAFFIC_PLAIN], tally->kinds[TRAFFIC_RECOVERABLE],
            tally->kinds[TRAFFIC_TOTAL], tally->kinds[TRAFFIC_WHOLE]);
    print_steps(tally, false, file);
    print_steps(tally, true, file);
    fprintf(file,
            "adoptions: %" PRIu64 ", of these moves %" PRIu64
            ", trees made higher by overlap %" PRIu64 "\n",
            tally->adoptions, tally->moves, tally->rises);
    for (int i = 0; i < TALLY_ANSWERS; i++) {
        if (!reasons[i] || tally->answers[i] == 0)
            continue;
        fprintf(file, "%s%s %" PRIu64, before, reasons[i], tally->answers[i]);
        before = ", ";
    }
    if (*before == ',')
        fputc('\n', file);
    fprintf(file,
            "silence:   %" PRIu64
            " links closed for it, the slowest after %" PRIu64 " ms\n",
            tally->accusations, tally->slowest_ms);
    fprintf(file, "swarm: %" PRIu64 " seeds, %" PRIu64 " failed\n",
            tally->seeds, tally->failed);
}
