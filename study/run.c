/* run.c - failures one after another, and the adoptions after each. */
#include "study/run.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim/random.h"
#include "study/bound.h"
#include "topology/adopter.h"
#include "topology/array.h"
#include "topology/table.h"

/* Separate sequences of random numbers from one seed. */
#define STREAM_VICTIMS UINT64_C(0x1000000000000000)
#define STREAM_ORPHANS UINT64_C(0x2000000000000000)

/* A report that has not reached the orphans' table yet. */
struct report {
    uint32_t rank; /* of a node that failed or moved, or of an adopter */
    uint32_t incarnation;
    uint32_t parent;   /* a rank or TABLE_FAILED; TABLE_NONE: see `backends` */
    uint32_t backends; /* the new number of back-ends of `rank` */
};

/* One child of the node that failed. */
struct orphan {
    struct adopter_orphan who;
    uint32_t rank; /* TABLE_NONE: a back-end */
    uint32_t first;
};

struct run {
    const struct study_options *options;
    struct table *truth;
    struct table *seen; /* the orphans' table; `truth` itself without lag */
    struct table_site *sites;
    uint32_t *victims; /* in order */
    uint32_t *stamps;  /* by rank: the failure whose orphan chose it last */
    uint32_t number;   /* of this failure, from 1; also the incarnation */
    uint32_t height_limit;
    uint32_t height; /* of the tree now */
    struct orphan *orphans;
    uint32_t orphan_count;
    struct report *reports; /* a ring of lag + 1 */
    uint64_t report_begin;
    uint64_t report_end;
};

double study_latency_us(const struct study_cost *cost,
                        uint32_t height,
                        uint32_t fan_out)
{
    return height * (cost->latency_us +
                     cost->overhead_us * ((double)fan_out + 1) + cost->gap_us);
}

/* ---- the victims --------------------------------------------------------- */

struct lot {
    uint32_t rank;
    uint64_t group; /* the lowest group fails first */
    uint64_t draw;
};

static int lot_compare(const void *a, const void *b)
{
    const struct lot *left = a;
    const struct lot *right = b;

    if (left->group != right->group)
        return left->group < right->group ? -1 : 1;
    if (left->draw != right->draw)
        return left->draw < right->draw ? -1 : 1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

/* Put all internal nodes but the front-end in the order in which they fail. */
static int draw_victims(struct run *run, const struct study_tree *tree)
{
    struct lot *lots = calloc(tree->count, sizeof *lots);
    struct random random;

    if (!lots)
        return -ENOMEM;
    random_seed(&random, run->options->seed + STREAM_VICTIMS);
    table_sites(run->truth, TABLE_NONE, run->sites);
    for (uint32_t i = 1; i < tree->count; i++) {
        lots[i - 1].rank = i;
        lots[i - 1].draw = random_next(&random);
        if (run->options->where == STUDY_LEVEL)
            lots[i - 1].group = run->sites[i].depth;
    }
    if (run->options->where == STUDY_SUBTREE) {
        for (uint32_t i = 1; i < tree->count; i++) {
            uint32_t top = i;

            while (tree->parents[top] != 0)
                top = tree->parents[top];
            lots[i - 1].group = lots[top - 1].draw;
        }
    }
    qsort(lots, tree->count - 1, sizeof *lots, lot_compare);
    for (uint32_t i = 0; i + 1 < tree->count; i++)
        run->victims[i] = lots[i].rank;
    free(lots);
    return 0;
}

/* ---- reports ------------------------------------------------------------- */

static int apply_report(struct table *table, const struct report *report)
{
    if (report->parent == TABLE_NONE)
        return table_set_backends(table, report->rank, report->backends);
    return table_record(table, report->rank, report->incarnation,
                        report->parent);
}

/* Apply a report to the truth at once, and to the orphans' table `lag` reports
 * later. */
static void add_report(struct run *run, struct report report)
{
    uint64_t room = (uint64_t)run->options->lag + 1;

    apply_report(run->truth, &report);
    if (run->seen == run->truth)
        return;
    run->reports[run->report_end++ % room] = report;
    if (run->report_end - run->report_begin == room)
        apply_report(run->seen, &run->reports[run->report_begin++ % room]);
}

/* ---- orphans ------------------------------------------------------------- */

static int add_orphan(struct run *run, uint32_t victim, uint32_t rank)
{
    struct orphan *orphan;

    if (array_grow(&run->orphans, run->orphan_count, sizeof *orphan) < 0)
        return -ENOMEM;
    orphan = &run->orphans[run->orphan_count];
    *orphan = (struct orphan){
        /* the rank of the victim: its subtree has no candidates */
        .who = {.rank = victim, .ordinal = run->orphan_count, .lost = victim},
        .rank = rank,
    };
    if (rank != TABLE_NONE)
        orphan->who.height = table_subtree_height(run->truth, rank);
    run->orphan_count++;
    return 0;
}

/* List the children of `victim`: internal nodes by rank, then back-ends. */
static int find_orphans(struct run *run, uint32_t victim)
{
    struct table_entry entry;
    struct random random;
    uint32_t backends;
    int r = 0;

    run->orphan_count = 0;
    table_entry(run->truth, victim, &entry);
    backends = entry.backend_count;
    for (uint32_t i = 1; r == 0 && i < table_count(run->truth); i++) {
        table_at(run->truth, i, &entry);
        if (entry.parent == victim)
            r = add_orphan(run, victim, i);
    }
    for (uint32_t i = 0; r == 0 && i < backends; i++)
        r = add_orphan(run, victim, TABLE_NONE);
    random_seed(&random, run->options->seed + STREAM_ORPHANS +
                             ((uint64_t)run->number << 32));
    for (uint32_t i = 0; r == 0 && i < run->orphan_count; i++)
        run->orphans[i].who.seed = random_next(&random);
    return r;
}

/* All orphans make their first choice at the same time, from their table. */
static int choose_adopters(struct run *run, struct study_step *step)
{
    struct adopter_survey *survey = NULL;
    uint32_t height = 0;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < run->orphan_count; i++) {
        struct orphan *orphan = &run->orphans[i];

        if (!survey || orphan->who.height != height) {
            adopter_survey_free(survey);
            survey = NULL;
            height = orphan->who.height;
            r = adopter_survey_new(&survey, run->seen, run->options->algorithm,
                                   &orphan->who, run->height_limit);
        }
        if (r == 0)
            r = adopter_survey_pick(survey, &orphan->who, 0, &orphan->first);
        if (r < 0)
            break;
        step->collisions += run->stamps[orphan->first] == run->number;
        run->stamps[orphan->first] = run->number;
    }
    adopter_survey_free(survey);
    return r;
}

/* Whether candidate `rank` adopts the orphan (PROTOCOL 8.2 to 8.4). */
static bool accepts(const struct run *run,
                    const struct orphan *orphan,
                    uint32_t rank)
{
    uint32_t depth = table_depth(run->truth, rank);

    if (depth == TABLE_NO_PATH)
        return false;
    return (uint64_t)depth + 1 + orphan->who.height <= run->height_limit ||
           adopter_may_raise(run->options->algorithm);
}

/* Ask one candidate after another. If all refuse, the front-end adopts. */
static int find_adopter(struct run *run,
                        const struct orphan *orphan,
                        struct study_step *step,
                        uint32_t *adopter)
{
    struct adopter_survey *survey = NULL;
    uint32_t turn = 0;
    int r = 0;

    *adopter = orphan->first;
    while (!accepts(run, orphan, *adopter)) {
        step->refusals++;
        if (!survey)
            r = adopter_survey_new(&survey, run->seen, run->options->algorithm,
                                   &orphan->who, run->height_limit);
        if (r < 0)
            return r;
        r = adopter_survey_pick(survey, &orphan->who, ++turn, adopter);
        if (r == -ENOENT) {
            *adopter = 0;
            r = 0;
            break;
        }
        if (r < 0)
            break;
    }
    adopter_survey_free(survey);
    return r;
}

static int adopt_orphans(struct run *run, struct study_step *step)
{
    struct table_entry entry;
    uint32_t adopter = 0;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < run->orphan_count; i++) {
        const struct orphan *orphan = &run->orphans[i];

        r = find_adopter(run, orphan, step, &adopter);
        if (r < 0)
            break;
        table_entry(run->truth, adopter, &entry);
        if (orphan->rank == TABLE_NONE)
            add_report(run, (struct report){adopter, 0, TABLE_NONE,
                                            entry.backend_count + 1});
        else
            add_report(run,
                       (struct report){orphan->rank, run->number, adopter, 0});
    }
    return r;
}

/* ---- results ------------------------------------------------------------- */

static int find_bound(struct run *run, struct study_step *step)
{
    uint32_t *heights = calloc(run->height + 1, sizeof *heights);
    int64_t bound;

    if (!heights)
        return -ENOMEM;
    for (uint32_t i = 0; i < run->orphan_count; i++) {
        uint32_t height = run->orphans[i].who.height;

        heights[height < run->height ? height : run->height]++;
    }
    table_sites(run->truth, TABLE_NONE, run->sites);
    bound =
        study_bound(run->sites, table_count(run->truth), heights, run->height);
    free(heights);
    if (bound < 0)
        return (int)bound;
    step->bound = (uint32_t)bound;
    return 0;
}

/* Write the present fan-outs and height into `step`. */
static void measure_tree(struct run *run, struct study_step *step)
{
    uint64_t sum = 0;
    uint64_t squares = 0;
    uint32_t live = 0;

    table_sites(run->truth, TABLE_NONE, run->sites);
    step->fan_out = 0;
    for (uint32_t i = 0; i < table_count(run->truth); i++) {
        uint64_t fan_out = run->sites[i].fan_out;

        if (run->sites[i].depth == TABLE_NO_PATH)
            continue;
        live++;
        sum += fan_out;
        squares += fan_out * fan_out;
        if (fan_out > step->fan_out)
            step->fan_out = (uint32_t)fan_out;
    }
    step->mean = (uint32_t)((sum + live - 1) / live);
    step->deviation = sqrt((double)(squares * live - sum * sum)) / live;
    run->height = table_height(run->truth);
    step->height = run->height;
}

static int fail_next(struct run *run, struct study_step *step)
{
    uint32_t victim = run->victims[run->number - 1];
    int r = find_orphans(run, victim);

    if (r < 0)
        return r;
    *step = (struct study_step){.victim = victim, .orphans = run->orphan_count};
    add_report(run, (struct report){victim, run->number, TABLE_FAILED, 0});
    r = find_bound(run, step);
    if (r == 0)
        r = choose_adopters(run, step);
    if (r == 0)
        r = adopt_orphans(run, step);
    measure_tree(run, step);
    return r;
}

static void run_fini(struct run *run)
{
    if (run->seen != run->truth)
        table_free(run->seen);
    table_free(run->truth);
    free(run->sites);
    free(run->victims);
    free(run->stamps);
    free(run->orphans);
    free(run->reports);
}

static int run_init(struct run *run,
                    const struct study_tree *tree,
                    const struct study_options *options)
{
    int r;

    *run = (struct run){.options = options};
    run->sites = malloc(tree->count * sizeof *run->sites);
    run->victims = malloc(tree->count * sizeof *run->victims);
    run->stamps = calloc(tree->count, sizeof *run->stamps);
    run->reports = calloc((size_t)options->lag + 1, sizeof *run->reports);
    if (!run->sites || !run->victims || !run->stamps || !run->reports)
        return -ENOMEM;
    r = study_tree_table(tree, &run->truth);
    run->seen = run->truth;
    if (r == 0 && options->lag > 0)
        r = study_tree_table(tree, &run->seen);
    if (r == 0)
        run->height = run->height_limit = table_height(run->truth);
    return r;
}

int study_run(const struct study_tree *tree,
              const struct study_options *options,
              struct study_step *steps)
{
    struct run run;
    int r = run_init(&run, tree, options);

    if (r == 0)
        r = draw_victims(&run, tree);
    for (run.number = 1; r == 0 && run.number <= options->failures;
         run.number++)
        r = fail_next(&run, &steps[run.number - 1]);
    run_fini(&run);
    return r;
}

int study_begin(const struct study_tree *tree, struct study_step *step)
{
    struct study_options none = {0};
    struct run run;
    int r = run_init(&run, tree, &none);

    *step = (struct study_step){0};
    if (r == 0)
        measure_tree(&run, step);
    step->bound = step->fan_out;
    run_fini(&run);
    return r;
}
